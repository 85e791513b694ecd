"""Readers of what users hold: each form gives the same problem, and each mistake its own words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from equirl.model.pairs import Pairs
from equirl.model.row_readers import initial_distribution, read_arrays, read_pairs, read_rows

FLAT = np.array([[0.5, 0.5, 0], [0, 0, 1], [1, 0, 0], [0, 0.2, 0.8], [0, 1, 0], [0.3, 0.3, 0.4]])
P = FLAT.reshape(3, 2, 3)
R = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
LISTED = [(s, a, {x: P[s, a, x] for x in range(3) if P[s, a, x]}, R[s, a]) for s in range(3) for a in range(2)]
NONE = np.zeros(0, int)
PTR, (OWNER, SUCC) = np.array([0, 2, 3, 4, 6, 7, 10]), np.nonzero(FLAT)


@pytest.mark.parametrize(
    "read",
    [
        lambda: read_arrays(P, R), lambda: read_arrays([sparse.csr_array(P[:, a]) for a in range(2)], R),
        lambda: read_rows(FLAT, R.ravel(), 2), lambda: read_rows(sparse.coo_array(FLAT), R.ravel(), [2, 2, 2]),
        lambda: read_rows((PTR, SUCC, FLAT[OWNER, SUCC]), R.ravel(), Pairs.uniform(3, 2)),
        lambda: read_rows(FLAT, R.ravel(), [[0, 1], (0, 1), {0, 1}]),
        lambda: read_pairs(LISTED[::-1], None), lambda: read_pairs(LISTED, 3),
    ],
)  # fmt: skip
def test_every_form_gives_the_same_pairs_rows_and_means(read):
    pairs, rows, means = read()
    assert pairs == Pairs.uniform(3, 2)
    assert (rows.ptr.tolist(), rows.succ.tolist()) == (PTR.tolist(), SUCC.tolist())
    np.testing.assert_allclose(rows.prob, FLAT[OWNER, SUCC])
    np.testing.assert_allclose(means, R.ravel())


def test_rewards_may_go_by_state_or_by_transition():
    assert read_arrays(P, [1.0, 2.0, 3.0])[2].tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    paid = np.arange(18.0).reshape(3, 2, 3)
    np.testing.assert_allclose(read_arrays(P, paid)[2], (P * paid).sum(axis=2).ravel())


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: read_arrays(sparse.csr_array(FLAT), R), "transitions are one sparse matrix; give a list with one"),
        (lambda: read_arrays([sparse.csr_array(P[:, 0]), P[:, 1]], R), "the matrix of action 1 is a ndarray"),
        (lambda: read_arrays([sparse.csr_array(P[:, 0]), sparse.csr_array(FLAT)], R), r"action 1 has shape \(6, 3\)"),
        (lambda: read_arrays(P[:, :, :2], R), r"transitions have shape \(3, 2, 2\); \(S, A, S\) is needed"),
        (lambda: read_arrays(FLAT, R), r"transitions have shape \(6, 3\); \(S, A, S\)"),
        (lambda: read_arrays(np.zeros((0, 2, 0)), R), r"transitions have shape \(0, 2, 0\)"),
        (lambda: read_arrays(np.zeros((2, 0, 2)), R), r"transitions have shape \(2, 0, 2\)"),
        (lambda: read_arrays(P, R.T), r"rewards have shape \(2, 3\); \(3, 2\) is needed, or \(3,\), or \(3, 2, 3\)"),
        (lambda: read_rows(FLAT, R.ravel(), 4), "transitions have 6 rows, which 4 actions per state do not divide"),
        (lambda: read_rows(np.zeros((0, 3)), [], 2), "transitions have 0 rows, which 2 actions"),
        (lambda: read_rows(FLAT, R.ravel(), []), "actions is empty; how many each state has is needed"),
        (lambda: read_rows(FLAT, R.ravel(), [2, 2]), "transitions have 6 rows; actions make 4 pairs, one row each"),
        (lambda: read_rows(FLAT, R.ravel(), 3), "transitions have 3 columns; actions make 2 states"),
        (lambda: read_rows(FLAT, R, 2), r"rewards have shape \(3, 2\); one mean per pair would be \(6,\)"),
        (lambda: read_rows(P, R, 2), r"transitions have shape \(3, 2, 3\); \(M, S\), one row per pair, is needed"),
        (lambda: read_rows((PTR, SUCC, np.ones(9)), R.ravel(), 2), r"succ has 10 entries, prob has shape \(9,\)"),
        (lambda: read_rows((PTR[:-1], SUCC, np.ones(10)), R.ravel(), 2), "ptr"),
        (lambda: read_rows((NONE[:0], NONE, NONE), [], 2), "ptr"),
        (lambda: read_rows(([0], NONE, NONE), [], 2), "transitions have 0 rows, which 2 actions"),
        (lambda: read_pairs([], None), "pairs is empty; every state needs at least one pair"),
        (lambda: read_pairs([*LISTED, LISTED[2]], None), r"pair \(s=1, a=0\) is listed twice"),
        (lambda: read_pairs([(0, 0, {7: 1.0}, 0.0)], 1), r"p\(. \| s=0, a=0\) leads to an unknown state: state 7"),
        (lambda: read_pairs([(0, -1, {0: 1.0}, 0.0)], 1), r"pair \(s=0, a=-1\) has a negative action id"),
        (lambda: read_pairs([(0, 2**31, {0: 1.0}, 0.0)], 1), "action ids go up to 2147483647"),
        (lambda: read_pairs([(0, 0.5, {0: 1.0}, 0.0)], 1), r"is an integer or a name, not 0.5 \(in state 0\)"),
        (lambda: read_pairs([(0, "up", {0: 1.0}, 0.0), (0, 1, {0: 1.0}, 0.0)], 1), "some actions are numbers and some"),
        (lambda: read_pairs([(0, 0, {0: 1.0})], 1), r"in pairs is not \(state, action, \{next: probability\}, mean"),
        (lambda: read_pairs([(0, 0, {0: "x"}, 0.0)], 1), "in pairs is not"),
    ],
)
def test_each_mistake_has_its_own_words(read, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read()


def test_the_largest_action_id_is_one_and_states_are_as_many_as_the_largest_says():
    pairs, *_ = read_pairs([(0, 2**31 - 1, {1: 1.0}, 0.0), (1, 0, {0: 1.0}, 0.0)], None)
    assert (pairs.n_states, pairs.action.tolist()) == (2, [2**31 - 1, 0])


def test_a_successor_by_name_and_by_number_is_one_and_unnamed_states_need_no_list():
    pairs, rows, _ = read_pairs(
        [("a", "go", {"b": 0.25, 1: 0.75}, 0.0), ("b", "go", {"a": 1.0}, 0.0)], None, ("a", "b")
    )
    assert (rows.succ.tolist(), rows.prob.tolist()) == ([1, 0], [1.0, 1.0])
    pairs, *_ = read_pairs([("a", 0, {"b": 1.0}, 0.0), ("b", 0, {"c": 1.0}, 0.0), ("c", 3, {"a": 1.0}, 0.0)], None)
    assert (pairs.state_names, pairs.action_names, pairs.action.tolist()) == (("a", "b", "c"), None, [0, 0, 3])


def test_the_first_state_is_a_number_a_name_or_a_distribution():
    plain, named = Pairs.uniform(3, 1), Pairs(np.arange(4), np.zeros(3, int), ("a", 7, (1, 2)))
    assert initial_distribution(0, plain).tolist() == [1, 0, 0]
    assert initial_distribution(2, plain).tolist() == [0, 0, 1]
    assert initial_distribution([0.5, 0.0, 0.5], plain).tolist() == [0.5, 0, 0.5]
    assert initial_distribution({0: 0.25, 2: 0.75}, plain).tolist() == [0.25, 0, 0.75]
    assert initial_distribution(0, named).tolist() == initial_distribution("a", named).tolist() == [1, 0, 0]
    assert initial_distribution((1, 2), named).tolist() == [0, 0, 1]
    assert initial_distribution({"a": 0.5, 7: 0.5}, named).tolist() == [0.5, 0.5, 0]
    zero = Pairs(np.arange(4), np.zeros(3, int), (5, 0, 6))
    assert initial_distribution(0, zero).tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="initial: unknown state 1"):
        initial_distribution(1, named)
    with pytest.raises(ValueError, match=r"the initial distribution has shape \(2,\), not \(3,\)"):
        initial_distribution([0.5, 0.5], plain)
    for wrong in (3, {5: 1.0}):
        with pytest.raises(ValueError, match="initial: state"):
            initial_distribution(wrong, plain)


def test_a_distribution_that_nearly_sums_to_one_is_divided_where_that_is_asked_for():
    plain, near, far = Pairs.uniform(2, 1), [0.5, 0.5 + 5e-4], [0.5, 0.6]
    assert initial_distribution(near, plain).sum() == pytest.approx(1 + 5e-4)
    assert initial_distribution(near, plain, normalize=True).sum() == pytest.approx(1.0, abs=1e-15)
    assert initial_distribution(far, plain, normalize=True).tolist() == far
