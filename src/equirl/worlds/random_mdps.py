"""Random MDPs: without structure (Garnet), and with a planted equivalence structure.

Both are communicating: one action of every state (drawn at random) may lead to the next state on a random cycle
through all states.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.pairs import MOST_PAIRS, MOST_STATES, Pairs
from equirl.model.rows import rows_from_table, rows_from_triplets
from equirl.numerics.arrays import sealed
from equirl.words.checking import between, choice, whole_number

REWARDS = ("class", "pair")
TRIES = 12
MOST_PARTITIONS = 20_000


def garnet(
    n_states: int = 20, n_actions: int = 4, branching: int = 3, sparsity: float = 0.5, seed: int = 0
) -> TabularMDP:
    """A Garnet MDP: each pair leads to a few random states with uniformly random probabilities.

    Parameters
    ----------
    n_states, n_actions : int
        The number of states, and of actions in each.
    branching : int, default 3
        How many states each pair leads to.
    sparsity : float, default 0.5
        The fraction of pairs that pay nothing; the others (at least one) pay a uniformly random mean.
    seed : int, default 0
        Where all this comes from.
    """
    n_states, n_actions = _sizes(n_states, n_actions)
    branching = whole_number("branching", branching, least=1, most=n_states)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    succ = _successors(rng, n_states, n_actions, branching)
    prob = rng.standard_exponential(succ.size)
    table = prob.reshape(succ.shape)
    table /= table.sum(axis=1, keepdims=True)
    means = np.zeros(len(succ))
    paying = rng.permutation(len(succ))[: max(1, round((1 - between("sparsity", sparsity)) * len(succ)))]
    means[paying] = rng.random(len(paying))
    return _assemble(n_actions, succ, prob, means)


def planted(
    n_states: int = 20,
    n_actions: int = 4,
    n_classes: int = 5,
    support: int = 4,
    separation: float = 0.2,
    rewards: str = "class",
    seed: int = 0,
) -> TabularMDP:
    """An MDP whose pairs fall into classes of nearly equal sizes, drawn at random.

    Each pair arranges the profile of its class on random states.

    Parameters
    ----------
    n_states, n_actions : int
        The number of states, and of actions in each.
    n_classes : int, default 5
        The number of classes.
    support : int, default 4
        How many successors a pair has at most.
    separation : float, default 0.2
        The L1 distance of the two closest profiles.
    rewards : {"class", "pair"}
        One random mean per class, so that classes with and without rewards agree; or one per pair.
    seed : int, default 0
        Where all this comes from.

    Raises
    ------
    ValueError
        If no profiles so far apart were found.
    """
    n_states, n_actions = _sizes(n_states, n_actions)
    n_classes = whole_number("n_classes", n_classes, least=1, most=n_states * n_actions)
    support = whole_number("support", support, least=1, most=n_states)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    profiles = _separated_profiles(rng, n_classes, support, between("separation", separation, most=2.0))
    label = rng.permutation(np.arange(n_states * n_actions) % n_classes)
    succ = _successors(rng, n_states, n_actions, support)
    means = rng.random(n_classes)[label]
    if choice("rewards", rewards, REWARDS) == "pair":
        means = rng.random(len(label))
    return _assemble(n_actions, succ, profiles[label].ravel(), means)


def _sizes(n_states: int, n_actions: int) -> tuple[int, int]:
    n_states = whole_number("n_states", n_states, most=MOST_STATES)
    return n_states, whole_number("n_actions", n_actions, most=MOST_PAIRS // n_states)


def _assemble(n_actions: int, succ: np.ndarray, prob: np.ndarray, means: np.ndarray) -> TabularMDP:
    pairs = Pairs.uniform(len(succ) // n_actions, n_actions)
    if prob.all():
        rows = rows_from_table(succ.ravel(), prob, succ.shape[1])
    else:
        rows = rows_from_triplets(pairs, np.repeat(np.arange(len(succ)), succ.shape[1]), succ.ravel(), prob)
    initial = np.zeros(pairs.n_states)
    initial[0] = 1.0
    return TabularMDP(pairs, rows, sealed(means), sealed(initial))


def _successors(rng: np.random.Generator, n_states: int, n_actions: int, size: int) -> np.ndarray:
    """(M, size) distinct random states for each pair; first of one pair of each state, the next on a random cycle."""
    n_pairs = n_states * n_actions
    if 4 * size > n_states:
        succ = rng.permuted(np.tile(np.arange(n_states), (n_pairs, 1)), axis=1)[:, :size]
    else:
        succ = _sample_without_replacement(rng, n_pairs, n_states, size)
    cycle = rng.permutation(n_states)
    following = np.empty(n_states, np.int64)
    following[cycle] = np.roll(cycle, -1)
    pair = np.arange(n_states) * n_actions + rng.integers(n_actions, size=n_states)
    where = succ[pair] == following[:, None]
    place = np.where(where.any(axis=1), where.argmax(axis=1), 0)
    succ[pair, place] = succ[pair, 0]
    succ[pair, 0] = following
    return succ


def _sample_without_replacement(rng: np.random.Generator, n_rows: int, limit: int, size: int) -> np.ndarray:
    """(n_rows, size) numbers below ``limit``, distinct in each row, in random order (Floyd's algorithm)."""
    chosen = np.empty((n_rows, size), np.int64)
    for k in range(size):
        last = limit - size + k
        drawn = rng.integers(last + 1, size=n_rows)
        taken = (chosen[:, :k] == drawn[:, None]).any(axis=1)
        chosen[:, k] = np.where(taken, last, drawn)
    return rng.permuted(chosen, axis=1, out=chosen)


def _separated_profiles(rng: np.random.Generator, n_classes: int, support: int, separation: float) -> np.ndarray:
    """(n_classes, support) profiles, the two closest ``separation`` apart.

    Profiles further apart than asked are drawn towards their mean: profiles are a convex set, and L1 distances
    shrink with the same factor.
    """
    if n_classes == 1:
        return -np.sort(-rng.dirichlet(np.ones(support), 1))
    if separation == 0:
        raise ValueError("separation must be positive: classes with equal profiles are one class")
    best = 0.0
    for profiles in _candidates(rng, n_classes, support, separation):
        found = _least_distance(profiles)
        if found >= separation * (1 - 1e-12):
            shrink = min(1.0, separation / found)
            return shrink * profiles + (1 - shrink) * profiles.mean(axis=0)
        best = max(best, found)
    raise ValueError(
        f"found no {n_classes} profiles on {support} successors that are {separation:g} apart (at best {best:.2g}); "
        "lower separation or n_classes, or raise support"
    )


def _candidates(rng: np.random.Generator, n_classes: int, support: int, separation: float) -> Iterator[np.ndarray]:
    """Random profiles; then, of many, those far from each other; then multiples of 1/N with N = 2/separation."""
    for _ in range(TRIES):
        yield -np.sort(-rng.dirichlet(np.ones(support), n_classes))
    corners = np.tril(np.ones((support, support))) / np.arange(1, support + 1)[:, None]
    for _ in range(TRIES):
        pool = rng.dirichlet(np.ones(support), 20 * n_classes)  # mixtures of the corners: uniform on profiles
        yield _far_apart(rng, np.concatenate([corners, pool @ corners]), n_classes)
    grains = int(2 / separation + 1e-9)
    parts = min(support, grains)
    lattice = np.array(list(_partitions(grains, parts, grains, MOST_PARTITIONS)), dtype=float)
    if grains and len(lattice) >= n_classes:
        yield np.pad(rng.permutation(lattice)[:n_classes] / grains, ((0, 0), (0, support - parts)))


def _far_apart(rng: np.random.Generator, pool: np.ndarray, size: int) -> np.ndarray:
    """``size`` points of the pool: a random one, then always the one farthest from those taken."""
    chosen = [int(rng.integers(len(pool)))]
    distance = np.abs(pool - pool[chosen[0]]).sum(axis=1)
    while len(chosen) < size:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.abs(pool - pool[chosen[-1]]).sum(axis=1))
    return pool[chosen]


def _least_distance(points: np.ndarray) -> float:
    from scipy.spatial.distance import pdist

    return float(pdist(points, "cityblock").min())


def _partitions(total: int, parts: int, largest: int, limit: int) -> Iterator[tuple[int, ...]]:
    """The first ``limit`` ways to write ``total`` as ``parts`` numbers that do not increase from ``largest``."""
    if parts == 0:
        if total == 0:
            yield ()
        return
    count = 0
    for first in range(min(total, largest), -(-total // parts) - 1, -1):
        for rest in _partitions(total - first, parts - 1, first, limit - count):
            yield (first, *rest)
            count += 1
            if count >= limit:
                return
