"""An index over clusters: a k-d tree whose boxes bound d_hat from below, so that a search visits few clusters.

Each cluster is a row of features: the leading positions of its pooled profile, its radius, visits per pair, mean,
radius of the mean, known class and priority. A node keeps the smallest and largest value of each feature among its
clusters. Rounded sums of non-negative terms are monotone, and a box distance is summed in the order of the distance
itself; so it never exceeds the computed distance, not even by one bit, and ties can be pruned by priority.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.compiling import kernel
from equirl.clusters import Clusters, Rules

LEAF = 16  # a node with more clusters is split
LEADING = 6  # positions of a profile that are indexed
RADIUS, RATIO, MEAN, R_RADIUS, KNOWN, PRIORITY, N_FEATURES = 0, 1, 2, 3, 4, 5, 6  # after the positions


SPOT = np.dtype((np.record, [
    ("leader", np.int64),
    ("leaf", np.int64),  # the node that holds it
    ("alive", np.int64),  # not merged in this sweep
    ("fresh", np.int64),  # formed in the sweep before
]))  # fmt: skip
NODE = np.dtype((np.record, [
    ("first", np.int64),  # the node holds the rows order[first:stop]
    ("stop", np.int64),
    ("right", np.int64),  # the right child, 0 at a leaf; the left child is the next node
    ("parent", np.int64),  # -1 at the root
    ("n_alive", np.int64),
    ("n_fresh", np.int64),  # alive and fresh
]))  # fmt: skip


class Tree(NamedTuple):
    """C clusters as rows, in the order in which they will be asked, and nodes in preorder, with room to spare."""

    depth: int  # K, the positions of a profile that are features
    spot: np.ndarray  # (C,) of SPOT
    feature: np.ndarray  # (C, K + 6)
    order: np.ndarray  # (C,) rows by leaf
    node: np.ndarray  # (nodes,) of NODE
    low: np.ndarray  # (nodes, K + 6)
    high: np.ndarray  # (nodes, K + 6)
    stack: np.ndarray  # (128, 3) what is still to visit
    bound: np.ndarray  # (128,) and its lower bounds


@kernel
def clear_ground(n_clusters: int, depth: int) -> Tree:
    """Room for a tree of up to ``n_clusters`` clusters."""
    nodes, D = 4 * n_clusters // LEAF + 2, depth + N_FEATURES
    return Tree(
        depth, np.empty(n_clusters, SPOT), np.empty((n_clusters, D)), np.empty(n_clusters, np.int64),
        np.empty(nodes, NODE), np.empty((nodes, D)), np.empty((nodes, D)), np.empty((128, 3), np.int64), np.empty(128),
    )  # fmt: skip


@kernel
def plant(tree: Tree, c: Clusters, leaders: np.ndarray, n_leaders: int, known: np.ndarray, rules: Rules) -> None:
    """Index the clusters ``leaders[:n_leaders]``."""
    for k in range(n_leaders):
        _describe(tree, c, k, leaders[k], known, rules)
    todo, n_todo, n_nodes = tree.stack, 1, 0
    todo[0, 0], todo[0, 1], todo[0, 2] = 0, n_leaders, -1
    while n_todo > 0:
        n_todo -= 1
        first, stop, parent = todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2]
        node = tree.node[n_nodes]
        node.first, node.stop, node.right, node.parent = first, stop, 0, parent
        if parent >= 0 and parent != n_nodes - 1:
            tree.node[parent].right = n_nodes
        _enclose(tree, n_nodes)
        if stop - first > LEAF:
            middle = (first + stop) // 2
            _halve(tree, first, stop, middle, _widest(tree, n_nodes, rules))
            todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2] = middle, stop, n_nodes
            n_todo += 1
            todo[n_todo, 0], todo[n_todo, 1], todo[n_todo, 2] = first, middle, n_nodes
            n_todo += 1
        n_nodes += 1


@kernel
def _describe(tree: Tree, c: Clusters, k: int, leader: int, known: np.ndarray, rules: Rules) -> None:
    a, x, K = c.at[leader], tree.feature, tree.depth
    for p in range(K):
        x[k, p] = c.profile[a.row + p] if p < a.length else 0.0
    x[k, K + RADIUS] = a.radius
    x[k, K + RATIO] = a.n / a.size
    x[k, K + MEAN] = a.mean
    x[k, K + R_RADIUS] = a.r_radius
    x[k, K + KNOWN] = known[leader] if rules.granted else 0
    x[k, K + PRIORITY] = a.priority
    a.place = tree.order[k] = k
    spot = tree.spot[k]
    spot.leader, spot.alive, spot.fresh = leader, 1, a.fresh


@kernel
def _enclose(tree: Tree, number: int) -> None:
    node, low, high, x = tree.node[number], tree.low, tree.high, tree.feature
    node.n_alive, node.n_fresh = node.stop - node.first, 0
    for p in range(x.shape[1]):
        low[number, p], high[number, p] = np.inf, -np.inf
    for i in range(node.first, node.stop):
        k = tree.order[i]
        tree.spot[k].leaf = number
        node.n_fresh += tree.spot[k].fresh
        for p in range(x.shape[1]):
            low[number, p] = min(low[number, p], x[k, p])
            high[number, p] = max(high[number, p], x[k, p])


@kernel
def _widest(tree: Tree, number: int, rules: Rules) -> int:
    """The feature to split by: the known class first, the priority only among equals."""
    low, high, K = tree.low[number], tree.high[number], tree.depth
    if high[K + KNOWN] > low[K + KNOWN]:
        return K + KNOWN
    best, width = K + PRIORITY, 0.0
    for p in range(K + MEAN + 1):
        extent = high[p] - low[p]
        if p == K + RATIO:
            extent = 0.0 if rules.nearest else 1.0 - low[p] * min(rules.balance, 1e9) / high[p]
        if extent > width:
            best, width = p, extent
    return best


@kernel
def _halve(tree: Tree, first: int, stop: int, middle: int, column: int) -> None:
    """Reorder ``order[first:stop]`` so that no value before ``middle`` exceeds one after it (Hoare's selection)."""
    order, x = tree.order, tree.feature
    low, high = first, stop - 1
    while low < high:
        pivot = x[order[(low + high) // 2], column]
        i, k = low, high
        while i <= k:
            while x[order[i], column] < pivot:
                i += 1
            while x[order[k], column] > pivot:
                k -= 1
            if i <= k:
                order[i], order[k] = order[k], order[i]
                i += 1
                k -= 1
        if middle <= k:
            high = k
        elif middle >= i:
            low = i
        else:
            return


@kernel
def remove(tree: Tree, k: int) -> None:
    """Take the cluster of row k out for the rest of the sweep."""
    spot = tree.spot[k]
    spot.alive = 0
    number = spot.leaf
    while number >= 0:
        node = tree.node[number]
        node.n_alive -= 1
        node.n_fresh -= spot.fresh
        number = node.parent


@kernel
def least_d_hat(tree: Tree, number: int, k: int) -> float:
    """A lower bound, exact in floating point, of d_hat between the cluster of row k and those of a node."""
    x, low, high, K = tree.feature, tree.low, tree.high, tree.depth
    total = 0.0
    for p in range(K):
        total += max(low[number, p] - x[k, p], x[k, p] - high[number, p], 0.0)
    return total - (x[k, K + RADIUS] + high[number, K + RADIUS])


@kernel
def hopeless(tree: Tree, number: int, k: int, only_fresh: bool, rules: Rules) -> bool:
    """Whether no cluster of the node can be a partner for that of row k, whatever their laws."""
    node, x, low, high, K = tree.node[number], tree.feature, tree.low, tree.high, tree.depth
    if node.n_alive == 0 or (only_fresh and node.n_fresh == 0):
        return True
    ratio, mean, known = x[k, K + RATIO], x[k, K + MEAN], x[k, K + KNOWN]
    if not rules.nearest:
        least, most = low[number, K + RATIO], high[number, K + RATIO]
        if least > rules.balance * ratio or ratio > rules.balance * most:
            return True
    if rules.granted:
        return known < low[number, K + KNOWN] or known > high[number, K + KNOWN]
    gap = max(low[number, K + MEAN] - mean, mean - high[number, K + MEAN])
    return gap > x[k, K + R_RADIUS] + high[number, K + R_RADIUS]
