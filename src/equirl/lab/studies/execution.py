"""A whole study from start to end: see what is there, rename what is damaged, compute the rest, show progress.

Runs go to an engine, results to the store, news to whoever listens.
"""

from __future__ import annotations

import os
import random
import re
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from importlib import import_module
from queue import Empty, SimpleQueue

from equirl.lab.studies.engines import SCHEDULER_LOST, DaskPool, Engine, EngineError
from equirl.lab.studies.expansion import PlannedRun, unique_specs
from equirl.lab.studies.plan_file import rename_damaged_plan, write_plan
from equirl.lab.studies.progress import SILENT, ProgressListener, progress_shown
from equirl.lab.studies.run_specs import RunSpec
from equirl.lab.studies.runs import RunFailure, RunResult, execute
from equirl.lab.studies.store import Status, Store
from equirl.learners import outside_modules
from equirl.words.formatting import counted

Execute = Callable[[RunSpec], RunResult]
Job = Future  # of a RunResult or a RunFailure
WARM_HORIZON = 64
LONGEST_ERROR = 200  # characters; the traceback has the rest
WATCH_SECONDS = 0.5  # of waiting until the pool is asked whether waiting makes sense
MOST_LOSSES = 2  # times a run may lose its worker before it is recorded as failed


@dataclass(frozen=True)
class Report:
    n_computed: int
    n_elsewhere: int
    failures: list[RunFailure]

    def failures_alike(self) -> dict[tuple[str, str], list[RunFailure]]:
        alike: dict[tuple[str, str], list[RunFailure]] = {}
        for failure in self.failures:
            alike.setdefault((failure.spec.learner, failure.error), []).append(failure)
        return alike


@dataclass(frozen=True)
class StudyOutcome:
    before: Status
    report: Report
    n_stored: int
    n_lost: int
    plan_trouble: str | None = None

    @property
    def complete(self) -> bool:
        return not self.report.failures and not self.n_lost


def run_study(
    planned: Sequence[PlannedRun],
    store: Store,
    engine: Engine,
    *,
    shard: tuple[int, int] | None = None,
    quiet: bool = False,
    run: Execute = execute,
) -> StudyOutcome:
    """Compute the runs of a study that are not done yet. Failed runs are tried again.

    Parameters
    ----------
    planned : sequence of PlannedRun
        The runs of the study.
    store : Store
        Where results are kept.
    engine : Engine
        Where runs are computed.
    shard : (int, int), optional
        Which share of how many, such as (2, 8); by default everything.
    quiet : bool
        Whether no progress is shown.
    run : callable
        From a RunSpec to its RunResult.

    Raises
    ------
    EngineError
        Where the engine cannot be started or went away.
    StoreError
        Where results cannot be kept.
    """
    store.prepare()
    plan_trouble = rename_damaged_plan(store)
    write_plan(planned, store)
    specs = unique_specs(planned)
    if shard is not None:
        specs = shard_of(specs, *shard)
    before = store.status(specs)
    with progress_shown(planned, before.to_compute, quiet=quiet) as listener:
        for spec, reason in before.damaged:
            aside = store.rename_damaged(spec)
            listener.note(f"not used: {reason}; set aside as {aside.name} and computed again")
        report = compute(before.to_compute, store, engine, listener, run)
    stored = {spec.key for spec in specs if store.has(spec)}
    failed = {failure.spec.key for failure in report.failures}
    n_lost = len({spec.key for spec in specs} - stored - failed)
    return StudyOutcome(before, report, len(stored), n_lost, plan_trouble)


def shard_of(specs: Iterable[RunSpec], shard: int, n_shards: int) -> list[RunSpec]:
    """One of equal shares, the same in every process, long and short runs mixed."""
    if not 1 <= shard <= n_shards:
        raise ValueError(f"shard {shard}/{n_shards}: the first number must be between 1 and {n_shards}")
    return sorted(specs, key=lambda spec: (-spec.cost, spec.key))[shard - 1 :: n_shards]


def compute(
    specs: Iterable[RunSpec],
    store: Store,
    engine: Engine,
    listener: ProgressListener = SILENT,
    run: Execute = execute,
) -> Report:
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
        while True:
            try:
                return ended.get(timeout=WATCH_SECONDS if isinstance(pool, DaskPool) else None)
            except Empty:
                if isinstance(pool, DaskPool):
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
            self.listener.finished(outcome.spec, outcome)
        else:
            self.store.write(outcome)
            self.n_computed += 1
            self.listener.finished(outcome.spec, None)


def attempt(run: Execute, spec: RunSpec, modules: tuple[str, ...] = ()) -> RunResult | RunFailure:
    """Compute a run; whatever it raises becomes part of the answer, so one run cannot stop the others."""
    try:
        for module in modules:
            import_module(module)
        return run(spec)
    except Exception as error:
        first_line = f"{type(error).__name__}: {error}".splitlines()[0][:LONGEST_ERROR]
        return RunFailure(spec, first_line, traceback.format_exc())


def parse_shard(text: str) -> tuple[int, int]:
    """A share of a study, such as ``2/8``: the second of eight.

    >>> parse_shard("2/8")
    (2, 8)
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"a shard is written i/n with i from 1 to n, such as 2/8; not {text!r}")
    return int(found[1]), int(found[2])


def status_rows(planned: Sequence[PlannedRun], status: Status) -> list[tuple[str, str, str, int, int, int, int]]:
    """Part, world, learner, and how many of their runs are done, missing, failed and damaged."""
    kinds = {spec.key: k for k, group in enumerate((status.done, status.missing, status.failed)) for spec in group}
    kinds |= {spec.key: 3 for spec, _ in status.damaged}
    tally: dict[tuple[str, str, str], Counter[int]] = {}
    for run in planned:
        tally.setdefault((run.part, run.world, run.learner), Counter())[kinds[run.spec.key]] += 1
    return [(*place, counts[0], counts[1], counts[2], counts[3]) for place, counts in tally.items()]
