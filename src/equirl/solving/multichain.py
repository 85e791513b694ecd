"""Gains that depend on the start: the optimal gain from each state of an MDP of any kind.

Every policy ends in an end component, and inside one all states share an optimal gain. So the MDP falls into two
problems: the gain of each maximal end component, solved on its own; and a shortest-path-like problem on the *quotient*,
where a component is one node that one may leave by any of its pairs that lead out, or stay in and be paid its gain:

    v(node) = max( gain(node), max over the pairs k that leave it of sum_x p(x | k) v(node of x) )

No policy walks the quotient for ever without staying somewhere, so policy iteration solves it: one sparse LU per step,
of as many nodes as there are components and states outside them. What a pair leads back to its own node is left out
and the rest scaled to 1, so that rare exits are weighed by where they lead, not by how rare they are.

The certificate: with moves(node) the largest expected number of moves over all policies, itself found by policy
iteration, and no move or stay better than v by more than d, v + d moves is an upper bound of every policy's value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from equirl.model.mdp import TabularMDP
from equirl.numerics.arrays import owners
from equirl.solving.chains import Block, approach, closed_classes, end_components
from equirl.solving.gain_methods import solve_block
from equirl.solving.renewal import IllConditioned, factor
from equirl.solving.value_iteration import SolverLimits

TIE = 1e-14  # values of the quotient this close are equal to policy iteration; what that loses is certified
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


class _Moves(NamedTuple):
    """The pairs that leave nodes of a quotient: R rows over N nodes, sorted by the node they leave."""

    matrix: scipy.sparse.csr_array  # (R, N) where they lead, what stays at their own node left out
    origin: np.ndarray  # (R,) node of each row
    first: np.ndarray  # (N',) the first row of each node that can move
    mover: np.ndarray  # (N',) those nodes

    @property
    def rounding(self) -> float:
        """Error of a row's mean, relative to the largest value: a rounding per entry, twice as rows are scaled."""
        return (2 * int(np.diff(self.matrix.indptr).max(initial=0)) + 6) * float(np.finfo(float).eps)

    def best(self, value: np.ndarray, paid: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """(N,) the most that a move from each node is worth and the first row that is; -inf and -1 for none."""
        top, row = np.full(self.matrix.shape[1], -np.inf), np.full(self.matrix.shape[1], -1)
        if len(self.mover):
            worth = paid + self.matrix @ value
            top[self.mover] = np.maximum.reduceat(worth, self.first)
            attains = np.flatnonzero(worth >= top[self.origin])[::-1]
            row[self.origin[attains]] = attains
        return top, row


def gain_by_state(part: Block, solved: Components) -> GainByState:
    """The optimal gain from each state of a block, from its solved components."""
    n_components = len(solved.low)
    outside = np.flatnonzero(solved.label < 0)
    node = solved.label.copy()
    node[outside] = n_components + np.arange(len(outside))
    moves, leaving = _moves(part, node, np.flatnonzero(~solved.stays), n_components + len(outside))
    stay = np.full(n_components + len(outside), -np.inf)
    stay[:n_components] = solved.gain
    value, choice = _quotient_values(moves, stay)
    value = np.clip(value, solved.gain.min(), solved.gain.max())
    exits = np.where(choice < 0, -1, leaving[choice]) if len(leaving) else choice
    error = min(_quotient_error(moves, stay, value, choice), float(np.ptp(solved.gain)))
    accuracy = float((solved.high - solved.low).max() / 2) + error
    return GainByState(value[node], _policy(part, solved, node, exits), accuracy, solved.n_sweeps)


def _moves(part: Block, node: np.ndarray, leaving: np.ndarray, n_nodes: int) -> tuple[_Moves, np.ndarray]:
    """The moves of the quotient, and the pair of the block behind each row."""
    leaving = leaving[np.argsort(node[part.owner[leaving]], kind="stable")]
    origin = node[part.owner[leaving]]
    rows = part.rows.take(leaving)
    row, target = owners(rows.ptr), node[rows.succ]
    away = target != origin[row]
    row, target, prob = row[away], target[away], rows.prob[away]
    prob = prob / np.bincount(row, weights=prob, minlength=len(leaving))[row]
    matrix = scipy.sparse.csr_array((prob, (row, target)), shape=(len(leaving), n_nodes))
    mover, first = np.unique(origin, return_index=True)
    return _Moves(matrix, origin, first, mover), leaving


def _quotient_values(moves: _Moves, stay: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values of the quotient, and the row of ``moves`` that each node plays (-1: stay), by policy iteration."""
    choice = np.full(len(stay), -1)
    choice[moves.mover] = moves.first
    choice[np.isfinite(stay)] = -1
    value = stay
    for _ in range(MOST_STEPS):
        found = _evaluate(moves, choice, np.where(choice < 0, stay, 0.0))
        if found is None:
            raise IllConditioned("where this MDP ends from each state is beyond double precision")
        value = found
        top, row = moves.best(value)
        better = np.maximum(top, stay) > value + TIE
        if not better.any():
            break
        choice = np.where(better, np.where(top > stay, row, -1), choice)
    return value, choice


def _quotient_error(moves: _Moves, stay: np.ndarray, value: np.ndarray, choice: np.ndarray) -> float:
    """How far ``value`` may be from the optimal values, and from those of its policy; inf where that is not known."""
    if len(moves.origin) == 0:
        return 0.0
    played = np.where(choice < 0, stay, 0.0)
    moving = np.flatnonzero(choice >= 0)
    played[moving] = moves.matrix[choice[moving]] @ value
    off = max((np.maximum(moves.best(value)[0], stay) - value).max(), np.abs(played - value).max())
    return float(off + moves.rounding * np.abs(value).max()) * _most_moves(moves)


def _most_moves(moves: _Moves) -> float:
    """At least the largest expected number of moves, over policies and nodes; inf beyond double precision."""
    choice = np.full(moves.matrix.shape[1], -1)
    choice[moves.mover] = moves.first
    paid = (choice >= 0).astype(float)
    for _ in range(MOST_STEPS):
        times = _evaluate(moves, choice, paid)
        if times is None:
            break
        top, row = moves.best(times, paid=1.0)
        lacking = float((top - times).max()) + moves.rounding * (1 + np.abs(times).max())
        if lacking < 0.5 and times.min() >= 0:  # then times / (1 - lacking) is at least 1 plus that of any move
            return float(times.max()) / (1 - lacking)
        choice = np.where(top > times, row, choice)
    return np.inf


def _evaluate(moves: _Moves, choice: np.ndarray, paid: np.ndarray) -> np.ndarray | None:
    """(N,) what is ``paid`` on the way when each node plays the row ``choice`` (-1: ends); None if that is singular."""
    n_nodes = len(choice)
    rows = np.flatnonzero(choice >= 0)
    chosen = moves.matrix[choice[rows]].tocoo()
    chain = scipy.sparse.csr_array((chosen.data, (rows[chosen.row], chosen.col)), shape=(n_nodes, n_nodes))
    lu = factor(chain, (choice >= 0).astype(float))
    return None if lu is None else lu.solve(paid)


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
    rows = part.rows.take(pairs)
    pair_ptr = np.searchsorted(pairs, np.append(part.pair_ptr[states], part.pair_ptr[states[-1] + 1]))
    rows = rows._replace(succ=np.searchsorted(states, rows.succ).astype(np.int32))
    return Block(part.state[states], part.pair[pairs], pair_ptr, rows, part.reward[pairs], part.defect)


def _named(mdp: TabularMDP, state: int) -> str:
    return repr(mdp.pairs.state_names[state]) if mdp.pairs.state_names else str(state)
