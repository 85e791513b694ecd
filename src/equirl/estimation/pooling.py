"""Estimates of laws and means, by pair or pooled over classes and read back to pairs (equations 4-7 of the paper).

Pooled: ``p_hat(j | c) = (1 / n(c)) sum over (s,a) in c of count of sigma_{s,a}(j)`` by position j of the profile,
summed in integers and divided once; the law of (s,a) then gives state sigma_{s,a}(j) the mass p_hat(j | c). What
comes out has the type of ordinary estimates, so nothing downstream knows that classes exist.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.core.compiling import kernel
from equirl.estimation.counts import Snapshot
from equirl.estimation.quicksort import quicksort_order
from equirl.structure.profiles import Profiles


class Estimates(NamedTuple):
    """Laws and means by pair. A pair with ``samples`` 0 knows nothing; its row may be empty.

    ``spare`` holds masses of the law not yet placed on a state (positions beyond the pair's observed successors,
    largest first); empty rows but under ``ties="optimistic"``.
    """

    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,)
    prob: np.ndarray  # (nnz,)
    samples: np.ndarray  # (M,) samples behind the law
    r_hat: np.ndarray  # (M,)
    r_samples: np.ndarray  # (M,) samples behind the mean
    spare_ptr: np.ndarray  # (M + 1,) or (1,) where nothing is spare
    spare: np.ndarray


NOTHING_SPARE = np.zeros(1, np.int64), np.zeros(0)


def estimate(seen: Snapshot) -> Estimates:
    """Each pair on its own: p_hat and mu_hat."""
    visits = seen.visits
    prob = seen.count / np.repeat(visits, np.diff(seen.ptr))
    return Estimates(seen.ptr, seen.succ, prob, visits, _ratio(seen.r_sum, visits), visits, *NOTHING_SPARE)


def pool(
    seen: Snapshot, label: np.ndarray, n_classes: int, n_states: int, *, ties: str = "support", pool_rewards: bool
) -> Estimates:
    """Pool over classes through the empirical profiles (equation 7); ``ties`` as SPEC's D3. O(pairs + successors).

    A pair never visited keeps a free law, whatever its class. ``ties="quicksort"``, the order of the published
    program, sorts all states of each pair: O(pairs S log S).
    """
    size = np.diff(seen.ptr)
    class_ptr, class_count = pooled_positions(seen.ptr, seen.count, label, n_classes)
    class_visits = _class_sums(label, seen.visits, n_classes)
    spare_ptr, spare = NOTHING_SPARE
    if ties in ("index", "quicksort"):
        length = np.where(seen.visits > 0, np.diff(class_ptr)[label], 0)
        ptr = np.concatenate([[0], np.cumsum(length)])
        succ, prob = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])
        if ties == "index":
            _place_by_index(seen.ptr, seen.succ, n_states, ptr, succ)
        else:
            _place_by_quicksort(seen.ptr, seen.succ, seen.count, n_states, ptr, succ)
        _masses_by_position(label, class_ptr, class_count, class_visits, ptr, prob)
    else:
        ptr, succ, prob = seen.ptr, seen.succ, np.empty(len(seen.succ))
        cut = ties == "support"
        _read_back(seen.ptr, seen.count, label, class_ptr, class_count, class_visits, cut, prob)
        if not cut:
            left = np.where(seen.visits > 0, np.diff(class_ptr)[label] - size, 0)
            spare_ptr = np.concatenate([[0], np.cumsum(left)])
            spare = np.empty(spare_ptr[-1])
            _spare_masses(size, label, class_ptr, class_count, class_visits, spare_ptr, spare)
    samples = np.where(seen.visits > 0, class_visits[label], 0)
    means = _means(seen, label, n_classes, samples, class_visits, pool_rewards)
    return Estimates(ptr, succ, prob, samples, *means, spare_ptr, spare)


def pool_known(
    seen: Snapshot, label: np.ndarray, n_classes: int, profiles: Profiles, tie: np.ndarray, *, pool_rewards: bool
) -> Estimates:
    """Pool over known classes through known profiles (equation 4); positions of one ``tie`` group share their mass.

    ``tie[i]`` is the first position of the group that entry i of ``profiles`` belongs to (see :func:`tie_groups`).
    An observed successor outside a pair's known support is an error that names it.
    """
    size = np.diff(profiles.ptr)
    length = np.zeros(n_classes, np.int64)
    np.maximum.at(length, label, size)
    class_ptr = np.concatenate([[0], np.cumsum(length)])
    class_count = np.zeros(class_ptr[-1], np.int64)
    stray = _count_known(seen.ptr, seen.succ, seen.count, profiles.ptr, profiles.succ, label, class_ptr, class_count)
    if stray >= 0:
        pair = int(np.searchsorted(seen.ptr, stray, side="right")) - 1
        raise ValueError(f"pair {pair} was seen to reach state {seen.succ[stray]}, outside its known profile")
    class_visits = _class_sums(label, seen.visits, n_classes)
    prob = np.empty(len(profiles.succ))
    _read_back(profiles.ptr, tie, label, class_ptr, class_count, class_visits, False, prob)
    samples = class_visits[label]
    means = _means(seen, label, n_classes, samples, class_visits, pool_rewards)
    return Estimates(profiles.ptr, profiles.succ, prob, samples, *means, *NOTHING_SPARE)


def tie_groups(profiles: Profiles, label: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """For each entry of the profiles, the first position of the group of equal probabilities it belongs to.

    A pair alone in its class (``label``) has no ties: nothing is pooled, no order is chosen, p_hat stays as it is.
    """
    size = np.diff(profiles.ptr)
    position = np.arange(len(profiles.prob)) - np.repeat(profiles.ptr[:-1], size)
    fresh = np.repeat(np.bincount(label)[label] == 1, size)
    fresh[1:] |= (position[1:] == 0) | (profiles.prob[:-1] - profiles.prob[1:] > tolerance)
    return position[np.maximum.accumulate(np.where(fresh, np.arange(len(position)), 0))]


def pooled_positions(
    ptr: np.ndarray, count: np.ndarray, label: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Counts by position summed over each class: rows by class."""
    length = np.zeros(n_classes, np.int64)
    np.maximum.at(length, label, np.diff(ptr))
    class_ptr = np.concatenate([[0], np.cumsum(length)])
    class_count = np.zeros(class_ptr[-1], np.int64)
    _add_positions(ptr, count, label, class_ptr, class_count)
    return class_ptr, class_count


@kernel
def _add_positions(
    ptr: np.ndarray, count: np.ndarray, label: np.ndarray, class_ptr: np.ndarray, class_count: np.ndarray
) -> None:
    for k in range(len(label)):
        first = class_ptr[label[k]]
        for j in range(ptr[k + 1] - ptr[k]):
            class_count[first + j] += count[ptr[k] + j]


@kernel
def _read_back(
    ptr: np.ndarray, key: np.ndarray, label: np.ndarray, class_ptr: np.ndarray, class_count: np.ndarray,
    class_visits: np.ndarray, cut: bool, prob: np.ndarray,
) -> None:  # fmt: skip
    """Give each pair's entries the masses of their positions; entries of one ``key`` share. ``cut``: sum to one."""
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


@kernel
def _spare_masses(
    size: np.ndarray, label: np.ndarray, class_ptr: np.ndarray, class_count: np.ndarray, class_visits: np.ndarray,
    spare_ptr: np.ndarray, spare: np.ndarray,
) -> None:  # fmt: skip
    for k in range(len(label)):
        c = label[k]
        for i in range(spare_ptr[k + 1] - spare_ptr[k]):
            spare[spare_ptr[k] + i] = class_count[class_ptr[c] + size[k] + i] / class_visits[c]


@kernel
def _place_by_index(
    seen_ptr: np.ndarray, seen_succ: np.ndarray, n_states: int, ptr: np.ndarray, succ: np.ndarray
) -> None:
    """The states of each row: the observed successors, then the others, highest number first."""
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
def _place_by_quicksort(
    seen_ptr: np.ndarray, seen_succ: np.ndarray, seen_count: np.ndarray, n_states: int, ptr: np.ndarray,
    succ: np.ndarray,
) -> None:  # fmt: skip
    """The states of each row by decreasing count, ties as a quicksort of all states leaves them."""
    count, order = np.zeros(n_states, np.int64), np.empty(n_states, np.int64)
    for k in range(len(ptr) - 1):
        if ptr[k] == ptr[k + 1]:
            continue
        for i in range(seen_ptr[k], seen_ptr[k + 1]):
            count[seen_succ[i]] = seen_count[i]
        quicksort_order(count, order)
        for j in range(ptr[k + 1] - ptr[k]):
            succ[ptr[k] + j] = order[n_states - 1 - j]
        for i in range(seen_ptr[k], seen_ptr[k + 1]):
            count[seen_succ[i]] = 0


@kernel
def _masses_by_position(
    label: np.ndarray, class_ptr: np.ndarray, class_count: np.ndarray, class_visits: np.ndarray, ptr: np.ndarray,
    prob: np.ndarray,
) -> None:  # fmt: skip
    for k in range(len(label)):
        first, total = class_ptr[label[k]], class_visits[label[k]]
        for j in range(ptr[k + 1] - ptr[k]):
            prob[ptr[k] + j] = class_count[first + j] / total


@kernel
def contains(values: np.ndarray, first: int, last: int, wanted: int) -> bool:
    """Whether ``wanted`` is among ``values[first:last]``."""
    for i in range(first, last):  # noqa: SIM110 - any() is not compiled
        if values[i] == wanted:
            return True
    return False


@kernel
def _count_known(
    seen_ptr: np.ndarray, seen_succ: np.ndarray, seen_count: np.ndarray, ptr: np.ndarray, succ: np.ndarray,
    label: np.ndarray, class_ptr: np.ndarray, class_count: np.ndarray,
) -> int:  # fmt: skip
    for k in range(len(label)):
        for i in range(seen_ptr[k], seen_ptr[k + 1]):
            j = ptr[k]
            while j < ptr[k + 1] and succ[j] != seen_succ[i]:
                j += 1
            if j == ptr[k + 1]:
                return i
            class_count[class_ptr[label[k]] + j - ptr[k]] += seen_count[i]
    return -1


def _means(
    seen: Snapshot, label: np.ndarray, n_classes: int, samples: np.ndarray, class_visits: np.ndarray, pooled: bool
) -> tuple[np.ndarray, np.ndarray]:
    if not pooled:
        return _ratio(seen.r_sum, seen.visits), seen.visits
    class_sum = np.bincount(label, weights=seen.r_sum, minlength=n_classes)
    return np.where(samples > 0, _ratio(class_sum, class_visits)[label], 0.0), samples


def _class_sums(label: np.ndarray, visits: np.ndarray, n_classes: int) -> np.ndarray:
    out = np.zeros(n_classes, np.int64)
    np.add.at(out, label, visits)
    return out


def _ratio(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.divide(total, n, out=np.zeros(len(n)), where=n > 0)
