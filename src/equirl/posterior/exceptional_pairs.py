"""A few pairs that are exceptions in a draw, so that a learner gives nothing up for ever.

Two ways of being stuck that a faithful posterior hardly ever leaves: the last unknown pair far away, which only pays
where a draw makes it stay put; and a pair whose few unlucky visits put it into the wrong class, so that what lies
beyond seems out of reach. Each draw makes about one pair of
either kind an exception at first, and ever fewer later (``hope``).
"""

from __future__ import annotations

import math

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import below, uniform
from equirl.posterior.reachability import Reach, n_open


def stay_length(t: int) -> float:
    """How many steps an unknown pair that stays put keeps one, on average.

    A short stay is not worth a long way: where the last unknown pairs are costly to reach they are tried later, when
    the stays, which grow for ever, are worth it.
    """
    return max(30.0, 0.3 * math.sqrt(t))


def hope(t: int) -> float:
    """The part of ``lonely`` and ``bridge`` that is left at time t: one, and less and less after 900 steps.

    Episodes last for about sqrt(t) steps, so the number of exceptions goes on growing, like log t.
    """
    return min(1.0, 30.0 / math.sqrt(max(1, t)))


@lean_kernel
def count_near(seen: Snapshot, pair_ptr: np.ndarray, reached: np.ndarray) -> tuple[int, int]:
    """How many successors of pairs are near: the pair's own state, or seen from another pair of that state as well.

    Returns these, and all that could be. ``reached``: (S,) int64 zeros, which stay. O(stored successors).
    """
    near, total = 0, 0
    for s in range(len(pair_ptr) - 1):
        first, last, tried = seen.ptr[pair_ptr[s]], seen.ptr[pair_ptr[s + 1]], 0
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            tried += seen.visits[k] > 0
        if tried < 2:
            continue
        for i in range(first, last):
            reached[seen.succ[i]] += 1
        for i in range(first, last):
            near += seen.succ[i] == s or reached[seen.succ[i]] > 1
        for i in range(first, last):
            reached[seen.succ[i]] = 0
        total += last - first
    return near, total


@lean_kernel
def near_state(rng: np.ndarray, state: int, pair_ptr: np.ndarray, seen: Snapshot) -> int:
    """The state itself, or a successor that one of its pairs was seen to reach; -1 where the pair drawn has none."""
    k = pair_ptr[state] + below(rng, pair_ptr[state + 1] - pair_ptr[state] + 1)
    if k == pair_ptr[state + 1]:
        return state
    size = seen.ptr[k + 1] - seen.ptr[k]
    return seen.succ[seen.ptr[k] + below(rng, size)] if size > 0 else -1


@lean_kernel
def draw_exceptions(
    rng: np.ndarray, lonely: float, bridge: float, reach: Reach, seen: Snapshot, pair_ptr: np.ndarray,
    exception: np.ndarray, unknown: np.ndarray,
) -> None:  # fmt: skip
    """A few pairs do something else in this draw, so that nothing is given up for ever: a state each, or -1.

    Of the pairs never visited ``lonely`` on average stay in their own state (for ``stay_length`` steps on average). Of
    the visited ones ``bridge`` on average, in proportion to 1 / visits, may lead somewhere else: half the time to a
    state never left, if there is one, of whose pairs one then stays there; otherwise to a state near, or to any.
    """
    n_states, unvisited, free, total = len(pair_ptr) - 1, 0, 0, 0.0
    for s in range(n_states):
        left = False
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            exception[k] = -1
            left |= seen.visits[k] > 0
            unvisited += seen.visits[k] == 0
            total += 1.0 / seen.visits[k] if seen.visits[k] > 0 else 0.0
        if not left:
            unknown[free] = s
            free += 1
    for s in range(n_states):
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            if seen.visits[k] == 0:
                if uniform(rng) * unvisited < lonely:
                    exception[k] = s
            elif bridge > 0.0 and uniform(rng) * seen.visits[k] * total < bridge:
                anywhere = n_open(float(seen.visits[k]), reach) == n_states
                if free > 0 and anywhere and uniform(rng) < 0.5:
                    exception[k] = x = unknown[below(rng, free)]
                    exception[pair_ptr[x] + below(rng, pair_ptr[x + 1] - pair_ptr[x])] = x
                elif uniform(rng) < 0.5:
                    exception[k] = near_state(rng, s, pair_ptr, seen)
                else:
                    exception[k] = reach.order[below(rng, n_open(float(seen.visits[k]), reach))]
