"""A learner at work as a moving picture: visits, policy, and the classes it believes in turning into the true ones.

A class that stands for a true one (largest overlap first) has its colour; the others are grey.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equirl.core.checking import whole_number
from equirl.core.files import write_aside
from equirl.core.formatting import counted
from equirl.core.seeding import Seed
from equirl.model.mdp import TabularMDP
from equirl.plots.arrows import policy_steps
from equirl.plots.canvas import new_figure
from equirl.plots.maps import class_colours, draw_arrows
from equirl.plots.sheets import Sheet, line_sheet, map_sheet, sheet_colours
from equirl.simulation.live_run import LiveRun
from equirl.structure.equivalence import equivalence_classes
from equirl.structure.matching import match_classes
from equirl.structure.partition import Partition
from equirl.structure.quality import misclustering_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLAIN = np.array([0.84, 0.84, 0.86, 1.0])  # of a class that stands for no true one
DPI = 96


class _PairBoard(NamedTuple):
    """Where some pairs are drawn."""

    title: str
    sheet: Sheet
    pairs: np.ndarray  # (n,)
    at: np.ndarray  # (n, 2) row and column


def animate_learning(
    mdp: TabularMDP,
    learner: str,
    horizon: int,
    path: str | os.PathLike[str],
    *,
    seed: Seed = 0,
    frames: int = 40,
    seconds: float = 10.0,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Play a learner and write what it looked like, at times that grow by a constant factor, as an animated GIF.

    Parameters
    ----------
    mdp : TabularMDP
        The world, best one with a map.
    learner : str
        A learner that forms classes.
    horizon : int
        The number of steps.
    path : str or path
        The file, which is whole or absent.
    seed : int or SeedSequence
        From which all randomness follows; the run is that of :func:`equirl.simulate`.
    frames : int
        How many pictures.
    seconds : float
        How long they take in all; the last one stays for two seconds more.
    settings : mapping, optional
        Settings of the learner.

    Returns
    -------
    Path
        Where the file is.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    """
    from PIL import Image

    pictures = []
    for figure in _figures(mdp, learner, horizon, seed, whole_number("frames", frames), dict(settings or {})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        pictures.append(Image.open(buffer).convert("RGB").quantize(64, dither=Image.Dither.NONE))
    pace = int(1000 * seconds / len(pictures))
    durations = [pace] * (len(pictures) - 1) + [pace + 2000]
    held = io.BytesIO()
    pictures[0].save(
        held, format="GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0, optimize=True
    )
    return write_aside(path, held.getvalue())


def _figures(
    mdp: TabularMDP, learner: str, horizon: int, seed: Seed, frames: int, settings: dict[str, Any]
) -> Iterator[Figure]:
    run = LiveRun(mdp, learner, horizon, seed, settings=settings)
    visits = np.zeros(mdp.n_pairs)
    for time in np.unique(np.geomspace(min(mdp.n_pairs, horizon), horizon, frames).astype(int)).tolist():
        while run.steps < time:
            np.add.at(visits, run.advance(), 1)
        yield _draw(mdp, run, visits)


def _draw(mdp: TabularMDP, run: LiveRun, visits: np.ndarray) -> Figure:
    formed = run.learner.classes()
    if formed is None:
        raise ValueError(f"{run.learner.name!r} forms no classes; choose a learner that does, such as 'c-ucrl'")
    truth = equivalence_classes(mdp, rewards=formed.compares_rewards)
    colours, match = class_colours(truth), match_classes(formed.partition, truth)
    found = np.where((match >= 0)[:, None], colours[match], PLAIN)[formed.partition.label]

    boards = _pair_boards(mdp)
    figure = new_figure(2.6 + 1.25 * len(boards), 3.0)
    grid = figure.add_gridspec(2, 2 + len(boards))
    sheet = map_sheet(mdp) or line_sheet(mdp)
    _show_visits(figure.add_subplot(grid[:, :2]), mdp, sheet, run, visits)
    for k, board in enumerate(boards):
        _show_pairs(figure.add_subplot(grid[0, 2 + k]), board, found, board.title)
        _show_pairs(figure.add_subplot(grid[1, 2 + k]), board, colours[truth.label], "")
    figure.suptitle(_title(run, formed.partition, truth, formed.seen.visits), fontsize=9.5)
    return figure


def _title(run: LiveRun, found: Partition, truth: Partition, visits: np.ndarray) -> str:
    wrong = misclustering_ratio(found, truth, visits)
    believed = f"believes in {counted(found.n_classes, 'class', 'classes')} (above), {100 * wrong:.0f} % misplaced"
    return f"{run.learner.name} after {run.steps:,} steps: {believed}; true: {truth.n_classes} (below)"


def _show_visits(axes: Axes, mdp: TabularMDP, sheet: Sheet, run: LiveRun, visits: np.ndarray) -> None:
    import matplotlib as mpl

    by_state = np.bincount(mdp.pairs.state, weights=visits, minlength=mdp.n_states)
    heat = mpl.colormaps["YlOrBr"](0.75 * np.sqrt(by_state / max(1.0, by_state.max())))
    _image(axes, sheet_colours(sheet, heat), "visits and policy")
    if len(run.policy) == mdp.n_states:
        steps = policy_steps(mdp, mdp.pairs.action[run.policy])
        draw_arrows(axes, sheet, {s: step for s, step in enumerate(steps) if step is not None})


def _show_pairs(axes: Axes, board: _PairBoard, colours: np.ndarray, title: str) -> None:
    picture = sheet_colours(board.sheet)
    picture[tuple(board.at.T)] = colours[board.pairs]
    _image(axes, picture, title)


def _image(axes: Axes, picture: np.ndarray, title: str) -> None:
    axes.imshow(picture, interpolation="nearest")
    axes.set_title(title, fontsize=8.5)
    axes.set_axis_off()


def _pair_boards(mdp: TabularMDP) -> list[_PairBoard]:
    """One board per action on a map; one with a row per action otherwise."""
    sheet, names = map_sheet(mdp), mdp.pairs.action_names
    actions, place = np.unique(mdp.pairs.action, return_inverse=True)
    if sheet is None:
        lines = line_sheet(mdp, len(actions))
        at = lines.cell[mdp.pairs.state] + np.stack([place, np.zeros_like(place)], axis=1)
        return [_PairBoard("classes", lines, np.arange(mdp.n_pairs), at)]
    boards = []
    for action in actions.tolist():
        pairs = np.flatnonzero(mdp.pairs.action == action)
        title = names[action] if names else f"action {action}"
        boards.append(_PairBoard(title, sheet, pairs, sheet.cell[mdp.pairs.state[pairs]]))
    return boards
