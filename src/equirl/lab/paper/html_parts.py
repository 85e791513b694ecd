"""Reports as HTML: the page that needs nothing else, its figures, tables and verdicts, and what every report says."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from equirl.lab.studies.summary import Group
from equirl.words.formatting import counted

GOOD, OPEN = ("reproduced", "turned round", "holds"), ("undecided",)
BAD = ("not reproduced", "not turned round", "fails", "no data")


def page(title: str, lead: str, facts: str, banner: str, sections: Sequence[tuple[str, str, str]]) -> bytes:
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


def table(header: Sequence[str], rows: Iterable[Sequence[str] | str], *, verdicts: bool = False) -> str:
    """A table whose first column is text and the others numbers."""
    n_plain = len(header) - 1 if verdicts else len(header)
    head = "".join(f"<th{_align(k)}>{escape(name)}</th>" for k, name in enumerate(header))
    body = ""
    for row in rows:
        if isinstance(row, str):
            body += f'<tr class="head"><td colspan="{len(header)}">{escape(row)}</td></tr>'
            continue
        cells = "".join(f"<td{_align(k)}>{escape(cell)}</td>" for k, cell in enumerate(row[:n_plain]))
        body += f"<tr>{cells}{f'<td{_align(1)}>{tag(row[-1])}</td>' if verdicts else ''}</tr>"
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _align(column: int) -> str:
    return ' class="num"' if column else ""


def work_done(groups: Sequence[Group]) -> str:
    """How many runs and steps a report rests on, and whether all plans converged."""
    runs, steps = sum(group.n_runs for group in groups), sum(group.n_runs * group.horizon for group in groups)
    stuck = sum(int(group.facts["n_unconverged"].sum()) for group in groups)
    planning = "all plans converged" if stuck == 0 else f"{counted(stuck, 'plan')} stopped at the cap on sweeps"
    return f"{counted(runs, 'run')}, {steps / 1e6:,.0f} million steps, {planning}"


def versions() -> str:
    """The versions of the libraries that numbers depend on."""
    return ", ".join(f"{name} {version(name)}" for name in ("equirl", "numpy", "numba"))


def repeat_section(command: str, exception: str = "", tables: str = "") -> str:
    """How to make a report again, and where its files are, in HTML."""
    return (
        f"<pre>{escape(command)}</pre><p>Runs that are done are not computed again. A run depends on its world, "
        f"learner, horizon and seed alone: the number of processes, the order and interruptions change nothing"
        f"{exception}. Figures are in <code>figures/</code> (PDF, SVG, PNG), tables in <code>tables/</code> (CSV)"
        f"{tables}, one file per run in <code>runs/</code>.</p>"
    )


def tag(verdict: str) -> str:
    """A verdict in the colour of its kind."""
    return f'<span class="tag {kind_of_verdict(verdict)}">{escape(verdict)}</span>'


def kind_of_verdict(verdict: str) -> str:
    """Whether a verdict is a good one, a bad one or neither.

    Examples
    --------
    >>> kind_of_verdict("reproduced"), kind_of_verdict("fails"), kind_of_verdict("undecided")
    ('good', 'bad', 'plain')
    """
    return "good" if verdict in GOOD else "bad" if verdict in BAD else "plain"
