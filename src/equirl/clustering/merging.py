"""The sweeps of ApproxEquivalence (Algorithm 1): each cluster in turn takes its nearest PAC neighbour.

A cluster that found no neighbour in one sweep has met every cluster that survives it; so in the next it looks only at
those formed meanwhile (*fresh*), and the work follows the merges, not the square of the clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.clustering.clusters import Clusters, Rules, Sample, allocate_clusters, balanced, join, singletons
from equirl.clustering.kd_tree import PRIORITY, Tree, allocate_tree, build_tree, remove, set_bound
from equirl.clustering.neighbours import members_agree, surely_agree
from equirl.numerics.compiling import inlined, kernel, lean_kernel
from equirl.structure.similarity import l1_distance

Best = tuple[int, float, float, float]  # a partner (oneself: none), its d_hat, L1 distance and priority


class MergeLog(NamedTuple):
    """What :func:`merge` writes down: one row per merge, in the order they happened."""

    who: np.ndarray  # (M, 3) int64: the sweep (from 1), the cluster that looked, the partner it took
    d_hat: np.ndarray  # (M,) their lower distance


def merge(sample: Sample, rules: Rules) -> tuple[np.ndarray, MergeLog, int, int]:
    """ApproxEquivalence on checked arrays; takes memory in proportion to the counts."""
    M = len(sample.visits)
    longest = int(np.diff(sample.start)[sample.visits > 0].max(initial=0))
    clusters, tree = allocate_clusters(M, len(sample.counts), longest), allocate_tree(M, longest)
    label, log = np.empty(M, np.int64), MergeLog(np.empty((M, 3), np.int64), np.empty(M))
    n_merges, n_sweeps = _merge(sample, clusters, tree, rules, label, log)
    return label, log, n_merges, n_sweeps


@kernel
def _merge(sample: Sample, c: Clusters, tree: Tree, rules: Rules, label: np.ndarray, log: MergeLog) -> tuple[int, int]:
    """Sweep until nothing merges; returns the number of merges and of sweeps."""
    singletons(sample, c, rules)
    leaders, n_leaders = np.empty(len(label), np.int64), 0
    for j in range(len(label)):
        if sample.visits[j] > 0:
            leaders[n_leaders] = j
            n_leaders += 1
    n_merges, n_sweeps, done = 0, 0, False
    while not done:
        n_sweeps += 1
        _sort(leaders, n_leaders, c)
        build_tree(tree, c, leaders[:n_leaders], rules)
        before = n_merges
        n_merges = _sweep(c, tree, leaders[:n_leaders], rules, log, n_merges, n_sweeps)
        n_leaders = _gather(c, leaders, n_leaders, log.who, before, n_merges)
        done = n_merges == before
    _write_labels(c, leaders[:n_leaders], label)
    return n_merges, n_sweeps


@inlined
def _sort(leaders: np.ndarray, n_leaders: int, c: Clusters) -> None:
    """Sort clusters by decreasing visits, then priority (Shell's sort: short, and fast on what is nearly sorted)."""
    gap = 1
    while gap < n_leaders // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_leaders):
            leader, k = leaders[i], i
            a = c.at[leader]
            while k >= gap:
                b = c.at[leaders[k - gap]]
                if b.n > a.n or (b.n == a.n and b.priority < a.priority):
                    break
                leaders[k] = leaders[k - gap]
                k -= gap
            leaders[k] = leader
        gap //= 3


@inlined
def _sweep(c: Clusters, tree: Tree, leaders: np.ndarray, rules: Rules, log: MergeLog, n_merges: int, sweep: int) -> int:
    """One sweep: reads the partition of the tree, merges in place. A merged cluster is not met again in this sweep."""
    who, d_hat = log
    for leader in leaders:
        a = c.at[leader]
        if not a.alive:
            continue
        partner, least, dist = _near(c, tree, leader, rules)
        a.settled = 1 if partner == leader else 0
        if partner == leader:
            continue
        b = c.at[partner]
        if rules.nearest and not balanced(a.ratio, b.ratio, rules.balance):
            continue
        who[n_merges, 0], who[n_merges, 1], who[n_merges, 2], d_hat[n_merges] = sweep, leader, partner, least
        n_merges += 1
        remove(tree, a)
        remove(tree, b)
        join(c, leader, partner, dist, rules)
    return n_merges


@lean_kernel
def _near(c: Clusters, tree: Tree, leader: int, rules: Rules) -> tuple[int, float, float]:
    """Near(c) by branch and bound: the partner (itself: none), d_hat, L1 distance."""
    a, nodes, low, rank = c.at[leader], tree.node, tree.low, tree.depth + PRIORITY
    best = (leader, np.inf if rules.granted else 0.0, 0.0, np.inf)
    stack, top = tree.stack, 1
    stack[0], nodes[0].bound = 0, -np.inf
    while top > 0:
        top -= 1
        number = stack[top]
        node = nodes[number]
        _, least, _, first = best
        if node.bound > least or (node.bound == least and low[number, rank] > first):
            continue
        if node.left == 0:
            best = _scan(c, tree.order[node.first : node.stop], leader, best, rules)
            continue
        near, far = node.left, node.left + 1
        for child in (near, far):
            set_bound(tree, child, a, leader, rules)
        one, other = nodes[near].bound, nodes[far].bound
        if other < one or (other == one and low[far, rank] < low[near, rank]):
            near, far = far, near
        for child in (far, near):
            if nodes[child].bound <= least and nodes[child].bound < np.inf:
                stack[top] = child
                top += 1
    return best[0], best[1], best[2]


@lean_kernel
def _scan(c: Clusters, leaf: np.ndarray, leader: int, best: Best, rules: Rules) -> Best:
    """The clusters of a leaf, one by one: is there a PAC neighbour nearer than the best so far?"""
    at, profile = c.at, c.profile
    a = at[leader]
    partner, least, dist, first = best
    for k in leaf:
        b = at[k]
        if k == leader or not b.alive or (a.settled and not b.fresh) or a.known != b.known:
            continue
        if not rules.nearest and not balanced(a.ratio, b.ratio, rules.balance):
            continue
        radii = a.radius + b.radius
        if -radii > least:  # too far even at distance 0
            continue
        total = l1_distance(profile, a.row, a.length, profile, b.row, b.length)
        d_hat = total - radii
        if rules.by_mean:
            d_hat = max(d_hat, abs(a.r_mean - b.r_mean) - (a.r_radius + b.r_radius))
        if d_hat > least or (d_hat == least and b.priority > first):
            continue
        if not rules.granted and abs(a.r_mean - b.r_mean) > a.r_radius + b.r_radius:
            continue
        if rules.granted or surely_agree(a, b, total, rules) or members_agree(c, leader, k, total, rules):
            partner, least, dist, first = k, d_hat, total, float(b.priority)
    return partner, least, dist, first


@inlined
def _gather(c: Clusters, leaders: np.ndarray, n_leaders: int, who: np.ndarray, before: int, after: int) -> int:
    """Write down the leaders of the next partition, those just formed last; returns their number."""
    count = 0
    for k in range(n_leaders):
        if c.at[leaders[k]].alive:
            c.at[leaders[k]].fresh = 0
            leaders[count] = leaders[k]
            count += 1
    for m in range(before, after):
        one, other = who[m, 1], who[m, 2]
        leaders[count] = one if c.at[one].priority < c.at[other].priority else other
        count += 1
    return count


@inlined
def _write_labels(c: Clusters, leaders: np.ndarray, label: np.ndarray) -> None:
    """Every pair gets its cluster's leader; those never visited keep to themselves."""
    for j in range(len(label)):
        label[j] = j
    for leader in leaders:
        j = leader
        while j >= 0:
            label[j] = leader
            j = c.at[j].after
