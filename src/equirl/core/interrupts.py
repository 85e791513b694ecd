"""Ctrl-C that waits, for work that must not be left half done; and Ctrl-C while the command ``equirl`` is loading.

The package imports this file first of all: nothing here may need more than the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Later:
    """A handler that keeps the interrupt for later."""

    def __init__(self) -> None:
        self.came: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = number, frame


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Inside, Ctrl-C waits until the end. Threads other than the main one never see it and change nothing.

    Examples
    --------
    >>> import os
    >>> steps = []
    >>> try:
    ...     with interrupts_deferred():
    ...         os.kill(os.getpid(), signal.SIGINT)
    ...         steps.append("done all the same")
    ... except KeyboardInterrupt:
    ...     steps.append("interrupted")
    >>> steps
    ['done all the same', 'interrupted']
    """
    usual = signal.getsignal(signal.SIGINT)
    alone = threading.current_thread() is threading.main_thread()
    if not alone or not callable(usual) or isinstance(usual, _Later):
        yield
        return
    later = _Later()
    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if later.came is not None:
            usual(*later.came)


@contextmanager
def interrupts_end_loading() -> Iterator[None]:
    """Inside, Ctrl-C ends the command with one line and code 130; Python would show the imports that it was busy with.

    Processes other than the command, its workers excepted, and threads other than the main one change nothing.
    """
    usual = signal.getsignal(signal.SIGINT)
    alone = threading.current_thread() is threading.main_thread()
    if not alone or usual is not signal.default_int_handler or not _is_command():
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _is_command() -> bool:
    """Whether the program is the script ``equirl`` or ``python -m equirl``; its workers have its name too."""
    folder, name = os.path.split((getattr(sys, "argv", None) or [""])[0])
    if name == "-m":  # as long as Python looks for the module
        return any(
            flag.startswith("-") and flag.endswith("m") and word == "equirl"
            for flag, word in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
        )
    if name == "__main__.py":
        return os.path.basename(folder) == "equirl"
    return name.removesuffix(".exe").removesuffix("-script.py") == "equirl"


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: there is nothing to tidy up yet. A worker leaves the line to its parent."""
    if "--multiprocessing-fork" not in sys.orig_argv:
        os.write(2, b"equirl: interrupted\n")
    os._exit(130)
