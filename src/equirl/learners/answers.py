"""What a learner tells people: its plan with actions, its policy as a table, how good it is; in the user's units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.model.names import action_labels, state_labels
from equirl.model.pairs import Pairs
from equirl.model.reward_laws import original_rewards
from equirl.planning.optimistic_planning import Plan
from equirl.planning.sweeps import ModelSet, single_sweep
from equirl.solving.policies import policy_pairs
from equirl.words.tables import Table

if TYPE_CHECKING:
    from equirl.learners.contract import Learner


class PolicyGap(NamedTuple):
    """A policy, and what a better one could earn more per step, with probability 1 - delta."""

    policy: np.ndarray  # (S,) a pair per state
    gap: float  # of rewards in [0, 1]
    certified: bool  # by confidence sets; otherwise by draws from a posterior


class PairBelief(NamedTuple):
    """What a learner believes of one pair; rewards in [0, 1]."""

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


class LearnerPlan(NamedTuple):
    """The plan that a learner follows, in the units of its rewards."""

    policy: np.ndarray  # (S,) the action to play in each state
    policy_pair: np.ndarray  # (S,) the pair to play in each state
    gain: float  # within span / 2 of the best in the model or set of models planned in
    bias: np.ndarray  # (S,) with minimum 0
    n_sweeps: int
    span: float  # of the last sweep
    converged: bool


def shown_plan(plan: Plan, pairs: Pairs, reward_map: tuple[float, float]) -> LearnerPlan:
    """A plan as people read it: actions, and the units of the rewards."""
    scale, shift = reward_map
    return LearnerPlan(
        pairs.action[plan.policy], plan.policy, scale * plan.gain + shift, scale * plan.bias, plan.n_sweeps,
        scale * plan.span, plan.converged,
    )  # fmt: skip


def own_belief(seen: Snapshot, pair: int) -> PairBelief:
    """What a pair's own counts say, with no bounds but the trivial ones."""
    first, last, n = int(seen.ptr[pair]), int(seen.ptr[pair + 1]), int(seen.visits[pair])
    prob, size = seen.count[first:last] / max(1, n), last - first
    mean = float(seen.r_sum[pair]) / n if n else math.nan
    none = np.zeros(size), np.ones(size), 1.0
    return PairBelief(seen.succ[first:last], prob, *none, mean, 0.0, 1.0, n, "none: it keeps frequencies alone")


def plan_values(models: ModelSet, plan: Plan, pairs: Pairs, state: int, discount: float) -> np.ndarray:
    """(n,) the value of each action of a state in a plan, per step: played once, and then the plan.

    q(s,a) - u(s), which is the gain for a best action; with a discount (1 - discount) Q(s,a).
    """
    first, last = int(pairs.ptr[state]), int(pairs.ptr[state + 1])
    q = single_sweep(pairs.ptr, models, plan.bias, discount)().q[first:last]
    if discount == 1.0:
        return q - plan.bias[state]
    return (1.0 - discount) * q + discount * plan.gain


def policy_table(learner: Learner) -> Table:
    """A row per state: what the learner would play without exploring, and what it has seen of it."""
    told: Any = getattr(learner, "greedy_policy", None)
    if told is None:
        raise ValueError(f"{learner.name!r} has no policy to tell")
    actions, pairs = told(), learner.pairs
    columns: dict[str, Any] = {"state": state_labels(pairs), "action": action_labels(pairs, actions.tolist())}
    return Table({**columns, **own_columns(learner, policy_pairs(pairs, actions))})


def own_columns(learner: Learner, chosen: np.ndarray) -> dict[str, Any]:
    """Visits of some pairs and what they paid on average; nothing where the learner keeps no counts."""
    counts: Any = getattr(learner, "counts", None)
    if counts is None:
        return {}
    visits, total = counts.visits[chosen], counts.r_sum[chosen]
    means = np.divide(total, visits, out=np.full(len(visits), np.nan), where=visits > 0)
    return {"visits": visits, "mean_reward": original_rewards(means, learner.reward_map)}
