"""Known MDPs, average reward: optimal gain, bias and policy with a certified accuracy.

With T h = max_a (r + P h), whatever h is, every state's optimal gain lies between min(T h - h) and max(T h - h).
All methods end with such a bracket over the states they solve; half its width is the accuracy of the gain.

- ``value``: relative value iteration, damped so that periodic MDPs converge (:mod:`equirl.solving.value_iteration`).
- ``policy``: Howard's policy iteration for chains of any kind, each policy solved by a sparse LU, or by elimination
  where transitions are too rare for one (:mod:`equirl.solving.gain_methods`). Exact up to rounding.
- ``auto``: sweeps, and policy iteration where these stall.

The gain is that of the states reachable from the initial distribution. Where it depends on where one starts, there is
no one gain to measure regret against, and :class:`NoConstantGain` names two states that differ; ``multichain=True``
gives the gain from each state (:mod:`equirl.solving.multichain`). With a ``discount``, see
:mod:`equirl.solving.discounted`; with a ``goal``, :mod:`equirl.solving.goals`.

What is to be maximised is a small type, :class:`Criterion`: learners and simulation ask it for all that depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Name, Pairs, named_policy, policy_table
from equirl.model.reward_distributions import original_gain
from equirl.solving.chains import Block, block, decided, once, reachable_block, reachable_kind
from equirl.solving.discounted import DiscountedSolution, solve_discounted
from equirl.solving.gain_methods import METHODS, modified_iteration, solve_block
from equirl.solving.goals import GoalSolution, solve_goal
from equirl.solving.gpu_engine import checked_device
from equirl.solving.multichain import GainByState, NoConstantGain, check_constant_gain, gain_by_state, solved_components
from equirl.solving.value_iteration import BlockAnswer, SolverLimits
from equirl.words.answer_units import ByName, ByNumber, InUnits, UnitReward
from equirl.words.checking import choice, flag, inside, whole_number
from equirl.words.tables import Table, card


class UncertifiedGain(ArithmeticError):  # noqa: N818 (it names the finding)
    """The optimal gain could not be found closely enough to measure regret against it."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What is optimal in a known MDP: ``gain + bias = max_a (r + P bias)`` up to ``accuracy`` in every solved state.

    Solved are the states reachable from the initial distribution and those that every policy leaves for them.
    Elsewhere bias and gain are NaN and the policy plays the first action. Where several policies are optimal the bias
    need not be unique; where the gain depends on the start (``multichain=True``) it is NaN everywhere.

    Attributes
    ----------
    gain, unit_gain : float
        Optimal gain from the initial distribution, in the units of the problem's rewards; and with rewards in [0, 1],
        as all that begins with ``unit_``.
    bias, unit_bias : ndarray of shape (S,)
        Optimal bias, its smallest solved value 0.
    policy : ndarray of shape (S,)
        An optimal action of each state.
    policy_pair : ndarray of shape (S,)
        The pair played in each state.
    kind : str
        Kind of the reachable part, see :func:`chain_kind`.
    span, unit_span : float
        Largest minus smallest bias in the reachable part.
    accuracy, unit_accuracy : float
        Certified: the optimal gain is within this of ``gain``.
    converged : bool
        Whether the accuracy asked for was reached.
    n_sweeps : int
        Sweeps over all pairs; a step of policy iteration is one.
    method : str
        "value" or "policy": the one that finished.
    gain_by_state, unit_gain_by_state : ndarray of shape (S,)
        Optimal gain from each solved state: ``gain`` everywhere unless it depends on the start.
    pairs : Pairs
        The pairs of the problem, with their names.
    reward_map : tuple of float
        (scale, shift) of the problem: original reward = scale * reward + shift.
    """

    unit_gain: UnitReward[float]
    unit_bias: UnitReward[np.ndarray]
    policy: ByNumber[np.ndarray]
    policy_pair: np.ndarray
    kind: str
    unit_span: UnitReward[float]
    unit_accuracy: UnitReward[float]
    converged: bool
    n_sweeps: int
    method: str
    unit_gain_by_state: UnitReward[np.ndarray]
    pairs: Pairs
    reward_map: tuple[float, float] = (1.0, 0.0)

    @property
    def gain(self) -> InUnits[float]:
        return original_gain(self.unit_gain, self.reward_map)

    @property
    def bias(self) -> InUnits[np.ndarray]:
        return self.reward_map[0] * self.unit_bias

    @property
    def span(self) -> InUnits[float]:
        return self.reward_map[0] * self.unit_span

    @property
    def accuracy(self) -> InUnits[float]:
        return self.reward_map[0] * self.unit_accuracy

    @property
    def gain_by_state(self) -> InUnits[np.ndarray]:
        scale, shift = self.reward_map
        return scale * self.unit_gain_by_state + shift

    def named_policy(self) -> ByName[dict[Name, Name]]:
        """``{state: action}``, by name where there are names."""
        return named_policy(self.pairs, self.policy)

    def table(self) -> InUnits[ByName[Table]]:
        """The policy with names, gain and bias; a row per state.

        >>> lamp = [("off", "press", {"on": 1.0}, -1.0), ("on", "wait", {"on": 0.5, "off": 0.5}, 3.0)]
        >>> print(solve(TabularMDP.from_pairs(lamp, rescale=True)).table())
        state  action     gain     bias
        off    press   1.66667        0
        on     wait    1.66667  2.66667
        """
        return policy_table(self.pairs, self.policy, {"gain": self.gain_by_state, "bias": self.bias})

    def __repr__(self) -> str:
        return f"Solution(gain={self.gain:.6g}, within {self.accuracy:.1e}, {self.kind})"

    def _repr_html_(self) -> str:
        facts = {"gain": self.gain, "kind": self.kind, "accuracy": self.accuracy}
        return card("Solution", facts, {"Policy": self.table()})


@overload
def solve(
    mdp: TabularMDP, accuracy: float = ..., method: str = ..., max_sweeps: int = ..., *,
    multichain: bool = ..., discount: None = None, goal: None = None, device: str = ...,
) -> Solution: ...  # fmt: skip
@overload
def solve(
    mdp: TabularMDP, accuracy: float = ..., method: str = ..., max_sweeps: int = ..., *,
    multichain: bool = ..., discount: float, goal: None = None, device: str = ...,
) -> DiscountedSolution: ...  # fmt: skip
@overload
def solve(
    mdp: TabularMDP, accuracy: float = ..., *, goal: Any, objective: str = ..., maximise: bool | None = ...,
) -> GoalSolution: ...  # fmt: skip
def solve(
    mdp: TabularMDP,
    accuracy: float = 1e-8,
    method: str = "auto",
    max_sweeps: int = 100_000,
    *,
    multichain: bool = False,
    discount: float | None = None,
    goal: Any = None,
    objective: str = "reach",
    maximise: bool | None = None,
    device: str = "cpu",
) -> Solution | DiscountedSolution | GoalSolution:
    """Optimal gain, bias and policy, or with a discount or a goal values and policy, and how certain they are.

    One sweep costs O(successors); memory is O(S + successors), and one sparse LU where policy iteration is used.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    accuracy : float
        How close to the optimum the gain must be, as a part of the range of rewards. One below rounding ends with
        ``converged=False``.
    method : {"auto", "policy", "value"}
        How to solve it; "auto" chooses.
    max_sweeps : int
        Sweeps after which the best bracket so far is returned, with ``converged=False``.
    multichain : bool
        Whether a gain that depends on the start is solved for, state by state, instead of refused.
    discount : float, optional
        In [0, 1): what a reward one step later counts. Without it rewards are averaged over time.
    goal : state, list of states, mask of shape (S,), or function of a state's name, optional
        Where the problem ends: states by number or name. What is optimal on the way is then sought, not on average.
    objective : {"reach", "cost", "reward", "steps"}
        With a goal: the probability of reaching it; or the expected cost (minus the rewards), reward or number of steps
        until it is reached. Policies that may miss the goal cost infinitely much.
    maximise : bool, optional
        With a goal: whether the largest value is sought or the smallest; by default the largest probability or reward,
        the smallest cost or number of steps.
    device : {"cpu", "gpu"}
        Where to sweep, without a goal. A GPU (the extra ``gpu``) pays from some 10^5 states on; what it finds is
        certified on the processor. No policies are factored there: what mixes slowly takes as many sweeps as it takes.

    Raises
    ------
    ImportError
        With ``device="gpu"``, where CuPy is not installed.
    NoConstantGain
        Where the optimal gain depends on the start and ``multichain`` is false.
    IllConditioned
        With ``multichain`` or a goal, where ends are reached too rarely to be told apart in double precision.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0.1, 0.0], [1.0, 0.0]])
    >>> answer = solve(mdp)
    >>> answer.policy, answer.kind
    (array([1, 0]), 'communicating')
    >>> round(answer.gain, 6), round(answer.span, 6)
    (1.0, 1.0)

    Two absorbing states, of which the start reaches either with probability 1/2:

    >>> ends = [(0, 0, {1: 0.5, 2: 0.5}, 0.0), (1, 0, {1: 1.0}, 1.0), (2, 0, {2: 1.0}, 0.2)]
    >>> solve(TabularMDP.from_pairs(ends, 3), multichain=True).gain_by_state
    array([0.6, 1. , 0.2])

    >>> solve(mdp, discount=0.5).value.round(6)
    array([1., 2.])

    The chance of the second end, and how many steps an end takes from each state:

    >>> solve(TabularMDP.from_pairs(ends, 3), goal=2).value
    array([0.5, 0. , 1. ])
    >>> solve(TabularMDP.from_pairs(ends, 3), goal=[1, 2], objective="steps").value
    array([1., 0., 0.])
    """
    check_mdp(mdp)
    if goal is not None:
        if discount is not None or flag("multichain", multichain) or method != "auto" or device != "cpu":
            raise ValueError("discount, multichain, method and device are not for problems with a goal; leave them out")
        return solve_goal(mdp, goal, objective, maximise, accuracy)
    if objective != "reach" or maximise is not None:
        raise ValueError("objective and maximise are for problems with a goal; pass goal=... too")
    if discount is not None:
        if flag("multichain", multichain):
            raise ValueError("multichain=True is for average reward; discounted values exist from every state")
        return solve_discounted(mdp, discount, accuracy, method, max_sweeps, device)
    method = choice("method", method, METHODS)
    limits = SolverLimits(inside("accuracy", accuracy, 0, math.inf), whole_number("max_sweeps", max_sweeps))
    multichain = flag("multichain", multichain)
    if checked_device(device) == "gpu" and method == "policy":
        raise ValueError("method='policy' factors matrices on the processor; leave it or device='gpu' out")
    reachable, kind = reachable_block(mdp), reachable_kind(mdp)
    if kind == "multichain":
        components = solved_components(reachable, limits._replace(accuracy=limits.accuracy / 4))
        try:
            check_constant_gain(mdp, reachable, components)
        except NoConstantGain:
            if not multichain:
                raise
            return _assemble(mdp, kind, reachable, gain_by_state(reachable, components), limits.accuracy)
    solved = once(mdp, "_decided_block", lambda mdp: block(mdp, decided(mdp)))
    if device == "gpu":
        answer = modified_iteration(solved, np.zeros(solved.n_states), limits, device=device)
    else:
        answer = solve_block(solved, method, limits)
    return _assemble(mdp, kind, solved, answer, limits.accuracy)


def certified_solution(mdp: TabularMDP, within: float = 1e-6) -> Solution:
    """What is optimal in an MDP, if its gain is certain enough to measure regret against.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    within : float
        The largest error of the gain that is accepted, as a part of the range of rewards, else
        :class:`UncertifiedGain`; regret after T steps is then within T times this.

    Examples
    --------
    >>> certified_solution(TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [0.75]])).gain
    0.25
    """
    within = inside("within", within, 0, math.inf)
    answer = solve(mdp)
    if not answer.unit_accuracy <= within:
        raise UncertifiedGain(
            f"the optimal gain of this MDP is only known to be {answer.gain:.6g} within {answer.accuracy:.1g} after "
            f"{answer.n_sweeps} sweeps, too little to report regret; pass the gain if you know it (gain=...), or see "
            "what equirl.solve finds with a larger max_sweeps"
        )
    return answer


def _assemble(
    mdp: TabularMDP, kind: str, solved: Block, answer: BlockAnswer | GainByState, accuracy: float
) -> Solution:
    bias, gains = np.full((2, mdp.n_states), np.nan)
    if isinstance(answer, BlockAnswer):
        gain = float(np.clip((answer.low + answer.high) / 2, solved.reward.min(), solved.reward.max()))
        bias[solved.state], gains[solved.state] = answer.bias - answer.bias.min(), gain
    else:
        start = mdp.initial[solved.state]
        gain = float(np.clip(start @ answer.gain / start.sum(), answer.gain.min(), answer.gain.max()))
        gains[solved.state] = answer.gain
    pair = mdp.pairs.ptr[:-1].copy()
    pair[solved.state] = solved.pair[answer.pair]
    return Solution(
        unit_gain=gain,
        unit_bias=bias,
        policy=mdp.pairs.action[pair],
        policy_pair=pair,
        kind=kind,
        unit_span=float(np.ptp(bias[mdp.reachable()])),
        unit_accuracy=answer.accuracy,
        converged=answer.accuracy <= accuracy,
        n_sweeps=answer.n_sweeps,
        method=answer.method,
        unit_gain_by_state=gains,
        pairs=mdp.pairs,
        reward_map=mdp.reward_map,
    )


@dataclass(frozen=True)
class Criterion:
    """The average reward (discount 1), or rewards to come, each step's worth ``discount`` times that of the one before.

    Discounted values are on the scale of rewards, (1 - discount) v in [0, 1], so that they compare with a gain.
    """

    discount: float = 1.0  # the factor on the values of successors in a Bellman sweep

    def accuracy(self, t: int) -> float:
        """The span of u' - u at which planning at time t may stop: discounted values are then within 1 / sqrt(t)."""
        return (1.0 if self.discount == 1.0 else 1.0 - self.discount) / math.sqrt(t)

    def optimum(self, mdp: TabularMDP) -> float:
        """The optimal gain of rewards in [0, 1], of the part that can be reached; an error where it is not certified.

        Regret is measured against it with a discount, too; there it is NaN where the MDP has no single one.
        """
        try:
            return certified_solution(mdp).unit_gain
        except NoConstantGain:
            if self.discount == 1.0:
                raise
            return math.nan

    def regret(self, t: np.ndarray, optimum: float, earned: np.ndarray) -> np.ndarray:
        """What was lost up to times t, given what was earned up to them."""
        return t * optimum - earned


AVERAGE_REWARD = Criterion()
