"""Where the states of a world without a map stand, if their names are coordinates such as ``3,0`` or ``1,2,0``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

MOST_EMPTY = 3  # cells per state; names that fill less are no coordinates
MOST_LISTED = 6  # values of an axis that are listed one by one
ORDINALS = ("first", "second", "third")


class StateGrid(NamedTuple):
    rows: list[str]  # a dot where a state is, a space elsewhere
    cell: np.ndarray  # (S, 2) row and column of each state
    words: str  # what the axes are


def state_grid(names: Sequence[Any] | None) -> StateGrid | None:
    """States on a grid by the two or three parts of their names; None where they are not named so.

    The longer of two axes lies across; of three, the first is a row of blocks.

    >>> grid = state_grid(["0,a", "0,b", "1,a", "1,b", "2,a"])
    >>> grid.rows, grid.words
    (['...', '.. '], 'states by their names: the first part (0, 1, 2) across, the second (a, b) down')
    """
    parts = [str(name).split(",") for name in names or ()]
    if {len(part) for part in parts} not in ({2}, {3}):
        return None
    axes = [sorted(set(column), key=_order) for column in zip(*parts, strict=True)]
    if math.prod(map(len, axes)) > MOST_EMPTY * len(parts):
        return None
    place = [{value: k for k, value in enumerate(axis)} for axis in axes]
    at = np.array([[place[k][value] for k, value in enumerate(part)] for part in parts], np.int64)
    if len(axes) == 3:
        down, right = at[:, 1], at[:, 0] * (len(axes[2]) + 1) + at[:, 2]
        where = ["from block to block", "down", "across"]
    else:
        across = int(len(axes[1]) > len(axes[0]))
        down, right = at[:, 1 - across], at[:, across]
        where = ["across" if k == across else "down" for k in (0, 1)]
    rows = np.full((int(down.max()) + 1, int(right.max()) + 1), " ")
    rows[down, right] = "."
    first, *others = (f"the {ORDINALS[k]} part ({_span(axis)}) {where[k]}" for k, axis in enumerate(axes))
    words = f"states by their names: {', '.join([first, *(other.replace(' part', '', 1) for other in others)])}"
    return StateGrid(["".join(row) for row in rows.tolist()], np.stack([down, right], axis=1), words)


def _order(value: str) -> tuple[bool, float, str]:
    """Numbers by size, after what is none."""
    try:
        found = float(value)
    except ValueError:
        return False, 0.0, value
    return True, found, value


def _span(axis: list[str]) -> str:
    return ", ".join(axis) if len(axis) <= MOST_LISTED else f"{axis[0]} to {axis[-1]}"
