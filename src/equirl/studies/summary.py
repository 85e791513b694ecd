"""What many runs say together: means with their confidence, medians and quantiles, comparisons of two learners."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.studies.expansion import PlannedRun
from equirl.studies.runs import RunResult

FEW_RUNS = 30  # below this many, Student's quantiles replace the normal ones
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def half_width(samples: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Half the confidence interval of the mean over the first axis: q * s / sqrt(n); NaN for a single run.

    ``q`` is Student's quantile below 30 runs and the normal one from there on.

    >>> float(half_width(np.array([1.0, 2.0, 3.0])).round(3))
    2.484
    """
    from scipy import stats

    n = len(samples)
    if n < 2:
        return np.full(samples.shape[1:], np.nan)
    tail = (1 + level) / 2
    quantile = stats.t.ppf(tail, n - 1) if n < FEW_RUNS else stats.norm.ppf(tail)
    return np.asarray(quantile * samples.std(axis=0, ddof=1) / math.sqrt(n))


@dataclass(frozen=True)
class Curve:
    """One measure of one learner over its runs, at the checkpoints ``t``."""

    t: np.ndarray  # (K,)
    runs: np.ndarray  # (n_runs, K), one row per replicate, in order

    @property
    def n_runs(self) -> int:
        return len(self.runs)

    @property
    def mean(self) -> np.ndarray:
        """(K,) the mean over runs."""
        return np.asarray(self.runs.mean(axis=0))

    def half_width(self, level: float = 0.95) -> np.ndarray:
        """(K,) half the confidence interval of the mean."""
        return half_width(self.runs, level)

    def quantile(self, q: float) -> np.ndarray:
        """(K,) a quantile over runs; 0.5 is the median."""
        return np.asarray(np.quantile(self.runs, q, axis=0))

    def at(self, time: float) -> np.ndarray:
        """(n_runs,) the values at a time, linear between checkpoints, 0 at time 0."""
        grid = np.concatenate([[0], self.t])
        return np.array([np.interp(time, grid, np.concatenate([[0.0], run])) for run in self.runs])


@dataclass(frozen=True)
class Group:
    """All finished runs of one learner in one world of one part of a study."""

    part: str
    world: str  # label
    learner: str  # label
    learner_name: str  # in the registry
    curves: Mapping[str, Curve]
    replicates: tuple[int, ...]
    gain: float
    paired: bool  # whether learners met the same randomness of the world
    facts: Mapping[str, np.ndarray]  # per run: n_episodes, n_unconverged

    @property
    def n_runs(self) -> int:
        return len(self.replicates)

    @property
    def horizon(self) -> int:
        return int(self.curves["regret"].t[-1])


def summarise(runs: Iterable[tuple[PlannedRun, RunResult]]) -> list[Group]:
    """Group finished runs by part, world and learner, in the order of the study."""
    bundles: dict[tuple[str, str, str], list[tuple[PlannedRun, RunResult]]] = {}
    for run, result in runs:
        bundles.setdefault((run.part, run.world, run.learner), []).append((run, result))
    return [_group(sorted(bundle, key=lambda item: item[0].spec.replicate)) for bundle in bundles.values()]


def _group(bundle: Sequence[tuple[PlannedRun, RunResult]]) -> Group:
    run, first = bundle[0]
    results = [result for _, result in bundle]
    curves = {
        name: Curve(first.t, np.array([result.curves[name] for result in results], dtype=float))
        for name in first.curves
    }
    facts = {name: np.array([result.facts[name] for result in results]) for name in ("n_episodes", "n_unconverged")}
    return Group(
        part=run.part,
        world=run.world,
        learner=run.learner,
        learner_name=run.spec.learner,
        curves=curves,
        replicates=tuple(run.spec.replicate for run, _ in bundle),
        gain=first.facts["gain"],
        paired=run.spec.world_seed is not None,
        facts=facts,
    )


def find(groups: Iterable[Group], part: str, learner: str, world: str | None = None) -> Group:
    """The group of a part and learner (and world, where a part has several)."""
    for group in groups:
        if group.part == part and group.learner == learner and world in (None, group.world):
            return group
    raise KeyError(f"no finished run of {learner!r} in part {part!r}")


SUMMARY_COLUMNS: tuple[str, ...] = ("part", "world", "learner", "runs", "horizon", "mean", "ci95_low", "ci95_high")
SUMMARY_COLUMNS += tuple(f"q{100 * q:g}" for q in QUANTILES)


def final_rows(groups: Iterable[Group], measure: str = "regret") -> list[tuple[Any, ...]]:
    """One row per group: the measure at the horizon, in the columns of ``SUMMARY_COLUMNS``."""
    rows = []
    for group in groups:
        if measure not in group.curves:
            continue
        last = group.curves[measure].runs[:, -1]
        mean, half = float(last.mean()), float(half_width(last))
        quantiles = [float(np.quantile(last, q)) for q in QUANTILES]
        row = (group.part, group.world, group.learner, group.n_runs, group.horizon, mean, mean - half, mean + half)
        rows.append((*row, *quantiles))
    return rows


@dataclass(frozen=True)
class Comparison:
    """``first`` against ``second`` at the horizon: the mean of the difference, its 95 % interval, and the ratio."""

    first: str
    second: str
    difference: float
    half_width: float
    ratio: float  # of the means
    share_below: float  # of the runs (of all pairs of runs, where unpaired) in which the first is smaller
    paired: bool
    n_runs: int

    @property
    def decided(self) -> bool:
        """Whether the interval of the difference leaves out zero."""
        return abs(self.difference) > self.half_width


def compare(first: Group, second: Group, measure: str = "regret") -> Comparison:
    """Compare two learners of one world; by replicate where both met the same randomness of the world."""
    a, b = first.curves[measure].runs[:, -1], second.curves[measure].runs[:, -1]
    common = sorted(set(first.replicates) & set(second.replicates))
    paired = first.paired and second.paired and len(common) > 1
    if paired:
        a = a[[first.replicates.index(k) for k in common]]
        b = b[[second.replicates.index(k) for k in common]]
        half, below = float(half_width(a - b)), float(np.mean(a < b))
    else:
        half = math.hypot(float(half_width(a)), float(half_width(b)))
        below = float(np.mean(a[:, None] < b[None, :]))
    difference = float(a.mean() - b.mean())
    ratio = float(a.mean() / b.mean()) if b.mean() else math.nan
    return Comparison(first.learner, second.learner, difference, half, ratio, below, paired, min(len(a), len(b)))
