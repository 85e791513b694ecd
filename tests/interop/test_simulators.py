"""Simulators take what they are given only where it makes sense, and as early as that can be known."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import equirl as eq
from equirl.interop import GymSimulator

NO_FLAGS = [math.nan, math.inf, 2, -1, 0.5, np.float32("nan"), np.array(2), np.array([math.nan])]
FLAGS = [True, np.True_, 1, np.int8(1), 1.0, np.array(True), np.array([1])]


class Ending(gymnasium.Env):
    """Two states; every step says of its end what it is given."""

    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(2)

    def __init__(self, terminated=False, truncated=False):
        self.ends = terminated, truncated

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 1, 0.5, *self.ends, {}


@pytest.mark.parametrize("value", NO_FLAGS, ids=repr)
@pytest.mark.parametrize("which", ["terminated", "truncated"])
def test_an_end_that_is_neither_true_nor_false_is_refused_by_name(which, value):
    env = Ending(**{which: value})
    with pytest.raises(ValueError, match=rf"{which}, which env.step\(.\) returned, must be True or False, not"):
        eq.play(env, "random", 3)
    with pytest.raises(ValueError, match=f"{which} must be True or False, not"):
        eq.Encoder.from_play(env, 3)


@pytest.mark.parametrize("value", ["yes", None, [True, False], np.ma.masked, np.array([])], ids=repr)
def test_an_end_of_another_kind_is_refused_by_name(value):
    with pytest.raises(TypeError, match=r"terminated, which env.step\(.\) returned, must be"):
        eq.play(Ending(value), "random", 3)


@pytest.mark.parametrize("value", FLAGS, ids=repr)
def test_an_end_is_true_however_an_environment_says_it(value):
    assert eq.play(Ending(value), "random", 3).curves.final("restarts") == [3]
    assert eq.play(Ending(truncated=value), "random", 3).curves.final("restarts") == [3]


@pytest.mark.parametrize("value", [*NO_FLAGS, 1, "yes", None], ids=repr)
def test_a_step_function_and_a_learner_take_nothing_but_true_and_false(value):
    world = eq.Simulator(lambda s, a: (0, 0.5, value), 2, 2)
    with pytest.raises(TypeError, match=r"terminated, which step\(0, .\) returned, must be True or False, not"):
        eq.play(world, "random", 3)
    agent = eq.make_agent("ucrl2-l", 2, 2)
    with pytest.raises(TypeError, match="terminated must be True or False, not"):
        agent.observe(0, 0, 0.5, 1, terminated=value)
    assert agent.t == 1


@pytest.mark.parametrize("value", [math.nan, 2, "no"], ids=repr)
def test_a_table_whose_ends_are_neither_true_nor_false_is_refused(value):
    env = Ending()
    env.P = {s: {a: [(1.0, 1, 0.5, value)] for a in range(2)} for s in range(2)}
    with pytest.raises(ValueError, match=r"P\[0\]\[0\] holds .*, not \(probability, next, reward, terminated\)"):
        eq.from_gymnasium(env, initial=0)


@pytest.mark.parametrize("which", ["terminated", "truncated"])
def test_rollouts_whose_ends_are_neither_true_nor_false_are_refused(which):
    env = Ending(**{which: math.nan})
    env.P = {s: {a: [(1.0, 1, 0.5, True)] for a in range(2)} for s in range(2)}
    with pytest.raises(ValueError, match=f"{which} must be True or False, not nan"):
        eq.from_gymnasium(env, initial=0, check=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start": 9}, "start is 9: state 9 is out of range: there are 3 states"),
        ({"start": -1}, "start is -1: state -1 is out of range"),
        ({"start": "low"}, "start is 'low': state 'low' is a name"),
        ({"start": None}, "start is None: a state is an integer or a name"),
        ({"start": "lo", "states": ["low", "high"]}, "start is 'lo': .*did you mean 'low'"),
        ({"states": [10, 20]}, "start is 0: unknown state 0"),
        ({"start": lambda: 0}, r"start must be a state or a function start\(rng\)"),
        ({"step": lambda state: (0, 0.0)}, r"step must be a function step\(state, action, rng\)"),
        ({"step": lambda s, a, rng, more: (0, 0.0)}, r"step must be a function step\(state, action, rng\)"),
        ({"reward_range": (1, 0)}, r"reward_range must be \(low, high\), .* not \(1, 0\)"),
        ({"reward_range": (0, math.nan)}, r"reward_range must be \(low, high\)"),
        ({"reward_range": 7}, r"reward_range must be \(low, high\), .* not 7"),
    ],
)
def test_a_simulator_that_could_not_be_played_is_refused_when_it_is_made(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eq.Simulator(**{"step": lambda s, a: (0, 0.0), "states": 3, "actions": 2, **given})


@pytest.mark.parametrize("start", [2, np.int64(2), "c", lambda rng: 2], ids=["int", "int64", "name", "function"])
def test_a_start_may_be_a_number_a_name_or_a_function(start):
    assert eq.Simulator(lambda s, a, rng: (0, 0.0), ["a", "b", "c"], 2, start).reset() == 2


def test_an_environment_that_could_not_be_played_is_refused_when_its_simulator_is_made():
    with pytest.raises(ValueError, match=r"reward_range must be \(low, high\), .* not \(0, inf\)"):
        GymSimulator(Ending(), reward_range=(0, math.inf))

    class Half:
        unwrapped, action_space = None, spaces.Discrete(2)

        def step(self, action):
            return 0, 0.0, False, False, {}

    with pytest.raises(TypeError, match="env must be a Gymnasium environment or a Simulator"):
        GymSimulator(Half())
