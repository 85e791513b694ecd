"""Clusters of given counts are what they were, and so is each step of their making (``same_clusters.json``).

``python tests/clustering/test_same_clusters.py`` stores them anew.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.clustering.approximate_equivalence import _near, _scan, approx_equivalence, make_rules, merge_pairs
from equirl.clustering.clusters import (
    CLUSTER,
    Clusters,
    ObservedPairs,
    Rules,
    _every_two,
    _with_union,
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
from equirl.clustering.kd_tree import NODE, Tree, _halve, _widest, allocate_tree, build_tree, remove, set_bound
from equirl.estimation.confidence import log_events
from stored_kit import check, store


def plain(function):
    """The body of a step that is compiled into others."""
    return getattr(function, "py_func", function)


def counts_of(M, kinds, steps, seed, empty=0.1):
    """Visits, starts, decreasing counts and sums of rewards of M pairs of a few kinds."""
    chance = np.random.default_rng(seed)
    laws = [np.sort(chance.dirichlet(np.full(2 + kind % 4, 0.8)))[::-1] for kind in range(kinds)]
    visits, ptr, counts, sums = [], [0], [], []
    for k in range(M):
        n = 0 if chance.random() < empty else int(steps * (1 + chance.integers(4)) * (1 + 5 * (k % 7 == 0)))
        seen = chance.multinomial(n, laws[k % kinds])
        row = np.sort(seen[seen > 0])[::-1]
        visits.append(n)
        counts += row.tolist()
        ptr.append(len(counts))
        sums.append(float(n * min(1.0, 0.1 + 0.25 * (k % kinds % 4) + 0.02 * chance.random())))
    return np.array(visits), np.array(ptr), np.array(counts), np.array(sums)


def found_by(M, kinds, steps, means=False, priority=False, known=0, empty=0.1, **settings):
    def case():
        visits, ptr, counts, sums = counts_of(M, kinds, steps, M + kinds, empty)
        given = {"r_sum": sums} if means else {}
        if priority:
            given["priority"] = np.random.default_rng(3).permutation(M)
        if known:
            given["given"] = np.arange(M) % known
        found = approx_equivalence(visits, ptr, counts, 12, **given, **settings)
        rules = make_rules(M, 12, means=means, given=bool(known), **settings)
        first = given.get("priority", np.arange(M))
        labels, n = merge_pairs(visits, ptr, counts, rules, first, sums, given.get("given"))
        return {
            "label": found.partition.label, "merges": found.merges, "sweeps": [found.n_sweeps],
            "rules": rules, "leaders": labels, "n": [n],
        }  # fmt: skip

    return case


def begun(M=70, kinds=5, steps=60, means=True, theory=False, nearest=False, given=False, by_mean=False):
    """Every pair alone, those never visited left out."""
    visits, ptr, counts, sums = counts_of(M, kinds, steps, 5, empty=0.0)
    rules = Rules(log_events(12), math.log(0.05 / M), 4.0, theory, nearest, means and not given, given, by_mean)
    longest = int(np.diff(ptr).max())
    at = np.zeros(M, CLUSTER)
    c = Clusters(at, np.zeros(len(counts) + longest), np.zeros(len(counts), np.int64), np.zeros(len(counts)))
    order = np.random.default_rng(4).permutation(M)
    plain(singletons)(ObservedPairs(visits, ptr, counts, sums, order, np.arange(M) % 3), c, rules)
    tree = allocate_tree(M, longest)
    nodes, shape = len(tree.node), tree.low.shape
    tree = Tree(
        tree.depth, np.zeros(tree.feature.shape), np.zeros(M, np.int64), np.zeros(nodes, NODE),
        np.zeros(shape), np.zeros(shape), np.zeros(128, np.int64),
    )  # fmt: skip
    return c, tree, rules


def fields(records):
    return {name: records[name] for name in records.dtype.names}


def steps_of(**options):
    """A tree over single pairs, the nearest partner of each, unions and what their members say of them."""

    def case():
        c, tree, rules = begun(**options)
        M, found = len(c.at), {"single": fields(c.at), "profile": c.profile}
        build_tree(tree, c, np.arange(M), rules)
        found["tree"] = {"node": fields(tree.node) | {"bound": 0.0}, "order": tree.order, "feature": tree.feature}
        used = int(tree.node["left"].max()) + 2
        found["boxes"] = {"low": tree.low[:used], "high": tree.high[:used]}
        found["widest"] = [plain(_widest)(tree, number, rules) for number in range(used)]
        found["near"] = [_near(c, tree, k, rules) for k in range(M)]
        bounds = []
        for k in range(0, M, 7):
            for number in range(used):
                plain(set_bound)(tree, number, c.at[k], k, rules)
                bounds.append(tree.node[number].bound)
        found["bounds"] = bounds
        best = (0, np.inf, 0.0, np.inf)
        found["scan"] = _scan(c, np.arange(M), 0, best, rules)
        for k in range(0, 40, 5):  # pairs of one kind, as they were made
            remove(tree, c.at[k])
        found["after"] = fields(tree.node) | {"bound": 0.0}
        leader, said = 0, []
        for k in (5, 10, 15, 20, 25):
            a, b = c.at[leader], c.at[k]
            apart = float(np.abs(np.resize(c.profile[a.row : a.row + a.length], 1) - c.profile[b.row]).sum())
            said.append(plain(surely_agree)(a, b, apart, rules))
            said.append(members_agree(c, leader, k, apart, rules))
            said += [_every_two(c, leader, k, rules), _with_union(c, leader, k, rules)]
            for far in (1, 2, 3):  # of another kind
                said += [_every_two(c, leader, k + far, rules), _with_union(c, leader, k + far, rules)]
            leader = join(c, leader, k, apart, rules)
            found[f"union {k}"] = fields(c.at[leader : leader + 1])
            found[f"pooled {k}"] = {"counts": c.counts, "profile": c.profile}
            tighten(c, leader, rules)
            found[f"tight {k}"] = fields(c.at[leader : leader + 1])
        return found | {"said": said, "end": fields(c.at)}

    return case


def formulas():
    rules = begun()[2]
    others = begun(theory=True)[2]
    balance = [plain(balanced)(a, b, 4.0) for a in (1.0, 2.0, 4.0, 8.0) for b in (1.0, 2.0, 8.0)]
    union = [plain(excess_of_union)(a, b, 3, 5, d) for a in (-0.5, 0.1) for b in (-0.2, 0.3) for d in (0.0, 0.4)]
    radii = [f(n, 3.0, r) for f in (profile_radius, mean_radius) for n in (1, 50) for r in (rules, others)]
    tree = begun()[1]
    tree.feature[:, 2] = np.round(np.random.default_rng(6).random(70), 1)
    found = {"balance": balance, "union": union, "radii": radii}
    for middle in (1, 20, 35, 60):
        tree.order[:] = np.arange(70)
        plain(_halve)(tree, 3, 70, middle, 2)
        found[f"half {middle}"] = tree.order.copy()
    return found


CASES = {
    "few": found_by(9, 2, 100, balance=2.0),
    "many": found_by(160, 5, 80),
    "means": found_by(120, 5, 80, means=True),
    "means of few visits": found_by(90, 4, 8, means=True, delta=0.5),
    "theory": found_by(90, 4, 60, means=True, radius="theory"),
    "nearest": found_by(110, 5, 60, priority=True, merge_rule="nearest"),
    "law and mean": found_by(110, 6, 70, means=True, nearest_by="law_and_mean", balance=math.inf),
    "known": found_by(130, 6, 40, known=4, priority=True),
    "known, of few visits": found_by(60, 6, 3, known=2, empty=0.5, merge_rule="nearest"),
    "steps": steps_of(),
    "steps without means": steps_of(means=False),
    "steps of theory": steps_of(theory=True, nearest=True, steps=200),
    "steps of known classes": steps_of(given=True),
    "steps by means": steps_of(by_mean=True, steps=15),
    "formulas": formulas,
}


@pytest.mark.parametrize("case", CASES)
def test_clusters_of_counts_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
