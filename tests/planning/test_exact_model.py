"""One MDP as a set of models: its parts, its bounds, and its sweeps by their definition."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.model.rows import Rows
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import single_sweep

ROWS = Rows(np.array([0, 2, 3, 4]), np.array([0, 1, 1, 0], np.int32), np.array([0.25, 0.35, 1.0, 0.8]))
MODEL = ExactModel(ROWS, np.array([0.4, 0.0, 0.2]), np.array([0.1, 0.2, 0.3]), np.array([0, 0, 1]), 0.25)


def test_bounds_are_the_probabilities_themselves_with_their_part_of_the_rest():
    assert MODEL.widths().tolist() == [0.0, 0.0, 0.0]
    assert MODEL.n_entries == 4
    lower, upper, other = MODEL.row_bounds(0)
    np.testing.assert_allclose([*lower, *upper, other], [0.45, 0.55, 0.45, 0.55, 0.2])
    assert MODEL.row_bounds(1)[2] == 0.0


def test_a_model_keeps_its_pairs_apart():
    part = MODEL.restrict(np.array([2, 0]))
    assert (part.rows.ptr.tolist(), part.rows.succ.tolist(), part.rest.tolist()) == ([0, 1, 3], [0, 0, 1], [0.2, 0.4])
    assert (part.reward.tolist(), part.state.tolist(), part.stay) == ([0.3, 0.1], [1, 0], 0.25)
    paid = MODEL.with_rewards(np.array([0.7, 0.8, 0.9]))
    assert paid.r_lower.tolist() == paid.r_upper.tolist() == [0.7, 0.8, 0.9]
    assert MODEL.without_supports() is MODEL


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_a_sweep_takes_the_rest_to_the_mean_and_stays_with_its_probability(discount):
    u = np.array([2.0, 6.0])
    work = single_sweep(np.array([0, 2, 3]), MODEL, u, discount)()
    law = np.array([[0.25, 0.35], [0.0, 1.0], [0.8, 0.0]]) @ u + np.array([0.4, 0.0, 0.2]) * 4.0
    expected = MODEL.reward + discount * (0.75 * law + 0.25 * u[[0, 0, 1]])
    np.testing.assert_allclose(work.q, expected)
    np.testing.assert_allclose(work.out, [max(expected[:2]), expected[2]])
