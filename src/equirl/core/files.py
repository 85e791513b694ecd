"""Files that are whole or absent: written aside and renamed, named by kind and version, never pickled."""

from __future__ import annotations

import errno
import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class DamagedFile(ValueError):  # noqa: N818 (it names the file, not the failure)
    """A file that cannot be trusted: truncated, altered, or written by something else."""


def write_aside(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write ``content`` to ``path`` so that a reader, or a crash, sees the old file or the new one, never a part.

    Parameters
    ----------
    path : str or path
        Where the file goes; folders on the way are made.
    content : bytes
        What it holds.

    Returns
    -------
    pathlib.Path
        The path written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:  # name the file that was asked for
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, 0o666 & ~_umask())
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    return path


def check_place(path: str | os.PathLike[str]) -> None:
    """An error where a file surely cannot be written; ask before long work.

    Parameters
    ----------
    path : str or path
        Where the file would go.

    Raises
    ------
    OSError
        If a folder on the way is none, if the path is one, or if it must not be written.
    """
    place = Path(path).absolute().parent
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def save_npz(
    path: str | os.PathLike[str], kind: str, version: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> Path:
    """Save named arrays and JSON-able ``meta`` as a compressed ``.npz`` marked with its ``kind`` and format version.

    Parameters
    ----------
    path : str or path
        Where the file goes.
    kind : str
        What the file holds, such as "equirl-mdp".
    version : int
        The version of that format.
    arrays : mapping of str to ndarray
        What to save; no Python objects.
    meta : mapping
        What else to save, as JSON.

    Returns
    -------
    pathlib.Path
        The path written.
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects, which only a pickle could keep")
    header = json.dumps({"kind": kind, "version": version, "meta": dict(meta)})
    buffer = io.BytesIO()
    contents: dict[str, Any] = {"header": np.array(header), **arrays}
    np.savez_compressed(buffer, **contents)
    return write_aside(path, buffer.getvalue())


def load_npz(path: str | os.PathLike[str], kind: str, *versions: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Load what :func:`save_npz` saved; a damaged or foreign file is a :class:`DamagedFile` that says which.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What it should hold.
    *versions : int
        The versions of the format that the caller reads, the newest last.

    Returns
    -------
    arrays : dict of str to ndarray
    meta : dict
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as handle:
            if handle.read(2) != b"PK":  # NumPy would take other bytes for a pickle
                raise DamagedFile(f"{path} is not an equirl file: it is no .npz archive")
            handle.seek(0)
            with np.load(handle, allow_pickle=False) as file:
                header = json.loads(str(file["header"])) if "header" in file else None
                arrays = {name: file[name] for name in file.files if name != "header"}
    except (FileNotFoundError, PermissionError, IsADirectoryError, DamagedFile):
        raise
    except Exception as error:  # what a zip or npy reader raises on foreign bytes is open-ended
        raise DamagedFile(f"{path} cannot be read as an equirl file: {error}") from error
    if not isinstance(header, dict) or not {"kind", "version", "meta"} <= set(header):
        raise DamagedFile(f"{path} is not an equirl file: it has no header")
    if header["kind"] != kind:
        raise DamagedFile(f"{path} holds {header['kind']!r}, not {kind!r}")
    if header["version"] not in versions:
        raise DamagedFile(
            f"{path} has format version {header['version']}; this equirl reads version {versions[-1]}. "
            "Load it with the equirl that wrote it"
        )
    return arrays, header["meta"]
