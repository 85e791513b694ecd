"""Known MDPs with a goal: the probability of reaching it, and the cost, reward or number of steps until it is reached.

Nothing happens after the goal. Sweeps from a first guess may stop far from the truth, or at a wrong fixed point: where
one can walk in circles, the equations have many solutions. So the MDP is taken apart first, by its graph alone:

- *reach*: an end component without the goal is one node (:mod:`equirl.solving.quotient`) that one may leave or stay in
  for ever; the largest probability is then the best "gain" when the goal pays 1 and staying elsewhere nothing, the
  smallest one when the goal pays -1. All policies end, and values are unique.
- *least cost*: of the policies that reach the goal with probability 1. From states that have none it is infinite.
  Components whose pairs cost nothing are single nodes. In any other component circles cost something, which policy
  iteration from a policy that reaches the goal never prefers, or earn something: then the cost has no lower bound.
- *largest cost*: infinite from where some policy may miss the goal; elsewhere there are no components.

A reward is a cost with the other sign, steps cost 1 each. Policy iteration with sparse LUs finds values, and the
certificate of the quotient bounds their error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Name, Pairs, named_policy, policy_table, state_labels
from equirl.model.reward_distributions import original_rewards
from equirl.model.rows import Rows
from equirl.numerics.arrays import owners
from equirl.solving.chains import (
    Block,
    attractor,
    closer_pairs,
    end_components,
    incoming,
    steps_to,
    whole,
)
from equirl.solving.gain_methods import solve_block
from equirl.solving.multichain import Components, gain_by_state
from equirl.solving.quotient import (
    Moves,
    best_values,
    error_of,
    inner_block,
    members,
    moves_between,
    moves_of,
    unfolded,
)
from equirl.solving.renewal import IllConditioned
from equirl.solving.value_iteration import SolverLimits
from equirl.words.answer_units import ByName, ByNumber, InUnits
from equirl.words.checking import choice as one_of, flag, inside
from equirl.words.formatting import shown
from equirl.words.tables import Table, card

OBJECTIVES = ("reach", "cost", "reward", "steps")
CIRCLES = SolverLimits(accuracy=1e-12, max_sweeps=100_000)  # what a circle costs on average, of which the sign is asked


@dataclass(frozen=True, eq=False)
class GoalSolution:
    """What is optimal on the way to a goal. Make one with ``solve(mdp, goal=...)``. All in the units of the problem.

    Attributes
    ----------
    value : ndarray of shape (S,)
        The optimal probability, cost, reward or number of steps from each state; ``inf`` or ``-inf`` where there is no
        bound, or where the goal is not reached for sure.
    policy : ndarray of shape (S,)
        An optimal action of each state. From where the goal is not reached for sure, or a value has no bound, one that
        heads for the goal; of a largest cost that is infinite, one that misses it.
    policy_pair : ndarray of shape (S,)
        The pair played in each state.
    value_from_start : float
        The optimal value from the initial distribution.
    accuracy : float
        Certified: every finite optimal value, and what the policy earns, is within this of ``value``.
    converged : bool
        Whether the accuracy asked for was reached.
    objective : str
        "reach", "cost", "reward" or "steps".
    maximise : bool
        Whether the largest value was sought, or the smallest.
    goal : ndarray of bool, shape (S,)
        Which states are the goal.
    pairs : Pairs
        The pairs of the problem, with their names.
    """

    value: InUnits[np.ndarray]
    policy: ByNumber[np.ndarray]
    policy_pair: np.ndarray
    value_from_start: InUnits[float]
    accuracy: InUnits[float]
    converged: bool
    objective: str
    maximise: bool
    goal: np.ndarray
    pairs: Pairs

    def named_policy(self) -> ByName[dict[Name, Name]]:
        """``{state: action}``, by name where there are names."""
        return named_policy(self.pairs, self.policy)

    def table(self) -> InUnits[ByName[Table]]:
        """The policy with names, and values; a row per state."""
        return policy_table(self.pairs, self.policy, {self.objective: self.value})

    def __repr__(self) -> str:
        which = f"{'largest' if self.maximise else 'least'} {self.objective}"
        return f"GoalSolution({which} {self.value_from_start:.6g}, within {self.accuracy:.1e})"

    def _repr_html_(self) -> str:
        which = f"{'largest' if self.maximise else 'least'} {self.objective}"
        facts = {which: self.value_from_start, "accuracy": self.accuracy}
        return card("GoalSolution", facts, {"Policy": self.table()})


class _Found(NamedTuple):
    """What was found for a block of n states."""

    value: np.ndarray  # (n,)
    pair: np.ndarray  # (n,) pair of the block
    error: float


def solve_goal(
    mdp: TabularMDP, goal: Any, objective: str = "reach", maximise: bool | None = None, accuracy: float = 1e-8
) -> GoalSolution:
    check_mdp(mdp)
    objective, accuracy = one_of("objective", objective, OBJECTIVES), inside("accuracy", accuracy, 0, math.inf)
    most = objective in ("reach", "reward") if maximise is None else flag("maximise", maximise)
    at_goal = goal_states(mdp.pairs, goal)
    sign = 1.0 if most else -1.0
    part = _ending_at(mdp, at_goal, sign * _paid(mdp, objective))
    if objective == "reach":
        found = _reach(part, at_goal, sign)
    elif most == (objective == "reward"):
        found = _surely_there(part, at_goal)
    else:
        found = _whatever_happens(part, at_goal)
    value = sign * found.value + 0.0  # no zero is negative
    finite = np.isfinite(value)
    within = accuracy * max(1.0, np.abs(value[finite]).max(initial=0.0))
    start = mdp.initial > 0
    return GoalSolution(
        value=value,
        policy=mdp.pairs.action[found.pair],
        policy_pair=found.pair,
        value_from_start=float(mdp.initial[start] @ value[start]),
        accuracy=found.error,
        converged=bool(found.error <= within),
        objective=objective,
        maximise=most,
        goal=at_goal,
        pairs=mdp.pairs,
    )


def goal_states(pairs: Pairs, goal: Any) -> np.ndarray:
    """(S,) mask of the states that a user names: one, several, a mask, or those of which a function says so."""
    if callable(goal):
        mask = np.array([bool(goal(name)) for name in state_labels(pairs)])
    elif isinstance(goal, np.ndarray) and goal.dtype == bool:
        if goal.shape != (pairs.n_states,):
            raise ValueError(f"goal has shape {goal.shape}; a mask of the states would be ({pairs.n_states},)")
        mask = goal.copy()
    else:
        mask = np.zeros(pairs.n_states, bool)
        several = isinstance(goal, list | set | frozenset | range) or (isinstance(goal, np.ndarray) and goal.ndim > 0)
        for state in goal if several else [goal]:
            try:
                mask[pairs.state_number(state)] = True
            except (TypeError, ValueError) as error:
                raise type(error)(f"goal: {error}") from None
    if not mask.any():
        raise ValueError(f"no state is the goal {shown(goal)}; name at least one")
    return mask


def _paid(mdp: TabularMDP, objective: str) -> np.ndarray:
    """(M,) what each pair adds to what is counted, in the units of the problem; nothing is exactly nothing."""
    if objective in ("reach", "steps"):
        return np.full(mdp.n_pairs, float(objective == "steps"))
    scale, shift = mdp.reward_map
    reward = np.where(original_rewards(mdp.r_mean, mdp.reward_map) == 0, 0.0, scale * mdp.r_mean + shift)
    return reward if objective == "reward" else -reward


def _ending_at(mdp: TabularMDP, goal: np.ndarray, reward: np.ndarray) -> Block:
    """The whole MDP with other rewards; in the goal one stays, for nothing."""
    part = whole(mdp)
    state = part.owner
    entry = state[owners(part.rows.ptr)]
    succ = np.where(goal[entry], entry, part.rows.succ).astype(np.int32)
    return part._replace(rows=part.rows._replace(succ=succ), reward=np.where(goal[state], 0.0, reward))


def _reach(part: Block, goal: np.ndarray, sign: float) -> _Found:
    """``sign`` times the probability of reaching the goal, maximised."""
    label, stays = end_components(part)
    gain = np.zeros(int(label.max()) + 1)
    gain[label[goal]] = sign
    pair = _first(part, stays)
    found = gain_by_state(part, Components(label, stays, gain, gain, pair, 0))
    return _Found(found.gain, found.pair, found.accuracy)


def _whatever_happens(part: Block, goal: np.ndarray) -> _Found:
    """The largest reward until the goal is reached, infinite where a policy may miss it."""
    missed = ~attractor(part, goal)
    value, n = np.full(part.n_states, np.inf), part.n_states
    stays = missed[part.owner]
    stays[owners(part.rows.ptr)[~missed[part.rows.succ]]] = False
    distance = steps_to(incoming(part), missed)
    pair = np.where(missed, _first(part, stays), closer_pairs(part, np.where(distance < 0, n, distance)))
    states = np.flatnonzero(distance < 0)
    rest = inner_block(part, states, np.flatnonzero(distance[part.owner] < 0))
    there = goal[states]
    moves, leaving = moves_between(rest, np.arange(len(states)), np.flatnonzero(~there[rest.owner]), len(states))
    stay = np.where(there, 0.0, -np.inf)
    value[states], choice = best_values(moves, stay)
    moving = choice >= 0
    pair[states[moving]] = rest.pair[leaving[choice[moving]]]
    return _Found(value, pair, error_of(moves, stay, value[states], choice))


def _surely_there(part: Block, goal: np.ndarray) -> _Found:
    """The largest reward until the goal of policies that reach it with probability 1; -inf where there are none."""
    states, pairs = _sure(part, goal)
    value, pair = np.full(part.n_states, -np.inf), _heading(part, goal)
    inner = inner_block(part, states, pairs)
    found = _best_way(inner, goal[states])
    value[states], pair[states] = found.value, pairs[found.pair]
    return _Found(value, pair, found.error)


def _sure(part: Block, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The states from which some policy reaches the goal with probability 1, and the pairs that keep to them."""
    there, kept, entry = np.ones(part.n_states, bool), np.ones(len(part.pair), bool), owners(part.rows.ptr)
    while True:
        states, pairs = np.flatnonzero(there), np.flatnonzero(kept)
        lost = steps_to(incoming(inner_block(part, states, pairs)), goal[states]) < 0
        if not lost.any():
            return states, pairs
        there[states[lost]] = False
        kept &= there[part.owner]
        kept[entry[~there[part.rows.succ]]] = False


def _best_way(part: Block, goal: np.ndarray) -> _Found:
    """The same, from states that all have such a policy."""
    free = part.reward == 0
    label, stays = end_components(part, free)
    alone = np.flatnonzero(label < 0)
    n_components = int(label.max()) + 1
    node, n_nodes = label.copy(), n_components + len(alone)
    node[alone] = np.arange(n_components, n_nodes)
    entry = owners(part.rows.ptr)
    leaves = np.zeros(len(part.pair), bool)
    leaves[entry[node[part.owner[entry]] != node[part.rows.succ]]] = True
    endless = np.zeros(n_nodes, bool)
    endless[node[part.owner[~leaves & (part.reward > 0)]]] = True

    moves, leaving = moves_between(part, node, np.flatnonzero(leaves), n_nodes)
    quotient = _as_block(moves)
    arrivals = incoming(quotient)
    endless |= _gainful(quotient)
    endless = steps_to(arrivals, endless) >= 0
    at_goal = np.zeros(n_nodes, bool)
    at_goal[node[goal]] = True
    rows = np.flatnonzero(~endless[moves.origin])
    finite = moves_of(moves.matrix[rows], moves.origin[rows], moves.paid[rows])
    stay = np.where(at_goal | endless, 0.0, -np.inf)
    first = closer_pairs(quotient, steps_to(arrivals, at_goal))
    first = np.where(at_goal | endless, -1, np.searchsorted(rows, first))
    value, choice = best_values(finite, stay, first)
    error = error_of(finite, stay, value, choice)

    exits = np.where(choice < 0, -1, leaving[rows[choice]]) if len(rows) else choice
    pair = np.where((label < 0) & (exits[node] >= 0), exits[node], _heading(part, goal))
    pair = unfolded(part, label, stays, exits, pair)
    return _Found(np.where(endless, np.inf, value)[node], pair, error)


def _gainful(part: Block) -> np.ndarray:
    """(n,) mask of the end components in which circles earn something; an error where that cannot be decided."""
    label, stays = end_components(part)
    found = np.zeros(part.n_states, bool)
    for states, pairs in members(part, label, stays):
        if not len(pairs) or part.reward[pairs].max() <= 0:
            continue
        if part.reward[pairs].min() >= 0:
            found[states] = True
            continue
        answer = solve_block(inner_block(part, states, pairs), "auto", CIRCLES)
        if answer.low - answer.noise <= 0 <= answer.high + answer.noise:
            raise IllConditioned(
                "there are circles on the way to the goal whose rewards and costs cancel to within rounding: whether "
                "the value has a bound cannot be decided in double precision"
            )
        found[states] = answer.low > 0
    return found


def _as_block(moves: Moves) -> Block:
    """The moves of a quotient as the block of its nodes; nodes that cannot move have no pair."""
    n_rows, n_nodes = moves.matrix.shape
    rows = Rows(moves.matrix.indptr.astype(np.int64), moves.matrix.indices.astype(np.int32), moves.matrix.data)
    ptr = np.searchsorted(moves.origin, np.arange(n_nodes + 1))
    return Block(np.arange(n_nodes), np.arange(n_rows), ptr, rows, moves.paid, 0.0)


def _heading(part: Block, goal: np.ndarray) -> np.ndarray:
    """(n,) the pair of each state most likely to step closer to the goal; where there is no way, the first."""
    distance = steps_to(incoming(part), goal)
    return closer_pairs(part, np.where(distance < 0, part.n_states, distance))


def _first(part: Block, pairs: np.ndarray) -> np.ndarray:
    """(n,) the first pair of each state that is among the ``pairs`` (a mask); where none is, the first."""
    first = part.pair_ptr[:-1].copy()
    chosen = np.flatnonzero(pairs)[::-1]
    first[part.owner[chosen]] = chosen
    return first
