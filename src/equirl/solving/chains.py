"""The structure of an MDP's graph: what can be reached, what can be avoided, and the kind of chain that follows.

An edge s -> x means p(x | s, a) > 0 for some action a. Two ideas decide every kind, both in time linear in the edges:

- a *closed class* is a strongly connected component that no action leaves;
- the *attractor* of a set X holds the states from which X cannot be avoided: every action of theirs steps into the
  attractor with positive probability. States outside it form a *trap*: some policy stays there for ever.

An MDP is (Puterman, chapter 8)

- ``ergodic`` when under every deterministic policy every state is visited again and again (chains may be periodic);
- ``communicating`` when every state can be reached from every other one under some policy;
- ``weakly communicating`` when it has one closed class and every policy leaves the other states for ever;
- ``multichain`` otherwise. Only then may the optimal gain depend on where one starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.reachability import reached
from equirl.numerics.arrays import number_by_appearance, owners, starts
from equirl.numerics.compiling import kernel
from equirl.solving.bellman import Model
from equirl.words.checking import flag

EXACT_SUM = 1e-14  # sums of rows this close to 1 are 1 but for rounding


class Block(NamedTuple):
    """Some states and some pairs of an MDP that no kept pair leaves, renumbered from 0: n states, m pairs."""

    state: np.ndarray  # (n,) their numbers in the MDP
    pair: np.ndarray  # (m,) their numbers in the MDP
    pair_ptr: np.ndarray  # (n + 1,)
    row_ptr: np.ndarray  # (m + 1,)
    succ: np.ndarray  # (nnz,) in 0 .. n-1
    prob: np.ndarray  # (nnz,)
    reward: np.ndarray  # (m,)
    defect: float  # how far from 1 a row sums at most; rows mean their entries divided by their sum

    @property
    def n_states(self) -> int:
        return len(self.state)

    @property
    def owner(self) -> np.ndarray:
        """(m,) the state of each pair, in 0 .. n-1."""
        return owners(self.pair_ptr)

    @property
    def model(self) -> Model:
        """The same arrays for kernels; nothing is copied."""
        return Model(
            self.pair_ptr.view(np.uint64), self.row_ptr.view(np.uint64), self.succ.view(np.uint32),
            self.prob, self.reward, self.defect,
        )  # fmt: skip

    @property
    def rounding(self) -> float:
        """How far T u may be from what is computed, relative to 1 + max |u|: a rounding per entry, and the defect."""
        widest = int(np.diff(self.row_ptr).max())
        return (widest + 3) * float(np.finfo(float).eps) + self.defect

    def matrix(self) -> scipy.sparse.csr_array:
        """The transition probabilities as a sparse (m, n) matrix."""
        return scipy.sparse.csr_array((self.prob, self.succ, self.row_ptr), shape=(len(self.pair), self.n_states))

    def graph(self) -> scipy.sparse.csr_array:
        """The edges s -> x over all actions, as a sparse (n, n) matrix."""
        ptr = self.row_ptr[self.pair_ptr]
        edges = scipy.sparse.csr_array(
            (np.ones(len(self.succ), np.int8), self.succ.copy(), ptr), shape=(self.n_states,) * 2
        )
        edges.sum_duplicates()
        edges.data[:] = 1
        return edges


class Arrivals(NamedTuple):
    """The pairs that may lead into each of n states, for searches backwards."""

    ptr: np.ndarray  # (n + 1,)
    pair: np.ndarray  # (nnz,) pairs into state x in ptr[x]:ptr[x + 1]
    owner: np.ndarray  # (m,) the state of each pair


def block(mdp: TabularMDP, states: np.ndarray, pairs: np.ndarray | None = None) -> Block:
    """The block of the ``states`` (a mask), and of the ``pairs`` (a mask; all of these states' pairs if not given)."""
    keep = states[mdp.pairs.state]
    if pairs is not None:
        keep &= pairs
    local = np.cumsum(states) - 1
    entries = np.repeat(keep, np.diff(mdp.rows.ptr))
    per_state = np.bincount(local[mdp.pairs.state[keep]], minlength=int(states.sum()))
    row_ptr = starts(np.diff(mdp.rows.ptr)[keep])
    prob, defect = _summing_to_one(mdp.rows.prob[entries], row_ptr)
    return Block(
        np.flatnonzero(states),
        np.flatnonzero(keep),
        starts(per_state),
        row_ptr,
        local[mdp.rows.succ[entries]].astype(np.int32),
        prob,
        mdp.r_mean[keep],
        defect,
    )


def _summing_to_one(prob: np.ndarray, row_ptr: np.ndarray) -> tuple[np.ndarray, float]:
    """Rows divided by their sums where these are off by more than rounding, and how far from 1 a sum then is."""
    total = np.add.reduceat(prob, row_ptr[:-1])
    off = np.abs(total - 1)
    if off.max() <= EXACT_SUM:
        return prob, float(off.max())
    return prob / np.repeat(np.where(off > EXACT_SUM, total, 1.0), np.diff(row_ptr)), EXACT_SUM


def whole(mdp: TabularMDP) -> Block:
    """The block of everything."""
    return block(mdp, np.ones(mdp.n_states, bool))


def decided(mdp: TabularMDP) -> np.ndarray:
    """(S,) mask of the reachable states and of those from which every policy enters them sooner or later.

    They share the optimal gain of the reachable part, where that has one. No action leaves them.
    """
    part = mdp.reachable()
    if part.all():
        return part
    everything = whole(mdp)
    trapped = ~_attractor(everything, part)
    owner = np.repeat(everything.owner, np.diff(everything.row_ptr))
    return ~reached(trapped, everything.succ, owner)  # backwards: whatever may enter a trap is not decided


def chain_kind(mdp: TabularMDP, *, everywhere: bool = False) -> str:
    """The kind of the part of an MDP that can be reached from the initial distribution; the module tells the kinds.

    Linear in the number of successors, but for "ergodic", which is near linear in practice and S times that at worst.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    everywhere : bool
        Whether to look at all states, reachable or not.

    Returns
    -------
    str
        "ergodic", "communicating", "weakly communicating" or "multichain".

    Examples
    --------
    >>> chain_kind(TabularMDP.from_arrays([[[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]], [[0, 0], [0, 1]]))
    'communicating'
    """
    check_mdp(mdp)
    return block_kind(whole(mdp) if flag("everywhere", everywhere) else block(mdp, mdp.reachable()))


def block_kind(part: Block) -> str:
    """:func:`chain_kind` of a block."""
    closed = closed_classes(part.graph())
    if closed.max() > 0:
        return "multichain"
    if not _attractor(part, closed == 0).all():
        return "multichain"
    if (closed < 0).any():
        return "weakly communicating"
    return "ergodic" if _every_policy_recurrent(incoming(part), np.diff(part.pair_ptr)) else "communicating"


def closed_classes(graph: scipy.sparse.csr_array) -> np.ndarray:
    """(n,) the closed class of each state, numbered by first appearance; -1 for states outside all of them."""
    _, label = scipy.sparse.csgraph.connected_components(graph, directed=True, connection="strong")
    source = owners(graph.indptr)
    leaves = label[source] != label[graph.indices]
    is_open = np.zeros(label.max() + 1, bool)
    is_open[label[source[leaves]]] = True
    out = np.full(len(label), -1)
    inside = np.flatnonzero(~is_open[label])
    out[inside] = number_by_appearance(label[inside])
    return out


def incoming(part: Block) -> Arrivals:
    """The pairs that may lead into each state of a block."""
    columns = part.matrix().tocsc()
    return Arrivals(columns.indptr.astype(np.int64), columns.indices.astype(np.int64), part.owner)


def _attractor(part: Block, seed: np.ndarray) -> np.ndarray:
    """(n,) mask of the states from which no policy avoids the ``seed`` for sure."""
    inside = seed.copy()
    queue = np.empty(part.n_states, np.int64)
    n_seed = int(seed.sum())
    queue[:n_seed] = np.flatnonzero(seed)
    never = np.zeros(part.n_states, bool)
    growth = _Growth(inside, np.diff(part.pair_ptr), np.zeros(len(part.pair), bool), queue)
    _attract(incoming(part), never, growth, n_seed)
    return inside


class _Growth(NamedTuple):
    inside: np.ndarray  # (n,) mask of the set so far
    left: np.ndarray  # (n,) pairs of each state that miss it
    hit: np.ndarray  # (m,) mask of the pairs that do not
    queue: np.ndarray  # (n,) its states, in the order in which they came


@kernel
def _attract(arrivals: Arrivals, goal: np.ndarray, growth: _Growth, n: int) -> tuple[int, bool]:
    """Grow the set ``queue[:n]`` by states with no pair ``left`` that misses it; stop at a state of ``goal``."""
    inside, left, hit, queue = growth
    i = 0
    while i < n:
        x = queue[i]
        i += 1
        for j in range(arrivals.ptr[x], arrivals.ptr[x + 1]):
            k = arrivals.pair[j]
            if hit[k]:
                continue
            hit[k] = True
            s = arrivals.owner[k]
            left[s] -= 1
            if left[s] == 0 and not inside[s]:
                inside[s] = True
                queue[n] = s
                n += 1
                if goal[s]:
                    return n, True
    return n, False


@kernel
def _every_policy_recurrent(arrivals: Arrivals, per_state: np.ndarray) -> bool:
    """Whether no policy avoids any state: the attractor of each state is everything.

    A state whose attractor holds one already found to attract everything does so too, which ends most searches early.
    """
    ptr, pair, owner = arrivals
    S = len(per_state)
    good, inside = np.zeros(S, np.bool_), np.zeros(S, np.bool_)
    hit, left, queue = np.zeros(len(owner), np.bool_), per_state.copy(), np.empty(S, np.int64)
    growth = _Growth(inside, left, hit, queue)
    for target in range(S):
        queue[0] = target
        inside[target] = True
        n, met = _attract(arrivals, good, growth, len(queue[:1]))  # a literal compiles anew
        if n < S and not met:
            return False
        good[target] = True
        for i in range(n):
            inside[queue[i]] = False
            for j in range(ptr[queue[i]], ptr[queue[i] + 1]):
                hit[pair[j]] = False
                left[owner[pair[j]]] = per_state[owner[pair[j]]]
    return True
