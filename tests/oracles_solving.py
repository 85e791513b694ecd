"""Slow, obvious answers for known MDPs: every deterministic policy in turn, dense linear algebra, graphs by powers."""

from __future__ import annotations

import itertools

import numpy as np

from equirl.model.mdp import TabularMDP


def random_mdp(rng: np.random.Generator, n_states: int, max_actions: int = 3, branching: int = 3) -> TabularMDP:
    """Random sparse laws; the number of actions differs by state and action ids have gaps."""
    pairs = []
    for s in range(n_states):
        ids = np.sort(rng.choice(2 * max_actions, int(rng.integers(1, max_actions + 1)), replace=False))
        for a in ids:
            succ = rng.choice(n_states, min(n_states, int(rng.integers(1, branching + 1))), replace=False)
            law = dict(zip(succ.tolist(), rng.dirichlet(np.ones(len(succ))).tolist(), strict=True))
            pairs.append((s, int(a), law, float(rng.random())))
    return TabularMDP.from_pairs(pairs, n_states)


def dense_mdp(rng: np.random.Generator, n_states: int, n_actions: int) -> TabularMDP:
    """Random laws with every successor: ergodic."""
    laws = rng.dirichlet(np.ones(n_states), size=(n_states, n_actions))
    return TabularMDP.from_arrays(laws, rng.random((n_states, n_actions)))


def policies(mdp: TabularMDP):
    """Every deterministic policy, as the pair played in each state."""
    ptr = mdp.pairs.ptr
    return map(np.array, itertools.product(*(range(ptr[s], ptr[s + 1]) for s in range(mdp.n_states))))


def dense_laws(mdp: TabularMDP) -> np.ndarray:
    out = np.zeros((mdp.n_pairs, mdp.n_states))
    out[np.repeat(np.arange(mdp.n_pairs), np.diff(mdp.rows.ptr)), mdp.rows.succ] = mdp.rows.prob
    return out


def limit_matrix(chain: np.ndarray) -> np.ndarray:
    """The Cesaro limit of the powers of a chain: the lazy chain has the same one, as its plain limit."""
    lazy = (chain + np.eye(len(chain))) / 2
    for _ in range(60):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return lazy


def stationary_by_eigenvector(chain: np.ndarray) -> np.ndarray:
    """The stationary law of a chain with one recurrent class, by least squares."""
    n = len(chain)
    system = np.vstack([chain.T - np.eye(n), np.ones((1, n))])
    return np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]


def best_gain(mdp: TabularMDP) -> np.ndarray:
    """(S,) optimal gain from each state, by brute force over policies."""
    laws = dense_laws(mdp)
    return np.max([limit_matrix(laws[pair]) @ mdp.r_mean[pair] for pair in policies(mdp)], axis=0)


def reach(chain: np.ndarray) -> np.ndarray:
    """(n, n) whether x can be reached from s, in any number of steps (0 included)."""
    out = (chain > 0) | np.eye(len(chain), dtype=bool)
    for _ in range(len(chain)):
        out = out @ out
    return out


def recurrent_sets(chain: np.ndarray) -> set[frozenset[int]]:
    to = reach(chain)
    back = [s for s in range(len(chain)) if all(to[x, s] for x in np.flatnonzero(to[s]))]
    return {frozenset(np.flatnonzero(to[s]).tolist()) for s in back}


def kind_by_definition(mdp: TabularMDP) -> str:
    """The kind of the whole MDP, from every policy's recurrent sets."""
    laws, everything = dense_laws(mdp), frozenset(range(mdp.n_states))
    all_sets = [recurrent_sets(laws[pair]) for pair in policies(mdp)]
    if all(sets == {everything} for sets in all_sets):
        return "ergodic"
    union = np.zeros((mdp.n_states, mdp.n_states))
    np.add.at(union, mdp.pairs.state, laws)
    closed = recurrent_sets(union)
    if closed == {everything}:
        return "communicating"
    ever_recurrent = frozenset().union(*(c for sets in all_sets for c in sets))
    return "weakly communicating" if closed == {ever_recurrent} else "multichain"


def hitting_times(mdp: TabularMDP, target: int, sweeps: int = 20_000) -> np.ndarray:
    """(S,) least expected times to the target, by plain value iteration."""
    laws, times = dense_laws(mdp), np.zeros(mdp.n_states)
    for _ in range(sweeps):
        times = np.minimum.reduceat(1 + laws @ times, mdp.pairs.ptr[:-1])
        times[target] = 0.0
    return times


def two_ends(gain_1: float = 1.0, gain_2: float = 0.0, **extras) -> TabularMDP:
    """A start that leads to one of two absorbing states."""
    first = [(0, 0, {1: 1.0}, 0.0), (0, 1, {2: 1.0}, 0.0)]
    return TabularMDP.from_pairs([*first, (1, 0, {1: 1.0}, gain_1), (2, 0, {2: 1.0}, gain_2)], 3, **extras)


def cycle(n: int) -> TabularMDP:
    """A deterministic cycle that pays once a round: periodic, gain 1 / n."""
    return TabularMDP.from_pairs([(s, 0, {(s + 1) % n: 1.0}, float(s == 0)) for s in range(n)], n)


def sticky_pair(rare: float) -> TabularMDP:
    """Two states left with probabilities ``rare`` and twice that, of which the second pays: gain 1 / 3."""
    return TabularMDP.from_arrays([[[1 - rare, rare]], [[2 * rare, 1 - 2 * rare]]], [[0.0], [1.0]])


def sticky_rooms(rng: np.random.Generator, size: int, rare: float) -> TabularMDP:
    """Two rooms of states that mix at once, crossed with probabilities of order ``rare``; two actions."""
    laws = np.zeros((2 * size, 2, 2 * size))
    for a, first in itertools.product(range(2), (0, size)):
        room, other = slice(first, first + size), slice(size - first, 2 * size - first)
        laws[room, a, room] = rng.dirichlet(np.ones(size), size) * (1 - rare)
        laws[room, a, other] = rare * rng.dirichlet(np.ones(size), size)
        rare *= 1.5
    return TabularMDP.from_arrays(laws / laws.sum(axis=2, keepdims=True), rng.random((2 * size, 2)))


def restarting_chain(n: int, restart: float) -> TabularMDP:
    """A chain walked forward, at each state with a rare restart or slowly without one; the last state pays."""
    fast = [(s, 0, {(s + 1) % n: 1 - restart, 0: restart}, float(s == n - 1)) for s in range(n - 1)]
    slow = [(s, 1, {s + 1: 0.5, s: 0.5}, 0.0) for s in range(n - 1)]
    return TabularMDP.from_pairs([*fast, *slow, (n - 1, 0, {0: 1.0}, 1.0)], n)


def best_discounted(mdp: TabularMDP, discount: float) -> np.ndarray:
    """(S,) optimal discounted values, by brute force over policies."""
    laws, eye = dense_laws(mdp), np.eye(mdp.n_states)
    values = [np.linalg.solve(eye - discount * laws[pair], mdp.r_mean[pair]) for pair in policies(mdp)]
    return np.max(values, axis=0)
