"""Estimates of transition probabilities and mean rewards, by pair or pooled over classes (equations 4-7 of the paper).

Pooled: ``p_hat(j | c) = (1 / n(c)) sum over (s,a) in c of count of sigma_{s,a}(j)`` by position j of the profile,
summed in integers and divided once; the estimate of (s,a) then gives state sigma_{s,a}(j) the mass p_hat(j | c). What
comes out has the type of ordinary estimates, so nothing downstream knows that classes exist.

``class_counts`` adds counts up over classes, ``placements`` says where mass goes that a pair has not seen yet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.estimation.class_counts import (
    ClassCounts,
    Grouping,
    count_by_known_position,
    pooled_positions,
    read_back,
    tie_groups,
)
from equirl.estimation.counts import Snapshot
from equirl.estimation.placements import NOTHING_SPARE, PLACEMENTS, Placement, place_observed
from equirl.structure.similarity import Profiles

__all__ = [
    "PLACEMENTS", "ClassCounts", "Estimates", "Grouping", "Placement", "estimate", "pool", "pool_known",
    "reward_variance", "tie_groups",
]  # fmt: skip


class Estimates(NamedTuple):
    """Transition probabilities and means by pair. A pair with ``samples`` 0 knows nothing; its row may be empty."""

    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,)
    prob: np.ndarray  # (nnz,)
    samples: np.ndarray  # (M,) samples behind the row
    r_hat: np.ndarray  # (M,)
    r_samples: np.ndarray  # (M,) samples behind the mean
    spare_ptr: np.ndarray  # (M + 1,) or (1,) where nothing is spare
    spare: np.ndarray  # masses of the row not yet placed on a state, as in Placed


def estimate(seen: Snapshot) -> Estimates:
    """Each pair on its own: p_hat and mu_hat."""
    visits = seen.visits
    prob = seen.count / np.repeat(visits, np.diff(seen.ptr))
    return Estimates(seen.ptr, seen.succ, prob, visits, _ratio(seen.r_sum, visits), visits, *NOTHING_SPARE)


def pool(
    seen: Snapshot, groups: Grouping, n_states: int, *, place: Placement | None = None, pool_rewards: bool
) -> Estimates:
    """Pool over classes through the empirical profiles (equation 7). O(pairs + successors) but for some placements."""
    pooled = pooled_positions(seen, groups)
    placed = (place or place_observed)(seen, pooled, n_states)
    samples = np.where(seen.visits > 0, pooled.visits[groups.label], 0)
    means = _means(seen, groups, samples, pooled.visits, pool_rewards)
    return Estimates(placed.ptr, placed.succ, placed.prob, samples, *means, placed.spare_ptr, placed.spare)


def pool_known(
    seen: Snapshot, groups: Grouping, profiles: Profiles, tie: np.ndarray, *, pool_rewards: bool
) -> Estimates:
    """Pool over known classes through known profiles (equation 4); positions of one ``tie`` group share their mass.

    ``tie[i]`` is the first position of the group that entry i of ``profiles`` belongs to (see :func:`tie_groups`).
    An observed successor outside a pair's known support is an error that names it.
    """
    pooled = count_by_known_position(seen, groups, profiles)
    prob = np.empty(len(profiles.succ))
    read_back(profiles.ptr, tie, pooled, True, prob)
    samples = pooled.visits[groups.label]
    means = _means(seen, groups, samples, pooled.visits, pool_rewards)
    return Estimates(profiles.ptr, profiles.succ, prob, samples, *means, *NOTHING_SPARE)


def _means(
    seen: Snapshot, groups: Grouping, samples: np.ndarray, class_visits: np.ndarray, pooled: bool
) -> tuple[np.ndarray, np.ndarray]:
    if not pooled:
        return _ratio(seen.r_sum, seen.visits), seen.visits
    class_sum = np.bincount(groups.label, weights=seen.r_sum, minlength=groups.n_classes)
    return np.where(samples > 0, _ratio(class_sum, class_visits)[groups.label], 0.0), samples


def reward_variance(seen: Snapshot, groups: Grouping, estimates: Estimates, *, pooled: bool) -> np.ndarray:
    """(M,) the empirical variance of the rewards behind each mean."""
    squares = seen.r_squares
    if pooled:
        squares = np.bincount(groups.label, weights=squares, minlength=groups.n_classes)[groups.label]
    return np.maximum(_ratio(squares, estimates.r_samples) - estimates.r_hat**2, 0.0)


def _ratio(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.divide(total, n, out=np.zeros(len(n)), where=n > 0)
