"""Sets of plausible models: at which level each structure has its bounds, also where classes are few."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.bernstein import bernstein_intervals, bernstein_mean_radius
from equirl.estimation.confidence import hoeffding_radius, jaksch_mean_radius, jaksch_transition_radius, weissman_radius
from equirl.estimation.counts import Counts
from equirl.estimation.given_knowledge import Given
from equirl.estimation.kl_radius import filippi_radius, mixture_radius
from equirl.estimation.pooling import Grouping, estimate
from equirl.learners.model_sets import (
    BernsteinIntervals,
    JakschBalls,
    KLBalls,
    LaplaceBalls,
    Ucrl3Intervals,
    reward_interval,
)
from equirl.learners.parts import (
    DrawnPlanning,
    Estimate,
    Evidence,
    Indices,
    Models,
    Planner,
    Problem,
    Shares,
    Steps,
    Stopping,
    Structure,
)
from equirl.model.pairs import Pairs

DELTA = 0.1
WORLD = eq.make("ergodic-riverswim", n_states=6, reward_law="bernoulli")
T = 60_001  # of so many steps sets are smaller than all there is
SEEN = eq.simulate(WORLD, "random", T - 1, seed=0).agent.counts.snapshot()
ESTIMATES, ALONE = estimate(SEEN), Grouping(np.arange(12), 12)
PROBLEM = Problem(WORLD.pairs, Given(), DELTA, True)


def enclosed(part, law, mean, **more):
    """The set around the estimates where the risk goes in so many parts."""
    evidence = Evidence(SEEN, ALONE, ESTIMATES, Shares(law, mean, **more), T)
    return part.enclose(evidence, PROBLEM)


def assert_means(models, radius):
    np.testing.assert_allclose(models.r_lower, np.maximum(ESTIMATES.r_hat - radius, 0))
    np.testing.assert_allclose(models.r_upper, np.minimum(ESTIMATES.r_hat + radius, 1))


@pytest.mark.parametrize(("parts", "level"), [(2, DELTA / 6), (6, DELTA / 6), (36, DELTA / 36)])
def test_element_wise_bounds_pay_for_all_states_where_classes_are_fewer(parts, level):
    models = enclosed(BernsteinIntervals(DELTA), parts, 3)
    rows = ESTIMATES.rows
    expected = bernstein_intervals(rows.ptr, rows.prob, ESTIMATES.samples, math.log(level))
    for mine, other in zip(
        (models.bounds.lower, models.bounds.upper, models.bounds.unseen_upper), expected, strict=True
    ):
        np.testing.assert_allclose(mine, other)
    variance = ESTIMATES.r_hat * (1 - ESTIMATES.r_hat)
    assert_means(models, bernstein_mean_radius(variance, ESTIMATES.r_samples, math.log(DELTA / 3)))


@pytest.mark.parametrize(("law", "mean"), [(2, 12), (36, 5)])
def test_balls_have_the_risk_of_their_own_share(law, mean):
    models = enclosed(LaplaceBalls(DELTA), law, mean)
    expected = weissman_radius(ESTIMATES.samples, 6, math.log(DELTA / law))
    np.testing.assert_allclose(models.p_radius, expected)
    assert_means(models, hoeffding_radius(ESTIMATES.r_samples, math.log(DELTA / mean)))


def test_weighted_radii_are_the_mean_of_the_members_radii():
    models = enclosed(LaplaceBalls(DELTA), 4, 4, weighted=True)
    own = weissman_radius(SEEN.visits, 6, math.log(DELTA / 4))
    np.testing.assert_allclose(models.p_radius, own)  # every pair is a class of its own


@pytest.mark.parametrize("part", [LaplaceBalls(DELTA), JakschBalls(DELTA)])
@pytest.mark.parametrize("n_states", [1, 3])
def test_a_pair_never_seen_may_do_anything(part, n_states):
    pairs, nothing = Pairs.uniform(n_states, 1), Counts(n_states).snapshot()
    groups = Grouping(np.arange(n_states), n_states)
    evidence = Evidence(nothing, groups, estimate(nothing), Shares(n_states, n_states), 1)
    models = part.enclose(evidence, Problem(pairs, Given(), DELTA, True))
    assert models.p_radius.tolist() == [2.0] * n_states
    assert (models.r_lower.tolist(), models.r_upper.tolist()) == ([0.0] * n_states, [1.0] * n_states)


def test_the_balls_of_ucrl2_share_nothing_and_grow_with_time():
    models = enclosed(JakschBalls(DELTA), 5, 7)
    expected = jaksch_transition_radius(SEEN.visits, 6, 2, T, math.log(DELTA))
    np.testing.assert_allclose(models.p_radius, expected)
    assert_means(models, jaksch_mean_radius(SEEN.visits, 12, T, math.log(DELTA)))


@pytest.mark.parametrize("bound", ["mixture", "published"])
def test_divergence_balls_have_the_risk_of_their_own_share(bound):
    models = enclosed(KLBalls(DELTA, bound), 2, 12)
    how = {"mixture": (), "published": (T,)}[bound]
    radius = {"mixture": mixture_radius, "published": filippi_radius}[bound]
    np.testing.assert_allclose(models.radius, radius(ESTIMATES.samples, 6, *how, math.log(DELTA / 2)))
    assert_means(models, hoeffding_radius(ESTIMATES.r_samples, math.log(DELTA / 12)))


def test_fewer_parts_of_the_risk_make_smaller_sets_and_laws_and_means_go_apart():
    few, laws, means = (enclosed(Ucrl3Intervals(DELTA), *shares) for shares in ((2, 2), (50, 2), (2, 50)))
    assert (laws.widths() >= few.widths()).all()
    assert laws.widths().sum() > few.widths().sum() == pytest.approx(means.widths().sum())
    assert (means.r_upper >= few.r_upper).all()
    assert means.r_upper.sum() > few.r_upper.sum() == pytest.approx(laws.r_upper.sum())


def test_means_that_are_given_are_their_own_bounds_and_others_stay_within_0_and_1():
    known = PROBLEM._replace(given=PROBLEM.given._replace(mean_rewards=np.array([0.2, 0.9])))
    r_hat = np.array([0.1, 0.95])
    assert [x.tolist() for x in reward_interval(r_hat, r_hat, r_hat, known)] == [[0.2, 0.9], [0.2, 0.9]]
    low, high = reward_interval(r_hat, np.array([0.05, 0.5]), np.array([0.2, 0.01]), PROBLEM)
    np.testing.assert_allclose((low, high), [[0.05, 0.45], [0.3, 0.96]])
    low, high = reward_interval(r_hat, np.array([0.2, 0.0]), np.array([0.0, 0.2]), PROBLEM)
    np.testing.assert_allclose((low, high), [[0.0, 0.95], [0.1, 1.0]])


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (lambda: LaplaceBalls(0.0), "delta"), (lambda: LaplaceBalls(1.0), "delta"), (lambda: KLBalls(2.0), "delta"),
        (lambda: LaplaceBalls(0.1, "hoeffding"), "reward_bound"), (lambda: KLBalls(0.1, "filippi"), "kl_bound"),
    ],
)  # fmt: skip
def test_a_setting_of_a_set_that_is_none_is_named(wrong, name):
    with pytest.raises(ValueError, match=name):
        wrong()


# --- parts that say only what differs


def minimal(kind):
    """A part that inherits its kind and says nothing of its own."""
    return dataclass(frozen=True)(type("Plain", (kind,), {}))()


@pytest.mark.parametrize("kind", [Structure, Estimate, Models, Planner, Stopping, DrawnPlanning, Indices, Steps])
def test_a_part_that_says_nothing_needs_nothing_and_looks_for_nothing(kind):
    part = minimal(kind)
    assert part.needs == ()
    assert part.looks_for_classes is False
    if hasattr(part, "resolved"):
        assert part.resolved(None, None) is part
        assert part.check_with(None) is None


def test_a_part_that_says_nothing_pools_nothing_discounts_nothing_and_plans_whenever_it_may():
    structure, estimate, models = minimal(Structure), minimal(Estimate), minimal(Models)
    assert (structure.clusters, structure.draws_priority, structure.rules(PROBLEM)) == (False, False, None)
    assert (estimate.pool_rewards, estimate.share_rewards, estimate.own_rewards) == (False, False, True)
    assert math.isnan(models.delta)
    assert models.quick_rewards is False
    assert minimal(Planner).discount == minimal(DrawnPlanning).discount == 1.0
    assert minimal(DrawnPlanning).staying == 0.0
    assert minimal(Stopping).effort == math.inf
    assert minimal(Indices).max_sweeps == 1
    assert minimal(Steps).own_rewards is False
