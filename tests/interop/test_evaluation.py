"""What a policy earns in play: counted right, with an interval that holds, whatever the policy is given as."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equirl as eq
from equirl.interop import Evaluation

PAIRS = [
    ("in", "sell", {"out": 0.5, "in": 0.5}, 8.0), ("in", "wait", {"in": 1.0}, 1.0), ("out", "order", {"in": 1.0}, -3.0),
]  # fmt: skip
SHOP = eq.TabularMDP.from_pairs(PAIRS, rescale=True)
SELL = {"in": "sell", "out": "order"}


class Coin:
    """Two steps an episode: 1, then 5."""

    def reset(self):
        self.step_number = 0
        return 0

    def step(self, action):
        self.step_number += 1
        return 0, (1.0, 5.0)[self.step_number - 1], self.step_number == 2


@pytest.mark.parametrize(
    "policy", [SELL, ["sell", "order"], [0, 2], [1.0, 0.0, 1.0], eq.Policy(SHOP, SELL), eq.solve(SHOP)], ids=repr
)
def test_a_policy_earns_what_it_earns_however_it_is_given(policy):
    found = eq.evaluate(policy, SHOP, 400, seed=2)
    assert found == eq.evaluate(SELL, eq.TabularEnv(SHOP), 400, seed=2)
    assert found.mean_reward == pytest.approx(eq.Policy(SHOP, SELL).gain, abs=5 * found.half_width)
    assert (found.steps, found.episodes) == (400, 0)
    assert math.isnan(found.mean_return)


def test_agents_play_without_exploring_and_are_not_changed():
    trace = eq.simulate(SHOP, "psrl", 400)
    agent, t = trace.agent, trace.agent.t
    expected = eq.evaluate(agent.beliefs.named_policy(), SHOP, 50)
    assert eq.evaluate(agent, SHOP, 50) == eq.evaluate(trace, SHOP, 50) == expected
    assert agent.t == t


def test_episodes_are_counted_with_what_they_earn():
    found = eq.evaluate([0], eq.Simulator(Coin(), 1, 1, reward_range=(0, 5)), 41)
    assert (found.episodes, found.mean_return, found.steps) == (20, 6.0, 41)
    assert found.mean_reward == pytest.approx((20 * 6 + 1) / 41)
    assert repr(found).endswith("in 41 steps, 20 episodes of 6 each)")


def test_a_random_policy_draws_its_actions():
    shares = [1 / 4, 3 / 4, 1.0]
    found = eq.evaluate(shares, SHOP, 4_000, seed=3)
    assert found.mean_reward == pytest.approx(eq.Policy(SHOP, shares).gain, abs=5 * found.half_width)


def test_the_interval_holds_about_as_often_as_it_says():
    gain = eq.Policy(SHOP, SELL).gain
    runs = [eq.evaluate(SELL, SHOP, 400, seed=seed) for seed in range(60)]
    assert np.mean([abs(run.mean_reward - gain) <= run.half_width for run in runs]) > 0.8
    assert math.isnan(eq.evaluate(SELL, SHOP, 19).half_width)
    assert math.isfinite(eq.evaluate(SELL, SHOP, 20).half_width)


def test_progress_is_told():
    told = []
    eq.evaluate(SELL, SHOP, 40, progress=lambda done, total: told.append((done, total)))
    assert told == [(k, 40) for k in range(2, 41, 2)]


def test_it_is_shown_in_a_line():
    assert repr(Evaluation(2.5, 0.125, 100, 0, math.nan)) == "Evaluation(2.5 ± 0.12 a step in 100 steps)"
