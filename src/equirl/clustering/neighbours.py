"""The tests that make two clusters PAC neighbours, down to the members where need be.

With ``q_c`` the pooled profile, ``e_j`` the radius of pair j alone and ``eps_c`` that of the cluster, two clusters
c, c' (union u) are PAC neighbours when

    (i)    ||q_c - q_c'|| <= eps_c + eps_c'
    (ii)   ||q_j - q_j'|| <= e_j + e_j'        for every j in c, j' in c'
    (iii)  ||q_j - q_u||  <= e_j + eps_u       for every j in u

and, where means are compared, the same holds of the means. Members are seldom touched: with the *excess*
``f_c >= max_{j in c} ||q_j - q_c|| - e_j`` the triangle inequality grants (ii) when
``f_c + f_c' + ||q_c - q_c'|| <= 0`` and (iii) when both ``f_c + ||q_c - q_u||`` and ``f_c' + ||q_c' - q_u||`` are at
most ``eps_u``, where ``||q_c - q_u|| = ||q_c - q_c'|| n(c') / n(u)``.
"""

from __future__ import annotations

import numpy as np

from equirl.clustering.clusters import Clusters, Rules, excess_of_union, law_radius, mean_radius
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.structure.similarity import l1_distance

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
    if excess > -SLACK and excess > law_radius(a.n + b.n, a.weight + b.weight, rules) - SLACK:
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
    """Test (iii), member by member."""
    a, b = c.at[one], c.at[other]
    n, length, union = a.n + b.n, max(a.length, b.length), len(c.counts)
    for p in range(length):
        pooled = 0
        if p < a.length:
            pooled += c.counts[a.row + p]
        if p < b.length:
            pooled += c.counts[b.row + p]
        c.own_profile[union + p] = pooled / n
    radius, r_radius = law_radius(n, a.weight + b.weight, rules), mean_radius(n, a.r_weight + b.r_weight, rules)
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
