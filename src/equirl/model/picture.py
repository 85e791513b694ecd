"""Maps to draw the states of an MDP on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equirl.numerics.arrays import frozen
from equirl.words.checking import several
from equirl.words.formatting import shown


class Picture(NamedTuple):
    """A map to draw the states on."""

    rows: tuple[str, ...]
    cell: np.ndarray  # (S, 2) int: row and column of each state


def checked_picture(picture: Any) -> Picture | None:
    if picture is None:
        return None
    if not isinstance(picture, Picture):
        raise TypeError(f"picture must be a Picture, not {shown(picture)}")
    rows, cell = tuple(several("picture.rows", picture.rows)), frozen("picture.cell", picture.cell, np.int64)
    if not all(isinstance(row, str) for row in rows):
        raise TypeError(f"picture.rows must be rows of text, not {shown(picture.rows)}")
    if cell.ndim != 2 or cell.shape[1] != 2:
        raise ValueError(f"picture.cell has shape {cell.shape}; a row and a column per state would be (S, 2)")
    for s, (i, j) in enumerate(cell.tolist()):
        if not (0 <= i < len(rows) and 0 <= j < len(rows[i])):
            raise ValueError(f"picture.cell places state {s} at {i},{j}, outside the {len(rows)} rows of the map")
    return Picture(rows, cell)


def same_picture(one: Picture | None, two: Picture | None) -> bool:
    if one is None or two is None:
        return one is two
    return one.rows == two.rows and np.array_equal(one.cell, two.cell)
