"""The best distribution between element-wise bounds: ``max q.u`` over ``lower <= q <= upper``, ``sum q = 1``.

The maximum is greedy: every state gets its lower bound, and the mass that is left goes to the states in decreasing u,
up to their upper bounds. States that a row does not store have lower bound 0 and one common upper bound, so nothing
of size S * A * S exists: a stored row in decreasing u is merged with the list of all states in decreasing u, which the
caller keeps from sweep to sweep. An unstored state is told from a stored one by looking at stored ones of equal u only.

Bounds that hold no distribution are met half-way. Where the lower bounds sum to more than 1 they are scaled down to 1;
where the upper ones sum to less, the best state takes what is left (the value stays optimistic).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from equirl.numerics.compiling import lean_kernel


class IntervalSet(NamedTuple):
    """Element-wise bounds of distributions; rows are reordered in place, so they are made by :func:`interval_set`."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) uint32
    lower: np.ndarray  # (nnz,) in [0, 1]
    upper: np.ndarray  # (nnz,) in [lower, 1]
    unseen_upper: np.ndarray  # (M,) upper bound of each state that row k does not store; its lower bound is 0


class Bounded(Protocol):
    """What has rows of element-wise bounds."""

    @property
    def ptr(self) -> np.ndarray: ...
    @property
    def succ(self) -> np.ndarray: ...
    @property
    def lower(self) -> np.ndarray: ...
    @property
    def upper(self) -> np.ndarray: ...
    @property
    def unseen_upper(self) -> np.ndarray: ...


def interval_set(
    ptr: np.ndarray, succ: np.ndarray, lower: np.ndarray, upper: np.ndarray, unseen_upper: np.ndarray
) -> IntervalSet:
    """The bounds as a set to plan with: copies, so that sweeps may reorder the rows."""
    return IntervalSet(
        np.array(ptr, np.int64), np.array(succ, np.uint32), np.array(lower, float), np.array(upper, float),
        np.array(unseen_upper, float),
    )  # fmt: skip


@lean_kernel
def order_row(models: Bounded, k: int, u: np.ndarray) -> None:
    """Put row k in decreasing u: insertion, one pass where the order hardly changed."""
    succ, lower, upper = models.succ, models.lower, models.upper
    first = models.ptr[k]
    for i in range(first + 1, models.ptr[k + 1]):
        x, low, high, j = succ[i], lower[i], upper[i], i
        while j > first and u[succ[j - 1]] < u[x]:
            succ[j], lower[j], upper[j] = succ[j - 1], lower[j - 1], upper[j - 1]
            j -= 1
        succ[j], lower[j], upper[j] = x, low, high


@lean_kernel
def place_lower(models: Bounded, k: int, u: np.ndarray) -> tuple[float, float]:
    """Order row k, give its states their lower bounds: the mass that is left, and the value of what is placed."""
    order_row(models, k, u)
    left, total = 1.0, 0.0
    for i in range(models.ptr[k], models.ptr[k + 1]):
        left -= models.lower[i]
        total += models.lower[i] * u[models.succ[i]]
    return left, total


@lean_kernel
def is_stored(models: Bounded, k: int, i: int, x: int, u: np.ndarray) -> bool:
    """Whether the ordered row k holds x, all its states of at least u[x] standing before entry i."""
    j = i - 1
    while j >= models.ptr[k] and u[models.succ[j]] == u[x]:
        if models.succ[j] == x:
            return True
        j -= 1
    return False


@lean_kernel
def interval_value(models: Bounded, k: int, u: np.ndarray, by_u: np.ndarray) -> float:
    """``max q.u`` over the bounds of pair k; ``by_u`` (S,) lists the states in decreasing u.

    Costs O(successors + states better than where the mass runs out), at most ``(1 - sum lower) / unseen_upper`` of
    which are unstored.
    """
    left, total = place_lower(models, k, u)
    if left <= 0.0:
        return total / (1.0 - left)
    i, last, room = models.ptr[k], models.ptr[k + 1], models.unseen_upper[k]
    rank, n_ranks = 0, len(by_u) if room > 0.0 else 0
    while left > 0.0 and (i < last or rank < n_ranks):
        if rank < n_ranks and (i == last or u[by_u[rank]] > u[models.succ[i]]):
            x, give = by_u[rank], room
            rank += 1
            if is_stored(models, k, i, x, u):
                continue
        else:
            x, give = np.int64(models.succ[i]), models.upper[i] - models.lower[i]
            i += 1
        give = min(give, left)
        left -= give
        total += give * u[x]
    return total + left * u[by_u[0]]
