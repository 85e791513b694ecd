"""Ctrl-C while the command ``equirl`` is loading: one line and code 130, where Python would show what it was importing.

The package imports this file first of all, so it needs no more than what Python itself has loaded by then.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


class InterruptsEndLoading:
    """Inside, Ctrl-C ends this process at once, if it is the command or one of its workers; nothing else changes."""

    def __enter__(self) -> None:
        self.usual = signal.getsignal(signal.SIGINT)
        self.ours = self.usual is signal.default_int_handler and _is_command()
        if self.ours:
            try:
                signal.signal(signal.SIGINT, _end)
            except ValueError:  # a thread other than the main one
                self.ours = False

    def __exit__(self, *_: object) -> None:
        if self.ours:
            signal.signal(signal.SIGINT, self.usual)


def _is_command() -> bool:
    """Whether the program is the script ``equirl`` or ``python -m equirl``; its workers have its name too."""
    folder, name = os.path.split((getattr(sys, "argv", None) or [""])[0])
    if name == "-m":  # as long as Python looks for the module
        return any(a.startswith("-") and a.endswith("m") and b == "equirl" for a, b in pairwise(sys.orig_argv))
    if name == "__main__.py":
        return os.path.basename(folder) == "equirl"
    return name.removesuffix(".exe").removesuffix("-script.py") == "equirl"


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: there is nothing to tidy up yet. A worker leaves the line to its parent."""
    if "--multiprocessing-fork" not in sys.orig_argv:
        os.write(2, b"equirl: interrupted\n")
    os._exit(130)
