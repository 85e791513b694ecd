"""What a yardstick is, and the words and results that are stored beside it, in NAME.md and NAME.csv."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from equirl.words.formatting import parse_value
from equirl.words.tables import Table

_PLACE = resources.files("equirl.lab.yardsticks")


@dataclass(frozen=True)
class Yardstick:
    """Published numbers with ours beside them: one section of the page, its words and its tables."""

    tables: Callable[[Table], str]  # Markdown from what is stored
    measure: Callable[[Path], Table]  # what is stored anew, minutes or hours; runs are kept in the folder and resumed


def stored_table(name: str, folder: Path | None = None) -> Table:
    """The stored results of a yardstick, in this package or in another folder; an empty cell is None."""
    text = (_PLACE if folder is None else folder).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    cells = [[parse_value(cell) if cell else None for cell in row] for row in rows]
    return Table({name: [row[k] for row in cells] for k, name in enumerate(header)})


def stored_words(name: str) -> str:
    """The words of a section, with its title: source, protocol, what differs, what is open."""
    return _PLACE.joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
