"""ApproxEquivalence (Algorithm 1 of the paper): from counts and empirical profiles to an estimated partition.

Clusters start as single pairs. In each sweep every cluster, the most visited first, takes the nearest of its PAC
neighbours, as far as the confidence radii allow and visits are balanced; sweeps repeat until nothing merges. A
cluster that found no neighbour in one sweep has met every cluster that survives it; so in the next it looks only at
those formed meanwhile (*fresh*), and the work follows the merges, not the square of the clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equirl.clustering.clusters import (
    Clusters,
    ObservedPairs,
    Rules,
    allocate_clusters,
    balanced,
    join,
    members_agree,
    singletons,
    surely_agree,
)
from equirl.clustering.kd_tree import PRIORITY, Tree, allocate_tree, build_tree, remove, set_bound
from equirl.estimation.confidence import log_events
from equirl.numerics.arrays import check_starts, check_visits
from equirl.numerics.compiling import inlined, kernel, lean_kernel
from equirl.structure.partition import Partition
from equirl.structure.similarity import l1_distance
from equirl.words.checking import LARGEST, above, choice, inside, real_array, unknown_name, whole_array, whole_number

RADII = ("pooled", "theory")
MERGE_RULES = ("balanced", "nearest")
NEARNESS = ("law", "law_and_mean")
SETTINGS = ("delta", "balance", "radius", "merge_rule", "nearest_by")
_NO_SUMS, _NO_LABELS = np.empty(0), np.empty(0, np.int64)


class Merges(NamedTuple):
    """The log of ApproxEquivalence, one entry per merge; a cluster is named by its member of smallest priority."""

    sweep: np.ndarray
    left: np.ndarray
    right: np.ndarray
    d_hat: np.ndarray


@dataclass(frozen=True, eq=False)
class ClusteredPairs:
    """An estimated partition and how it came about.

    Parameters
    ----------
    partition : Partition
        The estimated classes.
    merges : Merges
        What was merged, in order.
    n_sweeps : int
        How many sweeps it took, with the last one, in which nothing merges.
    """

    partition: Partition
    merges: Merges
    n_sweeps: int


def approx_equivalence(
    visits: Any,
    profile_ptr: Any,
    profile_counts: Any,
    n_states: int,
    *,
    r_sum: Any = None,
    priority: Any = None,
    given: Any = None,
    **settings: Any,
) -> ClusteredPairs:
    """Estimate the classes of M pairs from what was observed of them.

    Takes memory in proportion to the counts.

    Parameters
    ----------
    visits : array_like of int, shape (M,)
        Visits of each pair.
    profile_ptr, profile_counts : array_like of int
        Pair k was seen ``profile_counts[profile_ptr[k]:profile_ptr[k + 1]]`` times at each of its successors, largest
        first.
    n_states : int
        The number of states.
    r_sum : array_like, shape (M,), optional
        Sums of rewards in [0, 1]; with them means are compared too.
    priority : array_like, shape (M,), optional
        Different numbers that break ties; default the pair's own.
    given : Partition or array_like, shape (M,), optional
        Classes that are given: any two clusters inside a class may merge and none across; balance is still asked for.
    **settings
        ``delta`` (0.05): the risk of all radii together. ``balance`` (4): alpha, the largest ratio of the visits per
        pair of two clusters that merge. ``radius`` ("pooled"): a cluster's, from its pooled visits; "theory": the mean
        of its members' radii, weighted by visits. ``merge_rule`` ("balanced"): to the nearest of the neighbours that
        are balanced; "nearest": to the nearest, if balanced. ``nearest_by`` ("law"): the distance of profiles;
        "law_and_mean": the larger of it and that of means.

    Raises
    ------
    TypeError, ValueError
        If arguments are no numbers or do not fit together; the message names the pair.

    Examples
    --------
    >>> visits = [4000, 1000, 1000, 1000]
    >>> counts = [3500, 500, 1000, 520, 480, 860, 140]
    >>> found = approx_equivalence(visits, [0, 2, 3, 5, 7], counts, n_states=4)
    >>> found.partition.label
    array([0, 1, 2, 0])
    >>> found.merges.left, found.merges.right
    (array([0]), array([3]))
    """
    for name in settings:
        if name not in SETTINGS:
            raise TypeError(unknown_name("setting", name, SETTINGS))
    n_states = whole_number("n_states", n_states)
    visits, ptr, counts = _check_counts(visits, profile_ptr, profile_counts, n_states)
    rules = make_rules(len(visits), n_states, **settings, means=r_sum is not None, given=given is not None)
    sums = _NO_SUMS if r_sum is None or given is not None else _check_sums(r_sum, visits)
    labels = _NO_LABELS if given is None else _check_labels(given, len(visits))
    sample = ObservedPairs(visits, ptr, counts, sums, _check_priority(priority, len(visits)), labels)
    label, log, n_merges, n_sweeps = merge(sample, rules)
    sweep, left, right = log.who[:n_merges].T
    merges = Merges(sweep.copy(), left.copy(), right.copy(), log.d_hat[:n_merges].copy())
    return ClusteredPairs(Partition.from_labels(label), merges, n_sweeps)


def make_rules(
    n_pairs: int,
    n_states: int,
    *,
    delta: float = 0.05,
    balance: float = 4.0,
    radius: str = "pooled",
    merge_rule: str = "balanced",
    nearest_by: str = "law",
    means: bool = False,
    given: bool = False,
) -> Rules:
    """The settings of ApproxEquivalence, checked, as kernels read them."""
    n_pairs, n_states = whole_number("n_pairs", n_pairs), whole_number("n_states", n_states)
    delta, balance = inside("delta", delta), check_balance(balance)
    theory = choice("radius", radius, RADII) == "theory"
    nearest = choice("merge_rule", merge_rule, MERGE_RULES) == "nearest"
    by_mean = choice("nearest_by", nearest_by, NEARNESS) == "law_and_mean"
    if by_mean and (given or not means):
        raise ValueError("nearest_by='law_and_mean' needs means to compare: rewards='per_class', no classes given")
    log_level = math.log(delta) - math.log(n_pairs if theory else 3 * n_pairs)
    return Rules(log_events(n_states), log_level, balance, theory, nearest, means and not given, given, by_mean)


def check_balance(balance: Any) -> float:
    """alpha, greater than 1; infinite switches the test off."""
    return above("balance", balance, 1, "switches the test off")


def merge_pairs(
    visits: np.ndarray,
    profile_ptr: np.ndarray,
    profile_counts: np.ndarray,
    rules: Rules,
    priority: np.ndarray,
    r_sum: np.ndarray | None = None,
    given: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    """:func:`approx_equivalence` without its checks and its log, for arrays of int64 (``r_sum``: float).

    Returns (M,) the leader of each pair's cluster, and the number of merges.
    """
    sums = _NO_SUMS if r_sum is None or not rules.means else r_sum
    labels = _NO_LABELS if given is None or not rules.given else given.copy()  # a read-only one compiles anew
    sample = ObservedPairs(visits, profile_ptr, profile_counts, sums, priority, labels)
    label, _, n_merges, _ = merge(sample, rules)
    return label, n_merges


# --- the algorithm, on checked arrays

Best = tuple[int, float, float, float]  # a partner (oneself: none), its d_hat, L1 distance and priority


class MergeLog(NamedTuple):
    """What :func:`merge` writes down: one row per merge, in the order they happened."""

    who: np.ndarray  # (M, 3) int64: the sweep (from 1), the cluster that looked, the partner it took
    d_hat: np.ndarray  # (M,) their lower distance


def merge(sample: ObservedPairs, rules: Rules) -> tuple[np.ndarray, MergeLog, int, int]:
    """ApproxEquivalence on checked arrays; takes memory in proportion to the counts."""
    M = len(sample.visits)
    longest = int(np.diff(sample.start)[sample.visits > 0].max(initial=0))
    clusters, tree = allocate_clusters(M, len(sample.counts), longest), allocate_tree(M, longest)
    label, log = np.empty(M, np.int64), MergeLog(np.empty((M, 3), np.int64), np.empty(M))
    n_merges, n_sweeps = _merge(sample, clusters, tree, rules, label, log)
    return label, log, n_merges, n_sweeps


@kernel
def _merge(
    sample: ObservedPairs, c: Clusters, tree: Tree, rules: Rules, label: np.ndarray, log: MergeLog
) -> tuple[int, int]:
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
    best = (leader, np.inf if rules.given else 0.0, 0.0, np.inf)  # test (i): d_hat is at most 0
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
        if k == leader or not b.alive or (a.settled and not b.fresh) or a.given != b.given:
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
        if not rules.given and abs(a.r_mean - b.r_mean) > a.r_radius + b.r_radius:
            continue
        if rules.given or surely_agree(a, b, total, rules) or members_agree(c, leader, k, total, rules):
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


# --- checks


def _check_counts(visits: Any, ptr: Any, counts: Any, n_states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    visits, ptr = whole_array("visits", visits), whole_array("profile_ptr", ptr)
    counts = whole_array("profile_counts", counts)
    M = len(visits)
    if M == 0:
        raise ValueError("visits is empty: there must be at least one pair")
    check_starts("profile_ptr", ptr, M, len(counts))
    if visits.sum(dtype=float) >= LARGEST:
        raise ValueError(f"visits sum to {visits.sum(dtype=float):g}, more than {LARGEST}")
    check_visits(visits, ptr, counts)
    rises = np.diff(counts) > 0
    rises[ptr[1:-1][(ptr[1:-1] > 0) & (ptr[1:-1] < len(counts))] - 1] = False
    if rises.any():
        k = int(np.searchsorted(ptr, int(rises.argmax()) + 1, side="right")) - 1
        raise ValueError(f"the counts of pair {k} must be decreasing, not {counts[ptr[k] : ptr[k + 1]]}")
    longest = int(np.diff(ptr).argmax())
    if ptr[longest + 1] - ptr[longest] > n_states:
        raise ValueError(
            f"pair {longest} has {ptr[longest + 1] - ptr[longest]} successors; there are {n_states} states"
        )
    return visits, ptr, counts


def _check_sums(r_sum: Any, visits: np.ndarray) -> np.ndarray:
    sums = np.array(real_array("r_sum", r_sum))
    if sums.shape != visits.shape:
        raise ValueError(f"r_sum has shape {sums.shape}; one sum per pair would be {visits.shape}")
    wrong = np.flatnonzero(~((sums >= -1e-9 * visits) & (sums <= visits * (1 + 1e-9))))
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"r_sum of pair {k} is {sums[k]:g} in {visits[k]} visits; rewards lie in [0, 1]")
    return sums


def _check_priority(priority: Any, n_pairs: int) -> np.ndarray:
    if priority is None:
        return np.arange(n_pairs)
    values = real_array("priority", priority)
    if values.shape != (n_pairs,):
        raise ValueError(f"priority has shape {values.shape}; one number per pair would be ({n_pairs},)")
    order, rank = np.argsort(values, kind="stable"), np.empty(n_pairs, np.int64)
    if (values[order][1:] == values[order][:-1]).any() or (values != values).any():
        raise ValueError("priority must hold different numbers; a permutation of the pairs will do")
    rank[order] = np.arange(n_pairs)
    return rank


def _check_labels(given: Any, n_pairs: int) -> np.ndarray:
    labels = given.label if isinstance(given, Partition) else Partition.from_labels(given).label
    if len(labels) != n_pairs:
        raise ValueError(f"given has {len(labels)} labels; there are {n_pairs} pairs")
    return np.array(labels)
