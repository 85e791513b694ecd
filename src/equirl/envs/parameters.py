"""Parameters of worlds: each is checked once, and an error names the parameter, its value and what it may be."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any

from equirl.naming import unknown_name


def integer(name: str, value: Any, least: int, most: float = math.inf) -> int:
    """An int in [least, most].

    >>> integer("n_states", 1, least=2)
    Traceback (most recent call last):
    ValueError: n_states must be at least 2, not 1
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, not {number}")
    return number


def real(name: str, value: Any, least: float = 0.0, most: float = 1.0) -> float:
    """A number in [least, most]; by default a probability, a fraction or a reward."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {value!r}")
    number = float(value)
    if not least <= number <= most:
        raise ValueError(f"{name} must be between {least:g} and {most:g}, not {value}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """One of the options; another answer is met with the nearest."""
    if value not in (options := list(options)):
        raise ValueError(unknown_name(name, value, options))
    return str(value)


def mass(**parts: float) -> None:
    """Refuse probabilities that together exceed 1.

    >>> mass(forward=0.8, back=0.3)
    Traceback (most recent call last):
    ValueError: forward + back is 1.1, more than 1
    """
    if sum(parts.values()) > 1 + 1e-12:
        raise ValueError(f"{' + '.join(parts)} is {sum(parts.values()):g}, more than 1")
