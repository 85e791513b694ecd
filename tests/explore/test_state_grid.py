"""States on a grid by the coordinates in their names."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.lab.explore.state_grid import state_grid
from equirl.lab.explore.world_service import WorldView
from explore_kit import unpacked


def test_two_coordinates_are_a_column_and_a_row_in_the_order_of_their_values():
    grid = state_grid(["10,b", "9,b", "9,a", "2,a"])
    assert grid.rows == [".. ", " .."]
    np.testing.assert_array_equal(grid.cell, [[1, 2], [1, 1], [0, 1], [0, 0]])
    assert grid.words == "states by their names: the first part (2, 9, 10) across, the second (a, b) down"


def test_the_longer_axis_lies_across():
    grid = state_grid(["0,0", "0,1", "0,2", "1,0"])
    assert grid.rows == ["...", ".  "]
    assert grid.words == "states by their names: the first part (0, 1) down, the second (0, 1, 2) across"


def test_three_coordinates_are_blocks_with_a_gap_between_them():
    grid = state_grid([f"{a},{b},{c}" for a in range(2) for b in range(3) for c in range(2)])
    assert grid.rows == [".. .."] * 3
    np.testing.assert_array_equal(grid.cell[[0, 1, 2, 6]], [[0, 0], [0, 1], [1, 0], [0, 3]])
    assert "the first part (0, 1) from block to block, the second (0, 1, 2) down, the third (0, 1) across" in grid.words


def test_words_come_before_numbers_and_long_axes_are_told_by_their_ends():
    grid = state_grid([f"{value},0" for value in ("-", 3, 1, 2, 10, 5, 4)])
    assert grid.words.startswith("states by their names: the first part (- to 10) across")
    np.testing.assert_array_equal(grid.cell[:, 1], [0, 3, 1, 2, 6, 5, 4])


@pytest.mark.parametrize("names", [None, [], ["a", "b"], ["1,2", "3"], ["1,2,3,4"], [0, 1]])
def test_other_names_are_no_coordinates(names):
    assert state_grid(names) is None


def test_names_that_fill_less_than_a_third_of_their_grid_are_no_coordinates():
    assert state_grid([f"{k},{k}" for k in range(3)]) is not None
    assert state_grid([f"{k},{k}" for k in range(4)]) is None


@pytest.mark.parametrize("world", ["access-control", "admission", "machines", "pendulum", "lost-sales"])
def test_every_state_of_a_named_world_has_a_cell_of_its_own(world):
    mdp = eq.make(world)
    told = WorldView(mdp).describe()
    cell = unpacked(told["map"]["cell"]).reshape(-1, 2)
    assert len({tuple(at) for at in cell.tolist()}) == mdp.n_states
    assert all(told["map"]["rows"][i][j] == "." for i, j in cell.tolist())
    assert told["edges"] is None


def test_a_map_goes_before_names_and_worlds_without_either_have_edges():
    assert "words" not in WorldView(eq.make("four-room")).describe()["map"]
    plain = WorldView(eq.make("random")).describe()
    assert plain["map"] is None
    assert plain["edges"] is not None
