"""Ctrl-C that waits: for work that must not be left half done."""

from __future__ import annotations

import signal
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
