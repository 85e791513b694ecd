"""Stationary distributions without subtraction, for chains so sticky that solving linear equations loses every digit.

The elimination of Grassmann, Taksar and Heyman removes states one by one, sending their mass on along the chain that
is left. It only adds, multiplies and divides positive numbers, so each share comes out with nearly full
precision, however rarely the chain crosses from one region to another. Dense: n^2 numbers and n^3 / 3 operations.
Written by hand: no solver of NumPy or SciPy avoids subtraction.
"""

from __future__ import annotations

import numpy as np
import scipy

from equirl.numerics.compiling import kernel

MOST_DENSE = 3000  # states of a chain for which the dense elimination is still quick


def long_run_distribution(chain: scipy.sparse.csr_array, label: np.ndarray, initial: np.ndarray) -> np.ndarray:
    """(S,) long-run share of time in each state from the ``initial`` distribution; ``label``: recurrent class or -1."""
    n_classes = int(label.max()) + 1
    share = _ending(chain, label, initial, n_classes)
    stationary = np.zeros(len(label))
    for c in range(n_classes):
        inside = np.flatnonzero(label == c)
        if share[c] > 0:
            stationary[inside] = share[c] * irreducible_distribution(chain[inside][:, inside].toarray())
    return stationary


def irreducible_distribution(chain: np.ndarray) -> np.ndarray:
    """The stationary distribution of an irreducible chain, given as a dense (n, n) matrix."""
    stationary = np.zeros(len(chain))
    _weigh(eliminate(chain)[0], stationary)
    return stationary


def _ending(chain: scipy.sparse.csr_array, label: np.ndarray, initial: np.ndarray, n_classes: int) -> np.ndarray:
    """(classes,) the probability of ending in each class.

    Merge each class into one state from which the chain starts anew: it then visits the merged states in proportion.
    """
    transient = np.flatnonzero(label < 0)
    node = np.where(label < 0, n_classes, label)
    node[transient] += np.arange(len(transient))
    merge = scipy.sparse.csr_array((np.ones(len(label)), (np.arange(len(label)), node)))
    start = merge.T @ initial
    restart = np.zeros((len(start), len(start)))
    restart[:n_classes] = start
    restart[n_classes:] = (chain[transient] @ merge).toarray()
    seen = scipy.sparse.csgraph.breadth_first_order(
        scipy.sparse.csr_array(restart > 0), int(start.argmax()), return_predecessors=False
    )
    visits = np.zeros(len(start))
    visits[seen] = irreducible_distribution(restart[np.ix_(seen, seen)])
    return visits[:n_classes] / visits[:n_classes].sum()


def eliminate(chain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Remove states n-1, ..., 1 of a dense (n, n) chain, all of which lead to state 0: (steps, leaving).

    ``steps[i, k]`` with i < k: visits of k per visit of i, in the chain that only sees states up to k;
    ``steps[k, j]`` with j < k: the probability of a step from k to j in it, which leaves k with ``leaving[k]``.
    """
    steps = np.array(chain, dtype=float)
    leaving = np.zeros(len(steps))
    _eliminate(steps, leaving, np.empty(len(steps), np.int64))
    return steps, leaving


def costs_to_go(steps: np.ndarray, leaving: np.ndarray, cost: np.ndarray) -> tuple[float, np.ndarray]:
    """The ``cost`` (n,) paid per step from state 0 until its return, and from each state until 0 (0 at 0)."""
    paid, out = np.array(cost, dtype=float), np.zeros(len(cost))
    _accumulate(steps, leaving, paid, out)
    return float(paid[0]), out


@kernel
def _eliminate(P: np.ndarray, leaving: np.ndarray, later: np.ndarray) -> None:
    """:func:`eliminate` in place; ``later`` is room for n numbers."""
    for k in range(len(P) - 1, 0, -1):
        on, n = 0.0, 0
        for j in range(k):
            on += P[k, j]
            if P[k, j] > 0.0:
                later[n] = j
                n += 1
        leaving[k] = on
        for i in range(k):
            if P[i, k] > 0.0:
                P[i, k] /= on
                visits = P[i, k]
                for place in range(n):
                    P[i, later[place]] += visits * P[k, later[place]]


@kernel
def _weigh(P: np.ndarray, stationary: np.ndarray) -> None:
    """The stationary distribution ``stationary`` of a chain after elimination."""
    n = len(stationary)
    stationary[0] = 1.0
    for k in range(1, n):
        for i in range(k):
            stationary[k] += stationary[i] * P[i, k]
        if stationary[k] > 1e100:  # rescale: shares may span more than the range of floating point
            for i in range(k + 1):
                stationary[i] /= 1e100
    stationary /= stationary.sum()


@kernel
def _accumulate(P: np.ndarray, leaving: np.ndarray, paid: np.ndarray, out: np.ndarray) -> None:
    """:func:`costs_to_go` after elimination; ``paid`` becomes the cost until a smaller state is seen."""
    n = len(paid)
    for k in range(n - 1, 0, -1):
        for i in range(k):
            paid[i] += P[i, k] * paid[k]
    for k in range(1, n):
        total = paid[k]
        for j in range(k):
            total += P[k, j] * out[j]
        out[k] = total / leaving[k]
