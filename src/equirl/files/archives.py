"""Arrays in sealed ``.npz`` archives from anywhere: NumPy reads them, once all they say of their sizes is checked.

An archive is refused where it has too many members, where they would unpack to far more than the file's own size, or
where a member is not exactly as long as its own description says. Members are unpacked one by one, when asked for.

It ends with a seal, the hash of all bytes before it, as the comment of the zip file: whatever is changed, put before or
behind, or exchanged for a part of another file, is noticed before anything is unpacked.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from equirl.files.whole_files import DamagedFile, open_file, write_aside

ARCHIVE_FORMAT = 2  # of all kinds of files alike
LONGEST_HEADER = 2**28  # bytes: names of some million states
MOST_MEMBERS = 1000
MOST_EXPANSION = 100  # bytes unpacked for each byte of the file
ALWAYS_ALLOWED = 2**26  # bytes unpacked that any file may take
LONGEST_PREAMBLE = 10_000  # bytes that describe an array before its content, as in NumPy
CHUNK = 2**20
CUT = "it is not whole: a zip file ends otherwise"
_LOCATOR_SIZE = 20  # bytes before the last record, where large zip files point to a longer one
_END = struct.Struct("<4s4H2LH")  # the last record of a zip file, before its comment
_END_MARK = b"PK\x05\x06"
_SEAL_MARK = b"blake2b:"
_SEAL_SIZE = len(_SEAL_MARK) + 32  # bytes


def save_npz(
    path: str | os.PathLike[str], kind: str, version: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> Path:
    """Save arrays and JSON-able ``meta`` as a compressed ``.npz`` that names its kind and format, hashed and sealed."""
    return write_aside(path, npz_bytes(kind, version, arrays, meta))


def npz_bytes(kind: str, version: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> bytes:
    """The content of the file that :func:`save_npz` writes, for another process to write it."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects, which only a pickle could keep")
    listing = {name: described(array) for name, array in arrays.items()}
    header = json.dumps(
        {"kind": kind, "version": version, "archive": ARCHIVE_FORMAT, "meta": dict(meta), "arrays": listing}
    )
    return pack({"header": np.array(header), **arrays})


def described(array: np.ndarray) -> dict[str, Any]:
    """What a file notes of an array, so that any change of it is seen: its type, its shape and a hash."""
    content = hashlib.blake2b(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()
    descr = np.lib.format.dtype_to_descr(array.dtype)
    return {"dtype": str(descr), "shape": list(array.shape), "blake2b": content}


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """A sealed ``.npz`` archive: compressed, unless it would unpack to more than a file of its size may."""
    content = _packed(arrays, zipfile.ZIP_DEFLATED)
    unpacked = sum(array.nbytes + LONGEST_PREAMBLE for array in arrays.values())
    return content if unpacked <= _most_unpacked(len(content)) else _packed(arrays, zipfile.ZIP_STORED)


def _packed(arrays: Mapping[str, np.ndarray], compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, array in arrays.items():  # np.savez has no place for an array called "file"
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        archive.comment = bytes(_SEAL_SIZE)
    buffer.seek(0)
    seal = _seal(buffer, buffer.getbuffer().nbytes - _SEAL_SIZE)
    buffer.write(seal)
    return buffer.getvalue()


def _seal(file: BinaryIO, size: int) -> bytes:
    """The seal over the next ``size`` bytes of a file."""
    hashed = hashlib.blake2b(digest_size=16)
    while size and (chunk := file.read(min(CHUNK, size))):
        hashed.update(chunk)
        size -= len(chunk)
    return _SEAL_MARK + hashed.hexdigest().encode()


def _most_unpacked(file_size: int) -> int:
    return max(ALWAYS_ALLOWED, MOST_EXPANSION * file_size)


def load_npz(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Load what :func:`save_npz` saved; a damaged or foreign file is a :class:`DamagedFile` that says which."""
    path = os.fspath(path)
    try:
        with open_file(path) as handle:
            if handle.read(2) != b"PK":
                raise DamagedFile(f"{path} is not an equirl file: it is no .npz archive")
            archive = Archive(handle)
            header = json.loads(str(archive.read("header", LONGEST_HEADER))) if "header" in archive.names else None
            meta, listing = _checked_header(path, header, kind, version)
            return _listed_arrays(path, archive, listing), meta
    except (FileNotFoundError, PermissionError, IsADirectoryError, DamagedFile):
        raise
    except Exception as error:  # what a zip or npy reader raises on foreign bytes is open-ended
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DamagedFile(f"{path} cannot be read as an equirl file: {reason}") from error


class Archive:
    """The arrays of an open ``.npz`` file, whose seal fits."""

    def __init__(self, handle: BinaryIO) -> None:
        size = os.fstat(handle.fileno()).st_size
        n_members = _declared_members(handle, size)
        if handle.seek(0) or _seal(handle, size - _SEAL_SIZE) != handle.read():
            raise ValueError("its seal does not fit: it is not as it was written")
        handle.seek(0)
        self._zip = zipfile.ZipFile(handle)
        self._members = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}
        if not len(self._members) == len(self._zip.infolist()) == n_members:
            raise ValueError(f"its directory does not list the {n_members} arrays that it should")
        if min((info.header_offset for info in self._members.values()), default=0) != 0:
            raise ValueError("something stands before it, such as another archive")
        unpacked = sum(info.file_size for info in self._members.values())
        if unpacked > _most_unpacked(size):
            raise ValueError(f"its {size:,} bytes would unpack to {unpacked:,}")

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str, most_bytes: float = math.inf) -> np.ndarray:
        info = self._members[name]
        if info.file_size > most_bytes:
            raise ValueError(f"{name!r} has {info.file_size:,} bytes; at most {most_bytes:,} are expected")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name!r} is compressed in a way that equirl does not use")
        with self._zip.open(info) as member:
            _check_description(name, member, info.file_size)
        with self._zip.open(info) as member:
            array: np.ndarray = np.lib.format.read_array(member, allow_pickle=False, max_header_size=LONGEST_PREAMBLE)
        return array


def _declared_members(handle: BinaryIO, size: int) -> int:
    """The number of members that the end of a zip file declares, before anything is read of them; a seal follows it."""
    handle.seek(max(0, size - _LOCATOR_SIZE - _END.size - _SEAL_SIZE))
    tail = handle.read()
    if not tail[-_SEAL_SIZE:].startswith(_SEAL_MARK):
        whole = tail[-_END.size :].startswith(_END_MARK)
        raise ValueError(f"its seal is missing: {'an older equirl or something else packed it' if whole else CUT}")
    tail = tail[:-_SEAL_SIZE]
    record = tail[-_END.size :]
    if len(record) < _END.size or not record.startswith(_END_MARK) or record[-2:] != _SEAL_SIZE.to_bytes(2, "little"):
        raise ValueError(CUT)
    n_members, directory_size = _END.unpack(record)[4:6]
    large = size > zipfile.ZIP64_LIMIT
    if n_members > MOST_MEMBERS or not (large or directory_size < size) or (not large and tail[:4] == b"PK\x06\x07"):
        raise ValueError(f"it has {n_members:,} members or more; at most {MOST_MEMBERS:,} are expected")
    return int(n_members)


def _check_description(name: str, member: Any, file_size: int) -> None:
    """An error unless a member holds just the array that its first bytes describe: memory is taken after this."""
    try:
        versions = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        describe = versions[np.lib.format.read_magic(member)]
        shape, _, dtype = describe(member, max_header_size=LONGEST_PREAMBLE)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{name!r} is not an array: {error}") from None
    if dtype.hasobject or dtype.itemsize == 0 or any(n < 0 for n in shape):
        raise ValueError(f"{name!r} holds Python objects, or nothing that can be read")
    if member.tell() + math.prod(shape) * dtype.itemsize != file_size:
        raise ValueError(f"{name!r} is not as long as it says")


def _checked_header(path: str, header: Any, kind: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The meta of a header of the right kind and version, and its list of arrays."""
    if not isinstance(header, dict) or not {"kind", "version", "archive", "meta", "arrays"} <= set(header):
        raise DamagedFile(f"{path} is not an equirl file: it has no header")
    if header["kind"] != kind:
        raise DamagedFile(f"{path} holds {header['kind']!r}, not {kind!r}")
    found, remedy = header["version"], "Load it with the equirl that wrote it"
    if found != version:
        raise DamagedFile(f"{path} has format version {found}; this equirl reads version {version}. {remedy}")
    if (found := header["archive"]) != ARCHIVE_FORMAT:
        reads = f"this equirl reads format {ARCHIVE_FORMAT}"
        raise DamagedFile(f"{path} is an archive of format {found}; {reads}. {remedy}")
    if not isinstance(header["meta"], dict) or not isinstance(header["arrays"], dict):
        raise DamagedFile(f"{path} is not an equirl file: its header is not whole")
    return header["meta"], header["arrays"]


def _listed_arrays(path: str, archive: Archive, listing: dict[str, Any]) -> dict[str, np.ndarray]:
    """All arrays but the header, each as the header's list says."""
    names = [name for name in archive.names if name != "header"]
    for name in sorted(set(names) ^ set(listing)):
        fate = "not in its list of arrays" if name in names else "missing"
        raise DamagedFile(f"{path} is damaged: the array {name!r} is {fate}")
    arrays = {name: archive.read(name) for name in names}
    for name, entry in listing.items():
        if described(arrays[name]) != entry:
            raise DamagedFile(f"{path} is damaged: the array {name!r} is not what was saved")
    return arrays
