"""Bytes forced to disk, and a folder that one process at a time may write to."""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_NAME = "lock"
_LOCKED_BYTE = 1 << 20  # on Windows a locked byte cannot be read: one that lies behind the number of the process


class FolderInUse(RuntimeError):  # noqa: N818 (it names what is the matter)
    """Another process, or another part of this one, has the folder open."""


def force_file(descriptor: int) -> None:
    """Return when what was written to an open file is on the disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync alone leaves it in the drive's cache
    elif sys.platform == "win32":
        os.fsync(descriptor)
    else:
        os.fdatasync(descriptor)


def force_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk: files made, renamed or removed there."""
    if sys.platform == "win32":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FolderLock:
    """The right to write to a folder, held until :meth:`release` or the end of the process, however it ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = open(folder / LOCK_NAME, "a+b", buffering=0)  # noqa: SIM115 (open as long as it is held)
        self.owner = os.getpid()
        try:
            _lock(self._file.fileno())
        except OSError:
            holder = self._holder()
            self._file.close()
            raise FolderInUse(
                f"{folder} is in use by {holder}; a learner's folder serves one at a time: close the other, or open "
                "another folder"
            ) from None
        self._file.truncate(0)
        self._file.write(str(self.owner).encode())
        _HELD.add(self)

    def _holder(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            self._file.seek(0)
            number = int(self._file.read(20))
            return "this process" if number == self.owner else f"process {number}"
        return "another process"

    def release(self) -> None:
        self._file.close()
        _HELD.discard(self)


def _lock(descriptor: int) -> None:
    """Lock an open file for this opening of it alone; an OSError where another has it."""
    if sys.platform == "win32":
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


_HELD: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _forget_locks() -> None:
    """In a forked child: the lock is the parent's, and must not outlive it here."""
    for lock in list(_HELD):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
