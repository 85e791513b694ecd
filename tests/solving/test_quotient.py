from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from equirl.solving import quotient
from equirl.solving.quotient import Moves, best_values, error_of, moves_of
from equirl.solving.renewal import TooMuchFill


def moves(*rows: tuple[int, list[float]], paid: float = 0.0) -> Moves:
    laws = csr_array(np.array([law for _, law in rows]))
    return moves_of(laws, np.array([node for node, _ in rows]), np.full(len(rows), paid))


def most_moves(walk: Moves) -> float:
    found = quotient._most_moves(walk, np.ones(len(walk.origin), bool))
    return np.inf if found is None else float(found.max())


NONE = moves_of(csr_array((0, 2)), np.zeros(0, int), np.zeros(0))

# a detour over node 1, and a coin between a detour and the end, which is node 2
DETOUR = moves((0, [0.0, 0.0, 1.0]), (0, [0.0, 1.0, 0.0]), (0, [0.0, 1.0, 0.0]), (1, [0.0, 0.0, 1.0]))
COIN = moves((0, [0.0, 0.5, 0.5]), (1, [0.5, 0.0, 0.5]))


def test_values_that_a_better_move_would_raise_are_known_to_be_off() -> None:
    move = moves((0, [0.0, 1.0]))  # the first of two nodes may move to the second
    stay, stays, goes = np.array([0.2, 0.9]), np.array([-1, -1]), np.array([0, -1])
    assert error_of(move, stay, np.array([0.9, 0.9]), goes) < 1e-12
    for value, choice in ((stay, stays), (np.array([0.2, 0.9]), goes), (np.array([1.6, 0.9]), goes)):
        assert error_of(move, stay, value, choice) >= 0.7 - 1e-12


def test_the_best_move_of_a_node_is_the_first_that_is_worth_most() -> None:
    top, row = DETOUR._replace(paid=np.full(4, 0.5)).best(np.array([5.0, 3.0, 1.0]))
    assert (top.tolist(), row.tolist()) == ([3.5, 1.5, -np.inf], [1, 3, -1])
    top, row = DETOUR.best(np.array([5.0, 0.0, 1.0]))
    assert (top.tolist(), row.tolist()) == ([1.0, 1.0, -np.inf], [0, 3, -1])
    assert [found.tolist() for found in NONE.best(np.zeros(2))] == [[-np.inf, -np.inf], [-1, -1]]


def test_a_mean_over_a_row_is_rounded_twice_per_entry_and_some_more() -> None:
    eps = np.finfo(float).eps
    assert (DETOUR.rounding, COIN.rounding) == (8 * eps, 10 * eps)
    assert NONE.rounding == 6 * eps


@pytest.mark.parametrize(("walk", "most"), [(DETOUR, 2.0), (COIN, 2.0)])
def test_the_most_moves_are_bounded_with_all_that_rounding_may_hide(
    walk: Moves, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert most <= most_moves(walk) <= most * (1 + 1e-12)
    monkeypatch.setattr(Moves, "rounding", 0.05)
    assert most_moves(walk) == pytest.approx(most / (1 - 0.05 * (1 + most)))
    monkeypatch.setattr(Moves, "rounding", 0.2)  # half of it could be missing
    assert most_moves(walk) == np.inf


def test_the_error_of_values_is_what_they_are_off_and_rounding_once_for_every_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stay, choice = np.array([-np.inf, -np.inf, 0.8]), np.array([1, 3, -1])
    monkeypatch.setattr(Moves, "rounding", 0.05)
    moves = 2.0 / (1 - 0.05 * 3)
    exact = np.array([0.8, 0.8, 0.8])
    assert error_of(DETOUR, stay, exact, choice) == pytest.approx(0.05 * 0.8 * moves)
    low = np.array([0.7, 0.8, 0.8])
    assert error_of(DETOUR, stay, low, choice) == pytest.approx((0.1 + 0.05 * 0.8) * moves)
    high = np.array([0.8, 0.9, 0.8])
    assert error_of(DETOUR, stay, high, choice) == pytest.approx((0.1 + 0.05 * 0.9) * moves)
    assert error_of(NONE, np.ones(2), np.ones(2), np.array([-1, -1])) == 0.0


def test_values_of_a_quotient_are_the_best_of_staying_and_moving() -> None:
    for stay, expected, rows in (
        ([-np.inf, -np.inf, 0.8], [0.8, 0.8, 0.8], [0, 3, -1]),
        ([0.5, -np.inf, 0.8], [0.8, 0.8, 0.8], [0, 3, -1]),
        ([0.9, 0.1, 0.8], [0.9, 0.8, 0.8], [-1, 3, -1]),
        ([0.1, 0.95, 0.8], [0.95, 0.95, 0.8], [1, -1, -1]),
        ([0.8, 0.8, 0.8], [0.8, 0.8, 0.8], [-1, -1, -1]),
    ):
        value, choice = best_values(DETOUR, np.array(stay))
        np.testing.assert_allclose(value, expected)
        assert choice.tolist() == rows


@pytest.mark.parametrize("walk", [DETOUR, COIN], ids=["detour", "coin"])
def test_where_factors_are_too_large_sweeps_give_the_same_values(walk: Moves, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object) -> None:
        raise TooMuchFill

    walk, stay = walk._replace(paid=np.arange(1.0, len(walk.paid) + 1)), np.array([-np.inf, -np.inf, 0.8])
    value, choice = best_values(walk, stay)
    most = most_moves(walk)
    monkeypatch.setattr(quotient, "factor", too_large)
    by_sweeps, chosen = best_values(walk, stay)
    np.testing.assert_allclose(by_sweeps, value, rtol=1e-14)
    assert chosen.tolist() == choice.tolist()
    assert error_of(walk, stay, by_sweeps, chosen) < 1e-12
    assert most_moves(walk) == pytest.approx(most, rel=1e-14)
    monkeypatch.setattr(quotient, "MOST_SWEEPS", 1)
    with pytest.raises(TooMuchFill, match="LU factors of 3 nodes are too large, and 1 sweeps too few"):
        best_values(walk, stay)
