"""How commands speak: facts and tables with Rich, or JSON for other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def console() -> Console:
    """The terminal, with text taken as it is: brackets in a name are no markup."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)


def print_facts(title: str, facts: Mapping[str, str]) -> None:
    """A title and aligned lines ``name value``."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, value)
    console().print(title, style="bold")
    console().print(table)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table with a heading; columns whose heading ends in ``#`` hold numbers and are aligned right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in columns:
        numeric = heading.endswith("#")
        table.add_column(heading.rstrip("#"), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_json(data: Any) -> None:
    """JSON on stdout; numbers that JSON does not have (infinite, NaN) become null."""
    typer.echo(json.dumps(_finite(data), ensure_ascii=False))


def number(value: float) -> str:
    """A number for people.

    >>> number(0.25), number(math.inf)
    ('0.25', 'infinite')
    """
    return "infinite" if math.isinf(value) else f"{value:.6g}"


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
