"""Arrays that kernels can rely on: owned, of one type, read-only; and rows of different lengths laid end to end.

Rows of different lengths are kept in one flat array; row k lies in ``ptr[k]:ptr[k + 1]``. Kernels trust ``ptr``, so
it is checked wherever it comes from outside.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from equirl.words.checking import LARGEST, plain_array


def starts(sizes: Any) -> np.ndarray:
    """Where rows of these sizes start, laid end to end, and where the last one ends.

    Examples
    --------
    >>> starts([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def owners(ptr: np.ndarray) -> np.ndarray:
    """The row that each entry lies in.

    Examples
    --------
    >>> owners(np.array([0, 2, 2, 5]))
    array([0, 0, 2, 2, 2])
    """
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def take_rows(ptr: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some rows, laid end to end in the order given.

    Examples
    --------
    >>> take_rows(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([0, 3, 5]), array([2, 3, 4, 0, 1]))
    """
    first, last = ptr[rows], ptr[rows + 1]
    new = starts(last - first)
    return new, np.repeat(first - new[:-1], last - first) + np.arange(new[-1])


def number_by_appearance(labels: np.ndarray) -> np.ndarray:
    """Numbers in place of labels: 0 for the first, each new one the next.

    Examples
    --------
    >>> number_by_appearance(np.array([7, 3, 7, 0]))
    array([0, 1, 0, 2])
    """
    _, first, where = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[where]


def check_starts(name: str, ptr: np.ndarray, n_rows: int, n_entries: int) -> None:
    """Refuse starts that would lead a kernel outside its arrays.

    Examples
    --------
    >>> check_starts("rows.ptr", np.array([0, 3, 2]), 2, 2)
    Traceback (most recent call last):
    ValueError: rows.ptr must run from 0 to 2 without falling; entry 1 is 3, entry 2 is 2
    """
    if ptr.shape != (n_rows + 1,):
        raise ValueError(f"{name} must have shape ({n_rows + 1},), one entry per row and one more, not {ptr.shape}")
    if ptr[0] != 0 or ptr[-1] != n_entries:
        raise ValueError(
            f"{name} must run from 0 to {n_entries}, the number of entries, not from {ptr[0]} to {ptr[-1]}"
        )
    falls = np.flatnonzero(ptr[1:] < ptr[:-1])  # differences could overflow
    if len(falls):
        k = int(falls[0])
        found = f"entry {k} is {ptr[k]}, entry {k + 1} is {ptr[k + 1]}"
        raise ValueError(f"{name} must run from 0 to {n_entries} without falling; {found}")


def check_visits(visits: np.ndarray, ptr: np.ndarray, counts: np.ndarray) -> None:
    """Refuse counts of successors that do not sum to the visits of their pair.

    Examples
    --------
    >>> check_visits(np.array([3, 1]), np.array([0, 2, 3]), np.array([2, 1, 2]))
    Traceback (most recent call last):
    ValueError: pair 1 has 1 visits, and its counts sum to 2
    """
    if counts.sum(dtype=float) >= LARGEST:
        raise ValueError(f"the counts sum to {counts.sum(dtype=float):g}, more than {LARGEST}")
    total = starts(counts)
    sums = total[ptr[1:]] - total[ptr[:-1]]
    wrong = np.flatnonzero(sums != visits)
    if len(wrong):
        k = int(wrong[0])
        raise ValueError(f"pair {k} has {visits[k]:g} visits, and its counts sum to {sums[k]}")


def frozen(name: str, values: Any, dtype: Any) -> np.ndarray:
    """A read-only copy of that type, which nobody else holds.

    Examples
    --------
    >>> frozen("ptr", [0, 2], np.int64).flags.writeable
    False
    >>> frozen("succ", [2**32], np.int32)
    Traceback (most recent call last):
    ValueError: succ must fit int32; entry 0 is 4294967296
    """
    found, dtype = plain_array(name, values), np.dtype(dtype)
    if found.size and not np.can_cast(found.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} must hold {dtype.name}, not {found.dtype}")
    if found.size and dtype.kind == "i":
        limits = np.iinfo(dtype)
        for extreme in (int(found.min()), int(found.max())):
            if not limits.min <= extreme <= limits.max:
                place = int((found == extreme).argmax())
                raise ValueError(f"{name} must fit {dtype.name}; entry {place} is {extreme}")
    own = np.array(found, dtype=dtype, order="C")
    own.setflags(write=False)
    return own


class Frozen:
    """Base of the frozen dataclasses that own read-only arrays.

    A copy, shallow or deep, is the object itself: nothing in it can change. A pickle is read back through the
    constructor, so that it is checked and read-only again.
    """

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
