"""An MDP as loops play it: what a uniform number pays."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.model.dynamics import beta_drawn, dynamics_of, simple_reward
from equirl.model.reward_distributions import draw_rewards
from equirl.numerics.seeding import put_back


@pytest.mark.parametrize("law", ["deterministic", "bernoulli", "beta"])
def test_rewards_are_those_that_are_drawn_all_at_once(law):
    means, rng = np.array([0.0, 0.2, 0.5, 1.0, 0.5]), np.random.default_rng(1)
    world = eq.TabularMDP.from_arrays(np.ones((5, 1, 1)) * np.eye(5)[:, None], means[:, None], reward_law=law)
    found = dynamics_of(world)
    assert found.concentration == (world.concentration if law == "beta" else 0.0)
    expected = draw_rewards(law, world.r_mean, world.concentration, rng)
    pay = np.zeros(0) if law == "deterministic" else np.random.default_rng(1).random(5)
    drawn = beta_drawn if law == "beta" else simple_reward
    paid = [drawn(found.r_mean[k], found.concentration, pay, k) for k in range(5)]
    np.testing.assert_array_equal(paid, expected)


def test_a_coin_equal_to_the_mean_pays_nothing():
    assert simple_reward(0.5, 0.0, np.array([0.5, 0.49]), 0) == 0.0
    assert simple_reward(0.5, 0.0, np.array([0.5, 0.49]), 1) == 1.0


def test_numbers_put_back_come_again_and_leave_the_generator_as_it_was():
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    drawn = rng.random(7)
    put_back(rng, 4)
    assert rng.random(4).tolist() == drawn[3:].tolist()
    other.random(7)
    put_back(rng, 0)
    assert rng.bit_generator.state == other.bit_generator.state
