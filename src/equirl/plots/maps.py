"""Pictures of a problem: its classes in colour, action by action, and a policy as arrows (appendix F of the paper).

Where the problem has a map its states are drawn on it; otherwise they are drawn in lines, numbered.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.core.formatting import counted
from equirl.model.mdp import TabularMDP
from equirl.plots.arrows import action_signs, marked_cells, policy_steps
from equirl.plots.canvas import label_colours, new_figure
from equirl.plots.sheets import ABSENT, FLOOR, Sheet, line_sheet, map_sheet, sheet_colours
from equirl.structure.partition import Partition

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LISTED = 12  # classes listed in a legend
READABLE = 0.15  # inches: a cell large enough for a number


def draw_classes(mdp: TabularMDP, partition: Partition, title: str | None = None) -> Figure:
    """The classes of the pairs, one colour each, beside their sizes and profiles.

    On a map: the map, then one panel per action. Without one: a line of states per action.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    partition : Partition
        Classes of its pairs.
    title : str, optional
        The title; by default the name of the problem.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        Where the partition is of another number of pairs.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> len(draw_classes(mdp, Partition.singletons(2)).axes)
    2
    """
    if partition.n_pairs != mdp.n_pairs:
        raise ValueError(f"the partition is of {partition.n_pairs} pairs, the MDP has {mdp.n_pairs}")
    colours = class_colours(partition)
    sheet = map_sheet(mdp)
    if sheet is None:
        figure = _classes_in_lines(mdp, partition, colours)
    else:
        figure = _classes_on_map(mdp, partition, colours, sheet)
    counts = f"S = {mdp.n_states}, M = {mdp.n_pairs}, C = {partition.n_classes}"
    figure.suptitle(f"{title or mdp.name or 'Classes of pairs'}\n{counts}", fontsize=11)
    return figure


def draw_policy(mdp: TabularMDP, policy: Any, title: str | None = None) -> Figure:
    """A policy: arrows where actions are named by directions, numbers where they are not.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : sequence of int or str
        An action per state.
    title : str, optional
        The title; by default the name of the problem.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> draw_policy(mdp, [0, 0]).axes[0].get_title()
    'Policy'
    """
    steps = policy_steps(mdp, policy)
    sheet = map_sheet(mdp)
    on_map = sheet is not None
    sheet = sheet or line_sheet(mdp)
    height, width = sheet.wall.shape
    cell = min(0.4, max(11 / width, 0.08))
    figure = new_figure(max(3.0, cell * width + 0.6), max(1.3, cell * height + 0.9))
    axes = figure.add_subplot()
    _show(
        axes, sheet_colours(sheet), sheet.cell[~sheet.brick], title or (f"Policy: {mdp.name}" if mdp.name else "Policy")
    )
    goals = {tuple(at) for at in marked_cells(mdp)["G"].tolist()} if on_map else set()
    alike = [sheet.brick[s] or at in goals for s, at in enumerate(map(tuple, sheet.cell.tolist()))]
    plain = np.flatnonzero(~np.array(alike)).tolist()  # in a goal and in a wall all actions are the same
    draw_arrows(axes, sheet, {s: step for s in plain if (step := steps[s]) is not None})
    signs = action_signs(mdp, policy)
    _write(axes, sheet, {s: signs[s] for s in plain if steps[s] is None}, cell)
    if on_map:
        _mark(axes, mdp, "G", cell)
    else:
        _number_states(axes, sheet, [""])
    return figure


def class_colours(partition: Partition) -> np.ndarray:
    """A colour per class, the largest class first.

    Parameters
    ----------
    partition : Partition
        Classes of pairs.

    Returns
    -------
    (C, 4) array
        Red, green, blue and opacity.
    """
    colours = np.empty((partition.n_classes, 4))
    colours[np.argsort(-partition.sizes, kind="stable")] = label_colours(partition.n_classes)
    return colours


def _classes_on_map(mdp: TabularMDP, partition: Partition, colours: np.ndarray, sheet: Sheet) -> Figure:
    actions = np.unique(mdp.pairs.action)
    height, width = sheet.wall.shape
    columns = 1 if width > 2.5 * height else math.ceil(math.sqrt(len(actions) + 2))
    lines = math.ceil((len(actions) + 2) / columns)
    cell = min(0.36, max(4.0 / max(height, width), 0.02)) if columns > 1 else min(0.36, 11 / width)
    figure = new_figure(columns * (cell * width + 0.3) + 0.2, lines * max(0.6, cell * height + 0.4) + 0.6)
    grid = figure.add_gridspec(lines, columns)
    tiles = [figure.add_subplot(grid[k // columns, k % columns]) for k in range(len(actions) + 2)]
    _show(tiles[0], sheet_colours(sheet), sheet.cell[~sheet.brick], "map")
    _mark(tiles[0], mdp, "SG", cell)
    for axes, action in zip(tiles[1:], actions, strict=False):
        pairs = np.flatnonzero(mdp.pairs.action == action)
        fill = np.broadcast_to(ABSENT, (mdp.n_states, 4)).copy()
        fill[mdp.pairs.state[pairs]] = colours[partition.label[pairs]]
        _show(axes, sheet_colours(sheet, fill), sheet.cell, _action_name(mdp, action))
        _frame(axes, sheet.cell[sheet.brick], hatch="///")
        _number_classes(axes, sheet.cell[mdp.pairs.state[pairs]], partition.label[pairs], colours, cell)
        _mark(axes, mdp, "", cell)
    signs: dict[str, dict[str, Any]] = {"start": {"linestyle": "--"}, "goal": {}} if cell >= READABLE else {}
    signs |= {"wall": {"hatch": "///"}} if sheet.brick.any() else {}
    _legend(tiles[-1], mdp, partition, colours, signs, fontsize=min(11.0, max(8.0, 2.8 * cell * width)))
    return figure


def _classes_in_lines(mdp: TabularMDP, partition: Partition, colours: np.ndarray) -> Figure:
    actions, place = np.unique(mdp.pairs.action, return_inverse=True)
    sheet = line_sheet(mdp, len(actions))
    height, width = sheet.wall.shape
    cell = min(0.36, 11 / width)
    listed = min(partition.n_classes, MOST_LISTED + 1)
    figure = new_figure(max(7.0, cell * width + 1.2), cell * height + 0.2 * listed + 1.3)
    axes, legend = figure.subplots(2, 1, height_ratios=[cell * height + 0.3, 0.2 * listed + 0.2])
    at = sheet.cell[mdp.pairs.state] + np.stack([place, np.zeros_like(place)], axis=1)
    board = np.broadcast_to(FLOOR, (height, width, 4)).copy()
    board[tuple(at.T)] = colours[partition.label]
    _show(axes, board, at, "")
    _number_classes(axes, at, partition.label, colours, cell)
    _number_states(axes, sheet, [_action_name(mdp, a) for a in actions])
    _legend(legend, mdp, partition, colours, {}, fontsize=9)
    return figure


def _show(axes: Axes, board: np.ndarray, cells: np.ndarray, title: str) -> None:
    """A board of colours, with thin lines around the given (n, 2) cells where they are large enough."""
    axes.imshow(board, interpolation="nearest")
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    if max(board.shape) <= 60:
        _frame(axes, cells)


def _frame(axes: Axes, cells: np.ndarray, hatch: str | None = None) -> None:
    """Thin lines around (n, 2) cells, and a hatching inside."""
    from matplotlib.collections import PolyCollection

    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    frames = PolyCollection(list(cells[:, None, ::-1] + corners), facecolor="none", edgecolor="#AAAAAA")
    frames.set(linewidth=0.5, hatch=hatch, clip_on=False)
    axes.add_collection(frames, autolim=False)


def _mark(axes: Axes, mdp: TabularMDP, letters: str, cell: float) -> None:
    """Start and goal: a dashed and a full frame, and those of the ``letters`` asked for."""
    from matplotlib.patches import Rectangle

    small = cell < READABLE
    for (mark, cells), line in zip(marked_cells(mdp).items(), ("--", "-"), strict=True):
        for i, j in cells.tolist():
            if mark in letters:
                back = {"facecolor": "white", "pad": 1.0} if small else None
                axes.text(j, i, mark, ha="center", va="center", fontsize=9, fontweight="bold", bbox=back)
            if not small:
                axes.add_patch(Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, fill=False, linestyle=line, linewidth=1.3))


def _number_classes(axes: Axes, at: np.ndarray, label: np.ndarray, colours: np.ndarray, cell: float) -> None:
    """The class's number in each cell, where cells are large enough to read it."""
    if cell < READABLE:
        return
    for (i, j), c in zip(at.tolist(), label.tolist(), strict=True):
        ink = "black" if colours[c, :3] @ (0.299, 0.587, 0.114) > 0.5 else "white"
        axes.text(j, i, str(c), ha="center", va="center", fontsize=min(9.0, 28 * cell), color=ink)


def _number_states(axes: Axes, sheet: Sheet, names: list[str]) -> None:
    """Numbers under every fifth state; at the left what each row shows and, where lines are several, its states."""
    height, width = sheet.wall.shape
    starts = np.flatnonzero(sheet.cell[:, 1] == 0)
    heads = [f"{s} to {min(s + width, len(sheet.cell)) - 1} " for s in starts]
    if len(starts) == 1:
        axes.set_xticks(range(0, width, 5), [str(j) for j in range(0, width, 5)], fontsize=8)
        axes.set_xlabel("state", fontsize=9)
        heads = [""]
    if height <= 80:
        at = sheet.cell[starts, 0][:, None] + np.arange(len(names))
        axes.set_yticks(at.ravel(), [head + name for head in heads for name in names], fontsize=8)
    axes.tick_params(length=0)


def _legend(
    axes: Axes,
    mdp: TabularMDP,
    partition: Partition,
    colours: np.ndarray,
    signs: dict[str, dict[str, Any]],  # how the other signs look, by name
    fontsize: float,
) -> None:
    """The largest classes in words, and the other signs of the picture."""
    from matplotlib.patches import Patch

    axes.set_axis_off()
    largest = np.argsort(-partition.sizes, kind="stable")
    handles = [Patch(facecolor=colours[c], edgecolor="black", linewidth=0.4) for c in largest[:MOST_LISTED]]
    texts = [describe_class(mdp, partition, int(c)) for c in largest[:MOST_LISTED]]
    if partition.n_classes > MOST_LISTED:
        handles.append(Patch(facecolor="none"))
        texts.append(f"and {partition.n_classes - MOST_LISTED} more classes")
    handles += [Patch(facecolor="none", edgecolor="black", **look) for look in signs.values()]
    texts += list(signs)
    axes.legend(handles, texts, loc="center", frameon=False, fontsize=fontsize, handlelength=1.4)


def describe_class(mdp: TabularMDP, partition: Partition, label: int) -> str:
    """A class in words: its number, size, and the profile and mean reward of its first pair.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    partition : Partition
        Classes of its pairs.
    label : int
        The class.

    Returns
    -------
    str
    """
    size, first = int(partition.sizes[label]), int(np.argmax(partition.label == label))
    profile = np.sort(mdp.rows.prob[mdp.rows.ptr[first] : mdp.rows.ptr[first + 1]])[::-1]
    shown = " ".join(f"{p:.3g}" for p in profile[:4]) + (" ..." if len(profile) > 4 else "")
    paid = f", reward {mdp.r_mean[first]:.3g}" if mdp.r_mean[first] else ""
    return f"{label}: {counted(size, 'pair')}, profile {shown}{paid}"


def _action_name(mdp: TabularMDP, action: int) -> str:
    names = mdp.pairs.action_names
    return names[action] if names else f"action {action}"


def draw_arrows(axes: Axes, sheet: Sheet, steps: dict[int, tuple[int, int]]) -> None:
    """Draw where a policy points.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    sheet : Sheet
        Where states stand.
    steps : dict of int to (int, int)
        Down and right, by state.
    """
    if not steps:
        return
    at = sheet.cell[list(steps)]
    down, right = np.array(list(steps.values())).T
    still = (down == 0) & (right == 0)
    axes.plot(at[still, 1], at[still, 0], "o", color="#0072B2", markersize=3)
    x, y, u, v = at[~still, 1], at[~still, 0], right[~still] * 0.7, down[~still] * 0.7
    axes.quiver(
        x, y, u, v, angles="xy", scale_units="xy", scale=1, pivot="mid", units="x", width=0.1, color="#0072B2"
    )  # fmt: skip


def _write(axes: Axes, sheet: Sheet, signs: dict[int, str], cell: float) -> None:
    """Action numbers in their cells, where cells are large enough."""
    if cell < READABLE:
        return
    for s, sign in signs.items():
        i, j = sheet.cell[s]
        axes.text(j, i, sign, ha="center", va="center", fontsize=min(9.0, 30 * cell))
