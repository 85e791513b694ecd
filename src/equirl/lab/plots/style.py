"""How figures look: colours that colour-blind readers tell apart, dashes and markers that survive a grey printer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equirl.lab.plots.canvas import FIGURE_FORMATS, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "equirl",  # the same figure gives the same bytes
}


class LineStyle(NamedTuple):
    """Colour, dashes and marker of one learner."""

    color: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str


LEARNER_STYLES = {
    "ucrl2-l": LineStyle("#000000", "solid", "o"),
    "c-ucrl-published": LineStyle("#D55E00", (0, (5, 1.5)), "s"),
    "c-ucrl": LineStyle("#0072B2", "solid", "^"),
    "c-ucrl-c": LineStyle("#56B4E9", (0, (1, 1.2)), "D"),
    "c-ucrl-c-sigma": LineStyle("#009E73", (0, (6, 1.5, 1, 1.5)), "v"),
    "ucrl2": LineStyle("#999999", (0, (3, 1)), "P"),
    "ucrl2-b": LineStyle("#B8860B", (0, (5, 1.5)), "<"),
    "kl-ucrl": LineStyle("#5F7A99", (0, (1, 1.2)), "h"),
    "ucrl3": LineStyle("#6A3D9A", (0, (6, 1.5, 1, 1.5)), ">"),
    "imed-rl": LineStyle("#117733", (0, (3, 1)), "p"),
    "psrl": LineStyle("#FF8C00", (0, (8, 2)), "X"),
    "c-psrl": LineStyle("#C00000", "solid", "8"),
    "c-psrl-c": LineStyle("#FF69B4", (0, (5, 1.5)), "d"),
    "c-psrl-c-sigma": LineStyle("#882255", (0, (6, 1.5, 1, 1.5)), "H"),
    "c-ucrl2-b-c-sigma": LineStyle("#DAA520", (0, (2, 1)), "1"),
    "c-kl-ucrl-c-sigma": LineStyle("#7FA7C9", (0, (2, 1)), "2"),
    "c-ucrl3-c-sigma": LineStyle("#9E7BC8", (0, (2, 1)), "3"),
    "random": LineStyle("#CC79A7", (0, (1, 2)), "x"),
    "optimal": LineStyle("#F0E442", "solid", "*"),
}
OTHER_STYLES = (
    LineStyle("#E69F00", "solid", "X"),
    LineStyle("#CC79A7", (0, (4, 1, 1, 1, 1, 1)), "p"),
    LineStyle("#8B4513", (0, (2, 1)), "<"),
    LineStyle("#4B0082", (0, (8, 2)), ">"),
    LineStyle("#708090", "solid", "h"),
)


def line_styles(learners: Sequence[str]) -> list[LineStyle]:
    """A style for each learner of a figure; a learner shown twice gets another one the second time.

    Examples
    --------
    >>> [style.marker for style in line_styles(["ucrl2-l", "c-ucrl", "c-ucrl"])]
    ['o', '^', 'X']
    """
    styles: list[LineStyle] = []
    for name in learners:
        spare = [style for style in OTHER_STYLES if style not in styles] or list(OTHER_STYLES)
        own = LEARNER_STYLES.get(name)
        styles.append(own if own is not None and own not in styles else spare[0])
    return styles


@contextmanager
def figure_style() -> Iterator[None]:
    """Inside, Matplotlib draws and saves in the style of this package; its own settings are left alone."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise ImportError("figures need Matplotlib: pip install 'equirl[plot]'") from None
    with mpl.rc_context(RC):
        yield


def save_all(figure: Figure, stem: str | os.PathLike[str], formats: Sequence[str] = FIGURE_FORMATS) -> list[Path]:
    """Save a figure in several formats; its parts are placed once, for all of them."""
    with figure_style():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        return [save_figure(figure, f"{os.fspath(stem)}.{kind}") for kind in formats]
