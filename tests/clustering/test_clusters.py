"""Clusters as they are joined: sums, pooled profiles, and how far members lie from the centre."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.clustering.approximate_equivalence import make_rules
from equirl.clustering.clusters import (
    Sample,
    allocate_clusters,
    join,
    members_agree,
    singletons,
    tighten,
)
from equirl.estimation.confidence import hoeffding, log_events, weissman

S = 5


def drawn(seed, n_pairs=6):
    """Counts of some pairs in decreasing order, their rewards, and priorities that are not their numbers."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.integers(1, 40, rng.integers(1, 5)))[::-1] for _ in range(n_pairs)]
    visits = np.array([row.sum() for row in rows])
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    sample = Sample(
        visits,
        start,
        np.concatenate(rows),
        visits * rng.random(n_pairs),
        rng.permutation(n_pairs),
        np.zeros(0, np.int64),
    )
    profiles = np.zeros((n_pairs, S))
    for k, row in enumerate(rows):
        profiles[k, : len(row)] = row
    return sample, profiles


def formed(seed):
    sample, counts = drawn(seed)
    rules = make_rules(6, S, delta=0.1, balance=4.0, merge_rule="balanced", means=True, known=False)
    clusters = allocate_clusters(6, len(sample.counts), S)
    singletons(sample, clusters, rules)
    return sample, counts, clusters, rules


def centre(counts, members):
    return counts[members].sum(axis=0) / counts[members].sum()


def distance(clusters, counts, one, other):
    return np.abs(centre(counts, one) - centre(counts, other)).sum()


def excess(sample, counts, members, rules):
    """How far a member lies outside its own ball around the centre, by profile and by mean."""
    mean = sample.r_sum[members].sum() / sample.visits[members].sum()
    laws, means = [], []
    for k in members:
        apart = np.abs(counts[k] / counts[k].sum() - centre(counts, members)).sum()
        laws.append(apart - weissman(float(sample.visits[k]), log_events(S), rules.log_level))
        means.append(
            abs(sample.r_sum[k] / sample.visits[k] - mean) - hoeffding(float(sample.visits[k]), rules.log_level)
        )
    return max(laws), max(means)


def joined(seed):
    """Three pairs in one cluster, two in another, one alone; with their members, the leader first."""
    sample, counts, clusters, rules = formed(seed)
    groups = {k: [k] for k in range(6)}
    for one, other in ((0, 1), (2, 3), (1, 4)):
        a = next(leader for leader, members in groups.items() if one in members)
        b = next(leader for leader, members in groups.items() if other in members)
        leader = join(clusters, a, b, distance(clusters, counts, groups[a], groups[b]), rules)
        assert leader == min((a, b), key=lambda k: sample.priority[k])
        members = groups.pop(a) + groups.pop(b)
        groups[leader] = members
    return sample, counts, clusters, rules, groups


def listed(clusters, leader):
    found, k = [], leader
    while k >= 0:
        found.append(k)
        k = int(clusters.at[k]["after"])
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_union_has_the_sums_of_its_members_and_bounds_on_how_far_they_lie(seed):
    sample, counts, clusters, rules, groups = joined(seed)
    for leader, members in groups.items():
        a = clusters.at[leader]
        assert sorted(listed(clusters, leader)) == sorted(members)
        assert (a["n"], a["n_pairs"]) == (sample.visits[members].sum(), len(members))
        assert a["ratio"] == sample.visits[members].sum() / len(members)
        assert a["r_mean"] == pytest.approx(sample.r_sum[members].sum() / sample.visits[members].sum())
        pooled = clusters.profile[a["row"] : a["row"] + a["length"]]
        np.testing.assert_allclose(pooled, centre(counts, members)[: len(pooled)])
        assert pooled.sum() == pytest.approx(1)
        assert a["radius"] == pytest.approx(weissman(float(a["n"]), log_events(S), rules.log_level))
        assert (a["fresh"], a["settled"], a["tight"]) == (1, 0, len(members) == 1)
        law, mean = excess(sample, counts, members, rules)
        assert a["excess"] >= law - 1e-12
        assert a["r_excess"] >= mean - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_tightened_a_bound_is_attained(seed):
    sample, counts, clusters, rules, groups = joined(seed)
    for leader, members in groups.items():
        tighten(clusters, leader, rules)
        a = clusters.at[leader]
        assert a["tight"] == 1
        assert (a["excess"], a["r_excess"]) == pytest.approx(excess(sample, counts, members, rules), abs=1e-12)


def test_two_clusters_agree_where_every_two_members_do_and_each_with_the_union():
    seen = set()
    for seed in range(12):
        seen |= compared(seed)
    assert seen == {False, True}


def compared(seed):
    sample, counts, clusters, rules, groups = joined(seed)
    seen = set()

    def near(one, other):
        """Two sets of pairs by profile and by mean, within their radii."""
        n, m = (float(sample.visits[members].sum()) for members in (one, other))
        laws = weissman(n, log_events(S), rules.log_level) + weissman(m, log_events(S), rules.log_level)
        means = hoeffding(n, rules.log_level) + hoeffding(m, rules.log_level)
        apart = abs(sample.r_sum[one].sum() / n - sample.r_sum[other].sum() / m)
        return np.abs(centre(counts, one) - centre(counts, other)).sum() <= laws and apart <= means

    leaders = list(groups)
    for a in leaders:
        for b in leaders:
            if a < b:
                one, other = groups[a], groups[b]
                expected = all(near([i], [j]) for i in one for j in other)
                expected = expected and all(near([i], one + other) for i in one + other)
                found = members_agree(clusters, a, b, distance(clusters, counts, one, other), rules)
                assert bool(found) == expected
                seen.add(expected)
    return seen
