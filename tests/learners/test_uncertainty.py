"""How unsure learners say they are of each pair."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq

RIVER = eq.make("ergodic-riverswim", n_states=4)


@pytest.mark.parametrize("learner", ["ucrl2-l", "c-ucrl", "kl-ucrl", "ucrl2-b", "ucrl3", "psrl", "c-psrl"])
def test_uncertainty_is_an_l1_distance_that_falls_with_visits(learner):
    early, late = (
        np.array([eq.simulate(RIVER, learner, steps, seed=seed).agent.beliefs.uncertainty() for seed in range(5)])
        for steps in (40, 8000)
    )
    for found in (early, late):
        assert found.shape == (5, RIVER.n_pairs)
        assert ((found >= 0) & (found <= 2)).all()
    assert late.mean() < early.mean()


def test_asking_draws_nothing_from_the_learner():
    asked, plain = (eq.simulate(RIVER, "c-psrl", 300, seed=1).agent for _ in range(2))
    asked.beliefs.uncertainty()
    np.testing.assert_array_equal(asked.rng, plain.rng)
    assert asked.beliefs.partition == plain.beliefs.partition


def test_the_width_of_a_ball_is_its_radius():
    agent = eq.simulate(RIVER, "ucrl2-l", 2000, seed=0).agent
    np.testing.assert_array_equal(agent.beliefs.uncertainty(), np.minimum(agent.beliefs.models.p_radius, 2))


def test_intervals_are_summed_pair_by_pair():
    agent = eq.simulate(RIVER, "ucrl2-b", 8000, seed=0).agent
    models = agent.beliefs.models.bounds
    for pair in range(RIVER.n_pairs):
        own = slice(models.ptr[pair], models.ptr[pair + 1])
        length = (models.upper[own] - models.lower[own]).sum() + models.unseen_upper[pair]
        assert agent.beliefs.uncertainty()[pair] == pytest.approx(min(2, length))


def test_a_learner_without_sets_says_nothing():
    assert eq.simulate(RIVER, "q-learning", 100, seed=0).agent.beliefs.uncertainty() is None
