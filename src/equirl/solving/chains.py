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

A policy *heads for* a set of states by playing everywhere the action most likely to step closer to it
(:func:`approach`). The set is reached with probability 1 from every state from which it can be reached at all, and it
is left only if its own states leave it. Such policies start policy iteration where another start would wander for ages.

Maximal *end components* are sets in which some policy can stay for ever and go from every state to every other. A
strongly connected set that no remaining pair leaves is one. Once found it is taken out: pairs that may enter it are
dropped, states left without a pair leave too, and so on backwards. What remains is searched again, first from the
states that have just lost a pair, for there new components appear; a search is given a few steps, then twice as many,
so that a long chain is taken apart in time near linear in the successors, not one full search per state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import scipy

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.reachability import reached
from equirl.model.rows import INDEX, Rows
from equirl.numerics.arrays import number_by_appearance, owners, read_only, starts
from equirl.numerics.compiling import kernel
from equirl.words.checking import flag

Found = TypeVar("Found")
FEW_PASSES = 4  # over all pairs, before what leads where is sorted
EXACT_SUM = 1e-14  # sums of rows this close to 1 are 1 but for rounding


class Model(NamedTuple):
    """An MDP of n states and m pairs as flat arrays, for kernels."""

    pair_ptr: np.ndarray  # (n + 1,) uint64
    rows: Rows  # of uint64, uint32, float64: unsigned, which spares a test for negative indices per access
    reward: np.ndarray  # (m,) float64
    defect: float  # how far from 1 a row sums at most


class Edges(NamedTuple):
    """A graph of n nodes; as a sparse matrix has them, whose names these are."""

    indptr: np.ndarray  # (n + 1,)
    indices: np.ndarray  # (edges,) those of node s lead to indices[indptr[s]:indptr[s + 1]]


class Block(NamedTuple):
    """Some states and some pairs of an MDP that no kept pair leaves, renumbered from 0: n states, m pairs."""

    state: np.ndarray  # (n,) their numbers in the MDP
    pair: np.ndarray  # (m,) their numbers in the MDP
    pair_ptr: np.ndarray  # (n + 1,)
    rows: Rows  # (m,) with successors in 0 .. n-1
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
        """The same arrays for kernels, read-only, for which these are compiled; nothing is copied."""
        ptr, succ, prob = self.rows
        rows = Rows(read_only(ptr.view(np.uint64)), read_only(succ.view(np.uint32)), read_only(prob))
        return Model(read_only(self.pair_ptr.view(np.uint64)), rows, read_only(self.reward), self.defect)

    @property
    def rounding(self) -> float:
        """How far T u may be from what is computed, relative to 1 + max |u|: a rounding per entry, and the defect."""
        widest = int(np.diff(self.rows.ptr).max())
        return (widest + 3) * float(np.finfo(float).eps) + self.defect

    def matrix(self) -> scipy.sparse.csr_array:
        """The transition probabilities as a sparse (m, n) matrix."""
        ptr, succ, prob = self.rows
        return scipy.sparse.csr_array((prob, succ, ptr), shape=(len(self.pair), self.n_states))

    @property
    def edges(self) -> Edges:
        """The edges s -> x over all actions, one twice where two actions have it."""
        return Edges(self.rows.ptr[self.pair_ptr], self.rows.succ)

    def graph(self) -> scipy.sparse.csr_array:
        """The edges s -> x over all actions, as a sparse (n, n) matrix."""
        ptr = self.rows.ptr[self.pair_ptr]
        edges = scipy.sparse.csr_array(
            (np.ones(len(self.rows.succ), np.int8), self.rows.succ.copy(), ptr), shape=(self.n_states,) * 2
        )
        edges.sum_duplicates()
        edges.data[:] = 1
        return edges


class Incoming(NamedTuple):
    """The pairs that may lead into each of n states, for searches backwards."""

    ptr: np.ndarray  # (n + 1,)
    pair: np.ndarray  # (nnz,) pairs into state x in ptr[x]:ptr[x + 1]
    owner: np.ndarray  # (m,) the state of each pair


def block(mdp: TabularMDP, states: np.ndarray, pairs: np.ndarray | None = None) -> Block:
    """The block of the ``states`` (a mask), and of the ``pairs`` (a mask; all of these states' pairs if not given)."""
    if pairs is None and states.all():
        return whole(mdp)
    keep = states[mdp.pairs.state]
    if pairs is not None:
        keep &= pairs
    local = np.cumsum(states) - 1
    entries = np.repeat(keep, np.diff(mdp.rows.ptr))
    per_state = np.bincount(local[mdp.pairs.state[keep]], minlength=int(states.sum()))
    row_ptr = starts(np.diff(mdp.rows.ptr)[keep])
    prob, defect = summing_to_one(mdp.rows.prob[entries], row_ptr)
    return Block(
        np.flatnonzero(states),
        np.flatnonzero(keep),
        starts(per_state),
        Rows(row_ptr, local[mdp.rows.succ[entries]].astype(np.int32), prob),
        mdp.r_mean[keep],
        defect,
    )


def summing_to_one(prob: np.ndarray, row_ptr: np.ndarray) -> tuple[np.ndarray, float]:
    """Rows divided by their sums where these are off by more than rounding, and how far from 1 a sum then is."""
    total = np.add.reduceat(prob, row_ptr[:-1])
    off = np.abs(total - 1)
    if off.max() <= EXACT_SUM:
        return prob, float(off.max())
    return prob / np.repeat(np.where(off > EXACT_SUM, total, 1.0), np.diff(row_ptr)), EXACT_SUM


def whole(mdp: TabularMDP) -> Block:
    """The block of all states, which shares the arrays of the MDP; looked up once."""
    return once(mdp, "_whole", _whole)


def once(mdp: TabularMDP, name: str, find: Callable[[TabularMDP], Found]) -> Found:
    """What ``find`` tells of an MDP, kept with it: an MDP never changes."""
    kept = vars(mdp)
    if name not in kept:
        kept[name] = find(mdp)
    return kept[name]


def _whole(mdp: TabularMDP) -> Block:
    prob, defect = summing_to_one(mdp.rows.prob, mdp.rows.ptr)
    every = np.arange(mdp.n_states, dtype=INDEX), np.arange(mdp.n_pairs, dtype=INDEX)
    return Block(*every, mdp.pairs.ptr, mdp.rows._replace(prob=prob), mdp.r_mean, defect)


def reachable_block(mdp: TabularMDP) -> Block:
    """The block of what can be reached from the initial distribution."""
    return once(mdp, "_reachable_block", lambda mdp: block(mdp, mdp.reachable()))


def reachable_kind(mdp: TabularMDP) -> str:
    """The kind of that block."""
    return once(mdp, "_reachable_kind", lambda mdp: block_kind(reachable_block(mdp)))


def decided(mdp: TabularMDP) -> np.ndarray:
    """(S,) mask of the reachable states and of those from which every policy enters them sooner or later.

    They share the optimal gain of the reachable part, where that has one. No action leaves them.
    """
    part = mdp.reachable()
    if part.all():
        return part
    everything = whole(mdp)
    trapped = ~attractor(everything, part)
    owner = np.repeat(everything.owner, np.diff(everything.rows.ptr))
    return ~reached(trapped, everything.rows.succ, owner)  # backwards: whatever may enter a trap is not decided


def chain_kind(mdp: TabularMDP, *, everywhere: bool = False) -> str:
    """The kind of the part of an MDP that can be reached from the initial distribution.

    One of "ergodic", "communicating", "weakly communicating" and "multichain" (:mod:`equirl.solving.chains`). Linear in
    the number of successors, but for "ergodic", which is near linear in practice and S times that at worst.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    everywhere : bool
        Whether to look at all states, reachable or not.

    Examples
    --------
    >>> chain_kind(TabularMDP.from_arrays([[[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]], [[0, 0], [0, 1]]))
    'communicating'
    """
    check_mdp(mdp)
    return block_kind(whole(mdp)) if flag("everywhere", everywhere) else reachable_kind(mdp)


def block_kind(part: Block) -> str:
    closed = closed_classes(part.edges)
    if closed.max() > 0:
        return "multichain"
    if (closed < 0).any():
        return "weakly communicating" if attractor(part, closed == 0).all() else "multichain"
    if _first_is_avoided(part.model, np.zeros(part.n_states, bool)):
        return "communicating"
    return "ergodic" if _every_policy_recurrent(incoming(part), np.diff(part.pair_ptr)) else "communicating"


@kernel
def _first_is_avoided(model: Model, inside: np.ndarray) -> bool:
    """Whether some policy is seen to avoid state 0 for ever, by a few passes over all pairs; ``inside`` is changed.

    A pass adds to the attractor of state 0, grown in ``inside``; where it adds nothing, all of it is found.
    """
    one, n = np.uint64(1), np.uint64(len(inside))
    inside[0] = True
    left = len(inside) - 1
    for _ in range(FEW_PASSES):
        before = left
        for s in range(n):
            if inside[s]:
                continue
            forced = True
            for k in range(model.pair_ptr[s], model.pair_ptr[s + one]):
                hit = False
                for j in range(model.rows.ptr[k], model.rows.ptr[k + one]):
                    hit |= inside[model.rows.succ[j]]
                if not hit:
                    forced = False
                    break
            if forced:
                inside[s] = True
                left -= 1
        if left == before:
            return left > 0
    return False


def closed_classes(graph: Edges | scipy.sparse.csr_array) -> np.ndarray:
    """(n,) the closed class of each state, numbered by first appearance; -1 for states outside all of them."""
    ptr = np.asarray(graph.indptr, np.int64)
    out = np.empty(len(ptr) - 1, np.int64)
    _closed_components(ptr, read_only(np.asarray(graph.indices, INDEX)), out)
    inside = np.flatnonzero(out >= 0)
    out[inside] = number_by_appearance(out[inside])
    return out


@kernel
def _closed_components(ptr: np.ndarray, succ: np.ndarray, label: np.ndarray) -> None:
    """``label``: the strong component of each state that no edge leaves, -1 for the others (Tarjan's search)."""
    n_states = len(label)
    number, low = np.zeros(n_states, np.int32), np.empty(n_states, np.int32)
    cursor, parent, stack = ptr[:-1].copy(), np.empty(n_states, np.int32), np.empty(n_states, np.int32)
    is_closed = np.ones(n_states, np.bool_)  # of the component whose first state this is
    label[:] = -1
    n_seen, n_stack = 0, 0
    for root in range(n_states):
        if number[root] > 0:
            continue
        s = root
        parent[s] = -1
        while s >= 0:
            if number[s] == 0:
                n_seen += 1
                number[s] = low[s] = n_seen
                stack[n_stack] = s
                n_stack += 1
            if cursor[s] < ptr[s + 1]:
                x = succ[cursor[s]]
                cursor[s] += 1
                if number[x] == 0:
                    parent[x] = s
                    s = x
                elif label[x] < 0:  # still on the stack
                    low[s] = min(low[s], number[x])
                continue
            if low[s] == number[s]:
                while True:
                    n_stack -= 1
                    label[stack[n_stack]] = s
                    if stack[n_stack] == s:
                        break
            elif parent[s] >= 0:
                low[parent[s]] = min(low[parent[s]], low[s])
            s = parent[s]
    for s in range(n_states):
        for j in range(ptr[s], ptr[s + 1]):
            if label[succ[j]] != label[s]:
                is_closed[label[s]] = False
    for s in range(n_states):
        if not is_closed[label[s]]:
            label[s] = -1


def incoming(part: Block) -> Incoming:
    """The pairs that may lead into each state of a block."""
    ptr = starts(np.bincount(part.rows.succ, minlength=part.n_states))
    pair = np.empty(len(part.rows.succ), INDEX)
    _arrive(part.model, ptr[:-1].copy(), pair)
    return Incoming(ptr, pair, part.owner)


@kernel
def _arrive(model: Model, place: np.ndarray, pair: np.ndarray) -> None:
    """Write each pair at the next ``place`` of every state that it may lead to."""
    rows = model.rows
    for k in range(np.uint64(len(model.reward))):
        for j in range(rows.ptr[k], rows.ptr[k + np.uint64(1)]):
            x = rows.succ[j]
            pair[place[x]] = k
            place[x] += 1


def attractor(part: Block, seed: np.ndarray) -> np.ndarray:
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
def _attract(arrivals: Incoming, goal: np.ndarray, growth: _Growth, n: int) -> tuple[int, bool]:
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
def _every_policy_recurrent(arrivals: Incoming, per_state: np.ndarray) -> bool:
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


def approach(part: Block, target: np.ndarray) -> np.ndarray | None:
    """(n,) the pair of each state most likely to step closer to the ``target`` (a mask); its own states': the first.

    None where some state cannot reach the target.
    """
    distance = steps_to(incoming(part), target)
    return None if (distance < 0).any() else closer_pairs(part, distance)


def steps_to(arrivals: Incoming, target: np.ndarray) -> np.ndarray:
    """(n,) least number of steps from each state to the ``target`` (a mask); -1 where there is no way."""
    distance = np.where(target, 0, -1)
    queue = np.empty(len(target), np.int64)
    first = np.flatnonzero(target)
    queue[: len(first)] = first
    _distances(arrivals, distance, queue, len(first))
    return distance


def closer_pairs(part: Block, distance: np.ndarray) -> np.ndarray:
    """(n,) the pair of each state most likely to decrease the ``distance``."""
    pair = np.zeros(part.n_states, np.int64)
    _approach(part.model, distance, pair)
    return pair


@kernel
def _distances(arrivals: Incoming, distance: np.ndarray, queue: np.ndarray, n: int) -> None:
    """``distance`` from the states in ``queue[:n]`` (where it is 0; elsewhere -1) backwards, breadth first."""
    i = 0
    while i < n:
        x = queue[i]
        i += 1
        for j in range(arrivals.ptr[x], arrivals.ptr[x + 1]):
            s = arrivals.owner[arrivals.pair[j]]
            if distance[s] < 0:
                distance[s], queue[n] = distance[x] + 1, s
                n += 1


@kernel
def _approach(model: Model, distance: np.ndarray, pair: np.ndarray) -> None:
    one, rows = np.uint64(1), model.rows
    for s in range(np.uint64(len(pair))):
        most = -1.0
        for k in range(model.pair_ptr[s], model.pair_ptr[s + one]):
            closer = 0.0
            for j in range(rows.ptr[k], rows.ptr[k + one]):
                if distance[rows.succ[j]] < distance[s]:
                    closer += rows.prob[j]
            if closer > most:
                most, pair[s] = closer, k


FIRST_STEPS = 64  # of a search, before others are tried
MOST_STARTS = 16  # states that are searched from in turn


class _Graph(NamedTuple):
    first: np.ndarray  # (n + 1,) entries of each state
    pair: np.ndarray  # (nnz,) the pair of each entry
    succ: np.ndarray  # (nnz,)
    into: Incoming  # pairs that may enter each state


class _Remaining(NamedTuple):
    live: np.ndarray  # (m,) whether a pair is still there
    n_live: np.ndarray  # (n,) how many pairs a state still has; -1 once it is taken out
    touched: np.ndarray  # (n,) states that lost a pair, the latest last
    is_touched: np.ndarray  # (n,) mask of the same
    queue: np.ndarray  # (n,)


class _Search(NamedTuple):
    number: np.ndarray  # (n,) 1, 2, ... in the order of discovery, 0: not seen
    low: np.ndarray  # (n,) the smallest number known to be reached
    cursor: np.ndarray  # (n,) the next entry to follow
    parent: np.ndarray  # (n,)
    seen: np.ndarray  # (n,) states in the order of discovery


def end_components(part: Block, pairs: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The component of each state (-1 for none), numbered by smallest state, and the mask of the pairs that stay in.

    Of the ``pairs`` alone (a mask), where they are given.
    """
    n, m = part.n_states, len(part.pair)
    entry_pair = owners(part.rows.ptr)
    graph = _Graph(part.rows.ptr[part.pair_ptr], entry_pair, read_only(part.rows.succ), incoming(part))
    live = np.ones(m, bool) if pairs is None else pairs.copy()
    counts = np.bincount(part.owner[live], minlength=n)
    rest = _Remaining(live, counts, np.empty(n, np.int64), np.zeros(n, bool), np.empty(n, np.int64))
    label = np.full(n, -1)
    _remove(graph, rest, np.flatnonzero(counts == 0), 0)
    rest.is_touched[:] = False
    _take_apart(graph, rest, _Search(*np.zeros((5, n), np.int64)), label)
    member = np.flatnonzero(label >= 0)
    label[member] = number_by_appearance(label[member])
    inner = label[graph.into.owner[graph.pair]] == label[graph.succ]
    stays = (label[graph.into.owner] >= 0) & (True if pairs is None else pairs)
    stays[graph.pair[~inner]] = False
    return label, stays


@kernel
def _take_apart(graph: _Graph, rest: _Remaining, search: _Search, label: np.ndarray) -> None:
    """Find components one after the other and write their numbers into ``label``."""
    n_touched, n_found, next_state, steps = 0, 0, 0, FIRST_STEPS
    n_states = len(label)
    while True:
        while n_touched > 0 and rest.n_live[rest.touched[n_touched - 1]] < 0:
            n_touched -= 1
        while next_state < n_states and rest.n_live[next_state] < 0:
            next_state += 1
        if next_state == n_states:
            return
        first, n, tried = -1, 0, 0
        while first < 0:
            s, allowed = next_state, 1 << 62
            if tried < min(MOST_STARTS, n_touched):
                s, allowed = rest.touched[n_touched - 1 - tried], steps
            elif n_touched > 0 and steps < len(graph.succ):
                tried, steps = 0, 2 * steps
                continue
            tried += 1
            if rest.n_live[s] >= 0:
                first, n = _bottom(graph, rest, search, s, allowed)
                for i in range(n):
                    search.number[search.seen[i]] = 0
        for i in range(first, n):
            label[search.seen[i]] = n_found
        n_found += 1
        steps = FIRST_STEPS
        n_touched = _remove(graph, rest, search.seen[first:n], n_touched)


@kernel
def _bottom(graph: _Graph, rest: _Remaining, search: _Search, start: int, allowed: int) -> tuple[int, int]:
    """Tarjan's search from ``start`` up to the first component it completes, which nothing leaves.

    Returns (i, n): the component is ``seen[i:n]``; i is -1 where more than ``allowed`` entries were looked at.
    """
    number, low, cursor, parent, seen = search
    n, s = 1, start
    number[s], low[s], cursor[s], parent[s], seen[0] = 1, 1, graph.first[s], -1, s
    while True:
        if cursor[s] < graph.first[s + 1]:
            allowed -= 1
            if allowed < 0:
                return -1, n
            j = cursor[s]
            cursor[s] += 1
            if not rest.live[graph.pair[j]]:
                continue
            x = graph.succ[j]
            if number[x] == 0:
                seen[n] = x
                n += 1
                number[x], low[x], cursor[x], parent[x] = n, n, graph.first[x], s
                s = x
            else:
                low[s] = min(low[s], number[x])
        elif low[s] == number[s]:
            return number[s] - 1, n
        else:
            low[parent[s]] = min(low[parent[s]], low[s])
            s = parent[s]


@kernel
def _remove(graph: _Graph, rest: _Remaining, states: np.ndarray, n_touched: int) -> int:
    """Take the ``states`` out, and all that then has no pair left; returns the new number of touched states."""
    n = 0
    for s in states:
        rest.n_live[s] = -1
        rest.queue[n] = s
        n += 1
    i = 0
    while i < n:
        x = rest.queue[i]
        i += 1
        for j in range(graph.into.ptr[x], graph.into.ptr[x + 1]):
            k = graph.into.pair[j]
            s = graph.into.owner[k]
            if not rest.live[k] or rest.n_live[s] < 0:
                continue
            rest.live[k] = False
            rest.n_live[s] -= 1
            if rest.n_live[s] == 0:
                rest.n_live[s] = -1
                rest.queue[n] = s
                n += 1
            elif not rest.is_touched[s]:
                rest.is_touched[s] = True
                rest.touched[n_touched] = s
                n_touched += 1
    return n_touched
