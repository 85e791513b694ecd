"""What a given policy earns: its chain, gain, bias and stationary distribution, with any number of recurrent classes.

The chain of a policy is put together here; :mod:`equirl.solving.renewal` solves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Pairs, action_labels, named_policy, state_labels
from equirl.model.reward_distributions import original_gain, original_values
from equirl.numerics.arrays import take_rows
from equirl.solving.chains import closed_classes
from equirl.solving.discounted import chain_values
from equirl.solving.gpu_engine import checked_device
from equirl.solving.renewal import discounted_values, gain_and_bias, renew, share_of_time
from equirl.words.answer_units import ByName, InUnits, UnitReward
from equirl.words.checking import discount_below_one, flag, plain_array


class PolicyValue(NamedTuple):
    """What a policy earns from each state: ``gain + bias = r + P bias``, and the bias averages to 0 in each class."""

    gain: InUnits[np.ndarray]  # (S,)
    bias: InUnits[np.ndarray]  # (S,)
    label: np.ndarray  # (S,) recurrent class of each state, -1 where transient


class Policy:
    """A policy of a known problem, and what it earns there, in the units of the problem's rewards.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    policy : mapping, or array of shape (S,) or (M,)
        ``{state: action}``; an action for each state; or a probability for each pair. States and actions are given by
        number or name.

    Attributes
    ----------
    weights : ndarray of float, shape (M,)
        The probability with which each pair is played where its state is reached.

    Examples
    --------
    >>> lamp = [("off", "press", {"on": 1.0}, -1.0), ("on", "wait", {"on": 0.5, "off": 0.5}, 3.0)]
    >>> policy = Policy(TabularMDP.from_pairs(lamp, rescale=True), {"off": "press", "on": "wait"})
    >>> round(policy.gain, 6), policy.kind(), policy.stationary_distribution().round(6)
    (1.666667, 'ergodic', array([0.333333, 0.666667]))
    >>> policy.values(discount=0.5).round(6)
    array([1.2, 4.4])
    """

    def __init__(self, mdp: TabularMDP, policy: Any) -> None:
        check_mdp(mdp)
        self.mdp, self.weights = mdp, policy_weights(mdp.pairs, policy)

    @property
    def gain(self) -> InUnits[float]:
        """What a step earns in the long run, from the initial distribution; transitions may be as rare as they are."""
        return original_gain(self.unit_gain, self.mdp.reward_map)

    @cached_property
    def unit_gain(self) -> UnitReward[float]:
        """The gain with rewards in [0, 1]."""
        chain, reward = policy_chain(self.mdp, self.weights)
        return float(np.clip(share_of_time(chain, self.mdp.initial) @ reward, reward.min(), reward.max()))

    def evaluate(self) -> InUnits[PolicyValue]:
        """Gain and bias from every state; ``IllConditioned`` where the bias is beyond double precision."""
        chain, reward = policy_chain(self.mdp, self.weights)
        parts, (scale, shift) = renew(chain), self.mdp.reward_map
        gain, bias = gain_and_bias(parts, reward)
        gain = np.clip(gain, reward.min(), reward.max())
        return PolicyValue(scale * gain + shift, scale * bias, parts.label)

    def values(self, discount: float, *, device: str = "cpu") -> InUnits[np.ndarray]:
        """(S,) the discounted reward from every state.

        Parameters
        ----------
        discount : float
            In [0, 1): what a reward a step later counts.
        device : {"cpu", "gpu"}
            Where to compute: by a sparse LU, or by sweeps on a GPU (the extra ``gpu``) to within 1e-8 of the range.
        """
        discount, find = discount_below_one(discount), chain_values
        if checked_device(device) == "cpu":
            find = discounted_values
        values = find(*policy_chain(self.mdp, self.weights), discount)
        return original_values(values, discount, self.mdp.reward_map)

    def stationary_distribution(self) -> np.ndarray:
        """(S,) the long-run share of time in each state, from the initial distribution.

        Where the policy has several recurrent classes each counts by its probability; periodic chains are averaged.
        """
        return share_of_time(policy_chain(self.mdp, self.weights)[0], self.mdp.initial)

    def kind(self, *, everywhere: bool = False) -> str:
        """The kind of its chain on the states that some policy reaches from the initial distribution.

        "ergodic": one recurrent class holds all of them; "unichain": one class, the others transient; else
        "multichain". With ``everywhere`` all states count, reachable or not.
        """
        chain, _ = policy_chain(self.mdp, self.weights)
        part = np.ones(self.mdp.n_states, bool) if flag("everywhere", everywhere) else self.mdp.reachable()
        label = closed_classes(chain[part][:, part])
        if label.max() > 0:
            return "multichain"
        return "unichain" if (label < 0).any() else "ergodic"

    def named_policy(self) -> ByName[dict[Any, Any]]:
        """``{state: action}``, by name where there are names; ``{state: {action: probability}}`` where it is random."""
        pairs, played = self.mdp.pairs, np.flatnonzero(self.weights)
        if len(played) == pairs.n_states:
            return named_policy(pairs, pairs.action[played])
        found: dict[Any, Any] = {state: {} for state in state_labels(pairs)}
        columns = state_labels(pairs, pairs.state[played].tolist()), action_labels(pairs, pairs.action[played].tolist())
        for state, action, weight in zip(*columns, self.weights[played].tolist(), strict=True):
            found[state][action] = weight
        return found

    def __repr__(self) -> str:
        return f"Policy(gain={self.gain:.6g}, {self.kind()})"


def policy_chain(mdp: TabularMDP, policy: Any) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """The (S, S) transition matrix of a policy and its (S,) mean rewards."""
    pairs, rows = mdp.pairs, mdp.rows
    matrix = scipy.sparse.csr_array((rows.prob, rows.succ, rows.ptr), shape=(mdp.n_pairs, mdp.n_states))
    weight = policy_weights(pairs, policy)
    played = np.flatnonzero(weight)
    choice = scipy.sparse.csr_array((weight[played], (pairs.state[played], played)), shape=(mdp.n_states, mdp.n_pairs))
    return scipy.sparse.csr_array(choice @ matrix), choice @ mdp.r_mean


def chain_of_pairs(mdp: TabularMDP, pair: np.ndarray) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """As :func:`policy_chain`, of a pair per state: rows taken as they are."""
    ptr, entry = take_rows(mdp.rows.ptr, pair)
    chain = scipy.sparse.csr_array((mdp.rows.prob[entry], mdp.rows.succ[entry], ptr), shape=(mdp.n_states,) * 2)
    return chain, mdp.r_mean[pair]


def policy_pairs(pairs: Pairs, policy: Any) -> np.ndarray:
    """(S,) the pair that a deterministic policy, an action id or name per state, plays in each state."""
    weight = policy_weights(pairs, policy)
    played = np.flatnonzero(weight)
    if len(played) != pairs.n_states:
        raise ValueError(f"a policy of one action per state is needed; this one plays {len(played)} pairs")
    return played


def policy_weights(pairs: Pairs, policy: Any) -> np.ndarray:
    """(M,) the probability with which a policy plays each pair, given that its state is reached.

    A policy is ``{state: action}``, (S,) action ids or names, or (M,) probabilities that sum to 1 in each state.
    """
    if isinstance(policy, Mapping):
        policy = _listed(pairs, policy)
    policy, S, M = plain_array("policy", policy), pairs.n_states, pairs.n_pairs
    if policy.shape == (S,) and policy.dtype.kind == "U":
        policy = np.array([pairs.action_number(name) for name in policy.tolist()])
    if policy.shape == (S,) and np.issubdtype(policy.dtype, np.integer):
        played = pairs.action == policy[pairs.state]
        missing = np.flatnonzero(np.bincount(pairs.state, weights=played, minlength=S) == 0)
        if len(missing):
            s = int(missing[0])
            names, action = pairs.action_names, policy[s]
            if names is not None and 0 <= action < len(names):
                action = repr(names[action])
            raise ValueError(f"the policy plays action {action} in {pairs.call(s)}, which allows: {pairs.allowed(s)}")
        return played.astype(float)
    if policy.shape == (M,) and np.issubdtype(policy.dtype, np.floating):
        bad = np.flatnonzero(~((policy >= 0) & np.isfinite(policy)))
        if len(bad):
            raise ValueError(f"the policy plays ({pairs.describe(int(bad[0]))}) with probability {policy[bad[0]]}")
        total = np.bincount(pairs.state, weights=policy, minlength=S)
        off = np.flatnonzero(np.abs(total - 1) > 1e-8)
        if len(off):
            raise ValueError(
                f"the policy's probabilities in {pairs.call(int(off[0]))} sum to {total[off[0]]:.10g}, not 1"
            )
        return policy.astype(float)
    raise ValueError(
        f"a policy is {S} integers or names (an action per state) or {M} floats (a probability per pair), "
        f"not shape {policy.shape} of {policy.dtype}"
    )


def _listed(pairs: Pairs, policy: Mapping[Any, Any]) -> np.ndarray:
    """(S,) the action ids of ``{state: action}``, which must name every state."""
    actions = np.full(pairs.n_states, -1)
    for state, action in policy.items():
        try:
            actions[pairs.state_number(state)] = pairs.action_number(action)
        except (TypeError, ValueError) as error:
            raise type(error)(f"policy: {error}") from None
    if (missing := np.flatnonzero(actions < 0)).size:
        raise ValueError(f"the policy names no action for {pairs.call(int(missing[0]))}; it needs one for every state")
    return actions
