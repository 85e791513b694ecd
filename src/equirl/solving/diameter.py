"""The diameter: how long it takes, at most, to get from one state to another when one tries.

D = max over s != y of min over policies of E[time to reach y from s]. Each target y is a shortest-path problem, solved
by policy iteration with a sparse LU. Every policy bounds the times from above, so a target is left as soon as its
times are known to stay below the largest found so far: most targets cost one or two factorisations.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from equirl.core.checking import whole_number
from equirl.core.compiling import kernel
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.solving.chains import Block, block, closed_classes, incoming
from equirl.solving.policies import LONGEST_TIME, IllConditioned, factor


def diameter(mdp: TabularMDP, *, max_states: int = 2000) -> float:
    """The diameter of the part reachable from the initial law: infinite unless that is communicating; 0 for one state.

    Takes a few sparse LUs per state: seconds for hundreds of states, minutes for thousands, so more than
    ``max_states`` are refused.

    >>> diameter(TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]]))
    2.0
    """
    max_states = whole_number("max_states", max_states)
    check_mdp(mdp)
    part = block(mdp, mdp.reachable())
    if (closed_classes(part.graph()) != 0).any():
        return float("inf")
    if part.n_states > max_states:
        raise ValueError(
            f"the diameter of {part.n_states} states takes some {part.n_states} sparse factorisations; "
            f"pass max_states={part.n_states} to wait for it"
        )
    laws, arrivals = part.matrix(), incoming(part)
    longest = 0.0
    for target in range(part.n_states):
        longest = max(longest, _longest_time(part, laws, arrivals, target, longest))
    return longest


def _longest_time(
    part: Block, laws: sparse.csr_array, arrivals: tuple[np.ndarray, np.ndarray], target: int, enough: float
) -> float:
    """The largest over states of the least expected time to the target; a mere upper bound once it is <= ``enough``."""
    pair, distance = np.zeros(part.n_states, np.int64), np.full(part.n_states, -1)
    _distances(*arrivals, part.owner, target, distance, np.empty(part.n_states, np.int64))
    _approach(*part[2:6], distance, pair)
    moving = np.ones(part.n_states)
    moving[target] = 0.0
    total = np.inf
    while True:
        lu = factor(laws[pair], moving)
        times = lu.solve(moving) if lu else np.full(1, np.inf)
        if not (times.min() >= 0 and times.max() <= LONGEST_TIME):
            raise IllConditioned(
                f"reaching state {int(part.state[target])} may take more than {LONGEST_TIME:g} steps on average: "
                "the diameter is beyond double precision"
            )
        longest = float(times.max())
        settled = times.sum() >= total or not _hasten(*part[2:6], times, 4e-15 * longest, pair)
        if settled or longest <= enough:
            return longest
        total = times.sum()


@kernel
def _distances(
    ptr: np.ndarray, arriving: np.ndarray, owner: np.ndarray, target: int, distance: np.ndarray, queue: np.ndarray
) -> None:
    """The least number of steps to the target, breadth first."""
    distance[target], queue[0] = 0, target
    i, n = 0, 1
    while i < n:
        x = queue[i]
        i += 1
        for j in range(ptr[x], ptr[x + 1]):
            s = owner[arriving[j]]
            if distance[s] < 0:
                distance[s], queue[n] = distance[x] + 1, s
                n += 1


@kernel
def _approach(
    pair_ptr: np.ndarray, row_ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, distance: np.ndarray,
    pair: np.ndarray,
) -> None:  # fmt: skip
    """The pairs most likely to step closer to the target; so played, it is reached from everywhere."""
    for s in range(len(pair)):
        most = -1.0
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            closer = 0.0
            for j in range(row_ptr[k], row_ptr[k + 1]):
                if distance[succ[j]] < distance[s]:
                    closer += prob[j]
            if closer > most:
                most, pair[s] = closer, k


@kernel
def _hasten(
    pair_ptr: np.ndarray, row_ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, times: np.ndarray,
    tie: float, pair: np.ndarray,
) -> bool:  # fmt: skip
    """Change ``pair`` where another one is faster by more than ``tie``; whether any changed."""
    changed = False
    for s in range(len(pair)):
        least, kept = np.inf, pair[s]
        for step in range(-1, pair_ptr[s + 1] - pair_ptr[s]):  # the pair played now comes first
            k = kept if step < 0 else pair_ptr[s] + step
            time = -tie if step < 0 else 0.0
            for j in range(row_ptr[k], row_ptr[k + 1]):
                time += prob[j] * times[succ[j]]
            if time < least:
                least, pair[s] = time, k
        changed |= pair[s] != kept
    return changed
