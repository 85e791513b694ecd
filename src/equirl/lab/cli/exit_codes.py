"""With which code a command ends, and what it says then in one line."""

from __future__ import annotations

import errno

FAILED, MISTAKE, STOPPED, INTERRUPTED = 1, 2, 3, 130
# runs failed; a mistake in what was asked; results cannot be kept or computed; Ctrl-C
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CANNOT_KEEP = (*NO_ROOM, errno.EROFS, errno.EIO)


def code_of(error: BaseException) -> int:
    """The code with which a command ends that an error stopped.

    Examples
    --------
    >>> code_of(ValueError("n_states must be at least 2")), code_of(OSError(errno.ENOSPC, "No space left on device"))
    (2, 3)
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return STOPPED if isinstance(error, OSError) and error.errno in CANNOT_KEEP else MISTAKE


def in_one_line(error: BaseException) -> str:
    """An error as one line for a person.

    Examples
    --------
    >>> in_one_line(FileNotFoundError(2, "No such file or directory", "river.npz"))
    'river.npz: No such file or directory'
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return f"{said}; free some space and give the same command again" if error.errno in NO_ROOM else said
    return " ".join(str(error).split()) or type(error).__name__
