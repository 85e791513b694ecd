"""Which classes stand side by side: pairs of one state tell about each other.

On a river every state has one pair that swims and one that drifts, on a floor all four of a state walk. So a pair of
few visits, or of none, is more likely of a class that was found beside the classes of its neighbours. The pairs of a
state stand in a ring, each beside the next and the one before. With m_cd the neighbours that are of classes c and d,
and e_c the ends of such that are in c, a partition weighs, beside what else it weighs,

    prod over c < d of eta (eta + 1) ... (eta + m_cd - 1)  *  prod over c of eta (eta + 2) ... (eta + 2 m_cc - 2)
        /  prod over c of kappa (kappa + 1) ... (kappa + e_c - 1).

So a class c gains, for each neighbour of class d, the factor (eta + m_cd) / (kappa + e_c): how often c had d beside it.

Cost of a factor: O(1), m_cd is looked up in a table. Memory: O(pairs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.core.compiling import lean_kernel

SPREAD = 5.0  # kappa / eta: a class of which nothing is known has any given one beside it with chance 1 / SPREAD
FREE = -1


class Sides(NamedTuple):
    """Neighbours of pairs, and how often their classes are found side by side; changed in place."""

    eta: float  # 0: neighbours say nothing
    ring: np.ndarray  # (M, 2) int64: the pairs beside each, -1 for none
    ends: np.ndarray  # (M + 1,) int64: per class
    key: np.ndarray  # (cells,) int64: two classes in one number, or FREE
    count: np.ndarray  # (cells,) int64: neighbours of these classes, twice those of one class
    filled: np.ndarray  # (1,) int64: cells that are not free


def make_sides(pair_ptr: np.ndarray, eta: float) -> Sides:
    """The rings of states with these pairs; no pair has a class yet. With ``eta`` 0 nobody has neighbours."""
    M, sizes = int(pair_ptr[-1]), np.diff(pair_ptr)
    first, n, ring = np.repeat(pair_ptr[:-1], sizes), np.repeat(sizes, sizes), np.full((M, 2), -1)
    if eta > 0:
        for side, step, fewest in ((0, 1, 2), (1, -1, 3)):
            ring[:, side] = np.where(n >= fewest, first + (np.arange(M) - first + step) % n, -1)
    cells = 1 << max(4, (4 * M).bit_length()) if eta > 0 else 16
    return Sides(
        float(eta), ring, np.zeros(M + 1, np.int64), np.full(cells, FREE), np.zeros(cells, np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip


@lean_kernel
def has_room(sides: Sides) -> bool:
    """Whether a pair can change its class without the table growing more than half full."""
    return 2 * (sides.filled[0] + 2) <= len(sides.key)


@lean_kernel
def _cell(c: int, d: int, sides: Sides) -> int:
    """Where the count of two classes is, or the free cell where it would be."""
    low, high = min(c, d), max(c, d)
    key, last = low * len(sides.ends) + high, len(sides.key) - 1
    i = ((low * 40_503 + high) * 65_599 >> 5) & last
    while sides.key[i] != key and sides.key[i] != FREE:
        i = (i + 1) & last
    return i


@lean_kernel
def _count(c: int, d: int, sign: int, sides: Sides) -> None:
    i = _cell(c, d, sides)
    if sides.key[i] == FREE:
        sides.key[i] = min(c, d) * len(sides.ends) + max(c, d)
        sides.filled[0] += 1
    sides.count[i] += 2 * sign if c == d else sign
    sides.ends[c] += sign
    sides.ends[d] += sign


@lean_kernel
def count_beside(k: int, c: int, sign: int, label: np.ndarray, sides: Sides) -> None:
    """Pair k comes to class c (sign 1) or leaves it (-1): count the neighbours that have a class."""
    for side in range(2):
        other = sides.ring[k, side]
        if other >= 0 and label[other] >= 0:
            _count(c, label[other], sign, sides)


@lean_kernel
def count_all(label: np.ndarray, sides: Sides) -> None:
    """Count the neighbours of all pairs anew."""
    sides.ends[:] = 0
    sides.count[:] = 0
    sides.key[:] = FREE
    sides.filled[0] = 0
    for k in range(len(label)):
        for side in range(2):
            other = sides.ring[k, side]
            if 0 <= other < k and label[k] >= 0 and label[other] >= 0:
                _count(label[k], label[other], 1, sides)


@lean_kernel
def factor_beside(k: int, c: int, label: np.ndarray, sides: Sides) -> float:
    """What the classes of pair k's neighbours weigh for k, which is not counted, in class c; -1 is a new one."""
    factor, met, own, before = 1.0, 0, 0, -1
    for side in range(2):
        other = sides.ring[k, side]
        if other < 0 or label[other] < 0:
            continue
        d, m = label[other], 0
        if c >= 0:
            i = _cell(c, d, sides)
            m = sides.count[i] if sides.key[i] != FREE else 0
        if d == before:
            m += 2 if c == d else 1
        factor *= sides.eta + m
        met, own, before = met + 1, own + (c == d), d
    for i in range(met):
        factor /= SPREAD * sides.eta + (sides.ends[c] if c >= 0 else 0) + own + i
    return factor
