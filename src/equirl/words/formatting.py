"""Numbers, intervals, durations, counts and foreign text as people read them, and values as they write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST_SPELLED_OUT = 1e15
LONGEST_SHOWN = 200  # characters of a value in a message
_WORDS = {"true": True, "false": False, "none": None}


def number(value: float, digits: int = 3) -> str:
    """A number with that many significant digits: 61,200, 0.123, infinite."""
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    rounded = float(f"{value:.{digits}g}")
    if not 1000 <= abs(rounded) < LARGEST_SPELLED_OUT:
        return f"{rounded:.12g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def mean_with_interval(mean: float, half_width: float) -> str:
    """A mean and half its interval, where it has one: 61,200 ± 810."""
    return number(mean) + (f" ± {number(half_width, 2)}" if math.isfinite(half_width) else "")


def duration(seconds: float) -> str:
    """A duration in words: 42 s, 3 min, 2 h 2 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """A count and its noun: 1 run, 1,200 runs."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def printable(text: object, keep: str = "") -> str:
    """Text from outside that can do no harm to a terminal: what is not printed is spelled out."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in str(text))


def shown(value: object) -> str:
    """A value in a message: its ``repr``, cut where it is long."""
    if isinstance(value, int) and value.bit_length() > 8 * LONGEST_SHOWN:  # Python refuses to spell out some
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:  # a list of such integers, or a repr of the user's own
        text = f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]} ..."


def json_ready(value: Any, infinite: str | None = None) -> Any:
    """A value with None for the numbers that JSON does not have; ``infinite`` stands for that one."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(item, infinite) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item, infinite) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return infinite if value > 0 else None
    return value


def parse_value(text: str) -> Any:
    """The value that a text stands for: True, False or None, an integer, a float, or the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
