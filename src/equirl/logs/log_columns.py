"""The columns of a log, from whatever holds it: CSV and Parquet files, data frames, dicts of columns, arrays, lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.core.checking import plain_array, real_array, several
from equirl.core.formatting import shown
from equirl.core.naming import unknown_name
from equirl.logs.log_files import LOG_FILES, NEEDED, OPTIONAL, Labels, present, read_parquet, read_text_file
from equirl.model.names import is_name, plain_name

SAID = {"0": False, "0.0": False, "false": False, "f": False, "no": False, "": False, "none": False, "nan": False}
SAID |= {"1": True, "1.0": True, "true": True, "t": True, "yes": True}


class LogColumns(NamedTuple):
    """A log by column; n rows in the order of their time."""

    states: list[Any]  # the different states by name, sorted
    actions: list[Any]  # the different actions by name, sorted
    state: np.ndarray  # (n,) int64: a place in ``states``
    action: np.ndarray  # (n,) int64: a place in ``actions``
    reward: np.ndarray  # (n,)
    successor: np.ndarray  # (n,) int64: a place in ``states``; -1 where an episode ended and none was noted
    terminated: np.ndarray  # (n,) bool
    weight: np.ndarray | None  # (n,) int64: how often the row happened


def read_log(table: Any, columns: Mapping[str, str] | None = None) -> LogColumns:
    """The columns of a log, checked and in order.

    Parameters
    ----------
    table : path, data frame, mapping of columns, structured array, or iterable of rows
        What :func:`equirl.from_log` takes.
    columns : mapping of str to str, optional
        What a column is called, where it is not called as here.

    Returns
    -------
    LogColumns
    """
    renamed = _checked_renames(columns)
    found = _from_file(table, renamed) if isinstance(table, str | os.PathLike) else _from_memory(table, renamed)
    n = len(found["reward"])
    if n == 0:
        raise ValueError("the log has no rows")
    for role, values in found.items():
        size = len(values.code) if isinstance(values, Labels) else len(values)
        if size != n:
            raise ValueError(f"the columns of the log must be equally long: {role} has {size} rows, reward {n}")
    reward, terminated = real_array("reward", found["reward"]), _flags(found.get("terminated"), n)
    if not np.isfinite(reward).all():
        k = int((~np.isfinite(reward)).argmax())
        raise ValueError(f"the reward in row {k + 1} is {reward[k]}; every row needs a finite one")
    states, state, successor = _joined(found["state"], found["next_state"], terminated)
    actions, (action,) = _numbered([found["action"]])
    _check_there("action", action)
    log = LogColumns(states, actions, state, action, reward, successor, terminated, _weights(found.get("weight")))
    return log if "time" not in found else _in_order(log, found["time"])


def _checked_renames(columns: Mapping[str, str] | None) -> dict[str, str]:
    if columns is not None and not isinstance(columns, Mapping):
        raise TypeError(f"columns must be a mapping such as {{'state': 's'}}, not {shown(columns)}")
    for role in columns or ():
        if role not in (*NEEDED, *OPTIONAL):
            raise ValueError(unknown_name("column", role, (*NEEDED, *OPTIONAL)))
    return {role: (columns or {}).get(role, role) for role in (*NEEDED, *OPTIONAL)}


def _from_file(path: str | os.PathLike[str], renamed: dict[str, str]) -> dict[str, Any]:
    suffix = Path(path).suffix.lower()
    if suffix not in LOG_FILES:
        endings = f"{', '.join(LOG_FILES[:-1])} or {LOG_FILES[-1]}"
        raise ValueError(f"the log {shown(str(path))} should end in {endings}: the ending says how")
    if suffix == ".parquet":
        return _from_memory(read_parquet(path, renamed), renamed, str(path))
    return read_text_file(path, renamed)


def _from_memory(table: Any, renamed: dict[str, str], where: str = "the log") -> dict[str, Any]:
    columns = _columns_of(table)
    roles = present(renamed, list(columns), where)
    found: dict[str, Any] = {}
    for role, name in roles.items():
        values = columns[name]
        found[role] = _labels(values, role) if role in ("state", "action", "next_state") else _flat(values, role)
    return found


def _columns_of(table: Any) -> Mapping[str, Any]:
    """Columns by name; data frames and tables are known by what they offer, not by their library."""
    if isinstance(table, Mapping):
        return table
    if isinstance(table, np.ndarray) and table.dtype.names:
        return {name: table[name] for name in table.dtype.names}
    if hasattr(table, "column_names"):  # pyarrow
        return {name: table[name].to_numpy() for name in table.column_names}
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas, polars
        return {str(name): np.asarray(table[name]) for name in table.columns}
    return _columns_of_rows(several("table", table))


def _columns_of_rows(rows: list[Any]) -> dict[str, Any]:
    roles = (*NEEDED, "terminated")
    if rows and isinstance(rows[0], Mapping):
        names = list(rows[0])
        try:
            return {name: [row[name] for row in rows] for name in names}
        except (KeyError, TypeError, IndexError):
            columns = ", ".join(map(shown, names))
            raise ValueError(f"every row of the log must have the columns of the first: {columns}") from None
    width = len(rows[0]) if rows and isinstance(rows[0], Sequence) and not isinstance(rows[0], str) else 0
    for k, row in enumerate(rows):
        if width not in (4, 5) or not isinstance(row, Sequence) or len(row) != width:
            raise ValueError(f"row {k + 1} of the log is {shown(row)}, not ({', '.join(roles[:4])}[, terminated])")
    return {name: [row[k] for row in rows] for k, name in enumerate(roles[: width or 4])}


def _labels(values: Any, role: str) -> Labels:
    """The different values of a column, numbered."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim == 2:
        different, code = np.unique(array, axis=0, return_inverse=True)
        return Labels(code.reshape(-1).astype(np.int64), [plain_name(row) for row in different])
    if array is not None and array.dtype.kind in "iub":
        different, code = np.unique(array, return_inverse=True)
        return Labels(code.astype(np.int64), [plain_name(value) for value in different])
    listed: Iterable[Any] = several(role, values if array is None else array.tolist())
    known: dict[Any, int] = {}
    codes = []
    for k, value in enumerate(listed):
        try:
            codes.append(known.setdefault(value, len(known)))
        except TypeError:  # a list or an array
            codes.append(known.setdefault(_hashable(value, role, k), len(known)))
    return Labels(np.array(codes, np.int64), [_name(value, role) for value in known])


def _hashable(value: Any, role: str, row: int) -> Any:
    name = plain_name(value)
    if not is_name(name):
        what = f"the {role} in row {row + 1} is {shown(value)}"
        raise TypeError(f"{what}; a name is a string, a number or a tuple of them")
    return name


def _name(value: Any, role: str) -> Any:
    name = plain_name(value)
    if name is None or name != name or name == "":
        return None
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    if not is_name(name):
        raise TypeError(
            f"{shown(value)} cannot be a name in the column {role}; a name is a string, a number or a tuple of them"
        )
    return name


def _flat(values: Any, role: str) -> np.ndarray:
    array = plain_array(f"the column {role}", values)
    if array.ndim != 1:
        raise ValueError(f"the column {role} has shape {array.shape}; one value per row is needed")
    return array


# --- checks


def _joined(state: Labels, successor: Labels, terminated: np.ndarray) -> tuple[list[Any], np.ndarray, np.ndarray]:
    names, (before, after) = _numbered([state, successor])
    _check_there("state", before)
    _check_there("next_state", np.where(terminated, 0, after))
    return names, before, after


def _numbered(columns: list[Labels]) -> tuple[list[Any], list[np.ndarray]]:
    """The names of all columns, sorted, and the columns by place among them; -1 where nothing stands."""
    different = {name for column in columns for name in column.names if name is not None}
    try:
        names = sorted(different, key=_in_counting_order)
    except TypeError:  # of several kinds
        names = sorted(different, key=lambda name: (type(name).__name__, str(name)))
    place = {name: k for k, name in enumerate(names)} | {None: -1}
    return names, [np.array([place[name] for name in column.names], np.int64)[column.code] for column in columns]


def _in_counting_order(name: Any) -> Any:
    """room2 before room10."""
    if not isinstance(name, str):
        return name
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)], name


def _check_there(role: str, codes: np.ndarray) -> None:
    if (codes < 0).any():
        raise ValueError(f"the {role} in row {int((codes < 0).argmax()) + 1} is missing")


def _flags(values: Any, n: int) -> np.ndarray:
    if values is None:
        return np.zeros(n, bool)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biu" and set(np.unique(values).tolist()) <= {0, 1}:
        return values.astype(bool)
    column = values if isinstance(values, Labels) else _labels(values, "terminated")
    said = [str("" if name is None else name).lower() for name in column.names]
    for word in said:
        if word not in SAID:
            raise ValueError(f"the column terminated holds {word!r}; true and false, or 1 and 0, are understood")
    return np.array([SAID[word] for word in said], bool)[column.code]


def _weights(values: Any) -> np.ndarray | None:
    if values is None:
        return None
    weight = real_array("weight", values)
    bad = np.flatnonzero(~((weight >= 0) & (weight == np.floor(weight)) & (weight < 2**53)))
    if len(bad):
        raise ValueError(
            f"the weight in row {bad[0] + 1} is {weight[bad[0]]:g}; a weight says how often the row happened: 0, 1, ..."
        )
    return weight.astype(np.int64)


def _in_order(log: LogColumns, time: Any) -> LogColumns:
    if isinstance(time, Labels):  # texts such as 2026-03-01T12:00, whose order is that of time
        _check_there("time", np.array([-1 if name is None else 0 for name in time.names], np.int64)[time.code])
        rank = np.unique(np.array([str(name) for name in time.names]), return_inverse=True)[1]
        time = rank[time.code]
    try:
        _check_there("time", np.where(time == time, 0, -1))
        if (time[1:] >= time[:-1]).all():
            return log
        order = np.argsort(time, kind="stable")
    except TypeError:
        raise TypeError(f"the column time holds what has no order: {shown(time.tolist())}") from None
    by_row = (None if array is None else array[order] for array in log[2:])
    return LogColumns(log.states, log.actions, *by_row)  # type: ignore[arg-type]
