"""`equirl bench --only planning`, with the same options."""

import sys

from equirl.cli import app

app(["bench", "--only", "planning", *sys.argv[1:]])
