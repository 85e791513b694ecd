"""Why results cannot be kept, in words, with what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(Exception):
    """Results cannot be kept: the disk is full, or the folder cannot be written."""


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn the system's errors of writing into one that says what happened, that nothing is lost, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "the disk is full. Finished runs are safe; free some space and give the same command again"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            remedy = "it is not writable. Choose another folder with --out, or change its permissions"
        elif error.errno == errno.ENOENT:
            remedy = "it was removed while the study ran. Give the same command again to compute what is gone"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST):
            remedy = "a file stands where a folder should be. Choose another folder with --out"
        else:
            remedy = f"{error}. Finished runs are safe; give the same command again when this is solved"
        raise StoreError(f"cannot keep results in {folder}: {remedy}") from error
