"""Extended value iteration: the best policy in the best plausible model (Algorithm 2 of the paper).

From u = 0, each sweep sets ``u'(s) = max_a [ r(s,a) + max_{q in ball(s,a)} q.u ]`` and stops when the span of
``u' - u`` is at most the accuracy. The optimal optimistic gain then lies between the least and the largest of u' - u,
so their midpoint is within accuracy / 2 of it, and the policy that attained u' is near-optimal to the accuracy.
That bracket holds for *any* u. So a warm start, or cheap sweeps along the last policy between full ones, changes how
soon the loop ends and not what it certifies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.core.compiling import kernel
from equirl.estimation.confidence import ConfidenceSet
from equirl.planning.l1_ball import place_spare, sort_by_u, sweep, working_rows
from equirl.planning.threaded_sweeps import iterate_shared

SWEEPS_AT_ONCE = 2 * 10**7  # successors touched per compiled call, so that Ctrl-C is heard

PATIENCE = 1000  # full sweeps after which cheap ones are given up, should they not help


class Plan(NamedTuple):
    """An optimistic policy and what is certified about it."""

    policy: np.ndarray  # (S,) the pair to play in each state
    gain: float  # within span / 2 of the optimistic optimum
    bias: np.ndarray  # (S,) u, with minimum 0
    n_sweeps: int
    span: float  # of u' - u at the end
    converged: bool


@kernel
def iterate(
    pair_ptr: np.ndarray, ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, moved: np.ndarray, reward: np.ndarray,
    fixed_ptr: np.ndarray, fixed_succ: np.ndarray, fixed_prob: np.ndarray, spare_ptr: np.ndarray, spare: np.ndarray,
    by_u: np.ndarray, accuracy: float, max_sweeps: int, policy_sweeps: int, u: np.ndarray, other: np.ndarray,
    q: np.ndarray,
) -> tuple[int, float, float]:  # fmt: skip
    """Sweep until the span of u' - u is at most ``accuracy``, or ``max_sweeps``; u and q hold the last sweep's.

    Returns the number of sweeps and the least and largest of u' - u; ``other`` is u'.
    """
    u_min, u_max = 0.0, _largest(u)
    n = 0
    while True:
        if len(spare) > 0:
            sort_by_u(u, by_u)
            place_spare(fixed_ptr, fixed_succ, fixed_prob, spare_ptr, spare, by_u, ptr, succ, prob)
        low, high, next_min, next_max = sweep(
            pair_ptr[:-1], pair_ptr[1:], ptr, succ, prob, moved, reward, u, u, u_max, u_min, q, other
        )
        n += 1
        if high - low <= accuracy or n == max_sweeps:
            return n, low, high
        u_min, u_max = next_min, next_max
        _copy(other, u)
        if policy_sweeps > 0:
            u_min, u_max = _follow(
                pair_ptr, ptr, succ, prob, moved, reward, accuracy, policy_sweeps, u, u_min, u_max, other, q
            )


@kernel
def _follow(
    pair_ptr: np.ndarray, ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, moved: np.ndarray, reward: np.ndarray,
    accuracy: float, policy_sweeps: int, u: np.ndarray, u_min: float, u_max: float, other: np.ndarray, q: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Improve u by cheap sweeps over the best pair of each state alone; returns the least and largest of u."""
    best, after = np.empty(len(u), np.int64), np.empty(len(u), np.int64)
    choose(pair_ptr, q, 0.0, np.zeros(len(u)), best)
    for s in range(len(u)):
        after[s] = best[s] + 1
    for _ in range(policy_sweeps):
        low, high, next_min, next_max = sweep(best, after, ptr, succ, prob, moved, reward, u, u, u_max, u_min, q, other)
        u_min, u_max = next_min, next_max
        _copy(other, u)
        if high - low <= 0.5 * accuracy:
            break
    return u_min, u_max


@kernel
def _largest(u: np.ndarray) -> float:
    largest = -np.inf
    for s in range(len(u)):
        largest = max(largest, u[s])
    return largest


@kernel
def _copy(source: np.ndarray, out: np.ndarray) -> None:
    for s in range(len(out)):  # a slice assignment takes seconds to compile
        out[s] = source[s]


@kernel
def choose(pair_ptr: np.ndarray, q: np.ndarray, tolerance: float, coin: np.ndarray, out: np.ndarray) -> None:
    """In each state, of the pairs within ``tolerance`` of the best the one that ``coin[s]`` in [0, 1) points at."""
    for s in range(len(pair_ptr) - 1):
        best = -np.inf
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            best = max(best, q[k])
        tied = 0
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            tied += q[k] >= best - tolerance
        wanted = int(coin[s] * tied)
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            if q[k] >= best - tolerance:
                if wanted == 0:
                    out[s] = k
                    break
                wanted -= 1


def extended_value_iteration(
    pair_ptr: np.ndarray,
    models: ConfidenceSet,
    accuracy: float,
    *,
    coin: np.ndarray | None = None,
    start: np.ndarray | None = None,
    policy_sweeps: int = 0,
    max_sweeps: int = 10**5,
    threads: int = 1,
) -> Plan:
    """Plan optimistically in ``models``; each sweep costs O(stored successors).

    ``coin``: one number in [0, 1) per state to break ties between actions within 1e-12 (1 + max|u|) of the best
    (None: the first). ``start``: a vector u to start from instead of 0. ``policy_sweeps``: up to so many cheap sweeps
    along the last policy between full ones (modified policy iteration); only full ones are counted and certify. The
    cap on sweeps is an outcome: ``converged=False`` with the span reached. ``threads``: share each full sweep among so
    many (the numbers stay the same), where all mass of the laws is placed.
    """
    S = len(pair_ptr) - 1
    pair_ptr = np.array(pair_ptr)  # a read-only one would compile the loops anew
    u = np.zeros(S) if start is None else start - start.min()
    other, q, rows, moved = np.empty(S), np.empty(pair_ptr[-1]), working_rows(models), 0.5 * models.p_radius
    fixed = models.ptr, models.succ, models.prob, models.spare_ptr, models.spare, np.arange(S)
    at_once = max(1, SWEEPS_AT_ONCE // (len(rows.succ) + len(q)))
    if policy_sweeps:
        at_once = min(max(10, at_once // policy_sweeps), PATIENCE)

    def follow(u_min: float, u_max: float) -> tuple[float, float]:
        return _follow(pair_ptr, *rows, moved, models.r_upper, accuracy, policy_sweeps, u, u_min, u_max, other, q)

    n_sweeps, low, high = 0, -np.inf, np.inf
    while n_sweeps < max_sweeps and not high - low <= accuracy:
        if n_sweeps:
            u[:] = other - other.min()
        cap = min(at_once, max_sweeps - n_sweeps)
        cheap = policy_sweeps if n_sweeps < PATIENCE else 0
        if threads > 1 and not len(models.spare):
            n, low, high = iterate_shared(
                pair_ptr, rows, moved, models.r_upper, accuracy, cap, threads, u, other, q, follow if cheap else None
            )
        else:
            n, low, high = iterate(pair_ptr, *rows, moved, models.r_upper, *fixed, accuracy, cap, cheap, u, other, q)
        n_sweeps += n
    policy = np.empty(S, np.int64)
    tolerance = 1e-12 * (1 + np.abs(u).max())
    choose(pair_ptr, q, tolerance, np.zeros(S) if coin is None else coin, policy)
    return Plan(policy, (low + high) / 2, u - u.min(), n_sweeps, high - low, bool(high - low <= accuracy))


def optimistic_law(models: ConfidenceSet, pair: int, u: np.ndarray) -> np.ndarray:
    """The law in the ball of ``pair`` that maximises q.u, dense (S,): for inspection."""
    part = slice(models.ptr[pair], models.ptr[pair + 1])
    law = np.zeros(len(u))
    np.add.at(law, models.succ[part], models.prob[part])
    by_u = np.argsort(-u, kind="stable")
    if len(models.spare):
        unseen = by_u[~np.isin(by_u, models.succ[part])]
        spare = models.spare[models.spare_ptr[pair] : models.spare_ptr[pair + 1]]
        law[unseen[: len(spare)]] += spare
    m = min(models.p_radius[pair] / 2, 1.0)
    best = by_u[0]
    if law.sum() == 0:  # a free law
        law[best] = 1.0
        return law
    m = min(m, 1 - law[best])
    law[best] += m
    for x in by_u[::-1]:
        if x == best or m <= 0:
            break
        part_taken = min(m, law[x])
        law[x] -= part_taken
        m -= part_taken
    return law


def gain_bounds(
    models: ConfidenceSet, policy: np.ndarray, accuracy: float, max_sweeps: int = 10**4
) -> tuple[float, float]:
    """Certified bounds on the gain of ``policy`` (a pair per state) over all plausible models.

    Evaluates the policy in its best and its worst model; each iterate brackets the gain from every state, so the
    bounds hold even where ``max_sweeps`` ends the search.
    """
    S = len(policy)
    first, last = models.ptr[policy], models.ptr[policy + 1]
    ptr = np.concatenate([[0], np.cumsum(last - first)])
    entry = np.repeat(first - ptr[:-1], last - first) + np.arange(ptr[-1])
    spare_ptr, spare = np.zeros(1, np.int64), np.zeros(0)
    if len(models.spare):
        first, last = models.spare_ptr[policy], models.spare_ptr[policy + 1]
        spare_ptr = np.concatenate([[0], np.cumsum(last - first)])
        spare = models.spare[np.repeat(first - spare_ptr[:-1], last - first) + np.arange(spare_ptr[-1])]
    upper, lower = models.r_upper[policy], -models.r_lower[policy]
    ball = ConfidenceSet(
        ptr, models.succ[entry], models.prob[entry], models.p_radius[policy], lower, upper, spare_ptr, spare
    )
    best = extended_value_iteration(np.arange(S + 1), ball, accuracy, max_sweeps=max_sweeps)
    worst = extended_value_iteration(np.arange(S + 1), ball._replace(r_upper=lower), accuracy, max_sweeps=max_sweeps)
    return max(0.0, -(worst.gain + worst.span / 2)), min(1.0, best.gain + best.span / 2)
