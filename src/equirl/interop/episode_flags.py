"""Whether an episode ended, as environments say it."""

from __future__ import annotations

from typing import Any

from equirl.words.checking import plain_array
from equirl.words.formatting import shown


def episode_flag(name: str, value: Any) -> bool:
    """True or False: also 0 and 1, as numbers of any type, and arrays of one such entry.

    Examples
    --------
    >>> episode_flag("terminated", 1)
    True
    >>> episode_flag("terminated", float("nan"))
    Traceback (most recent call last):
    ValueError: terminated must be True or False, not nan
    """
    if isinstance(value, bool):
        return value
    plain = plain_array(name, value)
    if plain.size != 1 or plain.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be True or False, not {shown(value)}")
    if plain.item() not in (0, 1):
        raise ValueError(f"{name} must be True or False, not {shown(value)}")
    return bool(plain.item())
