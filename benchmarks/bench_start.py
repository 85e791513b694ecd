"""`equirl bench --only start,memory`, with the same options."""

import sys

from equirl.cli import app

app(["bench", "--only", "start,memory", *sys.argv[1:]])
