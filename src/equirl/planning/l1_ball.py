"""The inner maximum: the best law in an L1 ball, and one sweep of the optimistic Bellman operator.

Over the ball ``{q : ||q - p||_1 <= d}`` the maximum of q.u moves mass ``m = min(d / 2, 1)`` to a state of largest u
and takes it from the successors of smallest u. Where the taking reaches the best state itself, giving and taking
cancel, so only the successors of p matter and a sweep costs O(stored successors), never O(S^2 A).

Each row is kept in increasing u, in place: one pass then takes the mass from its front, adds up the rest and sees
whether the order still holds; a row whose order broke is sorted by insertion and passed again. Orders settle after a
few sweeps, so a sweep costs about as much as a sparse matrix product. Unsigned indices spare the compiled loop its
tests for negative ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.core.compiling import kernel
from equirl.estimation.confidence import ConfidenceSet
from equirl.estimation.pooling import contains


class Rows(NamedTuple):
    """Laws that sweeps may reorder: row k in ``succ[ptr[k]:ptr[k + 1]]``."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) uint32
    prob: np.ndarray  # (nnz,) float64


def working_rows(models: ConfidenceSet) -> Rows:
    """A copy of the laws to plan with; rows with unplaced mass have room for it at their end."""
    if not len(models.spare):
        return Rows(models.ptr, models.succ.astype(np.uint32), models.prob.copy())
    ptr = models.ptr + models.spare_ptr
    return Rows(ptr, np.zeros(ptr[-1], np.uint32), np.zeros(ptr[-1]))


@kernel
def sort_row(first: int, last: int, succ: np.ndarray, prob: np.ndarray, u: np.ndarray) -> None:
    """Put the row ``first:last`` in increasing u."""
    for i in range(first + 1, last):
        x, p, j = succ[i], prob[i], i
        while j > first and u[succ[j - 1]] > u[x]:
            succ[j], prob[j] = succ[j - 1], prob[j - 1]
            j -= 1
        succ[j], prob[j] = x, p


@kernel
def sweep(
    first_pair: np.ndarray, last_pair: np.ndarray, ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray,
    moved: np.ndarray, reward: np.ndarray, own: np.ndarray, u: np.ndarray, u_max: float, shift: float, q: np.ndarray,
    out: np.ndarray,
) -> tuple[float, float, float, float]:  # fmt: skip
    """One sweep over pairs ``first_pair[s]:last_pair[s]``: ``q[k] = r_k + max q.u``, ``out[s] = max_k q[k] - shift``.

    ``moved`` is half the L1 radius of each pair, ``own[s]`` the u of the state swept (u itself where all are). Returns
    the least and largest of the signed difference (without the shift), and of ``out``.
    """
    low, high, out_min, out_max = np.inf, -np.inf, np.inf, -np.inf
    one = np.uint64(1)
    for s in range(np.uint64(len(out))):
        best = -np.inf
        for k in range(np.uint64(first_pair[s]), np.uint64(last_pair[s])):
            m, value = moved[k], u_max
            while m < 1.0:
                left, value, before, ordered = m, 0.0, -np.inf, True
                for i in range(np.uint64(ptr[k]), np.uint64(ptr[k + one])):
                    x, p = u[succ[i]], prob[i]
                    ordered &= before <= x
                    before = x
                    taken = min(p, left)
                    left -= taken
                    value += (p - taken) * x
                if ordered:
                    value += (m - left) * u_max
                    break
                sort_row(ptr[k], ptr[k + one], succ, prob, u)
            value += reward[k]
            q[k] = value
            best = max(best, value)
        low, high = min(low, best - own[s]), max(high, best - own[s])
        best -= shift
        out[s] = best
        out_min, out_max = min(out_min, best), max(out_max, best)
    return low, high, out_min, out_max


@kernel
def place_spare(
    fixed_ptr: np.ndarray, fixed_succ: np.ndarray, fixed_prob: np.ndarray, spare_ptr: np.ndarray, spare: np.ndarray,
    by_u: np.ndarray, ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray,
) -> None:  # fmt: skip
    """Write each row anew: its observed successors, then its spare masses on unobserved states in decreasing u."""
    for k in range(len(ptr) - 1):
        first, last, at = fixed_ptr[k], fixed_ptr[k + 1], ptr[k]
        for i in range(first, last):
            succ[at], prob[at] = fixed_succ[i], fixed_prob[i]
            at += 1
        rank = 0
        for i in range(spare_ptr[k], spare_ptr[k + 1]):
            while contains(fixed_succ, first, last, by_u[rank]):
                rank += 1
            succ[at], prob[at] = by_u[rank], spare[i]
            at += 1
            rank += 1


@kernel
def sort_by_u(u: np.ndarray, by_u: np.ndarray) -> None:
    """Keep ``by_u`` in decreasing u: insertion, fast where the order hardly changed."""
    for i in range(1, len(by_u)):
        s, j = by_u[i], i
        while j > 0 and u[by_u[j - 1]] < u[s]:
            by_u[j] = by_u[j - 1]
            j -= 1
        by_u[j] = s
