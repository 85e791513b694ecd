"""Compiled kernels on disk: Numba's cache, with a seal on every file, so that a damaged one is compiled again.

Numba trusts its files: a truncated one ends every later run with an error of ``pickle``, and a changed one may be
machine code that does something else. Here each file ends in a hash of what stands before; one that does not fit, or
was left by a full disk or a power cut, counts as absent and is written anew.
"""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import caching

_numba: Any = caching  # without types
SEAL = b"equirl"
HASH_SIZE = 16


class KernelCache(_numba.FunctionCache):  # type: ignore[misc]
    """The cache of one kernel. Whatever goes wrong with its files, the kernel is compiled and works.

    Parameters
    ----------
    function : callable
        The plain body of the kernel.

    Raises
    ------
    RuntimeError
        Where no folder for a cache can be written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        place = self._impl.locator
        self._cache_file = SealedFiles(place.get_cache_path(), self._impl.filename_base, place.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; None where it must be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # what an unreadable pickle or object file raises is open-ended
            _say(f"{self.cache_path}: the compiled {self._py_func.__name__} cannot be used ({error}); compiling it")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that is possible."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say(f"{self.cache_path}: the compiled {self._py_func.__name__} cannot be kept ({error.strerror or error})")


class SealedFiles(_numba.IndexDataCacheFile):  # type: ignore[misc]
    """The index and data files of one kernel, each sealed with a hash of its content."""

    def _load_index(self) -> Any:
        return super()._load_index() if self._is_whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not self._is_whole(self._data_path(name)):
            raise FileNotFoundError(name)  # for Numba: compile it
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(sealed(content.getvalue()))

    def _is_whole(self, path: str) -> bool:
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return False
        whole = content == sealed(content[: -len(SEAL) - HASH_SIZE])
        if not whole and not content.endswith(b"."):  # as pickles end: one without a seal, from earlier
            _say(f"{path}, of a compiled inner loop, is damaged; compiling it again")
        return whole


def sealed(content: bytes) -> bytes:
    """Content with its seal; readers of pickles ignore what follows them.

    Parameters
    ----------
    content : bytes
        What a file of the cache holds.

    Returns
    -------
    bytes
    """
    return content + SEAL + hashlib.blake2b(content, digest_size=HASH_SIZE).digest()


@cache
def _say(text: str) -> None:
    """Once for each file."""
    logging.getLogger("equirl").warning(text)
