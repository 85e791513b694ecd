"""Engines: where runs are computed. Each opens a ``concurrent.futures.Executor``; results never depend on which.

=========  ========================================================================================================
local      processes on this machine (``spawn``), one thread each; a single job computes in this very process
dask       ``dask.distributed``: workers on this machine, or those of a running scheduler (``address``)
slurm      workers asked from Slurm through ``dask-jobqueue``
=========  ========================================================================================================

dask never ends a job whose result was on its way when the scheduler died, nor one that is given out after that. So
whoever waits for jobs calls :meth:`DaskPool.watch` now and then: a scheduler that is gone is an error, and where no
worker is there, a line says so and what to do. Closing takes a few seconds at most, whatever the scheduler does.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, ClassVar

from equirl.numerics import ONE_THREAD, THREAD_VARIABLES

CONNECT_SECONDS = 30.0  # to wait for the answer of a scheduler
LOOK_SECONDS = 1.0  # between two looks at the workers
HINT_SECONDS = 3.0  # without a worker, until that is said
AGAIN_SECONDS = 60.0  # until it is said again
MOST_UNANSWERED = 3  # looks in a row that failed before the scheduler counts as gone
CLOSE_SECONDS = 5.0  # that closing may take
LOGGERS = ("distributed", "distributed.client", "tornado.application")  # others of dask have no level of their own
SCHEDULER_LOST = "the scheduler went away. Finished runs are safe; give the same command again"


class EngineError(RuntimeError):
    """The machinery that computes runs, not a run, is at fault: it could not be started or went away."""


def available_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass(frozen=True)
class LocalEngine:
    jobs: int
    warms_here: ClassVar[bool] = True  # kernels compiled here are found by the workers

    @property
    def window(self) -> int:
        """How many runs may wait at the workers: enough to keep them busy."""
        return 1 if self.jobs == 1 else 3 * self.jobs

    @contextmanager
    def open(self) -> Iterator[Executor]:
        """An executor of ``jobs`` workers; those still busy when it closes in a hurry are ended."""
        if self.jobs == 1:
            yield _InProcess()
            return
        before = set(multiprocessing.active_children())
        with one_thread():
            pool = ProcessPoolExecutor(self.jobs, mp_context=_Spawn(), initializer=start_worker)
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in set(multiprocessing.active_children()) - before:
                    process.terminate()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class DaskEngine:
    jobs: int
    address: str | None = None
    patience: float = 600.0
    window: ClassVar[int] = 10_000
    warms_here: ClassVar[bool] = True

    @contextmanager
    def open(self) -> Iterator[Executor]:
        distributed = _import_distributed()
        if self.address is None:
            cluster = distributed.LocalCluster(
                n_workers=self.jobs, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
            )
            with cluster, dask_pool(distributed.Client(cluster), self.patience, "see the log of dask") as pool:
                yield pool
            return
        try:
            client = distributed.Client(self.address, timeout=min(self.patience, CONNECT_SECONDS))
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no dask scheduler answers at {self.address} ({error}); start one with 'dask scheduler'"
            ) from error
        with dask_pool(client, self.patience, f"start one with 'dask worker {self.address}'") as pool:
            yield pool


@dataclass(frozen=True)
class SlurmEngine:
    workers: int
    queue: str | None = None
    walltime: str = "01:00:00"
    memory: str = "2GB"
    account: str | None = None
    patience: float = 3600.0
    window: ClassVar[int] = 10_000
    warms_here: ClassVar[bool] = False

    @contextmanager
    def open(self) -> Iterator[Executor]:
        distributed = _import_distributed()
        try:
            import dask_jobqueue
        except ImportError:
            raise EngineError("--engine slurm needs dask-jobqueue: pip install 'equirl[slurm]'") from None
        cluster = dask_jobqueue.SLURMCluster(
            queue=self.queue,
            account=self.account,
            walltime=self.walltime,
            memory=self.memory,
            cores=1,
            processes=1,
            job_script_prologue=[f"export {name}=1" for name in THREAD_VARIABLES],
        )
        remedy = "see 'squeue' for the jobs that were asked for"
        with cluster, dask_pool(distributed.Client(cluster), self.patience, remedy) as pool:
            cluster.scale(self.workers)
            yield pool


Engine = LocalEngine | DaskEngine | SlurmEngine


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise EngineError("--engine dask needs dask.distributed: pip install 'equirl[cluster]'") from None
    return distributed


class DaskPool(Executor):
    def __init__(self, client: Any, patience: float, remedy: str) -> None:
        self._client, self._jobs = client, client.get_executor()
        self._patience, self._remedy = patience, remedy
        self._over, self._unanswered, self._seen_any = threading.Event(), 0, False
        self._empty_since: float | None = time.monotonic()
        self._opened, self._told = time.monotonic(), -AGAIN_SECONDS
        threading.Thread(target=self._look, daemon=True, name="equirl dask workers").start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
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


class _InProcess(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def one_thread() -> Iterator[None]:
    """Children started inside use one thread each: the runs are the parallelism."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def without_main() -> Iterator[None]:
    """Inside, a process that is started does not run the user's script again: no guard is needed there.

    Such processes are given functions of this package alone, so they have no need of ``__main__``.
    """
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__spec__", "__file__") if hasattr(main, name)}
    try:
        main.__spec__ = None
        vars(main).pop("__file__", None)  # not None, at which inspect stumbles in other threads
        with _interrupts_held():
            yield
    finally:
        vars(main).update(hidden)


class _Worker(SpawnProcess):
    def start(self) -> None:
        with without_main():
            super().start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Inside, Ctrl-C waits; a process started inside never sees it, not even before its first line has run."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would let interrupts through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Spawn(SpawnContext):
    Process = _Worker


def start_worker() -> None:
    """A worker leaves Ctrl-C to its parent, and ends when the parent is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
