"""When a stretch of a policy ends: by steps, by the visits of a pair or of its group, and what grace allows."""

import math

import numpy as np
import pytest

from equirl.estimation.counts import Counts
from equirl.learners.contract import (
    Limits,
    Stretch,
    is_over,
    pair_limits,
    pair_played,
    spend,
    spend_path,
    step_limits,
    unit_reward,
)
from equirl.learners.learner_registry import make_agent
from equirl.model.pairs import Pairs


def limits(pair_left=(9, 9), group_left=(9,), grace=0, steps=9):
    as_int = lambda values: np.array(values, np.int64)  # noqa: E731
    return Limits(as_int([0, 0]), as_int(pair_left), as_int(group_left), as_int([grace, 0]), as_int([steps]))


@pytest.mark.parametrize(
    "reached", [limits(steps=0), limits(pair_left=(0, 9)), limits(group_left=(0,))], ids=["steps", "pair", "group"]
)
def test_a_stretch_ends_where_any_limit_is_reached(reached):
    assert is_over(0, reached)
    assert not is_over(0, limits(pair_left=(1, 0), group_left=(1,), steps=1))


def test_a_step_is_taken_off_its_pair_its_group_the_steps_and_the_grace():
    left = limits(grace=5)
    spend(1, left)
    assert [part.tolist() for part in left[1:]] == [[9, 8], [8], [4, 0], [8]]


def test_within_the_grace_a_pair_may_overdraw_by_a_quarter_of_what_is_left_of_it():
    assert not is_over(0, limits(pair_left=(-2, 9), grace=8))
    assert is_over(0, limits(pair_left=(-3, 9), grace=8))
    assert not is_over(1, limits(pair_left=(-3, 0), grace=8))
    assert is_over(1, limits(pair_left=(-3, 0), grace=0))


@pytest.mark.parametrize("left", [[math.nan], [0.5], "x", 3, [2**70], [[1, 2], [3]]])
def test_limits_that_are_none_are_named(left):
    with pytest.raises((TypeError, ValueError), match=r"^left "):
        pair_limits(left)


@pytest.mark.parametrize("steps", [math.nan, -1, "x", 2**70, True])
def test_a_number_of_steps_that_is_none_is_named(steps):
    with pytest.raises((TypeError, ValueError), match=r"^steps must be"):
        step_limits(steps)


@pytest.mark.parametrize(("left", "ends"), [(-2, False), (-3, True)])
def test_a_single_pair_has_its_limit_too(left, ends):
    only = pair_limits([left])
    only.grace[0] = 8
    assert is_over(0, only) == ends


def test_a_limit_once_reached_stays_reached_though_other_pairs_are_played():
    left = limits(pair_left=(1, 9), grace=3)
    spend_path(np.array([0, 0, 1]), left)
    assert left.grace.tolist() == [0, 1]
    assert is_over(1, left)
    assert not is_over(1, limits(pair_left=(1, 9), grace=3))


def test_steps_alone_may_limit_a_stretch():
    left = step_limits(2)
    spend_path(np.array([0, 1]), left)
    assert is_over(0, left)
    assert not is_over(0, step_limits())


@pytest.mark.parametrize(("coin", "pair"), [(0.0, 2), (0.3, 2), (0.34, 3), (0.99, 4)])
def test_a_coin_picks_one_of_the_pairs_of_a_state(coin, pair):
    ptr, coins = np.array([0, 2, 5]), np.array([0.5, coin])
    assert pair_played(Stretch(np.zeros(0, np.int64), step_limits(), coins), ptr, 1, 1) == pair
    assert pair_played(Stretch(np.array([1, 4]), step_limits()), ptr, 1, 1) == 4


def test_where_there_are_no_limits_by_pair_the_grace_is_played_to_its_end():
    left = step_limits(0)
    left.grace[0] = 3
    assert not is_over(0, left)
    left.grace[0] = 0
    assert is_over(0, left)


@pytest.mark.parametrize(("reward", "value"), [(1 + 5e-13, 1.0), (-5e-13, 0.0), (0.25, 0.25), (0, 0.0), (1, 1.0)])
def test_rewards_beyond_their_range_by_rounding_alone_count_as_its_ends(reward, value):
    assert unit_reward(reward, (1.0, 0.0), Pairs.uniform(1, 1), 0) == value


@pytest.mark.parametrize("reward", [1 + 5e-12, -5e-12, math.nan, math.inf])
def test_rewards_beyond_their_range_are_refused(reward):
    with pytest.raises(ValueError, match="outside"):
        unit_reward(reward, (1.0, 0.0), Pairs.uniform(1, 1), 0)


@pytest.mark.parametrize("reward", ["0.5", None, [1], 10**400])
def test_what_is_no_number_is_no_reward(reward):
    with pytest.raises(TypeError, match="not a number"):
        unit_reward(reward, (1.0, 0.0), Pairs.uniform(1, 1), 0)


def test_a_learner_that_has_learned_or_has_other_pairs_does_not_start_from_counts():
    agent, seen = make_agent("ucrl2-l", 3, 2), Counts(4).snapshot()
    with pytest.raises(ValueError, match="the counts are of 4 pairs; 'ucrl2-l' has 6"):
        agent.start_from(seen)
    agent.observe(0, 0, 0.5, 1)
    with pytest.raises(ValueError, match="has learned already; only a new learner starts from counts"):
        agent.start_from(agent.counts.snapshot())
    twin = make_agent("ucrl2-l", 3, 2)
    twin.start_from(agent.counts.snapshot())
    assert twin.t == 2


def test_counts_outside_the_profiles_given_are_refused():
    counts = Counts(2)
    counts.record(1, 0.0, 0)
    agent = make_agent("c-ucrl-c-sigma", 2, 1, classes=[0, 0], order=[[0], [1]])
    with pytest.raises(ValueError, match=r"\(s=1, a=0\) cannot lead to state 0"):
        agent.start_from(counts.snapshot())
