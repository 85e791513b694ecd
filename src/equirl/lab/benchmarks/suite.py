"""What is measured, and at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from equirl.lab.benchmarks import journal_speed, learning_speed
from equirl.lab.benchmarks.acceleration import measure_acceleration
from equirl.lab.benchmarks.clustering_speed import measure_clustering
from equirl.lab.benchmarks.journal_speed import measure_journal
from equirl.lab.benchmarks.learning_speed import measure_learning
from equirl.lab.benchmarks.log_speed import measure_logs
from equirl.lab.benchmarks.measurement import Finding
from equirl.lab.benchmarks.memory import measure_memory, measure_scale
from equirl.lab.benchmarks.planning_speed import measure_planning
from equirl.lab.benchmarks.startup import measure_startup
from equirl.lab.studies.run_specs import read_settings, settings_of
from equirl.words.checking import unknown_name

Large = tuple[int, str, tuple[tuple[str, Any], ...]]  # side of a four-room grid, learner, its settings


@dataclass(frozen=True)
class Sizes:
    """How large and how long."""

    seconds: float = 2.0
    sweep_states: int = 10_000
    dense_states: int = 400
    growth_states: tuple[int, ...] = (1_000, 3_000, 10_000, 30_000, 100_000)
    horizon: int = 500_000
    loop_steps: int = 50_000
    plain_steps: int = 1_000
    growth_horizons: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    oracle_pairs: int = 200
    growth_pairs: tuple[int, ...] = (1_000, 2_000, 4_000, 10_000)
    large: tuple[Large, ...] = ((20, "c-ucrl-c-sigma", ()), (20, "c-ucrl", ()), (20, "ucrl2-l", ()))
    large_horizon: int = 100_000
    starts: int = 5
    log_rows: int = 1_000_000
    log_side: int = 51
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def chosen(self, learner: str) -> dict[str, Any]:
        """The settings of a learner that differ from its defaults."""
        return dict(self.settings.get(learner, {}))

    def told(self, learner: str) -> str:
        """The same, to be added to a note."""
        return "".join(f", {key}={value}" for key, value in self.chosen(learner).items())


SIZES = {
    "quick": Sizes(
        seconds=0.3, growth_states=(1_000, 10_000), horizon=100_000, loop_steps=5_000, plain_steps=200,
        growth_horizons=(10_000, 100_000), oracle_pairs=100, growth_pairs=(1_000, 2_000),
        large=((11, "c-ucrl", ()),), large_horizon=20_000, starts=2, log_rows=100_000, log_side=21,
    ),
    "standard": Sizes(),
    "full": Sizes(
        growth_pairs=(1_000, 4_000, 10_000, 40_000), large=(
            *Sizes.large, (20, "c-ucrl", (("effort", 1e4),)), (100, "c-ucrl-c-sigma", ()),
            (100, "c-ucrl", (("effort", 1e4),)),
        ),
        large_horizon=1_000_000,
    ),
}  # fmt: skip

SUBJECTS: dict[str, Callable[[Sizes], Iterator[Finding]]] = {
    "planning": measure_planning,
    "acceleration": measure_acceleration,
    "learning": measure_learning,
    "journal": measure_journal,
    "clustering": measure_clustering,
    "logs": measure_logs,
    "start": measure_startup,
    "memory": measure_memory,
    "scale": measure_scale,
}


def with_settings(sizes: Sizes, texts: Sequence[str]) -> Sizes:
    """Sizes with other settings of the learners that are measured.

    Examples
    --------
    >>> with_settings(Sizes(), ["c-ucrl.effort=1e4"]).chosen("c-ucrl")
    {'effort': 10000.0}
    """
    measured = [*learning_speed.MEASURED, *journal_speed.MEASURED, *(learner for _, learner, _ in sizes.large)]
    chosen = {name: own for name, own in read_settings(texts, measured).items() if own}
    for name, own in chosen.items():
        try:
            settings_of(name, own)
        except (TypeError, ValueError) as error:
            raise ValueError(f"--set: for {name!r}: {error}") from None
    return replace(sizes, settings=chosen)


def run_benchmarks(sizes: Sizes, subjects: Sequence[str] = tuple(SUBJECTS)) -> Iterator[Finding]:
    """Measure the subjects in turn."""
    for name in subjects:
        if name not in SUBJECTS:
            raise ValueError(unknown_name("subject", name, SUBJECTS))
    for name in subjects:
        yield from SUBJECTS[name](sizes)
