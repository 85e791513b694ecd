"""Stationary laws without subtraction, for chains so sticky that solving linear equations loses every digit.

The elimination of Grassmann, Taksar and Heyman removes states one by one, sending their mass on along the chain that
is left. It only adds, multiplies and divides positive numbers, so each share of the law comes out with nearly full
precision, however rarely the chain crosses from one region to another. Dense: n^2 numbers and n^3 / 3 operations.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from equirl.core.compiling import kernel


def long_run_law(chain: sparse.csr_array, label: np.ndarray, initial: np.ndarray) -> np.ndarray:
    """(S,) the long-run share of time in each state from the ``initial`` law; ``label``: recurrent class or -1."""
    n_classes = int(label.max()) + 1
    share = _ending(chain, label, initial, n_classes)
    law = np.zeros(len(label))
    for c in range(n_classes):
        inside = np.flatnonzero(label == c)
        if share[c] > 0:
            law[inside] = share[c] * irreducible_law(chain[inside][:, inside].toarray())
    return law


def irreducible_law(chain: np.ndarray) -> np.ndarray:
    """The stationary law of an irreducible chain, given as a dense (n, n) matrix.

    >>> irreducible_law(np.array([[0.5, 0.5], [1.0, 0.0]])).round(6)
    array([0.666667, 0.333333])
    """
    law = np.zeros(len(chain))
    _eliminate(np.array(chain, dtype=float), law)
    return law


def _ending(chain: sparse.csr_array, label: np.ndarray, initial: np.ndarray, n_classes: int) -> np.ndarray:
    """(classes,) the probability of ending in each class.

    Merge each class into one state from which the chain starts anew: it then visits the merged states in proportion.
    """
    transient = np.flatnonzero(label < 0)
    node = np.where(label < 0, n_classes, label)
    node[transient] += np.arange(len(transient))
    merge = sparse.csr_array((np.ones(len(label)), (np.arange(len(label)), node)))
    start = merge.T @ initial
    restart = np.zeros((len(start), len(start)))
    restart[:n_classes] = start
    restart[n_classes:] = (chain[transient] @ merge).toarray()
    seen = sparse.csgraph.breadth_first_order(
        sparse.csr_array(restart > 0), int(start.argmax()), return_predecessors=False
    )
    visits = np.zeros(len(start))
    visits[seen] = irreducible_law(restart[np.ix_(seen, seen)])
    return visits[:n_classes] / visits[:n_classes].sum()


@kernel
def _eliminate(P: np.ndarray, law: np.ndarray) -> None:
    """``law`` of the chain ``P``, which is overwritten."""
    n = len(law)
    for k in range(n - 1, 0, -1):
        on = 0.0
        for j in range(k):
            on += P[k, j]
        for i in range(k):
            P[i, k] /= on
            if P[i, k] > 0.0:
                for j in range(k):
                    P[i, j] += P[i, k] * P[k, j]
    law[0] = 1.0
    for k in range(1, n):
        for i in range(k):
            law[k] += law[i] * P[i, k]
        if law[k] > 1e100:  # rescale: laws may span more than the range of floating point
            for i in range(k + 1):
                law[i] /= 1e100
    law /= law.sum()
