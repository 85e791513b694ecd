"""Pictures of a problem: its classes in colour, action by action, and a policy as arrows (appendix F of the paper).

Where the problem has a map its states are drawn on it; otherwise they are drawn in lines, numbered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.lab.plots.canvas import checked_title, figure_text, label_colours, label_hatches, new_figure
from equirl.lab.plots.sheets import (
    ABSENT,
    FLOOR,
    LETTER,
    LONGEST_SIGN,
    Sheet,
    action_signs,
    draw_arrows,
    height_of_labels,
    line_sheet,
    map_sheet,
    marked_cells,
    played_pairs,
    policy_steps,
    sheet_colours,
    state_labels,
)
from equirl.model import TabularMDP, check_mdp
from equirl.structure import Partition, summarise_class
from equirl.words.formatting import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

READABLE = 0.15  # inches: a cell large enough for a number
MOST_LISTED = 12  # entries of a legend
EDGE: dict[str, Any] = {"edgecolor": "black", "linewidth": 0.4}


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

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> len(draw_classes(mdp, Partition.singletons(2)).axes)
    2
    """
    check_mdp(mdp)
    title = checked_title(title)
    if not isinstance(partition, Partition):
        raise TypeError(f"partition must be a Partition, not {shown(partition)}")
    if partition.n_pairs != mdp.n_pairs:
        raise ValueError(f"the partition is of {partition.n_pairs} pairs, the MDP has {mdp.n_pairs}")
    colours, hatches = looks_by_size(partition)
    sheet = map_sheet(mdp)
    if sheet is None:
        figure = _classes_in_lines(mdp, partition, colours, hatches)
    else:
        figure = _classes_on_map(mdp, partition, colours, hatches, sheet)
    counts = f"S = {mdp.n_states}, M = {mdp.n_pairs}, C = {partition.n_classes}"
    figure.suptitle(f"{figure_text(title or mdp.name or 'Classes of pairs')}\n{counts}", fontsize=11)
    for _ in range(3 if sheet is None else 0):  # the layout of a long board finds its place, labels included, in passes
        figure.draw_without_rendering()
    return figure


def draw_policy(mdp: TabularMDP, policy: Any, title: str | None = None) -> Figure:
    """A policy: arrows where actions are named by directions; else colours, and numbers or short names, with a legend.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : sequence of int or str
        An action per state.
    title : str, optional
        The title; by default the name of the problem.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> draw_policy(mdp, [0, 0]).axes[0].get_title()
    'Policy'
    """
    check_mdp(mdp)
    title = checked_title(title)
    steps = policy_steps(mdp, policy)
    sheet = map_sheet(mdp)
    on_map = sheet is not None
    sheet = sheet or line_sheet(mdp)
    height, width = sheet.wall.shape
    cell = min(0.4, max(11 / width, 0.08))
    under = 0.0 if on_map else height_of_labels(mdp, sheet)
    figure = new_figure(max(3.0, cell * width + 0.6), max(1.3, cell * height + under + 0.9))
    axes = figure.add_subplot()
    goals = {tuple(at) for at in marked_cells(mdp)["G"].tolist()} if on_map else set()
    alike = [sheet.brick[s] or at in goals for s, at in enumerate(map(tuple, sheet.cell.tolist()))]
    plain = np.flatnonzero(~np.array(alike)).tolist()  # in a goal and in a wall all actions are the same
    unpointed = [s for s in plain if steps[s] is None]
    played = mdp.pairs.action[played_pairs(mdp, policy)]
    fill = _action_fill(figure, mdp, sheet, played, unpointed)
    heading = title or (f"Policy: {mdp.name}" if mdp.name else "Policy")
    show_board(axes, sheet_colours(sheet, fill), sheet.cell[~sheet.brick], heading)
    draw_arrows(axes, sheet, {s: step for s in plain if (step := steps[s]) is not None})
    signs = [_action_name(mdp, a) for a in played] if _short_names(mdp) else action_signs(mdp, policy)
    write_signs(axes, sheet, {s: signs[s] for s in unpointed}, cell)
    if on_map:
        mark_cells(axes, mdp, "G", cell)
    else:
        _number_states(axes, mdp, sheet, [""], cell)
    return figure


def _action_fill(
    figure: Figure, mdp: TabularMDP, sheet: Sheet, played: np.ndarray, states: list[int]
) -> np.ndarray | None:
    """(S, 4) a pale colour per action in ``states``, whose names then stand in a legend; None without names."""
    if mdp.pairs.action_names is None or not states:
        return None
    fill = sheet_colours(sheet)[tuple(sheet.cell.T)]
    actions = np.unique(played[states])
    colours = 0.45 * np.array(label_colours(len(actions))) + 0.55
    fill[states] = colours[np.searchsorted(actions, played[states])]
    names = [_action_name(mdp, a) for a in actions]
    texts = names if _short_names(mdp) else [f"{a}: {name}" for a, name in zip(actions, names, strict=True)]
    _action_legend(figure, texts, list(colours))
    return fill


def _short_names(mdp: TabularMDP) -> bool:
    """Whether actions have names that fit into a cell."""
    return max(map(len, map(str, mdp.pairs.action_names or ["action"]))) <= LONGEST_SIGN


def looks_by_size(partition: Partition) -> tuple[np.ndarray, list[str | None]]:
    """(C, 4) a colour per class and (C,) its hatching, the largest class first."""
    n, rank = partition.n_classes, np.empty(partition.n_classes, np.int64)
    rank[np.argsort(-partition.sizes, kind="stable")] = np.arange(n)
    hatches = label_hatches(n)
    return np.array(label_colours(n)).reshape(n, 4)[rank], [hatches[i] for i in rank.tolist()]


def _classes_on_map(
    mdp: TabularMDP, partition: Partition, colours: np.ndarray, hatches: list[str | None], sheet: Sheet
) -> Figure:
    actions = np.unique(mdp.pairs.action)
    height, width = sheet.wall.shape
    columns = 1 if width > 2.5 * height else math.ceil(math.sqrt(len(actions) + 2))
    lines = math.ceil((len(actions) + 2) / columns)
    cell = min(0.36, max(4.0 / max(height, width), 0.02)) if columns > 1 else min(0.36, 11 / width)
    figure = new_figure(columns * (cell * width + 0.3) + 0.2, lines * max(0.6, cell * height + 0.4) + 0.6)
    grid = figure.add_gridspec(lines, columns)
    tiles = [figure.add_subplot(grid[k // columns, k % columns]) for k in range(len(actions) + 2)]
    show_board(tiles[0], sheet_colours(sheet), sheet.cell[~sheet.brick], "map")
    mark_cells(tiles[0], mdp, "SG", cell)
    _name_cells(tiles[0], mdp, sheet, cell)
    for axes, action in zip(tiles[1:], actions, strict=False):
        pairs = np.flatnonzero(mdp.pairs.action == action)
        fill = np.broadcast_to(ABSENT, (mdp.n_states, 4)).copy()
        fill[mdp.pairs.state[pairs]] = colours[partition.label[pairs]]
        show_board(axes, sheet_colours(sheet, fill), sheet.cell, _action_name(mdp, action))
        _frame(axes, sheet.cell[sheet.brick], hatch="///")
        _hatch(axes, sheet.cell[mdp.pairs.state[pairs]], partition.label[pairs], hatches)
        _number_classes(axes, sheet.cell[mdp.pairs.state[pairs]], partition.label[pairs], colours, cell)
        mark_cells(axes, mdp, "", cell)
    signs: dict[str, dict[str, Any]] = {"start": {"linestyle": "--"}, "goal": {}} if cell >= READABLE else {}
    signs |= {"wall": {"hatch": "///"}} if sheet.brick.any() else {}
    looks = list(zip(colours, hatches, strict=True))
    _class_legend(tiles[-1], mdp, partition, looks, signs, fontsize=min(11.0, max(8.0, 2.8 * cell * width)))
    return figure


def _classes_in_lines(mdp: TabularMDP, partition: Partition, colours: np.ndarray, hatches: list[str | None]) -> Figure:
    actions, place = np.unique(mdp.pairs.action, return_inverse=True)
    sheet = line_sheet(mdp, len(actions))
    height, width = sheet.wall.shape
    cell = min(0.36, 11 / width)
    listed = min(partition.n_classes, MOST_LISTED + 1)
    under = height_of_labels(mdp, sheet)
    figure = new_figure(max(7.0, cell * width + 1.2), cell * height + under + 0.2 * listed + 1.3)
    axes, legend = figure.subplots(2, 1, height_ratios=[cell * height + under + 0.3, 0.2 * listed + 0.2])
    at = sheet.cell[mdp.pairs.state] + np.stack([place, np.zeros_like(place)], axis=1)
    board = np.broadcast_to(FLOOR, (height, width, 4)).copy()
    board[tuple(at.T)] = colours[partition.label]
    show_board(axes, board, at, "")
    _hatch(axes, at, partition.label, hatches)
    _number_classes(axes, at, partition.label, colours, cell)
    _number_states(axes, mdp, sheet, [_action_name(mdp, a) for a in actions], cell)
    _class_legend(legend, mdp, partition, list(zip(colours, hatches, strict=True)), {}, fontsize=9)
    return figure


def _class_legend(
    axes: Axes,
    mdp: TabularMDP,
    partition: Partition,
    looks: Sequence[tuple[np.ndarray, str | None]],
    signs: Mapping[str, Mapping[str, Any]],
    fontsize: float,
) -> None:
    """Fill axes with the largest classes in words, and the other signs of the picture."""
    from matplotlib.patches import Patch

    axes.set_axis_off()
    largest = np.argsort(-partition.sizes, kind="stable")
    handles = [Patch(facecolor=looks[c][0], hatch=looks[c][1], **EDGE) for c in largest[:MOST_LISTED]]
    texts = [figure_text(summarise_class(mdp, partition, int(c))) for c in largest[:MOST_LISTED]]
    if partition.n_classes > MOST_LISTED:
        handles.append(Patch(facecolor="none"))
        texts.append(f"and {partition.n_classes - MOST_LISTED} more classes")
    handles += [Patch(facecolor="none", edgecolor="black", **look) for look in signs.values()]
    texts += [figure_text(sign) for sign in signs]
    axes.legend(handles, texts, loc="center", frameon=False, fontsize=fontsize, handlelength=1.4)


def _action_legend(figure: Figure, names: Sequence[str], colours: Sequence[Any]) -> None:
    """Put actions by name under a figure, which grows by the place they take."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=colour, **EDGE) for colour in colours[:MOST_LISTED]]
    texts = list(names[:MOST_LISTED])
    if len(names) > MOST_LISTED:
        handles.append(Patch(facecolor="none"))
        texts.append(f"and {len(names) - MOST_LISTED} more")
    width, height = figure.get_size_inches()
    columns = max(1, min(len(texts), int(width / (0.55 + LETTER * max(map(len, texts))))))
    figure.set_size_inches(width, height + 0.22 * -(-len(texts) // columns) + 0.1)
    texts = [figure_text(text) for text in texts]
    figure.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def show_board(axes: Axes, board: np.ndarray, cells: np.ndarray, title: str) -> None:
    """A board of colours, with thin lines around the given (n, 2) cells where they are large enough."""
    axes.imshow(board, interpolation="nearest")
    axes.set_title(figure_text(title), fontsize=10)
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


def mark_cells(axes: Axes, mdp: TabularMDP, letters: str, cell: float) -> None:
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


def _hatch(axes: Axes, at: np.ndarray, label: np.ndarray, hatches: list[str | None]) -> None:
    """Hatch the (n, 2) cells of labels that have a hatching."""
    for pattern in sorted({hatch for hatch in hatches if hatch is not None}):
        _frame(axes, at[[hatches[c] == pattern for c in label.tolist()]], hatch=pattern)


def _name_cells(axes: Axes, mdp: TabularMDP, sheet: Sheet, cell: float) -> None:
    """The names of the states in their cells, where they fit."""
    names, taken = state_labels(mdp), {tuple(at) for cells in marked_cells(mdp).values() for at in cells.tolist()}
    fontsize = min(6.0, 72 * cell / (0.65 * max(map(len, names))))
    if mdp.pairs.state_names is None or fontsize < 4.0:
        return
    for name, (i, j), brick in zip(names, sheet.cell.tolist(), sheet.brick.tolist(), strict=True):
        if (i, j) not in taken and not brick:
            axes.text(j, i, figure_text(name), ha="center", va="center", fontsize=fontsize, color="#555555")


def _number_states(axes: Axes, mdp: TabularMDP, sheet: Sheet, names: list[str], cell: float) -> None:
    """States under a single line of them, by name or every fifth number; of several lines at the left.

    ``names`` say what each row of a line shows.
    """
    height, width = sheet.wall.shape
    starts, labels = np.flatnonzero(sheet.cell[:, 1] == 0), state_labels(mdp)
    heads = [f"{labels[s]} to {labels[min(s + width, len(labels)) - 1]} " for s in starts]
    if len(starts) == 1:
        step = math.ceil(READABLE / cell) if mdp.pairs.state_names else 5
        turned = 90 if height_of_labels(mdp, sheet) else 0
        at = range(0, width, step)
        axes.set_xticks(at, [figure_text(labels[j]) for j in at], fontsize=8, rotation=turned)
        axes.set_xlabel("state", fontsize=9)
        heads = [""]
    if height <= 80:
        at = sheet.cell[starts, 0][:, None] + np.arange(len(names))
        axes.set_yticks(at.ravel(), [figure_text(head + name) for head in heads for name in names], fontsize=8)
    axes.tick_params(length=0)


def _action_name(mdp: TabularMDP, action: int) -> str:
    names = mdp.pairs.action_names
    return str(names[action]) if names else f"action {action}"


def write_signs(axes: Axes, sheet: Sheet, signs: Mapping[int, str], cell: float) -> None:
    """What stands for an action in the cells of states, where cells are large enough."""
    if cell < READABLE:
        return
    for s, sign in signs.items():
        i, j = sheet.cell[s]
        axes.text(j, i, sign, ha="center", va="center", fontsize=min(9.0, 30 * cell))
