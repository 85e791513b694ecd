"""Known MDPs, average reward: optimal gain, bias and policy with a certified accuracy.

With T h = max_a (r + P h), whatever h is, every state's optimal gain lies between min(T h - h) and max(T h - h).
All methods end with such a bracket over the states they solve; half its width is the accuracy of the gain.

- ``value``: relative value iteration, damped: h <- h + tau (T h - h). This is the aperiodicity transform, so periodic
  MDPs converge, and the bracket is that of the original MDP.
- ``policy``: Howard's policy iteration for chains of any kind, each policy solved by a sparse LU. Exact up to
  rounding; worth it where chains mix slowly and their graph is nearly planar (large grids).
- ``auto``: a thousand sweeps of value iteration, then policy iteration from there where its LU is cheap (a few
  milliseconds if the accuracy is met already, about a second if not), else more value iteration.

The gain is that of the states reachable from the initial law. Where it depends on where one starts, there is no one
gain to measure regret against, and :class:`NoConstantGain` names two states that differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equirl.core.checking import inside, whole_number
from equirl.core.naming import unknown_name
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.solving.chains import Block, block, block_kind, chain_kind, closed_classes, decided
from equirl.solving.diameter import diameter
from equirl.solving.end_components import end_components
from equirl.solving.gain_methods import METHODS, solve_block
from equirl.solving.policies import (
    IllConditioned,
    PolicyValue,
    evaluate_policy,
    policy_gain,
    policy_kind,
    stationary_law,
)
from equirl.solving.value_iteration import Answer, Limits

__all__ = [
    "IllConditioned", "NoConstantGain", "PolicyValue", "Solution", "chain_kind", "diameter", "evaluate_policy",
    "policy_gain", "policy_kind", "solve", "stationary_law",
]  # fmt: skip

class NoConstantGain(ValueError):  # noqa: N818 (it names the finding)
    """The optimal gain depends on where one starts among the states reachable from the initial law."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What is optimal in a known MDP: ``gain + bias = max_a (r + P bias)`` up to ``accuracy`` in every solved state.

    Solved are the states reachable from the initial law and those that every policy leaves for them. Elsewhere the
    bias is NaN and the policy plays the first action. Where several policies are optimal the bias need not be unique.
    """

    gain: float  # optimal gain of the part reachable from the initial law
    bias: np.ndarray  # (S,) smallest solved value 0
    policy: np.ndarray  # (S,) action of each state
    policy_pair: np.ndarray  # (S,) pair played in each state
    kind: str  # of the reachable part: see chain_kind
    span: float  # largest minus smallest bias in the reachable part
    accuracy: float  # certified: |gain - g*| <= accuracy
    converged: bool  # whether the accuracy asked for was reached
    n_sweeps: int  # sweeps over all pairs; a step of policy iteration is one
    method: str  # "value" or "policy": the one that finished


def solve(mdp: TabularMDP, accuracy: float = 1e-8, method: str = "auto", max_sweeps: int = 100_000) -> Solution:
    """Optimal gain, bias and policy; see :mod:`equirl.solving.optimal_gain` for the methods.

    Too few ``max_sweeps`` (or an accuracy below rounding) are told by ``converged=False``. One sweep costs
    O(successors); memory is O(S + successors), and one sparse LU where policy iteration is used.

    >>> mdp = TabularMDP.from_arrays([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0.1, 0.0], [1.0, 0.0]])
    >>> answer = solve(mdp)
    >>> answer.policy, answer.kind
    (array([1, 0]), 'communicating')
    >>> round(answer.gain, 6), round(answer.span, 6)
    (1.0, 1.0)
    """
    check_mdp(mdp)
    if method not in METHODS:
        raise ValueError(unknown_name("method", method, METHODS))
    accuracy = inside("accuracy", accuracy, 0, math.inf)
    max_sweeps = whole_number("max_sweeps", max_sweeps)
    part = mdp.reachable()
    kind = block_kind(block(mdp, part))
    if kind == "multichain":
        _check_constant_gain(mdp, part, accuracy, max_sweeps)
    solved = block(mdp, decided(mdp))
    return _assemble(mdp, part, kind, solved, solve_block(solved, method, Limits(accuracy, max_sweeps)), accuracy)


def _assemble(
    mdp: TabularMDP, part: np.ndarray, kind: str, solved: Block, answer: Answer, accuracy: float
) -> Solution:
    bias = np.full(mdp.n_states, np.nan)
    bias[solved.state] = answer.bias - answer.bias.min()
    pair = mdp.pairs.ptr[:-1].copy()
    pair[solved.state] = solved.pair[answer.pair]
    return Solution(
        gain=(answer.low + answer.high) / 2,
        bias=bias,
        policy=mdp.pairs.action[pair],
        policy_pair=pair,
        kind=kind,
        span=float(np.ptp(bias[part])),
        accuracy=answer.accuracy,
        converged=answer.accuracy <= accuracy,
        n_sweeps=answer.n_sweeps,
        method=answer.method,
    )


def _check_constant_gain(mdp: TabularMDP, part: np.ndarray, accuracy: float, max_sweeps: int) -> None:
    """Refuse a part whose optimal gain is not constant.

    It is constant when all closed classes have the same gain and no other end component has a larger one: from
    every state some policy ends in a closed class. Each of these sets is communicating, so it has one gain.
    """
    inner = block(mdp, part)
    closed = closed_classes(inner.graph()) >= 0
    component, stays = end_components(inner)
    _, first = np.unique(component[component >= 0], return_index=True)
    first = np.flatnonzero(component >= 0)[first]  # a state of each component
    order = np.argsort(~closed[first], kind="stable")
    base, low, high = first[order[0]], *_gain_bracket(mdp, inner, component == order[0], stays, accuracy, max_sweeps)
    for c in order[1:]:
        s = first[c]
        c_low, c_high = _gain_bracket(mdp, inner, component == c, stays, accuracy, max_sweeps)
        if c_low > high or (closed[s] and c_high < low):
            more = "" if closed[s] else "at least "
            raise NoConstantGain(
                f"the optimal gain depends on the start: {(low + high) / 2:.6g} from state "
                f"{_named(mdp, inner.state[base])}, {more}{(c_low + c_high) / 2:.6g} from state "
                f"{_named(mdp, inner.state[s])}, both reachable from the initial law; "
                "make the MDP weakly communicating (for example, restart where it ends) "
                "or start it inside one of the two parts"
            )


def _gain_bracket(
    mdp: TabularMDP, inner: Block, members: np.ndarray, stays: np.ndarray, accuracy: float, max_sweeps: int
) -> tuple[float, float]:
    """Bounds on the gain of one end component, ``members`` (a mask) with the pairs of the mask ``stays``."""
    if members.sum() == 1:
        s = int(members.argmax())
        own = slice(inner.pair_ptr[s], inner.pair_ptr[s + 1])
        gain = float(inner.reward[own][stays[own]].max())
        return gain, gain
    states, pairs = np.zeros(mdp.n_states, bool), np.zeros(mdp.n_pairs, bool)
    states[inner.state[members]] = True
    pairs[inner.pair[stays]] = True
    answer = solve_block(block(mdp, states, pairs), "auto", Limits(accuracy / 4, max_sweeps))
    return answer.low - answer.noise, answer.high + answer.noise


def _named(mdp: TabularMDP, state: int) -> str:
    return repr(mdp.pairs.state_names[state]) if mdp.pairs.state_names else str(state)
