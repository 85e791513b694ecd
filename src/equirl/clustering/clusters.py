"""Clusters of pairs inside ApproxEquivalence: their pooled profiles and radii, and how two become one.

A cluster is known by its *leader*, the member with the smallest priority, and kept at the leader's place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.estimation.confidence import hoeffding, weissman
from equirl.numerics.compiling import inlined, lean_kernel


class Sample(NamedTuple):
    """What was observed of each pair, as the kernels read it."""

    visits: np.ndarray  # (M,) int64
    start: np.ndarray  # (M + 1,) int64: the counts of pair k are counts[start[k]:start[k + 1]]
    counts: np.ndarray  # (nnz,) int64, decreasing inside a pair
    r_sum: np.ndarray  # (M,) sums of rewards; empty where means are not compared
    priority: np.ndarray  # (M,) int64, all different: breaks ties
    known: np.ndarray  # (M,) int64, labels of known classes; empty where there are none


class Rules(NamedTuple):
    """The settings of ApproxEquivalence, as the kernels read them."""

    log_n_events: float  # log(2^S - 2)
    log_level: float  # log of delta/(3M), or of delta/M for theory radii
    balance: float  # alpha
    theory: bool  # radii are means of the members' radii
    nearest: bool  # take the nearest neighbour first, ask for balance then
    means: bool  # mean rewards are compared too
    granted: bool  # known classes stand in for the tests
    by_mean: bool  # nearness is the larger of the lower distances of laws and of means


CLUSTER_FIELDS = [
    ("alive", np.int64),  # not merged in this sweep
    ("fresh", np.int64),  # formed in the sweep before
    ("settled", np.int64),  # found no neighbour in the sweep before
    ("leaf", np.int64),  # where the index keeps it
    ("ratio", float),  # visits per pair
    ("radius", float),  # eps_c
    ("row", np.int64),  # the pooled profile lies at row:row + length of count and profile
    ("length", np.int64),
    ("priority", np.int64),  # of the leader
    ("known", np.int64),  # label of the known class
    ("r_mean", float),
    ("r_radius", float),
    ("n", np.int64),  # visits
    ("excess", float),  # f_c
    ("r_excess", float),
    ("weight", float),  # sum over members of N beta_N (theory radii)
    ("r_sum", float),
    ("r_weight", float),
    ("n_pairs", np.int64),
    ("last", np.int64),  # the last member
    ("tight", np.int64),  # whether the excesses are attained, not bounds
]
PAIR_FIELDS = [
    ("after", np.int64),  # the next member of its cluster, -1 at the end
    ("start", np.int64),  # the profile of the pair lies at own_profile[start:start + own_length]
    ("own_length", np.int64),
    ("own_radius", float),  # e_j
    ("own_mean", float),
    ("own_r_radius", float),
]
CLUSTER = np.dtype((np.record, CLUSTER_FIELDS + PAIR_FIELDS))  # a pair, and the cluster it leads


class Clusters(NamedTuple):
    """The current clusters at the places of their leaders, with the pairs they are made of."""

    at: np.ndarray  # (M,) of CLUSTER
    own_profile: np.ndarray  # (nnz + longest profile,) each pair's; the end is workspace
    counts: np.ndarray  # (nnz,) pooled counts by position
    profile: np.ndarray  # (nnz,) the same, divided by the visits


@lean_kernel
def law_radius(n: int, weight: float, rules: Rules) -> float:
    """eps of a set with n visits: beta_n, or sum N beta_N / n."""
    return weight / n if rules.theory else weissman(n, rules.log_n_events, rules.log_level)


@lean_kernel
def mean_radius(n: int, weight: float, rules: Rules) -> float:
    """The same for the mean, with beta'."""
    return weight / n if rules.theory else hoeffding(n, rules.log_level)


def allocate_clusters(n_pairs: int, n_counts: int, longest: int) -> Clusters:
    """Room for the clusters; :func:`singletons` fills it."""
    return Clusters(
        np.empty(n_pairs, CLUSTER), np.empty(n_counts + longest), np.empty(n_counts, np.int64), np.empty(n_counts)
    )


@inlined
def singletons(sample: Sample, c: Clusters, rules: Rules) -> None:
    """Every pair alone; those without visits are left blank."""
    at, own_profile, pooled, profile = c
    visits, start, counts, r_sum, priority, known = sample
    for j in range(len(visits)):
        a, n = at[j], visits[j]
        if n == 0:
            continue
        a.start, a.own_length = start[j], start[j + 1] - start[j]
        for i in range(start[j], start[j + 1]):
            pooled[i] = counts[i]
            profile[i] = own_profile[i] = counts[i] / n
        a.n, a.n_pairs, a.after, a.last, a.tight, a.priority = n, 1, -1, j, 1, priority[j]
        a.row, a.length = a.start, a.own_length
        a.known = known[j] if rules.granted else 0
        a.r_sum = r_sum[j] if rules.means else 0.0
        a.weight = n * weissman(n, rules.log_n_events, rules.log_level) if rules.theory else 0.0
        a.r_weight = n * hoeffding(n, rules.log_level) if rules.theory else 0.0
        _renew(a, rules)
        a.own_radius, a.own_mean, a.own_r_radius = a.radius, a.r_mean, a.r_radius
        a.excess, a.r_excess = -a.radius, -a.r_radius


@inlined
def _renew(a: np.record, rules: Rules) -> None:
    """What follows from the sums over a cluster that was just formed."""
    a.ratio = a.n / a.n_pairs
    a.radius = law_radius(a.n, a.weight, rules)
    a.r_mean = a.r_sum / a.n
    a.r_radius = mean_radius(a.n, a.r_weight, rules) if rules.means else 0.0
    a.fresh, a.settled = 1, 0


@inlined
def balanced(one: float, other: float, balance: float) -> bool:
    """1/alpha <= one / other <= alpha for the visits per pair of two clusters, the same read from either side."""
    return max(one, other) <= balance * min(one, other)


@inlined
def excess_of_union(one: float, other: float, n_one: int, n_other: int, dist: float) -> float:
    """A bound on the excess of two clusters together, from their own and the distance of their centres."""
    n = n_one + n_other
    return max(one + dist * n_other / n, other + dist * n_one / n)


@lean_kernel
def join(c: Clusters, one: int, other: int, dist: float, rules: Rules) -> int:
    """Merge two clusters at L1 distance ``dist``; returns the leader of the union."""
    if c.at[other].priority < c.at[one].priority:
        one, other = other, one
    a, b = c.at[one], c.at[other]
    a.excess = excess_of_union(a.excess, b.excess, a.n, b.n, dist)
    a.r_excess = excess_of_union(a.r_excess, b.r_excess, a.n, b.n, abs(a.r_mean - b.r_mean))
    a.n += b.n
    a.n_pairs += b.n_pairs
    a.weight += b.weight
    a.r_sum += b.r_sum
    a.r_weight += b.r_weight
    a.tight = 0
    _renew(a, rules)
    _pool(c, a, b)
    c.at[a.last].after = other
    a.last = b.last
    return one


@inlined
def _pool(c: Clusters, a: np.record, b: np.record) -> None:
    """The pooled profile of the union, in the place of the longer one of the two."""
    if a.length < b.length:
        a.row, b.row = b.row, a.row
        a.length, b.length = b.length, a.length
    for p in range(b.length):
        c.counts[a.row + p] += c.counts[b.row + p]
    for i in range(a.row, a.row + a.length):
        c.profile[i] = c.counts[i] / a.n
