"""The commands that measure: ``equirl bench`` (speed) and ``equirl yardsticks`` (beside published numbers)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equirl.lab.cli.console import AsJson, console, print_json, say
from equirl.lab.cli.learner_commands import Setting


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: about a minute.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Up to 40,000 pairs, a 100x100 grid and a million steps.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            help="By commas: planning, acceleration, solving, learning, journal, clustering, logs, start, memory, "
            "scale."
        ),
    ] = None,
    setting: Setting = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the table to this file, at its marked place if it has one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure speed, growth, memory and start-up as ratios on this machine."""
    if quick and full:
        raise ValueError("--quick and --full exclude each other")
    from equirl.lab.benchmarks import pin_threads

    pin_threads()
    from equirl.lab.benchmarks.measurement import SIZES, Skipped
    from equirl.lab.benchmarks.suite import (
        SUBJECTS,
        as_markdown,
        put_markdown,
        report_of,
        run_benchmarks,
        show,
        with_settings,
    )

    sizes = with_settings(SIZES["quick" if quick else "full" if full else "standard"], setting or [])
    subjects = [name.strip() for name in only.split(",")] if only is not None else list(SUBJECTS)
    screen, findings = console(err=as_json), []
    for found in run_benchmarks(sizes, subjects):
        findings.append(found)
        if isinstance(found, Skipped):
            text = f"{found.name}: not measured, {found.reason}"
        else:
            text = f"{found.name}: {show(found.value, found.unit)}" + (f"  ({found.note})" if found.note else "")
        screen.print(f"{found.subject:11} {text}", soft_wrap=True)
    if as_json:
        print_json(report_of(findings, sizes))
    if markdown is not None:
        put_markdown(markdown, as_markdown(findings))


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
