"""Where figures begin and end: an empty figure outside Matplotlib's global state, and a file of it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that places its parts by itself, and that a notebook shows."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise ImportError("figures need Matplotlib: pip install 'equirl[plot]'") from None
    from equirl.lab.plots.notebook_figure import NotebookFigure

    return NotebookFigure(figsize=(width, height), layout="constrained")


def figure_text(text: object) -> str:
    """Text of a user's as it stands: dollars begin no formula, control characters are spelled out.

    Examples
    --------
    >>> figure_text("costs $5 to $6")
    'costs \\\\$5 to \\\\$6'
    """
    return printable(text, keep="\n").replace("$", r"\$")


def checked_title(title: Any) -> str | None:
    """A title, or None where there is none."""
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

    Returns
    -------
    Path
        Where the figure is.

    Raises
    ------
    ValueError
        For another ending.
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


def check_format(path: str | os.PathLike[str]) -> None:
    """Check that a file's ending names a format that figures are written in; ask before long work."""
    if checked_path("path", path).suffix[1:].lower() not in FIGURE_FORMATS:
        raise ValueError(f"{path} does not end in a format of figures: .png, .pdf or .svg")


def label_colours(n_labels: int) -> list[tuple[float, float, float, float]]:
    """One colour per label; beyond twenty they come round again, to be told apart by :func:`label_hatches`."""
    from matplotlib.colors import to_rgba

    return [to_rgba(COLOURS[i % len(COLOURS)]) for i in range(n_labels)]


def label_hatches(n_labels: int) -> list[str | None]:
    """The hatching of each label: none on the first round of the colours, another one on each that follows.

    Examples
    --------
    >>> label_hatches(21)[-2:]
    [None, '///']
    """
    return [HATCHES[i // len(COLOURS) % len(HATCHES)] for i in range(n_labels)]
