"""How well an estimated partition matches the true classes: the two measures of the paper's section 5.3.

l(c) is the largest part of a cluster c under the true classes: among equals the one with more visits, then the one
whose members have the smallest priority. Pairs of c outside l(c) are mis-clustered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.numerics.arrays import check_starts, check_visits, owners, places_in_rows
from equirl.numerics.compiling import kernel
from equirl.structure.partition import Partition, check_same_pairs
from equirl.words.checking import real_array, whole_array
from equirl.words.formatting import shown


def misclustered(partition: Partition, truth: Partition, visits: Any = None, priority: Any = None) -> np.ndarray:
    """(M,) whether each pair lies outside the largest true part of its cluster."""
    for what, given in (("partition", partition), ("truth", truth)):
        if not isinstance(given, Partition):
            raise TypeError(f"{what} must be a Partition, not {shown(given)}; Partition.from_labels makes one")
    check_same_pairs(partition, truth)
    M = partition.n_pairs
    visits = _by_pair("visits", visits, M, np.zeros(M, np.int64))
    priority = _by_pair("priority", priority, M, np.arange(M))
    part, where, size = np.unique(
        partition.label * truth.n_classes + truth.label, return_inverse=True, return_counts=True
    )
    seen = np.bincount(where, weights=visits, minlength=len(part))
    rank = np.full(len(part), np.inf)
    np.minimum.at(rank, where, priority)
    cluster = part // max(1, truth.n_classes)
    order = np.lexsort((rank, -seen, -size, cluster))
    largest = np.zeros(len(part), bool)
    largest[order[np.flatnonzero(np.diff(cluster[order], prepend=-1))]] = True
    return ~largest[where]


def misclustering_ratio(partition: Partition, truth: Partition, visits: Any = None, priority: Any = None) -> float:
    r"""(1/M) sum_c |c \ l(c)|: the share of mis-clustered pairs. Which of equal parts is l(c) does not change it.

    Parameters
    ----------
    partition : Partition
        The clusters.
    truth : Partition
        The true classes of the same pairs.
    visits : array_like, shape (M,), optional
        Visits of each pair, which decide between parts of equal size; default 0.
    priority : array_like, shape (M,), optional
        Which of two parts of equal size and visits counts as larger: that with the smallest number; default the
        pair's own.

    Examples
    --------
    >>> misclustering_ratio(Partition.from_labels("aaab"), Partition.from_labels("xyyy"))
    0.25
    """
    wrong = misclustered(partition, truth, visits, priority)
    return float(wrong.mean()) if len(wrong) else 0.0


def misclustering_bias(
    partition: Partition,
    truth: Partition,
    visits: Any,
    profile_ptr: np.ndarray,
    profile_counts: np.ndarray,
    priority: Any = None,
    successors: Any = None,
) -> float:
    r"""sum_c sum_{e in c, e not in l(c)} || p_hat(.|c) - p_hat(.|c \ {e}) ||_1, with pooled profiles.

    What the mis-clustered pairs do to the estimates. A pair whose cluster has no other sample adds 0: there is no
    pooled profile to compare with. Takes a sort of the counts.

    Parameters
    ----------
    partition : Partition
        The clusters.
    truth : Partition
        The true classes of the same pairs.
    visits : array_like, shape (M,)
        Visits of each pair.
    profile_ptr, profile_counts : array_like of int
        ``profile_counts[profile_ptr[k]:profile_ptr[k + 1]]`` are the successor counts of pair k, largest first.
    priority : array_like, shape (M,), optional
        As in :func:`misclustering_ratio`.
    successors : array_like of int, optional
        The state that each count belongs to. Estimates are then pooled state by state instead of by position, as the
        published program does.

    Examples
    --------
    >>> ptr, counts = np.array([0, 1, 2, 4]), np.array([6, 6, 3, 3])
    >>> together, truth = Partition.from_labels("aaa"), Partition.from_labels("xxy")
    >>> bias = misclustering_bias(together, truth, [6, 6, 6], ptr, counts)  # (15, 3) / 18 against (12, 0) / 12
    >>> round(bias, 12) == round(1 / 3, 12)
    True
    """
    if visits is None:
        raise TypeError("visits must be a number for each pair, not None")
    wrong = misclustered(partition, truth, visits, priority)
    ptr, counts = whole_array("profile_ptr", profile_ptr), whole_array("profile_counts", profile_counts)
    check_starts("profile_ptr", ptr, partition.n_pairs, len(counts))
    check_visits(real_array("visits", visits), ptr, counts)
    row = owners(ptr)
    column = places_in_rows(ptr) if successors is None else whole_array("successors", successors)
    if column.shape != counts.shape:
        raise ValueError(f"successors has {len(column)} entries, profile_counts {len(counts)}; they belong together")
    distinct, column = np.unique(column, return_inverse=True)
    found, place = np.unique(partition.label[row] * len(distinct) + column, return_inverse=True)
    pooled, total = np.zeros(len(found), np.int64), np.zeros(partition.n_classes, np.int64)
    return float(_bias(partition.label, ptr, counts, place, wrong, pooled, total))


@kernel
def _bias(
    label: np.ndarray,  # (M,) the cluster of each pair
    ptr: np.ndarray,  # (M + 1,) where the counts of each pair start
    counts: np.ndarray,  # (nnz,)
    place: np.ndarray,  # (nnz,) where each count is pooled: one place per cluster and position, or state
    wrong: np.ndarray,  # (M,) which pairs are mis-clustered
    pooled: np.ndarray,  # zeros; becomes the counts by place
    total: np.ndarray,  # (C,) zeros; becomes n(c)
) -> float:
    for k in range(len(label)):
        for i in range(ptr[k], ptr[k + 1]):
            pooled[place[i]] += counts[i]
            total[label[k]] += counts[i]
    bias = 0.0
    for k in range(len(label)):
        if not wrong[k]:
            continue
        n, own, head = total[label[k]], 0, 0
        for i in range(ptr[k], ptr[k + 1]):
            own += counts[i]
        if own == 0 or own == n:
            continue
        for i in range(ptr[k], ptr[k + 1]):
            together = pooled[place[i]]
            head += together
            bias += abs(together / n - (together - counts[i]) / (n - own))
        bias += (n - head) * (1.0 / (n - own) - 1.0 / n)  # places that the pair never reached
    return bias


def _by_pair(name: str, values: Any, n_pairs: int, default: np.ndarray) -> np.ndarray:
    if values is None:
        return default
    values = real_array(name, values)
    if np.isnan(values).any() or (name == "visits" and (values < 0).any()):
        raise ValueError(f"{name} must be numbers{', none of them negative' if name == 'visits' else ''}")
    if values.shape != (n_pairs,):
        raise ValueError(f"{name} has shape {values.shape}; one number per pair would be ({n_pairs},)")
    return values


def match_classes(found: Partition, truth: Partition) -> np.ndarray:
    """The true class that each found class stands for, -1 for none: largest overlaps first, each true class once."""
    check_same_pairs(found, truth)
    overlap, size = np.unique(found.label * max(1, truth.n_classes) + truth.label, return_counts=True)
    match = np.full(found.n_classes, -1)
    taken = np.zeros(truth.n_classes, bool)
    for k in np.argsort(-size, kind="stable").tolist():
        mine, its = divmod(int(overlap[k]), truth.n_classes)
        if match[mine] < 0 and not taken[its]:
            match[mine], taken[its] = its, True
    return match
