"""Logs in files: CSV by compiled loops, Parquet by pyarrow; what texts stand for, and how much is read at most."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.files.archives import MOST_EXPANSION
from equirl.files.whole_files import open_file
from equirl.logs.csv_columns import read_csv
from equirl.logs.csv_header import first_row, read_header
from equirl.logs.log_roles import Origin, columns_by_role
from equirl.model.names import is_name, plain_name

LOG_FILES = (".csv", ".tsv", ".parquet")
TEXT_TYPES = ("string", "large_string")
MOST_ROWS = 20_000_000  # of any Parquet file, or one for LEAST_ROW of its bytes: counting takes some 160 for each
LEAST_ROW = 4
ALWAYS_READ = 2**30  # bytes unpacked of any Parquet file; of a large one MOST_EXPANSION times its size


class Labels(NamedTuple):
    """A column of names: ``names[code[i]]`` stands in row i, None where nothing does."""

    code: np.ndarray  # (n,) int64
    names: list[Any]


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
        found[role] = Labels(words[roles[role]].code, [text or None for text in words[roles[role]].labels])
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
        "count equal rows and give their number as the column weight, or, with the memory for it, hand over the table: "
        "from_log(pyarrow.parquet.read_table(...))"
    )
    if n_values > (most := max(MOST_ROWS, file_size // LEAST_ROW)):
        what = f"{path} has {file_size:,} bytes and {n_values:,} rows"
        raise ValueError(f"{what}; at most {most:,} are read of a file of this size: {remedy}")
    if n_bytes > (most := max(ALWAYS_READ, MOST_EXPANSION * file_size)):
        raise ValueError(
            f"{path} has {file_size:,} bytes and would unpack to {n_bytes:,}; at most {most:,} are read: {remedy}"
        )
