"""Files that cannot be trusted: renamed ``*.damaged``, so that they are neither used nor lost."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain, count
from pathlib import Path


def make_way(path: Path) -> Path:
    """The path, at which now stands a file or nothing: anything else, such as a folder, is renamed."""
    if path.exists() and not path.is_file():
        renamed(path)
    return path


def renamed(path: Path) -> Path:
    """Give a file that cannot be trusted a name at which nothing stands yet."""
    suffixes = chain([""], (f"-{k}" for k in count(2)))
    names = (path.with_name(f"{path.name}.damaged{suffix}") for suffix in suffixes)
    aside = next(name for name in names if not os.path.lexists(name))
    with suppress(FileNotFoundError):  # another process may be faster
        os.rename(path, aside)
    return aside
