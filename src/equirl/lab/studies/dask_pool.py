"""The workers of a dask scheduler as an executor that is watched: nobody waits for what cannot come.

dask never ends a job whose result was on its way when the scheduler died, nor one that is given out after that. So
whoever waits for jobs calls :meth:`DaskPool.watch` now and then: a scheduler that is gone is an error, and where no
worker is there, a line says so and what to do. Closing takes a few seconds at most, whatever the scheduler does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from typing import Any

from equirl.lab.studies.engine_errors import SCHEDULER_LOST, EngineError

LOOK_SECONDS = 1.0  # between two looks at the workers
HINT_SECONDS = 3.0  # without a worker, until that is said
AGAIN_SECONDS = 60.0  # until it is said again
MOST_UNANSWERED = 3  # looks in a row that failed before the scheduler counts as gone
CLOSE_SECONDS = 5.0  # that closing may take
LOGGERS = ("distributed", "distributed.client", "tornado.application")  # others of dask have no level of their own


class DaskPool(Executor):
    """An executor whose jobs go to the workers of a dask scheduler."""

    def __init__(self, client: Any, patience: float, remedy: str) -> None:
        self._client, self._jobs = client, client.get_executor()
        self._patience, self._remedy = patience, remedy
        self._over, self._unanswered, self._seen_any = threading.Event(), 0, False
        self._empty_since: float | None = time.monotonic()
        self._opened, self._told = time.monotonic(), -AGAIN_SECONDS
        threading.Thread(target=self._look, daemon=True, name="equirl dask workers").start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give out a job."""
        self._check_scheduler()
        try:
            return self._jobs.submit(fn, *args, **kwargs)
        except Exception:
            self._check_scheduler()  # a client that closed just now
            raise

    def watch(self, note: Callable[[str], None]) -> None:
        """Look whether waiting makes sense; call it now and then while jobs are out."""
        self._check_scheduler()
        now, since = time.monotonic(), self._empty_since
        if since is None:
            return
        if not self._seen_any and now - self._opened > self._patience:
            raise EngineError(f"no dask worker came within {self._patience:.0f} s; {self._remedy}")
        if now - since > HINT_SECONDS and now - self._told > AGAIN_SECONDS:
            self._told = now
            still = "no dask worker is there any more" if self._seen_any else "no dask worker is there yet"
            note(f"{still}; waiting for one: {self._remedy}")

    def close(self) -> None:
        """Let the client go, within a few seconds."""
        self._over.set()
        ending = threading.Thread(target=self._close_client, daemon=True)
        ending.start()
        ending.join(2 * CLOSE_SECONDS)

    def _check_scheduler(self) -> None:
        """A connection that was lost is lost for good, even where dask finds another: its jobs are gone."""
        if self._client.status != "running" or self._unanswered >= MOST_UNANSWERED:
            raise EngineError(SCHEDULER_LOST)

    def _look(self) -> None:
        """Count the workers again and again, in a thread of its own: the scheduler may take its time to answer."""
        while not self._over.is_set():
            try:
                n_workers = len(self._client.nthreads())
            except Exception:  # what dask raises in such moments is open-ended
                self._unanswered += 1
            else:
                self._unanswered = 0
                self._seen_any |= n_workers > 0
                self._empty_since = None if n_workers else self._empty_since or time.monotonic()
            self._over.wait(LOOK_SECONDS)

    def _close_client(self) -> None:
        with suppress(Exception):
            self._client.close(timeout=CLOSE_SECONDS)


@contextmanager
def dask_pool(client: Any, patience: float, remedy: str) -> Iterator[DaskPool]:
    """A pool of a dask scheduler's workers, closed at the end."""
    with _quiet_logs():  # to the end: a client that closes speaks of the scheduler it lost
        pool = DaskPool(client, patience, remedy)
        try:
            yield pool
        finally:
            pool.close()


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Inside, dask keeps the traceback of a lost scheduler to itself; our own message says what happened."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
