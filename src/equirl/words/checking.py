"""Arguments, each checked once: what comes back has the right kind, or an error names the argument and its value.

A wrong name is met with the nearest right one, and a warning points at the user's own line.
"""

from __future__ import annotations

import difflib
import math
import numbers
import operator
import os
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.words.formatting import shown

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = __name__.partition(".")[0]
LARGEST = int(np.iinfo(np.int64).max)


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """A message such as: unknown learner 'cucrl'; did you mean 'c-ucrl'? Known: c-ucrl, ucrl2-l."""
    names = sorted(known)
    near = difflib.get_close_matches(shown(name).strip("'"), names, n=1, cutoff=0.5)
    nearest = [repr(one) if isinstance(name, str) else one for one in near]  # a tuple is written without quotes
    hint = f"; did you mean {nearest[0]}?" if near else "."
    return f"unknown {kind} {shown(name)}{hint} Known: {', '.join(names)}"


def whole_number(name: str, value: Any, least: int = 1, most: float = LARGEST) -> int:
    """An int in [least, most]."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {shown(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {shown(value)}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {shown(number)}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, not {shown(number)}")
    return number


def real_number(name: str, value: Any) -> float:
    """A float, which may be NaN or infinite."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large a number: {shown(value)}") from None


def between(name: str, value: Any, least: float = 0.0, most: float = 1.0) -> float:
    """A float in [least, most]; by default a probability, a fraction or a reward."""
    number = real_number(name, value)
    if not least <= number <= most:
        limits = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise ValueError(f"{name} must be {limits}, not {shown(value)}")
    return number


def inside(name: str, value: Any, low: float = 0.0, high: float = 1.0) -> float:
    """A float strictly between two others; by default a risk."""
    number = real_number(name, value)
    if not low < number < high:
        raise ValueError(f"{name} must lie strictly between {low:g} and {high:g}, not {shown(value)}")
    return number


def above(name: str, value: Any, low: float, at_infinity: str) -> float:
    """A float greater than ``low``, which may be infinite."""
    number = real_number(name, value)
    if not number > low:
        raise ValueError(f"{name} must be greater than {low:g} (inf {at_infinity}), not {shown(value)}")
    return number


def discount_below_one(discount: Any) -> float:
    """A discount in [0, 1)."""
    number = real_number("discount", discount)
    if not 0 <= number < 1:
        raise ValueError(f"discount must be at least 0 and less than 1, not {shown(discount)}")
    return number


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """One of the options; another answer is met with the nearest."""
    options = list(options)
    if not isinstance(value, str) or value not in options:
        raise ValueError(unknown_name(name, value, options))
    return value


def check_callable(name: str, value: Any) -> None:
    """Refuse what is neither None nor something to call."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function, not {shown(value)}")


def several(name: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} must be a list, not {shown(values)}") from None


def plain_array(name: str, values: Any) -> np.ndarray:
    """An array, refused where entries are masked: what lies under a mask is no value."""
    mask = getattr(values, "mask", None)
    if isinstance(values, np.ndarray) and mask is not None and np.any(mask):
        raise TypeError(f"{name} must be a plain array: {int(np.sum(mask))} of its entries are masked")
    try:
        return np.asarray(values)
    except ValueError as error:
        reason = "its rows differ in length" if "inhomogeneous" in str(error) else error
        raise TypeError(f"{name} must be an array: {reason}") from None


def real_array(name: str, values: Any) -> np.ndarray:
    array = plain_array(name, values)
    try:
        if np.issubdtype(array.dtype, np.complexfloating):
            raise TypeError("some are complex")
        return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must be an array of numbers: {error}") from None


def whole_array(name: str, values: Any, least: int = 0) -> np.ndarray:
    """A new array of int64 in one dimension, none below ``least``."""
    array = plain_array(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not shape {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    for limit, worst, word in ((least, array.min, "least"), (LARGEST, array.max, "most")):
        if array.size and ((value := int(worst())) < least or value > LARGEST):
            raise ValueError(f"{name} must be at {word} {limit}; entry {int((array == value).argmax())} is {value}")
    return np.array(array, dtype=np.int64)


def checked_path(name: str, path: Any) -> Path:
    """A path that the system can be asked for."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str or a path, not {shown(path)}")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"{name} cannot be written in the system's encoding: {shown(text)}") from None
    if "\0" in text:
        raise ValueError(f"{name} holds a null character: {shown(text)}")
    from pathlib import Path  # some milliseconds of ``import equirl``, which needs none

    return Path(text)


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
