"""The sweeps of ApproxEquivalence (Algorithm 1): each cluster in turn takes its nearest PAC neighbour.

A cluster that found no neighbour in one sweep has met every cluster that survives it; so in the next it looks only at
those formed meanwhile (*fresh*), and the work follows the merges, not the square of the clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.clustering.clusters import Clusters, Rules, balanced, distance, join, singletons
from equirl.clustering.kd_tree import LEADING, PRIORITY, Tree, clear_ground, plant, remove, set_bound
from equirl.clustering.neighbours import members_agree, surely_agree
from equirl.core.compiling import inlined, kernel


class Merged(NamedTuple):
    """What :func:`merge` made: clusters named by their leaders, and one row per merge in the order they happened."""

    label: np.ndarray  # (M,) the leader of each pair's cluster
    log: np.ndarray  # (M, 3) by merge: the sweep (from 1), the cluster that looked, the partner it took
    d_hat: np.ndarray  # (M,) by merge
    n_merges: int
    n_sweeps: int


@kernel
def merge(
    visits: np.ndarray, start: np.ndarray, counts: np.ndarray, r_sum: np.ndarray, priority: np.ndarray,
    known: np.ndarray, rules: Rules,
) -> Merged:  # fmt: skip
    """ApproxEquivalence on checked arrays (int64; ``r_sum`` and ``known`` empty where the rules have no use for them).

    ``priority`` holds M different numbers. Takes O(stored counts) memory.
    """
    M = len(visits)
    leaders, n_leaders, longest = np.empty(M, np.int64), 0, 0
    for j in range(M):
        if visits[j] > 0:
            leaders[n_leaders] = j
            n_leaders += 1
            longest = max(longest, start[j + 1] - start[j])
    c = singletons(visits, start, counts, r_sum, priority, known, longest, rules)
    tree = clear_ground(M, min(LEADING, longest))
    log, d_hat = np.empty((M, 3), np.int64), np.empty(M)
    n_merges, n_sweeps, done = 0, 0, False
    while not done:
        n_sweeps += 1
        _sort(leaders, n_leaders, c)
        plant(tree, c, leaders[:n_leaders], rules)
        before = n_merges
        n_merges = _sweep(c, tree, leaders, n_leaders, log, d_hat, n_merges, n_sweeps, rules)
        n_leaders = _gather(c, leaders, n_leaders, log, before, n_merges)
        done = n_merges == before
    return Merged(_labels(c, leaders, n_leaders), log, d_hat, n_merges, n_sweeps)


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
def _sweep(
    c: Clusters, tree: Tree, leaders: np.ndarray, n_leaders: int, log: np.ndarray, d_hat: np.ndarray, n_merges: int,
    sweep: int, rules: Rules,
) -> int:  # fmt: skip
    """One sweep: reads the partition of the tree, merges in place. A merged cluster is not met again in this sweep."""
    for i in range(n_leaders):
        leader = leaders[i]
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
        log[n_merges, 0], log[n_merges, 1], log[n_merges, 2], d_hat[n_merges] = sweep, leader, partner, least
        n_merges += 1
        remove(tree, a)
        remove(tree, b)
        join(c, leader, partner, dist, rules)
    return n_merges


@kernel
def _near(c: Clusters, tree: Tree, leader: int, rules: Rules) -> tuple[int, float, float]:
    """Near(c) by branch and bound: the partner (itself: none), d_hat, L1 distance."""
    a, nodes, low, rank = c.at[leader], tree.node, tree.low, tree.depth + PRIORITY
    best, least, dist, first = leader, np.inf if rules.granted else 0.0, 0.0, np.inf
    stack, top = tree.stack, 1
    stack[0], nodes[0].bound = 0, -np.inf
    while top > 0:
        top -= 1
        number = stack[top]
        node = nodes[number]
        if node.bound > least or (node.bound == least and low[number, rank] > first):
            continue
        if node.left == 0:
            best, least, dist, first = _scan(
                c, tree.order, node.first, node.stop, leader, best, least, dist, first, rules
            )
            continue
        near, far = node.left, node.left + 1
        set_bound(tree, near, a, leader, rules)
        set_bound(tree, far, a, leader, rules)
        one, other = nodes[near].bound, nodes[far].bound
        if other < one or (other == one and low[far, rank] < low[near, rank]):
            near, far = far, near
        for child in (far, near):
            if nodes[child].bound <= least and nodes[child].bound < np.inf:
                stack[top] = child
                top += 1
    return best, least, dist


@kernel
def _scan(
    c: Clusters, order: np.ndarray, start: int, stop: int, leader: int, best: int, least: float, dist: float,
    first: float, rules: Rules,
) -> tuple[int, float, float, float]:  # fmt: skip
    """The clusters of a leaf, one by one: is there a PAC neighbour nearer than the best so far?"""
    at, profile = c.at, c.profile
    a = at[leader]
    for i in range(start, stop):
        k = order[i]
        b = at[k]
        if k == leader or not b.alive or (a.settled and not b.fresh) or a.known != b.known:
            continue
        if not rules.nearest and not balanced(a.ratio, b.ratio, rules.balance):
            continue
        total = distance(profile, a.row, a.length, profile, b.row, b.length)
        d_hat = total - (a.radius + b.radius)
        if rules.by_mean:
            d_hat = max(d_hat, abs(a.r_mean - b.r_mean) - (a.r_radius + b.r_radius))
        if d_hat > least or (d_hat == least and b.priority > first):
            continue
        if not rules.granted and abs(a.r_mean - b.r_mean) > a.r_radius + b.r_radius:
            continue
        if rules.granted or surely_agree(a, b, total, rules) or members_agree(c, leader, k, total, rules):
            best, least, dist, first = k, d_hat, total, float(b.priority)
    return best, least, dist, first


@inlined
def _gather(c: Clusters, leaders: np.ndarray, n_leaders: int, log: np.ndarray, before: int, after: int) -> int:
    """Write down the leaders of the next partition, those just formed last; returns their number."""
    count = 0
    for k in range(n_leaders):
        if c.at[leaders[k]].alive:
            c.at[leaders[k]].fresh = 0
            leaders[count] = leaders[k]
            count += 1
    for m in range(before, after):
        one, other = log[m, 1], log[m, 2]
        leaders[count] = one if c.at[one].priority < c.at[other].priority else other
        count += 1
    return count


@inlined
def _labels(c: Clusters, leaders: np.ndarray, n_leaders: int) -> np.ndarray:
    label = np.empty(len(c.at), np.int64)
    for j in range(len(label)):
        label[j] = j
    for k in range(n_leaders):
        j = leaders[k]
        while j >= 0:
            label[j] = leaders[k]
            j = c.at[j].after
    return label
