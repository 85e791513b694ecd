"""UCRL3's near-optimistic maximum: element-wise bounds, on a support that grows only as far as it matters.

With f = u - min u and F(B) = the largest ``sum over B of q f`` of a distribution q within the bounds, the support B
starts as the observed successors and the best state, and takes further states in decreasing u while

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

from equirl.numerics.compiling import lean_kernel
from equirl.planning.intervals import IntervalSet, is_stored, place_lower


class GrowingSupport(NamedTuple):
    """Element-wise bounds and the slack of the support's growth; rows are reordered in place."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) uint32: the observed successors
    lower: np.ndarray  # (nnz,) in [0, 1]
    upper: np.ndarray  # (nnz,) in [lower, 1]
    unseen_upper: np.ndarray  # (M,)
    slack: np.ndarray  # (M,) kappa / span(u)


def support_slack(ptr: np.ndarray, most_visits: float) -> np.ndarray:
    """(M,) the slack 10 |successors| / N_max^(2/3) of each row, N_max the visits of the pair visited most."""
    return 10.0 * np.diff(ptr) / max(1.0, most_visits) ** (2 / 3)


def growing_support(bounds: IntervalSet, most_visits: float) -> GrowingSupport:
    """UCRL3's sets: ``bounds`` with their :func:`support_slack`.

    >>> from equirl.planning.intervals import interval_set
    >>> bounds = interval_set(np.array([0, 1]), np.array([0]), np.array([0.5]), np.array([0.9]), np.array([0.2]))
    >>> growing_support(bounds, 1000).slack.round(9)
    array([0.1])
    """
    return GrowingSupport(*bounds, support_slack(bounds.ptr, most_visits))


@lean_kernel
def _next_unseen(models: GrowingSupport, k: int, by_u: np.ndarray, rank: int) -> int:
    """The first rank from ``rank`` on whose state row k does not store; S where there is none."""
    while rank < len(by_u):
        stored = False
        for i in range(models.ptr[k], models.ptr[k + 1]):
            stored |= models.succ[i] == by_u[rank]
        if not stored:
            return rank
        rank += 1
    return rank


@lean_kernel
def _window(
    models: GrowingSupport, k: int, u: np.ndarray, by_u: np.ndarray, rank: int, n_full: int
) -> tuple[int, float]:
    """Rank after the first ``n_full`` unseen states from ``rank`` on, and the sum of their f."""
    total, bottom = 0.0, u[by_u[-1]]
    rank = _next_unseen(models, k, by_u, rank)
    while n_full > 0 and rank < len(by_u):
        total += u[by_u[rank]] - bottom
        rank = _next_unseen(models, k, by_u, rank + 1)
        n_full -= 1
    return rank, total


@lean_kernel
def _inside(models: GrowingSupport, k: int, i: int, left: float, u: np.ndarray, bottom: float) -> float:
    """What the mass ``left`` adds to F(B) on the stored states from entry i on."""
    total = 0.0
    while left > 0.0 and i < models.ptr[k + 1]:
        give = min(left, models.upper[i] - models.lower[i])
        left -= give
        total += give * (u[models.succ[i]] - bottom)
        i += 1
    return total


@lean_kernel
def support_value(models: GrowingSupport, k: int, u: np.ndarray, by_u: np.ndarray) -> float:
    """The near-optimistic ``max q.u`` of pair k; ``by_u`` (S,) lists the states in decreasing u.

    Costs O(successors * (1 + states added) + ``free / unseen_upper``), the last only where the best unseen state
    matters more than kappa. Bounds that hold no distribution are met as in :mod:`equirl.planning.intervals`.
    """
    left, total = place_lower(models, k, u)
    if left <= 0.0:
        return total / (1.0 - left)
    free, room, bottom = left, models.unseen_upper[k], u[by_u[-1]]
    kappa = models.slack[k] * (u[by_u[0]] - bottom)
    n_full = int(min(free / room, len(by_u))) if room > 0.0 else 0
    i, last, rank, end, full = models.ptr[k], models.ptr[k + 1], 0, -1, 0.0
    n_ranks = len(by_u) if room > 0.0 else 0
    while left > 0.0 and (i < last or rank < n_ranks):
        if rank < n_ranks and (i == last or u[by_u[rank]] > u[models.succ[i]]):
            x, give = by_u[rank], room
            rank += 1
            if is_stored(models, k, i, x, u):
                continue
            if rank > 1:  # the best state is in B from the start
                least = min(kappa, total - (1.0 - left) * bottom + _inside(models, k, i, left, u, bottom))
                if end < 0 and free * (u[x] - bottom) > least:
                    end, full = _window(models, k, u, by_u, rank - 1, n_full)
                following = u[by_u[end]] - bottom if 0 <= end < n_ranks else 0.0
                if end < 0 or full * room + (free - n_full * room) * following <= least:
                    n_ranks = 0  # B is complete
                    continue
                full += following - (u[x] - bottom)
                end = min(_next_unseen(models, k, by_u, end + 1), n_ranks)
        else:
            x, give = np.int64(models.succ[i]), models.upper[i] - models.lower[i]
            i += 1
        give = min(give, left)
        left -= give
        total += give * u[x]
    return total + left * u[by_u[0]]
