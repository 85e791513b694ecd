"""Markov chains solved by renewal at often visited states: gain, bias, stationary distribution, discounted values.

In each recurrent class one *reference* state is chosen. With P the policy's chain and A = I - P, the rows of the
references replaced by those of I, one sparse LU of A answers everything by renewal at the references:

    A' w = sum of the references' rows of P      w: visits between two returns, proportional to the stationary one
    A' z = initial distribution                         z(reference): probability of ending in its class
    A g = the classes' gains at the references   g: gain from every state, also the transient ones
    A h = r - g, and 0 at the references         h: bias, up to a constant per class

A reference that is often visited keeps A well conditioned. Memory: the LU factors of one sparse (S, S) matrix. Where
a chain crosses so rarely that no reference helps, distributions and gains come from GTH elimination, and a bias is
refused as :class:`IllConditioned`.

The cost of the factors is known before they are made. Small systems go to SuperLU with its own ordering. Large ones are
ordered first (COLAMD, which is quick on any graph), the fill of that order is counted by walking the elimination tree,
and only what is affordable is factored, with pivots on the diagonal: the rows of I - P are diagonally dominant, so this
is stable, and the fill is the one counted. A bandwidth would not do: one edge that restarts a long chain makes it as
wide as the chain is long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from equirl.numerics.arrays import take_rows
from equirl.numerics.compiling import kernel, lean_kernel
from equirl.solving.chains import closed_classes
from equirl.solving.gth_elimination import MOST_DENSE, long_run_distribution

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
    system = (_identity(len(free)) - moves).tocsc()
    try:
        if len(free) > SMALL or ordered:
            return _ordered_factors(system)
        return scipy.sparse.linalg.splu(system, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    except RuntimeError:
        return None


def _identity(n: int) -> scipy.sparse.csr_array:
    """I, without SciPy's way through diagonals, which takes longer than small factors do."""
    return scipy.sparse.csr_array((np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)), (n, n))


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


LONGEST_TIME = 1e10  # steps to a reference beyond which too few digits are left


class IllConditioned(ArithmeticError):  # noqa: N818 (it names the finding)
    """A chain whose answer double precision cannot hold."""


class Renewal(NamedTuple):
    """A chain solved by renewal at one reference state per recurrent class."""

    lu: Any  # factors of A
    reference: np.ndarray  # (classes,)
    label: np.ndarray  # (S,) recurrent class, -1 where transient
    stationary: np.ndarray  # (S,) stationary distribution of each class, 0 at transient states


def renew(chain: scipy.sparse.csr_array, tries: int = 3, reference: int | None = None) -> Renewal:
    """Factor a chain at often visited references, one per recurrent class.

    A ``reference`` that is given stands for its own class; such chains are ordered before they are factored.
    """
    label = closed_classes(chain)
    if reference is None or label.max() > 0 or label[reference] < 0:
        weight = settled_mass(chain, label)
    else:
        weight = np.zeros(len(label))
        weight[reference] = 1.0
    ordered = reference is not None
    for _ in range(tries):
        references = _largest_by_class(weight, label)
        free = np.ones(len(label))
        free[references] = 0.0
        lu = factor(chain, free, ordered=ordered)
        if lu is None:
            break
        times = lu.solve(free)  # to the reference; their maximum is the norm of the inverse of A
        entry = take_rows(chain.indptr, references)[1]
        left_for = np.bincount(chain.indices[entry], weights=chain.data[entry], minlength=len(label))
        visits = lu.solve(left_for, "T")
        weight = np.where(label >= 0, np.maximum(visits, 0.0), 0.0)
        if times.min() >= 0 and times.max() <= LONGEST_TIME:
            total = np.bincount(np.maximum(label, 0), weights=weight)
            return Renewal(lu, references, label, weight / np.where(label >= 0, total[label], 1.0))
        if not np.isfinite(weight).all():
            break
    raise IllConditioned(
        f"under this policy some state is reached only after more than {LONGEST_TIME:g} steps on average, "
        "too rarely to be solved in double precision"
    )


def gain_and_bias(parts: Renewal, reward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(S,) gain and (S,) bias of a chain that pays ``reward`` in each state."""
    recurrent = parts.label >= 0
    gain = _from_classes(parts, _by_class(parts, reward))
    rest = reward - gain
    rest[parts.reference] = 0.0
    bias = parts.lu.solve(rest)
    offset = _from_classes(parts, _by_class(parts, np.where(recurrent, bias, 0.0)))
    return gain, bias - offset


def share_of_time(chain: scipy.sparse.csr_array, initial: np.ndarray) -> np.ndarray:
    """(S,) long-run share of time in each state from the ``initial`` distribution; by elimination if renewal fails."""
    try:
        parts = renew(chain)
    except IllConditioned:
        if chain.shape[0] > MOST_DENSE:
            raise
        return long_run_distribution(chain, closed_classes(chain), initial)
    share = parts.lu.solve(np.array(initial), "T")[parts.reference]
    return parts.stationary * np.where(parts.label >= 0, share[parts.label], 0.0)


def discounted_values(chain: scipy.sparse.csr_array, reward: np.ndarray, discount: float) -> np.ndarray:
    """(S,) discounted reward from each state of a chain that pays ``reward``: v = r + discount P v, by a sparse LU."""
    lu = factor(chain, np.full(len(reward), discount))
    if lu is None:
        raise IllConditioned(f"a discount of {discount!r} is too close to 1 for double precision")
    return lu.solve(reward)


def _by_class(parts: Renewal, value: np.ndarray) -> np.ndarray:
    """(classes,) means under each class's stationary distribution."""
    return np.bincount(np.maximum(parts.label, 0), weights=parts.stationary * value, minlength=len(parts.reference))


def _from_classes(parts: Renewal, value: np.ndarray) -> np.ndarray:
    """(S,) a value per class read at each state: its own class's, or the mean over where a transient state ends."""
    if len(value) == 1:
        return np.full(len(parts.label), value[0])
    at_reference = np.zeros(len(parts.label))
    at_reference[parts.reference] = value
    return np.where(parts.label >= 0, value[parts.label], parts.lu.solve(at_reference))


def settled_mass(chain: scipy.sparse.csr_array, label: np.ndarray, n_steps: int = 500) -> np.ndarray:
    """(S,) where unit masses on the recurrent states are after some lazy steps: large at often visited states."""
    mass = (label >= 0).astype(float)
    back = chain.T.tocsr()
    edges = back.indptr.astype(np.int64), back.indices.astype(np.int64), back.data
    _step_lazily(*edges, mass, np.empty(len(mass)), min(n_steps, 4 * len(mass)))
    return mass


@lean_kernel
def _step_lazily(
    ptr: np.ndarray, source: np.ndarray, prob: np.ndarray, mass: np.ndarray, arrived: np.ndarray, n_steps: int
) -> None:
    """Move half of the mass of each state, so many times."""
    for _ in range(n_steps):
        for s in range(len(mass)):
            total = 0.0
            for place in range(ptr[s], ptr[s + 1]):
                total += prob[place] * mass[source[place]]
            arrived[s] = total
        for s in range(len(mass)):
            mass[s] = 0.5 * (mass[s] + arrived[s])


def _largest_by_class(mass: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(classes,) the state of largest mass in each class."""
    order = np.lexsort((-mass, label))
    order = order[label[order] >= 0]
    return order[np.unique(label[order], return_index=True)[1]]
