"""Counts pooled over classes, by position of the profile: that seen so far, or a known one.

``count[j]`` of a class is the sum, over its pairs, of the count of the state at position j of the pair's profile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.arrays import starts
from equirl.numerics.compiling import kernel
from equirl.structure.similarity import Profiles


class Grouping(NamedTuple):
    """Which pairs are pooled."""

    label: np.ndarray  # (M,) int64, in 0 .. n_classes - 1
    n_classes: int


class ClassCounts(NamedTuple):
    """Counts by position of the profile, summed over each class: those of class c in ``count[ptr[c]:ptr[c + 1]]``."""

    label: np.ndarray  # (M,) the class of each pair
    ptr: np.ndarray  # (C + 1,)
    count: np.ndarray  # type: ignore[assignment]  # int64
    visits: np.ndarray  # (C,) int64


def pooled_positions(seen: Snapshot, groups: Grouping) -> ClassCounts:
    """Counts by position summed over each class."""
    ptr = _class_starts(seen.ptr, groups)
    pooled = ClassCounts(groups.label, ptr, np.zeros(ptr[-1], np.int64), _class_sums(groups, seen.visits))
    _add_positions(seen.ptr, seen.count, pooled)
    return pooled


def count_by_known_position(seen: Snapshot, groups: Grouping, profiles: Profiles) -> ClassCounts:
    """Counts by position of the known profiles, summed over each class; a successor outside them is an error."""
    ptr = _class_starts(profiles.ptr, groups)
    pooled = ClassCounts(groups.label, ptr, np.zeros(ptr[-1], np.int64), _class_sums(groups, seen.visits))
    stray = _count_known(seen, profiles.ptr, profiles.succ, pooled)
    if stray >= 0:
        pair = int(np.searchsorted(seen.ptr, stray, side="right")) - 1
        raise ValueError(f"pair {pair} was seen to reach state {seen.succ[stray]}, outside its known profile")
    return pooled


def tie_groups(profiles: Profiles, label: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """For each entry of the profiles, the first position of the group of equal probabilities it belongs to.

    A pair alone in its class (``label``) has no ties: nothing is pooled, no order is chosen, p_hat stays as it is.
    """
    size = np.diff(profiles.ptr)
    position = np.arange(len(profiles.prob)) - np.repeat(profiles.ptr[:-1], size)
    fresh = np.repeat(np.bincount(label)[label] == 1, size)
    fresh[1:] |= (position[1:] == 0) | (profiles.prob[:-1] - profiles.prob[1:] > tolerance)
    return position[np.maximum.accumulate(np.where(fresh, np.arange(len(position)), 0))]


def _class_starts(ptr: np.ndarray, groups: Grouping) -> np.ndarray:
    """Where each class's positions begin: as many as its longest row has."""
    length = np.zeros(groups.n_classes, np.int64)
    np.maximum.at(length, groups.label, np.diff(ptr))
    return starts(length)


def _class_sums(groups: Grouping, visits: np.ndarray) -> np.ndarray:
    out = np.zeros(groups.n_classes, np.int64)
    np.add.at(out, groups.label, visits)
    return out


@kernel
def _add_positions(ptr: np.ndarray, count: np.ndarray, pooled: ClassCounts) -> None:
    label, total = pooled.label, pooled.count
    for k in range(len(label)):
        first = pooled.ptr[label[k]]
        for j in range(ptr[k + 1] - ptr[k]):
            total[first + j] += count[ptr[k] + j]


@kernel
def _count_known(seen: Snapshot, ptr: np.ndarray, succ: np.ndarray, pooled: ClassCounts) -> int:
    """Sum counts by known position; the entry of a successor outside the known profile, or -1."""
    seen_ptr, seen_succ, seen_count = seen.ptr, seen.succ, seen.count
    label, class_ptr, class_count, _ = pooled
    for k in range(len(label)):
        for i in range(seen_ptr[k], seen_ptr[k + 1]):
            j = ptr[k]
            while j < ptr[k + 1] and succ[j] != seen_succ[i]:
                j += 1
            if j == ptr[k + 1]:
                return i
            class_count[class_ptr[label[k]] + j - ptr[k]] += seen_count[i]
    return -1


@kernel
def read_back(ptr: np.ndarray, key: np.ndarray, pooled: ClassCounts, cut: bool, prob: np.ndarray) -> None:
    """Give each pair's entries the masses of their positions; entries of one ``key`` share. ``cut``: sum to one."""
    label, class_ptr, class_count, class_visits = pooled
    for k in range(len(label)):
        first, size = class_ptr[label[k]], ptr[k + 1] - ptr[k]
        total = class_visits[label[k]]
        if cut:
            total = 0
            for j in range(size):
                total += class_count[first + j]
        j = 0
        while j < size:
            end, mass = j, 0
            while end < size and key[ptr[k] + end] == key[ptr[k] + j]:
                mass += class_count[first + end]
                end += 1
            for i in range(j, end):
                prob[ptr[k] + i] = mass / ((end - j) * total) if total > 0 else 0.0
            j = end
