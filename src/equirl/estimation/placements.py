"""Placements: where the mass of a class goes in a pair that has not seen all of it.

The states that a pair was never seen to reach all tie at zero; a *placement* says what becomes of the class's mass at
positions beyond the pair's observed successors (``PLACEMENTS``; docs/definitions.md, "Ties").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equirl.estimation.class_counts import ClassCounts, read_back
from equirl.estimation.counts import Snapshot
from equirl.numerics.arrays import starts
from equirl.numerics.compiling import kernel, lean_kernel


class Placed(NamedTuple):
    """Pooled masses on states: row k in ``succ[ptr[k]:ptr[k + 1]]``.

    ``spare`` holds masses not yet placed on a state (positions beyond the observed successors, largest first).
    """

    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,)
    prob: np.ndarray  # (nnz,)
    spare_ptr: np.ndarray  # (M + 1,) or (1,) where nothing is spare
    spare: np.ndarray


Placement = Callable[[Snapshot, ClassCounts, int], Placed]
NOTHING_SPARE = np.zeros(1, np.int64), np.zeros(0)


def place_observed(seen: Snapshot, pooled: ClassCounts, n_states: int) -> Placed:
    """``"support"``: as many positions as the pair has observed successors, brought to mass one."""
    prob = np.empty(len(seen.succ))
    read_back(seen.ptr, seen.count, pooled, True, prob)
    return Placed(seen.ptr, seen.succ, prob, *NOTHING_SPARE)


def place_later(seen: Snapshot, pooled: ClassCounts, n_states: int) -> Placed:
    """``"optimistic"``: the masses beyond the observed successors are spare; planning places them."""
    prob = np.empty(len(seen.succ))
    read_back(seen.ptr, seen.count, pooled, False, prob)
    size = np.diff(seen.ptr)
    left = np.where(seen.visits > 0, np.diff(pooled.ptr)[pooled.label] - size, 0)
    spare_ptr = starts(left)
    spare = np.empty(spare_ptr[-1])
    _spare_masses(size, pooled, spare_ptr, spare)
    return Placed(seen.ptr, seen.succ, prob, spare_ptr, spare)


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
    return Placed(ptr, succ, prob, *NOTHING_SPARE)


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


@lean_kernel
def contains(values: np.ndarray, first: int, last: int, wanted: int) -> bool:
    """Whether ``wanted`` is among ``values[first:last]``."""
    for i in range(first, last):  # noqa: SIM110 - any() is not compiled
        if values[i] == wanted:
            return True
    return False
