"""The first line of a CSV file, after a look at what kind of file it is: an empty or foreign one is named."""

from __future__ import annotations

import csv
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from equirl.files.whole_files import open_file

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


class Header(NamedTuple):
    """The first line of a CSV file."""

    names: list[str]
    delimiter: str
    end: int  # the byte after it
    mark: bytes = b"\n"  # with which lines end: a newline, as in "\r\n" too, or "\r" alone


def read_header(path: str | os.PathLike[str]) -> Header:
    """The names of the columns, and what separates them."""
    with open_file(path) as file:
        start = file.read(LONGEST_LINE)
    _check_kind(start, path)
    mark = _line_end(start)
    line = start[: start.find(mark) + 1] or start
    if mark not in line and len(line) == LONGEST_LINE:
        raise ValueError(f"{path}: the first line is longer than {LONGEST_LINE:,} bytes; it should name the columns")
    text = decoded(line, path).removeprefix("\ufeff").strip("\r\n")
    delimiter = max(DELIMITERS, key=text.count)
    try:
        names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{path}: the first line, which should name the columns, cannot be read: {error}") from None
    return Header([name.strip() for name in names], delimiter, len(line), mark)


def _check_kind(start: bytes, path: str | os.PathLike[str]) -> None:
    """An error where the first bytes are those of another kind of file, or there are none."""
    for mark, (kind, remedy) in FOREIGN.items():
        if start.startswith(mark):
            raise ValueError(f"{path} is {kind}, not CSV; {remedy}")
    check_zeros(start, path, 0)
    if not start.removeprefix(b"\xef\xbb\xbf").strip():
        raise ValueError(f"{path} is empty; a log begins with a line of names: state,action,reward,next_state")


def check_zeros(content: bytes, path: str | os.PathLike[str], begin: int) -> None:
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


def first_row(path: str | os.PathLike[str], header: Header) -> list[str]:
    """The fields of the first line below the names, as far as they can be read."""
    with open_file(path) as file:
        file.seek(header.end)
        start = file.read(LONGEST_LINE).decode(errors="replace")
    with suppress(csv.Error):
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=header.delimiter)
        return next((row for row in rows if not is_blank(row)), [])
    return []


def is_blank(row: list[str]) -> bool:
    """Whether a line holds nothing; such a one is skipped."""
    return not row or (len(row) == 1 and not row[0].strip(BLANKS))


def decoded(text: bytes, path: str | os.PathLike[str]) -> str:
    """Text in UTF-8, or an error that names the file."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{Path(path)} is not text in UTF-8: {error}") from None
