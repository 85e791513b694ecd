"""Policies that head for a set of states: everywhere the action most likely to step closer to it.

So played, the set is reached with probability 1 from every state from which it can be reached at all, and it is left
only if its own states leave it. Such policies start policy iteration where another start would wander for ages.
"""

from __future__ import annotations

import numpy as np

from equirl.numerics.compiling import kernel
from equirl.solving.bellman import Model
from equirl.solving.chains import Arrivals, Block, incoming


def approach(part: Block, target: np.ndarray) -> np.ndarray | None:
    """(n,) the pair of each state most likely to step closer to the ``target`` (a mask); its own states': the first.

    None where some state cannot reach the target.
    """
    distance = steps_to(incoming(part), target)
    return None if (distance < 0).any() else closer_pairs(part, distance)


def steps_to(arrivals: Arrivals, target: np.ndarray) -> np.ndarray:
    """(n,) least number of steps from each state to the ``target`` (a mask); -1 where there is no way."""
    distance = np.where(target, 0, -1)
    queue = np.empty(len(target), np.int64)
    first = np.flatnonzero(target)
    queue[: len(first)] = first
    _distances(arrivals, distance, queue, len(first))
    return distance


def closer_pairs(part: Block, distance: np.ndarray) -> np.ndarray:
    """(n,) the pair of each state most likely to decrease the ``distance``."""
    pair = np.zeros(part.n_states, np.int64)
    _approach(part.model, distance, pair)
    return pair


@kernel
def _distances(arrivals: Arrivals, distance: np.ndarray, queue: np.ndarray, n: int) -> None:
    """``distance`` from the states in ``queue[:n]`` (where it is 0; elsewhere -1) backwards, breadth first."""
    i = 0
    while i < n:
        x = queue[i]
        i += 1
        for j in range(arrivals.ptr[x], arrivals.ptr[x + 1]):
            s = arrivals.owner[arrivals.pair[j]]
            if distance[s] < 0:
                distance[s], queue[n] = distance[x] + 1, s
                n += 1


@kernel
def _approach(model: Model, distance: np.ndarray, pair: np.ndarray) -> None:
    one = np.uint64(1)
    for s in range(np.uint64(len(pair))):
        most = -1.0
        for k in range(model.pair_ptr[s], model.pair_ptr[s + one]):
            closer = 0.0
            for j in range(model.row_ptr[k], model.row_ptr[k + one]):
                if distance[model.succ[j]] < distance[s]:
                    closer += model.prob[j]
            if closer > most:
                most, pair[s] = closer, k
