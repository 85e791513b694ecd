"""What ``equirl bench`` measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from equirl.lab.benchmarks import journal_speed, learning_speed
from equirl.lab.benchmarks.clustering_speed import measure_clustering
from equirl.lab.benchmarks.journal_speed import measure_journal
from equirl.lab.benchmarks.learning_speed import measure_learning
from equirl.lab.benchmarks.log_speed import measure_logs
from equirl.lab.benchmarks.measurement import Finding, Sizes
from equirl.lab.benchmarks.planning_speed import measure_acceleration, measure_planning
from equirl.lab.benchmarks.process_costs import measure_memory, measure_scale, measure_startup
from equirl.lab.benchmarks.solving_speed import measure_solving
from equirl.lab.studies.run_specs import read_settings, settings_of
from equirl.words.checking import unknown_name

SUBJECTS: dict[str, Callable[[Sizes], Iterator[Finding]]] = {
    "planning": measure_planning,
    "acceleration": measure_acceleration,
    "solving": measure_solving,
    "learning": measure_learning,
    "journal": measure_journal,
    "clustering": measure_clustering,
    "logs": measure_logs,
    "start": measure_startup,
    "memory": measure_memory,
    "scale": measure_scale,
}


def with_settings(sizes: Sizes, texts: Sequence[str]) -> Sizes:
    """Sizes with other settings of the learners that are measured."""
    measured = [*learning_speed.MEASURED, *journal_speed.MEASURED, *(learner for _, learner, _ in sizes.large)]
    chosen = {name: own for name, own in read_settings(texts, measured).items() if own}
    for name, own in chosen.items():
        try:
            settings_of(name, own)
        except (TypeError, ValueError) as error:
            raise ValueError(f"--set: for {name!r}: {error}") from None
    return replace(sizes, settings=chosen)


def run_benchmarks(sizes: Sizes, subjects: Sequence[str] = tuple(SUBJECTS)) -> Iterator[Finding]:
    for name in subjects:
        if name not in SUBJECTS:
            raise ValueError(unknown_name("subject", name, SUBJECTS))
    for name in subjects:
        for found in SUBJECTS[name](sizes):
            yield found._replace(subject=name)
