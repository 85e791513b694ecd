"""An agent's folder: whole states of it (snapshots), and the files of its journal. Who holds the lock may write.

::

    lock                                held while the folder is open
    snapshot-000000000000-5f1c09ab.npz  the agent after 0 records, as it was started; the second number is a CRC-32
    snapshot-000000020000-....npz       the agent after 20,000 records: the newest, and the one before
    journal-000000020000.log            the records from there on
    damaged/                            what was set aside

A file of the journal is a header that says whose it is, then records of 32 bytes, each with its number and checksum::

    header   "equirl-J", version u32, length of the JSON u32, number of the first record u64, tag u32, CRC-32 u32;
             the JSON (agent, settings, names), with zeros up to a multiple of 32
    record   place in the file u32, kind u8, three zeros, state i32, action i32, next state i32, reward f64, CRC-32 u32
    zeros    up to a multiple of 64 KiB, at least one record's worth: a file cut short is noticed

All little-endian. A record's CRC starts from the file's tag, so that one of another file does not pass for its own.
Records never straddle a page of memory, so a process killed while it writes leaves a whole one or none.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import struct
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.files.durable import force_file, force_folder
from equirl.files.whole_files import DamagedFile, write_aside
from equirl.keeping.saving import save_agent
from equirl.learners.contract import Learner

MAGIC, VERSION = b"equirl-J", 1
PREFIX, BODY, CRC = struct.Struct("<8sIIQI"), struct.Struct("<IB3xiiid"), struct.Struct("<I")
SIZE = BODY.size + CRC.size  # 32
EMPTY = bytes(SIZE)
ROOM = 1 << 16  # bytes by which a file grows
ACT, OBSERVE, TERMINATED = 1, 2, 3  # kinds of records
FIELDS = np.dtype([
    ("place", "<u4"), ("kind", "u1"), ("zeros", "V3"), ("state", "<i4"), ("action", "<i4"), ("next_state", "<i4"),
    ("reward", "<f8"), ("crc", "<u4"),
])  # fmt: skip
SNAPSHOT = re.compile(r"snapshot-(\d{12,})-([0-9a-f]{8})\.npz")
SEGMENT = re.compile(r"journal-(\d{12,})\.log")
UNFINISHED = re.compile(r"\.+(snapshot|journal)[-.].*")


class SegmentHeader(NamedTuple):
    first: int  # records before this file, so the number of its first one
    tag: int  # from which the checksums of its records start
    about: dict[str, Any]  # agent, settings, names, versions; where the journal stood when the file was begun

    def to_bytes(self) -> bytes:
        text = json.dumps(self.about).encode()
        text += bytes(-len(text) % SIZE)
        prefix = PREFIX.pack(MAGIC, VERSION, len(text), self.first, self.tag)
        return prefix + CRC.pack(zlib.crc32(text, zlib.crc32(prefix))) + text


class Damage(NamedTuple):
    path: Path
    offset: int  # of the first byte that is not to be trusted
    kept: int  # records before it, all whole
    dropped: int  # records that are damaged, as far as they can be told
    after: int  # whole records behind the damage
    reason: str

    def __str__(self) -> str:
        behind = f", with {self.after} whole ones behind" if self.after else ""
        return (
            f"{self.path} is damaged at byte {self.offset} ({self.reason}): {self.kept} records before it are whole, "
            f"{self.dropped} are not{behind}"
        )


class SegmentContent(NamedTuple):
    header: SegmentHeader
    start: int  # bytes before the first record
    records: np.ndarray  # FIELDS, those before any damage
    damage: Damage | None


def pack_record(tag: int, place: int, kind: int, state: int, action: int, next_state: int, reward: float) -> bytes:
    body = BODY.pack(place, kind, state, action, next_state, reward)
    return body + CRC.pack(zlib.crc32(body, tag))


def read_header(path: Path, data: bytes) -> tuple[SegmentHeader, int]:
    """The header at the start of a file's bytes, and its length."""
    fixed = PREFIX.size + CRC.size
    if len(data) < fixed or not data.startswith(MAGIC):
        raise DamagedFile(f"{path} is not a journal of equirl, or its header is damaged")
    _, version, length, first, tag = PREFIX.unpack_from(data)
    text = data[fixed : fixed + length]
    if len(text) < length or zlib.crc32(text, zlib.crc32(data[: PREFIX.size])) != CRC.unpack_from(data, PREFIX.size)[0]:
        raise DamagedFile(f"the header of {path} is damaged: its checksum is not that of its content")
    if version != VERSION:
        raise DamagedFile(f"{path} has format {version}; this equirl reads {VERSION}. Open it with the one it is from")
    return SegmentHeader(first, tag, json.loads(text.rstrip(b"\0"))), fixed + length


def read_segment(path: Path, n_records: int | None = None) -> SegmentContent:
    """A file of the journal, every checksum looked at."""
    return parse_segment(path, path.read_bytes(), n_records)


def parse_segment(path: Path, data: bytes, n_records: int | None = None) -> SegmentContent:
    header, start = read_header(path, data)
    body = memoryview(data)[start:]
    n_slots = len(body) // SIZE
    slots = np.frombuffer(body[: n_slots * SIZE], FIELDS)
    kept = 0
    while kept < n_slots and _is_whole(body, kept, header.tag):
        kept += 1

    reason = _what_is_wrong(body, kept, n_records)
    damage = None
    if reason:
        used = [k for k in range(kept, n_slots) if body[k * SIZE : (k + 1) * SIZE] != EMPTY]
        after = sum(_is_whole(body, k, header.tag) for k in used)
        torn = bool(bytes(body[n_slots * SIZE :]).strip(b"\0"))
        missing = len(used) + torn - after
        if n_records is not None:
            missing = max(missing, n_records - kept - after)
        damage = Damage(path, start + kept * SIZE, kept, missing, after, reason)
    return SegmentContent(header, start, slots[:kept], damage)


def _is_whole(body: memoryview, place: int, tag: int) -> bool:
    """Whether the record at a place is one, belongs there and has its checksum."""
    at = place * SIZE
    number, kind = struct.unpack_from("<IB", body, at)
    return (
        number == place
        and ACT <= kind <= TERMINATED
        and zlib.crc32(body[at : at + BODY.size], tag) == CRC.unpack_from(body, at + BODY.size)[0]
    )


def _what_is_wrong(body: memoryview, kept: int, n_records: int | None) -> str:
    """Why the bytes behind the whole records are not as they should be; empty where they are."""
    if bytes(body[kept * SIZE :]).strip(b"\0"):
        return "a record has not its checksum"
    if n_records is None:
        return "the file was cut short" if len(body) % ROOM or len(body) <= kept * SIZE else ""
    return f"it should hold {n_records} records" if kept != n_records else ""


class SegmentWriter:
    def __init__(self, path: Path, header: SegmentHeader, start: int, n_records: int) -> None:
        self.path, self.header, self.n_records = path, header, n_records
        self._start = start
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115 (open as long as records are appended)
        self._slots = (os.fstat(self._file.fileno()).st_size - start) // SIZE
        self._file.seek(start + n_records * SIZE)

    @property
    def end(self) -> int:
        """The number that the next record gets."""
        return self.header.first + self.n_records

    def append(self, kind: int, state: int, action: int, next_state: int = 0, reward: float = 0.0) -> None:
        """Add a record; where that fails, the file is as before."""
        try:
            if self.n_records + 1 >= self._slots:  # one stays empty
                self._slots += ROOM // SIZE
                os.ftruncate(self._file.fileno(), self._start + self._slots * SIZE)
            record = pack_record(self.header.tag, self.n_records, kind, state, action, next_state, reward)
            if self._file.write(record) != SIZE:
                raise OSError(None, "only a part was written")
        except BaseException as error:
            self._empty(self.n_records)
            if isinstance(error, OSError):
                raise OSError(error.errno, f"cannot append to the journal: {error.strerror}", str(self.path)) from None
            raise
        self.n_records += 1

    def take_back(self) -> None:
        """Remove the last record: what it tells did not come about."""
        self._empty(self.n_records - 1)
        self.n_records -= 1
        self.force()

    def _empty(self, place: int) -> None:
        at = self._start + place * SIZE
        self._file.seek(at)
        self._slots = (os.fstat(self._file.fileno()).st_size - self._start) // SIZE
        if place < self._slots:
            with contextlib.suppress(OSError):  # the next record is written over it
                self._file.write(EMPTY)
            self._file.seek(at)

    def force(self) -> None:
        """Return when everything is on the disk."""
        force_file(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def seal(self) -> None:
        """Give the empty room back; another file goes on."""
        os.ftruncate(self._file.fileno(), self._start + self.n_records * SIZE)
        self._file.close()


# --- the folder


class SnapshotFile(NamedTuple):
    at: int  # records that it knows of
    crc: int
    path: Path


class SegmentFile(NamedTuple):
    first: int  # records before it
    path: Path


class JournalFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def snapshots(self) -> list[SnapshotFile]:
        """The snapshots there are, the oldest first."""
        found = ((SNAPSHOT.fullmatch(name), name) for name in os.listdir(self.path))
        return sorted(SnapshotFile(int(m[1]), int(m[2], 16), self.path / name) for m, name in found if m)

    def segments(self) -> list[SegmentFile]:
        found = ((SEGMENT.fullmatch(name), name) for name in os.listdir(self.path))
        return sorted(SegmentFile(int(m[1]), self.path / name) for m, name in found if m)

    def sweep(self) -> None:
        """Remove what a crash left half-written."""
        for name in os.listdir(self.path):
            if UNFINISHED.fullmatch(name):
                (self.path / name).unlink(missing_ok=True)

    # --- writing

    def save_snapshot(self, agent: Learner, at: int) -> None:
        """Write the agent's state; afterwards it is on the disk, whole."""
        aside = self.path / ".snapshot.npz"
        save_agent(agent, aside)
        crc = zlib.crc32(aside.read_bytes())
        os.replace(aside, self.path / f"snapshot-{at:012d}-{crc:08x}.npz")
        force_folder(self.path)

    def begin_segment(self, first: int, about: dict[str, Any]) -> SegmentWriter:
        """A new file of the journal, with room for records."""
        header = SegmentHeader(first, secrets.randbits(32), about)
        start = header.to_bytes()
        path = write_aside(self.segment_path(first), start + bytes(ROOM))
        force_folder(self.path)
        return SegmentWriter(path, header, len(start), 0)

    def segment_path(self, first: int) -> Path:
        return self.path / f"journal-{first:012d}.log"

    def prune(self, keep_segments: bool) -> None:
        """Remove the snapshots before the last two, but for the first of all, and the records that only they need."""
        *older, previous, _ = [None, None, *self.snapshots()]
        for snapshot in older:
            if snapshot is not None and snapshot.at > 0:
                snapshot.path.unlink(missing_ok=True)
        if previous is None or keep_segments:
            return
        segments = self.segments()
        for segment, following in pairwise(segments):
            if following.first <= previous.at:
                segment.path.unlink(missing_ok=True)

    # --- what is damaged

    def set_aside(self, path: Path, copy: bool = False) -> Path:
        """Move a file, or a copy of it, to the folder ``damaged``."""
        place = self.path / "damaged"
        place.mkdir(exist_ok=True)
        k = 0
        while (target := place / f"{path.name}.{k}").exists():
            k += 1
        if copy:
            shutil.copyfile(path, target)
        else:
            os.replace(path, target)
        return target

    def cut(self, damage: Damage) -> Path:
        """End a file before its damage; a copy of all of it is set aside."""
        aside = self.set_aside(damage.path, copy=True)
        start = damage.offset - damage.kept * SIZE
        with open(damage.path, "r+b") as file:
            file.truncate(damage.offset)
            file.truncate(start + (damage.kept * SIZE // ROOM + 1) * ROOM)
            force_file(file.fileno())
        return aside


def is_whole(snapshot: SnapshotFile) -> bool:
    """Whether the bytes of a snapshot are those that were written."""
    return zlib.crc32(snapshot.path.read_bytes()) == snapshot.crc
