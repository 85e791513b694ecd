"""Gains that depend on the start: the optimal gain from each state of an MDP of any kind.

Every policy ends in an end component, and inside one all states share an optimal gain. So the MDP falls into two
problems: the gain of each maximal end component, solved on its own; and where to end, on the quotient in which a
component is one node that one may leave, or stay in and be paid its gain (:mod:`equirl.solving.quotient`). No policy
walks it for ever without staying somewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.reward_distributions import original_gain
from equirl.solving.chains import Block, closed_classes, end_components
from equirl.solving.gain_methods import solve_block
from equirl.solving.quotient import best_values, error_of, inner_block, members, moves_between, unfolded
from equirl.solving.value_iteration import SolverLimits


class NoConstantGain(ValueError):  # noqa: N818 (it names the finding)
    """The optimal gain depends on where one starts among the states reachable from the initial distribution."""


class Components(NamedTuple):
    """The maximal end components of a block of n states and m pairs, each solved: C of them."""

    label: np.ndarray  # (n,) component of each state, -1 for none
    stays: np.ndarray  # (m,) pairs that stay in their component
    low: np.ndarray  # (C,) bounds on the optimal gain of each
    high: np.ndarray  # (C,)
    pair: np.ndarray  # (n,) an optimal pair of the block for each state of a component
    n_sweeps: int

    @property
    def gain(self) -> np.ndarray:
        return (self.low + self.high) / 2


class GainByState(NamedTuple):
    """The optimal gain from each of n states, and a policy that earns it."""

    gain: np.ndarray  # (n,)
    pair: np.ndarray  # (n,) pair of the block
    accuracy: float
    n_sweeps: int
    method: str = "policy"


def solved_components(part: Block, limits: SolverLimits) -> Components:
    """Find the maximal end components of a block and solve each."""
    label, stays = end_components(part)
    n_components = int(label.max()) + 1
    low, high = np.zeros(n_components), np.zeros(n_components)
    pair, n_sweeps = part.pair_ptr[:-1].copy(), 0
    for c, (states, pairs) in enumerate(members(part, label, stays)):
        if len(states) == 1:
            best = pairs[part.reward[pairs].argmax()]
            low[c] = high[c] = part.reward[best]
            pair[states] = best
            continue
        answer = solve_block(inner_block(part, states, pairs), "auto", limits)
        low[c], high[c] = answer.low - answer.noise, answer.high + answer.noise
        pair[states] = pairs[answer.pair]
        n_sweeps = max(n_sweeps, answer.n_sweeps)
    return Components(label, stays, low, high, pair, n_sweeps)


def check_constant_gain(mdp: TabularMDP, part: Block, solved: Components) -> None:
    """Refuse a block whose optimal gain is not constant.

    It is constant when all closed classes have the same gain and no other end component has a larger one: from
    every state some policy ends in a closed class.
    """
    closed = closed_classes(part.edges) >= 0
    member = np.flatnonzero(solved.label >= 0)
    first = member[np.unique(solved.label[member], return_index=True)[1]]  # a state of each component
    order = np.argsort(~closed[first], kind="stable")
    base = order[0]
    more = solved.low > solved.high[base]
    less = closed[first] & (solved.high < solved.low[base])
    for c in order[1:]:
        if more[c] or less[c]:
            least = "" if closed[first[c]] else "at least "
            raise NoConstantGain(
                f"the optimal gain depends on the start: {original_gain(solved.gain[base], mdp.reward_map):.6g} from "
                f"{mdp.pairs.call(int(part.state[first[base]]))}, {least}"
                f"{original_gain(solved.gain[c], mdp.reward_map):.6g} from "
                f"{mdp.pairs.call(int(part.state[first[c]]))}, both reachable from the initial distribution; "
                "make the MDP weakly communicating (for example, restart where it ends), start it inside one of "
                "the two parts, or ask for the gain from each state with solve(mdp, multichain=True)"
            )


def gain_by_state(part: Block, solved: Components) -> GainByState:
    """The optimal gain from each state of a block, from its solved components."""
    n_components = len(solved.low)
    outside = np.flatnonzero(solved.label < 0)
    node, n_nodes = solved.label.copy(), n_components + len(outside)
    node[outside] = np.arange(n_components, n_nodes)
    moves, leaving = moves_between(part, node, np.flatnonzero(~solved.stays), n_nodes)
    moves = moves._replace(paid=np.zeros(len(leaving)))  # what is paid on the way counts nothing on average
    stay = np.full(n_nodes, -np.inf)
    stay[:n_components] = solved.gain
    value, choice = best_values(moves, stay)
    value = np.clip(value, solved.gain.min(), solved.gain.max())
    exits = np.where(choice < 0, -1, leaving[choice]) if len(leaving) else choice
    error = min(error_of(moves, stay, value, choice), float(np.ptp(solved.gain)))
    accuracy = float((solved.high - solved.low).max() / 2) + error
    pair = np.where(solved.label < 0, exits[node], solved.pair)
    return GainByState(value[node], unfolded(part, solved.label, solved.stays, exits, pair), accuracy, solved.n_sweeps)
