"""Where figures begin and end, and how they look: an empty figure, its style, colours and lines, and files of it.

Colours are told apart by colour-blind readers, dashes and markers survive a grey printer. Nothing touches Matplotlib's
global state.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equirl.files.whole_files import write_aside
from equirl.words.checking import checked_path, whole_number
from equirl.words.formatting import printable, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_DPI, MOST_DPI = 10, 2400
FIGURE_FORMATS = ("png", "pdf", "svg")

# Okabe and Ito's eight colours, told apart by colour-blind eyes, then twelve more, each as far as can be from those
# before it, from white and from black (in OKLab, as seen with and without red-green blindness).
COLOURS = (
    "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#D55E00", "#999999", "#69001E", "#A500FF",
    "#005A00", "#0F00A5", "#3CD200", "#B40069", "#FF3CFF", "#2D2DFF", "#FFA5FF", "#1EF0C3", "#691E87", "#874B1E",
)  # fmt: skip
HATCHES = (None, "///", "...", "xxx", "---", "|||")  # on a second round of the colours, and a third ...

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


@contextmanager
def figure_style() -> Iterator[None]:
    """Inside, Matplotlib draws and saves in the style of this package; its own settings are left alone."""
    _check_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context(RC):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that places its parts by itself, and that a notebook shows."""
    _check_matplotlib()
    return _figure_class()(figsize=(width, height), layout="constrained")


def _check_matplotlib() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise ImportError("figures need Matplotlib: pip install 'equirl[plot]'") from None


@cache
def _figure_class() -> type[Figure]:
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """Notebooks show it by itself; Matplotlib's own only once ``matplotlib.pyplot`` is imported."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", dpi=110)
            return buffer.getvalue()

    return NotebookFigure


def figure_text(text: object) -> str:
    """Text of a user's as it stands: dollars begin no formula, control characters are spelled out.

    >>> figure_text("costs $5 to $6")
    'costs \\\\$5 to \\\\$6'
    """
    return printable(text, keep="\n").replace("$", r"\$")


def checked_title(title: Any) -> str | None:
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a str, not {shown(title)}")
    return title


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 160) -> Path:
    """Write a figure. The file is whole or absent.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What a function of :mod:`equirl.lab.plots` returns.
    path : str or path
        The file; its ending, ``.png``, ``.pdf`` or ``.svg``, says the format.
    dpi : int
        Dots per inch, of ``.png``.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    check_format(path)
    if not isinstance(figure, Figure):
        raise TypeError(f"figure must be a Matplotlib figure, not {shown(figure)}")
    dpi = whole_number("dpi", dpi, least=LEAST_DPI, most=MOST_DPI)
    buffer = io.BytesIO()
    kind = Path(path).suffix[1:].lower()
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]  # the same figure, the same bytes
    with mpl.rc_context({"svg.hashsalt": "equirl", "pdf.fonttype": 42}):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=stamp)
    return write_aside(path, buffer.getvalue())


def save_all(figure: Figure, stem: str | os.PathLike[str], formats: Sequence[str] = FIGURE_FORMATS) -> list[Path]:
    """Save a figure in several formats; its parts are placed once, for all of them."""
    with figure_style():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        return [save_figure(figure, f"{os.fspath(stem)}.{kind}") for kind in formats]


def save_for_page(figure: Figure, stem: str | os.PathLike[str], kind: str = "svg") -> Path:
    """Save a figure in all formats; where the one is that a page shows."""
    return next(path for path in save_all(figure, stem) if path.suffix == f".{kind}")


def check_format(path: str | os.PathLike[str]) -> None:
    """Check that a file's ending names a format that figures are written in; ask before long work."""
    if checked_path("path", path).suffix[1:].lower() not in FIGURE_FORMATS:
        raise ValueError(f"{path} does not end in a format of figures: .png, .pdf or .svg")


def label_colours(n_labels: int) -> list[tuple[float, float, float, float]]:
    """One colour per label; beyond twenty they come round again, to be told apart by :func:`label_hatches`."""
    from matplotlib.colors import to_rgba

    return [to_rgba(COLOURS[i % len(COLOURS)]) for i in range(n_labels)]


def label_hatches(n_labels: int) -> list[str | None]:
    """The hatching of each label: none on the first round of the colours, another one on each that follows."""
    return [HATCHES[i // len(COLOURS) % len(HATCHES)] for i in range(n_labels)]


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
    "psrl-published": LineStyle("#A0522D", (0, (1, 2)), "4"),
    "c-psrl": LineStyle("#C00000", "solid", "8"),
    "c-psrl-c": LineStyle("#FF69B4", (0, (5, 1.5)), "d"),
    "c-psrl-c-sigma": LineStyle("#882255", (0, (6, 1.5, 1, 1.5)), "H"),
    "c-ucrl2-b-c-sigma": LineStyle("#DAA520", (0, (2, 1)), "1"),
    "c-kl-ucrl-c-sigma": LineStyle("#7FA7C9", (0, (2, 1)), "2"),
    "c-ucrl3-c-sigma": LineStyle("#9E7BC8", (0, (2, 1)), "3"),
    "random": LineStyle("#CC79A7", (0, (1, 2)), "x"),
    "optimal": LineStyle("#F0E442", "solid", "*"),
}
OTHER_STYLES = (  # far from all of the above, as eyes see colours
    LineStyle("#C800C8", "solid", "X"),
    LineStyle("#2A2AE5", (0, (4, 1, 1, 1, 1, 1)), "p"),
    LineStyle("#22B522", (0, (2, 1)), "<"),
    LineStyle("#FF0066", (0, (8, 2)), ">"),
    LineStyle("#666633", "solid", "h"),
)


def line_styles(learners: Sequence[str]) -> list[LineStyle]:
    """A style for each learner of a figure; a learner shown twice gets another one the second time."""
    styles: list[LineStyle] = []
    for name in learners:
        spare = [style for style in OTHER_STYLES if style not in styles] or list(OTHER_STYLES)
        own = LEARNER_STYLES.get(name)
        styles.append(own if own is not None and own not in styles else spare[0])
    return styles
