"""Processes that compute for pages. Each has one desk, and ends when its page says so, is gone, or asks too much.

They are forked from a process that has everything loaded, where the system can do that, and start in milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.context import BaseContext
from pathlib import Path

from equirl.lab.explore.desk_process import serve_desk
from equirl.lab.explore.page_limits import MOST_WAITING
from equirl.lab.studies.engines import one_thread, without_main

NICENESS = {"world": 0, "facts": 5, "learning": 5, "study": 5, "report": 10}
_starting = threading.Lock()  # a start hides __main__ for a moment


def process_context() -> BaseContext:
    """How processes are started here."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["equirl.lab.explore.preloaded"])
    return context


class DeskProcess:
    """One process with one desk, seen from the server."""

    def __init__(
        self, context: BaseContext, desk: str, files: Mapping[str, Path], deliver: Callable[[bytes | None], None]
    ) -> None:
        self.connection, its = context.Pipe()
        with _starting, one_thread(), without_main():
            self.process = context.Process(  # type: ignore[attr-defined]
                target=serve_desk, args=(its, desk, dict(files), NICENESS[desk]), daemon=True
            )
            self.process.start()
        its.close()
        self._deliver = deliver
        self.ended = False
        self._letters: queue.Queue[bytes | None] = queue.Queue(4 * MOST_WAITING)
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def send(self, message: bytes) -> bool:
        """Hand a message over; False where too many wait already."""
        try:
            self._letters.put_nowait(message)
        except queue.Full:
            return False
        return True

    def kill(self) -> None:
        """End it now, whatever it is doing; nothing is delivered any more."""
        self.ended = True
        self._deliver = _nobody
        self.process.kill()

    def _read(self) -> None:
        try:
            while True:
                self._deliver(self.connection.recv_bytes())
        except (EOFError, OSError):
            self._deliver(None)
        self.process.join()
        self.connection.close()
        with suppress(queue.Full):
            self._letters.put_nowait(None)

    def _write(self) -> None:
        with suppress(OSError, ValueError):
            while (message := self._letters.get()) is not None:
                self.connection.send_bytes(message)


def _nobody(_: bytes | None) -> None:
    """Where replies of a killed process go."""


def warm_learners(context: BaseContext) -> None:
    """Compile the usual learners in the background, so that the first to play need not wait for it."""
    with _starting, one_thread(), without_main():
        context.Process(target=_play_a_little, daemon=True).start()  # type: ignore[attr-defined]


def _play_a_little() -> None:
    from equirl.lab.studies.engines import start_worker
    from equirl.simulation import simulate
    from equirl.worlds import make

    start_worker()
    if hasattr(os, "nice"):
        os.nice(15)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the rest of this process
    for learner in ("c-psrl", "ucrl2-l", "c-ucrl", "psrl"):
        simulate(make("grid"), learner, 50).agent.beliefs.uncertainty()
