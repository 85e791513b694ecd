"""The index over clusters: what it splits by, how it halves, and when a node may be passed over."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from equirl.clustering.kd_tree import (
    GIVEN,
    LEAF,
    MEAN,
    N_FEATURES,
    NODE,
    PRIORITY,
    R_RADIUS,
    RADIUS,
    RATIO,
    Tree,
    _halve,
    _widest,
    allocate_tree,
    remove,
    set_bound,
)

K = 2  # positions of a profile
FEATURES = {
    "radius": RADIUS, "ratio": RATIO, "mean": MEAN, "r_radius": R_RADIUS, "given": GIVEN, "priority": PRIORITY,
}  # fmt: skip
RULES = SimpleNamespace(nearest=False, balance=4.0, by_mean=False)


def boxes(low, high, **features):
    """A tree of one node whose box is [low, high] in the positions and as told in the other features."""
    ends = np.zeros((2, 1, K + N_FEATURES))
    ends[:, 0, :K] = low, high
    ends[:, 0, K + RATIO] = 1.0
    for name, pair in features.items():
        ends[:, 0, K + FEATURES[name]] = pair
    node = np.zeros(1, NODE)
    node["n_alive"] = node["n_fresh"] = 3
    nothing = np.zeros(0, np.int64)
    feature = np.array([[0.5, 0.3, *np.zeros(N_FEATURES)]])
    return Tree(K, feature, nothing, node.view(np.recarray), ends[0], ends[1], nothing)


@pytest.mark.parametrize(
    ("tree", "rules", "feature"),
    [
        (boxes([0, 0], [0.9, 0.1], given=(1, 2)), RULES, K + GIVEN),
        (boxes([0, 0], [0.9, 0.1], given=(2, 2)), RULES, 0),
        (boxes([0.2, 0], [0.4, 0.3]), RULES, 1),
        (boxes([0.2, 0], [0.4, 0.1], radius=(0.0, 0.5)), RULES, K + RADIUS),
        (boxes([0.2, 0], [0.4, 0.1], mean=(0.1, 0.9)), RULES, K + MEAN),
        (boxes([0.2, 0], [0.4, 0.1], r_radius=(0.1, 0.9)), RULES, 0),
        (boxes([0.2, 0], [0.4, 0.1], ratio=(1.0, 8.0)), RULES, K + RATIO),  # half of them out of balance
        (boxes([0.2, 0], [0.4, 0.1], ratio=(1.0, 4.8)), RULES, 0),  # a sixth
        (boxes([0.2, 0], [0.4, 0.1], ratio=(1.0, 8.0)), SimpleNamespace(nearest=True, balance=4.0), 0),
        (boxes([0.2, 0.1], [0.2, 0.1], priority=(0, 9)), RULES, K + PRIORITY),
    ],
)
def test_a_node_is_split_by_its_known_class_or_its_widest_feature_and_equals_by_priority(tree, rules, feature):
    assert _widest.py_func(tree, 0, rules) == feature


@pytest.mark.parametrize("seed", range(8))
def test_halves_are_ordered_and_hold_the_same_clusters(seed):
    rng = np.random.default_rng(seed)
    feature = rng.integers(0, 9, (40, 2)).astype(float)
    order = rng.permutation(40)
    before, (first, stop) = order.copy(), sorted(rng.choice(41, 2, replace=False).tolist())
    middle = (first + stop) // 2
    _halve.py_func(SimpleNamespace(order=order, feature=feature), first, stop, middle, 1)
    assert sorted(order[first:stop]) == sorted(before[first:stop])
    np.testing.assert_array_equal(np.delete(order, range(first, stop)), np.delete(before, range(first, stop)))
    if first < middle:
        assert feature[order[first:middle], 1].max() <= feature[order[middle:stop], 1].min()


def cluster(**change):
    told = {"alive": 1, "settled": 0, "ratio": 1.0, "given": 0, "r_mean": 0.0, "r_radius": 0.1, "radius": 0.05}
    return SimpleNamespace(**told | change)


def bound(tree, rules=RULES, **change):
    set_bound.py_func(tree, 0, cluster(**change), 0, rules)
    return float(tree.node[0].bound)


BOX = {"low": [0.6, 0.1], "high": [0.8, 0.2]}  # 0.1 and 0.1 from (0.5, 0.3)


def test_a_bound_is_the_distance_to_the_box_less_the_radii():
    assert bound(boxes(**BOX, radius=(0.0, 0.02))) == pytest.approx(0.2 - 0.05 - 0.02)
    assert bound(boxes([0.4, 0.2], [0.6, 0.4], radius=(0.0, 0.02))) == pytest.approx(-0.07)
    assert bound(boxes([0.1, 0.4], [0.2, 0.5])) == pytest.approx(0.3 + 0.1 - 0.05)
    by_mean = SimpleNamespace(nearest=False, balance=4.0, by_mean=True)
    far = boxes(**BOX, mean=(0.35, 0.5), r_radius=(0.0, 0.3))
    assert bound(far, by_mean, r_radius=0.1) == pytest.approx(0.2 - 0.05)
    assert bound(boxes([0.5, 0.3], [0.5, 0.3], mean=(0.35, 0.5), r_radius=(0.0, 0.3)), by_mean) == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("tree", "change"),
    [
        (boxes(**BOX, ratio=(4.1, 9.0)), {}), (boxes(**BOX, ratio=(0.1, 0.24)), {}),
        (boxes(**BOX, given=(1, 2)), {}), (boxes(**BOX, given=(0, 2)), {"given": 3}),
        (boxes(**BOX, mean=(0.35, 0.5), r_radius=(0.0, 0.2)), {}),
        (boxes(**BOX, mean=(0.0, 0.1), r_radius=(0.0, 0.2)), {"r_mean": 0.45}),
    ],
)  # fmt: skip
def test_a_node_without_a_possible_partner_is_infinitely_far(tree, change):
    assert bound(tree, **change) == math.inf


@pytest.mark.parametrize(
    ("tree", "change"),
    [
        (boxes(**BOX, ratio=(4.0, 9.0)), {}), (boxes(**BOX, ratio=(0.1, 0.25)), {}),
        (boxes(**BOX, given=(0, 2)), {}), (boxes(**BOX, given=(0, 2)), {"given": 2}),
        (boxes(**BOX, mean=(0.25, 0.5), r_radius=(0.0, 0.2)), {}),
    ],
)  # fmt: skip
def test_a_node_with_a_partner_at_the_edge_is_looked_into(tree, change):
    assert bound(tree, **change) == pytest.approx(0.15)


def test_where_the_nearest_is_wanted_balance_does_not_count():
    nearest = SimpleNamespace(nearest=True, balance=4.0, by_mean=False)
    assert bound(boxes(**BOX, ratio=(100.0, 200.0)), nearest) == pytest.approx(0.15)


def test_an_empty_node_and_for_a_settled_cluster_one_with_nothing_fresh_are_passed_over():
    tree = boxes(**BOX)
    tree.node["n_fresh"] = 0
    assert bound(tree) == pytest.approx(0.15)
    assert bound(tree, settled=1) == math.inf
    tree.node["n_alive"] = 0
    assert bound(tree) == math.inf


def test_a_cluster_that_is_removed_is_no_longer_counted_on_the_way_up():
    node = np.zeros(4, NODE).view(np.recarray)
    node.parent, node.n_alive, node.n_fresh = [-1, 0, 0, 1], 5, 3
    gone = SimpleNamespace(alive=1, leaf=3, fresh=1)
    remove.py_func(SimpleNamespace(node=node), gone)
    assert gone.alive == 0
    assert (node.n_alive.tolist(), node.n_fresh.tolist()) == ([4, 4, 5, 4], [2, 2, 3, 2])


@pytest.mark.parametrize(("n_pairs", "longest", "depth"), [(1, 1, 1), (100, 3, 3), (1000, 50, 6)])
def test_there_is_room_for_a_tree_of_every_cluster(n_pairs, longest, depth):
    tree = allocate_tree(n_pairs, longest)
    assert tree.depth == depth
    assert tree.feature.shape == (n_pairs, depth + N_FEATURES)
    assert len(tree.order) == n_pairs
    halves, nodes = [n_pairs], 1
    while halves:
        size = halves.pop()
        if size > LEAF:
            halves += [size // 2, size - size // 2]
            nodes += 2
    assert len(tree.node) == len(tree.low) == len(tree.high) >= nodes
