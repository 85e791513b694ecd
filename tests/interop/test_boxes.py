"""Boxes divided into cells: every value has a cell, every cell a number, and what is decoded lies in it."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, strategies as st

import equirl as eq

PLANE = spaces.Box(np.array([0.0, -1.0]), np.array([10.0, 1.0]), dtype=np.float64)
OPEN = spaces.Box(np.array([-np.inf, 0.0]), np.array([np.inf, 4.0]), dtype=np.float64)


@given(st.integers(0, 10_000).map(lambda k: k / 1000), st.integers(-1000, 1000).map(lambda k: k / 1000))
def test_cells_of_equal_width_are_those_of_the_arithmetic(x, y):
    encoder = eq.Encoder(PLANE, bins=[5, 4])
    cell = min(4, int(x // 2)), min(3, int(round(1000 * y + 1000) // 500))
    assert encoder.n == 20
    assert encoder.names[encoder.encode([x, y])] == cell
    middle = encoder.decode(encoder.encode([x, y]))
    np.testing.assert_allclose(middle, [2 * cell[0] + 1, -1 + 0.5 * cell[1] + 0.25])
    assert encoder.encode(middle) == encoder.encode([x, y])


@pytest.mark.parametrize(
    ("x", "cell"), [(-1e9, 0), (-2.0, 1), (-2.0000001, 0), (-1.5, 1), (0.0, 2), (2.999, 2), (3.0, 3), (1e9, 3)]
)
def test_edges_belong_to_the_cell_above_and_what_is_outside_to_the_last(x, cell):
    encoder = eq.Encoder(OPEN, bins=[[-2, 0, 3], 1])
    assert encoder.names[encoder.encode([x, 2.0])] == (cell, 0)
    assert encoder.n == 4
    middles = [encoder.decode(k)[0] for k in range(4)]
    assert middles == [-3.25, -1.0, 1.5, 4.25]  # beyond the last edge half as far as edges are apart on average


def test_one_number_of_bins_is_for_every_dimension_and_boxes_may_stand_in_other_spaces():
    both = spaces.Dict({"at": PLANE, "lamp": spaces.Discrete(2)})
    encoder = eq.Encoder(both, bins=3)
    assert encoder.n == 18
    assert encoder.names[encoder.encode({"at": [9.9, 0.9], "lamp": 1})] == ((2, 2), 1)
    assert eq.Encoder(both, bins={"at": [2, 1]}).n == 4
    pair = eq.Encoder(spaces.Tuple([PLANE, PLANE]), bins=[2, [3, 1]])
    assert pair.n == 4 * 3
    assert [pair.encode(pair.decode(k)) for k in range(pair.n)] == list(range(pair.n))


@pytest.mark.parametrize(
    ("space", "bins", "message"),
    [
        (PLANE, None, r"not finite.*Encoder\(space, bins=10\) divides a Box"),
        (PLANE, [3], "bins has 1 entries; the 2 dimensions"),
        (PLANE, 0, "bins of dimension 0 must be at least 1"),
        (OPEN, 3, "dimension 0 has no bounds; bins must list the edges"),
        (PLANE, [[2, 1], 1], "bins of dimension 0 must be increasing finite numbers"),
        (PLANE, [[np.nan], 1], "bins of dimension 0 must be increasing finite numbers"),
        (PLANE, [2000, 2000], "too many to list"),
    ],
)
def test_bins_that_make_no_sense_are_named(space, bins, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eq.Encoder(space, bins)


@pytest.mark.parametrize("value", [[1.0], [np.nan, 0.0], "far", [1.0, 2.0, 3.0]])
def test_values_that_are_none_of_the_space_are_named(value):
    with pytest.raises((ValueError, TypeError)):
        eq.Encoder(PLANE, bins=2).encode(value)


def test_an_environment_with_a_box_is_played_and_evaluated_through_its_encoder():
    env = gymnasium.make("CartPole-v1")
    cells = eq.Encoder(env.observation_space, bins=[1, [-1, 1], 3, [-1, 1]])
    trace = eq.play(env, "psrl", 60, encoder=cells)
    assert trace.reward[-1] == 60
    assert trace.agent.pairs.state_names[0] == (0, 0, 0, 0)
    found = eq.evaluate(trace.agent, env, 60, encoder=cells)
    assert (found.mean_reward, found.steps) == (1.0, 60)
    assert found.episodes >= 1
    table = eq.play_many(env, ["random"], 30, seeds=range(2), encoder=cells)
    assert table.final("reward")["random"].tolist() == [30, 30]
    with pytest.raises(TypeError, match="encoder must be an Encoder, not 10"):
        eq.play(env, "psrl", 5, encoder=10)
