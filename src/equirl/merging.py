"""The sweeps of ApproxEquivalence (Algorithm 1): each cluster in turn takes its nearest PAC neighbour.

A cluster that found no neighbour in one sweep has met every cluster that survives it; so in the next it looks only at
those formed meanwhile (*fresh*), and the work follows the merges, not the square of the clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.clusters import Clusters, Rules, balanced, join, members_agree, singletons
from equirl.compiling import kernel
from equirl.proximity import (
    KNOWN,
    LEADING,
    MEAN,
    PRIORITY,
    R_RADIUS,
    RADIUS,
    RATIO,
    Tree,
    clear_ground,
    hopeless,
    least_d_hat,
    plant,
    remove,
)


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
    c = singletons(visits, start, counts, r_sum, priority, rules)
    leaders, spare, n_leaders = np.empty(M, np.int64), np.empty(M, np.int64), 0
    for j in range(M):
        if visits[j] > 0:
            leaders[n_leaders] = j
            n_leaders += 1
    tree = clear_ground(n_leaders, min(LEADING, len(c.union)))
    log, d_hat = np.empty((M, 3), np.int64), np.empty(M)
    n_merges, n_sweeps, done = 0, 0, False
    while not done:
        n_sweeps += 1
        _sort(leaders, n_leaders, c, spare)
        plant(tree, c, leaders, n_leaders, known, rules)
        before = n_merges
        n_merges = _sweep(c, tree, n_leaders, log, d_hat, n_merges, n_sweeps, rules)
        n_leaders = _gather(c, tree, n_leaders, leaders, log, before, n_merges)
        done = n_merges == before
    return Merged(_labels(c, leaders, n_leaders), log, d_hat, n_merges, n_sweeps)


@kernel
def _sweep(
    c: Clusters, tree: Tree, n_clusters: int, log: np.ndarray, d_hat: np.ndarray, n_merges: int, sweep: int,
    rules: Rules,
) -> int:  # fmt: skip
    """One sweep: reads the partition of the tree, merges in place. A merged cluster is not met again in this sweep."""
    ratio = tree.depth + RATIO
    for i in range(n_clusters):
        if not tree.spot[i].alive:
            continue
        leader = tree.spot[i].leader
        k, least, dist = _near(c, tree, i, c.at[leader].settled == 1, rules)
        if k < 0:
            c.at[leader].settled = 1
            continue
        if rules.nearest and not balanced(tree.feature[i, ratio], tree.feature[k, ratio], rules.balance):
            continue
        partner = tree.spot[k].leader
        log[n_merges, 0], log[n_merges, 1], log[n_merges, 2], d_hat[n_merges] = sweep, leader, partner, least
        n_merges += 1
        remove(tree, i)
        remove(tree, k)
        join(c, leader, partner, dist, rules)
    return n_merges


@kernel
def _near(c: Clusters, tree: Tree, i: int, only_fresh: bool, rules: Rules) -> tuple[int, float, float]:
    """Near(c) for the cluster of row i, by branch and bound: the partner's row (-1: none), d_hat, L1 distance."""
    low, column = tree.low, tree.depth + PRIORITY
    best, least, dist, first = -1, np.inf if rules.granted else 0.0, 0.0, np.inf
    stack, bound, top = tree.stack, tree.bound, 1
    stack[0, 0], bound[0] = 0, -np.inf
    while top > 0:
        top -= 1
        number = stack[top, 0]
        if bound[top] > least or (bound[top] == least and low[number, column] > first):
            continue
        if tree.node[number].right == 0:
            best, least, dist, first = _scan(c, tree, number, i, only_fresh, best, least, dist, first, rules)
            continue
        near, far = number + 1, tree.node[number].right
        near_bound, far_bound = least_d_hat(tree, near, i), least_d_hat(tree, far, i)
        if far_bound < near_bound or (far_bound == near_bound and low[far, column] < low[near, column]):
            near, far, near_bound, far_bound = far, near, far_bound, near_bound
        if far_bound <= least and not hopeless(tree, far, i, only_fresh, rules):
            stack[top, 0], bound[top] = far, far_bound
            top += 1
        if near_bound <= least and not hopeless(tree, near, i, only_fresh, rules):
            stack[top, 0], bound[top] = near, near_bound
            top += 1
    return best, least, dist


@kernel
def _scan(
    c: Clusters, tree: Tree, number: int, i: int, only_fresh: bool, best: int, least: float, dist: float,
    first: float, rules: Rules,
) -> tuple[int, float, float, float]:  # fmt: skip
    """The clusters of a leaf, one by one: is there a PAC neighbour nearer than the best so far?"""
    K, x, one = tree.depth, tree.feature, tree.spot[i].leader
    for place in range(tree.node[number].first, tree.node[number].stop):
        k = tree.order[place]
        spot = tree.spot[k]
        if k == i or not spot.alive or (only_fresh and not spot.fresh):
            continue
        if not rules.nearest and not balanced(x[i, K + RATIO], x[k, K + RATIO], rules.balance):
            continue
        total, radii = 0.0, x[i, K + RADIUS] + x[k, K + RADIUS]
        for p in range(K):
            total += abs(x[i, p] - x[k, p])
        if total - radii > least:
            continue
        total = _beyond(c, one, spot.leader, K, total)
        d_hat = total - radii
        if d_hat > least or (d_hat == least and x[k, K + PRIORITY] > first):
            continue
        if rules.granted:
            if x[i, K + KNOWN] != x[k, K + KNOWN]:
                continue
        elif abs(x[i, K + MEAN] - x[k, K + MEAN]) > x[i, K + R_RADIUS] + x[k, K + R_RADIUS]:
            continue
        elif not members_agree(c, one, spot.leader, total, rules):
            continue
        best, least, dist, first = k, d_hat, total, x[k, K + PRIORITY]
    return best, least, dist, first


@kernel
def _beyond(c: Clusters, one: int, other: int, depth: int, total: float) -> float:
    """The L1 distance of two pooled profiles, given its sum over the leading positions."""
    a, b = c.at[one], c.at[other]
    for p in range(depth, min(a.length, b.length)):
        total += abs(c.profile[a.row + p] - c.profile[b.row + p])
    for p in range(max(depth, b.length), a.length):
        total += c.profile[a.row + p]
    for p in range(max(depth, a.length), b.length):
        total += c.profile[b.row + p]
    return total


@kernel
def _gather(
    c: Clusters, tree: Tree, n_clusters: int, leaders: np.ndarray, log: np.ndarray, before: int, after: int
) -> int:
    """Write down the leaders of the next partition, those just formed last; returns their number."""
    count = 0
    for k in range(n_clusters):
        spot = tree.spot[k]
        if spot.alive:
            c.at[spot.leader].fresh = 0
            leaders[count] = spot.leader
            count += 1
    for m in range(before, after):
        one, other = log[m, 1], log[m, 2]
        leaders[count] = one if c.at[one].priority < c.at[other].priority else other
        count += 1
    return count


@kernel
def _sort(leaders: np.ndarray, n_leaders: int, c: Clusters, spare: np.ndarray) -> None:
    """Sort clusters by decreasing visits, then priority: merge sort, which leaves sorted stretches alone."""
    width = 1
    while width < n_leaders:
        for first in range(0, n_leaders - width, 2 * width):
            middle, stop = first + width, min(first + 2 * width, n_leaders)
            if _precedes(c, leaders[middle - 1], leaders[middle]):
                continue
            for i in range(first, middle):
                spare[i] = leaders[i]
            i, k = first, middle
            for place in range(first, stop):
                if i < middle and (k == stop or _precedes(c, spare[i], leaders[k])):
                    leaders[place] = spare[i]
                    i += 1
                else:
                    leaders[place] = leaders[k]
                    k += 1
        width *= 2


@kernel
def _precedes(c: Clusters, one: int, other: int) -> bool:
    a, b = c.at[one], c.at[other]
    return a.n > b.n or (a.n == b.n and a.priority < b.priority)


@kernel
def _labels(c: Clusters, leaders: np.ndarray, n_leaders: int) -> np.ndarray:
    label = np.arange(len(c.at))
    for k in range(n_leaders):
        j = leaders[k]
        while j >= 0:
            label[j] = leaders[k]
            j = c.at[j].after
    return label
