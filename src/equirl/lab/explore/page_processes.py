"""Processes that compute for pages. Each runs one service, and ends when its page says so, is gone, or asks too much.

They are forked from a process that has everything loaded, where the system can do that, and start in milliseconds.
Over the pipe go a page's messages, parsed, and :class:`Sent` replies, whose text is JSON ready for the page.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, NamedTuple

from equirl.lab.explore.messages import Message, Reply, Service, encoded
from equirl.lab.explore.page_limits import MEMORY_BYTES, MOST_WAITING
from equirl.lab.studies.engines import one_thread, start_worker, without_main

SERVICES = {  # module, class, and how far its processes step back behind others
    "world": ("world_service", "WorldService", 0),
    "facts": ("world_service", "FactsService", 5),
    "learning": ("learning_service", "LearningService", 5),
    "study": ("study_service", "StudyService", 5),
    "report": ("study_service", "StudyService", 10),  # writes long reports, while the other looks on
}
_starting = threading.Lock()  # a start hides __main__ for a moment


class Sent(NamedTuple):
    """A reply on its way from a process to a page."""

    number: Any  # the id of the message that it answers, or None
    last: bool  # whether it is the last to that message
    text: str


def process_context() -> BaseContext:
    """How processes are started here."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["equirl.lab.explore.preloaded"])
    return context


class ServiceProcess:
    """One process with one service, seen from the server."""

    def __init__(
        self, context: BaseContext, service: str, files: Mapping[str, Path], deliver: Callable[[Sent | None], None]
    ) -> None:
        self.connection, its = context.Pipe()
        with _starting, one_thread(), without_main():
            self.process = context.Process(  # type: ignore[attr-defined]
                target=serve, args=(its, service, dict(files)), daemon=True
            )
            self.process.start()
        its.close()
        self._deliver = deliver
        self.ended = False
        self._messages: queue.Queue[Message | None] = queue.Queue(4 * MOST_WAITING)
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def send(self, message: Message) -> bool:
        """Send a message; False where too many wait already."""
        try:
            self._messages.put_nowait(message)
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
                self._deliver(self.connection.recv())
        except (EOFError, OSError):
            self._deliver(None)
        self.process.join()
        self.connection.close()
        with suppress(queue.Full):
            self._messages.put_nowait(None)

    def _write(self) -> None:
        with suppress(OSError, ValueError):
            while (message := self._messages.get()) is not None:
                self.connection.send(message)


def _nobody(_: Sent | None) -> None:
    """Where replies of a killed process go."""


def serve(connection: Connection, service: str, files: Mapping[str, Path]) -> None:
    """Inside the process: answer messages until the other end is gone."""
    start_worker()
    gc.freeze()  # what was loaded before stays; no need to look through it again and again
    logging.getLogger("equirl").setLevel(logging.ERROR)
    module, name, niceness = SERVICES[service]
    if hasattr(os, "nice"):
        os.nice(niceness)
    _limit_memory()
    at_work: Service = getattr(import_module(f"equirl.lab.explore.{module}"), name)(files)
    try:
        while True:
            _serve_once(connection, at_work)
    except (EOFError, OSError, KeyboardInterrupt):
        return


def _serve_once(connection: Connection, service: Service) -> None:
    """Wait for a message, or for the service's own time; send its replies."""
    message: Message = {}

    def send(reply: Reply, *, last: bool = False) -> None:
        number = message.get("id")
        connection.send(Sent(number, last, encoded({"id": number, **reply})))

    try:
        if connection.poll(service.pause()):
            message = connection.recv()
            service.tell = send
            replies = service.handle(message)
        else:
            replies = service.tick()
        for reply in replies:
            send(reply)
        if message:
            send({"kind": "done", "do": message["do"]}, last=True)
    except (EOFError, OSError):
        raise
    except Exception as error:
        problem = {"kind": "problem", "do": message.get("do"), "message": explained(error)}
        send({**problem, **service.problem_fields(message, error)}, last=True)


def explained(error: Exception) -> str:
    """An error in words for a page; what is not expected also goes to stderr whole."""
    if isinstance(error, MemoryError):
        return "this needs more memory than one page may use; ask for less"
    text = " ".join(str(error.args[0] if isinstance(error, KeyError) and error.args else error).split())
    if isinstance(error, (ValueError, TypeError, KeyError, ArithmeticError, RuntimeError)) and text:
        return text
    traceback.print_exception(error)
    return f"something unexpected happened: {type(error).__name__} {text}".strip()


def _limit_memory() -> None:
    """Where the system has such limits: a page's process may grow by so much and no more."""
    try:
        import resource

        with open("/proc/self/statm") as statm:
            pages = int(statm.read().split()[5])  # data and stack
        limit = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    except (ImportError, OSError, ValueError):
        return


def warm_learners(context: BaseContext) -> None:
    """Compile the usual learners in the background, so that the first to play need not wait for it."""
    with _starting, one_thread(), without_main():
        context.Process(target=_play_a_little, daemon=True).start()  # type: ignore[attr-defined]


def _play_a_little() -> None:
    from equirl.lab.studies.rehearsals import playing
    from equirl.numerics.preparing import prepare
    from equirl.simulation import simulate
    from equirl.worlds import make

    start_worker()
    if hasattr(os, "nice"):
        os.nice(15)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the rest of this process
    for learner in ("c-psrl", "ucrl2-l", "c-ucrl", "psrl"):
        prepare(playing([learner]))
        simulate(make("grid"), learner, 50).agent.beliefs.uncertainty()
