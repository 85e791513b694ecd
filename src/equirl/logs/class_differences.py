"""How different the pairs of a class look, and how small a difference their visits could have shown.

A pair is compared with the others of its class, whose counts are added up by position of the profile, the most frequent
successor first. At each position the signed root of the likelihood ratio,

    z = sqrt(2 sum over the four cells of observed log(observed / expected)),

is about standard normal where both have one probability; with many visits it is their difference in standard errors,
and with few it stays honest where a plain ratio does not. The largest of J comparisons counts, and which state comes
first is chosen by the counts themselves: its tail probability is multiplied by J (two positions are one comparison).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import Grouping, pooled_positions
from equirl.numerics.arrays import owners, places_in_rows, take_rows

CLEAR = 3.0  # standard errors: a difference that is seen
LEVEL = 0.05  # of the p-value below which a difference speaks against being alike


class Differences(NamedTuple):
    """Each pair against the others of its class; NaN for a pair never played."""

    apart: np.ndarray  # (M,) how far apart they look, in standard errors of a single comparison; NaN for a pair alone
    could_see: np.ndarray  # (M,) the difference of a probability that would be CLEAR standard errors, at most 1


def differences(seen: Snapshot, groups: Grouping) -> Differences:
    """Time and memory O(pairs + stored successors).

    The standard error of a difference is at most sqrt(1 / n + 1 / N) / 2, n and N being both numbers of visits; a pair
    alone could at best be compared with what is known (1 / N = 0).

    >>> alike = Snapshot(np.array([0, 2, 4]), np.array([0, 1, 1, 0]), np.array([60, 40, 50, 50]), np.array([100, 100]),
    ...                  np.zeros(2), np.zeros(2))
    >>> found = differences(alike, Grouping(np.zeros(2, int), 1))
    >>> found.apart.round(2), found.could_see.round(2)
    (array([1.42, 1.42]), array([0.21, 0.21]))
    """
    from scipy.special import log_ndtr, ndtri_exp, rel_entr

    pooled = pooled_positions(seen, groups)
    n, rest = seen.visits, pooled.visits[groups.label] - seen.visits
    compared = (n > 0) & (rest > 0)
    size, width = np.diff(seen.ptr), np.diff(pooled.ptr)[groups.label]
    beyond = np.flatnonzero(size < width)  # counts of the others fall with the position: the next one says most
    pair = np.concatenate([owners(seen.ptr), beyond])
    position = np.concatenate([places_in_rows(seen.ptr), size[beyond]])
    own = np.concatenate([seen.count, np.zeros(len(beyond), np.int64)])
    pair, position, own = (values[compared[pair]] for values in (pair, position, own))

    both = pooled.count[pooled.ptr[groups.label[pair]] + position]
    total = n[pair] + rest[pair]
    ratio = np.zeros(len(pair))
    for visits, here in ((n[pair], own), (rest[pair], both - own)):
        ratio += rel_entr(here, visits * (both / total))
        ratio += rel_entr(visits - here, visits * ((total - both) / total))
    largest = np.zeros(len(n))
    np.maximum.at(largest, pair, 2 * ratio)
    log_tail = log_ndtr(-np.sqrt(largest)) + np.log(np.where(width > 2, width, 1))
    error = np.sqrt(1 / np.maximum(1, n) + np.where(rest > 0, 1 / np.maximum(1, rest), 0.0)) / 2
    return Differences(
        np.where(compared, np.abs(ndtri_exp(np.minimum(log_tail, np.log(0.5)))), np.nan),
        np.where(n > 0, np.minimum(1.0, CLEAR * error), np.nan),
    )


def difference_between(seen: Snapshot, pair: int, other: int) -> float:
    """How far apart two pairs look, in standard errors; NaN where one was never played."""
    both = np.array([pair, other])
    ptr, entry = take_rows(seen.ptr, both)
    rows = Snapshot(ptr, seen.succ[entry], seen.count[entry], *(of[both] for of in seen[3:]))
    return float(differences(rows, Grouping(np.zeros(2, np.int64), 1)).apart[0])


def most_sure(apart: np.ndarray | float) -> np.ndarray:
    """How surely pairs so far apart can be alike at most: their p-value over LEVEL.

    So what is alike in truth is cut in one case of twenty, and three standard errors leave 0.054.

    >>> most_sure(np.array([1.9, 3.0])).round(3)
    array([1.   , 0.054])
    """
    from scipy.special import ndtr

    return np.minimum(1.0, 2 * ndtr(-np.asarray(apart)) / LEVEL)
