"""Where states are drawn, on the map of their problem or in lines, what stands for each, and where a policy points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equirl.model import TabularMDP
from equirl.solving import policy_weights
from equirl.words.checking import plain_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WALL, FLOOR, ABSENT = (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0), (0.93, 0.93, 0.93, 1.0)
STATES_IN_LINE = 50  # states in a line, where there is no map
LONGEST_SIGN = 3  # letters of a name that is written as it is into a cell or below it
LETTER = 0.075  # inches: the width of a small one

# (down, right) steps of actions by name; glyphs by step
STEPS = {
    "up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1),
    "north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1),
    "stay": (0, 0),
}  # fmt: skip
GLYPHS = {(-1, 0): "↑", (1, 0): "↓", (0, -1): "←", (0, 1): "→", (0, 0): "·"}
LINE_LENGTH = 60  # characters of a line of states that lie on no map


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


def played_pairs(mdp: TabularMDP, policy: Any) -> np.ndarray:
    """The pair that a policy plays in each state."""
    shape = plain_array("policy", policy).shape
    if shape != (mdp.n_states,):
        raise ValueError(f"the policy has shape {shape}; one action per state would be ({mdp.n_states},)")
    return np.flatnonzero(policy_weights(mdp.pairs, policy))


def policy_steps(mdp: TabularMDP, policy: Any) -> list[tuple[int, int] | None]:
    """The step that each state's action stands for, by its name."""
    names = mdp.pairs.action_names
    pairs = played_pairs(mdp, policy)
    if names is None:
        return [None] * mdp.n_states
    return [STEPS.get(str(names[a]).lower()) for a in mdp.pairs.action[pairs]]


def marked_cells(mdp: TabularMDP) -> dict[str, np.ndarray]:
    """The cells marked S (start) and G (goal) on the map."""
    rows = mdp.picture.rows if mdp.picture else ()
    return {
        mark: np.array([(i, j) for i, row in enumerate(rows) for j, c in enumerate(row) if c == mark]).reshape(-1, 2)
        for mark in "SG"
    }


def policy_text(mdp: TabularMDP, policy: Any) -> str:
    """A policy as text: arrows on the map where there is one, otherwise an arrow, name or number per state."""
    signs = action_signs(mdp, policy)
    width = max(map(len, signs))
    if mdp.picture is None:
        arrows = all(sign in GLYPHS.values() for sign in signs)
        return _wrapped(signs, width) if arrows or mdp.pairs.action_names is None else _listed(mdp, policy)
    cells = [["█" * width if c == "#" else c.center(width) for c in row] for row in mdp.picture.rows]
    for sign, (i, j) in zip(signs, mdp.picture.cell.tolist(), strict=True):
        if mdp.picture.rows[i][j] not in "#G":  # every action is the same in a goal and in a wall
            cells[i][j] = sign.center(width)
    return "\n".join((" " if width > 1 else "").join(row) for row in cells)


def action_signs(mdp: TabularMDP, policy: Any) -> list[str]:
    """One sign per state: the arrow of its action, or the action's number."""
    played = mdp.pairs.action[played_pairs(mdp, policy)].tolist()
    steps = policy_steps(mdp, policy)
    return [GLYPHS[step] if step is not None else str(a) for step, a in zip(steps, played, strict=True)]


def _listed(mdp: TabularMDP, policy: Any) -> str:
    states, actions = mdp.pairs.state_names or range(mdp.n_states), mdp.pairs.action_names
    assert actions is not None
    played = mdp.pairs.action[played_pairs(mdp, policy)]
    return "\n".join(f"{state}: {actions[a]}" for state, a in zip(states, played, strict=True))


def _wrapped(signs: Sequence[str], width: int) -> str:
    gap = "" if set(signs) <= set(GLYPHS.values()) else " "
    per_line = max(1, LINE_LENGTH // (width + len(gap)))
    lines = [signs[k : k + per_line] for k in range(0, len(signs), per_line)]
    return "\n".join(gap.join(sign.rjust(width) for sign in line) for line in lines)


def draw_arrows(axes: Axes, sheet: Sheet, steps: dict[int, tuple[int, int]]) -> None:
    if not steps:
        return
    at = sheet.cell[list(steps)]
    down, right = np.array(list(steps.values())).T
    still = (down == 0) & (right == 0)
    axes.plot(at[still, 1], at[still, 0], "o", color="#0072B2", markersize=3)
    x, y, u, v = at[~still, 1], at[~still, 0], right[~still] * 0.7, down[~still] * 0.7
    axes.quiver(x, y, u, v, angles="xy", scale_units="xy", scale=1, pivot="mid", units="x", width=0.1, color="#0072B2")
