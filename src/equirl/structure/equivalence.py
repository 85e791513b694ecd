"""Which pairs of a known MDP behave alike: the exact equivalence structure (Definition 2).

(0, 0)-similarity of pairs is an equivalence relation; its classes are the equivalence structure. Probabilities such
as 1 - 0.7 - 0.1 - 0.1 are rounded, so exactness has a tolerance: classes are the connected components of "within
tolerance". For larger eps similarity is not transitive, and no partition is offered.

Components are found without comparing all pairs. Equal points (profile and mean) are merged first. A weighted sum of
a point's coordinates, weights at most 1, moves by at most the distance between two points; so with points sorted by
that sum, everything within tolerance of a point lies in a short window around it.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.reward_distributions import original_rewards
from equirl.model.rows import Rows
from equirl.numerics.compiling import kernel
from equirl.structure.partition import Partition
from equirl.structure.similarity import TOLERANCE, profile_l1, profile_of, profiles, projection, sorted_masses
from equirl.words.answer_units import InUnits
from equirl.words.checking import between, flag
from equirl.words.formatting import counted, number

Tolerance = float | Literal["auto"]
LADDER = tuple(10.0**-k for k in range(9, 1, -1))  # tolerances that "auto" tries
ROUNDING = 1e-12  # far above the rounding of a projection, far below any distance that matters


class SeparationError(ValueError):
    """At this tolerance classes run into each other: pairs far apart are linked by others in between."""


def equivalence_classes(mdp: TabularMDP, rewards: bool = True, tolerance: Tolerance = TOLERANCE) -> Partition:
    """The equivalence structure of a known MDP: pairs of the same profile and mean reward share a class.

    Classes are the connected components of "profiles within ``tolerance`` in L1, means within ``tolerance``".
    O(n log n) in the number of stored successors, unless many pairs differ by about the tolerance.

    Parameters
    ----------
    mdp : TabularMDP
        A known MDP.
    rewards : bool, default True
        Whether mean rewards count; with False transition probabilities alone are compared.
    tolerance : float or "auto", default 1e-9
        What is taken as equal. Families that vary smoothly, such as demand with a long tail cut off here and there,
        may need more, or, where pairs lie ever closer together, less. ``"auto"`` takes the least of 1e-9, 1e-8, ...,
        1e-2 at which classes are separate (:func:`separating_tolerance`).

    Raises
    ------
    ValueError
        If a component is wider than ten tolerances: nothing at that scale deserves to be called equal.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> equivalence_classes(mdp).n_classes, equivalence_classes(mdp, rewards=False).n_classes
    (2, 1)
    """
    check_mdp(mdp)
    rewards = flag("rewards", rewards)
    if isinstance(tolerance, str):
        if tolerance != "auto":
            raise TypeError(f"tolerance must be a number or 'auto', not {tolerance!r}")
        tolerance = separating_tolerance(mdp, rewards)
    tolerance = between("tolerance", tolerance, most=2)
    points = sorted_masses(mdp.rows)
    means = mdp.r_mean.copy() if rewards else np.zeros(mdp.n_pairs)
    height = projection(points) + math.sqrt(0.5) * means
    order = np.argsort(height, kind="stable")
    new = np.empty(mdp.n_pairs, bool)
    _differ(points, means, order, new)
    distinct = order[new]  # one pair, the first, of each run of equal points
    component, window = np.empty(len(distinct), np.int64), (1.0 + math.sqrt(0.5)) * tolerance + ROUNDING
    _spread(points, means, distinct, height[distinct], window, tolerance, component)
    _check_widths(mdp, points, means, distinct, component, tolerance)
    label = np.empty(mdp.n_pairs, np.int64)
    label[order] = component[np.cumsum(new) - 1]
    return Partition.from_labels(label)


def separating_tolerance(mdp: TabularMDP, rewards: bool = True) -> float:
    """The least of the tolerances 1e-9, 1e-8, ..., 1e-2 at which the classes of an MDP are separate.

    Separate: no class is wider than ten tolerances, while any two are more than one apart. Several tolerances may
    separate classes, coarser and coarser ones; this is where to start looking, not the one right answer.
    """
    for tolerance in LADDER[:-1]:
        try:
            equivalence_classes(mdp, rewards, tolerance)
        except SeparationError:
            continue
        return tolerance
    equivalence_classes(mdp, rewards, LADDER[-1])
    return LADDER[-1]


@kernel
def _differ(points: Rows, means: np.ndarray, order: np.ndarray, out: np.ndarray) -> None:
    """``out``: whether each point, along the ``order``, is another than the one before it."""
    for i in range(len(order)):
        out[i] = i == 0 or _apart(points, means, order[i], order[i - 1]) > 0


@kernel
def _apart(points: Rows, means: np.ndarray, k: int, j: int) -> float:
    """The larger of the L1 distance of two profiles and the gap between their means."""
    return max(profile_l1(points, k, j), abs(means[k] - means[j]))


@kernel
def _next_free(free: np.ndarray, place: int) -> int:
    """The first place from ``place`` on that no component has taken; ``free`` is shortened on the way."""
    while free[place] != place:
        free[place] = free[free[place]]
        place = free[place]
    return place


@kernel
def _spread(
    points: Rows,
    means: np.ndarray,
    order: np.ndarray,  # points by height
    height: np.ndarray,  # of each, increasing
    window: float,  # what is near a point is no further from it in height
    tolerance: float,
    out: np.ndarray,  # the component of each
) -> None:
    """Breadth-first over points within tolerance of each other; a taken place is never looked at again."""
    n = len(order)
    free = np.arange(n + 1)
    queue, left = np.empty(n, np.int64), np.empty(n, np.int64)
    first = 0
    for place in range(n):
        while height[first] < height[place] - window:
            first += 1
        left[place] = first
    for start in range(n):
        if free[start] != start:
            continue
        free[start] = start + 1
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            here = queue[head]
            head += 1
            k = order[here]
            out[here] = start
            place = _next_free(free, left[here])
            while place < n and height[place] <= height[here] + window:
                j = order[place]
                if abs(means[k] - means[j]) <= tolerance and _apart(points, means, k, j) <= tolerance:
                    free[place] = place + 1
                    queue[tail] = place
                    tail += 1
                place = _next_free(free, place + 1)


def _check_widths(
    mdp: TabularMDP, points: Rows, means: np.ndarray, pairs: np.ndarray, component: np.ndarray, tolerance: float
) -> None:
    """An error where a component's diameter exceeds ten tolerances, naming two of its pairs that lie so far apart."""
    several = np.flatnonzero(np.bincount(component)[component] > 1)  # a point alone has no width
    several = several[np.argsort(component[several], kind="stable")]
    edges = np.flatnonzero(np.diff(component[several], prepend=-1, append=-1))
    far = np.empty(2, np.int64)
    if not _too_wide(points, means, pairs[several], edges, 10 * tolerance + ROUNDING, far):
        return
    one, other = sorted(far.tolist())
    apart = _apart(points, means, far[0], far[1])
    raise SeparationError(
        f"({mdp.pairs.describe(one)}) and ({mdp.pairs.describe(other)}) are linked by pairs within tolerance "
        f"{tolerance:g} of each other, yet lie {apart:.3g} apart: the tolerance does not separate classes here; "
        f"try tolerance={tolerance / 100:.0e} to tell them apart, or {apart:.0e} to take them as equal; "
        "tolerance='auto' looks for one that separates"
    )


@kernel
def _too_wide(
    points: Rows,
    means: np.ndarray,
    order: np.ndarray,  # points by component
    edges: np.ndarray,  # where each component begins in it
    limit: float,
    far: np.ndarray,  # out: two points farther apart than the limit
) -> bool:
    """Whether a component's diameter, at most twice the distance from one point to its farthest, exceeds the limit."""
    for c in range(len(edges) - 1):
        first, last = edges[c], edges[c + 1]
        for k in range(first, last):
            widest = 0.0
            for j in range(k + 1, last):
                apart = _apart(points, means, order[k], order[j])
                widest = max(widest, apart)
                if apart > limit:
                    far[0], far[1] = order[k], order[j]
                    return True
            if k == first and 2 * widest <= limit:
                break
    return False


class Separation(NamedTuple):
    """How far apart classes of transition probabilities are; infinite where there is nothing to compare."""

    profiles: float
    means: InUnits[float]


def separation(mdp: TabularMDP, tolerance: float = TOLERANCE) -> InUnits[Separation]:
    """How far apart the classes of transition probabilities are, and the mean rewards inside them.

    Distances are between the first pairs of the classes, so good to the tolerance; means are in the units of the
    problem. Memory is O(M).

    Parameters
    ----------
    mdp : TabularMDP
        A known MDP.
    tolerance : float, default 1e-9
        What is taken as equal.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8], [0.5, 0.5]], [[0.8, 0.2], [0.5, 0.5]]], [[0.0, 0.3], [0.25, 0.3]])
    >>> apart, means = separation(mdp)
    >>> round(apart, 12), means
    (0.6, 0.25)
    """
    classes = equivalence_classes(mdp, rewards=False, tolerance=tolerance)
    _, first = np.unique(classes.label, return_index=True)
    points = profiles(mdp).take(first)
    height = projection(points)
    order = np.argsort(height, kind="stable")
    order_by_mean = np.lexsort((mdp.r_mean, classes.label))
    gap = np.diff(mdp.r_mean[order_by_mean])
    inside = (np.diff(classes.label[order_by_mean]) == 0) & (gap > tolerance)
    least = mdp.reward_map[0] * float(gap[inside].min(initial=math.inf))
    return Separation(float(_closest(points, order, height[order])), least)


@kernel
def _closest(points: Rows, order: np.ndarray, height: np.ndarray) -> float:
    """Smallest L1 distance between two points; differences of ``height``, increasing along ``order``, are no larger."""
    best = np.inf
    for k in range(len(order)):
        for j in range(k + 1, len(order)):
            if height[j] - height[k] > best:
                break
            best = min(best, profile_l1(points, order[k], order[j]))
    return best


DECIMALS = 8  # profiles and means that agree to so many are shown as one


class ClassSummary(NamedTuple):
    """What the pairs of a class have in common. What they do not share is counted, never shown as theirs."""

    label: int
    size: int
    first: int  # the pair with the smallest number
    profile: np.ndarray  # of the first pair
    n_profiles: int  # different ones among its pairs
    least_mean: float  # in the user's units
    largest_mean: float

    def profile_text(self, most: int = 6) -> str:
        """The profile that all pairs share, or how many different ones there are."""
        if self.n_profiles > 1:
            return f"{self.n_profiles} different"
        return " ".join(f"{p:.4g}" for p in self.profile[:most]) + (" ..." if len(self.profile) > most else "")

    def reward_text(self) -> str:
        """The mean reward that all pairs share, or the least and the largest; in the user's units."""
        low, high = number(self.least_mean, 4), number(self.largest_mean, 4)
        return low if low == high else f"{low} to {high}"

    def __str__(self) -> str:
        profile = f"{self.n_profiles} different profiles" if self.n_profiles > 1 else f"profile {self.profile_text(4)}"
        paid = f", reward {self.reward_text()}" if self.largest_mean or self.least_mean else ""
        return f"{self.label}: {counted(self.size, 'pair')}, {profile}{paid}"


def summarise_class(mdp: TabularMDP, partition: Partition, label: int) -> ClassSummary:
    """What the pairs of a class truly share: of classes that were learned perhaps not much."""
    members = np.flatnonzero(partition.label == label)
    scale = mdp.reward_map[0]
    means = np.round(original_rewards(mdp.r_mean[members], mdp.reward_map) / scale, DECIMALS) * scale + 0.0
    different = {np.round(profile_of(mdp, k), DECIMALS).tobytes() for k in members.tolist()}
    first = int(members[0])
    return ClassSummary(
        label, len(members), first, profile_of(mdp, first), len(different), float(means.min()), float(means.max())
    )
