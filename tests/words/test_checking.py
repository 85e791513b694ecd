"""Wrong arguments are named with their values."""

import math

import numpy as np
import pytest

from equirl.words.checking import (
    above,
    between,
    check_callable,
    checked_path,
    choice,
    discount_below_one,
    flag,
    inside,
    real_array,
    real_number,
    unknown_name,
    whole_array,
    whole_number,
)


def test_an_unknown_name_is_met_with_the_nearest():
    message = unknown_name("learner", "cucrl", ["ucrl2-l", "c-ucrl"])
    assert message == "unknown learner 'cucrl'; did you mean 'c-ucrl'? Known: c-ucrl, ucrl2-l"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: whole_number("n_states", 1, least=2), "n_states must be at least 2, not 1"),
        (lambda: inside("delta", 0), "delta must lie strictly between 0 and 1, not 0"),
        (lambda: whole_array("visits", [3, -1]), "visits must be at least 0; entry 1 is -1"),
        (lambda: checked_path("path", 3), "path must be a str or a path, not 3"),
    ],
)
def test_an_error_names_the_argument_and_its_value(call, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "call",
    [
        lambda: whole_number("n", 0), lambda: whole_number("n", 11, most=10), lambda: whole_number("n", -1, least=0),
        lambda: whole_number("n", 2.5), lambda: whole_number("n", True), lambda: whole_number("n", "3"),
        lambda: real_number("n", True), lambda: real_number("n", "3"), lambda: real_number("n", 10**400),
        lambda: between("n", -0.1), lambda: between("n", 1.1), lambda: between("n", math.nan),
        lambda: between("n", 4, 5, math.inf), lambda: inside("n", 1.0), lambda: inside("n", math.nan),
        lambda: inside("n", 2, 2, 3), lambda: above("n", 0, 0, "never ends"), lambda: above("n", math.nan, 0, "ends"),
        lambda: flag("n", 1), lambda: flag("n", None), lambda: choice("n", "b", ("a",)), lambda: choice("n", 3, ("a",)),
        lambda: check_callable("n", 3), lambda: checked_path("n", "a\0b"), lambda: checked_path("n", "\ud800"),
        lambda: real_array("n", ["x"]), lambda: real_array("n", [1j]), lambda: whole_array("n", [0.5]),
    ],
)  # fmt: skip
def test_a_value_beyond_its_range_or_of_another_kind_is_named(call):
    with pytest.raises((TypeError, ValueError), match=r"^(unknown )?n\b"):
        call()


def test_values_at_the_ends_of_their_ranges_are_taken():
    assert whole_number("n", 1) == whole_number("n", np.int8(1)) == 1
    assert whole_number("n", 10, most=10) == 10
    assert whole_number("n", 0, least=0) == 0
    assert (between("n", 0), between("n", 1), between("n", math.inf, 0, math.inf)) == (0, 1, math.inf)
    assert inside("n", 1e-300) == 1e-300
    assert above("n", 1e-300, 0, "never ends") == 1e-300
    assert math.isinf(above("n", math.inf, 0, "never ends"))
    assert (flag("n", True), flag("n", np.bool_(False))) == (True, False)
    assert discount_below_one(0) == 0
    assert discount_below_one(1 - 1e-12) == 1 - 1e-12
    check_callable("n", None)
    check_callable("n", len)


@pytest.mark.parametrize("discount", [1, 1.0, -0.1, math.nan])
def test_a_discount_of_one_or_below_zero_is_none(discount):
    with pytest.raises(ValueError, match="discount must be at least 0 and less than 1"):
        discount_below_one(discount)
