"""Numbers and foreign values as people read them, at the ends of their ranges."""

import math

import pytest

from equirl.words.formatting import number, shown


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (999.4, 3, "999"), (999.6, 3, "1,000"), (-1000.0, 3, "-1,000"), (1234.0, 3, "1,230"), (1234.56, 5, "1,234.6"),
        (1200.0, 6, "1,200"), (9.99e14, 3, "999,000,000,000,000"), (1e15, 3, "1e+15"), (1.2e15, 3, "1.2e+15"),
        (0.0, 3, "0"), (1e-7, 3, "1e-07"), (math.nan, 3, "nan"), (-math.inf, 3, "-infinite"),
    ],
)  # fmt: skip
def test_a_number_has_its_digits_and_thousands_are_spelled_out_below_a_quadrillion(value, digits, text):
    assert number(value, digits) == text


def test_a_value_is_shown_whole_up_to_two_hundred_characters():
    assert shown("x" * 198) == repr("x" * 198)
    assert shown("x" * 199) == repr("x" * 199)[:200] + " ..."
    assert shown(2**1599 - 1) == str(2**1599 - 1)[:200] + " ..."
    assert shown(2**1600) == "an integer of 1601 bits"
