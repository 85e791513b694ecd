"""Columns of a CSV file: its kind and first line, then blocks of lines in which names are numbered and numbers read.

A million rows take a quarter of a second. By hand on purpose: Python's ``csv`` takes eight times as long, and reads
only files with quotes here; ``pyarrow``, an extra, is as fast and does not name the row of a mistake.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from equirl.files.whole_files import open_file
from equirl.numerics.compiling import lean_kernel
from equirl.words.formatting import shown

BLOCK = 1 << 24  # bytes read at a time
BATCH = 100_000  # rows at a time, where there are quotes
LONGEST_LINE = 1 << 20  # bytes of the first line, and of one that is not read in a block
DELIMITERS = ",;\t|"
BLANKS = " \t\r\n"  # around a field
FOREIGN = {
    b"\xff\xfe": ("text in UTF-16 or UTF-32", "save it as UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it as UTF-8"),
    b"\x1f\x8b": ("compressed by gzip", "unpack it first"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "unpack it first"),
    b"PK\x03\x04": ("a zip archive or a spreadsheet", "unpack it, or save it as CSV"),
    b"\xd0\xcf\x11\xe0": ("a spreadsheet", "save it as CSV"),
    b"PAR1": ("a Parquet file", "its name should end in .parquet"),
}
NEWLINE, RETURN, SPACE, TAB = 10, 13, 32, 9
EXACT_DIGITS, EXACT_POWER = 15, 22  # integers below 10^15 and powers up to 10^22 are exact, so is one operation on them
POWERS = 10.0 ** np.arange(EXACT_POWER + 1)


class Labels(NamedTuple):
    """A column of names: ``names[code[i]]`` stands in row i, None where nothing does."""

    code: np.ndarray  # (n,) int64
    names: list[Any]  # different, as they first appear


class CsvHeader(NamedTuple):
    names: list[str]
    delimiter: str
    end: int  # the byte after it
    mark: bytes = b"\n"  # with which lines end: a newline, as in "\r\n" too, or "\r" alone


def read_header(path: str | os.PathLike[str]) -> CsvHeader:
    with open_file(path) as file:
        start = file.read(LONGEST_LINE)
    _check_kind(start, path)
    mark = _line_end(start)
    line = start[: start.find(mark) + 1] or start
    if mark not in line and len(line) == LONGEST_LINE:
        raise ValueError(f"{path}: the first line is longer than {LONGEST_LINE:,} bytes; it should name the columns")
    text = _decoded(line, path).removeprefix("\ufeff").strip("\r\n")
    delimiter = max(DELIMITERS, key=text.count)
    try:
        names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{path}: the first line, which should name the columns, cannot be read: {error}") from None
    return CsvHeader([name.strip() for name in names], delimiter, len(line), mark)


def _check_kind(start: bytes, path: str | os.PathLike[str]) -> None:
    for mark, (kind, remedy) in FOREIGN.items():
        if start.startswith(mark):
            raise ValueError(f"{path} is {kind}, not CSV; {remedy}")
    _check_zeros(start, path, 0)
    if not start.removeprefix(b"\xef\xbb\xbf").strip():
        raise ValueError(f"{path} is empty; a log begins with a line of names: state,action,reward,next_state")


def _check_zeros(content: bytes, path: str | os.PathLike[str], begin: int) -> None:
    """An error where there is a zero byte among those from ``begin`` on."""
    if (place := content.find(0)) >= 0:
        raise ValueError(
            f"{path} holds a zero byte (byte {begin + place + 1:,}), which no CSV file in UTF-8 does; is it text in "
            "UTF-16, or was it not wholly written?"
        )


def _line_end(start: bytes) -> bytes:
    """The mark that ends the first line; a return before a newline belongs to it."""
    at = start.find(b"\r")
    before = at >= 0 and b"\n" not in start[: at + 2]
    return b"\r" if before else b"\n"


def first_row(path: str | os.PathLike[str], header: CsvHeader) -> list[str]:
    """The fields of the first line below the names, as far as they can be read."""
    with open_file(path) as file:
        file.seek(header.end)
        start = file.read(LONGEST_LINE).decode(errors="replace")
    with suppress(csv.Error):
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=header.delimiter)
        return next((row for row in rows if not _is_blank(row)), [])
    return []


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip(BLANKS))


def _decoded(text: bytes, path: str | os.PathLike[str]) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{Path(path)} is not text in UTF-8: {error}") from None


def read_csv(
    path: str | os.PathLike[str], header: CsvHeader, texts: Sequence[str], numbers: Sequence[str]
) -> tuple[dict[str, Labels], dict[str, np.ndarray]]:
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
        name: Labels(joined[k].astype(np.int64, copy=False), list(labels[k])) for k, name in enumerate(texts)
    }
    return columns_of_texts, dict(zip(numbers, joined[len(texts) :], strict=True))


Column = tuple[np.ndarray, list[str] | None]  # numbers, or codes and what they stand for


def _parts(path: str | os.PathLike[str], header: CsvHeader, wanted: list[str], n_texts: int) -> Iterator[list[Column]]:
    """The columns, some rows at a time: blocks of lines; from the first with quotes on, as Python's reader has them."""
    n_rows = 0
    with open_file(path) as file:
        file.seek(header.end)
        while block := file.read(BLOCK):
            block += _rest_of_line(file, header.mark, path)
            _check_zeros(block, path, file.tell() - len(block))
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
    block: bytes, header: CsvHeader, wanted: list[str], n_texts: int, path: str | os.PathLike[str], before: int
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
    code, size_of_table, n = np.empty(len(start), np.int64), 1 << 12, -1
    while n < 0:
        table, first = np.full(size_of_table, -1, np.int64), np.empty(size_of_table, np.int64)
        n = number_fields(data, start, size, table, first, code)
        size_of_table *= 8
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


def _quoted_rows(file: BinaryIO, header: CsvHeader, path: str | os.PathLike[str], before: int) -> Iterator[list[str]]:
    """The rows from where the file stands, by Python's own reader, which knows quotes."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    lines = csv.reader(_short_lines(text, path), delimiter=header.delimiter, strict=True)
    n = before
    try:
        for row in lines:
            if _is_blank(row):
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
    header: CsvHeader,
    wanted: list[str],
    n_texts: int,
    path: str | os.PathLike[str],
    before: int,
) -> Iterator[Column]:
    for k, name in enumerate(wanted):
        place = header.names.index(name)
        column = [row[place].strip(BLANKS) for row in rows]
        if k < n_texts:
            known: dict[str, int] = {}
            yield np.array([known.setdefault(text, len(known)) for text in column], np.int64), list(known)
        else:
            where = f"{path}: column {name!r}"
            yield np.array([_number(text, where, before + i) for i, text in enumerate(column)]), None


def _wrong_width(path: str | os.PathLike[str], row: int, n_fields: int) -> ValueError:
    return ValueError(f"{path}: row {row} has not the {n_fields} fields that the first line names")


def _number(text: str, where: str, row: int) -> float:
    if text == "":
        return float("nan")
    try:
        return float(text.replace("_", "?"))
    except ValueError:
        raise ValueError(f"{where} holds {shown(text)} in row {row + 1}, not a number") from None


# --- a block as bytes: compiled loops over its fields, which are trimmed of blanks; there are no quotes


@lean_kernel
def find_fields(
    data: np.ndarray, delimiter: int, slot: np.ndarray, start: np.ndarray, size: np.ndarray
) -> tuple[int, int]:
    """Where the wanted fields of each line are: ``start[row, slot]`` and ``size[row, slot]``.

    ``slot[c]`` is the place of column c in the result, -1 where it is not wanted. Empty lines are skipped. Returns the
    number of rows, and the first row with too few or too many fields, or -1.
    """
    row, at, end = 0, 0, len(data)
    while at < end:
        column, first, blank = 0, at, True
        while True:
            over = at == end or data[at] == NEWLINE
            if over or data[at] == delimiter:
                low, high = first, at
                while low < high and (data[low] == SPACE or data[low] == TAB):
                    low += 1
                while low < high and (data[high - 1] == SPACE or data[high - 1] == TAB or data[high - 1] == RETURN):
                    high -= 1
                blank = blank and low == high
                if column < len(slot) and slot[column] >= 0:
                    start[row, slot[column]] = low
                    size[row, slot[column]] = high - low
                column += 1
                first = at + 1
                if over:
                    break
            at += 1
        at += 1
        if blank and column == 1:
            continue
        if column != len(slot):
            return row, row
        row += 1
    return row, -1


@lean_kernel
def number_fields(
    data: np.ndarray, start: np.ndarray, size: np.ndarray, table: np.ndarray, first: np.ndarray, code: np.ndarray
) -> int:
    """Number the different texts of a column as they first appear; ``first[n]`` is the row where text n does.

    ``table`` starts at -1; its length is a power of two. Returns how many there are, or -1 where the table is too full.
    """
    n, mask = 0, len(table) - 1
    for row in range(len(code)):
        low, length = start[row], size[row]
        mixed = np.uint64(14695981039346656037)
        for i in range(low, low + length):
            mixed = (mixed ^ np.uint64(data[i])) * np.uint64(1099511628211)
        place = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
        while table[place] >= 0:
            other = first[table[place]]
            i = 0
            if size[other] == length:
                while i < length and data[start[other] + i] == data[low + i]:
                    i += 1
            if size[other] == length and i == length:
                break
            place = (place + 1) & mask
        if table[place] < 0:
            if 2 * n >= len(table) or n == len(first):
                return -1
            table[place] = n
            first[n] = row
            n += 1
        code[row] = table[place]
    return n


@lean_kernel
def read_numbers(
    data: np.ndarray, start: np.ndarray, size: np.ndarray, powers: np.ndarray, begin: int, out: np.ndarray
) -> int:
    """Numbers spelled plainly, exactly as ``float`` reads them, from row ``begin`` on.

    Returns the first row that is spelled otherwise (many digits, far exponents, words), or the number of rows.
    """
    for row in range(begin, len(out)):
        at, end = start[row], start[row] + size[row]
        negative = at < end and data[at] == 45
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        digits, power, value, point = 0, 0, 0, False
        while at < end and (48 <= data[at] <= 57 or (data[at] == 46 and not point)):
            if data[at] == 46:
                point = True
            else:
                value = 10 * value + int(np.int64(data[at])) - 48
                digits += 1
                power -= point
            at += 1
            if digits > EXACT_DIGITS:
                return row
        if digits == 0:
            return row
        if at < end and (data[at] == 101 or data[at] == 69):
            at += 1
            below = at < end and data[at] == 45
            if at < end and (data[at] == 45 or data[at] == 43):
                at += 1
            exponent, some = 0, False
            while at < end and 48 <= data[at] <= 57 and exponent < 1000:
                exponent = 10 * exponent + int(np.int64(data[at])) - 48
                some = True
                at += 1
            if not some:
                return row
            power += -exponent if below else exponent
        if at < end or power > EXACT_POWER or power < -EXACT_POWER:
            return row
        found = float(value) * powers[power] if power >= 0 else float(value) / powers[-power]
        out[row] = -found if negative else found
    return len(out)
