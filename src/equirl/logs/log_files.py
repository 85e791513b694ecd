"""Logs in files: CSV by compiled loops, Parquet by pyarrow; which column is which, and what its texts stand for."""

from __future__ import annotations

import ast
import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.logs.csv_columns import read_csv, read_header
from equirl.model.names import is_name, plain_name

NEEDED = ("state", "action", "reward", "next_state")
OPTIONAL = ("terminated", "weight", "time")
LOG_FILES = (".csv", ".tsv", ".parquet")


class Labels(NamedTuple):
    """A column of names: ``names[code[i]]`` stands in row i, None where nothing does."""

    code: np.ndarray  # (n,) int64
    names: list[Any]


def is_log_file(text: str) -> bool:
    """Whether a text is the name of a file that holds a log, by its ending.

    Parameters
    ----------
    text : str
        The name of a world or a file.

    Returns
    -------
    bool
    """
    return Path(text).suffix.lower() in LOG_FILES


def present(renamed: dict[str, str], names: Sequence[str], where: str) -> dict[str, str]:
    """The column of each role that is there; those renamed must be."""
    for role, name in renamed.items():
        if name not in names and (role in NEEDED or name != role):
            remedy = f"columns={{'{role}': ...}} (--column {role}=NAME) says what it is called"
            raise ValueError(f"{where} has no column {name!r}; {remedy}. Its columns: {', '.join(map(str, names))}")
    return {role: name for role, name in renamed.items() if name in names}


def read_text_file(path: str | os.PathLike[str], renamed: dict[str, str]) -> dict[str, Any]:
    """The columns of a CSV file by role: numbers as arrays, texts as :class:`Labels`."""
    header = read_header(path)
    roles = present(renamed, header.names, str(path))
    plain = {"reward", "weight"} | ({"time"} if "time" in roles and _starts_with_number(path, roles["time"]) else set())
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
    return found


def _starts_with_number(path: str | os.PathLike[str], name: str) -> bool:
    header = read_header(path)
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        lines = csv.reader(file, delimiter=header.delimiter)
        next(lines)
        first = next(lines, [])
    try:
        float(first[header.names.index(name)])
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


def read_parquet(path: str | os.PathLike[str], renamed: dict[str, str]) -> Any:
    """The columns that are wanted of a Parquet file, as a table of pyarrow."""
    try:
        import pyarrow.parquet as pq
        from pyarrow import ArrowException
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'equirl[table]'; or write the log as CSV") from None
    with open(path, "rb"):  # an error that names the file, in the words of the system
        pass
    try:
        names = pq.read_schema(path).names
    except (ArrowException, ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    columns = list(present(renamed, names, str(path)).values())
    try:
        return pq.read_table(path, columns=columns)
    except (ArrowException, ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
