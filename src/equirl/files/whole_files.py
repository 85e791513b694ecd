"""Files that are whole or absent: written aside and renamed, so that nobody ever sees a part of one."""

from __future__ import annotations

import csv
import errno
import io
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from equirl.files.durable import force_folder

STALE_SECONDS = 3600.0  # an unfinished file older than this was left by a process that was killed
LONGEST_STEM = 50  # characters of a file's name that the unfinished one takes over
_BINARY = getattr(os, "O_BINARY", 0)  # a flag of Windows
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a flag of all others
_PART = re.compile(r"\..+\.[0-9a-f]{16}\.part")
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_cleared: dict[str, float] = {}  # folders, and when they were last looked through for such files


class DamagedFile(ValueError):  # noqa: N818 (it names the file, not the failure)
    """A file that cannot be trusted: truncated, altered, or written by something else."""


def check_file(mode: int, path: str | os.PathLike[str]) -> None:
    """An error where something else stands in the place of a file, by its mode."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", os.fspath(path))


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading; a pipe or device in its place is an error, and is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    try:
        check_file(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def write_aside(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write ``content`` to ``path`` so that a reader, or a crash, sees the old file or the new one, never a part.

    A file that is replaced keeps its mode; a link stays, and the file it leads to is replaced.
    """
    path = Path(path)
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    if not 0 <= time.time() - _cleared.get(str(place.parent), -math.inf) < STALE_SECONDS:
        clear_parts(place.parent)
    aside = place.with_name(f".{place.name[:LONGEST_STEM]}.{secrets.token_hex(8)}.part")
    try:
        mode = _mode_to_keep(place)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666 if mode is None else mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(aside, mode)
            os.replace(aside, place)
            with suppress(OSError):  # not every system can force the names in a folder
                force_folder(place.parent)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:  # name the file that was asked for
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    return path


def _mode_to_keep(place: Path) -> int | None:
    """The mode of a file that will be replaced; None where there is none; an error where something else stands."""
    try:
        found = os.lstat(place).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found):  # all links were followed: these lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    check_file(found, place)
    return stat.S_IMODE(found)


def clear_parts(folder: Path) -> None:
    """Remove what killed processes left half-written in a folder some time ago."""
    _cleared[str(folder)] = now = time.time()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _PART.fullmatch(entry.name) and now - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS:
                with suppress(OSError):
                    os.unlink(entry)


def check_place(path: str | os.PathLike[str]) -> None:
    """An error where a file surely cannot be written; ask before long work."""
    place = Path(path).absolute().parent
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def write_csv(path: str | os.PathLike[str], header: Iterable[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a table as CSV; floats in their shortest exact spelling, nothing for None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([value.item() if isinstance(value, np.generic) else value for value in row] for row in rows)
    return write_aside(path, text.getvalue().encode())
