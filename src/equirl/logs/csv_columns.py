"""Columns of a CSV file, in blocks: names numbered, numbers read. A million rows take a few tenths of a second."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from equirl.files.whole_files import open_file
from equirl.logs.csv_fields import POWERS, find_fields, number_fields, read_numbers
from equirl.logs.csv_header import BLANKS, LONGEST_LINE, Header, check_zeros, decoded, is_blank
from equirl.words.formatting import shown

BLOCK = 1 << 24  # bytes read at a time
BATCH = 100_000  # rows at a time, where there are quotes


class TextColumn(NamedTuple):
    """A column of texts: ``labels[code[i]]`` stands in row i."""

    code: np.ndarray  # (n,) int64
    labels: list[str]  # different, as they first appear


def read_csv(
    path: str | os.PathLike[str], header: Header, texts: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, TextColumn], dict[str, np.ndarray]]:
    """Some columns of a CSV file in UTF-8, as texts or as numbers."""
    wanted = [*texts, *numbers]
    found: list[list[np.ndarray]] = [[] for _ in wanted]
    labels: list[dict[str, int]] = [{} for _ in texts]
    for columns in _parts(path, header, wanted, len(texts)):
        for k, (values, own) in enumerate(columns):
            if own is not None:
                known = labels[k]
                values = np.array([known.setdefault(text, len(known)) for text in own] or [0], np.int64)[values]
            found[k].append(values)
    joined = [np.concatenate(parts) if parts else np.zeros(0) for parts in found]
    columns_of_texts = {
        name: TextColumn(joined[k].astype(np.int64, copy=False), list(labels[k])) for k, name in enumerate(texts)
    }
    return columns_of_texts, dict(zip(numbers, joined[len(texts) :], strict=True))


Column = tuple[np.ndarray, list[str] | None]  # numbers, or codes and what they stand for


def _parts(path: str | os.PathLike[str], header: Header, wanted: list[str], n_texts: int) -> Iterator[list[Column]]:
    """The columns, some rows at a time: blocks of lines; from the first with quotes on, as Python's reader has them."""
    n_rows = 0
    with open_file(path) as file:
        file.seek(header.end)
        while block := file.read(BLOCK):
            block += _rest_of_line(file, header.mark, path)
            check_zeros(block, path, file.tell() - len(block))
            if b'"' in block:
                file.seek(-len(block), os.SEEK_CUR)
                break
            if header.mark == b"\r":
                block = block.replace(b"\r", b"\n")
            columns = list(_plain_columns(block, header, wanted, n_texts, path, n_rows))
            n_rows += len(columns[0][0])
            yield columns
        else:
            return
        rows = _quoted_rows(file, header, path, n_rows)
        while batch := list(islice(rows, BATCH)):
            yield list(_quoted_columns(batch, header, wanted, n_texts, path, n_rows))
            n_rows += len(batch)


def _rest_of_line(file: BinaryIO, mark: bytes, path: str | os.PathLike[str]) -> bytes:
    """What follows up to the end of the line."""
    if mark == b"\n":
        rest = file.readline(LONGEST_LINE)
    else:
        rest = file.read(LONGEST_LINE)
        end = rest.find(mark) + 1 or len(rest)
        file.seek(end - len(rest), os.SEEK_CUR)
        rest = rest[:end]
    if len(rest) == LONGEST_LINE and not rest.endswith(mark):
        raise ValueError(f"{path}: a line is longer than {LONGEST_LINE:,} bytes, near byte {file.tell():,}")
    return rest


def _plain_columns(
    block: bytes, header: Header, wanted: list[str], n_texts: int, path: str | os.PathLike[str], before: int
) -> Iterator[Column]:
    data = np.frombuffer(block, np.uint8)
    slot = np.array([wanted.index(name) if name in wanted else -1 for name in header.names], np.int64)
    n_lines = block.count(b"\n") + 1
    start, size = (np.zeros((n_lines, len(wanted)), np.int64) for _ in range(2))
    n, bad = find_fields(data, ord(header.delimiter), slot, start, size)
    if bad >= 0:
        raise _wrong_width(path, before + bad + 1, len(slot))
    for k, name in enumerate(wanted):
        at = wanted.index(name)  # a column may have two roles
        place = np.ascontiguousarray(start[:n, at]), np.ascontiguousarray(size[:n, at])
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
    return code, [decoded(text, path) for text in spelled]


def _numbers(
    data: np.ndarray, block: bytes, place: tuple[np.ndarray, np.ndarray], where: str, before: int
) -> np.ndarray:
    start, size = place
    out, row = np.empty(len(start)), 0
    while (row := read_numbers(data, start, size, POWERS, row, out)) < len(out):
        out[row] = _number(block[start[row] : start[row] + size[row]].decode(errors="replace"), where, before + row)
        row += 1
    return out


def _quoted_rows(file: BinaryIO, header: Header, path: str | os.PathLike[str], before: int) -> Iterator[list[str]]:
    """The rows from where the file stands, by Python's own reader, which knows quotes."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    lines = csv.reader(_short_lines(text, path), delimiter=header.delimiter, strict=True)
    n = before
    try:
        for row in lines:
            if is_blank(row):
                continue
            n += 1
            if len(row) != len(header.names):
                raise _wrong_width(path, n, len(header.names))
            yield row
    except csv.Error as error:
        raise ValueError(f"{path}: row {n + 1} cannot be read ({error}); is a quote not closed?") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{Path(path)} is not text in UTF-8: {error}") from None
    finally:
        text.detach()


def _short_lines(text: io.TextIOWrapper, path: str | os.PathLike[str]) -> Iterator[str]:
    while line := text.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(("\r", "\n")):
            raise ValueError(f"{path}: a line is longer than {LONGEST_LINE:,} characters")
        if "\0" in line:
            raise ValueError(f"{path} holds a zero byte, which no CSV file does; was it not wholly written?")
        yield line


def _quoted_columns(
    rows: list[list[str]],
    header: Header,
    wanted: list[str],
    n_texts: int,
    path: str | os.PathLike[str],
    before: int,
) -> Iterator[Column]:
    for k, name in enumerate(wanted):
        place = header.names.index(name)
        column = [row[place].strip(BLANKS) for row in rows]
        if k < n_texts:
            yield number_texts(column)
        else:
            where = f"{path}: column {name!r}"
            yield np.array([_number(text, where, before + i) for i, text in enumerate(column)]), None


def _wrong_width(path: str | os.PathLike[str], row: int, n_fields: int) -> ValueError:
    return ValueError(f"{path}: row {row} has not the {n_fields} fields that the first line names")


def number_texts(values: Iterable[str]) -> tuple[np.ndarray, list[str]]:
    """Number different texts as they first appear."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in values], np.int64), list(known)


def _number(text: str, where: str, row: int) -> float:
    if text == "":
        return float("nan")
    try:
        return float(text.replace("_", "?"))
    except ValueError:
        raise ValueError(f"{where} holds {shown(text)} in row {row + 1}, not a number") from None
