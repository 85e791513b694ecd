"""Arrays that kernels can rely on: owned, of one type, read-only; and rows of different lengths laid end to end.

Rows of different lengths are kept in one flat array; row k lies in ``ptr[k]:ptr[k + 1]``. Kernels trust ``ptr``, so
it is checked wherever it comes from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from equirl.words.checking import LARGEST, plain_array


def starts(sizes: Any) -> np.ndarray:
    """Where rows of these sizes start, laid end to end, and where the last ends: [0, 2, 2, 5] for [2, 0, 3]."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def owners(ptr: np.ndarray) -> np.ndarray:
    """The row that each entry lies in: [0, 0, 2, 2, 2] for the starts [0, 2, 2, 5]."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def places_in_rows(ptr: np.ndarray) -> np.ndarray:
    """Where each entry stands in its row: [0, 1, 0, 1, 2] for the starts [0, 2, 2, 5]."""
    return np.arange(ptr[-1]) - np.repeat(ptr[:-1], np.diff(ptr))


def take_rows(ptr: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The starts of some rows laid end to end in the order given, and the old places of their entries."""
    first, last = ptr[rows], ptr[rows + 1]
    new = starts(last - first)
    return new, np.repeat(first - new[:-1], last - first) + np.arange(new[-1])


def rows_by_length(ptr: np.ndarray, at_once: int) -> Iterator[np.ndarray]:
    """(n, length) places of the entries of up to ``at_once`` rows of one length, until every row had its turn."""
    sizes = np.diff(ptr)
    narrow = sizes.astype(np.uint16) if sizes.max(initial=0) < 2**16 else sizes  # NumPy sorts these by radix
    order = np.argsort(narrow, kind="stable")
    lengths, size = np.unique(narrow, return_counts=True)
    for length, begin, end in zip(lengths.tolist(), starts(size)[:-1], starts(size)[1:], strict=True):
        for start in range(begin, end, at_once):
            yield ptr[order[start : min(start + at_once, end)]][:, None] + np.arange(length)


def number_by_appearance(labels: np.ndarray) -> np.ndarray:
    """Numbers in place of labels, 0 for the first, each new one the next: [0, 1, 0, 2] for [7, 3, 7, 0]."""
    if labels.dtype.kind == "i" and labels.size and labels.min() >= 0 and labels.max() < 2 * labels.size:
        place = np.arange(len(labels))
        seen_at = np.empty(labels.max() + 1, np.int64)
        seen_at[labels[::-1]] = place[::-1]  # of equal labels the first is written last
        first = seen_at[labels]
        return (np.cumsum(first == place) - 1)[first]
    _, first, where = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[where]


def check_starts(name: str, ptr: np.ndarray, n_rows: int, n_entries: int) -> None:
    """Refuse starts that would lead a kernel outside its arrays."""
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
    """Refuse counts of successors that do not sum to the visits of their pair."""
    if counts.sum(dtype=float) >= LARGEST:
        raise ValueError(f"the counts sum to {counts.sum(dtype=float):g}, more than {LARGEST}")
    total = starts(counts)
    sums = total[ptr[1:]] - total[ptr[:-1]]
    wrong = np.flatnonzero(sums != visits)
    if len(wrong):
        k = int(wrong[0])
        raise ValueError(f"pair {k} has {visits[k]:g} visits, and its counts sum to {sums[k]}")


def sealed(values: np.ndarray) -> np.ndarray:
    """The array, read-only from now on: what its maker hands over, so that :func:`frozen` need not copy it."""
    values.setflags(write=False)
    return values


def read_only(values: np.ndarray) -> np.ndarray:
    """A view that cannot be written to: kernels are compiled anew for arrays that can."""
    return sealed(values.view())


def frozen(name: str, values: Any, dtype: Any) -> np.ndarray:
    """A read-only copy of that type, or the array itself if it is one; an error where values do not fit the type."""
    found, dtype = plain_array(name, values), np.dtype(dtype)
    if found.dtype == dtype and found.flags.owndata and found.flags.c_contiguous and not found.flags.writeable:
        return found
    if found.size and not np.can_cast(found.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} must hold {dtype.name}, not {found.dtype}")
    if found.size and dtype.kind == "i":
        limits = np.iinfo(dtype)
        for extreme in (int(found.min()), int(found.max())):
            if not limits.min <= extreme <= limits.max:
                place = int((found == extreme).argmax())
                raise ValueError(f"{name} must fit {dtype.name}; entry {place} is {extreme}")
    return sealed(np.array(found, dtype=dtype, order="C"))


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
