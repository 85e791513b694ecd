"""Curves of runs: named measures at common checkpoints, one row per run.

One container serves a single run, the replicates of a study and a quick comparison. Runs are stacked into it; means,
intervals and quantiles are taken over its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equirl.words.checking import between, unknown_name

CLUSTERING_CURVES = ("misclustering_ratio", "misclustering_bias", "misclustering_bias_by_state")
USUAL_CURVES = ("regret", "pseudo_regret", "reward", "n_classes", *CLUSTERING_CURVES)
REGRET_CURVES = ("regret", "pseudo_regret", "value_regret")  # sums of differences of rewards
FEW_RUNS = 30  # below this many, Student's quantiles replace the normal ones


def half_width(samples: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Half the confidence interval of the mean over the first axis: q s / sqrt(n)."""
    from scipy.special import ndtri, stdtrit

    n = len(samples)
    if n < 2:
        return np.full(samples.shape[1:], np.nan)
    tail = (1 + level) / 2
    quantile = stdtrit(n - 1, tail) if n < FEW_RUNS else ndtri(tail)
    return np.asarray(quantile * samples.std(axis=0, ddof=1) / math.sqrt(n))


def in_usual_order(names: Iterable[str]) -> list[str]:
    """Names of curves as tables list them: the usual ones first, then the others, sorted."""
    given = set(names)
    return [name for name in USUAL_CURVES if name in given] + sorted(given.difference(USUAL_CURVES))


@dataclass(frozen=True, eq=False, repr=False)
class Curves:
    """Named curves of one or more runs at common checkpoints.

    Parameters
    ----------
    t : (K,) int64 array
        The checkpoints, increasing.
    values : mapping of str to (n_runs, K) array
        The curves by name; a measure that the runs lack is absent.

    Examples
    --------
    >>> curves = Curves.of_run(np.array([10, 20]), {"regret": np.array([4.0, 6.0])})
    >>> curves["regret"].shape, curves.at("regret", 5).tolist(), "reward" in curves
    ((1, 2), [2.0], False)
    """

    t: np.ndarray  # (K,) int64
    values: Mapping[str, np.ndarray]  # name -> (n_runs, K)

    def __post_init__(self) -> None:
        shapes = {name: np.shape(rows) for name, rows in self.values.items()}
        for name, shape in shapes.items():
            if len(shape) != 2 or shape[1:] != self.t.shape or shape != next(iter(shapes.values())):
                raise ValueError(
                    f"the curve {name!r} has shape {shape}: not one row per run, {len(self.t)} checkpoints"
                )

    @classmethod
    def of_run(cls, t: np.ndarray, curves: Mapping[str, np.ndarray]) -> Curves:
        """The curves of one run: arrays (K,) by name at checkpoints ``t``."""
        return cls(np.asarray(t), {name: np.asarray(curve)[None] for name, curve in curves.items()})

    @classmethod
    def stack(cls, runs: Sequence[Curves]) -> Curves:
        """Runs below one another, in the order given; of their curves those that all have.

        An error where there is none, or checkpoints differ.
        """
        if not runs:
            raise ValueError("there are no curves to stack")
        first = runs[0]
        if not all(np.array_equal(run.t, first.t) for run in runs):
            raise ValueError("curves with different checkpoints cannot be stacked")
        common = [name for name in first.values if all(name in run for run in runs)]
        return cls(first.t, {name: np.concatenate([run.values[name] for run in runs]) for name in common})

    def in_units(self, reward_map: tuple[float, float]) -> Curves:
        """Regret and rewards in the units of a problem, of which these are the curves with rewards in [0, 1].

        ``reward_map``: scale and shift; the user's reward is scale times reward plus shift.

        >>> curves = Curves.of_run(np.array([10]), {"regret": np.array([4.0]), "reward": np.array([6.0])})
        >>> euros = curves.in_units((50.0, -10.0))
        >>> euros["regret"].tolist(), euros["reward"].tolist()
        ([[200.0]], [[200.0]])
        """
        scale, shift = reward_map
        if (scale, shift) == (1.0, 0.0):
            return self
        changed = {name: scale * self[name] for name in REGRET_CURVES if name in self}
        if "reward" in self:
            changed["reward"] = scale * self["reward"] + shift * self.t
        return Curves(self.t, {**self.values, **changed})

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise KeyError(unknown_name("curve", name, self.values))
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the curves, in the order in which they were recorded."""
        return tuple(self.values)

    @property
    def n_runs(self) -> int:
        """The number of rows of every curve."""
        return len(next(iter(self.values.values()), ()))

    def mean(self, name: str) -> np.ndarray:
        """(K,) the mean over runs."""
        return np.asarray(self[name].mean(axis=0))

    def half_width(self, name: str, level: float = 0.95) -> np.ndarray:
        """(K,) half the confidence interval of the mean over runs; NaN for a single one."""
        return half_width(self[name], level)

    def quantile(self, name: str, q: float) -> np.ndarray:
        """(K,) a quantile over runs; with q = 0.5 the median."""
        return np.asarray(np.quantile(self[name], between("q", q), axis=0))

    def at(self, name: str, time: float) -> np.ndarray:
        """(n_runs,) the values at a time up to the last checkpoint: linear between checkpoints, 0 at time 0."""
        time, grid = between("time", time, 0, float(self.t[-1])), np.concatenate([[0], self.t])
        return np.array([np.interp(time, grid, np.concatenate([[0.0], row])) for row in self[name]])

    def final(self, name: str) -> np.ndarray:
        """(n_runs,) the values at the last checkpoint."""
        return self[name][:, -1]

    def __repr__(self) -> str:
        return f"Curves({', '.join(self.names)}: {self.n_runs} x {len(self.t)})"
