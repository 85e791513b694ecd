"""The columns of a log, from whatever holds it: files, data frames, dicts of columns, arrays, lists, Minari's sets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.interop.encoder import Encoder, batch_entry
from equirl.logs.csv_columns import Labels
from equirl.logs.log_files import (
    IN_MEMORY,
    LOG_FILES,
    NEEDED,
    OPTIONAL,
    Origin,
    columns_by_role,
    read_parquet,
    read_text_file,
)
from equirl.model.pairs import is_name, plain_name
from equirl.words.checking import plain_array, real_array, several, unknown_name
from equirl.words.formatting import shown

FLAG_WORDS = {"0": False, "0.0": False, "false": False, "f": False, "no": False, "": False, "none": False, "nan": False}
FLAG_WORDS |= {"1": True, "1.0": True, "true": True, "t": True, "yes": True}
NAMED = ("state", "action", "next_state")
BY_ROW = ("state", "action", "reward", "successor", "terminated", "weight")
LARGEST_REWARD = 1e300  # either way: differences and discounted sums of larger ones overflow
MOST_STEPS = 2**53  # that weights may add up to
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


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
    origin: Origin


def read_log(table: Any, columns: Mapping[str, str] | None = None, encoder: Encoder | None = None) -> LogColumns:
    renamed = _checked_renames(columns)
    if is_minari(table):
        table = minari_columns(table, encoder)
    elif encoder is not None:
        raise TypeError("encoder goes with a data set of Minari's; the states of other logs are names as they stand")
    read = _from_file if isinstance(table, str | os.PathLike) else _from_memory
    found, origin = read(table, renamed)
    n = len(found["reward"])
    if n == 0:
        raise ValueError(f"{origin.where} has no rows; it should hold one for each step")
    for role, values in found.items():
        size = len(values.code) if isinstance(values, Labels) else len(values)
        if size != n:
            raise ValueError(f"the columns of the log must be equally long: {role} has {size} rows, reward {n}")
    reward, terminated = _rewards(found["reward"], origin), _flags(found.get("terminated"), n, origin)
    _check_spellings("state", {role: found[role] for role in ("state", "next_state")}, origin)
    _check_spellings("action", {"action": found["action"]}, origin)
    states, (state, successor) = _numbered([found["state"], found["next_state"]])
    actions, (action,) = _numbered([found["action"]])
    _check_there("state", state, origin)
    _check_there("next_state", np.where(terminated, 0, successor), origin)
    _check_there("action", action, origin)
    weight = _weights(found.get("weight"), origin)
    log = LogColumns(states, actions, state, action, reward, successor, terminated, weight, origin)
    return log if "time" not in found else _in_order(log, found["time"])


def _checked_renames(columns: Mapping[str, str] | None) -> dict[str, str]:
    if columns is not None and not isinstance(columns, Mapping):
        raise TypeError(f"columns must be a mapping such as {{'state': 's'}}, not {shown(columns)}")
    for role in columns or ():
        if role not in (*NEEDED, *OPTIONAL):
            raise ValueError(unknown_name("column", role, (*NEEDED, *OPTIONAL)))
    return {role: (columns or {}).get(role, role) for role in (*NEEDED, *OPTIONAL)}


def _from_file(path: str | os.PathLike[str], renamed: dict[str, str]) -> tuple[dict[str, Any], Origin]:
    suffix = Path(path).suffix.lower()
    if suffix not in LOG_FILES:
        endings = f"{', '.join(LOG_FILES[:-1])} or {LOG_FILES[-1]}"
        raise ValueError(f"the log {shown(str(path))} should end in {endings}: the ending says how")
    if suffix == ".parquet":
        table, origin = read_parquet(path, renamed)
        return _by_role(table.__getitem__, origin), origin
    return read_text_file(path, renamed)


def _from_memory(table: Any, renamed: dict[str, str]) -> tuple[dict[str, Any], Origin]:
    names, column = _columns_of(table)
    origin = Origin(IN_MEMORY, columns_by_role(renamed, names, IN_MEMORY))
    return _by_role(column, origin), origin


def _by_role(column: Callable[[str], Any], origin: Origin) -> dict[str, Any]:
    return {
        role: _labels(column(name), role, origin) if role in NAMED else _flat(_plain(column(name)), role)
        for role, name in origin.columns.items()
    }


def _columns_of(table: Any) -> tuple[list[str], Callable[[str], Any]]:
    """The names of columns and how to get one; data frames are known by what they offer, not by their library."""
    if isinstance(table, Mapping):
        return list(table), table.__getitem__
    if isinstance(table, np.ndarray) and table.dtype.names:
        return list(table.dtype.names), table.__getitem__
    if hasattr(table, "column_names"):  # pyarrow
        return list(table.column_names), table.__getitem__
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas, polars
        own = {str(name): name for name in table.columns}
        return [str(name) for name in table.columns], lambda name: np.asarray(table[own[name]])
    rows = _columns_of_rows(several("table", table))
    return list(rows), rows.__getitem__


def one_column(table: Any, name: str) -> list[Any]:
    """The values of a column of a table, or of what is one column itself."""
    named = isinstance(table, Mapping) or hasattr(table, "columns") or hasattr(table, "column_names")
    if named or getattr(table, "ndim", 1) == 2:
        names, column = _columns_of(table) if not isinstance(table, np.ndarray) else ([], table.__getitem__)
        if name not in names:
            raise ValueError(unknown_name("column", name, names))
        table = _plain(column(name))
    return [plain_name(value) for value in several("states", table)]


def _plain(values: Any) -> Any:
    """A column of pyarrow as an array; another as it is."""
    return values.to_numpy() if hasattr(values, "combine_chunks") else values


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


def _labels(values: Any, role: str, origin: Origin) -> Labels:
    if hasattr(values, "unify_dictionaries") and str(values.type).startswith(("string", "large_string", "dictionary")):
        return _numbered_texts(values, role, origin)
    values = _plain(values)
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
            codes.append(known.setdefault(_hashable(value, role, k, origin), len(known)))
    return Labels(np.array(codes, np.int64), [_name(value, role, origin) for value in known])


def _numbered_texts(values: Any, role: str, origin: Origin) -> Labels:
    """A column of texts of pyarrow, which numbers them itself: each is held once, however many rows repeat it."""
    whole = values.dictionary_encode().unify_dictionaries().combine_chunks()
    if not len(whole):
        return Labels(np.zeros(0, np.int64), [])
    places = whole.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    used, code = np.unique(places, return_inverse=True)
    gaps = [None] if used[0] < 0 else []
    texts = [*gaps, *whole.dictionary.take(used[len(gaps) :]).to_pylist()]
    return Labels(code.astype(np.int64), [_name(text, role, origin) for text in texts])


def _hashable(value: Any, role: str, row: int, origin: Origin) -> Any:
    name = plain_name(value)
    if not is_name(name):
        raise TypeError(f"{origin.cell(role, row)} is {shown(value)}; a name is a string, a number or a tuple of them")
    return name


def _name(value: Any, role: str, origin: Origin) -> Any:
    name = plain_name(value)
    if _is_missing(name):
        return None
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    if not is_name(name):
        what = f"{origin.prefix}{shown(value)} cannot be a name in the column {role}"
        raise TypeError(f"{what}; a name is a string, a number or a tuple of them")
    return name


def _is_missing(name: Any) -> bool:
    try:
        return name is None or bool(name != name) or name == ""
    except TypeError:  # the missing value of pandas, which is not even unequal to itself
        return True


def _flat(values: Any, role: str) -> np.ndarray:
    array = plain_array(f"the column {role}", values)
    if array.ndim != 1:
        raise ValueError(f"the column {role} has shape {array.shape}; one value per row is needed")
    return array


# --- checks


def _rewards(values: Any, origin: Origin) -> np.ndarray:
    reward = _numbers("reward", values, origin)
    if reward.min() >= -LARGEST_REWARD and reward.max() <= LARGEST_REWARD:  # NaN is not
        return reward
    k = int((~(np.abs(reward) <= LARGEST_REWARD)).argmax())
    what = f"{origin.cell('reward', k)} is {reward[k]:g}"
    if not np.isfinite(reward[k]):
        raise ValueError(f"{what}; every row needs a finite one")
    raise ValueError(f"{what}; sums overflow beyond {LARGEST_REWARD:g}: give rewards in a larger unit")


def _numbers(role: str, values: Any, origin: Origin) -> np.ndarray:
    try:
        return real_array(role, values)
    except TypeError:
        for k, value in enumerate(values.tolist()):
            try:
                float(value.real if isinstance(value, complex) and value.imag == 0 else value)
            except (TypeError, ValueError, OverflowError):
                raise TypeError(f"{origin.cell(role, k)} is {shown(value)}, not a number") from None
        raise


def _check_spellings(kind: str, columns: Mapping[str, Labels], origin: Origin) -> None:
    """An error that names both cells where two names are equal as numbers and different as they are written."""
    if not any(isinstance(name, str) for column in columns.values() for name in column.names):
        return  # numbers that are equal are one name
    known: dict[Any, tuple[Any, str, int]] = {}
    for role, column in columns.items():
        for k, name in enumerate(column.names):
            value = _value(name)
            if value is None:
                continue
            other, its_role, place = known.setdefault(value, (name, role, k))
            if other != name:
                one = _first_cell(its_role, columns[its_role], place, origin)
                two = _first_cell(role, column, k, origin).removeprefix(origin.prefix)
                raise ValueError(
                    f"{one} is {shown(other)} and {two} "
                    f"is {shown(name)}: one number written in two ways, which would be two {kind}s. Write it in one "
                    "way (whole numbers become 1.0 where a column of floats holds gaps); where they are two, let them "
                    "differ by more, such as id-01"
                )


def _value(name: Any) -> Any:
    """The number that a name is or spells, to be looked up exactly; None where it is none."""
    if isinstance(name, int | float):
        return name
    if not isinstance(name, str) or not _NUMBER.fullmatch(name):
        return None
    try:
        return Decimal(name)
    except InvalidOperation:  # an exponent beyond all
        return None


def _first_cell(role: str, column: Labels, place: int, origin: Origin) -> str:
    return origin.cell(role, int((column.code == place).argmax()))


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


def _check_there(role: str, codes: np.ndarray, origin: Origin) -> None:
    if (codes < 0).any():
        raise ValueError(f"{origin.cell(role, int((codes < 0).argmax()))} is missing")


def _flags(values: Any, n: int, origin: Origin) -> np.ndarray:
    if values is None:
        return np.zeros(n, bool)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biu" and set(np.unique(values).tolist()) <= {0, 1}:
        return values.astype(bool)
    column = values if isinstance(values, Labels) else _labels(values, "terminated", origin)
    words = [str("" if name is None else name).lower() for name in column.names]
    for k, word in enumerate(words):
        if word not in FLAG_WORDS:
            row = origin.row(int((column.code == k).argmax()))
            where = f"{origin.prefix}the column terminated holds {shown(word)} in row {row}"
            raise ValueError(f"{where}; true and false, or 1 and 0, are understood")
    return np.array([FLAG_WORDS[word] for word in words], bool)[column.code]


def _weights(values: Any, origin: Origin) -> np.ndarray | None:
    if values is None:
        return None
    weight = _numbers("weight", values, origin)
    bad = np.flatnonzero(~((weight >= 0) & (weight == np.floor(weight)) & (weight < MOST_STEPS)))
    if len(bad):
        what = f"{origin.cell('weight', int(bad[0]))} is {weight[bad[0]]:g}"
        raise ValueError(f"{what}; a weight says how often the row happened: 0, 1, ...")
    if weight.sum() >= MOST_STEPS:
        raise ValueError(f"{origin.prefix}the weights add up to {weight.sum():g}; fewer than 2^53 steps are counted")
    return weight.astype(np.int64)


def _in_order(log: LogColumns, time: Any) -> LogColumns:
    if isinstance(time, Labels):  # texts such as 2026-03-01T12:00, whose order is that of time
        there = np.array([-1 if name is None else 0 for name in time.names], np.int64)[time.code]
        _check_there("time", there, log.origin)
        rank = np.unique(np.array([str(name) for name in time.names]), return_inverse=True)[1]
        time = rank[time.code]
    try:
        _check_there("time", np.where(time == time, 0, -1), log.origin)
        if (time[1:] >= time[:-1]).all():
            return log
        order = np.argsort(time, kind="stable")
    except TypeError:
        raise TypeError(f"the column time holds what has no order: {shown(time.tolist())}") from None
    by_row = {name: array[order] for name in BY_ROW if (array := getattr(log, name)) is not None}
    return log._replace(**by_row, origin=log.origin._replace(order=order))


def is_minari(table: Any) -> bool:
    """Whether it is a data set of Minari's, by what it offers."""
    return hasattr(table, "iterate_episodes") and hasattr(table, "observation_space")


def minari_columns(dataset: Any, encoder: Encoder | None) -> dict[str, list[Any]]:
    """The columns of a log. Observations that no finite space describes need an encoder."""
    states = Encoder(dataset.observation_space) if encoder is None else encoder
    actions = Encoder(dataset.action_space)
    columns: dict[str, list[Any]] = {role: [] for role in ("state", "action", "reward", "next_state", "terminated")}
    for episode in dataset.iterate_episodes():
        n = len(episode.rewards)
        seen = _by_name(states, episode.observations, n + 1)
        columns["state"] += seen[:-1]
        columns["next_state"] += seen[1:]
        columns["action"] += _by_name(actions, episode.actions, n)
        columns["reward"] += np.asarray(episode.rewards, float).tolist()
        columns["terminated"] += np.asarray(episode.terminations, bool).tolist()
    return columns


def _by_name(encoder: Encoder, values: Any, n: int) -> list[Any]:
    """Values of an episode by name, or by number where they are numbers."""
    numbers = [encoder.encode(batch_entry(values, i)) for i in range(n)]
    names = encoder.names
    return numbers if names is None else [names[k] for k in numbers]
