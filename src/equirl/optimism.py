"""The inner maximum: the best law in an L1 ball, and one sweep of the optimistic Bellman operator.

Over the ball ``{q : ||q - p||_1 <= d}`` the maximum of q.u moves mass ``m = min(d / 2, 1)`` to a state of largest u
and takes it from the successors of smallest u:

    max q.u = p.u + m max(u) - (u-value of the m mass with smallest u).

Where the taking reaches the best state itself, giving and taking cancel, so only the successors of p matter and a
sweep costs O(stored successors). Most pairs are settled in one pass: free ones (m = 1) at once, and those whose
least successor holds at least m by a running minimum; only the others sort, by a heap, as far as they must.
"""

from __future__ import annotations

import numpy as np

from equirl.compiling import kernel


@kernel
def sift_down(value: np.ndarray, mass: np.ndarray, root: int, size: int) -> None:
    """Restore the heap (smallest value first) below ``root``."""
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and value[child + 1] < value[child]:
            child += 1
        if value[root] <= value[child]:
            return
        value[root], value[child] = value[child], value[root]
        mass[root], mass[child] = mass[child], mass[root]
        root = child


@kernel
def least_mass(value: np.ndarray, mass: np.ndarray, size: int, m: float) -> float:
    """The sum of value over the ``m`` of mass with smallest value; reorders both arrays. O(size + taken log size)."""
    for root in range(size // 2 - 1, -1, -1):
        sift_down(value, mass, root, size)
    taken = 0.0
    while size > 0 and m > 0:
        part = min(m, mass[0])
        taken += part * value[0]
        m -= part
        size -= 1
        value[0], mass[0] = value[size], mass[size]
        sift_down(value, mass, 0, size)
    return taken


@kernel
def best_in_ball(
    first: int, last: int, succ: np.ndarray, prob: np.ndarray, radius: float, u: np.ndarray, u_max: float,
    value: np.ndarray, mass: np.ndarray,
) -> float:  # fmt: skip
    """max q.u over the L1 ball of ``radius`` around the row ``first:last``; ``value, mass``: scratch of row length."""
    m = 0.5 * radius
    if m >= 1.0:
        return u_max
    mean, least, at_least = 0.0, np.inf, 0.0
    for i in range(first, last):
        x = u[succ[i]]
        p = prob[i]
        mean += p * x
        if x < least and p > 0.0:
            least, at_least = x, p
    if m <= at_least:
        return mean + m * (u_max - least) if m > 0.0 else mean
    for i in range(first, last):
        value[i - first] = u[succ[i]]
        mass[i - first] = prob[i]
    return mean + m * u_max - least_mass(value, mass, last - first, m)


@kernel
def best_with_spare(
    first: int, last: int, succ: np.ndarray, prob: np.ndarray, radius: float, u: np.ndarray, u_max: float,
    spare_first: int, spare_last: int, spare: np.ndarray, by_u: np.ndarray, value: np.ndarray, mass: np.ndarray,
) -> float:  # fmt: skip
    """The same where part of the law is unplaced: spare masses go to unobserved states in decreasing u (``by_u``)."""
    m = 0.5 * radius
    if m >= 1.0:
        return u_max
    mean, size = 0.0, last - first
    for i in range(size):
        value[i], mass[i] = u[succ[first + i]], prob[first + i]
        mean += mass[i] * value[i]
    rank = 0
    for i in range(spare_first, spare_last):
        while _observed(succ, first, last, by_u[rank]):
            rank += 1
        value[size], mass[size] = u[by_u[rank]], spare[i]
        mean += mass[size] * value[size]
        size += 1
        rank += 1
    return mean + m * u_max - least_mass(value, mass, size, m) if m > 0.0 else mean


@kernel
def _observed(succ: np.ndarray, first: int, last: int, state: int) -> bool:
    for i in range(first, last):  # noqa: SIM110 - any() is not compiled
        if succ[i] == state:
            return True
    return False


@kernel
def sort_by_u(u: np.ndarray, by_u: np.ndarray) -> None:
    """Keep ``by_u`` in decreasing u: insertion, fast where the order hardly changed."""
    for i in range(1, len(by_u)):
        s, j = by_u[i], i
        while j > 0 and u[by_u[j - 1]] < u[s]:
            by_u[j] = by_u[j - 1]
            j -= 1
        by_u[j] = s


@kernel
def sweep(
    pair_ptr: np.ndarray, ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, radius: np.ndarray, reward: np.ndarray,
    spare_ptr: np.ndarray, spare: np.ndarray, by_u: np.ndarray, u: np.ndarray, u_max: float, shift: float,
    value: np.ndarray, mass: np.ndarray, q: np.ndarray, out: np.ndarray,
) -> tuple[float, float, float, float]:  # fmt: skip
    """One sweep: ``q[k] = r_k + max q.u``, ``out[s] = max_k q[k] - shift``.

    Returns the least and largest of the signed difference (without the shift), and of ``out``.
    """
    spares = len(spare) > 0
    low, high, out_min, out_max = np.inf, -np.inf, np.inf, -np.inf
    for s in range(len(pair_ptr) - 1):
        best = -np.inf
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            if spares and spare_ptr[k] < spare_ptr[k + 1]:
                x = best_with_spare(
                    ptr[k], ptr[k + 1], succ, prob, radius[k], u, u_max,
                    spare_ptr[k], spare_ptr[k + 1], spare, by_u, value, mass,
                )  # fmt: skip
            else:
                x = best_in_ball(ptr[k], ptr[k + 1], succ, prob, radius[k], u, u_max, value, mass)
            x += reward[k]
            q[k] = x
            best = max(best, x)
        low, high = min(low, best - u[s]), max(high, best - u[s])
        best -= shift
        out[s] = best
        out_min, out_max = min(out_min, best), max(out_max, best)
    return low, high, out_min, out_max
