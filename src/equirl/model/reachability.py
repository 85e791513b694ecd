"""What edges lead to, the one search behind reachable states of MDPs, of blocks and of tables."""

from __future__ import annotations

import numpy as np


def reached(start: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """What can be reached from some nodes along edges, in time linear in nodes and edges.

    Examples
    --------
    >>> reached(np.array([True, False, False]), np.array([0, 2]), np.array([1, 1]))
    array([ True,  True, False])
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    n, first = len(start), np.flatnonzero(start)
    tail = np.concatenate([source, np.full(len(first), n)])  # one more node, from which the first are entered
    head = np.concatenate([target, first])
    graph = sparse.csr_array((np.ones(len(tail)), (tail, head)), shape=(n + 1, n + 1))
    seen = np.zeros(n + 1, bool)
    seen[csgraph.breadth_first_order(graph, n, return_predecessors=False)] = True
    return seen[:n]
