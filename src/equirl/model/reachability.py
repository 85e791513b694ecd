"""What can be reached in a graph, whatever its nodes are."""

from __future__ import annotations

import numpy as np

from equirl.model.rows import INDEX
from equirl.numerics.arrays import read_only, starts
from equirl.numerics.compiling import kernel


def reached(start: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """What can be reached from some nodes along edges, in time linear in nodes and edges."""
    order = np.argsort(source, kind="stable")
    return reached_along(start, starts(np.bincount(source, minlength=len(start))), target[order])


def reached_along(start: np.ndarray, ptr: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The same, the edges of node s leading to ``target[ptr[s]:ptr[s + 1]]``."""
    seen, first = np.array(start, bool), np.flatnonzero(start)
    queue = np.empty(len(seen), INDEX)
    queue[: len(first)] = first
    _search(read_only(ptr), read_only(np.asarray(target, INDEX)), seen, queue, len(first))
    return seen


@kernel
def _search(ptr: np.ndarray, target: np.ndarray, seen: np.ndarray, queue: np.ndarray, n: int) -> None:
    """Breadth-first search from the nodes ``queue[:n]``, which are ``seen``."""
    i = 0
    while i < n:
        s = queue[i]
        i += 1
        for j in range(ptr[s], ptr[s + 1]):
            x = target[j]
            if not seen[x]:
                seen[x], queue[n] = True, x
                n += 1
