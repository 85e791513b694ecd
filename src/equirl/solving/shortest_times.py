"""The diameter: how long it takes, at most, to get from one state to another when one tries.

D = max over s != y of min over policies of E[time to reach y from s]. Each target y is a shortest-path problem, solved
by policy iteration with a sparse LU. Every policy bounds the times from above, so a target is left as soon as its
times are known to stay below the largest found so far: most targets cost one or two factorisations.
"""

from __future__ import annotations

import numpy as np
import scipy

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.numerics.compiling import kernel
from equirl.solving.chains import (
    Block,
    Incoming,
    Model,
    closed_classes,
    closer_pairs,
    incoming,
    reachable_block,
    steps_to,
)
from equirl.solving.renewal import LONGEST_TIME, IllConditioned, factor
from equirl.solving.value_iteration import Index, mean_value
from equirl.words.checking import whole_number


def diameter(mdp: TabularMDP, *, max_states: int = 2000) -> float:
    """How long it takes at most to get from one state to another when one tries, in the reachable part of an MDP.

    Infinite unless that part is communicating; 0 for one state. Takes a few sparse LUs per state: seconds for hundreds
    of states, minutes for thousands.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    max_states : int
        More reachable states than this are refused.

    Raises
    ------
    IllConditioned
        Where some state takes too long to be reached for double precision.

    Examples
    --------
    >>> diameter(TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]]))
    2.0
    """
    max_states = whole_number("max_states", max_states)
    check_mdp(mdp)
    part = reachable_block(mdp)
    if (closed_classes(part.edges) != 0).any():
        return float("inf")
    if part.n_states > max_states:
        raise ValueError(
            f"the diameter of {part.n_states} states takes some {part.n_states} sparse factorisations; "
            f"pass max_states={part.n_states} to wait for it"
        )
    matrix, arrivals = part.matrix(), incoming(part)
    longest = 0.0
    for target in range(part.n_states):
        try:
            longest = max(longest, _longest_time(part, matrix, arrivals, target, longest))
        except IllConditioned as error:
            raise IllConditioned(f"reaching {mdp.pairs.call(int(part.state[target]))} {error}") from None
    return longest


def _longest_time(part: Block, matrix: scipy.sparse.csr_array, arrivals: Incoming, target: int, enough: float) -> float:
    """The largest over states of the least expected time to the target; a mere upper bound once it is <= ``enough``."""
    moving = np.ones(part.n_states)
    moving[target] = 0.0
    pair = closer_pairs(part, steps_to(arrivals, moving == 0))
    total = np.inf
    while True:
        lu = factor(matrix[pair], moving)
        times = lu.solve(moving) if lu else np.full(1, np.inf)
        if not (times.min() >= 0 and times.max() <= LONGEST_TIME):
            raise IllConditioned(
                f"may take more than {LONGEST_TIME:g} steps on average: the diameter is beyond double precision"
            )
        longest = float(times.max())
        settled = times.sum() >= total or not _hasten(part.model, times, 4e-15 * longest, pair)
        if settled or longest <= enough:
            return longest
        total = times.sum()


@kernel
def _hasten(model: Model, times: np.ndarray, tie: float, pair: np.ndarray) -> bool:
    """Change ``pair`` where another one is faster by more than ``tie``; whether any changed."""
    changed = False
    for s in range(np.uint64(len(pair))):
        kept = np.uint64(pair[s])
        chosen: Index = kept
        least = mean_value(model, kept, times) - tie
        for k in range(model.pair_ptr[s], model.pair_ptr[s + np.uint64(1)]):
            time = mean_value(model, k, times)
            if time < least:
                least, chosen = time, k
        pair[s] = chosen
        changed |= chosen != kept
    return changed
