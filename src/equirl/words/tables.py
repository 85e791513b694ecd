"""Tidy tables: columns of equal length, with names and in the user's units; to pandas, Markdown, HTML, CSV or JSON.

A :func:`card` is what notebooks show of an object: a title, facts and tables, every text escaped.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.whole_files import write_csv
from equirl.words.checking import checked_path, unknown_name, whole_number
from equirl.words.formatting import number, printable

DIGITS = 6  # significant, in text
SHOWN = 20  # rows of a table that is merely looked at


class Table:
    """Columns of equal length by name. ``pandas.DataFrame(table.columns)`` takes it too.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns in their order; arrays become lists of plain values.
    when_empty : str
        What a table without rows says instead of its columns.

    Examples
    --------
    >>> table = Table({"state": ["off", "on"], "value": np.array([0.5, 2.0])})
    >>> len(table), table["value"]
    (2, [0.5, 2.0])
    >>> print(table.to_markdown())
    | state | value |
    |---|---:|
    | off | 0.5 |
    | on | 2 |
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | np.ndarray], when_empty: str = "") -> None:
        self.when_empty = when_empty
        self.columns: dict[str, list[Any]] = {
            name: values.tolist() if isinstance(values, np.ndarray) else list(values)
            for name, values in columns.items()
        }
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a table must be equally long, not {lengths}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> list[Any]:
        if not isinstance(name, str) or name not in self.columns:
            raise KeyError(unknown_name("column", name, self.columns))
        return self.columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, each as a dict by column."""
        for row in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, row, strict=True))

    def rows(self) -> list[dict[str, Any]]:
        """The rows, each as a dict by column: what JSON holds."""
        return list(self)

    def head(self, n: int = SHOWN) -> Table:
        """The first ``n`` rows."""
        n = whole_number("n", n, least=0)
        return Table({name: values[:n] for name, values in self.columns.items()}, self.when_empty)

    def texts(self) -> list[list[str]]:
        """The cells as text, row by row; numbers with six significant digits."""
        return [[cell_text(value) for value in row] for row in zip(*self.columns.values(), strict=True)]

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers alone, so that it is aligned right."""
        return all(isinstance(value, int | float) for value in self[name])

    def to_markdown(self) -> str:
        """The table in Markdown."""
        rule = "|".join("---:" if self.is_numeric(name) else "---" for name in self.columns)
        lines = [[name.replace("|", "\\|") for name in self.columns], *self.texts()]
        head, *body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        return "\n".join([head, f"|{rule}|", *body])

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``."""
        try:
            import pandas  # type: ignore
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.columns)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as CSV to a file, which is whole or absent."""
        return write_csv(checked_path("path", path), self.columns, list(zip(*self.columns.values(), strict=True)))

    def _repr_html_(self) -> str:
        if not len(self) and self.when_empty:
            return f"<p>{html.escape(self.when_empty)}</p>"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.head().texts()
        )
        more = f"<p>{len(self)} rows in all</p>" if len(self) > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def __repr__(self) -> str:
        if not len(self) and self.when_empty:
            return self.when_empty
        shown = self.head()
        rows = [list(self.columns), *shown.texts()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(self.columns))]
        numeric = [self.is_numeric(name) for name in self.columns]
        lines = [
            "  ".join(cell.rjust(w) if n else cell.ljust(w) for cell, w, n in zip(row, widths, numeric, strict=True))
            for row in rows
        ]
        more = [f"... {len(self)} rows in all"] if len(self) > SHOWN else []
        return "\n".join([line.rstrip() for line in lines] + more)


def cell_text(value: Any) -> str:
    """A value as it stands in a cell: numbers with six significant digits, "-" for None and NaN."""
    if value is None or value != value:
        return "-"
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return number(value, DIGITS)


def card(title: str, facts: Mapping[str, Any], tables: Mapping[str, Table] | None = None) -> str:
    """An object as HTML: its title, facts by name, and tables under their headings, each with its first rows."""
    rows = "".join(
        f"<tr><th>{_escaped(name)}</th><td>{_escaped(cell_text(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    body = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    for heading, table in (tables or {}).items():
        if len(table):
            body += f"<p>{_escaped(heading)}</p>{table._repr_html_()}"
    return f"<div><strong>{_escaped(title)}</strong>{body}</div>"


def _escaped(text: object) -> str:
    return html.escape(printable(text))
