"""From counts to the set of plausible models: structure, pooling and radii (SPEC section 4), each level once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.clustering.approx_equivalence import make_rules, merge_pairs
from equirl.core.compiling import kernel
from equirl.estimation.confidence import (
    ConfidenceSet,
    hoeffding_radius,
    jaksch_law_radius,
    jaksch_mean_radius,
    share_weighted,
    weissman_radius,
)
from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import Estimates, estimate, pool, pool_known
from equirl.learners.settings import Settings
from equirl.model.pairs import Pairs
from equirl.structure.partition import Partition
from equirl.structure.profiles import Profiles


class Knowledge(NamedTuple):
    """What a learner is told before it starts."""

    classes: Partition | None = None
    profiles: Profiles | None = None
    tie: np.ndarray | None = None  # groups of equal positions in the known profiles
    mean_rewards: np.ndarray | None = None  # (M,)


class Grouping(NamedTuple):
    """Which pairs are pooled now."""

    label: np.ndarray  # (M,) int64
    n_classes: int


def form_groups(
    settings: Settings, told: Knowledge, seen: Snapshot, n_states: int, priority: np.ndarray | None
) -> Grouping:
    """Structure: none, as told, or estimated by ApproxEquivalence (inside known classes for balanced C-UCRL(C))."""
    M = len(seen.visits)
    if settings.structure == "none":
        return Grouping(np.arange(M), M)
    if not settings.clusters:
        assert told.classes is not None
        return Grouping(told.classes.label.copy(), told.classes.n_classes)  # a read-only one compiles anew
    known = told.classes.label if told.classes is not None else None
    rules = make_rules(
        M, n_states, delta=settings.delta, balance=settings.balance, radius=settings.radius,
        merge_rule=settings.merge_rule, nearest_by=settings.nearest_by, means=settings.rewards == "per_class",
        known=known is not None,
    )  # fmt: skip
    if priority is None:
        priority = np.arange(M)
    leader, _ = merge_pairs(seen.visits, seen.ptr, seen.count, rules, priority, seen.r_sum, known)
    label = np.empty(M, np.int64)
    return Grouping(label, number_labels(leader, np.full(M, -1), label))


@kernel
def number_labels(leader: np.ndarray, number: np.ndarray, out: np.ndarray) -> int:
    """Labels 0, 1, ... in order of first appearance; ``number`` starts at -1. Returns how many there are."""
    n = 0
    for k in range(len(leader)):
        if number[leader[k]] < 0:
            number[leader[k]] = n
            n += 1
        out[k] = number[leader[k]]
    return n


def estimate_models(
    settings: Settings, told: Knowledge, pairs: Pairs, seen: Snapshot, groups: Grouping, t: int
) -> tuple[Estimates, ConfidenceSet]:
    """Pool over the groups and draw the radii around what comes out, at time t."""
    label, n_classes = groups
    pool_rewards = settings.rewards == "per_class"
    if settings.structure == "none":
        estimates = estimate(seen)
    elif settings.structure == "profiles":
        assert told.profiles is not None
        assert told.tie is not None
        estimates = pool_known(seen, label, n_classes, told.profiles, told.tie, pool_rewards=pool_rewards)
    else:
        estimates = pool(seen, label, n_classes, pairs.n_states, ties=settings.ties, pool_rewards=pool_rewards)

    p_radius, r_radius = _radii(settings, pairs, seen, estimates, groups, t)
    p_radius[estimates.samples == 0] = 2.0  # also where S = 1: an empty row is read as free
    if told.mean_rewards is not None:
        estimates, r_radius = estimates._replace(r_hat=told.mean_rewards), np.zeros(pairs.n_pairs)
    r_hat = estimates.r_hat
    return estimates, ConfidenceSet(
        estimates.ptr, estimates.succ, estimates.prob, p_radius,
        np.maximum(r_hat - r_radius, 0.0), np.minimum(r_hat + r_radius, 1.0), estimates.spare_ptr, estimates.spare,
    )  # fmt: skip


def _radii(
    settings: Settings, pairs: Pairs, seen: Snapshot, estimates: Estimates, groups: Grouping, t: int
) -> tuple[np.ndarray, np.ndarray]:
    """L1 radii of the laws and radii of the means: the table of SPEC section 4."""
    S, M, C = pairs.n_states, pairs.n_pairs, groups.n_classes
    if settings.bounds == "jaksch":
        log_delta = math.log(settings.delta)
        law = jaksch_law_radius(seen.visits, S, pairs.n_actions, t, log_delta)
        return law, jaksch_mean_radius(seen.visits, M, t, log_delta)

    by_class = settings.structure == "classes" and settings.pooling == "class"
    theory = settings.structure == "estimated" and settings.radius == "theory"
    if settings.structure == "none" or theory:
        shares = M
    elif settings.clusters:
        shares = 3 * M
    else:
        shares = C
    log_level = math.log(settings.delta) - math.log(shares)
    if by_class or theory:
        own = weissman_radius(seen.visits, S, log_level)
        law = share_weighted(own, seen.visits, groups.label, C)
    else:
        law = weissman_radius(estimates.samples, S, log_level)
    if settings.rewards != "per_class":
        log_level = math.log(settings.delta) - math.log(3 * M if settings.clusters else M)
    return law, hoeffding_radius(estimates.r_samples, log_level)
