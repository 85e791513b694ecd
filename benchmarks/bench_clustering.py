"""`equirl bench --only clustering`, with the same options."""

import sys

from equirl.cli import app

app(["bench", "--only", "clustering", *sys.argv[1:]])
