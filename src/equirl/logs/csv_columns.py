"""Columns of a CSV file, in blocks: names numbered, numbers read. A million rows take a few tenths of a second."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from equirl.logs.csv_fields import POWERS, find_fields, number_fields, read_numbers

BLOCK = 1 << 24  # bytes read at a time
DELIMITERS = ",;\t|"


class TextColumn(NamedTuple):
    """A column of texts: ``labels[code[i]]`` stands in row i."""

    code: np.ndarray  # (n,) int64
    labels: list[str]  # different, as they first appear


class Header(NamedTuple):
    """The first line of a CSV file."""

    names: list[str]
    delimiter: str
    end: int  # the byte after it


def read_header(path: str | os.PathLike[str]) -> Header:
    """The names of the columns, and what separates them.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Header
    """
    with open(path, "rb") as file:
        line = file.readline()
    text = _decoded(line, path).removeprefix("\ufeff").strip("\r\n")
    delimiter = max(DELIMITERS, key=text.count)
    names = next(csv.reader([text], delimiter=delimiter), [])
    return Header([name.strip() for name in names], delimiter, len(line))


def read_csv(
    path: str | os.PathLike[str], header: Header, texts: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, TextColumn], dict[str, np.ndarray]]:
    """Some columns of a CSV file in UTF-8, as texts or as numbers.

    Parameters
    ----------
    path : str or path
        The file.
    header : Header
        Its first line, from :func:`read_header`.
    texts : sequence of str
        Columns of names.
    numbers : sequence of str
        Columns of numbers.

    Returns
    -------
    texts : dict of str to TextColumn
    numbers : dict of str to ndarray of float

    Raises
    ------
    ValueError
        If a line has too many or too few fields, or a number is none; the message names the line.
    """
    wanted = [*texts, *numbers]
    found: list[list[np.ndarray]] = [[] for _ in wanted]
    labels: list[dict[str, int]] = [{} for _ in texts]
    n_rows = 0
    for block in _blocks(path, header.end):
        quoted = b'"' in block
        columns = (_quoted_columns if quoted else _plain_columns)(block, header, wanted, len(texts), path, n_rows)
        for k, (values, own) in enumerate(columns):
            if own is not None:
                known = labels[k]
                values = np.array([known.setdefault(text, len(known)) for text in own] or [0], np.int64)[values]
            found[k].append(values)
        n_rows += len(found[0][-1])
    joined = [np.concatenate(parts) if parts else np.zeros(0) for parts in found]
    columns_of_texts = {
        name: TextColumn(joined[k].astype(np.int64, copy=False), list(labels[k])) for k, name in enumerate(texts)
    }
    return columns_of_texts, dict(zip(numbers, joined[len(texts) :], strict=True))


Column = tuple[np.ndarray, list[str] | None]  # numbers, or codes and what they stand for


def _blocks(path: str | os.PathLike[str], begin: int) -> Iterator[bytes]:
    """The file from a byte on, in blocks of whole lines; one with quotes comes whole, since lines may end inside."""
    with open(path, "rb") as file:
        file.seek(begin)
        while block := file.read(BLOCK):
            block += file.readline()
            if b'"' in block:
                block += file.read()
            yield block


def _plain_columns(
    block: bytes, header: Header, wanted: list[str], n_texts: int, path: str | os.PathLike[str], before: int
) -> Iterator[Column]:
    data = np.frombuffer(block, np.uint8)
    slot = np.array([wanted.index(name) if name in wanted else -1 for name in header.names], np.int64)
    n_lines = block.count(b"\n") + 1
    start, size = (np.zeros((n_lines, len(wanted)), np.int64) for _ in range(2))
    n, bad = find_fields(data, ord(header.delimiter), slot, start, size)
    if bad >= 0:
        raise ValueError(f"{path}: row {before + bad + 1} has not the {len(slot)} fields that the first line names")
    for k, name in enumerate(wanted):
        place = np.ascontiguousarray(start[:n, k]), np.ascontiguousarray(size[:n, k])
        if k < n_texts:
            yield _numbered(data, block, place, path)
        else:
            yield _numbers(data, block, place, f"{path}: column {name!r}", before), None


def _numbered(
    data: np.ndarray, block: bytes, place: tuple[np.ndarray, np.ndarray], path: str | os.PathLike[str]
) -> tuple[np.ndarray, list[str]]:
    start, size = place
    code, room, n = np.empty(len(start), np.int64), 1 << 12, -1
    while n < 0:
        table, first = np.full(room, -1, np.int64), np.empty(room, np.int64)
        n = number_fields(data, start, size, table, first, code)
        room *= 8
    spelled = [block[start[row] : start[row] + size[row]] for row in first[:n].tolist()]
    return code, [_decoded(text, path) for text in spelled]


def _numbers(
    data: np.ndarray, block: bytes, place: tuple[np.ndarray, np.ndarray], where: str, before: int
) -> np.ndarray:
    start, size = place
    out, row = np.empty(len(start)), 0
    while (row := read_numbers(data, start, size, POWERS, row, out)) < len(out):
        out[row] = _number(block[start[row] : start[row] + size[row]].decode(errors="replace"), where, before + row)
        row += 1
    return out


def _quoted_columns(
    block: bytes, header: Header, wanted: list[str], n_texts: int, path: str | os.PathLike[str], before: int
) -> Iterator[Column]:
    """The same by Python's own reader, which knows quotes."""
    lines = csv.reader(io.StringIO(_decoded(block, path), newline=""), delimiter=header.delimiter)
    rows = [line for line in lines if line and line != [""]]
    for k, row in enumerate(rows):
        if len(row) != len(header.names):
            raise ValueError(
                f"{path}: row {before + k + 1} has not the {len(header.names)} fields that the first line names"
            )
    for k, name in enumerate(wanted):
        place = header.names.index(name)
        column = [row[place].strip() for row in rows]
        if k < n_texts:
            yield number_texts(column)
        else:
            where = f"{path}: column {name!r}"
            yield np.array([_number(text, where, before + i) for i, text in enumerate(column)]), None


def number_texts(values: Iterable[str]) -> tuple[np.ndarray, list[str]]:
    """Number different texts as they first appear.

    Parameters
    ----------
    values : iterable of str
        The texts.

    Returns
    -------
    code : ndarray of int64
    labels : list of str
    """
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in values], np.int64), list(known)


def _number(text: str, where: str, row: int) -> float:
    if text == "":
        return float("nan")
    try:
        return float(text.replace("_", "?"))
    except ValueError:
        raise ValueError(f"{where} holds {text!r} in row {row + 1}, not a number") from None


def _decoded(text: bytes, path: str | os.PathLike[str]) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{Path(path)} is not text in UTF-8: {error}") from None
