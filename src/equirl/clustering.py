"""ApproxEquivalence (Algorithm 1 of the paper): from counts and empirical profiles to an estimated partition.

Clusters start as single pairs. In each sweep every cluster, the most visited first, takes the nearest of its PAC
neighbours, as far as the confidence radii allow and visits are balanced; sweeps repeat until nothing merges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equirl.clusters import Rules
from equirl.confidence import log_events
from equirl.merging import merge
from equirl.naming import unknown_name
from equirl.partition import Partition

RADII = ("pooled", "theory")
MERGE_RULES = ("balanced", "nearest")
NEARNESS = ("law", "law_and_mean")
_NO_SUMS, _NO_LABELS = np.empty(0), np.empty(0, np.int64)


class Merges(NamedTuple):
    """The log of ApproxEquivalence, one entry per merge; a cluster is named by its member of smallest priority."""

    sweep: np.ndarray  # (merges,) from 1
    left: np.ndarray  # (merges,) the cluster that looked for a partner
    right: np.ndarray  # (merges,) the partner
    d_hat: np.ndarray  # (merges,) lower distance of the two, by which they were nearest


@dataclass(frozen=True, eq=False)
class Clustering:
    """An estimated partition and how it came about. ``n_sweeps`` counts the last one, in which nothing merges."""

    partition: Partition
    merges: Merges
    n_sweeps: int


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
    known: bool = False,
) -> Rules:
    """The settings of ApproxEquivalence for a problem of ``n_pairs`` and ``n_states``, checked, as kernels read them.

    ``means``: mean rewards are compared too. ``known``: known classes stand in for the tests.
    """
    if n_pairs < 1 or n_states < 1:
        raise ValueError(f"there must be at least one state and one pair, not {n_states} and {n_pairs}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, not {delta}")
    if not balance > 1:
        raise ValueError(f"balance must be greater than 1 (math.inf switches it off), not {balance}")
    if radius not in RADII:
        raise ValueError(unknown_name("radius", radius, RADII))
    if merge_rule not in MERGE_RULES:
        raise ValueError(unknown_name("merge_rule", merge_rule, MERGE_RULES))
    if nearest_by not in NEARNESS:
        raise ValueError(unknown_name("nearest_by", nearest_by, NEARNESS))
    by_mean = nearest_by == "law_and_mean"
    if by_mean and (known or not means):
        raise ValueError("nearest_by='law_and_mean' needs means to compare: rewards='per_class', no known classes")
    theory = radius == "theory"
    log_level = math.log(delta) - math.log(n_pairs if theory else 3 * n_pairs)
    nearest = merge_rule == "nearest"
    return Rules(log_events(n_states), log_level, float(balance), theory, nearest, means and not known, known, by_mean)


def merge_pairs(
    visits: np.ndarray,
    profile_ptr: np.ndarray,
    profile_counts: np.ndarray,
    rules: Rules,
    priority: np.ndarray,
    r_sum: np.ndarray | None = None,
    known: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    """:func:`approx_equivalence` without its checks and its log, for arrays that are int64 (``r_sum``: float) already.

    Returns a label for each pair (its cluster's member of smallest priority) and the number of merges.
    """
    sums = _NO_SUMS if r_sum is None or not rules.means else r_sum
    labels = _NO_LABELS if known is None or not rules.granted else known.copy()  # a read-only one compiles anew
    merged = merge(visits, profile_ptr, profile_counts, sums, priority, labels, rules)
    return merged.label, merged.n_merges


def approx_equivalence(
    visits: Any,
    profile_ptr: Any,
    profile_counts: Any,
    n_states: int,
    *,
    delta: float = 0.05,
    balance: float = 4.0,
    radius: str = "pooled",
    merge_rule: str = "balanced",
    nearest_by: str = "law",
    r_sum: Any = None,
    priority: Any = None,
    known: Any = None,
) -> Clustering:
    """Estimate the classes of M pairs from their visits (M,) and counts by profile position.

    Pair k was seen ``profile_counts[profile_ptr[k]:profile_ptr[k + 1]]`` times at each of its successors, sorted
    decreasingly. With ``r_sum`` (M,), the sums of rewards, means are compared too; ``nearest_by="law_and_mean"`` then
    takes the neighbour whose larger lower distance, of law and mean, is smallest. With ``known`` (M,), labels of
    known classes, any two clusters inside a class may merge and none across; balance is still asked for. Ties are
    broken by ``priority`` (M,), different numbers, by default the pair index. Takes memory in proportion to the counts.

    >>> visits = [4000, 1000, 1000, 1000]
    >>> counts = [3500, 500, 1000, 520, 480, 860, 140]
    >>> found = approx_equivalence(visits, [0, 2, 3, 5, 7], counts, n_states=4)
    >>> found.partition.label
    array([0, 1, 2, 0])
    >>> found.merges.left, found.merges.right
    (array([0]), array([3]))
    """
    visits, ptr, counts = _check_counts(visits, profile_ptr, profile_counts, n_states)
    rules = make_rules(
        len(visits), n_states, delta=delta, balance=balance, radius=radius, merge_rule=merge_rule,
        nearest_by=nearest_by, means=r_sum is not None, known=known is not None,
    )  # fmt: skip
    sums = _NO_SUMS if r_sum is None or known is not None else _check_sums(r_sum, visits)
    labels = _NO_LABELS if known is None else _check_labels(known, len(visits))
    merged = merge(visits, ptr, counts, sums, _check_priority(priority, len(visits)), labels, rules)
    sweep, left, right = merged.log[: merged.n_merges].T
    merges = Merges(sweep.copy(), left.copy(), right.copy(), merged.d_hat[: merged.n_merges].copy())
    return Clustering(Partition.from_labels(merged.label), merges, merged.n_sweeps)


def _integers(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not shape {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    return np.array(array, dtype=np.int64)


def _check_counts(visits: Any, ptr: Any, counts: Any, n_states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    visits, ptr, counts = (
        _integers("visits", visits),
        _integers("profile_ptr", ptr),
        _integers("profile_counts", counts),
    )
    M = len(visits)
    if M == 0:
        raise ValueError("visits is empty: there must be at least one pair")
    if visits.min() < 0:
        raise ValueError(f"pair {visits.argmin()} has {visits.min()} visits; visits cannot be negative")
    if ptr.shape != (M + 1,) or ptr[0] != 0 or ptr[-1] != len(counts) or (np.diff(ptr) < 0).any():
        raise ValueError(f"profile_ptr must rise from 0 to {len(counts)}, the number of counts, in {M + 1} entries")
    total = np.concatenate([[0], np.cumsum(counts)])
    wrong = np.flatnonzero(total[ptr[1:]] - total[ptr[:-1]] != visits)
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"pair {k} has {visits[k]} visits, and its counts sum to {counts[ptr[k] : ptr[k + 1]].sum()}")
    rises = np.diff(counts) > 0
    rises[ptr[1:-1][(ptr[1:-1] > 0) & (ptr[1:-1] < len(counts))] - 1] = False
    if rises.any() or (len(counts) and counts.min() < 0):
        i = int(rises.argmax()) + 1 if rises.any() else int(counts.argmin())
        k = int(np.searchsorted(ptr, i, side="right")) - 1
        raise ValueError(f"the counts of pair {k} must be decreasing and not negative: {counts[ptr[k] : ptr[k + 1]]}")
    longest = int(np.diff(ptr).argmax())
    if ptr[longest + 1] - ptr[longest] > n_states:
        raise ValueError(
            f"pair {longest} has {ptr[longest + 1] - ptr[longest]} successors; there are {n_states} states"
        )
    return visits, ptr, counts


def _check_sums(r_sum: Any, visits: np.ndarray) -> np.ndarray:
    sums = np.array(r_sum, dtype=float)
    if sums.shape != visits.shape:
        raise ValueError(f"r_sum has shape {sums.shape}; one sum per pair would be {visits.shape}")
    wrong = np.flatnonzero(~((sums >= -1e-9 * visits) & (sums <= visits * (1 + 1e-9))))
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"the rewards of pair {k} sum to {sums[k]:g} in {visits[k]} visits; rewards lie in [0, 1]")
    return sums


def _check_priority(priority: Any, n_pairs: int) -> np.ndarray:
    if priority is None:
        return np.arange(n_pairs)
    values = np.asarray(priority)
    if values.shape != (n_pairs,):
        raise ValueError(f"priority has shape {values.shape}; one number per pair would be ({n_pairs},)")
    order, rank = np.argsort(values, kind="stable"), np.empty(n_pairs, np.int64)
    if (values[order][1:] == values[order][:-1]).any() or (values != values).any():
        raise ValueError("priorities must be different numbers; a permutation of the pairs will do")
    rank[order] = np.arange(n_pairs)
    return rank


def _check_labels(known: Any, n_pairs: int) -> np.ndarray:
    labels = known.label if isinstance(known, Partition) else Partition.from_labels(known).label
    if len(labels) != n_pairs:
        raise ValueError(f"known has {len(labels)} labels; there are {n_pairs} pairs")
    return np.array(labels)
