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
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from equirl.solving.chains import closed_classes
from equirl.solving.factorization import factor
from equirl.solving.gth_elimination import MOST_DENSE, long_run_law

LONGEST_TIME = 1e10  # steps to a reference beyond which too few digits are left


class IllConditioned(ArithmeticError):  # noqa: N818 (it names the finding)
    """A chain whose answer double precision cannot hold."""


class Renewal(NamedTuple):
    """A chain solved by renewal at one reference state per recurrent class."""

    lu: Any  # factors of A
    reference: np.ndarray  # (classes,)
    label: np.ndarray  # (S,) recurrent class, -1 where transient
    law: np.ndarray  # (S,) stationary distribution of each class, 0 at transient states


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
        visits = lu.solve(np.asarray(chain[references].sum(axis=0)).ravel(), "T")
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
        return long_run_law(chain, closed_classes(chain), initial)
    share = parts.lu.solve(np.array(initial), "T")[parts.reference]
    return parts.law * np.where(parts.label >= 0, share[parts.label], 0.0)


def discounted_values(chain: scipy.sparse.csr_array, reward: np.ndarray, discount: float) -> np.ndarray:
    """(S,) discounted reward from each state of a chain that pays ``reward``: v = r + discount P v, by a sparse LU."""
    lu = factor(chain, np.full(len(reward), discount))
    if lu is None:
        raise IllConditioned(f"a discount of {discount!r} is too close to 1 for double precision")
    return lu.solve(reward)


def _by_class(parts: Renewal, value: np.ndarray) -> np.ndarray:
    """(classes,) means under each class's stationary distribution."""
    return np.bincount(np.maximum(parts.label, 0), weights=parts.law * value, minlength=len(parts.reference))


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
    for _ in range(min(n_steps, 4 * len(mass))):
        mass = 0.5 * (mass + back @ mass)
    return mass


def _largest_by_class(mass: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(classes,) the state of largest mass in each class."""
    order = np.lexsort((-mass, label))
    order = order[label[order] >= 0]
    return order[np.unique(label[order], return_index=True)[1]]
