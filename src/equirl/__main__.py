"""The command ``equirl``, also as ``python -m equirl`` where its script is not on the path."""

from __future__ import annotations

import atexit
import gc

from equirl.words.loading import InterruptsEndLoading


def main() -> None:
    """Load the command and run it."""
    gc.set_threshold(100_000)  # modules are loaded all along, and looking at each object of theirs again finds nothing
    atexit.register(gc.freeze)  # and the end of the process needs no last look: a fifth of a short command
    with InterruptsEndLoading():
        from equirl.lab.cli import app
    app(prog_name="equirl")


if __name__ == "__main__":
    main()
