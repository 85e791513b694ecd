"""The inside of a page's process: one desk, messages in, replies out, as JSON over a pipe."""

from __future__ import annotations

import gc
import json
import logging
import math
import os
import traceback
from collections.abc import Mapping
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from equirl.lab.explore.page_limits import MEMORY_BYTES

DESKS = {  # by name: where they stand
    "world": "world_desk.WorldDesk",
    "facts": "facts_desk.FactsDesk",
    "learning": "learning_desk.LearningDesk",
    "study": "study_desk.StudyDesk",
    "report": "study_desk.StudyDesk",  # writes long reports, while the other looks on
}


def serve_desk(connection: Connection, desk: str, files: Mapping[str, Any], niceness: int) -> None:
    """Answer messages until the other end is gone."""
    from equirl.lab.studies.engines import start_worker

    start_worker()
    gc.freeze()  # what was loaded before stays; no need to look through it again and again
    logging.getLogger("equirl").setLevel(logging.ERROR)
    if hasattr(os, "nice"):
        os.nice(niceness)
    _limit_memory()
    module, name = DESKS[desk].split(".")
    at_work = getattr(import_module(f"equirl.lab.explore.{module}"), name)(files)
    try:
        while True:
            _serve_once(connection, at_work)
    except (EOFError, OSError, KeyboardInterrupt):
        return


def _serve_once(connection: Connection, desk: Any) -> None:
    """Wait for a message, or for the desk's own time; send what it has to say."""
    message: dict[str, Any] = {}
    try:
        if connection.poll(desk.pause()):
            message = json.loads(connection.recv_bytes())
            replies = desk.handle(message)
        else:
            replies = desk.tick()
        for reply in replies:
            connection.send_bytes(encoded({"id": message.get("id"), **reply}))
        if message:
            connection.send_bytes(encoded({"kind": "done", "id": message.get("id"), "do": message.get("do")}))
    except (EOFError, OSError):
        raise
    except Exception as error:
        told = {"kind": "problem", "id": message.get("id"), "do": message.get("do"), "message": explained(error)}
        connection.send_bytes(encoded({**told, **desk.complain(message, error)}))


def explained(error: Exception) -> str:
    """An error in words for a page.

    Examples
    --------
    >>> explained(MemoryError()), explained(ValueError("n_states must be at least 2, not 1"))
    ('this needs more memory than one page may use; ask for less', 'n_states must be at least 2, not 1')
    """
    if isinstance(error, MemoryError):
        return "this needs more memory than one page may use; ask for less"
    text = " ".join(str(error.args[0] if isinstance(error, KeyError) and error.args else error).split())
    if isinstance(error, (ValueError, TypeError, KeyError, ArithmeticError, RuntimeError)) and text:
        return text
    traceback.print_exception(error)
    return f"something unexpected happened: {type(error).__name__} {text}".strip()


def encoded(reply: Mapping[str, Any]) -> bytes:
    """A reply as JSON; numbers that JSON does not have become null, or "infinite".

    Examples
    --------
    >>> encoded({"diameter": math.inf, "half": math.nan})
    b'{"diameter":"infinite","half":null}'
    """
    try:
        text = json.dumps(reply, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_without_nan(reply), separators=(",", ":"), allow_nan=False)
    return text.encode()


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "infinite" if value > 0 else None
    return value


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
