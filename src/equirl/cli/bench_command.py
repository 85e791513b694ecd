"""The command ``equirl bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bench)


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: about a minute.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Up to 40,000 pairs, a 100x100 grid and a million steps.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            help="By commas: planning, acceleration, learning, journal, clustering, logs, start, memory, scale."
        ),
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the table to this file, at its marked place if it has one.")
    ] = None,
) -> None:
    """Measure speed, growth, memory and start-up as ratios on this machine."""
    if quick and full:
        raise ValueError("--quick and --full exclude each other")
    from equirl.benchmarks import pin_threads

    pin_threads()
    from equirl.benchmarks.bench_report import as_json, as_markdown, put_markdown, show
    from equirl.benchmarks.measurement import Skipped
    from equirl.benchmarks.suite import SIZES, SUBJECTS, run_benchmarks
    from equirl.cli.console import console
    from equirl.core.files import write_aside

    sizes = SIZES["quick" if quick else "full" if full else "standard"]
    subjects = [name.strip() for name in only.split(",")] if only is not None else list(SUBJECTS)
    screen, findings = console(), []
    for found in run_benchmarks(sizes, subjects):
        findings.append(found)
        if isinstance(found, Skipped):
            text = f"{found.name}: not measured, {found.reason}"
        else:
            text = f"{found.name}: {show(found.value, found.unit)}" + (f"  ({found.note})" if found.note else "")
        screen.print(f"{found.subject:11} {text}", soft_wrap=True)
    if json is not None:
        write_aside(json, as_json(findings, sizes).encode())
    if markdown is not None:
        put_markdown(markdown, as_markdown(findings))
