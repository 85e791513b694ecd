"""Arrays in ``.npz`` archives from anywhere: what a file says of its sizes is checked before memory is taken for it.

An archive is refused where it has too many members, where they would unpack to far more than the file's own size, or
where a member is not exactly as long as its own description says. Members are unpacked one by one, when asked for.

One that :func:`pack` made ends with a seal, the hash of all bytes before it, as the comment of the zip file: whatever
is changed, put before or behind, or exchanged for a part of another file, is noticed before anything is unpacked.
"""

from __future__ import annotations

import errno
import hashlib
import io
import math
import os
import stat
import struct
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

MOST_MEMBERS = 1000
MOST_EXPANSION = 100  # bytes unpacked for each byte of the file
ALWAYS_ALLOWED = 2**26  # bytes unpacked that any file may take
LONGEST_PREAMBLE = 10_000  # bytes that describe an array before its content, as in NumPy
CHUNK = 2**20
_LOCATOR_SIZE = 20  # bytes before the last record, where large zip files point to a longer one
_END = struct.Struct("<4s4H2LH")  # the last record of a zip file, before its comment
_SEAL_MARK = b"blake2b:"
_SEAL_SIZE = len(_SEAL_MARK) + 32  # bytes
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def kind_of_place(mode: int) -> str | None:
    """What stands at a path where a file should be."""
    if stat.S_ISREG(mode):
        return None
    return "a folder" if stat.S_ISDIR(mode) else _KINDS.get(stat.S_IFMT(mode), "something else")


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading; a pipe or device in its place is an error, and is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    kind = kind_of_place(os.fstat(descriptor).st_mode)
    if kind is None:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if kind == "a folder":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, f"it is {kind}, not a file", os.fspath(path))


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """A sealed ``.npz`` archive that :class:`Archive` reads: compressed, unless it would unpack to very much."""
    content = _packed(arrays, zipfile.ZIP_DEFLATED)
    room = sum(array.nbytes + LONGEST_PREAMBLE for array in arrays.values())
    return content if room <= _most_unpacked(len(content)) else _packed(arrays, zipfile.ZIP_STORED)


def _packed(arrays: Mapping[str, np.ndarray], compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        archive.comment = bytes(_SEAL_SIZE)
    buffer.seek(0)
    seal = _seal(buffer, buffer.getbuffer().nbytes - _SEAL_SIZE)
    buffer.write(seal)
    return buffer.getvalue()


def _seal(file: BinaryIO, size: int) -> bytes:
    """The seal over the first bytes of a file, read from where it stands."""
    hashed = hashlib.blake2b(digest_size=16)
    while size and (chunk := file.read(min(CHUNK, size))):
        hashed.update(chunk)
        size -= len(chunk)
    return _SEAL_MARK + hashed.hexdigest().encode()


def _most_unpacked(file_size: int) -> int:
    return max(ALWAYS_ALLOWED, MOST_EXPANSION * file_size)


class Archive:
    """The arrays of an open ``.npz`` file.

    Attributes
    ----------
    sealed : bool
        Whether it has a seal, which then fits. Archives of the first format have none.
    """

    def __init__(self, handle: BinaryIO) -> None:
        size = os.fstat(handle.fileno()).st_size
        n_members, self.sealed = _end_of_archive(handle, size)
        if self.sealed:
            _check_seal(handle, size)
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
        """The names of the arrays, in the order of the file."""
        return list(self._members)

    def read(self, name: str, most_bytes: float = math.inf) -> np.ndarray:
        """One array."""
        info = self._members[name]
        if info.file_size > most_bytes:
            raise ValueError(f"{name!r} has {info.file_size:,} bytes; at most {most_bytes:,} are expected")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name!r} is compressed in a way that equirl does not use")
        with self._zip.open(info) as member:
            array = _empty_array(name, member, info.file_size)
            rest = _flat_bytes(array)
            while len(rest):
                chunk = member.read(min(CHUNK, len(rest)))
                if not chunk:
                    raise ValueError(f"{name!r} ends too early")
                rest[: len(chunk)] = chunk
                rest = rest[len(chunk) :]
            member.read(1)  # at the end the zip's own checksum is compared
        return array


def _end_of_archive(handle: BinaryIO, size: int) -> tuple[int, bool]:
    """The number of members that the end of a zip file declares, before anything is read of them; and if it is sealed.

    Nothing may follow that end but the seal.
    """
    handle.seek(max(0, size - _LOCATOR_SIZE - _END.size - _SEAL_SIZE))
    tail = handle.read()
    handle.seek(0)
    sealed = tail[-_SEAL_SIZE:].startswith(_SEAL_MARK)
    n_comment = _SEAL_SIZE if sealed else 0
    tail = tail[: len(tail) - n_comment][-_LOCATOR_SIZE - _END.size :]
    record = tail[-_END.size :]
    if len(record) < _END.size or record[:4] != b"PK\x05\x06" or record[-2:] != n_comment.to_bytes(2, "little"):
        raise ValueError("it is not whole: a zip file ends otherwise")
    n_members, directory_size = _END.unpack(record)[4:6]
    large = size > zipfile.ZIP64_LIMIT
    if n_members > MOST_MEMBERS or not (large or directory_size < size) or (not large and tail[:4] == b"PK\x06\x07"):
        raise ValueError(f"it has {n_members:,} members or more; at most {MOST_MEMBERS:,} are expected")
    return n_members, sealed


def _check_seal(handle: BinaryIO, size: int) -> None:
    expected = _seal(handle, size - _SEAL_SIZE)
    if handle.read() != expected:
        raise ValueError("its seal does not fit: it is not as it was written")
    handle.seek(0)


def _empty_array(name: str, member: Any, file_size: int) -> np.ndarray:
    """Room for the array that a member describes in its first bytes, if that is just what the member holds."""
    start = member.read(10)
    if start[:8] not in (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00"):
        raise ValueError(f"{name!r} is not an array")
    first = start[6] == 1
    start += b"" if first else member.read(2)
    length = int.from_bytes(start[8:], "little")
    if length > LONGEST_PREAMBLE:
        raise ValueError(f"{name!r} is described in {length:,} bytes; at most {LONGEST_PREAMBLE:,} are expected")
    preamble = io.BytesIO(start + member.read(length))
    preamble.seek(8)
    describe = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = describe(preamble)
    if dtype.hasobject or dtype.itemsize == 0 or any(n < 0 for n in shape):
        raise ValueError(f"{name!r} holds Python objects, or nothing that can be read")
    if len(start) + length + math.prod(shape) * dtype.itemsize != file_size:
        raise ValueError(f"{name!r} is not as long as it says")
    return np.empty(shape, dtype, order="F" if fortran else "C")


def _flat_bytes(array: np.ndarray) -> memoryview:
    """The bytes of a contiguous array, in place."""
    return (array if array.flags.c_contiguous else array.T).reshape(-1).view(np.uint8).data


def described(array: np.ndarray) -> dict[str, Any]:
    """What a file notes of an array, so that any change of it is seen.

    Examples
    --------
    >>> described(np.zeros(3))
    {'dtype': '<f8', 'shape': [3], 'blake2b': '941e0c502c87478811f1b6a130227018'}
    """
    content = hashlib.blake2b(_flat_bytes(np.ascontiguousarray(array)), digest_size=16).hexdigest()
    descr = np.lib.format.dtype_to_descr(array.dtype)
    return {"dtype": str(descr), "shape": list(array.shape), "blake2b": content}
