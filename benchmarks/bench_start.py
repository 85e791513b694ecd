"""`equirl bench --only start,memory,scale`, with the same options."""

import sys

from equirl.cli import app

app(["bench", "--only", "start,memory,scale", *sys.argv[1:]])
