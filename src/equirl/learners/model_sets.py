"""Models: the set of plausible MDPs around the estimates, with the risk shared as the structure says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equirl.estimation.bernstein import bernstein_intervals, bernstein_mean_radius
from equirl.estimation.confidence import (
    hoeffding_radius,
    jaksch_mean_radius,
    jaksch_transition_radius,
    share_weighted,
    weissman_radius,
)
from equirl.estimation.kl_radius import filippi_radius, mixture_radius
from equirl.estimation.pooling import Estimates, reward_variance
from equirl.estimation.ucrl3_bounds import ucrl3_intervals, ucrl3_log_level, ucrl3_mean_upper
from equirl.estimation.variance_radius import shared_mean_radius, variance_mean_radius
from equirl.learners.parts import Evidence, Models, Problem
from equirl.planning.intervals import IntervalModels, Intervals, support_slack
from equirl.planning.kl_ball import KLModels
from equirl.planning.l1_ball import ConfidenceSet
from equirl.words.checking import choice, inside

REWARD_BOUNDS = ("laplace", "variance")


@dataclass(frozen=True)
class ModelSetPart(Models):
    """A set of plausible models at risk ``delta``: what all of them have in common."""

    delta: float = 0.05

    def __post_init__(self) -> None:
        inside("delta", self.delta)

    def log_level(self, shares: int) -> float:
        return math.log(self.delta) - math.log(shares)


@dataclass(frozen=True)
class LaplaceBalls(ModelSetPart):
    """L1 balls and intervals of means from the Laplace method (equation 3 of the paper).

    ``reward_bound="variance"`` takes the empirical variance of rewards into account: what is paid for sure is soon
    known. Rewards that are "shared" are bounded by what all pairs that pay alike were paid.
    """

    reward_bound: str = "laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("reward_bound", self.reward_bound, REWARD_BOUNDS)

    @property
    def quick_rewards(self) -> bool:
        return self.reward_bound == "variance"

    def enclose(self, evidence: Evidence, problem: Problem) -> ConfidenceSet:
        seen, groups, estimates, shares, _ = evidence
        S = problem.pairs.n_states
        if shares.weighted:
            own = weissman_radius(seen.visits, S, self.log_level(shares.transitions))
            p_radius = share_weighted(own, seen.visits, groups.label, groups.n_groups)
        else:
            p_radius = weissman_radius(estimates.samples, S, self.log_level(shares.transitions))
        return balls(estimates, p_radius, *self._mean_radii(evidence, problem), problem)

    def _mean_radii(self, evidence: Evidence, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """How far means may be below and above their estimates."""
        seen, groups, estimates, shares, _ = evidence
        level = self.log_level(shares.mean)
        if self.reward_bound == "laplace":
            own = hoeffding_radius(estimates.r_samples, level)
            return own, own
        variance = reward_variance(seen, problem.means(groups), estimates)
        own = variance_mean_radius(variance, estimates.r_samples, level)
        if not problem.share_rewards:
            return own, own
        riskier = variance_mean_radius(variance, estimates.r_samples, self.log_level(1))
        return own, shared_mean_radius(seen.visits, seen.r_sum, seen.r_squares, own, riskier, level)


@dataclass(frozen=True)
class JakschBalls(ModelSetPart):
    """L1 balls and intervals of means of UCRL2 (Jaksch et al. 2010), which grow with time."""

    def enclose(self, evidence: Evidence, problem: Problem) -> ConfidenceSet:
        visits, pairs, log_delta = evidence.seen.visits, problem.pairs, self.log_level(1)
        p_radius = jaksch_transition_radius(visits, pairs.n_states, pairs.n_actions, evidence.t, log_delta)
        mean = jaksch_mean_radius(visits, pairs.n_pairs, evidence.t, log_delta)
        return balls(evidence.estimates, p_radius, mean, mean, problem)


def balls(
    estimates: Estimates, p_radius: np.ndarray, r_below: np.ndarray, r_above: np.ndarray, problem: Problem
) -> ConfidenceSet:
    """L1 balls of these radii around the estimates; a pair without samples may do anything."""
    p_radius[estimates.samples == 0] = 2.0  # also where S = 1: an empty row is read as free
    r_lower, r_upper = reward_interval(estimates.r_hat, r_below, r_above, problem)
    return ConfidenceSet(estimates.rows, p_radius, r_lower, r_upper, estimates.spare)


def reward_interval(
    r_hat: np.ndarray, below: np.ndarray, above: np.ndarray, problem: Problem
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on mean rewards inside [0, 1]: the means themselves where they are given."""
    means = problem.given.mean_rewards
    if means is not None:
        return means, means
    return np.maximum(r_hat - below, 0.0), np.minimum(r_hat + above, 1.0)


@dataclass(frozen=True)
class BernsteinIntervals(ModelSetPart):
    """UCRL2-B's element-wise empirical Bernstein intervals (Fruit, Pirotta and Lazaric 2020)."""

    def enclose(self, evidence: Evidence, problem: Problem) -> IntervalModels:
        """The level pays for all states where there are fewer classes; r_hat (1 - r_hat) is at least the variance."""
        estimates, shares = evidence.estimates, evidence.shares
        level = self.log_level(max(shares.transitions, problem.pairs.n_states))
        rows = estimates.rows
        bounds = Intervals(rows.ptr, rows.succ, *bernstein_intervals(rows.ptr, rows.prob, estimates.samples, level))
        r_hat = estimates.r_hat
        radius = bernstein_mean_radius(r_hat * (1 - r_hat), estimates.r_samples, self.log_level(shares.mean))
        return IntervalModels(bounds, *reward_interval(r_hat, radius, radius, problem))


@dataclass(frozen=True)
class Ucrl3Intervals(ModelSetPart):
    """UCRL3's intervals and growing supports (Bourel, Maillard and Talebi 2020)."""

    def enclose(self, evidence: Evidence, problem: Problem) -> IntervalModels:
        estimates, shares, S = evidence.estimates, evidence.shares, problem.pairs.n_states
        level = ucrl3_log_level(self.delta, shares.transitions, S)
        rows = estimates.rows
        bounds = Intervals(rows.ptr, rows.succ, *ucrl3_intervals(rows.ptr, rows.prob, estimates.samples, level))
        r_hat, level = estimates.r_hat, ucrl3_log_level(self.delta, shares.mean, S)
        radius = ucrl3_mean_upper(r_hat, r_hat * (1 - r_hat), estimates.r_samples, level) - r_hat
        slack = support_slack(rows.ptr, float(estimates.samples.max()))
        means = reward_interval(r_hat, radius, radius, problem)
        return IntervalModels(bounds, *means, slack)


@dataclass(frozen=True)
class KLBalls(ModelSetPart):
    """KL-UCRL's Kullback-Leibler balls.

    ``kl_bound="mixture"`` is uniform over time and much smaller (Jonsson et al. 2020); ``"published"`` is that of
    Filippi, Cappe and Garivier (2010).
    """

    kl_bound: str = "mixture"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("kl_bound", self.kl_bound, ("mixture", "published"))

    def enclose(self, evidence: Evidence, problem: Problem) -> KLModels:
        estimates, shares, S = evidence.estimates, evidence.shares, problem.pairs.n_states
        if self.kl_bound == "mixture":
            radius = mixture_radius(estimates.samples, S, self.log_level(shares.transitions))
        else:
            radius = filippi_radius(estimates.samples, S, evidence.t, self.log_level(shares.transitions))
        mean = hoeffding_radius(estimates.r_samples, self.log_level(shares.mean))
        r_lower, r_upper = reward_interval(estimates.r_hat, mean, mean, problem)
        return KLModels(estimates.rows, radius, r_lower, r_upper)
