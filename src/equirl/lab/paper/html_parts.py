"""Reports: sections as data, which the page in the browser shows too, and one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby, pairwise
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from equirl.lab.studies.runs import library_versions
from equirl.lab.studies.summary import Group
from equirl.words.formatting import counted

GOOD, OPEN = ("reproduced", "turned round", "holds"), ("undecided",)
BAD = ("not reproduced", "not turned round", "fails", "no data")
Cell = str | Mapping[str, Any]  # a text, or a "text" with its "note", "verdict", "part" of the study, looks
Row = Sequence[Cell] | Mapping[str, str]  # cells, or a "heading" across the table


class ReportTable(NamedTuple):
    head: Sequence[str]
    rows: Sequence[Row]
    numeric: Sequence[int] = ()  # columns of numbers
    given: Sequence[str] | None = None  # of a matrix of worlds and learners: what each learner is given

    def html(self) -> str:
        if self.given is not None:
            return self._matrix(self.given)
        head = "".join(f"<th{self._align(k)}>{escape(name)}</th>" for k, name in enumerate(self.head))
        body = "".join(map(self._row, self.rows))
        return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'

    def _row(self, row: Row) -> str:
        if isinstance(row, Mapping):
            return f'<tr class="head"><td colspan="{len(self.head)}">{escape(row["heading"])}</td></tr>'
        cells = "".join(f"<td{self._align(k)}>{_cell(cell)}</td>" for k, cell in enumerate(row))
        return f"<tr>{cells}</tr>"

    def _align(self, column: int) -> str:
        return ' class="num"' if column in self.numeric else ""

    def _matrix(self, given: Sequence[str]) -> str:
        """The names of learners stand upright below what they are given; a line sets off each kind."""
        edges = [" edge" if name != before else "" for before, name in pairwise(("", *given))]
        kinds = "".join(
            f'<th class="given edge" colspan="{len(list(own))}">{escape(name)}</th>' for name, own in groupby(given)
        )
        names = "".join(
            f'<th class="tall{edge}">{escape(name)}</th>' for name, edge in zip(self.head[1:], edges, strict=True)
        )
        body = ""
        for row in self.rows:
            first, *cells = row
            looks = "".join(_matrix_cell(cell, edge) for cell, edge in zip(cells, edges, strict=True))
            body += f"<tr><td>{_cell(first)}</td>{looks}</tr>"
        head = f"<tr><th></th>{kinds}</tr><tr><th></th>{names}</tr>"
        return f'<div class="scroll"><table class="matrix"><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escape(cell)
    text = escape(cell["text"])
    if "verdict" in cell:
        return f'<span class="tag {cell["verdict"]}">{text}</span>'
    if "part" in cell:
        return f'<a href="#{cell["part"]}">{text}</a>'
    return f'{text}<span class="note">{escape(cell["note"])}</span>' if cell.get("note") else text


def _matrix_cell(cell: Any, edge: str) -> str:
    look = " best" if cell["best"] else " undecided" if cell["undecided"] else ""
    style = f' style="background:{cell["back"]}"' if cell["back"] else ""
    return f'<td class="num{edge}{look}"{style}>{_cell(cell)}</td>'


def numbers_table(head: Sequence[str], rows: Iterable[Row]) -> ReportTable:
    """A table whose first column is text and the others numbers."""
    return ReportTable(head, list(rows), list(range(1, len(head))))


class Section(NamedTuple):
    """A part of a report: a text, then a table or a list."""

    name: str
    title: str
    about: str
    table: ReportTable | None = None
    items: Sequence[str] = ()

    def plain(self) -> dict[str, Any]:
        """The same for JSON."""
        return self._asdict() | {"table": self.table and self.table._asdict()}

    def html(self) -> str:
        listed = "".join(f"<li>{escape(item)}</li>" for item in self.items)
        about = f"<p>{escape(self.about)}</p>" if self.about else ""
        return about + (self.table.html() if self.table else "") + (f"<ul>{listed}</ul>" if listed else "")


def page(title: str, lead: str, facts: str, banner: str, sections: Sequence[tuple[str, str, str]]) -> bytes:
    """The whole page; of each section its name, title and HTML."""
    contents = "".join(f'<li><a href="#{name}">{escape(heading)}</a></li>' for name, heading, _ in sections)
    body = "\n".join(
        f'<section id="{name}"><h2>{escape(heading)}</h2>{html}</section>' for name, heading, html in sections
    )
    shown = f'<p class="banner" role="note">{escape(banner)}</p>' if banner else ""
    text = Template(_resource("report.html")).substitute(
        title=escape(title),
        css=_resource("report.css"),
        lead=escape(lead),
        facts=escape(facts),
        banner=shown,
        contents=contents,
        body=body,
    )
    return text.encode()


def _resource(name: str) -> str:
    return files("equirl.lab.paper").joinpath(name).read_text(encoding="utf-8")


def image(figures: Mapping[str, Path], name: str, caption: str) -> str:
    """A figure with its caption, the picture inside the page."""
    path = figures.get(name)
    if path is None:
        return ""
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    data = base64.b64encode(path.read_bytes()).decode()
    image = f'<img alt="{escape(caption)}" src="data:image/{kind};base64,{data}">'
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"


def work_done(groups: Sequence[Group]) -> str:
    """How many runs and steps a report rests on, and whether all plans converged."""
    runs, steps = sum(group.n_runs for group in groups), sum(group.n_runs * group.horizon for group in groups)
    stuck = sum(int(group.facts["n_unconverged"].sum()) for group in groups)
    planning = "all plans converged" if stuck == 0 else f"{counted(stuck, 'plan')} stopped at the cap on sweeps"
    return f"{counted(runs, 'run')}, {steps / 1e6:,.0f} million steps, {planning}"


def versions() -> str:
    return ", ".join(f"{name} {number}" for name, number in library_versions().items())


def provisional_banner(groups: Iterable[Group], enough: int, otherwise: str) -> str:
    """What a reader must know first where runs are few; else nothing."""
    fewest = min((group.n_runs for group in groups), default=0)
    return "" if fewest >= enough else f"Provisional: some results rest on {counted(fewest, 'run')}. {otherwise}"


def repeat_section(command: str, exception: str = "", tables: str = "") -> tuple[str, str, str]:
    """How to make a report again, and where its files are."""
    html = (
        f"<pre>{escape(command)}</pre><p>Runs that are done are not computed again. A run depends on its world, "
        f"learner, horizon and seed alone: the number of processes, the order and interruptions change nothing"
        f"{exception}. Figures are in <code>figures/</code> (PDF, SVG, PNG), tables in <code>tables/</code> (CSV)"
        f"{tables}, one file per run in <code>runs/</code>.</p>"
    )
    return "again", "How to reproduce this", html


def verdict(text: str) -> dict[str, str]:
    """The cell of a verdict: whether it is a good one, a bad one or neither.

    >>> verdict("reproduced"), verdict("undecided")
    ({'text': 'reproduced', 'verdict': 'good'}, {'text': 'undecided', 'verdict': 'plain'})
    """
    return {"text": text, "verdict": "good" if text in GOOD else "bad" if text in BAD else "plain"}
