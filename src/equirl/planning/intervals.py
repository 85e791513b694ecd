"""The best distribution between element-wise bounds: ``max q.u`` over ``lower <= q <= upper``, ``sum q = 1``.

The maximum is greedy: every state gets its lower bound, and the mass that is left goes to the states in decreasing u,
up to their upper bounds. States that a row does not store have lower bound 0 and one common upper bound, so nothing of
size S * A * S exists: a stored row in decreasing u is merged with the list of all states in decreasing u, which the
caller keeps from sweep to sweep. An unstored state is told from a stored one by looking at stored ones of equal u only.

Bounds that hold no distribution are met half-way. Where the lower bounds sum to more than 1 they are scaled down to 1;
where the upper ones sum to less, the best state takes what is left (the value stays optimistic).

UCRL3's maximum is near-optimistic: it is taken on a support that grows only as far as it matters. With f = u - min u
and F(B) = the largest ``sum over B of q f`` of a distribution q within the bounds, the support B starts as the observed
successors and the best state, and takes further states in decreasing u while

    F(complement of B) > min(kappa, F(B)),        kappa = slack * span(u), slack = 10 |successors| / N_max^(2/3).

The value is the maximum over distributions within the bounds that have no mass outside B.

What lies outside B are unobserved states, with lower bound 0 and one upper bound c. So F(complement) fills them by
decreasing u with the mass ``free = 1 - sum lower``, c each: the sum over a window of the list ``by_u`` that slides by
one state as B grows. The greedy filling of B visits states in decreasing u; growth beyond where its mass runs out
changes nothing, so each unobserved state is put to the test when the filling arrives at it. (Bourel, Maillard and
Talebi, "Tightening exploration in upper confidence reinforcement learning", ICML 2020.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.arrays import take_rows
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.planning.optimistic_planning import Choices, Solver, Stop, Work, iterate, sort_by_u, sweep_states


class Intervals(NamedTuple):
    """Element-wise bounds of distributions. Sweeps reorder the rows: they work on a :meth:`copy`."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) observed successors
    lower: np.ndarray  # (nnz,) in [0, 1]
    upper: np.ndarray  # (nnz,) in [lower, 1]
    unseen_upper: np.ndarray  # (M,) upper bound of each state that row k does not store; its lower bound is 0

    def copy(self) -> Intervals:
        """A copy that may be reordered, of the types that kernels are compiled for."""
        return Intervals(
            np.array(self.ptr, np.int64), np.array(self.succ, np.uint32), np.array(self.lower, float),
            np.array(self.upper, float), np.array(self.unseen_upper, float),
        )  # fmt: skip

    def take(self, pairs: np.ndarray) -> Intervals:
        ptr, entry = take_rows(self.ptr, pairs)
        return Intervals(ptr, self.succ[entry], self.lower[entry], self.upper[entry], self.unseen_upper[pairs])


class GrowingSupport(NamedTuple):
    bounds: Intervals
    slack: np.ndarray  # (M,) kappa / span(u)


@lean_kernel
def order_row(bounds: Intervals, k: int | np.int64, u: np.ndarray) -> None:
    """Put row k in decreasing u: insertion, one pass where the order hardly changed."""
    succ, lower, upper = bounds.succ, bounds.lower, bounds.upper
    first = bounds.ptr[k]
    for i in range(first + 1, bounds.ptr[k + 1]):
        x, low, high, j = succ[i], lower[i], upper[i], i
        while j > first and u[succ[j - 1]] < u[x]:
            succ[j], lower[j], upper[j] = succ[j - 1], lower[j - 1], upper[j - 1]
            j -= 1
        succ[j], lower[j], upper[j] = x, low, high


@lean_kernel
def place_lower(bounds: Intervals, k: int | np.int64, u: np.ndarray) -> tuple[float, float]:
    """Order row k, give its states their lower bounds: the mass that is left, and the value of what is placed."""
    order_row(bounds, k, u)
    left, total = 1.0, 0.0
    for i in range(bounds.ptr[k], bounds.ptr[k + 1]):
        left -= bounds.lower[i]
        total += bounds.lower[i] * u[bounds.succ[i]]
    return left, total


@lean_kernel
def is_stored(bounds: Intervals, k: int | np.int64, i: int, x: int, u: np.ndarray) -> bool:
    """Whether the ordered row k holds x, all its states of at least u[x] standing before entry i."""
    j = i - 1
    while j >= bounds.ptr[k] and u[bounds.succ[j]] == u[x]:
        if bounds.succ[j] == x:
            return True
        j -= 1
    return False


@lean_kernel
def interval_value(bounds: Intervals, k: int | np.int64, u: np.ndarray, by_u: np.ndarray) -> float:
    """``max q.u`` over the bounds of pair k; ``by_u`` (S,) lists the states in decreasing u.

    Costs O(successors + states better than where the mass runs out), at most ``(1 - sum lower) / unseen_upper`` of
    which are unstored.
    """
    left, total = place_lower(bounds, k, u)
    if left <= 0.0:
        return total / (1.0 - left)
    i, last, room = bounds.ptr[k], bounds.ptr[k + 1], bounds.unseen_upper[k]
    rank, n_ranks = 0, len(by_u) if room > 0.0 else 0
    while left > 0.0 and (i < last or rank < n_ranks):
        if rank < n_ranks and (i == last or u[by_u[rank]] > u[bounds.succ[i]]):
            x, give = by_u[rank], room
            rank += 1
            if is_stored(bounds, k, i, x, u):
                continue
        else:
            x, give = np.int64(bounds.succ[i]), bounds.upper[i] - bounds.lower[i]
            i += 1
        give = min(give, left)
        left -= give
        total += give * u[x]
    return total + left * u[by_u[0]]


def support_slack(ptr: np.ndarray, most_visits: float) -> np.ndarray:
    """(M,) the slack 10 |successors| / N_max^(2/3) of each row, N_max the visits of the pair visited most."""
    return 10.0 * np.diff(ptr) / max(1.0, most_visits) ** (2 / 3)


@lean_kernel
def _next_unseen(bounds: Intervals, k: int | np.int64, by_u: np.ndarray, rank: int) -> int:
    """The first rank from ``rank`` on whose state row k does not store; S where there is none."""
    while rank < len(by_u):
        stored = False
        for i in range(bounds.ptr[k], bounds.ptr[k + 1]):
            stored |= bounds.succ[i] == by_u[rank]
        if not stored:
            return rank
        rank += 1
    return rank


@lean_kernel
def _window(
    bounds: Intervals, k: int | np.int64, u: np.ndarray, by_u: np.ndarray, rank: int, n_full: int
) -> tuple[int, float]:
    """Rank after the first ``n_full`` unseen states from ``rank`` on, and the sum of their f."""
    total, bottom = 0.0, u[by_u[-1]]
    rank = _next_unseen(bounds, k, by_u, rank)
    while n_full > 0 and rank < len(by_u):
        total += u[by_u[rank]] - bottom
        rank = _next_unseen(bounds, k, by_u, rank + 1)
        n_full -= 1
    return rank, total


@lean_kernel
def _inside(bounds: Intervals, k: int | np.int64, i: int, left: float, u: np.ndarray, bottom: float) -> float:
    """What the mass ``left`` adds to F(B) on the stored states from entry i on."""
    total = 0.0
    while left > 0.0 and i < bounds.ptr[k + 1]:
        give = min(left, bounds.upper[i] - bounds.lower[i])
        left -= give
        total += give * (u[bounds.succ[i]] - bottom)
        i += 1
    return total


@lean_kernel
def support_value(models: GrowingSupport, k: int | np.int64, u: np.ndarray, by_u: np.ndarray) -> float:
    """The near-optimistic ``max q.u`` of pair k; ``by_u`` (S,) lists the states in decreasing u.

    Costs O(successors * (1 + states added) + ``free / unseen_upper``), the last only where the best unseen state
    matters more than kappa. Bounds that hold no distribution are met as in :mod:`equirl.planning.intervals`.
    """
    bounds = models.bounds
    left, total = place_lower(bounds, k, u)
    if left <= 0.0:
        return total / (1.0 - left)
    free, room, bottom = left, bounds.unseen_upper[k], u[by_u[-1]]
    kappa = models.slack[k] * (u[by_u[0]] - bottom)
    n_full = int(min(free / room, len(by_u))) if room > 0.0 else 0
    i, last, rank, end, full = bounds.ptr[k], bounds.ptr[k + 1], 0, -1, 0.0
    n_ranks = len(by_u) if room > 0.0 else 0
    while left > 0.0 and (i < last or rank < n_ranks):
        if rank < n_ranks and (i == last or u[by_u[rank]] > u[bounds.succ[i]]):
            x, give = by_u[rank], room
            rank += 1
            if is_stored(bounds, k, i, x, u):
                continue
            if rank > 1:  # the best state is in B from the start
                least = min(kappa, total - (1.0 - left) * bottom + _inside(bounds, k, i, left, u, bottom))
                if end < 0 and free * (u[x] - bottom) > least:
                    end, full = _window(bounds, k, u, by_u, rank - 1, n_full)
                following = u[by_u[end]] - bottom if 0 <= end < n_ranks else 0.0
                if end < 0 or full * room + (free - n_full * room) * following <= least:
                    n_ranks = 0  # B is complete
                    continue
                full += following - (u[x] - bottom)
                end = min(_next_unseen(bounds, k, by_u, end + 1), n_ranks)
        else:
            x, give = np.int64(bounds.succ[i]), bounds.upper[i] - bounds.lower[i]
            i += 1
        give = min(give, left)
        left -= give
        total += give * u[x]
    return total + left * u[by_u[0]]


class IntervalModels(NamedTuple):
    """Element-wise bounds on transition probabilities and bounds on mean rewards.

    With ``slack``, the maximum is UCRL3's near-optimistic one on a growing support.
    """

    bounds: Intervals
    r_lower: np.ndarray  # (M,)
    r_upper: np.ndarray  # (M,)
    slack: np.ndarray | None = None  # (M,) how little of the support's growth may matter

    def widths(self) -> np.ndarray:
        """(M,) lengths of the intervals of a pair's successors and of one state more, summed; at most 2."""
        ptr, _, lower, upper, unseen_upper = self.bounds
        lengths = np.concatenate([[0.0], np.cumsum(upper - lower)])[ptr]
        return np.minimum(np.diff(lengths) + unseen_upper, 2.0)

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        ptr, _, lower, upper, unseen_upper = self.bounds
        row = slice(ptr[pair], ptr[pair + 1])
        return lower[row], upper[row], min(1.0, float(unseen_upper[pair]))

    @property
    def n_entries(self) -> int:
        return len(self.bounds.succ)

    def prepare(self) -> tuple[Solver, Intervals | GrowingSupport]:
        """The kernels and the arrays they read; rows are copied, for sweeps reorder them."""
        if self.slack is not None:
            return Solver(iterate_supports, sweep_supports), GrowingSupport(self.bounds.copy(), self.slack)
        return Solver(iterate_intervals, sweep_intervals), self.bounds.copy()

    def restrict(self, pairs: np.ndarray) -> IntervalModels:
        slack = None if self.slack is None else self.slack[pairs]
        return IntervalModels(self.bounds.take(pairs), self.r_lower[pairs], self.r_upper[pairs], slack)

    def with_rewards(self, reward: np.ndarray) -> IntervalModels:
        return self._replace(r_lower=reward, r_upper=reward)

    def without_supports(self) -> IntervalModels:
        return self._replace(slack=None)


@inlined
def interval_maximum(bounds: Intervals, k: int, work: Work, u_max: float) -> float:
    """The largest q.u between the bounds of pair k."""
    return interval_value(bounds, np.int64(k), work.u, work.by_u)


@inlined
def support_maximum(models: GrowingSupport, k: int, work: Work, u_max: float) -> float:
    """UCRL3's near-optimistic q.u of pair k."""
    return support_value(models, np.int64(k), work.u, work.by_u)


@lean_kernel
def sweep_intervals(
    choices: Choices, models: Intervals, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep over intervals; it keeps the states in decreasing u."""
    sort_by_u(work.u, work.by_u)
    return sweep_states(interval_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def sweep_supports(
    choices: Choices, models: GrowingSupport, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    sort_by_u(work.u, work.by_u)
    return sweep_states(support_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def iterate_intervals(choices: Choices, models: Intervals, work: Work, stop: Stop) -> tuple[int, float, float]:
    return iterate(sweep_intervals, sweep_intervals, choices, models, work, stop)


@lean_kernel
def iterate_supports(choices: Choices, models: GrowingSupport, work: Work, stop: Stop) -> tuple[int, float, float]:
    return iterate(sweep_supports, sweep_supports, choices, models, work, stop)
