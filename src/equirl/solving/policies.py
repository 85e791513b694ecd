"""What a given policy earns: its chain, gain, bias and stationary distribution, with any number of recurrent classes.

The chain of a policy is put together here; :mod:`equirl.solving.renewal` solves it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
import scipy

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Pairs
from equirl.solving.chains import closed_classes
from equirl.solving.discounted import chain_values
from equirl.solving.gpu_engine import checked_device
from equirl.solving.renewal import discounted_values, gain_and_bias, renew, share_of_time
from equirl.words.checking import discount_below_one, flag, plain_array


class PolicyValue(NamedTuple):
    """What a policy earns from each state: ``gain + bias = r + P bias``, and the bias averages to 0 in each class."""

    gain: np.ndarray  # (S,)
    bias: np.ndarray  # (S,)
    label: np.ndarray  # (S,) recurrent class of each state, -1 where transient


@overload
def evaluate_policy(mdp: TabularMDP, policy: Any, *, discount: None = None, device: str = ...) -> PolicyValue: ...
@overload
def evaluate_policy(mdp: TabularMDP, policy: Any, *, discount: float, device: str = ...) -> np.ndarray: ...
def evaluate_policy(
    mdp: TabularMDP, policy: Any, *, discount: float | None = None, device: str = "cpu"
) -> PolicyValue | np.ndarray:
    """Gain and bias of a policy from every state; with a discount, its discounted reward from every state.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.
    discount : float, optional
        In [0, 1): what a reward one step later counts. Without it rewards are averaged over time.
    device : {"cpu", "gpu"}
        Where to compute discounted values: by a sparse LU, or by sweeps on a GPU (the extra ``gpu``) to within 1e-8.

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
    on_gpu = checked_device(device) == "gpu"
    if on_gpu and discount is None:
        raise ValueError("device='gpu' evaluates with a discount; a gain and a bias are found on the processor")
    chain, reward = policy_chain(mdp, policy)
    if discount is not None:
        find = chain_values if on_gpu else discounted_values
        return find(chain, reward, discount_below_one(discount))
    parts = renew(chain)
    gain, bias = gain_and_bias(parts, reward)
    return PolicyValue(np.clip(gain, reward.min(), reward.max()), bias, parts.label)


def policy_gain(mdp: TabularMDP, policy: Any) -> float:
    """Long-run mean reward of a policy from the initial distribution, also where transitions are too rare for a bias.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
    >>> round(policy_gain(mdp, [0, 0]), 6)
    0.333333
    """
    check_mdp(mdp)
    chain, reward = policy_chain(mdp, policy)
    return float(np.clip(share_of_time(chain, mdp.initial) @ reward, reward.min(), reward.max()))


def stationary_distribution(mdp: TabularMDP, policy: Any) -> np.ndarray:
    """The stationary distribution of a policy: its long-run share of time in each state, from the initial distribution.

    Where the policy has several recurrent classes each counts by its probability; periodic chains are averaged.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
    >>> stationary_distribution(mdp, [0, 0]).round(6)
    array([0.666667, 0.333333])
    """
    check_mdp(mdp)
    return share_of_time(policy_chain(mdp, policy)[0], mdp.initial)


def policy_kind(mdp: TabularMDP, policy: Any, *, everywhere: bool = False) -> str:
    """The kind of a policy's chain on the states that some policy reaches from the initial distribution.

    "ergodic": one recurrent class holds all of them; "unichain": one class, the others transient; else "multichain".

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : array of shape (S,) or (M,)
        An action (number or name) for each state, or a probability for each pair.
    everywhere : bool
        Whether to look at all states, reachable or not.

    Examples
    --------
    >>> policy_kind(TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]]), [0, 0])
    'ergodic'
    """
    check_mdp(mdp)
    chain, _ = policy_chain(mdp, policy)
    part = np.ones(mdp.n_states, bool) if flag("everywhere", everywhere) else mdp.reachable()
    label = closed_classes(chain[part][:, part])
    if label.max() > 0:
        return "multichain"
    return "unichain" if (label < 0).any() else "ergodic"


def policy_chain(mdp: TabularMDP, policy: Any) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """The (S, S) transition matrix of a policy and its (S,) mean rewards."""
    pairs, rows = mdp.pairs, mdp.rows
    laws = scipy.sparse.csr_array((rows.prob, rows.succ, rows.ptr), shape=(mdp.n_pairs, mdp.n_states))
    weight = policy_weights(pairs, policy)
    played = np.flatnonzero(weight)
    choice = scipy.sparse.csr_array((weight[played], (pairs.state[played], played)), shape=(mdp.n_states, mdp.n_pairs))
    return scipy.sparse.csr_array(choice @ laws), choice @ mdp.r_mean


def policy_pairs(pairs: Pairs, policy: Any) -> np.ndarray:
    """(S,) the pair that a deterministic policy, an action id or name per state, plays in each state."""
    weight = policy_weights(pairs, policy)
    played = np.flatnonzero(weight)
    if len(played) != pairs.n_states:
        raise ValueError(f"a policy of one action per state is needed; this one plays {len(played)} pairs")
    return played


def policy_weights(pairs: Pairs, policy: Any) -> np.ndarray:
    """(M,) the probability with which a policy plays each pair, given that its state is reached.

    A policy is (S,) action ids or names, one for each state, or (M,) probabilities that sum to 1 in each state.
    """
    policy, S, M = plain_array("policy", policy), pairs.n_states, pairs.n_pairs
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
