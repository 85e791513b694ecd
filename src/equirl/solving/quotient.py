"""An MDP whose end components are single nodes: where its policies lead, what is paid on the way, with a certificate.

Inside an end component one may go from every state to every other as often as one likes. In the *quotient* it is one
node, which one may leave by any of its pairs that lead out; states outside components are nodes of their own. With
stay(node) what ending there is worth (-inf: one may not) and paid(k) what a move pays,

    v(node) = max( stay(node), max over the pairs k that leave it of paid(k) + sum_x p(x | k) v(node of x) )

where walking for ever is never best. Policy iteration solves it: one sparse LU per step, of as many nodes as there are,
or sweeps where the factors would be too large.
What a pair leads back to its own node is left out and the rest scaled to 1, so that rare exits are weighed by where
they lead, not by how rare they are.

The certificate: let no stay be worth more than v and no move more than v + d, rounding included. With w(node) at least
1 and the w that follows on every move that is nearly best, and d times what w grows by on others no more than they
lack, v + d w is an upper bound of every policy's value: it can only fall when one looks a move further ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from equirl.numerics.arrays import owners
from equirl.solving.chains import Block, approach
from equirl.solving.renewal import IllConditioned, TooMuchFill, factor

TIE = 1e-14  # relative to the largest value: those this close are equal to policy iteration; what it loses is certified
MOST_STEPS = 1000
MOST_SWEEPS = 10_000  # of one evaluation, where factors are too large


class Moves(NamedTuple):
    """The pairs that leave nodes of a quotient: R rows over N nodes, sorted by the node they leave."""

    matrix: scipy.sparse.csr_array  # (R, N) where they lead, what stays at their own node left out
    origin: np.ndarray  # (R,) node of each row
    paid: np.ndarray  # (R,) by each until its node is left
    first: np.ndarray  # (N',) the first row of each node that can move
    mover: np.ndarray  # (N',) those nodes

    @property
    def rounding(self) -> float:
        """Error of a row's mean, relative to the largest value: a rounding per entry, twice as rows are scaled."""
        return (2 * int(np.diff(self.matrix.indptr).max(initial=0)) + 6) * float(np.finfo(float).eps)

    def best(self, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N,) the most that a move from each node is worth and the first row that is; -inf and -1 for none."""
        top, row = np.full(self.matrix.shape[1], -np.inf), np.full(self.matrix.shape[1], -1)
        if len(self.mover):
            worth = self.paid + self.matrix @ value
            top[self.mover] = np.maximum.reduceat(worth, self.first)
            attains = np.flatnonzero(worth >= top[self.origin])[::-1]
            row[self.origin[attains]] = attains
        return top, row


def moves_of(matrix: scipy.sparse.csr_array, origin: np.ndarray, paid: np.ndarray) -> Moves:
    mover, first = np.unique(origin, return_index=True)
    return Moves(matrix, origin, paid, first, mover)


def moves_between(part: Block, node: np.ndarray, leaving: np.ndarray, n_nodes: int) -> tuple[Moves, np.ndarray]:
    """The moves of a quotient by the pairs ``leaving`` nodes, and the pair of the block behind each row."""
    leaving = leaving[np.argsort(node[part.owner[leaving]], kind="stable")]
    origin = node[part.owner[leaving]]
    rows = part.rows.take(leaving)
    row, target = owners(rows.ptr), node[rows.succ]
    away = target != origin[row]
    row, target, prob = row[away], target[away], rows.prob[away]
    leaves = np.bincount(row, weights=prob, minlength=len(leaving))
    matrix = scipy.sparse.csr_array((prob / leaves[row], (row, target)), shape=(len(leaving), n_nodes))
    return moves_of(matrix, origin, part.reward[leaving] / leaves), leaving


def best_values(moves: Moves, stay: np.ndarray, choice: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Values of the quotient, and the row of ``moves`` that each node plays (-1: stay), by policy iteration.

    It starts from ``choice``, which must end from every node; by default one stays where one may.
    """
    if choice is None:
        choice = np.full(len(stay), -1)
        choice[moves.mover] = moves.first
        choice[np.isfinite(stay)] = -1
    value = stay
    for _ in range(MOST_STEPS):
        found = _evaluate(moves, choice, np.where(choice < 0, stay, moves.paid[choice] if len(moves.paid) else 0.0))
        if found is None:
            raise IllConditioned("where this MDP ends from each state is beyond double precision")
        value = found
        top, row = moves.best(value)
        better = np.maximum(top, stay) > value + TIE * max(1.0, np.abs(value).max())
        if not better.any():
            break
        choice = np.where(better, np.where(top > stay, row, -1), choice)
    return value, choice


def error_of(moves: Moves, stay: np.ndarray, value: np.ndarray, choice: np.ndarray) -> float:
    """How far ``value`` may be from the optimal values, and from those of its policy; inf where that is not known."""
    if len(moves.origin) == 0:
        return 0.0
    played, worth = np.where(choice < 0, stay, 0.0), moves.paid + moves.matrix @ value
    moving = np.flatnonzero(choice >= 0)
    played[moving] = worth[choice[moving]]
    off = max((np.maximum(moves.best(value)[0], stay) - value).max(), np.abs(played - value).max())
    off += moves.rounding * (np.abs(value).max() + np.abs(moves.paid).max())
    lacks = value[moves.origin] - worth
    counted = lacks <= 2 * off
    while (times := _most_moves(moves, counted)) is not None:
        short = ~counted & (lacks < off * (1 + moves.matrix @ times - times[moves.origin]))
        if not short.any():
            return float(off * times.max())
        counted |= short
    return np.inf


def _most_moves(moves: Moves, counted: np.ndarray) -> np.ndarray | None:
    """(N,) at least the largest expected number of moves over policies of the ``counted`` rows; None: beyond double."""
    rows = np.flatnonzero(counted)
    some = moves_of(moves.matrix[rows], moves.origin[rows], np.ones(len(rows)))
    choice = np.full(moves.matrix.shape[1], -1)
    choice[some.mover] = some.first
    paid = (choice >= 0).astype(float)
    for _ in range(MOST_STEPS):
        times = _evaluate(some, choice, paid)
        if times is None:
            break
        top, row = some.best(times)
        lacking = float((top - times).max()) + moves.rounding * (1 + np.abs(times).max())
        if lacking < 0.5 and times.min() >= 0:  # then times / (1 - lacking) is at least 1 plus that of any move
            return times / (1 - lacking)
        choice = np.where(top > times, row, choice)
    return None


def _evaluate(moves: Moves, choice: np.ndarray, paid: np.ndarray) -> np.ndarray | None:
    """(N,) what is ``paid`` on the way when each node plays the row ``choice`` (-1: ends); None if that is singular."""
    n_nodes = len(choice)
    rows = np.flatnonzero(choice >= 0)
    chosen = moves.matrix[choice[rows]].tocoo()
    chain = scipy.sparse.csr_array((chosen.data, (rows[chosen.row], chosen.col)), shape=(n_nodes, n_nodes))
    try:
        lu = factor(chain, (choice >= 0).astype(float))
    except TooMuchFill:
        return _evaluate_by_sweeps(chain, paid)
    return None if lu is None else lu.solve(paid)


def _evaluate_by_sweeps(chain: scipy.sparse.csr_array, paid: np.ndarray) -> np.ndarray:
    """The same by sweeps until none changes anything: as many as the longest way where no node comes twice."""
    value = paid
    for _ in range(MOST_SWEEPS):
        before, value = value, paid + chain @ value
        if np.array_equal(before, value):
            return value
    raise TooMuchFill(f"the LU factors of {len(paid)} nodes are too large, and {MOST_SWEEPS} sweeps too few")


def unfolded(part: Block, label: np.ndarray, stays: np.ndarray, exits: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """(n,) the pair of each state: in a component that is left the way to its exit, else the one it has in ``pair``.

    ``exits`` holds for each component the pair by which it is left, -1 for one that is not.
    """
    pair = pair.copy()
    for c, (states, pairs) in enumerate(members(part, label, stays)):
        if exits[c] >= 0:
            door = part.owner[exits[c]]
            towards = approach(inner_block(part, states, pairs), states == door)
            if towards is not None:
                pair[states] = pairs[towards]
            pair[door] = exits[c]
    return pair


def members(part: Block, label: np.ndarray, stays: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
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


def inner_block(part: Block, states: np.ndarray, pairs: np.ndarray) -> Block:
    """The block of some states and pairs of a block (numbers, increasing), which no such pair leaves."""
    rows = part.rows.take(pairs)
    pair_ptr = np.append(0, np.searchsorted(pairs, part.pair_ptr[states + 1]))
    rows = rows._replace(succ=np.searchsorted(states, rows.succ).astype(np.int32))
    return Block(part.state[states], part.pair[pairs], pair_ptr, rows, part.reward[pairs], part.defect)
