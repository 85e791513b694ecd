"""What an agent believes: the answers to questions about its policy, its classes, its sets, one pair, one action.

Each family of agents has its own subclass of :class:`Beliefs`; what a family cannot say stays as it is here: an error
that names the agent, or None where that is part of the answer. Answers for people are in the units of the rewards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from equirl.estimation.counts import Counts, Snapshot
from equirl.estimation.pooling import Estimates, estimate
from equirl.model.pairs import Name, Pairs, named_policy, policy_table
from equirl.model.reward_distributions import original_rewards
from equirl.model.rows import Rows
from equirl.numerics.arrays import owners, starts
from equirl.planning.exact_model import STAY, ExactModel
from equirl.planning.optimistic_planning import ModelSet, Plan, extended_value_iteration, single_sweep
from equirl.solving.policies import policy_pairs
from equirl.structure.partition import Partition
from equirl.words.answer_units import ByName, ByNumber, InUnits, UnitReward
from equirl.words.tables import Table

if TYPE_CHECKING:
    from equirl.learners.contract import CountingLearner, Learner
    from equirl.learners.explanations import Explanation


class FormedClasses(NamedTuple):
    """Classes an agent has formed, and the counts it formed them from."""

    partition: Partition
    seen: Snapshot
    compares_rewards: bool  # whether pairs of one class are meant to have equal mean rewards too


class PolicyGap(NamedTuple):
    """A policy, and what a better one could earn more per step, with probability 1 - delta."""

    policy: np.ndarray  # (S,) a pair per state
    gap: UnitReward[float]  # of rewards in [0, 1]
    certified: bool  # by confidence sets; otherwise by draws from a posterior


class PairBelief(NamedTuple):
    """What an agent believes of one pair; rewards in [0, 1]."""

    succ: np.ndarray  # (n,) states
    prob: np.ndarray  # (n,) their probabilities
    lower: np.ndarray  # (n,) bounds on them
    upper: np.ndarray
    unseen_upper: float  # bound on the probability of any other state
    mean: float
    r_lower: float
    r_upper: float
    samples: int  # behind the probabilities: more than the visits where they are pooled
    bounds_by: str  # what the bounds are, in words


class ActionValues(NamedTuple):
    """By what an action was chosen in a state: the largest value, or the least index."""

    value: np.ndarray  # (n,) one per action of the state; rewards in [0, 1]
    name: str  # what it is, in words
    of_rewards: bool = True  # whether it is in the units of the rewards
    least: bool = False  # whether the least is best


class AgentPlan(NamedTuple):
    """The plan that an agent follows, in the units of its rewards."""

    policy: ByNumber[np.ndarray]  # (S,) the action to play in each state
    policy_pair: np.ndarray  # (S,) the pair to play in each state
    gain: InUnits[float]  # within span / 2 of the best in the model or set of models planned in
    bias: InUnits[np.ndarray]  # (S,) with minimum 0
    n_sweeps: int
    span: InUnits[float]  # of the last sweep
    converged: bool


class Beliefs:
    """What an agent believes: ``agent.beliefs`` answers questions, and asking changes nothing.

    This class is that of agents which say nothing: its methods raise an error that names the agent, or return None.
    An agent that has more to say derives its own from it, or from :class:`CountedBeliefs`, and returns it as its
    property ``beliefs``.

    Parameters
    ----------
    agent : Learner
        Who is asked.

    Attributes
    ----------
    forms_classes : bool
        Whether :meth:`classes` and ``partition`` say anything.
    has_policy : bool
        Whether :meth:`greedy_policy` and :meth:`policy_table` do.
    has_gap : bool
        Whether :meth:`policy_gap` does.
    unsure_by : str
        What :meth:`uncertainty` measures, in words.

    Examples
    --------
    >>> from equirl.simulation.simulated_runs import simulate
    >>> from equirl.worlds.world_registry import make
    >>> beliefs = simulate(make("riverswim", n_states=4), "ucrl2-l", 2000, seed=0).agent.beliefs
    >>> beliefs.partition.n_classes, beliefs.plan.converged
    (8, True)
    >>> beliefs.greedy_policy()
    array([0, 0, 0, 0])
    """

    forms_classes: ClassVar[bool] = False
    has_policy: ClassVar[bool] = False
    has_gap: ClassVar[bool] = False
    unsure_by: ClassVar[str] = "nothing it says"

    def __init__(self, agent: Learner) -> None:
        self.agent = agent

    def __repr__(self) -> str:
        return f"<beliefs of {self.agent!r}>"

    def _does_not(self, what: str) -> NoReturn:
        raise ValueError(f"{self.agent.name!r} {what}")

    # --- classes

    def classes(self) -> FormedClasses | None:
        """The classes in force, with what they were formed from; None where the agent forms none."""
        return None

    @property
    def partition(self) -> Partition:
        """The classes in force; an error where the agent forms none."""
        formed = self.classes()
        if formed is None:
            self._does_not("forms no classes")
        return formed.partition

    def alike_by(self) -> str:
        """How it knows which pairs are alike: "given", "estimated", "drawn", or "" where every pair stands alone."""
        return "" if self.agent.given.classes is None else "given"

    def alike_to(self, pair: int) -> np.ndarray:
        """(M,) how probable it is that each pair is of the same class as this one, given by number."""
        classes = self.agent.given.classes
        if classes is None:
            classes = self.partition if self.alike_by() else Partition.from_labels(np.arange(self.agent.pairs.n_pairs))
        return np.where(classes.label == classes.label[pair], 1.0, 0.0)

    def refuted(self) -> InUnits[ByName[Table]]:
        """What was seen against the classes, or corresponding successors, that a user gave it.

        A row per class and kind of evidence. If all that was given is true, a row ever appears with probability
        ``delta`` (0.05 for agents without one) at most.
        """
        from equirl.learners.refuted_structure import refuted_table

        return refuted_table(self.agent)

    # --- policies

    @property
    def plan(self) -> InUnits[ByNumber[AgentPlan]]:
        """The plan being played; an error where the agent makes none, or has not decided anything yet."""
        self._does_not("makes no plans")

    def greedy_policy(self) -> ByNumber[np.ndarray]:
        """(S,) the action ids it would play without exploring; an error where it has no such policy.

        Pairs never tried are avoided (reward 0, staying put) wherever a tried one exists.
        """
        self._does_not("has no policy to show")

    def named_policy(self) -> ByName[dict[Name, Name]]:
        """The same as ``{state: action}``, by name where there are names."""
        return named_policy(self.agent.pairs, self.greedy_policy())

    def policy_table(self) -> InUnits[ByName[Table]]:
        """A row per state: the action it would play without exploring, by name, its visits and its mean reward."""
        actions, pairs = self.greedy_policy(), self.agent.pairs
        return policy_table(pairs, actions, self.own_columns(policy_pairs(pairs, actions)))

    def gain_bounds(self, policy: Any = None) -> InUnits[tuple[float, float]]:
        """Certified lower and upper bounds on the gain of a policy, on the event that the truth is plausible.

        Parameters
        ----------
        policy : sequence of int or names, optional
            An action per state, judged by all that was seen until now. By default the policy being played, judged by
            what was seen when it was made.
        """
        self._does_not("has no set of plausible models to bound a gain by")

    def value_bounds(self, policy: Any, discount: float) -> InUnits[tuple[np.ndarray, np.ndarray]]:
        """Certified bounds (S,) on the discounted values of a policy, on the event that the truth is plausible.

        Parameters
        ----------
        policy : sequence of int or names
            An action per state, judged by all that was seen until now.
        discount : float
            In [0, 1).
        """
        self._does_not("has no set of plausible models to bound values by")

    def policy_gap(self, state: int, delta: float) -> UnitReward[PolicyGap | None]:
        """How good the policy is that it would recommend in a state; None where it cannot say at this risk."""
        return None

    # --- the model

    @property
    def estimates(self) -> UnitReward[Estimates]:
        """Transition probabilities and mean rewards by pair, as it planned with them."""
        self._does_not("plans with no estimates")

    @property
    def models(self) -> UnitReward[ModelSet]:
        """The plausible models it planned in."""
        self._does_not("has no set of plausible models")

    @property
    def counts(self) -> UnitReward[Counts | None]:
        """All it has seen; None where it keeps no counts."""
        return None

    def uncertainty(self) -> np.ndarray | None:
        """(M,) how unsure it is of each pair's transition probabilities, as an L1 distance in [0, 2].

        Half-widths of its confidence sets, or the spread of its draws; None where it does not say.
        """
        return None

    def pair_belief(self, pair: int) -> UnitReward[PairBelief | None]:
        """What it believes now of a pair, by number; None where it does not say."""
        return None

    def action_values(self, state: int) -> UnitReward[ActionValues | None]:
        """By what it chose its action in a state, by number; None where it does not say."""
        return None

    # --- in words and numbers

    def explain(self, state: object, action: object = None) -> InUnits[ByName[Explanation]]:
        """What the agent knows of a pair, and why it does or does not play it.

        Parameters
        ----------
        state : int or str
            Its number or name.
        action : int or str, optional
            Likewise; by default the action that the agent would play in the state now.
        """
        from equirl.learners.explanations import explain

        return explain(self.agent, state, action)

    def measures(self) -> Mapping[str, float]:
        """Named numbers that describe the agent now, for the curves of a trace. One that it lacks is absent."""
        return {}

    def own_columns(self, chosen: np.ndarray) -> dict[str, Any]:
        """Visits of some pairs and what they paid on average; nothing where the agent keeps no counts."""
        if self.counts is None:
            return {}
        visits, total = self.counts.visits[chosen], self.counts.r_sum[chosen]
        means = np.divide(total, visits, out=np.full(len(visits), np.nan), where=visits > 0)
        return {"visits": visits, "mean_reward": original_rewards(means, self.agent.reward_map)}


class CountedBeliefs(Beliefs):
    """The beliefs of an agent that counts all it sees; of a pair it believes the frequencies."""

    agent: CountingLearner

    @property
    def counts(self) -> Counts:
        return self.agent.counts

    def greedy_policy(self) -> ByNumber[np.ndarray]:
        """With ``has_policy``, and unless it says otherwise: optimal in each pair's own estimates as they are now."""
        if not self.has_policy:
            return super().greedy_policy()
        return greedy_actions(self.agent.pairs, estimate(self.counts.snapshot()))

    def pair_belief(self, pair: int) -> PairBelief:
        seen = self.counts.snapshot()
        first, last, n = int(seen.ptr[pair]), int(seen.ptr[pair + 1]), int(seen.visits[pair])
        prob, size = seen.count[first:last] / max(1, n), last - first
        mean = float(seen.r_sum[pair]) / n if n else math.nan
        none = np.zeros(size), np.ones(size), 1.0
        return PairBelief(seen.succ[first:last], prob, *none, mean, 0.0, 1.0, n, "none: it keeps frequencies alone")


class GivenBeliefs(CountedBeliefs):
    """The beliefs of an agent that counts and knows no classes but those it is given."""

    def measures(self) -> Mapping[str, float]:
        given = self.agent.given
        return {"n_classes": given.classes.n_classes if given.classes else self.agent.pairs.n_pairs}


def shown_plan(plan: Plan, agent: Learner) -> AgentPlan:
    """A plan as people read it: actions, and the units of the rewards."""
    scale, shift = agent.reward_map
    return AgentPlan(
        agent.pairs.action[plan.policy], plan.policy, scale * plan.gain + shift, scale * plan.bias, plan.n_sweeps,
        scale * plan.span, plan.converged,
    )  # fmt: skip


def plan_values(models: ModelSet, plan: Plan, pairs: Pairs, state: int, discount: float) -> np.ndarray:
    """(n,) the value of each action of a state in a plan, per step: played once, and then the plan.

    q(s,a) - u(s), which is the gain for a best action; with a discount (1 - discount) Q(s,a).
    """
    first, last = int(pairs.ptr[state]), int(pairs.ptr[state + 1])
    q = single_sweep(pairs.ptr, models, plan.bias, discount)().q[first:last]
    if discount == 1.0:
        return q - plan.bias[state]
    return (1.0 - discount) * q + discount * plan.gain


def greedy_actions(pairs: Pairs, estimates: Estimates, accuracy: float = 1e-6) -> np.ndarray:
    """(S,) the best action in each state of the estimated MDP. Pairs without samples pay nothing and stay put."""
    known = estimates.samples > 0
    own_ptr, succ, mass = estimates.rows
    row = owners(own_ptr)
    placed = np.bincount(row, weights=mass, minlength=pairs.n_pairs)  # below 1 where masses are spare
    prob = np.zeros(len(row))
    np.divide(mass, placed[row], out=prob, where=known[row])
    size = np.diff(own_ptr) + ~known  # a pair without samples gets one entry: its own state
    ptr = starts(size)
    ends = np.flatnonzero(~known)
    succ = np.insert(succ, own_ptr[ends + 1], pairs.state[ends])
    prob = np.insert(prob, own_ptr[ends + 1], 1.0)
    means = np.where(known, estimates.r_hat, 0.0)
    model = ExactModel(Rows(ptr, succ, prob), np.zeros(pairs.n_pairs), means, pairs.state.copy(), STAY)
    return pairs.action[extended_value_iteration(pairs.ptr, model, accuracy, max_sweeps=10**4).policy]
