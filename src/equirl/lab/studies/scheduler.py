"""Computing what is missing: runs go to an engine, results to the store, news to whoever listens."""

from __future__ import annotations

import os
import random
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Protocol, runtime_checkable

from equirl.lab.studies.engine_errors import SCHEDULER_LOST, EngineError
from equirl.lab.studies.engines import Engine
from equirl.lab.studies.run_specs import RunSpec
from equirl.lab.studies.runs import RunFailure, RunResult, execute
from equirl.lab.studies.store import Store
from equirl.learners import outside_modules
from equirl.words.formatting import counted

Execute = Callable[[RunSpec], RunResult]
Job = Future  # of a RunResult or a RunFailure
WARM_HORIZON = 64
LONGEST_ERROR = 200  # characters; the traceback has the rest
WATCH_SECONDS = 0.5  # of waiting until the pool is asked whether waiting makes sense
MOST_LOSSES = 2  # times a run may lose its worker before it is recorded as failed


class ProgressListener(Protocol):
    """Whoever wants to know how a study goes on."""

    def begin(self) -> None:
        """The first runs are given out."""

    def note(self, text: str) -> None:
        """Something happened that a person should know."""

    def finished(self, spec: RunSpec, outcome: RunResult | RunFailure | None) -> None:
        """A run is done (``None``: another process did it)."""


class SilentListener:
    """Says nothing."""

    def begin(self) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def finished(self, spec: RunSpec, outcome: RunResult | RunFailure | None) -> None:
        """Ignore."""


@runtime_checkable
class Watched(Protocol):
    """A pool of workers that may go away without a word; it is asked while jobs are waited for."""

    def watch(self, note: Callable[[str], None]) -> None:
        """An error where waiting is in vain; a note where a person should do something."""


@dataclass(frozen=True)
class Report:
    """How a computation ended."""

    n_computed: int
    n_elsewhere: int
    failures: list[RunFailure]

    def failures_alike(self) -> dict[tuple[str, str], list[RunFailure]]:
        """The failures by learner and error."""
        alike: dict[tuple[str, str], list[RunFailure]] = {}
        for failure in self.failures:
            alike.setdefault((failure.spec.learner, failure.error), []).append(failure)
        return alike


def attempt(run: Execute, spec: RunSpec, modules: tuple[str, ...] = ()) -> RunResult | RunFailure:
    """Compute a run; whatever it raises becomes part of the answer, so one run cannot stop the others."""
    try:
        for module in modules:
            import_module(module)
        return run(spec)
    except Exception as error:
        first_line = f"{type(error).__name__}: {error}".splitlines()[0][:LONGEST_ERROR]
        return RunFailure(spec, first_line, traceback.format_exc())


def shard_of(specs: Iterable[RunSpec], shard: int, n_shards: int) -> list[RunSpec]:
    """One of equal shares, the same in every process, long and short runs mixed."""
    if not 1 <= shard <= n_shards:
        raise ValueError(f"shard {shard}/{n_shards}: the first number must be between 1 and {n_shards}")
    return sorted(specs, key=lambda spec: (-spec.cost, spec.key))[shard - 1 :: n_shards]


def compute(
    specs: Iterable[RunSpec],
    store: Store,
    engine: Engine,
    listener: ProgressListener | None = None,
    run: Execute = execute,
) -> Report:
    """Compute every run that has no result yet."""
    listener = listener or SilentListener()
    queue = _ordered(specs)
    if queue and engine.warms_here and run is execute:
        _compile_kernels(queue, listener)
    listener.begin()
    scheduler = _Scheduler(deque(queue), store, engine, listener, run)
    while scheduler.queue:
        scheduler.use_pool()
    return Report(scheduler.n_computed, scheduler.n_elsewhere, scheduler.failures)


def _ordered(specs: Iterable[RunSpec]) -> list[RunSpec]:
    """Replicate by replicate, so that what is done is balanced at any moment; longest first in each.

    Replicates, and equals among them, come in an order of this process's own: two processes rarely take the same run.
    """
    mixed, dice = list(specs), random.Random(os.getpid())
    dice.shuffle(mixed)
    turn = {replicate: dice.random() for replicate in sorted({spec.replicate for spec in mixed})}
    return sorted(mixed, key=lambda spec: (turn[spec.replicate], -spec.cost))


def _compile_kernels(specs: list[RunSpec], listener: ProgressListener) -> None:
    """Compile, once and before any worker starts, what the runs will need: each kind of run for a few steps."""
    kinds = {(spec.learner, str(sorted(spec.settings.items())), spec.measures): spec for spec in specs}
    what = counted(len(kinds), "kind of run", "kinds of run")
    listener.note(f"preparing {what} (the first time, inner loops are compiled)")
    for spec in kinds.values():
        horizon = min(spec.horizon, WARM_HORIZON)
        attempt(execute, replace(spec, horizon=horizon, checkpoints=1))


@dataclass
class _Scheduler:
    """Gives runs to a pool of workers and keeps what comes back; a pool that broke is replaced."""

    queue: deque[RunSpec]
    store: Store
    engine: Engine
    listener: ProgressListener
    run: Execute
    lost: Counter[str] = field(default_factory=Counter)  # key -> how often its worker was lost
    failures: list[RunFailure] = field(default_factory=list)
    n_computed: int = 0
    n_elsewhere: int = 0

    def use_pool(self) -> None:
        """Give out runs and keep what comes back, until all is done or the pool of workers broke."""
        ended: SimpleQueue[Job] = SimpleQueue()
        running: dict[Job, RunSpec] = {}
        broken = False
        with self.engine.open() as pool:
            while running or (self.queue and not broken):
                while self.queue and not broken and len(running) < self._window():
                    broken = not self._give_out(pool, running, ended)
                if running:
                    job = self._next(pool, ended)
                    broken |= self._receive(job, running.pop(job))

    def _next(self, pool: Executor, ended: SimpleQueue[Job]) -> Job:
        """The next job that ended."""
        while True:
            try:
                return ended.get(timeout=WATCH_SECONDS if isinstance(pool, Watched) else None)
            except Empty:
                if isinstance(pool, Watched):
                    pool.watch(self.listener.note)

    def _window(self) -> int:
        """A run whose worker was lost goes alone, so that the next loss names the culprit."""
        return 1 if self.lost[self.queue[0].key] else self.engine.window

    def _give_out(self, pool: Executor, running: dict[Job, RunSpec], ended: SimpleQueue[Job]) -> bool:
        spec = self.queue.popleft()
        if self.store.has(spec):
            self.n_elsewhere += 1
            self.listener.finished(spec, None)
            return True
        try:
            job = pool.submit(attempt, self.run, spec, outside_modules(spec.learner))
        except BrokenExecutor:
            self.queue.appendleft(spec)
            return False
        running[job] = spec
        job.add_done_callback(ended.put)
        return True

    def _receive(self, job: Job, spec: RunSpec) -> bool:
        """Keep the outcome of a run; whether the pool broke."""
        try:
            error = job.exception()
        except CancelledError:
            raise EngineError(SCHEDULER_LOST) from None
        if error is None:
            self._keep(job.result())
            return False
        self.lost[spec.key] += 1
        if self.lost[spec.key] > MOST_LOSSES:
            reason = (
                f"its worker was lost {self.lost[spec.key]} times ({error}); perhaps it needs more memory than there is"
            )
            self._keep(RunFailure(spec, reason, reason))
        else:
            self.listener.note(f"a worker was lost; a run of {spec.learner} in {spec.world} is given out again")
            self.queue.appendleft(spec)
        return isinstance(error, BrokenExecutor)

    def _keep(self, outcome: RunResult | RunFailure) -> None:
        if isinstance(outcome, RunFailure):
            self.store.write_failure(outcome)
            self.failures.append(outcome)
        else:
            self.store.write(outcome)
            self.n_computed += 1
        self.listener.finished(outcome.spec, outcome)
