"""Paths given by a user, checked once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from equirl.words.formatting import shown


def checked_path(name: str, path: Any) -> Path:
    """A path that the system can be asked for.

    Examples
    --------
    >>> checked_path("path", 3)
    Traceback (most recent call last):
    TypeError: path must be a str or a path, not 3
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str or a path, not {shown(path)}")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"{name} cannot be written in the system's encoding: {shown(text)}") from None
    if "\0" in text:
        raise ValueError(f"{name} holds a null character: {shown(text)}")
    return Path(text)
