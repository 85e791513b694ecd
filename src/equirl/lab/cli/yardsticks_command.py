"""The command ``equirl yardsticks``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equirl.lab.cli.console import AsJson, print_json, say


def yardsticks(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the page goes.")] = Path("yardsticks.md"),
    measure: Annotated[
        str | None, typer.Option(help="By commas: compute these tables anew first, which takes minutes to hours.")
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(help="The folder of the tables. [default: those shipped; with --measure, tables]")
    ] = None,
    runs: Annotated[Path, typer.Option(help="With --measure: the folder of the runs.")] = Path("results/yardsticks"),
    as_json: AsJson = False,
) -> None:
    """Write the page of published numbers with ours beside them."""
    from equirl.files.whole_files import write_aside
    from equirl.lab.yardsticks.yardstick_page import measure_yardstick, yardsticks_page

    written = []
    for name in filter(None, map(str.strip, (measure or "").split(","))):
        written.append(measure_yardstick(name, runs, tables or Path("tables")))
        say(f"table: {written[-1]}", err=as_json)
    page = None
    if not written:
        page = write_aside(out, yardsticks_page(tables).encode())
        say(f"page: {page}", err=as_json)
    if as_json:
        print_json({"tables": [str(path) for path in written], "page": str(page) if page else None})
