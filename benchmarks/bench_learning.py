"""`equirl bench --only learning`, with the same options."""

import sys

from equirl.cli import app

app(["bench", "--only", "learning", *sys.argv[1:]])
