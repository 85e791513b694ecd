"""Computing what is missing: runs go to an engine, results to the store, news to whoever watches."""

from __future__ import annotations

import os
import random
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Protocol

from equirl.studies.engines import Engine, EngineError
from equirl.studies.runs import RunFailure, RunResult, RunSpec, execute
from equirl.studies.store import Store

Execute = Callable[[RunSpec], RunResult]
Job = Future  # of a RunResult or a RunFailure
WARM_HORIZON = 64
LONGEST_ERROR = 200  # characters; the traceback has the rest
PATIENCE = 2  # times a run may lose its worker before it is recorded as failed


class Watch(Protocol):
    """Whoever wants to know how a study goes on."""

    def begin(self) -> None:
        """The first runs are given out."""

    def note(self, text: str) -> None:
        """Something happened that a person should know."""

    def finished(self, spec: RunSpec, outcome: RunResult | RunFailure | None) -> None:
        """A run is done (``None``: another process did it)."""


class Silent:
    """Watches without a word."""

    def begin(self) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def finished(self, spec: RunSpec, outcome: RunResult | RunFailure | None) -> None:
        """Ignore."""


@dataclass(frozen=True)
class Report:
    """How a computation ended."""

    n_computed: int
    n_elsewhere: int  # done meanwhile by another process
    failures: list[RunFailure]

    def failures_alike(self) -> dict[tuple[str, str], list[RunFailure]]:
        """The failures by learner and error."""
        alike: dict[tuple[str, str], list[RunFailure]] = {}
        for failure in self.failures:
            alike.setdefault((failure.spec.learner, failure.error), []).append(failure)
        return alike


def attempt(run: Execute, spec: RunSpec) -> RunResult | RunFailure:
    """Compute a run; whatever it raises becomes part of the answer, so one run cannot stop the others."""
    try:
        return run(spec)
    except Exception as error:
        first_line = f"{type(error).__name__}: {error}".splitlines()[0][:LONGEST_ERROR]
        return RunFailure(spec, first_line, traceback.format_exc())


def shard_of(specs: Iterable[RunSpec], shard: int, n_shards: int) -> list[RunSpec]:
    """The ``shard``-th of ``n_shards`` equal shares (from 1), the same in every process, long and short runs mixed."""
    if not 1 <= shard <= n_shards:
        raise ValueError(f"shard {shard}/{n_shards}: the first number must be between 1 and {n_shards}")
    return sorted(specs, key=lambda spec: (-spec.cost, spec.key))[shard - 1 :: n_shards]


def compute(
    specs: Iterable[RunSpec], store: Store, engine: Engine, watch: Watch | None = None, run: Execute = execute
) -> Report:
    """Compute every run of ``specs`` that has no result yet."""
    watch = watch or Silent()
    queue = _ordered(specs)
    if queue and engine.warms_here and run is execute:
        _warm(queue, watch)
    watch.begin()
    crew = _Crew(deque(queue), store, engine, watch, run)
    while crew.queue:
        crew.work_shift()
    return Report(crew.n_computed, crew.n_elsewhere, crew.failures)


def _ordered(specs: Iterable[RunSpec]) -> list[RunSpec]:
    """Replicate by replicate, so that what is done is balanced at any moment; longest first in each.

    Replicates, and equals among them, come in an order of this process's own: two processes rarely take the same run.
    """
    mixed, dice = list(specs), random.Random(os.getpid())
    dice.shuffle(mixed)
    turn = {replicate: dice.random() for replicate in sorted({spec.replicate for spec in mixed})}
    return sorted(mixed, key=lambda spec: (turn[spec.replicate], -spec.cost))


def _warm(specs: list[RunSpec], watch: Watch) -> None:
    """Compile, once and before any worker starts, what the runs will need: each kind of run for a few steps."""
    kinds = {(spec.learner, str(sorted(spec.settings.items())), spec.measures): spec for spec in specs}
    watch.note(f"preparing {len(kinds)} kinds of run (the first time, kernels are compiled)")
    for spec in kinds.values():
        horizon = min(spec.horizon, WARM_HORIZON)
        attempt(execute, replace(spec, horizon=horizon, checkpoints=1))


@dataclass
class _Crew:
    queue: deque[RunSpec]
    store: Store
    engine: Engine
    watch: Watch
    run: Execute
    lost: Counter[str] = field(default_factory=Counter)  # key -> how often its worker was lost
    failures: list[RunFailure] = field(default_factory=list)
    n_computed: int = 0
    n_elsewhere: int = 0

    def work_shift(self) -> None:
        """Give out runs and keep what comes back, until all is done or the pool of workers broke."""
        landed: SimpleQueue[Job] = SimpleQueue()
        flying: dict[Job, RunSpec] = {}
        broken = False
        with self.engine.open() as pool:
            while flying or (self.queue and not broken):
                while self.queue and not broken and len(flying) < self._window():
                    broken = not self._give_out(pool, flying, landed)
                if flying:
                    job = landed.get()
                    broken |= self._receive(job, flying.pop(job))

    def _window(self) -> int:
        """A run whose worker was lost goes alone, so that the next loss names the culprit."""
        return 1 if self.lost[self.queue[0].key] else self.engine.window

    def _give_out(self, pool: Executor, flying: dict[Job, RunSpec], landed: SimpleQueue[Job]) -> bool:
        spec = self.queue.popleft()
        if self.store.path(spec).exists():
            self.n_elsewhere += 1
            self.watch.finished(spec, None)
            return True
        try:
            job = pool.submit(attempt, self.run, spec)
        except BrokenExecutor:
            self.queue.appendleft(spec)
            return False
        flying[job] = spec
        job.add_done_callback(landed.put)
        return True

    def _receive(self, job: Job, spec: RunSpec) -> bool:
        """Keep the outcome of a run; whether the pool broke."""
        try:
            error = job.exception()
        except CancelledError:
            raise EngineError("the scheduler went away. Finished runs are safe; give the same command again") from None
        if error is None:
            self._keep(job.result())
            return False
        self.lost[spec.key] += 1
        if self.lost[spec.key] > PATIENCE:
            reason = (
                f"its worker was lost {self.lost[spec.key]} times ({error}); perhaps it needs more memory than there is"
            )
            self._keep(RunFailure(spec, reason, reason))
        else:
            self.watch.note(f"a worker was lost; a run of {spec.learner} in {spec.world} is given out again")
            self.queue.appendleft(spec)
        return isinstance(error, BrokenExecutor)

    def _keep(self, outcome: RunResult | RunFailure) -> None:
        if isinstance(outcome, RunFailure):
            self.store.write_failure(outcome)
            self.failures.append(outcome)
        else:
            self.store.write(outcome)
            self.n_computed += 1
        self.watch.finished(outcome.spec, outcome)
