import numpy as np
import pytest

from equirl.numerics.arrays import (
    check_starts,
    frozen,
    number_by_appearance,
    owners,
    rows_by_length,
    sealed,
    starts,
)
from equirl.words.checking import real_array, whole_array


def test_starts_and_owners_of_rows_without_entries():
    assert starts([]).tolist() == [0]
    assert starts([0, 2, 0]).tolist() == [0, 0, 2, 2]
    assert owners(np.array([0, 0, 2, 2])).tolist() == [1, 1]


def test_starts_are_64_bits_wide_whatever_the_sizes_are():
    assert starts(np.array([200, 200], np.uint8)).tolist() == [0, 200, 400]


@pytest.mark.parametrize("given", [[1, 2], np.array([1, 2]), np.array([1, 2])[::-1], np.array([1, 2], np.int8)])
def test_a_frozen_array_is_a_copy_of_its_own(given):
    array = frozen("x", given, np.int64)
    assert array.flags.owndata
    assert array.flags.c_contiguous
    assert not array.flags.writeable
    assert not np.shares_memory(array, np.asarray(given))


def test_a_sealed_array_is_taken_as_it_is_if_it_fits():
    given = sealed(np.array([[1, 2], [3, 4]]))
    assert frozen("x", given, np.int64) is given
    assert frozen("x", given, np.int32).dtype == np.int32
    for part in (given[0], given.T):  # a view, whose owner may still write; another order
        assert not np.shares_memory(frozen("x", part, np.int64), given)


@pytest.mark.parametrize("check", [real_array, whole_array, lambda name, x: frozen(name, x, np.int64)])
def test_entries_under_a_mask_are_no_values(check):
    with pytest.raises(TypeError, match="visits must be a plain array: 1 of its entries are masked"):
        check("visits", np.ma.masked_array([1, 2], [False, True]))
    assert check("visits", np.ma.masked_array([1, 2])).tolist() == [1, 2]


def test_rows_of_different_lengths_are_no_array():
    with pytest.raises(TypeError, match="rewards must be an array"):
        real_array("rewards", [[1.0], [1.0, 2.0]])


def test_starts_whose_differences_overflow_are_refused():
    with pytest.raises(ValueError, match="without falling; entry 1 is 4611686018427387904"):
        check_starts("ptr", np.array([0, 2**62, -(2**62) - 1, 2]), 3, 2)


@pytest.mark.parametrize("at_once", [1, 2, 100])
@pytest.mark.parametrize("sizes", [[2, 2, 2], [3, 0, 1, 3, 1], [], [70_000, 2]])
def test_every_row_has_its_turn_among_rows_of_its_length(sizes, at_once):
    ptr, seen = starts(sizes), []
    for place in rows_by_length(ptr, at_once):
        assert 1 <= len(place) <= at_once
        assert all(len(row) == 0 or (np.diff(row) == 1).all() for row in place)
        seen += [(int(row[0]) if len(row) else -1, len(row)) for row in place]
    rows = [(int(first) if size else -1, size) for first, size in zip(ptr[:-1], sizes, strict=True)]
    assert sorted(seen) == sorted(rows)


@pytest.mark.parametrize("shift", [0, 1, 10**9, -5])
@pytest.mark.parametrize("labels", [[7, 3, 7, 0], [0], [0, 1, 2], [2, 1, 0, 2], [5, 5], [1, 0, 1, 1, 0, 4, 2, 4]])
def test_labels_are_numbered_as_they_first_appear(labels, shift):
    expected = [list(dict.fromkeys(labels)).index(label) for label in labels]
    assert number_by_appearance(np.array(labels) + shift).tolist() == expected
    assert number_by_appearance(np.array([f"c{label}" for label in labels])).tolist() == expected
