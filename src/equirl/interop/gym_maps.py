"""Maps of Gymnasium's grids: a cell per state, read as FrozenLake (``desc``) and CliffWalking (``shape``) keep them."""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.model.mdp import Picture

ICE, FLOOR = "F", "."


def grid_picture(bare: Any, n_states: int, first: np.ndarray, last: np.ndarray) -> Picture | None:
    """The map of an environment whose states are the cells of a grid, row by row; None where it keeps none.

    ``first`` and ``last`` are states in which episodes begin and end: S and G where the environment writes no letters.
    """
    letters = _letters(getattr(bare, "desc", None))
    if letters is None:
        shape = getattr(bare, "shape", None)
        if not isinstance(shape, tuple) or len(shape) != 2 or shape[0] * shape[1] != n_states:
            return None
        letters = np.full(n_states, FLOOR)
        cliff = np.asarray(getattr(bare, "_cliff", ()), bool).ravel()
        letters[np.flatnonzero(cliff[:n_states])] = "C"
        letters[last], letters[first] = "G", "S"
        letters = letters.reshape(shape)
    if letters.size != n_states:
        return None
    rows = tuple("".join(row).replace(ICE, FLOOR) for row in letters.tolist())
    return Picture(rows, np.stack(np.divmod(np.arange(n_states), letters.shape[1]), axis=1))


def _letters(desc: Any) -> np.ndarray | None:
    """A table of single letters, or of bytes."""
    table = np.asarray(desc)
    if table.ndim != 2 or table.dtype.kind not in "SU" or table.dtype.itemsize > (1 if table.dtype.kind == "S" else 4):
        return None
    return table.astype(str)
