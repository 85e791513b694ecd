"""A whole study from start to end: see what is there, set aside what is damaged, compute the rest, show progress."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from equirl.lab.studies.engines import Engine
from equirl.lab.studies.expansion import PlannedRun, unique_specs
from equirl.lab.studies.plan_file import set_plan_aside, write_plan
from equirl.lab.studies.progress import progress_shown
from equirl.lab.studies.runs import execute
from equirl.lab.studies.scheduler import Execute, Report, SilentListener, compute, shard_of
from equirl.lab.studies.store import Status, Store


@dataclass(frozen=True)
class StudyOutcome:
    """How a study ended."""

    before: Status
    report: Report
    n_stored: int
    n_lost: int
    plan_trouble: str | None = None

    @property
    def complete(self) -> bool:
        """Whether no run failed and none was lost."""
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

    Returns
    -------
    StudyOutcome

    Raises
    ------
    EngineError
        Where the engine cannot be started or went away.
    StoreError
        Where results cannot be kept.
    """
    store.prepare()
    plan_trouble = set_plan_aside(store)
    write_plan(planned, store)
    specs = unique_specs(planned)
    if shard is not None:
        specs = shard_of(specs, *shard)
    before = store.status(specs)
    with progress_shown(planned, before.to_compute, quiet=quiet) as listener:
        for spec, reason in before.damaged:
            aside = store.set_aside(spec)
            (listener or SilentListener()).note(f"not used: {reason}; set aside as {aside.name} and computed again")
        report = compute(before.to_compute, store, engine, listener, run)
    stored = {spec.key for spec in specs if store.has(spec)}
    failed = {failure.spec.key for failure in report.failures}
    n_lost = len({spec.key for spec in specs} - stored - failed)
    return StudyOutcome(before, report, len(stored), n_lost, plan_trouble)


def parse_shard(text: str) -> tuple[int, int]:
    """A share of a study, such as ``2/8``: the second of eight.

    Examples
    --------
    >>> parse_shard("2/8")
    (2, 8)
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"a shard is written i/n with i from 1 to n, such as 2/8; not {text!r}")
    return int(found[1]), int(found[2])


def status_rows(planned: Sequence[PlannedRun], status: Status) -> list[tuple[str, str, str, int, int, int, int]]:
    """How many runs are done, missing, failed and damaged."""
    kinds = {spec.key: k for k, group in enumerate((status.done, status.missing, status.failed)) for spec in group}
    kinds |= {spec.key: 3 for spec, _ in status.damaged}
    tally: dict[tuple[str, str, str], Counter[int]] = {}
    for run in planned:
        tally.setdefault((run.part, run.world, run.learner), Counter())[kinds[run.spec.key]] += 1
    return [(*place, counts[0], counts[1], counts[2], counts[3]) for place, counts in tally.items()]
