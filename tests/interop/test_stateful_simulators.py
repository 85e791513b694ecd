"""Objects that keep their state are simulators too, and simulators are compared as environments are."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq


class Lift:
    """Goes up with 0.8; the top ends the day."""

    def reset(self, rng):
        self.rng, self.floor = rng, "0"
        return self.floor

    def step(self, action):
        up = action == "up" and self.rng.random() < 0.8
        self.floor = str(min(2, int(self.floor) + 1) if up else max(0, int(self.floor) - 1))
        return self.floor, float(self.floor == "2"), self.floor == "2"


class Clock:
    def reset(self):
        self.hour = 0
        return 0

    def step(self, action):
        self.hour = (self.hour + 1) % 3
        return self.hour, 1.0


def lift_step(floor, action, rng):
    up = action == "up" and rng.random() < 0.8
    floor = str(min(2, int(floor) + 1) if up else max(0, int(floor) - 1))
    return floor, float(floor == "2"), floor == "2"


def lift():
    return eq.Simulator(Lift(), states=["0", "1", "2"], actions=["up", "down"])


def test_an_object_is_played_as_the_function_it_stands_for():
    function = eq.Simulator(lift_step, states=["0", "1", "2"], actions=["up", "down"], start="0")
    one, other = (eq.play(simulator, "psrl", 300, seed=5) for simulator in (lift(), function))
    np.testing.assert_array_equal(one.reward, other.reward)
    np.testing.assert_array_equal(one.restarts, other.restarts)
    assert one.agent.act("1") == "up"


def test_an_object_without_randomness_needs_no_generator():
    assert eq.play(eq.Simulator(Clock(), 3, 1), "psrl", 30).reward[-1] == 30


@pytest.mark.parametrize("jobs", [1, 2])
def test_simulators_are_compared_with_one_process_or_two(jobs):
    table = eq.play_many(lift(), ["psrl", "random"], 60, seeds=range(2), jobs=jobs, checkpoints=3)
    alone = [eq.play(lift(), "psrl", 60, seed, checkpoints=3).reward[-1] for seed in range(2)]
    assert table.final("reward")["psrl"].tolist() == alone


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (Lift, r"step must be an object, such as Lift\(\), not the class Lift itself"),
        (3, "step must be a function .* or an object with reset and step, not 3"),
        (type("Two", (), {"reset": lambda self: 0, "step": lambda self, s, a: 0})(), "must take the action alone"),
    ],
)
def test_what_cannot_be_stepped_is_named(machine, message):
    with pytest.raises(TypeError, match=message):
        eq.Simulator(machine, 2, 1)
