"""Where states are drawn, on the map of their problem or in lines, and what stands for each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.model import TabularMDP

WALL, FLOOR, ABSENT = (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0), (0.93, 0.93, 0.93, 1.0)
STATES_IN_LINE = 50  # states in a line, where there is no map
LONGEST_SIGN = 3  # letters of a name that is written as it is into a cell or below it
LETTER = 0.075  # inches: the width of a small one


class Sheet(NamedTuple):
    """Where each state is drawn: a board of cells, some of them black."""

    cell: np.ndarray  # (S, 2) row and column
    wall: np.ndarray  # (height, width) walls of the map
    brick: np.ndarray  # (S,) states that are walls of the map: nobody reaches them


def map_sheet(mdp: TabularMDP) -> Sheet | None:
    """The map of an MDP."""
    if mdp.picture is None:
        return None
    down, right = mdp.picture.cell.T
    if len(np.unique(down * (right.max() + 1) + right)) < mdp.n_states:
        return None
    width = max(map(len, mdp.picture.rows))
    wall = np.array([[c == "#" for c in row.ljust(width, "#")] for row in mdp.picture.rows])
    return Sheet(mdp.picture.cell, wall, wall[tuple(mdp.picture.cell.T)])


def line_sheet(mdp: TabularMDP, n_actions: int = 1) -> Sheet:
    """States in lines of at most ``STATES_IN_LINE``, more where there are very many."""
    S = mdp.n_states
    width = min(S, max(STATES_IN_LINE, math.isqrt(S * (n_actions + 1))))
    state = np.arange(S)
    cell = np.stack([state // width * (n_actions + 1), state % width], axis=1)
    height = (S - 1) // width * (n_actions + 1) + n_actions
    return Sheet(cell, np.zeros((height, width), bool), np.zeros(S, bool))


def sheet_colours(sheet: Sheet, fill: np.ndarray | None = None) -> np.ndarray:
    """The colours of a sheet: walls black, floor white."""
    colours = np.where(sheet.wall[..., None], WALL, FLOOR)
    if fill is not None:
        colours[tuple(sheet.cell.T)] = fill
    return colours


def state_labels(mdp: TabularMDP) -> list[str]:
    """What stands for each state in a picture: its name, or its number where it has none."""
    return [str(name) for name in mdp.pairs.state_names or range(mdp.n_states)]


def height_of_labels(mdp: TabularMDP, sheet: Sheet) -> float:
    """Inches that the names of the states take below a single line of them, where they must stand upright."""
    longest = max(map(len, state_labels(mdp)))
    several = sheet.cell[-1, 0] > 0
    return LETTER * longest if mdp.pairs.state_names and longest > LONGEST_SIGN and not several else 0.0
