"""ApproxEquivalence (Algorithm 1 of the paper): from counts and empirical profiles to an estimated partition.

Clusters start as single pairs. In each sweep every cluster, the most visited first, takes the nearest of its PAC
neighbours, as far as the confidence radii allow and visits are balanced; sweeps repeat until nothing merges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equirl.clustering.clusters import Rules, Sample
from equirl.clustering.merging import merge
from equirl.estimation.confidence import log_events
from equirl.numerics.arrays import check_starts, check_visits
from equirl.structure.partition import Partition
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
class Clustering:
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
    """The settings of ApproxEquivalence, checked, as kernels read them."""
    n_pairs, n_states = whole_number("n_pairs", n_pairs), whole_number("n_states", n_states)
    delta, balance = inside("delta", delta), check_balance(balance)
    theory = choice("radius", radius, RADII) == "theory"
    nearest = choice("merge_rule", merge_rule, MERGE_RULES) == "nearest"
    by_mean = choice("nearest_by", nearest_by, NEARNESS) == "law_and_mean"
    if by_mean and (known or not means):
        raise ValueError("nearest_by='law_and_mean' needs means to compare: rewards='per_class', no known classes")
    log_level = math.log(delta) - math.log(n_pairs if theory else 3 * n_pairs)
    return Rules(log_events(n_states), log_level, balance, theory, nearest, means and not known, known, by_mean)


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
    known: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    """:func:`approx_equivalence` without its checks and its log, for arrays of int64 (``r_sum``: float)."""
    sums = _NO_SUMS if r_sum is None or not rules.means else r_sum
    labels = _NO_LABELS if known is None or not rules.granted else known.copy()  # a read-only one compiles anew
    sample = Sample(visits, profile_ptr, profile_counts, sums, priority, labels)
    label, _, n_merges, _ = merge(sample, rules)
    return label, n_merges


def approx_equivalence(
    visits: Any,
    profile_ptr: Any,
    profile_counts: Any,
    n_states: int,
    *,
    r_sum: Any = None,
    priority: Any = None,
    known: Any = None,
    **settings: Any,
) -> Clustering:
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
    known : Partition or array_like, shape (M,), optional
        Known classes: any two clusters inside a class may merge and none across; balance is still asked for.
    **settings
        ``delta`` (0.05), ``balance`` (4), ``radius`` ("pooled"), ``merge_rule`` ("balanced"), ``nearest_by`` ("law"):
        as for :func:`make_rules`.

    Returns
    -------
    Clustering

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
    rules = make_rules(len(visits), n_states, **settings, means=r_sum is not None, known=known is not None)
    sums = _NO_SUMS if r_sum is None or known is not None else _check_sums(r_sum, visits)
    labels = _NO_LABELS if known is None else _check_labels(known, len(visits))
    sample = Sample(visits, ptr, counts, sums, _check_priority(priority, len(visits)), labels)
    label, log, n_merges, n_sweeps = merge(sample, rules)
    sweep, left, right = log.who[:n_merges].T
    merges = Merges(sweep.copy(), left.copy(), right.copy(), log.d_hat[:n_merges].copy())
    return Clustering(Partition.from_labels(label), merges, n_sweeps)


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


def _check_labels(known: Any, n_pairs: int) -> np.ndarray:
    labels = known.label if isinstance(known, Partition) else Partition.from_labels(known).label
    if len(labels) != n_pairs:
        raise ValueError(f"known has {len(labels)} labels; there are {n_pairs} pairs")
    return np.array(labels)
