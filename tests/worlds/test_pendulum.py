"""The pendulum against its rules, and that it has to be swung."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equirl.solving.optimal_gain import solve
from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import make
from oracles_rules import check_against_rules, check_against_toolbox


def pendulum_by_hand(n_angles, top, gravity, noise):
    model = {}
    for angle in range(n_angles):
        turn = 2 * math.pi * angle / n_angles
        pull = np.rint(np.round(gravity * math.sin(turn), 9))
        for speed in range(-top, top + 1):
            choices = {}
            for name, motor in (("left", -1), ("none", 0), ("right", 1)):
                law = {}
                for push, p in ((-1, noise), (0, 1 - 2 * noise), (1, noise)):
                    faster = int(np.clip(speed + motor - pull + push, -top, top))
                    after = f"{(angle + faster) % n_angles},{faster}"
                    law[after] = law.get(after, 0.0) + p
                choices[name] = ((1 - math.cos(turn)) / 2, law)
            model[f"{angle},{speed}"] = choices
    return model


@pytest.mark.parametrize(
    ("n_angles", "top", "gravity", "noise"), [(16, 3, 2.0, 0.1), (12, 2, 1.0, 0.2), (10, 4, 3.3, 0.05)]
)
def test_the_pendulum_is_that_of_the_rules(n_angles, top, gravity, noise):
    mdp = make("pendulum", n_angles=n_angles, max_speed=top, gravity=gravity, noise=noise)
    check_against_rules(mdp, pendulum_by_hand(n_angles, top, gravity, noise))
    check_against_toolbox(mdp)


def test_noise_alone_says_how_likely_outcomes_are():
    mdp = make("pendulum")
    assert (mdp.n_states, mdp.n_pairs) == (112, 336)
    assert equivalence_classes(mdp, rewards=False).n_classes == 3
    assert equivalence_classes(mdp).n_classes == 27
    assert mdp.reward_map == (1.0, 0.0)


def test_the_motor_alone_does_not_lift_the_pendulum_but_swinging_does():
    mdp = make("pendulum", noise=0.0)

    def highest(push):
        state, seen = mdp.pairs.state_number("0,0"), set()
        while state not in seen:
            seen.add(state)
            state = next(iter(mdp.transition_probabilities(state, push(state))))
        return max(mdp.mean_reward(s, "none") for s in seen)

    best = solve(mdp)
    assert highest(lambda _: "right") < 1
    assert highest(lambda s: int(best.policy[s])) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_angles": 15}, "n_angles must be even, so that one of them is upright, not 15"),
        ({"n_angles": 2}, "n_angles must be at least 4, not 2"),
        ({"max_speed": 0}, "max_speed must be at least 1, not 0"),
        ({"noise": 0.6}, "noise must be between 0 and 0.5, not 0.6"),
        ({"gravity": "low"}, "gravity must be a number, not 'low'"),
    ],
)
def test_a_wrong_pendulum_is_refused(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make("pendulum", **params)
