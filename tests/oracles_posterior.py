"""The posterior of classes by enumeration: all partitions of a few pairs, all ways in which successors correspond.

A structure is a set of classes, each its pairs and its positions; a position is the set of successors (pair, number)
that stand there, at most one of each pair. Its weight, with N_j the counts at position j of a class and N their sum, is

    alpha^classes prod over classes (members - 1)!
        *  prod over classes [ gamma^positions prod Gamma(N_j)  *  Gamma(gamma) / Gamma(gamma + N) ].

``without`` leaves a factor out, to see whether a test would notice.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import special, stats

from equirl.estimation.counts import Snapshot
from equirl.posterior.class_sampler import make_scratch, resample_range
from equirl.posterior.class_state import carry_over, empty_state


def snapshot(counts, n_states=None, rewards=None):
    """Counts of successors by pair as a snapshot; successors are the states 0, 1, ..."""
    sizes = [len(row) for row in counts]
    succ = np.array([x for n in sizes for x in range(n)], np.int32)
    flat = np.array([n for row in counts for n in row], np.int64)
    visits = np.array([sum(row) for row in counts], np.int64)
    r_sum = np.zeros(len(counts)) if rewards is None else np.array(rewards, float)
    return Snapshot(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), succ, flat, visits, r_sum, r_sum.copy())


def resample_pairs(rng, first, only_new, fixed, seen, state, scratch, step=resample_range):
    """A step for the class and injection of every visited pair from ``first`` on; where it stopped, and the work."""
    return step(rng, first, len(state.label), only_new, fixed, seen, state, scratch)


def workspace(seen, alpha=1.0, gamma=1.0, pair_ptr=None, eta=math.inf):
    """State and scratch of the sampler for these counts; nobody has a class yet. Each pair has a state of its own."""
    pair_ptr = np.arange(len(seen.visits) + 1) if pair_ptr is None else np.array(pair_ptr)
    state = carry_over(empty_state(pair_ptr, alpha, gamma, eta), None, seen)
    return state, make_scratch(len(seen.visits), int(np.diff(seen.ptr).max()), 4 * len(seen.succ) + 8)


def partitions(items):
    """All partitions of a list, each a list of lists."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i, block in enumerate(rest):
            yield [*rest[:i], [items[0], *block], *rest[i + 1 :]]


def correspondences(members, counts):
    """All sets of positions for the successors of some pairs, at most one successor of a pair at each."""
    placed = [[]]
    for k in members:
        for i in range(len(counts[k])):
            placed = [more for positions in placed for more in _with(positions, (k, i))]
    return placed


def _with(positions, item):
    for j, position in enumerate(positions):
        if all(k != item[0] for k, _ in position):
            yield [*positions[:j], [*position, item], *positions[j + 1 :]]
    yield [*positions, [item]]


def class_weight(positions, counts, gamma, without=""):
    """Log weight of the successors of one class at these positions."""
    mass = [sum(counts[k][i] for k, i in position) for position in positions]
    weight = sum(map(math.lgamma, mass))
    if without != "gamma":
        weight += len(mass) * math.log(gamma)
    if without != "total":
        weight += math.lgamma(gamma) - math.lgamma(gamma + sum(mass))
    return weight


def crp_weight(classes, alpha, without=""):
    """Log weight of a partition under the Chinese restaurant process, up to a constant."""
    weight = len(classes) * math.log(alpha)
    return weight if without == "members" else weight + sum(math.lgamma(len(members)) for members in classes)


def neighbours(pair_ptr):
    """Pairs that stand side by side in the rings of their states, each two once."""
    found = set()
    for first, last in itertools.pairwise(pair_ptr):
        found |= {frozenset((k, first + (k + 1 - first) % (last - first))) for k in range(first, last)}
    return sorted(tuple(sorted(two)) for two in found if len(two) == 2)


def beside_factor(k, c, label, pair_ptr, eta):
    """What the classes of pair k's neighbours weigh for k in class c; ``label``: {pair: class} of the other pairs."""
    two = [ends for ends in neighbours(pair_ptr) if k not in ends and set(ends) <= set(label)]
    met = [(label[a], label[b]) for a, b in two] + [(label[b], label[a]) for a, b in two]
    factor = 1.0
    for ends in neighbours(pair_ptr):
        other = sum(ends) - k
        if k in ends and other in label:
            d = label[other]
            chance = sum(a == c for a, _ in met) * sum(a == d for a, _ in met) / max(1, len(met))
            factor *= (met.count((c, d)) + eta) / (chance + eta)
    return factor


def weights(counts, alpha, gamma, without=""):
    """{structure: weight}, a structure being a frozenset of (pairs, positions)."""
    law = {}
    for classes in partitions(list(range(len(counts)))):
        prior = crp_weight(classes, alpha, without)
        for chosen in itertools.product(*(correspondences(members, counts) for members in classes)):
            weight = prior + sum(class_weight(positions, counts, gamma, without) for positions in chosen)
            law[structure(zip(classes, chosen, strict=True))] = math.exp(weight)
    return law


def normalised(weights):
    """Probabilities in proportion to weights."""
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def posterior(counts, alpha, gamma, without=""):
    """{structure: probability}."""
    return normalised(weights(counts, alpha, gamma, without))


def mixed_posterior(counts, alphas, gammas):
    """{structure: probability} where alpha and gamma are drawn too, all pairs of values equally likely before."""
    law, M = {}, len(counts)
    for alpha, gamma in itertools.product(alphas, gammas):
        scale = math.exp(math.lgamma(alpha) - math.lgamma(alpha + M))
        for key, weight in weights(counts, alpha, gamma).items():
            law[key] = law.get(key, 0.0) + weight * scale
    return normalised(law)


def structure(classes):
    """(pairs, positions) of every class, in a form that can be compared."""
    return frozenset((frozenset(pairs), frozenset(map(frozenset, positions))) for pairs, positions in classes)


def partition_of(key):
    """The partition of a structure."""
    return frozenset(pairs for pairs, _ in key)


def marginal(law):
    """The posterior of partitions alone."""
    out = {}
    for key, p in law.items():
        out[partition_of(key)] = out.get(partition_of(key), 0.0) + p
    return out


def read_structure(seen, state):
    """The structure that a state of the sampler holds."""
    classes = {}
    for k, c in enumerate(state.label.tolist()):
        pairs, positions = classes.setdefault(c, ([], {}))
        pairs.append(k)
        for i, j in enumerate(state.position[seen.ptr[k] : seen.ptr[k + 1]].tolist()):
            positions.setdefault(j, []).append((k, i))
    return structure((pairs, list(positions.values())) for pairs, positions in classes.values())


def write_structure(key, seen, state):
    """A state of the sampler that holds this structure."""
    for c, (pairs, positions) in enumerate(key):
        for k in pairs:
            state.label[k] = c
        for j, position in enumerate(positions):
            for k, i in position:
                state.position[seen.ptr[k] + i] = j
    return carry_over(state, seen, seen)


def injection_sum(counts, mass, gamma):
    """Sum of the weights of all injections of successors with these counts into positions of this mass, or new ones."""
    total = 0.0
    for places in itertools.product(range(-1, len(mass)), repeat=len(counts)):
        used = [j for j in places if j >= 0]
        if len(set(used)) < len(used):
            continue
        weight = 1.0
        for j, n in zip(places, counts, strict=True):
            weight *= gamma * math.gamma(n) if j < 0 else math.gamma(mass[j] + n) / math.gamma(mass[j])
        total += weight
    N, n = sum(mass), sum(counts)
    return total * math.gamma(gamma + N) / math.gamma(gamma + N + n)


def table_posterior(good, bad, alpha, without="", base=(1.0, 1.0)):
    """{partition: probability} of pairs that share a mean reward, Beta(``base``) for every table."""
    law = {}
    for classes in partitions(list(range(len(good)))):
        weight = crp_weight(classes, alpha, without)
        for members in classes:
            a, b = base[0] + sum(good[k] for k in members), base[1] + sum(bad[k] for k in members)
            weight -= 0.0 if without == "base" else special.betaln(*base)
            weight += math.lgamma(a) + math.lgamma(b) - (0.0 if without == "total" else math.lgamma(a + b))
        law[frozenset(map(frozenset, classes))] = math.exp(weight)
    return normalised(law)


def mixed_table_posterior(good, bad, alphas):
    """The same where alpha is drawn too, all values equally likely before."""
    law, n = {}, len(good)
    for tables, p in table_posterior(good, bad, 1.0).items():
        law[tables] = p * sum(a ** len(tables) * math.exp(math.lgamma(a) - math.lgamma(a + n)) for a in alphas)
    return normalised(law)


def noisy_table_posterior(rewards, alpha, shape, b, without=""):
    """{partition: probability} of pairs with these rewards, Normal for every table, one reward after the other.

    After i rewards the next is Student with 2 a degrees of freedom about their mean, a = shape + (i - 1) / 2.
    """
    law = {}
    for classes in partitions(list(range(len(rewards)))):
        weight = crp_weight(classes, alpha, without)
        for members in classes:
            paid = [r for k in members for r in rewards[k]]
            for i in range(1, len(paid)):
                a, scatter = shape + (i - 1) / 2, np.var(paid[:i]) * i
                spread = (b + scatter / 2) / a * (1 if without == "mean" else 1 + 1 / i)
                weight += stats.t.logpdf(paid[i], 2 * a, np.mean(paid[:i]), math.sqrt(spread))
        law[frozenset(map(frozenset, classes))] = math.exp(weight)
    return normalised(law)


def chi_square(seen, law, least=8.0):
    """p-value of frequencies {key: times} under a law; keys expected less than ``least`` times are put together."""
    n = sum(seen.values())
    assert set(seen) <= set(law)
    observed, expected, rare = [], [], [0, 0.0]
    for key, p in law.items():
        if p * n >= least:
            observed.append(seen.get(key, 0))
            expected.append(p * n)
        else:
            rare = [rare[0] + seen.get(key, 0), rare[1] + p * n]
    if rare[1] > 0:
        observed.append(rare[0])
        expected.append(rare[1])
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(stats.chi2.sf(statistic, len(observed) - 1))
