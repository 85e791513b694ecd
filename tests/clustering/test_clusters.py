"""Clusters as they are joined: sums, pooled profiles, and how far members lie from the centre."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from equirl.clustering import clusters as of_clusters
from equirl.clustering.approximate_equivalence import make_rules
from equirl.clustering.clusters import (
    SLACK,
    ObservedPairs,
    allocate_clusters,
    balanced,
    excess_of_union,
    join,
    mean_radius,
    members_agree,
    profile_radius,
    singletons,
    surely_agree,
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
    sample = ObservedPairs(
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
    rules = make_rules(6, S, delta=0.1, balance=4.0, merge_rule="balanced", means=True, given=False)
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


def plain(function):
    return getattr(function, "py_func", function)


def test_visits_per_pair_are_balanced_up_to_the_ratio_either_way():
    for one, other, expected in ((4.0, 1.0, True), (1.0, 4.0, True), (4.0, 0.99, False), (0.99, 4.0, False)):
        assert bool(plain(balanced)(one, other, 4.0)) == expected


def test_the_excess_of_a_union_is_that_of_the_part_that_lies_farther_from_its_centre():
    assert plain(excess_of_union)(-0.5, -0.4, 30, 10, 0.8) == pytest.approx(max(-0.5 + 0.8 / 4, -0.4 + 0.8 * 3 / 4))
    assert plain(excess_of_union)(-0.1, -0.9, 30, 10, 0.8) == pytest.approx(-0.1 + 0.8 / 4)


@pytest.mark.parametrize("theory", [False, True])
def test_radii_are_those_of_all_visits_or_the_mean_of_the_members_radii(theory):
    rules = make_rules(6, S, radius="theory" if theory else "pooled", means=True)
    for run in (profile_radius, profile_radius.py_func):
        assert run(40, 6.0, rules) == (0.15 if theory else weissman(40, rules.log_n_events, rules.log_level))
    for run in (mean_radius, mean_radius.py_func):
        assert run(40, 6.0, rules) == (0.15 if theory else hoeffding(40, rules.log_level))


def agreed(monkeypatch, excess=-1.0, dist=0.0, r_excess=-1.0, apart=0.0, means=True):
    """Whether bounds decide for clusters of 30 and 10 visits, each of this excess; their union has the radius 1/4."""
    for name in ("_surely_every_two", "_surely_with_union", "excess_of_union"):
        monkeypatch.setattr(of_clusters, name, plain(getattr(of_clusters, name)))
    rules = make_rules(6, S, radius="theory", means=means)
    a, b = (
        SimpleNamespace(excess=excess, r_excess=r_excess, r_mean=mean, n=n, weight=n / 4, r_weight=n / 4)
        for n, mean in ((30, 0.0), (10, apart))
    )
    found = [plain(run)(a, b, dist, rules) for run in (of_clusters._surely_every_two, of_clusters._surely_with_union)]
    assert bool(plain(surely_agree)(a, b, dist, rules)) == all(found)
    return [bool(each) for each in found]


@pytest.mark.parametrize("by", [("excess", "dist"), ("r_excess", "apart")])
def test_bounds_decide_where_rounding_cannot_matter(by, monkeypatch):
    """Every two: twice the excess and the distance; with the union: the excess and 3/4 of the distance, against 1/4."""
    for excess, dist, expected in (
        (-0.5, 1.0 - 4 * SLACK, [True, True]), (-0.5, 1.0 - 0.9 * SLACK, [False, False]), (-0.5, 1.0, [False, False]),
        (-0.25, 0.5 - 2 * SLACK, [True, True]), (-0.25, 0.5 - 0.9 * SLACK, [False, True]), (0.0, 0.0, [False, True]),
        (0.25 - 2 * SLACK, 0.0, [False, True]), (0.25 - 0.9 * SLACK, 0.0, [False, False]), (-1.0, 1.7, [True, False]),
    ):  # fmt: skip
        assert agreed(monkeypatch, **dict(zip(by, (excess, dist), strict=True))) == expected, (excess, dist)


def test_where_means_are_not_compared_they_do_not_matter(monkeypatch):
    assert agreed(monkeypatch, r_excess=5.0, apart=1.0, means=False) == [True, True]
    assert agreed(monkeypatch, r_excess=5.0, apart=1.0) == [False, False]
