"""A whole study from start to end: look at what is there, set aside what is damaged, compute the rest, keep watch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from equirl.studies.engines import Engine
from equirl.studies.expansion import PlannedRun, unique_specs
from equirl.studies.progress import watching
from equirl.studies.runs import execute
from equirl.studies.scheduler import Execute, Report, Silent, compute, shard_of
from equirl.studies.store import Status, Store


@dataclass(frozen=True)
class Ending:
    """How a study ended: what was there before, and what was computed now."""

    before: Status
    report: Report

    @property
    def complete(self) -> bool:
        return not self.report.failures


def conduct(
    planned: Sequence[PlannedRun],
    store: Store,
    engine: Engine,
    *,
    shard: tuple[int, int] | None = None,
    quiet: bool = False,
    run: Execute = execute,
) -> Ending:
    """Compute the runs of a study (or of one shard of it) that are not done yet. Failed runs are tried again."""
    store.prepare()
    specs = unique_specs(planned)
    if shard is not None:
        specs = shard_of(specs, *shard)
    before = store.status(specs)
    with watching(planned, before.to_compute, quiet) as watch:
        for spec, reason in before.damaged:
            aside = store.set_aside(spec)
            (watch or Silent()).note(f"damaged: {reason}; set aside as {aside.name} and computed again")
        report = compute(before.to_compute, store, engine, watch, run)
    return Ending(before, report)


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
    """A row per part, world and learner: how many runs are done, missing, failed and damaged."""
    kinds = {spec.key: k for k, group in enumerate((status.done, status.missing, status.failed)) for spec in group}
    kinds |= {spec.key: 3 for spec, _ in status.damaged}
    tally: dict[tuple[str, str, str], Counter[int]] = {}
    for run in planned:
        tally.setdefault((run.part, run.world, run.learner), Counter())[kinds[run.spec.key]] += 1
    return [(*place, counts[0], counts[1], counts[2], counts[3]) for place, counts in tally.items()]
