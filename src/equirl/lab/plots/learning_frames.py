"""Learning, moment by moment: what a learner held alike, where it had been and what it would do, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equirl.lab.plots.arrows import STEPS, draw_arrows, policy_steps
from equirl.lab.plots.canvas import label_colours, new_figure
from equirl.lab.plots.maps import mark_cells, show_board
from equirl.lab.plots.sheets import Sheet, line_sheet, map_sheet, sheet_colours
from equirl.learners import Learner
from equirl.model import TabularMDP
from equirl.numerics.seeding import Seed
from equirl.simulation import Trace, simulate
from equirl.words.checking import whole_number
from equirl.words.formatting import counted, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARKEST = np.array([0.34, 0.71, 0.91])  # the state visited most
RED = "#C00000"
ALONE = (0.82, 0.82, 0.82, 1.0)  # a visited pair that is held alike to no other


class Moment(NamedTuple):
    """A learner at one time."""

    t: int  # steps played before it
    visits: np.ndarray  # (M,)
    label: np.ndarray | None  # (M,) the class of each pair, where the learner forms classes
    policy: np.ndarray | None  # (S,) the best action by what it has seen, where it can say


@dataclass(frozen=True, eq=False)
class Film:
    """A run with moments of it. Make one with :func:`film_learning`.

    Parameters
    ----------
    mdp : TabularMDP
        What was played.
    trace : Trace
        The whole run.
    moments : tuple of Moment
        In the order of time; the last is the end of the run.
    colours : tuple of array
        For each moment the (M,) number of each pair's colour: a class keeps it as long as most of its pairs stay
        together; -1 for pairs held alike to no other, -2 for those never visited.
    """

    mdp: TabularMDP
    trace: Trace
    moments: tuple[Moment, ...]
    colours: tuple[np.ndarray, ...]

    def frame(self, k: int) -> Figure:
        """The picture of one moment: classes, visits with the policy, and the regret up to then.

        Parameters
        ----------
        k : int
            Which; negative numbers count from the end.

        Returns
        -------
        matplotlib.figure.Figure
        """
        moment, sheet = self.moments[k], map_sheet(self.mdp) or line_sheet(self.mdp)
        height, width = sheet.wall.shape
        panels = ["classes", "visits"] if any((shown >= 0).any() for shown in self.colours) else ["visits"]
        wide = width > 2.5 * height
        across = 1 if wide else len(panels)
        cell = min(0.4, 6.4 / width) if wide else 2.9 / max(height, width)
        board = max(0.5, cell * height) + 0.35
        figure = new_figure(6.4 if wide else 0.3 + 3.1 * across, board * len(panels) / across + 1.7)
        grid = figure.add_gridspec(
            1 + len(panels) // across, across, height_ratios=[board] * (len(panels) // across) + [1.3]
        )
        for place, name in enumerate(panels):
            axes = figure.add_subplot(grid[place // across, place % across])
            if name == "classes":
                _draw_held_alike(axes, self.mdp, sheet, self.colours[k])
            else:
                draw_visits(axes, self.mdp, sheet, moment)
            if map_sheet(self.mdp) is not None:
                mark_cells(axes, self.mdp, "", cell)
        _draw_regret(figure.add_subplot(grid[-1, :]), self.trace, moment.t)
        figure.suptitle(f"{self.trace.agent_name}, step {moment.t:,}", fontsize=10)
        return figure


def film_learning(
    mdp: TabularMDP,
    agent: str | Learner,
    horizon: int,
    seed: Seed = 0,
    *,
    frames: int = 40,
    **settings: Any,
) -> Film:
    """Play a learner as :func:`equirl.simulate` does, and keep moments of it.

    Moments are evenly spaced in the logarithm of time, since most is learned early, and taken where an episode begins;
    where episodes are few they are fewer.

    Parameters
    ----------
    mdp : TabularMDP
        What is played.
    agent : str or Learner
        A name, or a learner, which is copied.
    horizon : int
        The number of steps.
    seed : int or SeedSequence
        From which all randomness follows.
    frames : int
        How many moments at most.
    **settings
        Settings of a learner given by name.

    Returns
    -------
    Film

    Examples
    --------
    >>> from equirl.worlds import make
    >>> film = film_learning(make("two-room"), "c-psrl", 500, frames=5)
    >>> len(film.moments) <= 5, film.moments[-1].t
    (True, 500)
    """
    frames = whole_number("frames", frames)
    times = np.unique(np.geomspace(1, horizon, frames).astype(np.int64))[:-1].tolist()
    moments: list[Moment] = []

    def keep(learner: Learner) -> None:
        if times and learner.t - 1 >= times[0]:
            moments.append(_moment(learner))
            while times and times[0] <= learner.t - 1:
                times.pop(0)

    trace = simulate(mdp, agent, horizon, seed, callback=keep, **settings)
    moments.append(_moment(trace.agent))
    return Film(mdp, trace, tuple(moments), tuple(_kept_colours(moments)))


def _moment(learner: Learner) -> Moment:
    beliefs = learner.beliefs
    counts, formed = beliefs.counts, beliefs.classes()
    visits = np.zeros(learner.pairs.n_pairs, np.int64) if counts is None else counts.visits.copy()
    policy = beliefs.greedy_policy() if beliefs.has_policy and visits.any() else None
    return Moment(learner.t - 1, visits, None if formed is None else formed.partition.label, policy)


def _kept_colours(moments: list[Moment]) -> list[np.ndarray]:
    """Numbers of colours by pair, moment by moment: a class takes the one that most of its pairs had before."""
    kept: list[np.ndarray] = []
    for moment in moments:
        now = np.where(moment.visits > 0, -1, -2)
        if moment.label is not None:
            before, taken = kept[-1] if kept else now, set[int]()
            for members in _shared_classes(moment):
                had = before[members][before[members] >= 0]
                wished = np.argsort(-np.bincount(had), kind="stable").tolist() if len(had) else []
                free = [colour for colour in wished if colour not in taken and (had == colour).any()]
                new = next(c for c in range(len(now) + 1) if c not in taken and c not in before)
                taken.add(free[0] if free else new)
                now[members] = free[0] if free else new
        kept.append(now)
    return kept


def _shared_classes(moment: Moment) -> list[np.ndarray]:
    """The visited pairs of each class with more than one such, the largest class first."""
    assert moment.label is not None
    seen = np.flatnonzero(moment.visits > 0)
    order = seen[np.argsort(moment.label[seen], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(moment.label[order])) + 1)
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def _draw_held_alike(axes: Axes, mdp: TabularMDP, sheet: Sheet, colours: np.ndarray) -> None:
    """Every pair as a part of its state's cell, in the colour of its class."""
    n_classes = len(np.unique(colours[colours >= 0])) + int((colours == -1).sum())
    place = {-1: ALONE, -2: (1.0, 1.0, 1.0, 1.0)} | dict(enumerate(label_colours(20)))
    fill = np.array([place.get(colour, ALONE) for colour in colours.tolist()])
    draw_pairs(axes, mdp, sheet, fill, f"{counted(n_classes, 'class', 'classes')} of visited pairs")


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


def draw_visits(axes: Axes, mdp: TabularMDP, sheet: Sheet, moment: Moment, actions: str = "best actions") -> None:
    """States in blue, darker the more visits, and the actions of a policy, where something was seen."""
    visits = np.bincount(mdp.pairs.state, moment.visits, mdp.n_states)
    shade = np.log1p(visits) / max(1.0, np.log1p(visits.max()))
    fill = np.ones((mdp.n_states, 4))
    fill[:, :3] = 1 - shade[:, None] ** 3 * (1 - DARKEST)
    fill[sheet.brick] = (0, 0, 0, 1)
    title = f"visits, most {number(float(visits.max()), 2)}; {actions}"
    show_board(axes, sheet_colours(sheet, fill), sheet.cell[~sheet.brick], title)
    if moment.policy is not None:
        steps = enumerate(policy_steps(mdp, moment.policy))
        draw_arrows(axes, sheet, {s: step for s, step in steps if step is not None and visits[s] > 0})


def _draw_regret(axes: Axes, trace: Trace, t: int) -> None:
    past = trace.t <= t
    axes.plot(trace.t, trace.regret, color="#D1D1D1", linewidth=1.2)
    axes.plot(trace.t[past], trace.regret[past], color=RED, linewidth=1.6)
    axes.set_xlim(0, trace.t[-1])
    axes.locator_params(axis="both", nbins=4)
    axes.set_xlabel("step", fontsize=8)
    axes.set_ylabel("regret", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
