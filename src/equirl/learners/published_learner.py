"""C-UCRL as published and as programmed: the learner behind the paper's curves. Reproduction is its only use.

*As published* are the unstated choices named in docs/definitions.md. *As programmed* adds two more that the program
behind the curves makes: the nearest neighbour by the larger of the distances of transition probabilities and of means
(``nearest_by="law_and_mean"``), and tied successors as an unstable quicksort leaves them (``ties="quicksort"``).

That sort (median of three, short runs by insertion: that of NumPy at the time) leaves equal values not by number, but
as its swaps happen to fall. States never reached all tie at zero, so the published figures depend on the swaps; here
they are made the same way on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equirl.clustering.approximate_equivalence import NEARNESS
from equirl.clustering.clusters import Rules
from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import PLACEMENTS, ClassCounts, Placed, Placement, place_in_order
from equirl.learners.estimates import EmpiricalPool
from equirl.learners.parts import Estimate, Problem
from equirl.learners.recipes import Settings
from equirl.learners.structures import EstimatedClasses, clustering_rules
from equirl.numerics.compiling import inlined, kernel
from equirl.words.checking import choice

SHORT = 15  # a run whose ends are no further apart is left to insertion


@kernel
def quicksort_order(values: np.ndarray, order: np.ndarray) -> None:
    """Write into ``order`` the places of ``values`` by rising value, ties as the sort leaves them. O(n log n)."""
    for i in range(len(values)):
        order[i] = i
    waiting, n_waiting = np.empty((64, 2), np.int64), 1  # the longer part waits, so 64 are plenty
    waiting[0, 0], waiting[0, 1] = 0, len(values) - 1
    while n_waiting > 0:
        n_waiting -= 1
        first, last = waiting[n_waiting, 0], waiting[n_waiting, 1]
        while last - first > SHORT:
            pivot = _split(values, order, first, last)
            if pivot - first < last - pivot:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = pivot + 1, last
                last = pivot - 1
            else:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = first, pivot - 1
                first = pivot + 1
            n_waiting += 1
        _insert(values, order, first, last)


@inlined
def _split(values: np.ndarray, order: np.ndarray, first: int, last: int) -> int:
    """Part a run around the median of its first, middle and last value; returns where that one comes to stand."""
    middle = first + (last - first) // 2
    for low, high in ((first, middle), (middle, last), (first, middle)):
        if values[order[high]] < values[order[low]]:
            order[low], order[high] = order[high], order[low]
    pivot = values[order[middle]]
    up, down = first, last - 1
    order[middle], order[down] = order[down], order[middle]
    while True:
        up += 1
        while values[order[up]] < pivot:
            up += 1
        down -= 1
        while pivot < values[order[down]]:
            down -= 1
        if up >= down:
            break
        order[up], order[down] = order[down], order[up]
    order[up], order[last - 1] = order[last - 1], order[up]
    return up


@inlined
def _insert(values: np.ndarray, order: np.ndarray, first: int, last: int) -> None:
    for i in range(first + 1, last + 1):
        place, k = order[i], i
        while k > first and values[place] < values[order[k - 1]]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = place


def place_by_quicksort(seen: Snapshot, pooled: ClassCounts, n_states: int) -> Placed:
    """``"quicksort"``: all states of a pair by decreasing count, ties as a quicksort leaves them. O(M S log S)."""
    return place_in_order(seen, pooled, n_states, _order_by_quicksort)


@kernel
def _order_by_quicksort(seen: Snapshot, n_states: int, ptr: np.ndarray, succ: np.ndarray) -> None:
    seen_ptr, seen_succ, seen_count = seen.ptr, seen.succ, seen.count
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


@dataclass(frozen=True)
class PublishedClasses(EstimatedClasses):
    """Estimated classes, nearest by distribution or by the larger of the distances of distribution and mean."""

    nearest_by: str = "law"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("nearest_by", self.nearest_by, NEARNESS)

    def check_with(self, settings: Settings) -> None:
        if self.nearest_by == "law_and_mean" and not settings.part(Estimate).pool_rewards:
            raise ValueError(
                f"nearest_by='law_and_mean' compares means: it needs rewards='per_class', not {settings.rewards!r}"
            )

    def rules(self, problem: Problem) -> Rules | None:
        return clustering_rules(self, problem, radius=self.radius, nearest_by=self.nearest_by)


@dataclass(frozen=True)
class PublishedPool(EmpiricalPool):
    """Pooled through the empirical profiles, unseen successors in an order of the program's own."""

    placements: ClassVar[dict[str, Placement]] = {**PLACEMENTS, "quicksort": place_by_quicksort}
