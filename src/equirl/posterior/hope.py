"""Hope: what a draw adds to the model, so that a learner gives nothing up for ever.

A faithful posterior may leave a learner stuck, when the draw that would free it comes up once in millions. Hope says
two things, each with a chance that fades with evidence.

*A pair may differ from its class.* One never tried may stay where it is, which is the only way in which the last
unknown pair far away can be worth a trip. One tried n times may lead somewhere it was not seen to lead, with mass
Beta(1, n): few unlucky visits may have put it into the wrong class, so that what lies beyond seems out of reach. And
one of few visits may have a row of its own, Dirichlet(its counts, gamma): where pairs have dozens of successors, a
class says how large the masses are and not where they go. A draw has about one exception of each of the first two kinds
at first, and ever fewer later (``fading``).

*What a pair has not seen may lead anywhere*: as often near by as successors seen so far are, otherwise with classes
given half the time to states never left, and where nothing is given at least one time in four to states never entered:
where one of fifty is left, any state is hardly ever that one. But where states cannot be entered at all, any chance
that they pay for ever is worth a trip, again and again, and regret is nearly linear. So a pair that was tried often
leads only to states entered so far (as optimism is truncated in TUCRL, Fruit et al. 2018). Often is more than

    OFTEN sqrt(t / M)

visits, t steps shared by M pairs: a bound that grows without end, so that nothing is given up, and ever more slowly
than visits do on average. A hidden way is still there after n visits with chance about 1 / n: trying for about that
long balances the cost of the tries with what is missed. And where nothing is given, what is hidden is not for ever:
states never entered lead back in the end (``hidden_length``), so that an unlikely way to them is not worth any number
of tries.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import below, uniform

OFTEN = 4.0
NEVER = -1.0  # in place of it: no pair leads to states never entered
HIDDEN = 0.25  # of what is not near, at least so much goes to states never entered


class Hope(NamedTuple):
    """How much of each kind a draw has at first."""

    untried: float = 1.0  # pairs never tried that stay put
    elsewhere: float = 1.0  # pairs that lead elsewhere
    apart: float = 1.0  # chance, times visits, that a pair has a row of its own
    outward: float = 0.0  # chance that what is not near is placed on a state never left
    near: bool = True  # whether what was not seen may be placed near by

    def scaled(self, by: float) -> Hope:
        """So many times as many exceptions; with 0 the model and nothing else."""
        outward, near = (self.outward, self.near) if by > 0 else (0.0, False)
        return Hope(by * self.untried, by * self.elsewhere, by * self.apart, outward, near)


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


def outward_to_few(n_hidden: int, n_states: int) -> float:
    """The chance to look for states never entered alone, so that they have ``HIDDEN`` however few they are."""
    share = n_hidden / n_states
    return (HIDDEN - share) / (1.0 - share) if 0.0 < share < HIDDEN else 0.0


def entered_states(reach: Reach) -> np.ndarray:
    """(S,) whether a state was entered."""
    entered = np.zeros(len(reach.order), np.bool_)
    entered[reach.order[: reach.n_entered]] = True
    return entered


@lean_kernel
def n_open(visits: float, reach: Reach) -> int:
    """How many states of ``reach.order`` a pair of so many visits may lead to."""
    return reach.n_entered if visits > reach.often else len(reach.order)


def stay_length(t: int) -> float:
    """How many steps an unknown pair that stays put keeps one, on average.

    A short stay is not worth a long way: where the last unknown pairs are costly to reach they are tried later, when
    the stays, which grow for ever, are worth it.
    """
    return max(30.0, 0.3 * math.sqrt(t))


def hidden_length(t: int) -> float:
    """How many steps are spent among states never entered, on average, before they lead back.

    Where they hold what is found there for ever, they are worth any number of tries, however unlikely each is. Four
    stays long, they are worth the tries that they repay, ever more of them.
    """
    return 4.0 * stay_length(t)


def fading(t: int) -> float:
    """The part of the exceptions that is left at time t: one, and less and less after 900 steps.

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
    rng: np.ndarray, untried: float, elsewhere: float, reach: Reach, seen: Snapshot, pair_ptr: np.ndarray,
    exception: np.ndarray, unknown: np.ndarray,
) -> None:  # fmt: skip
    """A few pairs do something else in this draw, so that nothing is given up for ever: a state each, or -1.

    Of the pairs never visited ``untried`` on average stay in their own state (for ``stay_length`` steps on average, or
    for ever where classes are given). Of the visited ones ``elsewhere`` on average, in proportion to 1 / visits, may
    lead somewhere else: where a pair may lead anywhere, half the time to a state never left, if there is one, of whose
    pairs one then stays there; otherwise to a state near, or to any in reach.
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
                if uniform(rng) * unvisited < untried:
                    exception[k] = s
            elif elsewhere > 0.0 and uniform(rng) * seen.visits[k] * total < elsewhere:
                anywhere = n_open(float(seen.visits[k]), reach) == n_states
                if free > 0 and anywhere and uniform(rng) < 0.5:
                    exception[k] = x = unknown[below(rng, free)]
                    exception[pair_ptr[x] + below(rng, pair_ptr[x + 1] - pair_ptr[x])] = x
                elif uniform(rng) < 0.5:
                    exception[k] = near_state(rng, s, pair_ptr, seen)
                else:
                    exception[k] = reach.order[below(rng, n_open(float(seen.visits[k]), reach))]
