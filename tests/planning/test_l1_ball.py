"""A set of L1 balls: its bounds and parts, how rows are sorted, and where spare masses are placed."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.estimation.pooling import Spare
from equirl.model.rows import Rows
from equirl.planning.l1_ball import Balls, ConfidenceSet, PlacedBalls, follow_balls, place_spare, sort_row

ROWS = Rows(np.array([0, 2, 3, 3]), np.array([0, 2, 1], np.int32), np.array([0.25, 0.75, 1.0]))
SPARE = Spare(np.array([0, 1, 1, 3]), np.array([0.1, 0.6, 0.3]))
MODELS = ConfidenceSet(ROWS, np.array([0.2, 1.0, 5.0]), np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6]), SPARE)


def test_bounds_are_half_the_radius_to_either_side_inside_the_unit_interval():
    assert MODELS.widths().tolist() == [0.2, 1.0, 2.0]
    assert MODELS.n_entries == 3
    lower, upper, other = MODELS.row_bounds(0)
    np.testing.assert_allclose([*lower, *upper, other], [0.15, 0.65, 0.35, 0.85, 0.1])
    lower, upper, other = MODELS.row_bounds(1)
    assert (lower.tolist(), upper.tolist(), other) == ([0.5], [1.0], 0.5)
    wide = MODELS._replace(p_radius=np.array([1.0, 1.0, 5.0]))
    assert [end.tolist() for end in wide.row_bounds(0)[:2]] == [[0.0, 0.25], [0.75, 1.0]]
    assert wide.row_bounds(2)[2] == 1.0


def test_a_set_keeps_its_pairs_apart():
    part = MODELS.restrict(np.array([2, 0]))
    assert (part.rows.ptr.tolist(), part.rows.succ.tolist(), part.p_radius.tolist()) == ([0, 0, 2], [0, 2], [5.0, 0.2])
    assert (part.r_lower.tolist(), part.r_upper.tolist()) == ([0.3, 0.1], [0.6, 0.4])
    assert (part.spare.ptr.tolist(), part.spare.mass.tolist()) == ([0, 2, 3], [0.6, 0.3, 0.1])
    assert MODELS.restrict(np.array([1])).spare is None
    assert MODELS._replace(spare=None).restrict(np.array([0])).spare is None
    paid = MODELS.with_rewards(np.array([0.7, 0.8, 0.9]))
    assert paid.r_lower.tolist() == paid.r_upper.tolist() == [0.7, 0.8, 0.9]
    assert MODELS.without_supports() is MODELS


def test_kernels_read_copies_with_room_for_spare_masses_and_threads_share_only_what_is_placed():
    solver, plain = MODELS._replace(spare=None).prepare()
    assert isinstance(plain, Balls)
    assert solver.follow is follow_balls
    plain.rows.prob[0] = 9.0
    assert ROWS.prob[0] == 0.25
    assert plain.moved.tolist() == [0.1, 0.5, 2.5]
    solver, placed = MODELS.prepare()
    assert isinstance(placed, PlacedBalls)
    assert solver.follow is None
    assert (placed.rows.ptr.tolist(), placed.moved.tolist()) == ([0, 3, 4, 6], [0.1, 0.5, 2.5])
    assert (len(placed.rows.succ), len(placed.rows.prob)) == (6, 6)


@pytest.mark.parametrize("plain", [False, True])
def test_spare_masses_are_written_behind_what_was_seen_on_the_best_other_states(plain):
    _, placed = MODELS.prepare()
    for by_u, states in (([2, 3, 0, 1], [0, 2, 3, 1, 2, 3]), ([1, 0, 3, 2], [0, 2, 1, 1, 1, 0])):
        (place_spare.py_func if plain else place_spare)(placed, np.array(by_u))
        assert placed.rows.succ.tolist() == states
        assert placed.rows.prob.tolist() == [0.25, 0.75, 0.1, 1.0, 0.6, 0.3]


@pytest.mark.parametrize("plain", [False, True])
def test_a_row_is_sorted_by_rising_value_and_its_neighbours_are_left_alone(plain):
    rng, run = np.random.default_rng(0), sort_row.py_func if plain else sort_row
    for _ in range(20):
        succ, prob, u = rng.permutation(9).astype(np.uint32), rng.random(9), rng.integers(0, 4, 9).astype(float)
        before = dict(zip(succ.tolist(), prob.tolist(), strict=True))
        ends = succ.copy()
        run(2, 7, succ, prob, u)
        assert (succ[:2].tolist(), succ[7:].tolist()) == (ends[:2].tolist(), ends[7:].tolist())
        assert succ[2:7].tolist() == sorted(ends[2:7].tolist(), key=lambda x: u[x])  # of equals the first stays first
        assert [before[x] for x in succ.tolist()] == prob.tolist()
