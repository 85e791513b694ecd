"""An index over clusters: a k-d tree whose boxes bound d_hat from below, so that a search visits few clusters.

Each cluster is a row of features: the leading positions of its pooled profile, its radius, visits per pair, mean,
radius of the mean, given class and priority. A node keeps the smallest and largest value of each feature among its
clusters. Rounded sums of non-negative terms are monotone, and a box distance is summed in the order of the distance
itself; so it never exceeds the computed distance, not even by one bit, and ties can be pruned by priority.

Written by hand: SciPy's tree is not callable from compiled code, holds points and not sets with radii, and cannot
lose points while a sweep goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.clustering.clusters import Clusters, Rules
from equirl.numerics.compiling import inlined, lean_kernel

LEAF = 32
LEADING = 6  # positions of a profile that are indexed
RADIUS, RATIO, MEAN, R_RADIUS, GIVEN, PRIORITY, N_FEATURES = 0, 1, 2, 3, 4, 5, 6  # after the positions


NODE_FIELDS = [
    ("first", np.int64),  # the node holds the clusters order[first:stop]
    ("stop", np.int64),
    ("left", np.int64),  # the left child, 0 at a leaf; the right one is the next node
    ("parent", np.int64),  # -1 at the root
    ("n_alive", np.int64),
    ("n_fresh", np.int64),  # alive and fresh
    ("bound", float),  # below d_hat between its clusters and the one that looks for a partner
]
NODE = np.dtype((np.record, NODE_FIELDS))


class Tree(NamedTuple):
    """Nodes and boxes, with room to spare."""

    depth: int  # K, the positions of a profile that are features
    feature: np.ndarray  # (M, K + 6)
    order: np.ndarray  # (M,) clusters by leaf
    node: np.ndarray  # (nodes,) of NODE
    low: np.ndarray  # (nodes, K + 6)
    high: np.ndarray  # (nodes, K + 6)
    stack: np.ndarray  # (128,) nodes still to visit


def allocate_tree(n_pairs: int, longest: int) -> Tree:
    """Room for a tree of so many clusters at most, with profiles of that length; :func:`build_tree` fills it."""
    depth = min(LEADING, longest)
    nodes, D = 4 * n_pairs // LEAF + 2, depth + N_FEATURES
    return Tree(
        depth, np.empty((n_pairs, D)), np.empty(n_pairs, np.int64), np.empty(nodes, NODE), np.empty((nodes, D)),
        np.empty((nodes, D)), np.empty(128, np.int64),
    )  # fmt: skip


@lean_kernel
def build_tree(tree: Tree, c: Clusters, leaders: np.ndarray, rules: Rules) -> None:
    for k in range(len(leaders)):
        tree.order[k] = leaders[k]
        _enter(tree, c, leaders[k])
    root, stack = tree.node[0], tree.stack
    root.first, root.stop, root.parent = 0, len(leaders), -1
    n_nodes, top, stack[0] = 1, 1, 0
    while top > 0:
        top -= 1
        number = stack[top]
        node = tree.node[number]
        node.left = 0
        _enclose(tree, c, number)
        if node.stop - node.first > LEAF:
            middle = (node.first + node.stop) // 2
            _halve(tree, node.first, node.stop, middle, _widest(tree, number, rules))
            node.left = n_nodes
            for child in range(n_nodes, n_nodes + 2):
                part = tree.node[child]
                part.parent = number
                part.first, part.stop = (node.first, middle) if child == n_nodes else (middle, node.stop)
                stack[top] = child
                top += 1
            n_nodes += 2


@inlined
def _enter(tree: Tree, c: Clusters, leader: int) -> None:
    a, x, K = c.at[leader], tree.feature, tree.depth
    for p in range(K):
        x[leader, p] = c.profile[a.row + p] if p < a.length else 0.0
    x[leader, K + RADIUS] = a.radius
    x[leader, K + RATIO] = a.ratio
    x[leader, K + MEAN] = a.r_mean
    x[leader, K + R_RADIUS] = a.r_radius
    x[leader, K + GIVEN] = a.given
    x[leader, K + PRIORITY] = a.priority
    a.alive = 1


@inlined
def _enclose(tree: Tree, c: Clusters, number: int) -> None:
    node, low, high, x = tree.node[number], tree.low, tree.high, tree.feature
    node.n_alive, node.n_fresh = node.stop - node.first, 0
    for p in range(x.shape[1]):
        low[number, p], high[number, p] = np.inf, -np.inf
    for i in range(node.first, node.stop):
        leader = tree.order[i]
        c.at[leader].leaf = number
        node.n_fresh += c.at[leader].fresh
        for p in range(x.shape[1]):
            low[number, p] = min(low[number, p], x[leader, p])
            high[number, p] = max(high[number, p], x[leader, p])


@inlined
def _widest(tree: Tree, number: int, rules: Rules) -> int:
    """The feature to split by: the given class first, the priority only among equals."""
    low, high, K = tree.low[number], tree.high[number], tree.depth
    if high[K + GIVEN] > low[K + GIVEN]:
        return K + GIVEN
    best, width = K + PRIORITY, 0.0
    for p in range(K + MEAN + 1):
        extent = high[p] - low[p]
        if p == K + RATIO:
            extent = 0.0 if rules.nearest else 1.0 - low[p] * min(rules.balance, 1e9) / high[p]
        if extent > width:
            best, width = p, extent
    return best


@inlined
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


@lean_kernel
def remove(tree: Tree, a: np.record) -> None:
    """Take a cluster out for the rest of the sweep."""
    a.alive = 0
    number = a.leaf
    while number >= 0:
        node = tree.node[number]
        node.n_alive -= 1
        node.n_fresh -= a.fresh
        number = node.parent


@inlined
def set_bound(tree: Tree, number: int, a: np.record, leader: int, rules: Rules) -> None:
    """Bound d_hat between a cluster and those of a node from below; inf where none of them can be its partner."""
    node, x, low, high, K = tree.node[number], tree.feature, tree.low, tree.high, tree.depth
    node.bound = np.inf
    if node.n_alive == 0 or (a.settled and node.n_fresh == 0):
        return
    least, most = low[number, K + RATIO], high[number, K + RATIO]
    if not rules.nearest and (least > rules.balance * a.ratio or a.ratio > rules.balance * most):
        return
    if a.given < low[number, K + GIVEN] or a.given > high[number, K + GIVEN]:
        return
    gap = max(low[number, K + MEAN] - a.r_mean, a.r_mean - high[number, K + MEAN])
    if gap > a.r_radius + high[number, K + R_RADIUS]:
        return
    total = 0.0
    for p in range(K):
        total += max(low[number, p] - x[leader, p], x[leader, p] - high[number, p], 0.0)
    node.bound = total - (a.radius + high[number, K + RADIUS])
    if rules.by_mean:
        node.bound = max(node.bound, max(gap, 0.0) - (a.r_radius + high[number, K + R_RADIUS]))
