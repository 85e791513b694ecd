"""Clusters of pairs inside ApproxEquivalence: pooled profiles and radii, when two are neighbours, how they merge.

A cluster is known by its *leader*, the member with the smallest priority, and kept at the leader's place.

With ``q_c`` the pooled profile, ``e_j`` the radius of pair j alone and ``eps_c`` that of the cluster, two clusters
c, c' (union u) are PAC neighbours when

    (i)    ||q_c - q_c'|| <= eps_c + eps_c'    (the lower distance d_hat, left less right, is at most 0)
    (ii)   ||q_j - q_j'|| <= e_j + e_j'        for every j in c, j' in c'
    (iii)  ||q_j - q_u||  <= e_j + eps_u       for every j in u

and, where means are compared, the same holds of the means. Members are seldom touched: with the *excess*
``f_c >= max_{j in c} ||q_j - q_c|| - e_j`` the triangle inequality grants (ii) when
``f_c + f_c' + ||q_c - q_c'|| <= 0`` and (iii) when both ``f_c + ||q_c - q_u||`` and ``f_c' + ||q_c' - q_u||`` are at
most ``eps_u``, where ``||q_c - q_u|| = ||q_c - q_c'|| n(c') / n(u)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.estimation.confidence import hoeffding, weissman
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.structure.similarity import l1_distance


class ObservedPairs(NamedTuple):
    """What was observed of each pair, as the kernels read it."""

    visits: np.ndarray  # (M,) int64
    start: np.ndarray  # (M + 1,) int64: the counts of pair k are counts[start[k]:start[k + 1]]
    counts: np.ndarray  # (nnz,) int64, decreasing inside a pair
    r_sum: np.ndarray  # (M,) sums of rewards; empty where means are not compared
    priority: np.ndarray  # (M,) int64, all different: breaks ties
    given: np.ndarray  # (M,) int64, labels of given classes; empty where there are none


class Rules(NamedTuple):
    """The settings of ApproxEquivalence, as the kernels read them."""

    log_n_events: float  # log(2^S - 2)
    log_level: float  # log of delta/(3M), or of delta/M for theory radii
    balance: float  # alpha
    theory: bool  # radii are means of the members' radii
    nearest: bool  # take the nearest neighbour first, ask for balance then
    means: bool  # mean rewards are compared too
    given: bool  # given classes stand in for the tests
    by_mean: bool  # nearness is the larger of the lower distances of profiles and of means


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
    ("given", np.int64),  # label of the given class
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
def profile_radius(n: int, weight: float, rules: Rules) -> float:
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
def singletons(sample: ObservedPairs, c: Clusters, rules: Rules) -> None:
    """Every pair alone; those without visits are left blank."""
    at, own_profile, pooled, profile = c
    visits, start, counts, r_sum, priority, given = sample
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
        a.given = given[j] if rules.given else 0
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
    a.radius = profile_radius(a.n, a.weight, rules)
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


SLACK = 1e-9  # a bound decides only when rounding cannot matter; members decide the rest


@inlined
def surely_agree(a: np.record, b: np.record, dist: float, rules: Rules) -> bool:
    """Whether the excesses alone grant tests (ii) and (iii) to two clusters at L1 distance ``dist``."""
    return _surely_every_two(a, b, dist, rules) and _surely_with_union(a, b, dist, rules)


@inlined
def _surely_every_two(a: np.record, b: np.record, dist: float, rules: Rules) -> bool:
    if a.excess + b.excess + dist > -SLACK:
        return False
    return not rules.means or a.r_excess + b.r_excess + abs(a.r_mean - b.r_mean) <= -SLACK


@inlined
def _surely_with_union(a: np.record, b: np.record, dist: float, rules: Rules) -> bool:
    excess = excess_of_union(a.excess, b.excess, a.n, b.n, dist)
    if excess > -SLACK and excess > profile_radius(a.n + b.n, a.weight + b.weight, rules) - SLACK:
        return False
    if not rules.means:
        return True
    excess = excess_of_union(a.r_excess, b.r_excess, a.n, b.n, abs(a.r_mean - b.r_mean))
    return excess <= -SLACK or excess <= mean_radius(a.n + b.n, a.r_weight + b.r_weight, rules) - SLACK


@lean_kernel
def members_agree(c: Clusters, one: int, other: int, dist: float, rules: Rules) -> bool:
    """Tests (ii) and (iii) for two clusters at L1 distance ``dist`` that pass test (i), down to the members."""
    tighten(c, one, rules)
    tighten(c, other, rules)
    a, b = c.at[one], c.at[other]
    if not _surely_every_two(a, b, dist, rules) and not _every_two(c, one, other, rules):
        return False
    return _surely_with_union(a, b, dist, rules) or _with_union(c, one, other, rules)


@lean_kernel
def tighten(c: Clusters, leader: int, rules: Rules) -> None:
    """Replace the bound on the excess by the excess itself, in one pass over the members."""
    a = c.at[leader]
    if a.tight:
        return
    a.excess, a.r_excess, a.tight = -np.inf, -np.inf, 1
    j = leader
    while j >= 0:
        b = c.at[j]
        a.excess = max(a.excess, _to_centre(c, b, a) - b.own_radius)
        if rules.means:
            a.r_excess = max(a.r_excess, abs(b.own_mean - a.r_mean) - b.own_r_radius)
        j = b.after


@inlined
def _to_centre(c: Clusters, pair: np.record, cluster: np.record) -> float:
    return l1_distance(c.own_profile, pair.start, pair.own_length, c.profile, cluster.row, cluster.length)


@lean_kernel
def _every_two(c: Clusters, one: int, other: int, rules: Rules) -> bool:
    """Test (ii), by members of the smaller cluster; the larger is entered only where its excess does not decide."""
    if c.at[one].n_pairs > c.at[other].n_pairs:
        one, other = other, one
    b = c.at[other]
    j = one
    while j >= 0:
        a = c.at[j]
        sure = _to_centre(c, a, b) - a.own_radius + b.excess <= -SLACK
        if sure and rules.means:
            sure = abs(a.own_mean - b.r_mean) - a.own_r_radius + b.r_excess <= -SLACK
        k = -1 if sure else other
        while k >= 0:
            if not _two_agree(c, a, c.at[k], rules):
                return False
            k = c.at[k].after
        j = a.after
    return True


@inlined
def _two_agree(c: Clusters, a: np.record, b: np.record, rules: Rules) -> bool:
    own = c.own_profile
    if l1_distance(own, a.start, a.own_length, own, b.start, b.own_length) > a.own_radius + b.own_radius:
        return False
    return not rules.means or abs(a.own_mean - b.own_mean) <= a.own_r_radius + b.own_r_radius


@lean_kernel
def _with_union(c: Clusters, one: int, other: int, rules: Rules) -> bool:
    a, b = c.at[one], c.at[other]
    n, length, union = a.n + b.n, max(a.length, b.length), len(c.counts)
    for p in range(length):
        pooled = 0
        if p < a.length:
            pooled += c.counts[a.row + p]
        if p < b.length:
            pooled += c.counts[b.row + p]
        c.own_profile[union + p] = pooled / n
    radius, r_radius = profile_radius(n, a.weight + b.weight, rules), mean_radius(n, a.r_weight + b.r_weight, rules)
    mean = (a.r_sum + b.r_sum) / n
    j, rest = one, other
    while j >= 0:
        m = c.at[j]
        own = c.own_profile
        if l1_distance(own, m.start, m.own_length, own, union, length) > m.own_radius + radius:
            return False
        if rules.means and abs(m.own_mean - mean) > m.own_r_radius + r_radius:
            return False
        j = m.after
        if j < 0:
            j, rest = rest, -1
    return True
