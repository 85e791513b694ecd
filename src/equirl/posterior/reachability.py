"""Whether what a pair has not seen may lead to states that were never entered.

Under average reward a state never entered may pay for ever: any chance of getting there is worth a trip, again and
again, and where such states cannot be entered at all regret is nearly linear. So a pair that was tried often leads only
to states entered so far (as optimism is truncated in TUCRL, Fruit et al. 2018). Often is more than

    OFTEN sqrt(t / M)

visits, t steps shared by M pairs: a bound that grows without end, so that nothing is given up, and ever more slowly
than visits do on average. A hidden way is still there after n visits with chance about 1 / n: trying for about that
long balances the cost of the tries with what is missed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.compiling import lean_kernel

OFTEN = 4.0


class Reach(NamedTuple):
    """Where what was not seen may lead."""

    order: np.ndarray  # (S,) int64: states, those entered so far first
    n_entered: int
    often: float  # visits beyond which a pair leads only to these


def reach_of(seen: Snapshot, pair_ptr: np.ndarray) -> Reach:
    """The reach of pairs by these counts. O(S + stored successors)."""
    entered = np.add.reduceat(seen.visits, pair_ptr[:-1]) > 0
    entered[seen.succ] = True
    order = np.argsort(~entered, kind="stable")
    return Reach(order, max(1, int(entered.sum())), OFTEN * math.sqrt(seen.visits.sum() / len(seen.visits)))


def everywhere(n_states: int) -> Reach:
    """Every pair may lead to every state."""
    return Reach(np.arange(n_states), n_states, math.inf)


@lean_kernel
def n_open(visits: float, reach: Reach) -> int:
    """How many states of ``reach.order`` a pair of so many visits may lead to."""
    return reach.n_entered if visits > reach.often else len(reach.order)
