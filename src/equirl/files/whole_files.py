"""Files that are whole or absent: written aside and renamed, named by kind and version, never pickled."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.archives import Archive, described, kind_of_place, open_file, pack

STALE_SECONDS = 3600.0  # an unfinished file older than this was left by a process that was killed
LONGEST_STEM = 50  # characters of a file's name that the unfinished one takes over
LONGEST_HEADER = 2**28  # bytes: names of some million states
ARCHIVE_FORMAT = 2  # of all kinds of files alike; the first had no seal, and at first no list of arrays
_BINARY = getattr(os, "O_BINARY", 0)  # a flag of Windows
_PART = re.compile(r"\..+\.([0-9a-f]{16}|[0-9a-z_]{8})\.part")  # the second is how they were once named
_cleared: dict[str, float] = {}  # folders, and when they were last looked through for such files


class DamagedFile(ValueError):  # noqa: N818 (it names the file, not the failure)
    """A file that cannot be trusted: truncated, altered, or written by something else."""


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
            _to_disk(place.parent)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:  # name the file that was asked for
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    return path


def _to_disk(folder: Path) -> None:
    """Have the system write down the names in a folder, so that a power cut does not bring the old file back."""
    with suppress(OSError):  # not every system can
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _mode_to_keep(place: Path) -> int | None:
    """The mode of a file that will be replaced; None where there is none; an error where something else stands."""
    try:
        found = os.lstat(place).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found):  # all links were followed: these lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    kind = kind_of_place(found)
    if kind == "a folder":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")
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


def save_npz(
    path: str | os.PathLike[str], kind: str, version: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> Path:
    """Save named arrays and JSON-able ``meta`` as a compressed ``.npz`` marked with its ``kind`` and format version.

    The header lists the arrays with their types, shapes and hashes, so that one altered, lost or added is named; a seal
    over the whole file binds all of it together.
    """
    return write_aside(path, npz_bytes(kind, version, arrays, meta))


def npz_bytes(kind: str, version: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> bytes:
    """The content of the file that :func:`save_npz` writes, for another process to write it."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects, which only a pickle could keep")
    listing = {name: described(array) for name, array in arrays.items()}
    header = json.dumps({
        "kind": kind, "version": version, "archive": ARCHIVE_FORMAT, "meta": dict(meta), "arrays": listing
    })  # fmt: skip
    return pack({"header": np.array(header), **arrays})


def load_npz(
    path: str | os.PathLike[str], kind: str, *versions: int, longest_header: int = LONGEST_HEADER
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Load what :func:`save_npz` saved; a damaged or foreign file is a :class:`DamagedFile` that says which.

    Files without a seal and without a list of their arrays, as they once were, load too.
    """
    path = os.fspath(path)
    try:
        with open_file(path) as handle:
            if handle.read(2) != b"PK":
                raise DamagedFile(f"{path} is not an equirl file: it is no .npz archive")
            archive = Archive(handle)
            header: Any = None
            if "header" in archive.names:
                header = json.loads(str(archive.read("header", longest_header)))
            meta, listing = _checked_header(path, header, kind, versions)
            arrays = _listed_arrays(path, archive, listing)
            if header.get("archive", 1) != 1 and not archive.sealed:
                raise DamagedFile(f"{path} is damaged: its seal is missing. Something else packed it again")
            return arrays, meta
    except (FileNotFoundError, PermissionError, IsADirectoryError, DamagedFile):
        raise
    except Exception as error:  # what a zip or npy reader raises on foreign bytes is open-ended
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DamagedFile(f"{path} cannot be read as an equirl file: {reason}") from error


def _checked_header(path: str, header: Any, kind: str, versions: tuple[int, ...]) -> tuple[dict[str, Any], Any]:
    """The meta of a header of the right kind and version, and its list of arrays if it has one."""
    if not isinstance(header, dict) or not {"kind", "version", "meta"} <= set(header):
        raise DamagedFile(f"{path} is not an equirl file: it has no header")
    if header["kind"] != kind:
        raise DamagedFile(f"{path} holds {header['kind']!r}, not {kind!r}")
    if header["version"] not in versions:
        raise DamagedFile(
            f"{path} has format version {header['version']}; this equirl reads version {versions[-1]}. "
            "Load it with the equirl that wrote it"
        )
    if header.get("archive", 1) not in (1, ARCHIVE_FORMAT):
        raise DamagedFile(
            f"{path} is an archive of format {header['archive']}; this equirl reads format {ARCHIVE_FORMAT}. "
            "Load it with the equirl that wrote it"
        )
    if not isinstance(header["meta"], dict):
        raise DamagedFile(f"{path} is not an equirl file: its header is not whole")
    return header["meta"], header.get("arrays")


def _listed_arrays(path: str, archive: Archive, listing: dict[str, Any] | None) -> dict[str, np.ndarray]:
    """All arrays beside the header, each as the header's list says."""
    names = [name for name in archive.names if name != "header"]
    for name in sorted(set(names) ^ set(names if listing is None else listing)):
        fate = "not in its list of arrays" if name in names else "missing"
        raise DamagedFile(f"{path} is damaged: the array {name!r} is {fate}")
    arrays = {name: archive.read(name) for name in names}
    for name, entry in (listing or {}).items():
        if described(arrays[name]) != entry:
            raise DamagedFile(f"{path} is damaged: the array {name!r} is not what was saved")
    return arrays
