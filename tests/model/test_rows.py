"""Rows of transition probabilities: made from entries in any order, checked, taken apart, and followed."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.model import rows as rows_module
from equirl.model.pairs import Pairs
from equirl.model.reachability import reached
from equirl.model.rows import Rows, check_n_states, checked_rows, rows_from_table, rows_from_triplets

PAIRS = Pairs.uniform(3, 1)
ROWS = Rows(np.array([0, 2, 3, 5]), np.array([0, 2, 1, 0, 1], np.int32), np.array([0.25, 0.75, 1.0, 0.5, 0.5]))


def test_entries_in_any_order_are_summed_and_zeros_dropped():
    pair, succ = np.array([2, 0, 1, 2, 0, 1, 2]), np.array([1, 2, 1, 0, 0, 2, 1])
    prob = np.array([0.2, 0.75, 1.0, 0.5, 0.25, 0.0, 0.3])
    found = rows_from_triplets(PAIRS, pair, succ, prob)
    assert (found.ptr.tolist(), found.succ.tolist()) == (ROWS.ptr.tolist(), ROWS.succ.tolist())
    np.testing.assert_allclose(found.prob, ROWS.prob)
    assert found.succ.dtype == np.int32


@pytest.mark.parametrize("at_once", [1, 2, 5, 100])
def test_a_table_becomes_rows_in_increasing_order_and_keeps_its_masses(at_once, monkeypatch):
    monkeypatch.setattr(rows_module, "AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    succ = np.concatenate([rng.permutation(9)[:3] for _ in range(5)])
    prob = rng.dirichlet(np.ones(3), 5).ravel()
    expected = [dict(zip(succ[k : k + 3], prob[k : k + 3], strict=True)) for k in range(0, 15, 3)]
    found = rows_from_table(succ, prob, 3)
    assert found.ptr.tolist() == [0, 3, 6, 9, 12, 15]
    for k, row in enumerate(expected):
        assert found.succ[found.row(k)].tolist() == sorted(row)
        assert found.prob[found.row(k)].tolist() == [row[x] for x in sorted(row)]
    assert (found.succ.dtype, found.ptr.dtype) == (np.int32, np.int64)
    assert found.prob is prob  # sorted in place


def sums_to(total, normalize=False):
    pair, succ = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    return rows_from_triplets(PAIRS, pair, succ, np.array([0.5, total - 0.5, 1.0, 1.0]), normalize=normalize)


@pytest.mark.parametrize("sign", [-1, 1])
def test_sums_may_be_off_by_rounding_and_where_asked_by_a_thousandth(sign):
    assert sums_to(1 + 0.9e-8 * sign).prob[1] == pytest.approx(0.5 + 0.9e-8 * sign, abs=1e-15)
    with pytest.raises(ValueError, match=r"p\(. \| s=0, a=0\) sums to .*, not 1; the makers divide rounded rows"):
        sums_to(1 + 1.1e-8 * sign)
    assert sums_to(1 + 0.9e-3 * sign, normalize=True).prob[:2].sum() == pytest.approx(1.0, abs=1e-15)
    for normalize in (False, True):
        with pytest.raises(ValueError, match=r"sums to [\d.]+, not 1$"):
            sums_to(1 + 1.1e-3 * sign, normalize)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ptr": [0, 2, 3]}, r"rows of shapes \(3,\), \(5,\), \(5,\) do not match 3 pairs"),
        ({"prob": [0.25, 0.75, 1.0, 1.0]}, r"rows of shapes \(4,\), \(5,\), \(4,\) do not match 3 pairs"),
        ({"ptr": [0, 2, 3, 4]}, "rows.ptr must run from 0 to 5"),
        ({"succ": [2, 0, 1, 0, 1]}, r"the successors of \(s=0, a=0\) are not increasing"),
        ({"succ": [0, 2, 1, 1, 1]}, r"the successors of \(s=2, a=0\) are not increasing"),
        ({"succ": [0, 3, 1, 0, 1]}, r"p\(. \| s=0, a=0\) leads to unknown state 3: states are 0 to 2"),
        ({"succ": [-1, 2, 1, 0, 1]}, r"leads to unknown state -1"),
        ({"prob": [0.25, 0.75, 1.0, 0.0, 1.0]}, r"p\(0 \| s=2, a=0\) is 0; store positive ones only"),
        ({"prob": [-0.25, 1.25, 1.0, 0.5, 0.5]}, r"p\(0 \| s=0, a=0\) is -0.25, not a probability"),
        ({"prob": [0.25, np.nan, 1.0, 0.5, 0.5]}, r"p\(2 \| s=0, a=0\) is nan, not a probability"),
        ({"prob": [0.25, np.inf, 1.0, 0.5, 0.5]}, r"p\(2 \| s=0, a=0\) is inf, not a probability"),
        ({"ptr": [0, 2, 2, 5], "succ": [0, 2, 0, 1, 2]}, r"p\(. \| s=1, a=0\) sums to 0, not 1"),
        ({"ptr": [0, 0, 3, 5], "succ": [0, 1, 2, 0, 1]}, r"p\(. \| s=0, a=0\) sums to 0, not 1"),
        ({"prob": [0.25, 0.75, 0.9, 0.5, 0.5]}, r"p\(. \| s=1, a=0\) sums to 0.9, not 1"),
        ({"prob": [0.25, 0.75, 1.0, 0.5, 0.6]}, r"p\(. \| s=2, a=0\) sums to 1.1, not 1"),
    ],
)
def test_rows_that_break_their_promises_are_refused(changes, message):
    arrays = {name: np.array(getattr(ROWS, name)) for name in Rows._fields}
    changed = {name: np.array(value, arrays[name].dtype) for name, value in changes.items()}
    with pytest.raises(ValueError, match=message):
        checked_rows(PAIRS, Rows(**(arrays | changed)))


def test_rows_that_hold_are_owned_and_read_only():
    found = checked_rows(PAIRS, ROWS)
    assert all(np.array_equal(one, two) for one, two in zip(found, ROWS, strict=True))
    assert not any(array.flags.writeable for array in found)
    for wrong, message in (((3, ROWS), "pairs must be Pairs, not 3"), ((PAIRS, 3), "rows must be Rows, not 3")):
        with pytest.raises(TypeError, match=message):
            checked_rows(*wrong)


def test_rows_are_taken_in_the_order_given():
    part = ROWS.take(np.array([2, 0, 2]))
    assert (part.ptr.tolist(), part.succ.tolist()) == ([0, 2, 4, 6], [0, 1, 0, 2, 0, 1])
    assert part.prob.tolist() == [0.5, 0.5, 0.25, 0.75, 0.5, 0.5]
    assert ROWS.row(1) == slice(2, 3)


def test_states_are_at_most_as_many_as_can_be_numbered():
    check_n_states(2**31 - 1)
    with pytest.raises(ValueError, match=r"2147483648 states are too many: states are numbered with int32, up to"):
        check_n_states(2**31)


@pytest.mark.parametrize(
    ("start", "expected"),
    [([1, 0, 0, 0, 0], [1, 1, 1, 0, 0]), ([0, 0, 1, 0, 0], [0, 0, 1, 0, 0]), ([0, 1, 0, 1, 0], [0, 1, 1, 1, 1])],
)
def test_what_is_reached_is_the_start_and_all_that_edges_lead_to(start, expected):
    source, target = np.array([0, 1, 3, 4]), np.array([1, 2, 4, 3])
    assert reached(np.array(start, bool), source, target).tolist() == [bool(x) for x in expected]
    assert not reached(np.zeros(5, bool), source, target).any()
