"""Films of learning: what a learner held alike, where it had been and what it would do, frame by frame; as GIF or MP4.

GIF needs nothing more than figures do, MP4 the program ffmpeg.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equirl.files.whole_files import check_place, write_aside
from equirl.lab.plots.canvas import COLOURS, label_colours, new_figure
from equirl.lab.plots.learner_figures import ALONE, DARKEST, draw_pairs, draw_visits
from equirl.lab.plots.maps import mark_cells
from equirl.lab.plots.sheets import Sheet, line_sheet, map_sheet
from equirl.learners import Learner
from equirl.model import TabularMDP
from equirl.numerics.seeding import Seed
from equirl.simulation import Trace, simulate
from equirl.words.checking import above, whole_number
from equirl.words.formatting import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAST_FRAME = 8  # times as long as the others
RED = "#C00000"


def animate_learning(
    mdp: TabularMDP,
    agent: str | Learner,
    path: str | os.PathLike[str],
    horizon: int = 20_000,
    seed: Seed = 0,
    *,
    frames: int = 40,
    seconds: float = 8.0,
    **settings: Any,
) -> Path:
    """Play a learner and write a film of it: what it holds alike, where it has been, what it would do, its regret.

    Parameters
    ----------
    path : str or path
        The file, ``.gif`` or ``.mp4``; the latter needs ffmpeg.
    seconds : float
        How long the film lasts.
    mdp, agent, horizon, seed, frames, **settings
        As in :func:`equirl.lab.plots.film_learning`.
    """
    check_film(path)
    return write_film(film_learning(mdp, agent, horizon, seed, frames=frames, **settings), path, seconds)


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
        """The picture of one moment: classes, visits with the policy, and the regret up to then."""
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
                draw_visits(axes, self.mdp, sheet, moment.visits, moment.policy, "best actions")
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
        What is played; on a map its states are drawn there, otherwise in lines.
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


def check_film(path: str | os.PathLike[str]) -> None:
    """Check that a film can be written to a file; ask before long work."""
    ending = Path(path).suffix.lower()
    if ending not in (".gif", ".mp4"):
        raise ValueError(f"{path} does not end in a format of films: .gif or .mp4")
    if ending == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError(f"{path} needs the program ffmpeg, which is not installed; .gif needs nothing more")
    check_place(path)


def write_film(film: Film, path: str | os.PathLike[str], seconds: float = 8.0, dpi: int = 80) -> Path:
    """Write a film. The file is whole or absent.

    Parameters
    ----------
    film : Film
        What :func:`equirl.lab.plots.film_learning` returns.
    path : str or path
        The file, ``.gif`` or ``.mp4``.
    seconds : float
        How long it lasts.
    dpi : int
        Dots per inch of its pictures.
    """
    check_film(path)
    pause = above("seconds", seconds, 0, "shows nothing") / (len(film.moments) + LAST_FRAME - 1)
    first = film.frame(0)
    pictures = [_pixels(first, dpi)]
    for k in range(1, len(film.moments)):
        pictures.append(_pixels(_placed_as(first, film.frame(k)), dpi))
    pictures += [pictures[-1]] * (LAST_FRAME - 1)
    if Path(path).suffix.lower() == ".gif":
        return write_aside(path, _gif(pictures, pause))
    return write_aside(path, _mp4(pictures, pause, path))


def _placed_as(first: Figure, figure: Figure) -> Figure:
    """The figure with its axes where those of the first frame are: nothing jumps, and no place is looked for again."""
    figure.set_layout_engine("none")
    for model, axes in zip(first.axes, figure.axes, strict=True):
        axes.set_position(model.get_position(original=True))
    return figure


def _pixels(figure: Figure, dpi: int) -> np.ndarray:
    """(height, width, 3) a figure as it looks; both sizes even, as MP4 wants them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(dpi)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    return pixels[: len(pixels) // 2 * 2, : pixels.shape[1] // 2 * 2].copy()


def _gif(pictures: list[np.ndarray], pause: float) -> bytes:
    from PIL import Image

    palette, images = _palette(), []
    for pixels in pictures:
        image = Image.fromarray(_nearest(pixels, palette))
        image.putpalette(palette.ravel().tolist())
        images.append(image)
    buffer = io.BytesIO()
    images[0].save(
        buffer, "gif", save_all=True, append_images=images[1:], duration=round(1000 * pause), loop=0, optimize=True
    )
    return buffer.getvalue()


def _nearest(pixels: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """(height, width) the number of the nearest colour of the palette."""
    packed = pixels.astype(np.int64) @ [1 << 16, 1 << 8, 1]
    found, where = np.unique(packed, return_inverse=True)
    colours = found[:, None].astype(np.int64) >> np.array([16, 8, 0]) & 255
    apart = ((colours[:, None] - palette[None].astype(np.int64)) ** 2).sum(axis=2)
    return apart.argmin(axis=1)[where].reshape(packed.shape).astype(np.uint8)


def _palette() -> np.ndarray:
    """(n, 3) the colours of frames, the same in all of them: small files in which no colour drifts."""
    from matplotlib.colors import to_rgb

    named = np.array([*map(to_rgb, COLOURS), to_rgb(RED)])
    pale = 0.5 + 0.5 * named  # of edges that are smoothed
    grey = np.linspace(0, 1, 24)[:, None] * np.ones(3)
    blue = 1 - np.linspace(0, 1, 24)[:, None] * (1 - DARKEST)
    return np.rint(255 * np.concatenate([named, pale, grey, blue])).astype(np.uint8)


def _mp4(pictures: list[np.ndarray], pause: float, path: str | os.PathLike[str]) -> bytes:
    height, width, _ = pictures[0].shape
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{1 / pause:.6f}", "-i", "-"]
        command = ["ffmpeg", "-loglevel", "error", *raw, "-pix_fmt", "yuv420p", str(file)]
        done = subprocess.run(
            command, input=b"".join(map(np.ndarray.tobytes, pictures)), capture_output=True, check=False
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise OSError(errno.EIO, f"ffmpeg could not write the film: {said}", os.fspath(path))
        return file.read_bytes()
