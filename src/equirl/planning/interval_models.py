"""Sets of models other than L1 balls, ready to plan with: element-wise intervals, growing supports, KL balls.

Each brings its inner maximum (``intervals``, ``growing_support``, ``kl_ball``) into the common sweeps. They need the
states in decreasing u, which every sweep keeps sorted by insertion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equirl.estimation.kl_radius import kl_interval
from equirl.numerics.arrays import take_rows
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.planning.growing_support import support_value
from equirl.planning.intervals import interval_value
from equirl.planning.kl_ball import kl_value
from equirl.planning.sweeps import Choices, Solver, Stop, Work, iterate, sort_by_u, sweep_states


class IntervalModels(NamedTuple):
    """Element-wise bounds on transition probabilities and bounds on mean rewards.

    With ``slack``, the maximum is UCRL3's near-optimistic one on a growing support.
    """

    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,) observed successors
    lower: np.ndarray  # (nnz,)
    upper: np.ndarray  # (nnz,)
    unseen_upper: np.ndarray  # (M,) of every state that is not stored
    r_lower: np.ndarray  # (M,)
    r_upper: np.ndarray  # (M,)
    slack: np.ndarray | None = None  # (M,) how little of the support's growth may matter

    def widths(self) -> np.ndarray:
        """(M,) lengths of the intervals of a pair's successors and of one state more, summed; at most 2."""
        lengths = np.concatenate([[0.0], np.cumsum(self.upper - self.lower)])[self.ptr]
        return np.minimum(np.diff(lengths) + self.unseen_upper, 2.0)

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Bounds on the probabilities of a pair's stored successors, and the largest of any other state."""
        row = slice(self.ptr[pair], self.ptr[pair + 1])
        return self.lower[row], self.upper[row], min(1.0, float(self.unseen_upper[pair]))

    @property
    def n_entries(self) -> int:
        """Stored successors: what one sweep looks at."""
        return len(self.succ)

    def prepare(self) -> tuple[Solver, Any]:
        """The kernels and the arrays they read; rows are copied, for sweeps reorder them."""
        ptr, succ = np.array(self.ptr, np.int64), self.succ.astype(np.uint32)
        rows = ptr, succ, self.lower.copy(), self.upper.copy(), self.unseen_upper
        if self.slack is not None:
            return Solver(iterate_supports, sweep_supports), SupportRows(*rows, self.slack, self.r_upper)
        return Solver(iterate_intervals, sweep_intervals), IntervalRows(*rows, self.r_upper)

    def restrict(self, pairs: np.ndarray) -> IntervalModels:
        """The set of some pairs alone, numbered 0, 1, ... in the order given."""
        ptr, entry = take_rows(self.ptr, pairs)
        slack = None if self.slack is None else self.slack[pairs]
        return IntervalModels(
            ptr, self.succ[entry], self.lower[entry], self.upper[entry], self.unseen_upper[pairs],
            self.r_lower[pairs], self.r_upper[pairs], slack,
        )  # fmt: skip

    def with_rewards(self, reward: np.ndarray) -> IntervalModels:
        """The same transition probabilities with these rewards."""
        return self._replace(r_lower=reward, r_upper=reward)


class KLModels(NamedTuple):
    """Kullback-Leibler balls of transition probabilities and bounds on mean rewards; an empty row is free."""

    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,)
    prob: np.ndarray  # (nnz,) rows sum to 1
    radius: np.ndarray  # (M,) of KL(row || q)
    r_lower: np.ndarray  # (M,)
    r_upper: np.ndarray  # (M,)

    def widths(self) -> np.ndarray:
        """(M,) how far a plausible row may lie from the estimate in L1, at most 2 (Pinsker's inequality)."""
        return np.minimum(np.sqrt(2.0 * self.radius), 2.0)

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Bounds on the probabilities of a pair's stored successors, and the largest of any other state."""
        row, radius = slice(self.ptr[pair], self.ptr[pair + 1]), float(self.radius[pair])
        ends = np.array([kl_interval(p, radius) for p in self.prob[row].tolist()]).reshape(-1, 2)
        return ends[:, 0], ends[:, 1], kl_interval(0.0, radius)[1]

    @property
    def n_entries(self) -> int:
        """Stored successors: what one sweep looks at."""
        return len(self.succ)

    def prepare(self) -> tuple[Solver, KLRows]:
        """The kernels and the arrays they read."""
        rows = KLRows(np.array(self.ptr, np.int64), np.array(self.succ), np.array(self.prob), self.radius, self.r_upper)
        return Solver(iterate_kl, sweep_kl), rows

    def restrict(self, pairs: np.ndarray) -> KLModels:
        """The set of some pairs alone, numbered 0, 1, ... in the order given."""
        ptr, entry = take_rows(self.ptr, pairs)
        radius, lower, upper = (values[pairs] for values in (self.radius, self.r_lower, self.r_upper))
        return KLModels(ptr, self.succ[entry], self.prob[entry], radius, lower, upper)

    def with_rewards(self, reward: np.ndarray) -> KLModels:
        """The same transition probabilities with these rewards."""
        return self._replace(r_lower=reward, r_upper=reward)


class IntervalRows(NamedTuple):
    """Intervals as sweeps read them."""

    ptr: np.ndarray
    succ: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    unseen_upper: np.ndarray
    reward: np.ndarray


class SupportRows(NamedTuple):
    """Intervals with slack, as sweeps read them."""

    ptr: np.ndarray
    succ: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    unseen_upper: np.ndarray
    slack: np.ndarray
    reward: np.ndarray


class KLRows(NamedTuple):
    """KL balls as sweeps read them."""

    ptr: np.ndarray
    succ: np.ndarray
    prob: np.ndarray
    radius: np.ndarray
    reward: np.ndarray


@inlined
def interval_maximum(models: IntervalRows, k: int, work: Work, u_max: float) -> float:
    """The largest q.u between the bounds of pair k."""
    return interval_value(models, np.int64(k), work.u, work.by_u)  # type: ignore[arg-type]


@inlined
def support_maximum(models: Any, k: int, work: Work, u_max: float) -> float:
    """UCRL3's near-optimistic q.u of pair k of some :class:`SupportRows`."""
    return support_value(models, np.int64(k), work.u, work.by_u)  # type: ignore[arg-type]


@inlined
def kl_maximum(models: Any, k: int, work: Work, u_max: float) -> float:
    """The largest q.u in the ball of pair k of some :class:`KLRows`."""
    return kl_value(models, np.int64(k), work.u, work.by_u)  # type: ignore[arg-type]


@lean_kernel
def sweep_intervals(
    choices: Choices, models: IntervalRows, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep over intervals."""
    sort_by_u(work.u, work.by_u)
    return sweep_states(interval_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def sweep_supports(
    choices: Choices, models: SupportRows, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep over intervals with growing supports."""
    sort_by_u(work.u, work.by_u)
    return sweep_states(support_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def sweep_kl(
    choices: Choices, models: KLRows, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep over KL balls."""
    sort_by_u(work.u, work.by_u)
    return sweep_states(kl_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def iterate_intervals(choices: Choices, models: IntervalRows, work: Work, stop: Stop) -> tuple[int, float, float]:
    """Extended value iteration over intervals."""
    return iterate(sweep_intervals, sweep_intervals, choices, models, work, stop)


@lean_kernel
def iterate_supports(choices: Choices, models: SupportRows, work: Work, stop: Stop) -> tuple[int, float, float]:
    """Extended value iteration over growing supports."""
    return iterate(sweep_supports, sweep_supports, choices, models, work, stop)


@lean_kernel
def iterate_kl(choices: Choices, models: KLRows, work: Work, stop: Stop) -> tuple[int, float, float]:
    """Extended value iteration over KL balls."""
    return iterate(sweep_kl, sweep_kl, choices, models, work, stop)
