"""How commands speak: lines, facts and tables, or JSON for other programs; and with which code they end.

Foreign text is made harmless here.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.words.formatting import json_ready, printable

if TYPE_CHECKING:
    from rich.console import Console

    from equirl.words.tables import Table

FAILED, MISTAKE, STOPPED, INTERRUPTED = 1, 2, 3, 130
# runs failed; a mistake in what was asked; results cannot be kept or computed; Ctrl-C
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CANNOT_KEEP = (*NO_ROOM, errno.EROFS, errno.EIO)
MOST_ROWS = 20  # of a table on the screen
EDGES, BETWEEN = 2, 3  # blanks around a table, and between two columns of it
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; messages go to stderr.")]


def console(*, err: bool = False) -> Console:
    """The terminal, with text taken as it is: brackets in a name are no markup."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, stderr=err)


def say(text: object, *, err: bool = False) -> None:
    typer.echo(printable(text, keep="\n"), err=err)


def print_facts(title: str, facts: Mapping[str, str]) -> None:
    """Print a title and aligned lines ``name value``."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(printable(name), printable(value))
    console().print(printable(title), style="bold")
    console().print(table)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """Print a table; headings that end in # are those of numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    terminal = console()
    shown = [[printable(cell) for cell in row] for row in ([heading.rstrip("#") for heading in columns], *rows)]
    widths = _fitting_widths(list(zip(*shown, strict=True)), terminal.width)
    table = Table(box=SIMPLE_HEAD, show_edge=False)  # pad_edge=False with widths is laid out so from Rich 14.3 on only
    for heading, text, width in zip(columns, shown[0], widths, strict=True):
        table.add_column(text, justify="right" if heading.endswith("#") else "left", width=width)
    for row in shown[1:]:
        table.add_row(*row)
    if title:
        terminal.print(printable(title), style="bold", soft_wrap=True)
    terminal.width = max(terminal.width, sum(widths) + EDGES + BETWEEN * (len(widths) - 1))
    terminal.print("", table, "", sep="\n")


def _fitting_widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """How wide columns are: the widest give way first, none breaks a word; else a table sticks out."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, texts)) for texts in columns]
    least = [max((cell_len(word) for text in texts for word in text.split()), default=0) for texts in columns]
    room -= EDGES + BETWEEN * (len(columns) - 1)
    while sum(widths) > room and (spare := [k for k in range(len(widths)) if widths[k] > least[k]]):
        widths[max(spare, key=lambda k: widths[k])] -= 1
    return widths


def print_some(table: Table, title: str, remedy: str, most: int = MOST_ROWS) -> None:
    """The first rows of a table, and where to find the rest."""
    headings = [name.replace("_", " ") + "#" * table.is_numeric(name) for name in table.columns]
    print_table(headings, table.head(most).texts(), title=title)
    if len(table) > most:
        console().print(f"... and {len(table) - most} more rows; {remedy}")


def print_json(data: Any) -> None:
    text = json.dumps(json_ready(data), ensure_ascii=False)
    typer.echo("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


def check_files(plot: Path | None, *others: Path | None) -> None:
    """Say before long work, not after, that a figure or another file cannot be written."""
    from equirl.files.whole_files import check_place

    if plot is not None:
        from equirl.lab.plots.canvas import check_format

        check_format(plot)
    for file in filter(None, (plot, *others)):
        check_place(file)


def code_of(error: BaseException) -> int:
    """The code with which a command ends that an error stopped."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return STOPPED if isinstance(error, OSError) and error.errno in CANNOT_KEEP else MISTAKE


def in_one_line(error: BaseException) -> str:
    """An error as one line for a person.

    >>> in_one_line(FileNotFoundError(2, "No such file or directory", "river.npz"))
    'river.npz: No such file or directory'
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return f"{said}; free some space and give the same command again" if error.errno in NO_ROOM else said
    return " ".join(str(error).split()) or type(error).__name__
