"""Which classes stand side by side: pairs of one state tell about each other.

On a river every state has one pair that swims and one that drifts, on a floor all four of a state walk. So a pair of
few visits, or of none, is more likely of a class that was found beside the classes of its neighbours. The pairs of a
state stand in a ring, each beside the next and the one before. With m_cd how often a pair of class c has one of class
d beside it, e_c how often it has any, and E the sum of all, a class c weighs, for each neighbour of class d,

    (m_cd + eta)  /  (e_c e_d / E + eta)

times as much: how often c and d are side by side, against how often they would be by chance; eta says how many times
it takes to notice. A new class weighs as it did, and so do two that were hardly met.

All counts are of the other pairs, so that each pair is drawn given the rest (a dependency network, Heckerman et al.
2000); the steps as a whole need not be those of one prior of all classes.

Cost of a factor: O(1), m_cd is looked up in a table. Memory: O(pairs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.compiling import lean_kernel

FREE = -1


class Sides(NamedTuple):
    """Neighbours of pairs, and how often their classes are found side by side; changed in place."""

    eta: float  # infinite: neighbours say nothing
    ring: np.ndarray  # (M, 2) int64: the pairs beside each, -1 for none
    ends: np.ndarray  # (M + 1,) int64: per class
    key: np.ndarray  # (cells,) int64: two classes in one number, or FREE
    met: np.ndarray  # (cells,) int64: neighbours of these classes, twice those of one class
    used: np.ndarray  # (2,) int64: cells that are not free, and all ends


def make_sides(pair_ptr: np.ndarray, eta: float) -> Sides:
    """The rings of states with these pairs; no pair has a class yet. With an infinite ``eta`` nobody has neighbours."""
    M, sizes = int(pair_ptr[-1]), np.diff(pair_ptr)
    first, n, ring = np.repeat(pair_ptr[:-1], sizes), np.repeat(sizes, sizes), np.full((M, 2), -1)
    if eta < np.inf:
        for side, step, fewest in ((0, 1, 2), (1, -1, 3)):
            ring[:, side] = np.where(n >= fewest, first + (np.arange(M) - first + step) % n, -1)
    cells = 1 << max(4, (4 * M).bit_length()) if eta < np.inf else 16
    return Sides(
        float(eta), ring, np.zeros(M + 1, np.int64), np.full(cells, FREE), np.zeros(cells, np.int64),
        np.zeros(2, np.int64),
    )  # fmt: skip


@lean_kernel
def has_room(sides: Sides) -> bool:
    """Whether a pair can change its class without the table growing more than half full."""
    return 2 * (sides.used[0] + 2) <= len(sides.key)


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
        sides.used[0] += 1
    sides.met[i] += 2 * sign if c == d else sign
    sides.ends[c] += sign
    sides.ends[d] += sign
    sides.used[1] += 2 * sign


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
    sides.met[:] = 0
    sides.key[:] = FREE
    sides.used[:] = 0
    for k in range(len(label)):
        for side in range(2):
            other = sides.ring[k, side]
            if 0 <= other < k and label[k] >= 0 and label[other] >= 0:
                _count(label[k], label[other], 1, sides)


@lean_kernel
def factor_beside(k: int, c: int, label: np.ndarray, sides: Sides) -> float:
    """What the classes of pair k's neighbours weigh for k, which is not counted, in class c."""
    factor = 1.0
    for side in range(2):
        other = sides.ring[k, side]
        if other < 0 or label[other] < 0:
            continue
        d = label[other]
        i = _cell(c, d, sides)
        times = sides.met[i] if sides.key[i] != FREE else 0
        by_chance = float(sides.ends[c]) * sides.ends[d] / max(1, sides.used[1])
        factor *= (times + sides.eta) / (by_chance + sides.eta)
    return factor
