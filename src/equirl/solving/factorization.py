"""Sparse LU factors of I - diag(free) P for a policy's chain P, and what they cost before they are made.

Small systems are handed to SuperLU with its own ordering. Large ones are ordered first (COLAMD, which is quick on any
graph), the fill of that order is counted by walking the elimination tree, and only what is affordable is factored, with
pivots on the diagonal: the rows of I - P are diagonally dominant, so this is stable, and the fill is the one counted.
A bandwidth would not do: one edge that restarts a long chain makes it as wide as the chain is long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from equirl.numerics.compiling import kernel

SMALL = 20_000  # states up to which SuperLU orders by itself
MOST_FILL = 5 * 10**7  # entries of L, some 1.2 GB with U
MOST_WORK = 5e10  # multiplications


class OrderedFactors(NamedTuple):
    """LU factors of a matrix whose rows and columns were reordered alike."""

    lu: Any
    order: np.ndarray  # (n,) the old number of each new row

    def solve(self, right: np.ndarray, trans: str = "N") -> np.ndarray:
        """x with A x = right, or A' x = right for ``trans="T"``."""
        out = np.empty(len(right))
        out[self.order] = self.lu.solve(right[self.order], trans)
        return out


class TooMuchFill(ArithmeticError):  # noqa: N818 (it names the finding)
    """The factors of a chain would take more memory or time than allowed."""


def factor(chain: scipy.sparse.csr_array, free: np.ndarray, *, ordered: bool = False) -> Any:
    """The sparse LU of I - diag(free) P; None where it is singular to working precision.

    Raises :class:`TooMuchFill` where more than ``SMALL`` states (any number with ``ordered``) fill in too much.
    """
    scaled = chain.data * np.repeat(free, np.diff(chain.indptr))
    moves = scipy.sparse.csr_array((scaled, chain.indices, chain.indptr), shape=chain.shape)
    system = (scipy.sparse.csr_array(scipy.sparse.identity(len(free))) - moves).tocsc()
    try:
        if len(free) > SMALL or ordered:
            return _ordered_factors(system)
        return scipy.sparse.linalg.splu(system, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    except RuntimeError:
        return None


def _ordered_factors(system: scipy.sparse.csc_array) -> OrderedFactors:
    place = fill_reducing_order(system)
    n_fill, work = fill(system, place)
    if n_fill > MOST_FILL or work > MOST_WORK:
        raise TooMuchFill(
            f"the LU factors of a chain of {len(place)} states have more than {min(n_fill, MOST_FILL):.2g} entries"
        )
    order = np.empty(len(place), np.int64)
    order[place] = np.arange(len(place))
    options = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
    return OrderedFactors(
        scipy.sparse.linalg.splu(system[order][:, order], permc_spec="NATURAL", options=options), order
    )


def fill_reducing_order(system: scipy.sparse.csc_array) -> np.ndarray:
    """(n,) the place of each row and column in an order that keeps the factors sparse."""
    n = system.shape[0]
    pattern = scipy.sparse.csc_array((np.full(system.nnz, 1e-9), system.indices, system.indptr), shape=system.shape)
    pattern = scipy.sparse.csc_array(pattern + scipy.sparse.csc_array(scipy.sparse.identity(n)))
    return scipy.sparse.linalg.spilu(pattern, drop_tol=1.0, fill_factor=1.0, permc_spec="COLAMD").perm_c


def fill(system: scipy.sparse.csc_array, place: np.ndarray) -> tuple[int, float]:
    """Entries of L, and multiplications to find it, when rows and columns are eliminated in this order.

    Counting stops beyond ``MOST_FILL`` entries.
    """
    column = np.repeat(np.arange(system.shape[1]), np.diff(system.indptr))
    one, two = place[system.indices], place[column]
    later, earlier = np.maximum(one, two), np.minimum(one, two)
    lower = scipy.sparse.csr_array((np.ones(len(one), np.int8), (later, earlier)), shape=system.shape)
    counts = np.zeros(system.shape[0], np.int64)
    n_fill = _count_fill(lower.indptr.astype(np.int64), lower.indices.astype(np.int64), counts, MOST_FILL)
    return n_fill, float((counts.astype(float) ** 2).sum())


@kernel
def _count_fill(ptr: np.ndarray, earlier: np.ndarray, counts: np.ndarray, most: int) -> int:
    """``counts``: entries below the diagonal of each column of L; their sum, or what it was when it passed ``most``."""
    n, total = len(counts), 0
    parent, mark = np.full(n, -1), np.full(n, -1)
    for i in range(n):
        mark[i] = i
        for place in range(ptr[i], ptr[i + 1]):
            j = earlier[place]
            while mark[j] != i:  # up the elimination tree: row i of L has an entry in each column on the way
                mark[j] = i
                counts[j] += 1
                total += 1
                if parent[j] < 0:
                    parent[j] = i
                j = parent[j]
        if total > most:
            break
    return total
