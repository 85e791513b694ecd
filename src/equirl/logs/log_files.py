"""Logs in files, CSV or Parquet: which column is which, what texts stand for, and how much is read at most."""

from __future__ import annotations

import ast
import difflib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.files.archives import MOST_EXPANSION
from equirl.files.whole_files import open_file
from equirl.logs.csv_columns import Labels, first_row, read_csv, read_header
from equirl.model.pairs import is_name, plain_name
from equirl.words.formatting import shown

NEEDED = ("state", "action", "reward", "next_state")
OPTIONAL = ("terminated", "weight", "time")
IN_MEMORY = "the log"
LOG_FILES = (".csv", ".tsv", ".parquet")
TEXT_TYPES = ("string", "large_string")
MOST_ROWS = 20_000_000  # of any Parquet file, or one for LEAST_ROW of its bytes: counting takes some 160 for each
LEAST_ROW = 4
ALWAYS_READ = 2**30  # bytes unpacked of any Parquet file; of a large one MOST_EXPANSION times its size


class Origin(NamedTuple):
    """Where the rows of a log come from."""

    where: str  # the file; what is in memory is just "the log"
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
    """What to do about a missing column: the nearest that has no role and is nearer to no other one missing."""
    free = [str(name) for name in names if name not in renamed.values()]
    missing = [role, *(other for other in NEEDED if other != role and renamed[other] not in names)]
    mine = {name: _alike(renamed[role], name) for name in free}
    near = [name for name in free if mine[name] >= max(0.5, *(_alike(renamed[other], name) for other in missing))]
    if not near:
        return f"columns={{'{role}': ...}} (--column {role}=NAME) says what it is called"
    name = max(near, key=lambda name: mine[name])
    said = f"columns={{{role!r}: {name!r}}} (--column {shlex.quote(f'{role}={name}')}) says so"
    return f"did you mean its column {name!r}? Then {said}"


def _alike(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1, capital letters aside."""
    return difflib.SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


def is_log_file(text: str) -> bool:
    """Whether a text is the name of a file that holds a log, by its ending."""
    return Path(text).suffix.lower() in LOG_FILES


def read_text_file(path: str | os.PathLike[str], renamed: dict[str, str]) -> tuple[dict[str, Any], Origin]:
    """The columns of a CSV file by role: numbers as arrays, texts as :class:`Labels`."""
    header = read_header(path)
    roles = columns_by_role(renamed, header.names, str(path))
    timed = "time" in roles and _is_number(first_row(path, header), header.names.index(roles["time"]))
    plain = {"reward", "weight"} | ({"time"} if timed else set())
    texts = [role for role in roles if role not in plain]
    numbers = [role for role in roles if role in plain]
    words, values = read_csv(path, header, [roles[role] for role in texts], [roles[role] for role in numbers])
    found: dict[str, Any] = {role: values[roles[role]] for role in numbers}
    for role in texts:
        found[role] = Labels(words[roles[role]].code, [text or None for text in words[roles[role]].names])
    of_states = [found["state"], found["next_state"]]
    typed = _typed([name for column in of_states for name in column.names])
    found["state"], found["next_state"] = (_retyped(column, typed) for column in of_states)
    found["action"] = _retyped(found["action"], _typed(found["action"].names))
    return found, Origin(str(path), roles)


def _is_number(row: list[str], place: int) -> bool:
    try:
        float(row[place])
    except (ValueError, IndexError):
        return False
    return True


def _typed(texts: list[str | None]) -> dict[str, Any]:
    """What texts of a file stand for: integers or tuples where all of them are, otherwise themselves."""
    there = [text for text in texts if text is not None]
    if all(text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() for text in there) and all(
        str(int(text)) == text for text in there
    ):
        return {text: int(text) for text in there}
    if all(text.startswith("(") and text.endswith(")") for text in there):
        try:
            names = {text: plain_name(ast.literal_eval(text)) for text in there}
        except (ValueError, SyntaxError):
            return dict(zip(there, there, strict=True))
        if all(isinstance(name, tuple) and is_name(name) for name in names.values()):
            return dict(names)
    return dict(zip(there, there, strict=True))


def _retyped(column: Labels, typed: dict[str, Any]) -> Labels:
    return Labels(column.code, [None if name is None else typed[name] for name in column.names])


def read_parquet(path: str | os.PathLike[str], renamed: dict[str, str]) -> tuple[Any, Origin]:
    """The columns that are wanted of a Parquet file, as a table of pyarrow; texts stay numbered, as the file has them.

    What the file says of its sizes is looked at first: a few bytes may stand for any number of rows.
    """
    try:
        import pyarrow.parquet as pq
        from pyarrow import ArrowException
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'equirl[table]'; or write the log as CSV") from None
    with open_file(path) as handle:
        try:
            file = pq.ParquetFile(handle)
            names, kinds, size = file.schema_arrow.names, file.schema_arrow.types, os.fstat(handle.fileno()).st_size
        except (ArrowException, ValueError, OSError) as error:
            raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
        roles = columns_by_role(renamed, names, str(path))
        wanted = list(dict.fromkeys(roles.values()))
        try:
            _check_size(str(path), file.metadata, wanted, size)
            texts = [
                name for name, kind in zip(names, kinds, strict=True) if name in wanted and str(kind) in TEXT_TYPES
            ]
            table = pq.ParquetFile(handle, read_dictionary=texts).read(columns=wanted)
        except (ArrowException, OSError) as error:
            raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    return table, Origin(str(path), roles)


def _check_size(path: str, metadata: Any, wanted: list[str], file_size: int) -> None:
    n_values, n_bytes = metadata.num_rows, 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if any(chunk.path_in_schema == name or chunk.path_in_schema.startswith(f"{name}.") for name in wanted):
                n_values, n_bytes = max(n_values, chunk.num_values), n_bytes + chunk.total_uncompressed_size
    remedy = (
        "count equal rows and give their number as the column weight, or, with memory for it, give the table itself: "
        "from_log(pyarrow.parquet.read_table(...))"
    )
    if n_values > (most := max(MOST_ROWS, file_size // LEAST_ROW)):
        what = f"{path} has {file_size:,} bytes and {n_values:,} rows"
        raise ValueError(f"{what}; at most {most:,} are read of a file of this size: {remedy}")
    if n_bytes > (most := max(ALWAYS_READ, MOST_EXPANSION * file_size)):
        raise ValueError(
            f"{path} has {file_size:,} bytes and would unpack to {n_bytes:,}; at most {most:,} are read: {remedy}"
        )
