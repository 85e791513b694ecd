"""Transition probabilities as sparse rows by pair: the type, how rows are put together, and what must hold of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.model.pairs import Pairs
from equirl.numerics.arrays import check_starts, frozen, owners, sealed, starts, take_rows
from equirl.numerics.compiling import lean_kernel
from equirl.words.formatting import shown

INDEX = np.int32  # states are numbered with this type
ROW_TOLERANCE = 1e-8
AT_ONCE = 2**13  # rows made or sorted at a time: what that needs stays in the processor's cache
NORMALIZE_WITHIN = 1e-3  # how far from 1 a sum may be to be divided out where that is asked for


class Rows(NamedTuple):
    """Transition probabilities as sparse rows by pair: of an MDP, of estimates, of drawn models.

    Parameters
    ----------
    ptr : ndarray of int64, shape (M + 1,)
        The entries of pair k are ``ptr[k]:ptr[k + 1]``.
    succ : ndarray of int32, shape (nnz,)
        The next state of each entry; in an MDP increasing inside a row.
    prob : ndarray of float64, shape (nnz,)
        Its probability; in an MDP positive.

    Examples
    --------
    >>> rows = Rows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([0.5, 0.5, 1.0]))
    >>> rows.succ[rows.row(0)], rows.take(np.array([1])).prob
    (array([0, 1]), array([1.]))
    """

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) int32
    prob: np.ndarray  # (nnz,) float64

    def row(self, pair: int) -> slice:
        """Where the entries of a pair are."""
        return slice(self.ptr[pair], self.ptr[pair + 1])

    def take(self, pairs: np.ndarray) -> Rows:
        """The rows of some pairs alone, numbered 0, 1, ... in the order given."""
        ptr, entry = take_rows(self.ptr, pairs)
        return Rows(ptr, self.succ[entry], self.prob[entry])


def check_n_states(n_states: int) -> None:
    limit = np.iinfo(INDEX).max
    if n_states > limit:
        raise ValueError(f"{n_states} states are too many: states are numbered with {np.dtype(INDEX)}, up to {limit}")


def rows_from_triplets(
    pairs: Pairs, pair: np.ndarray, succ: np.ndarray, prob: np.ndarray, *, normalize: bool = False
) -> Rows:
    """Rows from entries in any order; duplicates are summed, zeros dropped. O(n log n)."""
    S, M = pairs.n_states, pairs.n_pairs
    check_entries(pairs, pair, succ, prob)
    key = pair.astype(np.int64) * S + succ
    key, where = np.unique(key, return_inverse=True)
    mass = np.bincount(where, weights=prob, minlength=len(key))
    key, mass = key[mass > 0], mass[mass > 0]
    row = key // S
    if normalize:
        mass = mass / _sums(pairs, row, mass, NORMALIZE_WITHIN)[row]
    _sums(pairs, row, mass, ROW_TOLERANCE)
    return Rows(starts(np.bincount(row, minlength=M)), (key % S).astype(INDEX), mass)


def rows_from_table(succ: np.ndarray, prob: np.ndarray, n_columns: int) -> Rows:
    """Rows of ``n_columns`` entries each, laid end to end and sorted in place: distinct successors, none of mass 0."""
    found = np.empty(len(succ), INDEX)
    for first in range(0, len(succ), AT_ONCE * n_columns):
        part = slice(first, first + AT_ONCE * n_columns)
        rows, mass = succ[part].reshape(-1, n_columns), prob[part].reshape(-1, n_columns)
        order = rows.argsort(axis=1)
        found[part] = np.take_along_axis(rows, order, axis=1).ravel()
        mass[:] = np.take_along_axis(mass, order, axis=1)
    ptr = np.arange(0, len(succ) + 1, n_columns, dtype=np.int64)
    return Rows(sealed(ptr), sealed(found), sealed(prob))


def checked_rows(pairs: Pairs, rows: Rows) -> Rows:
    """Rows that kernels can rely on: owned and read-only, after a check of all that :class:`Rows` promises. O(nnz)."""
    if not isinstance(pairs, Pairs):
        raise TypeError(f"pairs must be Pairs, not {shown(pairs)}; TabularMDP.from_pairs takes a list")
    if not isinstance(rows, Rows):
        raise TypeError(f"rows must be Rows, not {shown(rows)}; TabularMDP.from_rows takes matrices and arrays")
    ptr = frozen("rows.ptr", rows.ptr, np.int64)
    succ, prob = frozen("rows.succ", rows.succ, INDEX), frozen("rows.prob", rows.prob, float)
    if ptr.shape != (pairs.n_pairs + 1,) or succ.ndim != 1 or succ.shape != prob.shape:
        raise ValueError(f"rows of shapes {ptr.shape}, {succ.shape}, {prob.shape} do not match {pairs.n_pairs} pairs")
    check_starts("rows.ptr", ptr, pairs.n_pairs, len(succ))
    rows = Rows(ptr, succ, prob)
    if not _sound(rows, pairs.n_states):
        _refuse(pairs, rows)
    return rows


def _sound(rows: Rows, n_states: int) -> bool:
    """Whether rows hold positive probabilities that sum to 1, and successors that are there and increase."""
    ptr, succ, prob = rows
    if (ptr[1:] == ptr[:-1]).any() or not (prob.min() > 0 and prob.max() < np.inf):
        return False
    rises = succ[1:] > succ[:-1]
    rises[ptr[1:-1] - 1] = True  # from one row to the next
    total = np.add.reduceat(prob, ptr[:-1])
    sums = max(total.max() - 1, 1 - total.min())
    return bool(rises.all() and succ.min() >= 0 and succ.max() < n_states and sums <= ROW_TOLERANCE)


def _refuse(pairs: Pairs, rows: Rows) -> None:
    """An error that names what is wrong with rows, if anything is."""
    _, succ, prob = rows
    row = owners(rows.ptr)
    check_entries(pairs, row, succ, prob)
    bad = np.flatnonzero((np.diff(row) == 0) & (np.diff(succ) <= 0))
    if len(bad):
        raise ValueError(f"the successors of ({pairs.describe(int(row[bad[0]]))}) are not increasing")
    bad = np.flatnonzero(prob == 0)
    if len(bad):
        raise ValueError(f"p({succ[bad[0]]} | {pairs.describe(int(row[bad[0]]))}) is 0; store positive ones only")
    _sums(pairs, row, prob, ROW_TOLERANCE)


def check_entries(pairs: Pairs, pair: np.ndarray, succ: np.ndarray, prob: np.ndarray) -> None:
    """Refuse an entry that is no probability, or whose successor is not there; the error names its pair."""
    S = pairs.n_states
    bad = np.flatnonzero(~np.isfinite(prob) | (prob < 0))
    if len(bad):
        k = bad[0]
        raise ValueError(f"p({int(succ[k])} | {pairs.describe(int(pair[k]))}) is {prob[k]}, not a probability")
    bad = np.flatnonzero((succ < 0) | (succ >= S))
    if len(bad):
        k = bad[0]
        raise ValueError(
            f"p(. | {pairs.describe(int(pair[k]))}) leads to unknown state {int(succ[k])}: states are 0 to {S - 1}"
        )


def _sums(pairs: Pairs, row: np.ndarray, prob: np.ndarray, tolerance: float) -> np.ndarray:
    """(M,) the sum of each row, checked."""
    total = np.bincount(row, weights=prob, minlength=pairs.n_pairs)
    bad = np.flatnonzero(np.abs(total - 1) > tolerance)
    if len(bad):
        k = int(bad[0])
        near = np.abs(total[bad] - 1).max() <= NORMALIZE_WITHIN
        remedy = "; the makers divide rounded rows by their sums with normalize=True" if near else ""
        raise ValueError(f"p(. | {pairs.describe(k)}) sums to {total[k]:.10g}, not 1{remedy}")
    return total


@lean_kernel
def place_of(values: np.ndarray, first: int, last: int, wanted: int) -> int:
    """The first place from ``first`` on, before ``last``, that holds a value; ``last`` where none does."""
    i = first
    while i < last and values[i] != wanted:
        i += 1
    return i


@lean_kernel
def contains(values: np.ndarray, first: int, last: int, wanted: int) -> bool:
    return place_of(values, first, last, wanted) < last
