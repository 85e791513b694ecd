"""A learner's folder: whole states of it (snapshots), and the files of its journal. Who holds the lock may write.

::

    lock                                held while the folder is open
    snapshot-000000000000-5f1c09ab.npz  the learner after 0 records, as it was started; the second number is a CRC-32
    snapshot-000000020000-....npz       the learner after 20,000 records: the newest, and the one before
    journal-000000020000.log            the records from there on
    damaged/                            what was set aside
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from equirl.files.durable import force_file, force_folder
from equirl.files.whole_files import write_aside
from equirl.keeping.journal_records import ROOM, SIZE, Damage, Header, SegmentWriter
from equirl.keeping.saving import save_agent
from equirl.learners.contract import Learner

SNAPSHOT = re.compile(r"snapshot-(\d{12,})-([0-9a-f]{8})\.npz")
SEGMENT = re.compile(r"journal-(\d{12,})\.log")
UNFINISHED = re.compile(r"\.+(snapshot|journal)[-.].*")


class SnapshotFile(NamedTuple):
    """A state of the learner, on disk."""

    at: int  # records that it knows of
    crc: int
    path: Path


class SegmentFile(NamedTuple):
    """A file of the journal."""

    first: int  # records before it
    path: Path


class JournalFolder:
    """The files of a learner's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def snapshots(self) -> list[SnapshotFile]:
        """The snapshots there are, the oldest first."""
        found = ((SNAPSHOT.fullmatch(name), name) for name in os.listdir(self.path))
        return sorted(SnapshotFile(int(m[1]), int(m[2], 16), self.path / name) for m, name in found if m)

    def segments(self) -> list[SegmentFile]:
        """The files of the journal, the oldest first."""
        found = ((SEGMENT.fullmatch(name), name) for name in os.listdir(self.path))
        return sorted(SegmentFile(int(m[1]), self.path / name) for m, name in found if m)

    def sweep(self) -> None:
        """Remove what a crash left half-written."""
        for name in os.listdir(self.path):
            if UNFINISHED.fullmatch(name):
                (self.path / name).unlink(missing_ok=True)

    # --- writing

    def save_snapshot(self, learner: Learner, at: int) -> None:
        """Write the learner's state; afterwards it is on the disk, whole."""
        aside = self.path / ".snapshot.npz"
        save_agent(learner, aside)
        crc = zlib.crc32(aside.read_bytes())
        os.replace(aside, self.path / f"snapshot-{at:012d}-{crc:08x}.npz")
        force_folder(self.path)

    def begin_segment(self, first: int, about: dict[str, Any]) -> SegmentWriter:
        """A new file of the journal, with room for records."""
        header = Header(first, secrets.randbits(32), about)
        start = header.to_bytes()
        path = write_aside(self.segment_path(first), start + bytes(ROOM))
        force_folder(self.path)
        return SegmentWriter(path, header, len(start), 0)

    def segment_path(self, first: int) -> Path:
        """Where the file of the journal whose first record has this number stands."""
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
