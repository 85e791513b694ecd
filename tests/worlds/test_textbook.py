"""Howard's examples have the gains and policies of his book."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.solving.optimal_gain import solve
from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import make
from oracles_rules import optimal_gain
from oracles_solving import best_gain


def played(mdp):
    return [mdp.pairs.action_names[a] for a in solve(mdp).policy]


def immediate(mdp, state, action):
    return mdp.mean_reward(state, action)


def test_the_toymaker_advertises_and_does_research_for_a_gain_of_two():
    mdp = make("toymaker")
    assert optimal_gain(mdp) == pytest.approx(2.0, abs=1e-9)
    assert played(mdp) == ["spend", "spend"]


def test_the_toymakers_expected_immediate_rewards_are_those_of_the_book():
    mdp = make("toymaker")
    told = {("success", "save"): 6, ("success", "spend"): 4, ("failure", "save"): -3}
    assert {pair: immediate(mdp, *pair) for pair in told} == pytest.approx(told)
    assert immediate(mdp, "failure", "spend") == pytest.approx(-5)


def test_the_taxicab_drives_to_the_stand_for_a_gain_of_13_34():
    mdp = make("taxicab")
    assert optimal_gain(mdp) == pytest.approx(13.34, abs=0.005)
    assert played(mdp) == ["stand", "stand", "stand"]


def test_the_taxicabs_expected_immediate_rewards_are_those_of_the_book():
    mdp = make("taxicab")
    told = {"A": (8, 2.75, 4.25), "B": (16, 15), "C": (7, 4, 4.5)}
    for town, pays in told.items():
        ours = [immediate(mdp, town, action) for action in ("cruise", "stand", "radio")[: len(pays)]]
        assert ours == pytest.approx(pays)


def test_there_is_no_radio_in_town_b():
    with pytest.raises(ValueError, match="radio"):
        make("taxicab").transition_probabilities("B", "radio")


@pytest.mark.parametrize("name", ["toymaker", "taxicab"])
def test_every_policy_in_turn_finds_the_same_gain(name):
    mdp = make(name)
    np.testing.assert_allclose(best_gain(mdp), solve(mdp, accuracy=1e-9).unit_gain, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("name", "sizes"), [("toymaker", (2, 4, 4, 4)), ("taxicab", (3, 8, 6, 8))])
def test_there_is_little_to_pool(name, sizes):
    mdp = make(name)
    classes = (equivalence_classes(mdp, rewards=rewards).n_classes for rewards in (False, True))
    assert (mdp.n_states, mdp.n_pairs, *classes) == sizes
