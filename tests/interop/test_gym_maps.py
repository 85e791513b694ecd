"""Maps of Gymnasium's grids."""

from __future__ import annotations

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import equirl as eq
from equirl.interop.gym_tables import grid_picture
from equirl.lab.plots.sheets import policy_text

NONE = np.array([], int)


def test_a_frozen_lake_has_its_own_map():
    env = gymnasium.make("FrozenLake-v1", desc=["SFF", "HFG"])
    mdp = eq.from_gymnasium(env, drop_unreachable=False)
    assert mdp.picture.rows == ("S..", "H.G")
    np.testing.assert_array_equal(mdp.picture.cell, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]])


def test_states_that_are_left_out_leave_their_cells_empty():
    mdp = eq.make("frozen-lake", size="4x4")
    assert mdp.picture.rows == ("S...", ".H.H", "...H", "H..G")
    named = [4 * i + j for i, j in mdp.picture.cell.tolist()]
    assert [int(name) for name in mdp.pairs.state_names] == named
    assert policy_text(mdp, eq.solve(mdp).policy).splitlines()[3] == "H→↓G"


def test_a_cliff_has_a_start_a_goal_and_its_edge():
    mdp = eq.make("cliff-walking")
    assert mdp.picture.rows == ("." * 12, "." * 12, "." * 12, "S" + "C" * 10 + "G")
    assert mdp.picture.cell[-1].tolist() == [3, 0]


def test_taxis_letters_are_no_map_of_its_states():
    assert eq.make("taxi").picture is None


@pytest.mark.parametrize(
    "bare",
    [
        SimpleNamespace(),
        SimpleNamespace(desc="SFFG"),
        SimpleNamespace(desc=[["S", "F"], ["F", "Goal"]]),
        SimpleNamespace(desc=[["S", "F", "G"]]),
        SimpleNamespace(desc=[[1, 2], [3, 4]]),
        SimpleNamespace(shape=(4,)),
        SimpleNamespace(shape=(2, 3)),
        SimpleNamespace(shape="22"),
    ],
)
def test_what_is_no_cell_per_state_is_no_map(bare):
    assert grid_picture(bare, 4, NONE, NONE) is None


@pytest.mark.parametrize("desc", [np.array([list("SF"), list("HG")]), np.array([list("SF"), list("HG")], "S1")])
def test_letters_and_bytes_are_both_read(desc):
    assert grid_picture(SimpleNamespace(desc=desc), 4, NONE, NONE).rows == ("S.", "HG")


def test_a_shape_alone_is_a_map_of_first_and_last_states():
    found = grid_picture(SimpleNamespace(shape=(2, 2)), 4, np.array([0]), np.array([0, 3]))
    assert found.rows == ("S.", ".G")
