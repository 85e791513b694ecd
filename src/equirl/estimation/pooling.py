"""Estimates of transition probabilities and mean rewards, by pair or pooled over classes (equations 4-7 of the paper).

Pooled: ``p_hat(j | c) = (1 / n(c)) sum over (s,a) in c of count of sigma_{s,a}(j)`` by position j of the profile (that
seen so far, or a given one), summed in integers and divided once; the estimate of (s,a) then gives state
sigma_{s,a}(j) the mass p_hat(j | c); successors seen equally often share theirs evenly (but for "index"), for their
order is arbitrary. What comes out has the type of ordinary estimates, so planning and simulation never learn that
classes exist; of what follows only radii and stopping read labels.

The states that a pair was never seen to reach all tie at zero; a *placement* says what becomes of the class's mass at
positions beyond the pair's observed successors: by default it is cut off and the row brought to one (``PLACEMENTS``;
docs/definitions.md, "Ties").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.model.rows import Rows, contains, place_of
from equirl.numerics.arrays import places_in_rows, starts, take_rows
from equirl.numerics.compiling import kernel
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles


class Grouping(NamedTuple):
    """Which pairs are pooled."""

    label: np.ndarray  # (M,) int64, in 0 .. n_groups - 1
    n_groups: int  # classes, or balanced parts of classes that are given

    @classmethod
    def of(cls, classes: Partition) -> Grouping:
        """Classes that are given, in an array to write to: kernels would compile anew for a read-only one."""
        return cls(classes.label.copy(), classes.n_classes)


class Estimates(NamedTuple):
    """Transition probabilities and means by pair. A pair with ``samples`` 0 knows nothing; its row may be empty."""

    rows: Rows
    samples: np.ndarray  # (M,) samples behind the row
    r_hat: np.ndarray  # (M,)
    r_samples: np.ndarray  # (M,) samples behind the mean
    spare: Spare | None = None  # masses placed on no state yet


def estimate(seen: Snapshot) -> Estimates:
    """Each pair on its own: p_hat and mu_hat."""
    visits = seen.visits
    prob = seen.count / np.repeat(visits, np.diff(seen.ptr))
    return Estimates(Rows(seen.ptr, seen.succ, prob), visits, _ratio(seen.r_sum, visits), visits)


def pool(
    seen: Snapshot, groups: Grouping, n_states: int, *, place: Placement | None = None, means: Grouping | None
) -> Estimates:
    """Pool over classes through the empirical profiles (equation 7). O(pairs + successors) but for some placements.

    ``means``: the groups over which mean rewards are pooled; None: each pair has its own.
    """
    pooled = pooled_positions(seen, groups)
    placed = (place or place_observed)(seen, pooled, n_states)
    samples = np.where(seen.visits > 0, pooled.visits[groups.label], 0)
    return Estimates(placed.rows, samples, *_means(seen, means, samples), placed.spare)


def pool_given(
    seen: Snapshot, groups: Grouping, profiles: Profiles, tie: np.ndarray, *, means: Grouping | None
) -> Estimates:
    """Pool over given classes through given profiles (equation 4); positions of one ``tie`` group share their mass.

    ``tie[i]`` is the first position of the group that entry i of ``profiles`` belongs to (see :func:`tie_groups`).
    An observed successor outside a pair's given support is an error that names it.
    """
    pooled = count_by_given_position(seen, groups, profiles)
    prob = np.empty(len(profiles.succ))
    read_back(profiles.ptr, tie, pooled, True, prob)
    samples = pooled.visits[groups.label]
    return Estimates(Rows(profiles.ptr, profiles.succ, prob), samples, *_means(seen, means, samples))


def _means(seen: Snapshot, groups: Grouping | None, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and the samples behind them; pooled, a pair without samples of its row has none."""
    if groups is None:
        return _ratio(seen.r_sum, seen.visits), seen.visits
    class_sum = np.bincount(groups.label, weights=seen.r_sum, minlength=groups.n_groups)
    class_visits = class_sums(groups, seen.visits)
    r_samples = np.where(samples > 0, class_visits[groups.label], 0)
    return np.where(r_samples > 0, _ratio(class_sum, class_visits)[groups.label], 0.0), r_samples


def reward_variance(seen: Snapshot, means: Grouping | None, estimates: Estimates) -> np.ndarray:
    """(M,) the empirical variance of the rewards behind each mean."""
    squares = seen.r_squares
    if means is not None:
        squares = np.bincount(means.label, weights=squares, minlength=means.n_groups)[means.label]
    return np.maximum(_ratio(squares, estimates.r_samples) - estimates.r_hat**2, 0.0)


def _ratio(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.divide(total, n, out=np.zeros(len(n)), where=n > 0)


# --- counts by position of the profile, and back to pairs


class ClassCounts(NamedTuple):
    """Counts by position of the profile, summed over each class: those of class c in ``count[ptr[c]:ptr[c + 1]]``."""

    label: np.ndarray  # (M,) the class of each pair
    ptr: np.ndarray  # (C + 1,)
    count: np.ndarray  # type: ignore[assignment]  # int64
    visits: np.ndarray  # (C,) int64


def pooled_positions(seen: Snapshot, groups: Grouping) -> ClassCounts:
    ptr = class_starts(seen.ptr, groups)
    pooled = ClassCounts(groups.label, ptr, np.zeros(ptr[-1], np.int64), class_sums(groups, seen.visits))
    _add_positions(seen.ptr, seen.count, pooled)
    return pooled


def count_by_given_position(seen: Snapshot, groups: Grouping, profiles: Profiles) -> ClassCounts:
    """Counts by position of the given profiles, summed over each class; a successor outside them is an error."""
    ptr = class_starts(profiles.ptr, groups)
    pooled = ClassCounts(groups.label, ptr, np.zeros(ptr[-1], np.int64), class_sums(groups, seen.visits))
    stray = _count_given(seen, profiles.ptr, profiles.succ, pooled)
    if stray >= 0:
        pair = int(np.searchsorted(seen.ptr, stray, side="right")) - 1
        raise ValueError(f"pair {pair} was seen to reach state {seen.succ[stray]}, outside its given profile")
    return pooled


def tie_groups(profiles: Profiles, label: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """For each entry of the profiles, the first position of the group of equal probabilities it belongs to.

    A pair alone in its class (``label``) has no ties: nothing is pooled, no order is chosen, p_hat stays as it is.
    """
    position = places_in_rows(profiles.ptr)
    fresh = np.repeat(np.bincount(label)[label] == 1, np.diff(profiles.ptr))
    fresh[1:] |= (position[1:] == 0) | (profiles.prob[:-1] - profiles.prob[1:] > tolerance)
    return position[np.maximum.accumulate(np.where(fresh, np.arange(len(position)), 0))]


def class_starts(ptr: np.ndarray, groups: Grouping) -> np.ndarray:
    """Where each class's positions begin: as many as its longest row has."""
    length = np.zeros(groups.n_groups, np.int64)
    np.maximum.at(length, groups.label, np.diff(ptr))
    return starts(length)


def class_sums(groups: Grouping, visits: np.ndarray) -> np.ndarray:
    """(C,) visits added up over each group."""
    out = np.zeros(groups.n_groups, np.int64)
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
def _count_given(seen: Snapshot, ptr: np.ndarray, succ: np.ndarray, pooled: ClassCounts) -> int:
    """Sum counts by given position; the entry of a successor outside the given profile, or -1."""
    seen_ptr, seen_succ, seen_count = seen.ptr, seen.succ, seen.count
    label, class_ptr, class_count, _ = pooled
    for k in range(len(label)):
        for i in range(seen_ptr[k], seen_ptr[k + 1]):
            j = place_of(succ, ptr[k], ptr[k + 1], seen_succ[i])
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


# --- placements: which states take the masses of positions


class Spare(NamedTuple):
    """Masses of rows placed on no state yet: those of row k, for positions beyond its observed successors."""

    ptr: np.ndarray  # (M + 1,)
    mass: np.ndarray  # largest first in each row

    def take(self, pairs: np.ndarray) -> Spare | None:
        """Those of some rows alone, in the order given; None where these have none."""
        ptr, entry = take_rows(self.ptr, pairs)
        return Spare(ptr, self.mass[entry]) if len(entry) else None


class Placed(NamedTuple):
    rows: Rows
    spare: Spare | None = None


Placement = Callable[[Snapshot, ClassCounts, int], Placed]


def place_observed(seen: Snapshot, pooled: ClassCounts, n_states: int) -> Placed:
    """``"support"``: as many positions as the pair has observed successors, brought to mass one."""
    prob = np.empty(len(seen.succ))
    read_back(seen.ptr, seen.count, pooled, True, prob)
    return Placed(Rows(seen.ptr, seen.succ, prob))


def place_later(seen: Snapshot, pooled: ClassCounts, n_states: int) -> Placed:
    """``"optimistic"``: the masses beyond the observed successors are spare; planning places them."""
    prob = np.empty(len(seen.succ))
    read_back(seen.ptr, seen.count, pooled, False, prob)
    size = np.diff(seen.ptr)
    left = np.where(seen.visits > 0, np.diff(pooled.ptr)[pooled.label] - size, 0)
    spare_ptr = starts(left)
    spare = np.empty(spare_ptr[-1])
    _spare_masses(size, pooled, spare_ptr, spare)
    return Placed(Rows(seen.ptr, seen.succ, prob), Spare(spare_ptr, spare) if len(spare) else None)


def place_by_index(seen: Snapshot, pooled: ClassCounts, n_states: int) -> Placed:
    """``"index"``: the observed successors, then the other states, highest number first."""
    return place_in_order(seen, pooled, n_states, _order_by_index)


def place_in_order(
    seen: Snapshot, pooled: ClassCounts, n_states: int, order: Callable[[Snapshot, int, np.ndarray, np.ndarray], None]
) -> Placed:
    """Every position of the class on a state of its own; ``order(seen, n_states, ptr, succ)`` writes which."""
    length = np.where(seen.visits > 0, np.diff(pooled.ptr)[pooled.label], 0)
    ptr = starts(length)
    succ, prob = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])
    order(seen, n_states, ptr, succ)
    _masses_by_position(pooled, ptr, prob)
    return Placed(Rows(ptr, succ, prob))


PLACEMENTS: dict[str, Placement] = {
    "support": place_observed,
    "optimistic": place_later,
    "index": place_by_index,
}


@kernel
def _spare_masses(size: np.ndarray, pooled: ClassCounts, spare_ptr: np.ndarray, spare: np.ndarray) -> None:
    label, class_ptr, class_count, class_visits = pooled
    for k in range(len(label)):
        c = label[k]
        for i in range(spare_ptr[k + 1] - spare_ptr[k]):
            spare[spare_ptr[k] + i] = class_count[class_ptr[c] + size[k] + i] / class_visits[c]


@kernel
def _order_by_index(seen: Snapshot, n_states: int, ptr: np.ndarray, succ: np.ndarray) -> None:
    seen_ptr, seen_succ = seen.ptr, seen.succ
    for k in range(len(ptr) - 1):
        size, unseen = seen_ptr[k + 1] - seen_ptr[k], n_states
        for j in range(ptr[k + 1] - ptr[k]):
            if j < size:
                succ[ptr[k] + j] = seen_succ[seen_ptr[k] + j]
                continue
            unseen -= 1
            while contains(seen_succ, seen_ptr[k], seen_ptr[k + 1], unseen):
                unseen -= 1
            succ[ptr[k] + j] = unseen


@kernel
def _masses_by_position(pooled: ClassCounts, ptr: np.ndarray, prob: np.ndarray) -> None:
    label, class_ptr, class_count, class_visits = pooled
    for k in range(len(label)):
        first, total = class_ptr[label[k]], class_visits[label[k]]
        for j in range(ptr[k + 1] - ptr[k]):
            prob[ptr[k] + j] = class_count[first + j] / total
