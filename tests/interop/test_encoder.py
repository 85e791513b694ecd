"""Encoders number the values of discrete spaces, one to one, and give the user's own values back."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import equirl as eq

SPACES = {
    "discrete": spaces.Discrete(5),
    "from -2": spaces.Discrete(4, start=-2),
    "multi": spaces.MultiDiscrete([3, 2, 2]),
    "grid": spaces.MultiDiscrete([[2, 3], [1, 2]]),
    "binary": spaces.MultiBinary(4),
    "tuple": spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2, start=1)]),
    "dict": spaces.Dict({"b": spaces.Discrete(2), "a": spaces.MultiDiscrete([2, 2])}),
    "nested": spaces.Tuple([spaces.Dict({"x": spaces.Discrete(2)}), spaces.Tuple([spaces.Discrete(3)])]),
}


@pytest.mark.parametrize("kind", SPACES)
def test_every_value_of_a_space_has_its_own_number_and_is_given_back(kind):
    space, encoder = SPACES[kind], eq.Encoder(SPACES[kind])
    values = [encoder.decode(k) for k in range(encoder.n)]
    assert all(space.contains(space.dtype.type(v) if kind == "from -2" else v) or v in space for v in values)
    assert [encoder.encode(value) for value in values] == list(range(encoder.n))
    space.seed(0)
    drawn = {encoder.encode(space.sample()) for _ in range(40 * encoder.n)}
    assert drawn == set(range(encoder.n))


def test_names_are_the_values_unless_they_are_numbers_already():
    assert eq.Encoder(SPACES["discrete"]).names is None
    assert eq.Encoder(SPACES["from -2"]).names == (-2, -1, 0, 1)
    assert eq.Encoder(SPACES["tuple"]).names[:2] == ((0, 1), (0, 2))
    assert eq.Encoder(SPACES["dict"]).names[1] == ((0, 0), 1)  # in the order of the keys


def test_a_list_of_states_is_an_encoder_too():
    encoder = eq.Encoder.of([{"x": 1, "y": 2}, {"x": 1, "y": 3}])
    assert encoder.encode({"y": 3, "x": 1}) == 1
    assert encoder.decode(0) == {"x": 1, "y": 2}
    with pytest.raises(ValueError, match="values must be different"):
        eq.Encoder.of(["a", "a"])


def test_states_are_found_by_playing():
    env = gymnasium.make("Blackjack-v1")
    met = eq.Encoder.from_play(env, 3000, seed=1)
    assert met.n < eq.Encoder(env.observation_space).n
    assert met.names == tuple(sorted(met.names))
    assert met.names == eq.Encoder.from_play(env, 3000, seed=1).names


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eq.Encoder(spaces.Box(0, 1)), "is not finite"),
        (lambda: eq.Encoder(spaces.MultiDiscrete([1000, 1000, 10])), "too many to list; Encoder.from_play"),
        (lambda: eq.Encoder(SPACES["tuple"]).encode((0, 0)), r"\(0, 0\) is none of the 6 values"),
        (lambda: eq.Encoder(SPACES["discrete"]).encode(5), "5 is none of the 5 values"),
        (lambda: eq.Encoder(SPACES["discrete"]).encode("2"), "'2' is none of the 5 values"),
        (lambda: eq.Encoder(SPACES["discrete"]).decode(5), "number must be at most 4"),
        (lambda: eq.Encoder.of([object()]), "cannot stand for a state"),
    ],
)
def test_what_cannot_be_encoded_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_arrays_from_an_environment_are_values():
    encoder = eq.Encoder(SPACES["multi"])
    assert encoder.encode(np.array([1, 0, 1])) == encoder.encode((1, 0, 1)) == encoder.encode([1, 0, 1])
