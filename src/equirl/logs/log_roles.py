"""Which column of a log is which, and how its cells are named in messages: by file, row and column."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equirl.words.formatting import shown

NEEDED = ("state", "action", "reward", "next_state")
OPTIONAL = ("terminated", "weight", "time")
IN_MEMORY = "the log"


class Origin(NamedTuple):
    """Where the rows of a log come from."""

    where: str  # the file; what was handed over in memory is just "the log"
    columns: dict[str, str]  # by role: what its column is called
    order: np.ndarray | None = None  # (n,) int64: the row there of each row here, where they were put in order

    def cell(self, role: str, row: int) -> str:
        """A cell in words, such as ``log.csv: the reward (column 'r') in row 3``."""
        name = self.columns.get(role, role)
        return f"{self.prefix}the {role}{'' if name == role else f' (column {shown(name)})'} in row {self.row(row)}"

    def row(self, row: int) -> int:
        """The number of a row where it comes from, from 1 on; lines with names and empty lines are not counted."""
        return 1 + (row if self.order is None else int(self.order[row]))

    @property
    def prefix(self) -> str:
        """The file before a message."""
        return "" if self.where == IN_MEMORY else f"{self.where}: "


def columns_by_role(renamed: dict[str, str], names: Sequence[str], where: str) -> dict[str, str]:
    """The column of each role that is there; needed ones and those renamed must be, and only once."""
    for role, name in renamed.items():
        if name not in names and (role in NEEDED or name != role):
            listed = ", ".join(map(str, names)) or "none"
            raise ValueError(f"{where} has no column {name!r}; {_remedy(role, renamed, names)}. Its columns: {listed}")
        places = [str(k + 1) for k, there in enumerate(names) if there == name]
        if len(places) > 1:
            listed = f"{', '.join(places[:-1])} and {places[-1]}"
            raise ValueError(f"{where}: the columns {listed} have one name, {name!r}; rename all but one of them")
    return {role: name for role, name in renamed.items() if name in names}


def _remedy(role: str, renamed: dict[str, str], names: Sequence[str]) -> str:
    """What to do about a missing column: the nearest one that has no role yet, or how to say which it is."""
    free = [str(name) for name in names if name not in renamed.values()]
    near = difflib.get_close_matches(renamed[role], free, n=1, cutoff=0.5)
    if not near:
        return f"columns={{'{role}': ...}} (--column {role}=NAME) says what it is called"
    said = f"columns={{{role!r}: {near[0]!r}}} (--column {role}={near[0]}) says so"
    return f"did you mean its column {near[0]!r}? Then {said}"
