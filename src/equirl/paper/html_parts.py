"""Parts of the report's page: figures, tables and verdicts as HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

GOOD, OPEN = ("reproduced", "turned round"), ("undecided",)
BAD = ("not reproduced", "not turned round", "no data")


def image(figures: Mapping[str, Path], name: str, caption: str) -> str:
    """A figure with its caption, the picture inside the page.

    Parameters
    ----------
    figures : mapping of str to Path
        Files by name, PNG or SVG.
    name : str
        Which; nothing is shown where there is none.
    caption : str
        The line below.

    Returns
    -------
    str
    """
    path = figures.get(name)
    if path is None:
        return ""
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    data = base64.b64encode(path.read_bytes()).decode()
    image = f'<img alt="{escape(caption)}" src="data:image/{kind};base64,{data}">'
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, verdicts: bool = False) -> str:
    """A table whose first column is text and the others numbers.

    Parameters
    ----------
    header : sequence of str
        The headings.
    rows : iterable of sequences of str
        The cells, row by row.
    verdicts : bool
        Whether the last column holds verdicts.

    Returns
    -------
    str
    """
    n_plain = len(header) - 1 if verdicts else len(header)
    head = "".join(f"<th{_align(k)}>{escape(name)}</th>" for k, name in enumerate(header))
    body = ""
    for row in rows:
        cells = "".join(f"<td{_align(k)}>{escape(cell)}</td>" for k, cell in enumerate(row[:n_plain]))
        body += f"<tr>{cells}{f'<td{_align(1)}>{tag(row[-1])}</td>' if verdicts else ''}</tr>"
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _align(column: int) -> str:
    return ' class="num"' if column else ""


def tag(verdict: str) -> str:
    """A verdict in the colour of its kind.

    Parameters
    ----------
    verdict : str
        As in :class:`~equirl.paper.claims.Claim`.

    Returns
    -------
    str
    """
    look = "good" if verdict in GOOD else "bad" if verdict in BAD else "plain"
    return f'<span class="tag {look}">{escape(verdict)}</span>'
