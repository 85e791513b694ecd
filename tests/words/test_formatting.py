"""Numbers and foreign values as people read them, at the ends of their ranges."""

import math

import pytest

from equirl.words.formatting import (
    counted,
    duration,
    json_ready,
    mean_with_interval,
    number,
    parse_value,
    printable,
    shown,
)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (999.4, 3, "999"), (999.6, 3, "1,000"), (-1000.0, 3, "-1,000"), (1234.0, 3, "1,230"), (1234.56, 5, "1,234.6"),
        (1200.0, 6, "1,200"), (61234.5, 3, "61,200"), (0.12345, 3, "0.123"), (2.0, 3, "2"), (12345.67, 6, "12,345.7"),
        (math.inf, 3, "infinite"), (9.99e14, 3, "999,000,000,000,000"), (1e15, 3, "1e+15"), (1.2e15, 3, "1.2e+15"),
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


def test_a_mean_has_its_interval_where_there_is_one():
    assert mean_with_interval(61234.5, 812.3) == "61,200 ± 810"
    assert mean_with_interval(0.1234, math.nan) == "0.123"


def test_durations_and_counts_are_words():
    assert [duration(seconds) for seconds in (42, 200, 7300)] == ["42 s", "3 min", "2 h 2 min"]
    assert [counted(1, "run"), counted(1200, "run"), counted(2, "class", "classes")] == [
        "1 run",
        "1,200 runs",
        "2 classes",
    ]


def test_control_characters_are_spelled_out():
    assert printable("\x1b[31mred") == "\\x1b[31mred"
    assert printable("two\nlines", keep="\n") == "two\nlines"


def test_json_has_null_or_a_word_for_numbers_that_it_lacks():
    held = {"diameter": math.inf, "half": [math.nan, -math.inf], 3: (1, True, None)}
    assert json_ready(held) == {"diameter": None, "half": [None, None], "3": [1, True, None]}
    assert json_ready(held, infinite="infinite")["diameter"] == "infinite"


def test_a_text_stands_for_a_value():
    values = [parse_value(text) for text in ("true", "None", "17", "1e-3", "inf", "first")]
    assert values == [True, None, 17, 0.001, math.inf, "first"]
