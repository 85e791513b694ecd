"""Names of states and actions: strings, numbers or tuples of them, as users have them, kept as plain Python values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.words.formatting import shown

if TYPE_CHECKING:
    from equirl.model.pairs import Pairs

MOST_BITS = 1024  # of a number that is a name, as of a float: Python refuses to spell out much longer ones
Name = str | int | float | tuple[Any, ...]


class NameNumbers(dict[Name, int]):
    """The number of each name, in their order."""

    def __init__(self, names: Iterable[Name]) -> None:
        super().__init__((name, k) for k, name in enumerate(names))
        self.are_numbers = any(isinstance(name, int | float) for name in self)  # then a number is always a name

    def find(self, value: Any) -> int | None:
        """The number of a name; None where there is no such name."""
        try:
            return self.get(plain_name(value))
        except TypeError:  # it holds something that cannot be looked up
            return None


def plain_name(value: Any) -> Any:
    """A value as a name: NumPy's scalars as Python's, arrays and lists as tuples, True and False as 1 and 0."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain_name(part) for part in value)
    return int(value) if isinstance(value, bool) else value


def checked_names(kind: str, values: Iterable[Any]) -> tuple[Name, ...]:
    """Names, all different; numbers that name actions become text."""
    names = tuple(plain_name(value) for value in values)
    if kind == "action":
        names = tuple(str(name) if isinstance(name, int | float) else name for name in names)
    check_names(kind, names)
    return names


def check_names(kind: str, names: Any) -> None:
    if not isinstance(names, tuple):
        raise TypeError(f"{kind} names must be a tuple of str, numbers or tuples, not {shown(names)}")
    for name in names:
        if not is_name(name):
            raise TypeError(f"{kind} names must be strings, numbers or tuples of them, not {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"two {kind}s are named {shown(Counter(names).most_common(1)[0][0])}")


def is_name(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(is_name, value))
    if isinstance(value, int):
        return value.bit_length() <= MOST_BITS
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def names_from_json(values: Any) -> tuple[Name, ...] | None:
    """Names as a file holds them: JSON has lists in place of tuples."""
    return tuple(map(plain_name, values)) if values else None


def names_within(values: Iterable[Any]) -> tuple[Name, ...] | None:
    """The different values as they first appear, where there is a string or tuple among them; None for numbers."""
    names = [plain_name(value) for value in values]
    return tuple(dict.fromkeys(names)) if any(isinstance(name, str | tuple) for name in names) else None


def state_labels(pairs: Pairs, states: Iterable[int] | None = None) -> list[Name]:
    """What to call states in a table."""
    names = pairs.state_names or range(pairs.n_states)
    return list(names) if states is None else [names[s] for s in states]


def action_labels(pairs: Pairs, actions: Iterable[int]) -> list[Name]:
    """What to call actions in a table."""
    names = pairs.action_names
    return [int(a) if names is None else names[a] for a in actions]
