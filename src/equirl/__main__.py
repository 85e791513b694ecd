"""``python -m equirl``: the command, where its script is not on the path."""

from __future__ import annotations

from equirl.cli import app

if __name__ == "__main__":
    app(prog_name="equirl")
