"""Gains that depend on the start: the optimal gain from each state of an MDP of any kind.

Every policy ends in an end component, and inside one all states share an optimal gain. So the MDP falls into two
problems: the gain of each maximal end component, solved on its own; and a shortest-path-like problem on the *quotient*,
where a component is one node that one may leave by any of its pairs that lead out, or stay in and be paid its gain:

    v(node) = max( gain(node), max over the pairs k that leave it of sum_x p(x | k) v(node of x) )

No policy walks the quotient for ever without staying somewhere, so policy iteration solves it exactly: one sparse LU
per step, of as many nodes as there are components and states outside them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from equirl.core.arrays import take_rows
from equirl.model.mdp import TabularMDP
from equirl.solving.approach import approach
from equirl.solving.chains import Block, closed_classes
from equirl.solving.end_components import end_components
from equirl.solving.factorization import factor
from equirl.solving.gain_methods import solve_block
from equirl.solving.renewal import IllConditioned
from equirl.solving.value_iteration import SolverLimits

TIE = 1e-12  # values of the quotient this close are equal
MOST_STEPS = 1000


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
        """(C,) the optimal gains."""
        return (self.low + self.high) / 2


class GainByState(NamedTuple):
    """The optimal gain from each of n states, and a policy that earns it."""

    gain: np.ndarray  # (n,)
    pair: np.ndarray  # (n,) pair of the block
    accuracy: float
    n_sweeps: int


def solved_components(part: Block, limits: SolverLimits) -> Components:
    """Find the maximal end components of a block and solve each."""
    label, stays = end_components(part)
    n_components = int(label.max()) + 1
    low, high = np.zeros(n_components), np.zeros(n_components)
    pair, n_sweeps = part.pair_ptr[:-1].copy(), 0
    for c, (states, pairs) in enumerate(_members(part, label, stays)):
        if len(states) == 1:
            best = pairs[part.reward[pairs].argmax()]
            low[c] = high[c] = part.reward[best]
            pair[states] = best
            continue
        answer = solve_block(_inner_block(part, states, pairs), "auto", limits)
        low[c], high[c] = answer.low - answer.noise, answer.high + answer.noise
        pair[states] = pairs[answer.pair]
        n_sweeps = max(n_sweeps, answer.n_sweeps)
    return Components(label, stays, low, high, pair, n_sweeps)


def check_constant_gain(mdp: TabularMDP, part: Block, solved: Components) -> None:
    """Refuse a block whose optimal gain is not constant.

    It is constant when all closed classes have the same gain and no other end component has a larger one: from
    every state some policy ends in a closed class.
    """
    closed = closed_classes(part.graph()) >= 0
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
                f"the optimal gain depends on the start: {solved.gain[base]:.6g} from state "
                f"{_named(mdp, part.state[first[base]])}, {least}{solved.gain[c]:.6g} from state "
                f"{_named(mdp, part.state[first[c]])}, both reachable from the initial distribution; "
                "make the MDP weakly communicating (for example, restart where it ends), start it inside one of "
                "the two parts, or ask for the gain from each state with solve(mdp, multichain=True)"
            )


def gain_by_state(part: Block, solved: Components) -> GainByState:
    """The optimal gain from each state of a block, from its solved components."""
    n_components = len(solved.low)
    outside = np.flatnonzero(solved.label < 0)
    node = solved.label.copy()
    node[outside] = n_components + np.arange(len(outside))
    n_nodes = n_components + len(outside)
    leaving = np.flatnonzero(~solved.stays)
    merge = scipy.sparse.csr_array(
        (np.ones(part.n_states), (np.arange(part.n_states), node)), shape=(part.n_states, n_nodes)
    )
    steps = scipy.sparse.csr_array(part.matrix()[leaving] @ merge)
    value, choice, error = _quotient_values(steps, node[part.owner[leaving]], solved.gain)
    pair = _policy(part, solved, node, np.where(choice < 0, -1, leaving[choice]) if len(leaving) else choice)
    accuracy = float((solved.high - solved.low).max() / 2) + error
    return GainByState(value[node], pair, accuracy, solved.n_sweeps)


def _quotient_values(
    steps: scipy.sparse.csr_array, origin: np.ndarray, gain: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Optimal values of the quotient, the row of ``steps`` that each node plays (-1: stay), and a rounding error.

    Row i of ``steps`` leads from node ``origin[i]``; the first nodes are components, which may stay for their ``gain``.
    """
    n_nodes = steps.shape[1]
    order = np.argsort(origin, kind="stable")
    movers, starts = np.unique(origin[order], return_index=True)  # nodes that can move, and their first row in order
    choice = np.full(n_nodes, -1)
    choice[movers] = order[starts]
    choice[: len(gain)] = -1
    stay = np.full(n_nodes, -np.inf)
    stay[: len(gain)] = gain
    for _ in range(MOST_STEPS):
        moving = choice >= 0
        rows = np.flatnonzero(moving)
        chosen = steps[choice[rows]].tocoo()
        chain = scipy.sparse.csr_array((chosen.data, (rows[chosen.row], chosen.col)), shape=(n_nodes, n_nodes))
        lu = factor(chain, moving.astype(float))
        if lu is None:
            break
        value, times = lu.solve(np.where(moving, 0.0, stay)), lu.solve(np.ones(n_nodes))
        if len(origin) == 0:
            return value, choice, 0.0
        q = (steps @ value)[order]
        top = np.full(n_nodes, -np.inf)
        top[movers] = np.maximum.reduceat(q, starts)
        better = np.maximum(top, stay) > value + TIE
        if not better.any():
            return value, choice, float(4 * np.finfo(float).eps * times.max() * max(1.0, np.abs(value).max()))
        first_best = np.full(n_nodes, -1)
        attains = np.flatnonzero(q >= top[origin[order]])[::-1]
        first_best[origin[order][attains]] = order[attains]
        choice = np.where(better, np.where(top > stay, first_best, -1), choice)
    raise IllConditioned("where this MDP ends from each state is beyond double precision")


def _policy(part: Block, solved: Components, node: np.ndarray, exits: np.ndarray) -> np.ndarray:
    """(n,) the pair of each state: in a component that stays, its own; in one that leaves, the way to its exit."""
    pair = solved.pair.copy()
    outside = solved.label < 0
    pair[outside] = exits[node[outside]]
    for c, (states, pairs) in enumerate(_members(part, solved.label, solved.stays)):
        if exits[c] >= 0:
            door = part.owner[exits[c]]
            towards = approach(_inner_block(part, states, pairs), states == door)
            if towards is not None:
                pair[states] = pairs[towards]
            pair[door] = exits[c]
    return pair


def _members(part: Block, label: np.ndarray, stays: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The states and the staying pairs of each component, in increasing order."""
    n_components = int(label.max()) + 1
    pairs = np.flatnonzero(stays)
    of_pair = label[part.owner[pairs]]
    states = np.argsort(label, kind="stable")
    cuts = np.searchsorted(label[states], np.arange(n_components + 1))
    by_pair = np.argsort(of_pair, kind="stable")
    pair_cuts = np.searchsorted(of_pair[by_pair], np.arange(n_components + 1))
    return [
        (states[cuts[c] : cuts[c + 1]], pairs[by_pair[pair_cuts[c] : pair_cuts[c + 1]]]) for c in range(n_components)
    ]


def _inner_block(part: Block, states: np.ndarray, pairs: np.ndarray) -> Block:
    """The block of some states and pairs of a block (numbers, increasing), which no such pair leaves."""
    ptr, entries = take_rows(part.row_ptr, pairs)
    pair_ptr = np.searchsorted(pairs, np.append(part.pair_ptr[states], part.pair_ptr[states[-1] + 1]))
    return Block(
        part.state[states], part.pair[pairs], pair_ptr, ptr,
        np.searchsorted(states, part.succ[entries]).astype(np.int32), part.prob[entries], part.reward[pairs],
    )  # fmt: skip


def _named(mdp: TabularMDP, state: int) -> str:
    return repr(mdp.pairs.state_names[state]) if mdp.pairs.state_names else str(state)
