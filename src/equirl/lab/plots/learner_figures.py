"""Learners at one time: where each has been and what it plays, how unsure it is, its classes beside the true ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equirl.lab.plots.canvas import figure_text, new_figure
from equirl.lab.plots.maps import looks_by_size, mark_cells, show_board, write_signs
from equirl.lab.plots.sheets import (
    STEPS,
    Sheet,
    action_signs,
    draw_arrows,
    line_sheet,
    map_sheet,
    policy_steps,
    sheet_colours,
)
from equirl.model import TabularMDP
from equirl.structure import Partition
from equirl.words.formatting import counted, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMED = 8  # actions
MOST_UNSURE = np.array([0.84, 0.37, 0.0])  # the colour of an L1 distance of 2
DARKEST = np.array([0.34, 0.71, 0.91])  # the state visited most
ALONE = (0.82, 0.82, 0.82, 1.0)  # a visited pair that is held alike to no other


class Belief(NamedTuple):
    """A learner at one time."""

    label: str
    t: int  # steps played before it
    visits: np.ndarray  # (M,)
    policy: np.ndarray  # (S,) the pair played in each state; empty where actions are drawn at random
    unsure: np.ndarray | None  # (M,) L1 distances from 0 to 2
    unsure_by: str  # what these are
    stands_for: np.ndarray | None  # (M,) the true class that the pair's class stands for, or -1; None: no classes
    n_classes: int  # it believes in
    truth: Partition


def draw_learners(mdp: TabularMDP, beliefs: Sequence[Belief], title: str = "") -> Figure:
    """A row of panels per learner: visits and policy, how unsure it is, the classes it believes in, the true ones.

    Without a map, panels are long and stand below each other. A class has the colour of the true one it stands for;
    grey ones stand for none.
    """
    sheet = map_sheet(mdp) or line_sheet(mdp)
    height, width = sheet.wall.shape
    wide = width > 2.5 * height
    panels = [_panels(belief) for belief in beliefs]
    across = 1 if wide else max(map(len, panels))
    down = sum(map(len, panels)) if wide else len(panels)
    cell = min(0.4, 8.0 / width) if wide else 2.5 / max(height, width)
    board = max(0.3, cell * height) + 0.35
    figure = new_figure(8.4 if wide else 0.2 + 2.6 * across, board * down + 0.25 * len(beliefs) + 0.5)
    figure.suptitle(figure_text(title), fontsize=11)
    figure.supxlabel(figure_text(_cut_of_cells(mdp)), fontsize=7.5, color="#555555")
    rows = figure.subfigures(len(beliefs), 1, squeeze=False, height_ratios=[len(p) if wide else 1 for p in panels])
    for row, belief, own in zip(rows[:, 0], beliefs, panels, strict=True):
        row.suptitle(f"{figure_text(belief.label)}, step {belief.t:,}", fontsize=9.5, x=0.01, ha="left")
        tiles = row.subplots(len(own) if wide else 1, 1 if wide else across, squeeze=False).ravel()
        for axes in tiles[len(own) :]:
            axes.set_axis_off()
        for axes, name in zip(tiles, own, strict=False):
            DRAWN[name](axes, mdp, sheet, belief, cell)
            axes.title.set_fontsize(8.5)
            if map_sheet(mdp) is not None:
                mark_cells(axes, mdp, "", cell)
    return figure


def _cut_of_cells(mdp: TabularMDP) -> str:
    """Which part of a cell is which action."""
    if cells_have_triangles(mdp):
        return "Classes: a cell is cut into triangles, each the action that points there. Grey: no true class."
    names = [str(mdp.pairs.action_names[a]) if mdp.pairs.action_names else str(a) for a in np.unique(mdp.pairs.action)]
    listed = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    return f"Classes: a cell is cut into bands, from the top {listed}. Grey: no true class."


def _panels(belief: Belief) -> list[str]:
    """What there is to show of a learner."""
    unsure = ["unsure"] if belief.unsure is not None else []
    return ["visits", *unsure, *(["believed"] if belief.stands_for is not None else []), "true"]


def _draw_visits(axes: Axes, mdp: TabularMDP, sheet: Sheet, belief: Belief, cell: float) -> None:
    known = len(belief.policy) == mdp.n_states
    actions = mdp.pairs.action[belief.policy] if known else None
    draw_visits(axes, mdp, sheet, belief.visits, actions, "policy" if known else "at random")
    if actions is not None:
        seen = np.flatnonzero(np.bincount(mdp.pairs.state, belief.visits, mdp.n_states) > 0).tolist()
        signs, steps = action_signs(mdp, actions), policy_steps(mdp, actions)
        write_signs(axes, sheet, {s: signs[s] for s in seen if steps[s] is None}, cell)


def _draw_unsure(axes: Axes, mdp: TabularMDP, sheet: Sheet, belief: Belief, cell: float) -> None:
    """States by the mean over their actions, white for 0 and deepest for 2."""
    assert belief.unsure is not None
    state = mdp.pairs.state
    mean = np.bincount(state, belief.unsure, mdp.n_states) / np.bincount(state, minlength=mdp.n_states)
    fill = np.ones((mdp.n_states, 4))
    fill[:, :3] = 1 - np.clip(mean / 2, 0, 1)[:, None] * (1 - MOST_UNSURE)
    fill[sheet.brick] = (0, 0, 0, 1)
    title = f"{belief.unsure_by}, {number(float(mean.min()), 2)} to {number(float(mean.max()), 2)}"
    show_board(axes, sheet_colours(sheet, fill), sheet.cell[~sheet.brick], title)


def _draw_believed(axes: Axes, mdp: TabularMDP, sheet: Sheet, belief: Belief, cell: float) -> None:
    assert belief.stands_for is not None
    colours = np.vstack([looks_by_size(belief.truth)[0], ALONE])  # the last is that of -1
    title = f"believes in {counted(belief.n_classes, 'class', 'classes')}"
    draw_pairs(axes, mdp, sheet, colours[belief.stands_for], title)


def _draw_true(axes: Axes, mdp: TabularMDP, sheet: Sheet, belief: Belief, cell: float) -> None:
    colours = looks_by_size(belief.truth)[0][belief.truth.label]
    draw_pairs(axes, mdp, sheet, colours, counted(belief.truth.n_classes, "true class", "true classes"))


def draw_pairs(axes: Axes, mdp: TabularMDP, sheet: Sheet, fill: np.ndarray, title: str) -> None:
    """Every pair as a part of its state's cell."""
    from matplotlib.collections import PolyCollection

    show_board(axes, sheet_colours(sheet), sheet.cell[~sheet.brick], title)
    parts = _parts_of_cell(mdp)
    shown = [k for k in range(mdp.n_pairs) if not sheet.brick[mdp.pairs.state[k]]]
    corners = [sheet.cell[mdp.pairs.state[k]][::-1] + parts[int(mdp.pairs.action[k])] for k in shown]
    axes.add_collection(PolyCollection(corners, facecolor=fill[shown], edgecolor="white", linewidth=0.4), autolim=False)


def cells_have_triangles(mdp: TabularMDP) -> bool:
    """Whether a cell is cut into a triangle per action: on a map, where actions have different directions."""
    steps = _steps_of_actions(mdp)
    return mdp.picture is not None and len(set(steps)) == len(steps) and None not in steps and (0, 0) not in steps


def _steps_of_actions(mdp: TabularMDP) -> list[tuple[int, int] | None]:
    names = mdp.pairs.action_names
    return [STEPS.get(str(names[a]).lower()) if names else None for a in np.unique(mdp.pairs.action).tolist()]


def _parts_of_cell(mdp: TabularMDP) -> Mapping[int, np.ndarray]:
    """The corners, (x, y) from the middle of a cell, of each action's part: triangles for directions, else bands."""
    actions, steps = np.unique(mdp.pairs.action).tolist(), _steps_of_actions(mdp)
    if cells_have_triangles(mdp):
        ends = {(-1, 0): (-1, -1, 1, -1), (1, 0): (-1, 1, 1, 1), (0, -1): (-1, -1, -1, 1), (0, 1): (1, -1, 1, 1)}
        return {
            a: 0.5 * np.array([(0, 0), ends[step][:2], ends[step][2:]])
            for a, step in zip(actions, steps, strict=True) if step is not None
        }  # fmt: skip
    edges = np.linspace(-0.5, 0.5, len(actions) + 1)
    return {
        a: np.array([(-0.5, top), (0.5, top), (0.5, end), (-0.5, end)])
        for a, top, end in zip(actions, edges[:-1], edges[1:], strict=True)
    }


def draw_visits(
    axes: Axes, mdp: TabularMDP, sheet: Sheet, visits: np.ndarray, policy: np.ndarray | None, policy_is: str
) -> None:
    """States in blue, darker the more visits (M,), and the actions (S,) of a policy, where something was seen."""
    visits = np.bincount(mdp.pairs.state, visits, mdp.n_states)
    shade = np.log1p(visits) / max(1.0, np.log1p(visits.max()))
    fill = np.ones((mdp.n_states, 4))
    fill[:, :3] = 1 - shade[:, None] ** 3 * (1 - DARKEST)
    fill[sheet.brick] = (0, 0, 0, 1)
    title = f"visits, most {number(float(visits.max()), 2)}; {policy_is}"
    show_board(axes, sheet_colours(sheet, fill), sheet.cell[~sheet.brick], title)
    if policy is not None:
        steps = enumerate(policy_steps(mdp, policy))
        draw_arrows(axes, sheet, {s: step for s, step in steps if step is not None and visits[s] > 0})


DRAWN = {"visits": _draw_visits, "unsure": _draw_unsure, "believed": _draw_believed, "true": _draw_true}
