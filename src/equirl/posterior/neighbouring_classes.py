"""Which classes are neighbours: pairs of one state are evidence about each other.

On a river every state has one pair that swims and one that drifts, on a floor all four of a state walk. So a pair of
few visits, or of none, is more likely of a class that was often a neighbour of its neighbours' classes. The pairs of a
state form a ring: the neighbours of a pair are the next and the one before. With m_cd how often a pair of class c has a
neighbour of class d, e_c how often it has any, and E the sum of all, a class c weighs, for each neighbour of class d,

    (m_cd + eta)  /  (e_c e_d / E + eta)

times as much: how often c and d are neighbours, against how often they would be by chance; eta is how many times it
takes to notice. A new class weighs as it did, and so do two that were hardly met.

All counts are of the other pairs, so that each pair is drawn given the rest (a dependency network, Heckerman et al.
2000); the steps as a whole need not be those of one prior of all classes.

Cost of a factor: O(1), m_cd is looked up in a table. Memory: O(pairs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.compiling import lean_kernel

FREE = -1
FIRST_CELLS = 1 << 14  # of the table at first


class Neighbours(NamedTuple):
    """Neighbours of pairs, and how often their classes are neighbours; changed in place."""

    eta: float  # infinite: neighbours say nothing
    ring: np.ndarray  # (M, 2) int64: the neighbours of each pair, -1 for none
    ends: np.ndarray  # (M + 1,) int64: e_c, by class
    key: np.ndarray  # (cells,) int64: two classes in one number, or FREE
    met: np.ndarray  # (cells,) int64: m_cd; m_cc counts both ends
    used: np.ndarray  # (3,) int64: cells that are not free, E, and the cells of the table so far


def make_neighbours(pair_ptr: np.ndarray, eta: float) -> Neighbours:
    """The rings of states with these pairs; no pair has a class yet. With an infinite ``eta`` nobody has neighbours."""
    M, sizes = int(pair_ptr[-1]), np.diff(pair_ptr)
    first, n, ring = np.repeat(pair_ptr[:-1], sizes), np.repeat(sizes, sizes), np.full((M, 2), -1)
    if eta < np.inf:
        for side, step, fewest in ((0, 1, 2), (1, -1, 3)):
            ring[:, side] = np.where(n >= fewest, first + (np.arange(M) - first + step) % n, -1)
    cells = 1 << max(4, (4 * M).bit_length()) if eta < np.inf else 16
    return Neighbours(
        float(eta), ring, np.zeros(M + 1, np.int64), np.full(cells, FREE), np.zeros(cells, np.int64),
        np.array([0, 0, min(cells, FIRST_CELLS)]),
    )  # fmt: skip


@lean_kernel
def has_room(neighbours: Neighbours) -> bool:
    """Whether a pair can change its class without the table getting more than half full."""
    return 2 * (neighbours.used[0] + 2) <= neighbours.used[2]


@lean_kernel
def make_room(label: np.ndarray, neighbours: Neighbours) -> bool:
    """Have room, in a larger table where that takes one; False where the table is as large as it gets."""
    while not has_room(neighbours):
        if neighbours.used[2] == len(neighbours.key):
            return False
        neighbours.used[2] *= 2
        count_all(label, neighbours)
    return True


@lean_kernel
def _cell(c: int, d: int, neighbours: Neighbours) -> int:
    """Where the count of two classes is, or the free cell where it would be."""
    low, high = min(c, d), max(c, d)
    key, last = low * len(neighbours.ends) + high, neighbours.used[2] - 1
    i = ((low * 40_503 + high) * 65_599 >> 5) & last
    while neighbours.key[i] != key and neighbours.key[i] != FREE:
        i = (i + 1) & last
    return i


@lean_kernel
def _count(c: int, d: int, sign: int, neighbours: Neighbours) -> None:
    i = _cell(c, d, neighbours)
    if neighbours.key[i] == FREE:
        neighbours.key[i] = min(c, d) * len(neighbours.ends) + max(c, d)
        neighbours.used[0] += 1
    neighbours.met[i] += 2 * sign if c == d else sign
    neighbours.ends[c] += sign
    neighbours.ends[d] += sign
    neighbours.used[1] += 2 * sign


@lean_kernel
def count_neighbours(k: int, c: int, sign: int, label: np.ndarray, neighbours: Neighbours) -> None:
    """Pair k comes to class c (sign 1) or leaves it (-1): count the neighbours that have a class."""
    for side in range(2):
        other = neighbours.ring[k, side]
        if other >= 0 and label[other] >= 0:
            _count(c, label[other], sign, neighbours)


@lean_kernel
def count_all(label: np.ndarray, neighbours: Neighbours) -> None:
    """Count the neighbours of all pairs anew. O(pairs + cells of the table)."""
    while not _all_counted(label, neighbours):
        neighbours.used[2] *= 2


@lean_kernel
def _all_counted(label: np.ndarray, neighbours: Neighbours) -> bool:
    """Count them in the table as large as it is; False where it should be larger."""
    neighbours.used[0] = neighbours.used[1] = 0
    for c in range(len(neighbours.ends)):
        neighbours.ends[c] = 0
    for i in range(neighbours.used[2]):
        neighbours.key[i], neighbours.met[i] = FREE, 0
    for k in range(len(label)):
        for side in range(2):
            other = neighbours.ring[k, side]
            if 0 <= other < k and label[k] >= 0 and label[other] >= 0:
                if not has_room(neighbours) and neighbours.used[2] < len(neighbours.key):
                    return False
                _count(label[k], label[other], 1, neighbours)
    return True


@lean_kernel
def neighbour_factor(k: int, c: int, label: np.ndarray, neighbours: Neighbours) -> float:
    """What the classes of pair k's neighbours weigh for k, which is not counted, in class c."""
    together, alone = 1.0, 1.0  # one division in all
    total = float(max(1, neighbours.used[1]))
    for side in range(2):
        other = neighbours.ring[k, side]
        if other < 0 or label[other] < 0:
            continue
        d = label[other]
        i = _cell(c, d, neighbours)
        times = neighbours.met[i] if neighbours.key[i] != FREE else 0
        together *= (times + neighbours.eta) * total
        alone *= float(neighbours.ends[c]) * neighbours.ends[d] + neighbours.eta * total
    return together / alone
