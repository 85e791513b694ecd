"""What a given policy earns: its chain, gain, bias and stationary distribution, with any number of recurrent classes.

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

from typing import Any, NamedTuple, overload

import numpy as np
from scipy import sparse

from equirl.core.checking import real_number
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Pairs
from equirl.solving.chains import closed_classes
from equirl.solving.factorization import factor
from equirl.solving.gth_elimination import long_run_law

LONGEST_TIME = 1e10  # steps to a reference beyond which too few digits are left
MOST_DENSE = 3000  # states of a chain beyond LONGEST_TIME for which the dense, exact elimination is still quick


class IllConditioned(ArithmeticError):  # noqa: N818 (it names the finding)
    """A chain whose answer double precision cannot hold."""


class PolicyValue(NamedTuple):
    """What a policy earns from each state: ``gain + bias = r + P bias``, and the bias averages to 0 in each class."""

    gain: np.ndarray  # (S,)
    bias: np.ndarray  # (S,)
    label: np.ndarray  # (S,) recurrent class of each state, -1 where transient


class Renewal(NamedTuple):
    """A chain solved by renewal at one reference state per recurrent class."""

    lu: Any  # factors of A
    reference: np.ndarray  # (classes,)
    label: np.ndarray  # (S,) recurrent class, -1 where transient
    law: np.ndarray  # (S,) stationary distribution of each class, 0 at transient states


@overload
def evaluate_policy(mdp: TabularMDP, policy: Any, *, discount: None = None) -> PolicyValue: ...
@overload
def evaluate_policy(mdp: TabularMDP, policy: Any, *, discount: float) -> np.ndarray: ...
def evaluate_policy(mdp: TabularMDP, policy: Any, *, discount: float | None = None) -> PolicyValue | np.ndarray:
    """Gain and bias of a policy from every state; with a discount, its discounted reward from every state.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.
    discount : float, optional
        In [0, 1): what a reward one step later counts. Without it rewards are averaged over time.

    Returns
    -------
    PolicyValue or ndarray of shape (S,)
        Gain, bias and recurrent class of each state; with a discount, the value of each state.

    Raises
    ------
    IllConditioned
        Where the bias is beyond double precision.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
    >>> evaluate_policy(mdp, [0, 0]).gain.round(6)
    array([0.333333, 0.333333])
    >>> evaluate_policy(mdp, [0, 0], discount=0.5).round(6)
    array([0.4, 1.2])
    """
    check_mdp(mdp)
    chain, reward = policy_chain(mdp, policy)
    if discount is not None:
        return discounted_values(chain, reward, checked_discount(discount))
    parts = renew(chain)
    return PolicyValue(*gain_and_bias(parts, reward), parts.label)


def policy_gain(mdp: TabularMDP, policy: Any) -> float:
    """Long-run mean reward of a policy from the initial distribution; :func:`evaluate_policy` has it from every state.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.

    Returns
    -------
    float
        The gain, also where some transitions are too rare for a bias.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
    >>> round(policy_gain(mdp, [0, 0]), 6)
    0.333333
    """
    check_mdp(mdp)
    chain, reward = policy_chain(mdp, policy)
    return float(_long_run_law(chain, mdp.initial) @ reward)


def stationary_law(mdp: TabularMDP, policy: Any) -> np.ndarray:
    """The stationary distribution of a policy: its long-run share of time in each state, from the initial distribution.

    Where the policy has several recurrent classes each counts by its probability; periodic chains are averaged.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.

    Returns
    -------
    ndarray of shape (S,)
        Shares that sum to 1.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
    >>> stationary_law(mdp, [0, 0]).round(6)
    array([0.666667, 0.333333])
    """
    check_mdp(mdp)
    return _long_run_law(policy_chain(mdp, policy)[0], mdp.initial)


def policy_kind(mdp: TabularMDP, policy: Any, *, everywhere: bool = False) -> str:
    """The kind of a policy's chain on the states that some policy reaches from the initial distribution.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.
    everywhere : bool
        Whether to look at all states, reachable or not.

    Returns
    -------
    str
        "ergodic": one recurrent class holds all of them; "unichain": one class, the others transient; else
        "multichain".

    Examples
    --------
    >>> policy_kind(TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]]), [0, 0])
    'ergodic'
    """
    check_mdp(mdp)
    chain, _ = policy_chain(mdp, policy)
    part = np.ones(mdp.n_states, bool) if everywhere else mdp.reachable()
    label = closed_classes(chain[part][:, part])
    if label.max() > 0:
        return "multichain"
    return "unichain" if (label < 0).any() else "ergodic"


def policy_chain(mdp: TabularMDP, policy: Any) -> tuple[sparse.csr_array, np.ndarray]:
    """The (S, S) transition matrix of a policy and its (S,) mean rewards."""
    pairs, rows = mdp.pairs, mdp.rows
    laws = sparse.csr_array((rows.prob, rows.succ, rows.ptr), shape=(mdp.n_pairs, mdp.n_states))
    weight = policy_weights(pairs, policy)
    played = np.flatnonzero(weight)
    choice = sparse.csr_array((weight[played], (pairs.state[played], played)), shape=(mdp.n_states, mdp.n_pairs))
    return sparse.csr_array(choice @ laws), choice @ mdp.r_mean


def policy_weights(pairs: Pairs, policy: Any) -> np.ndarray:
    """(M,) the probability with which a policy plays each pair, given that its state is reached.

    A policy is (S,) action ids or names, one for each state, or (M,) probabilities that sum to 1 in each state.
    """
    policy, S, M = np.asarray(policy), pairs.n_states, pairs.n_pairs
    if policy.shape == (S,) and policy.dtype.kind == "U":
        policy = np.array([pairs.action_number(name) for name in policy.tolist()])
    if policy.shape == (S,) and np.issubdtype(policy.dtype, np.integer):
        played = pairs.action == policy[pairs.state]
        missing = np.flatnonzero(np.bincount(pairs.state, weights=played, minlength=S) == 0)
        if len(missing):
            s = int(missing[0])
            raise ValueError(f"the policy plays action {policy[s]} in state {s}, which allows: {pairs.allowed(s)}")
        return played.astype(float)
    if policy.shape == (M,) and np.issubdtype(policy.dtype, np.floating):
        bad = np.flatnonzero(~((policy >= 0) & np.isfinite(policy)))
        if len(bad):
            raise ValueError(f"the policy plays ({pairs.describe(int(bad[0]))}) with probability {policy[bad[0]]}")
        total = np.bincount(pairs.state, weights=policy, minlength=S)
        off = np.flatnonzero(np.abs(total - 1) > 1e-8)
        if len(off):
            raise ValueError(f"the policy's probabilities in state {int(off[0])} sum to {total[off[0]]:.10g}, not 1")
        return policy.astype(float)
    raise ValueError(
        f"a policy is {S} integers or names (an action per state) or {M} floats (a probability per pair), "
        f"not shape {policy.shape} of {policy.dtype}"
    )


def renew(chain: sparse.csr_array, tries: int = 3, reference: int | None = None) -> Renewal:
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


def checked_discount(discount: Any) -> float:
    """A discount in [0, 1)."""
    number = real_number("discount", discount)
    if not 0 <= number < 1:
        raise ValueError(f"discount must be at least 0 and less than 1, not {discount}")
    return number


def discounted_values(chain: sparse.csr_array, reward: np.ndarray, discount: float) -> np.ndarray:
    """(S,) discounted reward from each state of a chain that pays ``reward``: v = r + discount P v, by a sparse LU."""
    lu = factor(chain, np.full(len(reward), discount))
    if lu is None:
        raise IllConditioned(f"a discount of {discount!r} is too close to 1 for double precision")
    return lu.solve(reward)


def _long_run_law(chain: sparse.csr_array, initial: np.ndarray) -> np.ndarray:
    try:
        parts = renew(chain)
    except IllConditioned:
        if chain.shape[0] > MOST_DENSE:
            raise
        return long_run_law(chain, closed_classes(chain), initial)
    share = parts.lu.solve(np.array(initial), "T")[parts.reference]
    return parts.law * np.where(parts.label >= 0, share[parts.label], 0.0)


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


def settled_mass(chain: sparse.csr_array, label: np.ndarray, n_steps: int = 500) -> np.ndarray:
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
