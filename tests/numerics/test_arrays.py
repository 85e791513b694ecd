import numpy as np
import pytest

from equirl.numerics.arrays import check_starts, frozen, owners, sealed, starts
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
