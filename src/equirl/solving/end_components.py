"""Maximal end components: sets in which some policy can stay for ever and go from every state to every other.

A strongly connected set that no remaining pair leaves is one. Once found it is taken out: pairs that may enter it are
dropped, states left without a pair leave too, and so on backwards. What remains is searched again, first from the
states that have just lost a pair, for there new components appear; a search is given a few steps, then twice as many,
so that a long chain is taken apart in time near linear in the successors, not one full search per state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.arrays import number_by_appearance, owners
from equirl.numerics.compiling import kernel
from equirl.solving.chains import Arrivals, Block, incoming

FIRST_STEPS = 64  # of a search, before others are tried
MOST_STARTS = 16  # states that are searched from in turn


class _Graph(NamedTuple):
    first: np.ndarray  # (n + 1,) entries of each state
    pair: np.ndarray  # (nnz,) the pair of each entry
    succ: np.ndarray  # (nnz,)
    into: Arrivals  # pairs that may enter each state


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


def end_components(part: Block) -> tuple[np.ndarray, np.ndarray]:
    """The component of each state (-1 for none), numbered by smallest state, and the mask of the pairs that stay in."""
    n, m = part.n_states, len(part.pair)
    entry_pair = owners(part.row_ptr)
    graph = _Graph(part.row_ptr[part.pair_ptr], entry_pair, part.succ, incoming(part))
    counts = np.diff(part.pair_ptr)
    rest = _Remaining(np.ones(m, bool), counts, np.empty(n, np.int64), np.zeros(n, bool), np.empty(n, np.int64))
    label = np.full(n, -1)
    _take_apart(graph, rest, _Search(*np.zeros((5, n), np.int64)), label)
    member = np.flatnonzero(label >= 0)
    label[member] = number_by_appearance(label[member])
    inner = label[graph.into.owner[graph.pair]] == label[graph.succ]
    stays = label[graph.into.owner] >= 0
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
