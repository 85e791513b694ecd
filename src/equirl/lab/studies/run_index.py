"""An index beside the files of runs, so that many are looked through at once: ``runs.index``.

It holds a copy of every file of a run that was found whole, and its stamp in the folder then: size, and times
of its content and of its entry. Where that is as it was, the copy is taken for the file; a file that is new, changed or
gone is noticed when the folder is listed, and is read itself. So files stay the truth, and the index may be removed
at any time: it is made again when enough files are not in it. It is written aside and renamed, and may be written by
several processes at once: each is whole, and the last one stays.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from equirl.files.whole_files import DamagedFile, open_file, write_aside
from equirl.lab.studies.run_files import SUFFIX, check_run, read_run, unpack_run
from equirl.lab.studies.run_specs import RESULT_VERSION, digest

INDEX = "runs.index"
INDEX_VERSION = 1
SETTLED_SECONDS = 2.0  # a file changed since could change again without another time
LEAST_NEW, SHARE_NEW = 64, 8  # files outside the index, and their share of it, from which it is written anew
_MARK = f"equirl-index {INDEX_VERSION} {RESULT_VERSION}\n".encode()
_SIZES = struct.Struct("<QQ")  # entries, and bytes of the copies
_SEAL_SIZE = 16  # bytes
_ENTRY = np.dtype([
    ("key", "S32"), ("size", "<i8"), ("changed", "<i8"), ("entered", "<i8"), ("defaults", "S32"), ("equirl", "S32"),
])  # fmt: skip


class FileStamp(NamedTuple):
    """How a file stands in its folder."""

    size: int
    changed: int  # ns: when its content changed last
    entered: int  # ns: when anything of it did


class Noted(NamedTuple):
    """What is known of a run without reading it."""

    defaults: str  # a hash of all parameters and settings
    equirl: str  # the version that computed it
    begin: int  # of its copy
    end: int


class RunIndex:
    """The runs of a folder as they are now, those that were found whole before with a copy of their files."""

    def __init__(self, folder: Path, *, anew: bool = False) -> None:
        """List the folder; with ``anew``, read every file whatever the index says."""
        self.folder = folder
        now = time.time_ns()
        self.there = file_stamps(folder / "runs")
        self._noted: dict[str, Noted] = {}
        self._copies = b""
        gone = set() if anew else self._read() - self.there.keys()
        settled = [key for key, stamp in self.there.items() if max(stamp[1:]) <= now - SETTLED_SECONDS * 1e9]
        new = [key for key in settled if key not in self._noted]
        if len(new) + len(gone) > max(LEAST_NEW, len(self._noted) // SHARE_NEW):
            self._extend(new)

    def noted(self, key: str) -> Noted | None:
        """What is known of a run whose file is as it was when it was found whole; None where it must be read."""
        return self._noted.get(key)

    def content(self, noted: Noted) -> bytes:
        """The content of the file of such a run."""
        return self._copies[noted.begin : noted.end]

    def _read(self) -> set[str]:
        """Take what the index holds of files that are as they were; the keys of all that it holds."""
        try:
            with open_file(self.folder / INDEX) as file:
                content = file.read()
        except OSError:
            return set()
        begin = len(_MARK) + _SEAL_SIZE + _SIZES.size
        if not content.startswith(_MARK) or len(content) < begin:
            return set()
        n, size = _SIZES.unpack_from(content, begin - _SIZES.size)
        first, rest = begin + n * _ENTRY.itemsize, memoryview(content)[len(_MARK) + _SEAL_SIZE :]
        if len(content) != first + size or content[len(_MARK) : len(_MARK) + _SEAL_SIZE] != _seal([rest]):
            return set()
        entries = np.frombuffer(content, _ENTRY, n, begin)
        ends = first + np.cumsum(entries["size"])
        keys = entries["key"].astype("U32").tolist()
        stamps = zip(*(entries[name].tolist() for name in ("size", "changed", "entered")), strict=True)
        told = zip(entries["defaults"].astype(str).tolist(), entries["equirl"].astype(str).tolist(), strict=True)
        for key, stamp, words, end in zip(keys, stamps, told, ends.tolist(), strict=True):
            if self.there.get(key) == stamp:
                self._noted[key] = Noted(*words, end - stamp[0], end)
        self._copies = content
        return set(keys)

    def _extend(self, new: Iterable[str]) -> None:
        """Read files that are not in the index, and write it anew with those that are whole."""
        copies = [self.content(noted) for noted in self._noted.values()]
        rows = [(key, *self.there[key], noted.defaults, noted.equirl) for key, noted in self._noted.items()]
        for key in new:
            found = self._checked(key)
            if found is not None:
                copies.append(found[0])
                rows.append((key, *self.there[key], *found[1:]))
        entries, size = np.array(rows, _ENTRY), sum(map(len, copies))
        parts = [_SIZES.pack(len(rows), size), entries.tobytes(), *copies]
        content = b"".join([_MARK, _seal(parts), *parts])
        with suppress(OSError):  # a folder that is full or cannot be written is read without it
            write_aside(self.folder / INDEX, content)
        ends = len(content) - size + np.cumsum(entries["size"], dtype=np.int64)
        self._copies = content
        self._noted = {
            row[0]: Noted(row[4], row[5], end - row[1], end) for row, end in zip(rows, ends.tolist(), strict=True)
        }

    def _checked(self, key: str) -> tuple[bytes, str, str] | None:
        """Content of a file, the hash of its defaults and the version that wrote it; None where it is not whole."""
        path = self.folder / "runs" / f"{key}{SUFFIX}"
        try:
            content = read_run(path)
            arrays, meta = unpack_run(path, content)
            check_run(path, arrays, meta)
        except (OSError, DamagedFile):
            return None
        defaults = digest(meta.get("everything"))[:32]
        equirl = str(meta["provenance"].get("versions", {}).get("equirl", ""))
        as_listed = len(content) == self.there[key].size and digest(meta["spec"])[:32] == key
        return (content, defaults, equirl) if as_listed and equirl.isascii() and len(equirl) <= 32 else None


def file_stamps(folder: Path, suffix: str = SUFFIX) -> dict[str, FileStamp]:
    """The files of a folder by their names without the suffix, and how they stand in it."""
    found = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(suffix):
                with suppress(OSError):  # gone since, or a link that leads nowhere
                    stat = entry.stat()
                    found[entry.name[: -len(suffix)]] = FileStamp(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return found


def _seal(parts: Iterable[bytes | memoryview]) -> bytes:
    """Over all that follows it."""
    hashed = hashlib.blake2b(digest_size=_SEAL_SIZE)
    for part in parts:
        hashed.update(part)
    return hashed.digest()
