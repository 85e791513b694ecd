"""What a learner tells people: its plan with actions, its policy as a table, how good it is; in the user's units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equirl.core.tables import Table
from equirl.model.names import action_labels, state_labels
from equirl.model.pairs import Pairs
from equirl.planning.extended_value_iteration import Plan
from equirl.solving.policies import policy_pairs

if TYPE_CHECKING:
    from equirl.learners.contract import Learner


class PolicyGap(NamedTuple):
    """A policy, and what a better one could earn more per step, with probability 1 - delta."""

    policy: np.ndarray  # (S,) a pair per state
    gap: float  # of rewards in [0, 1]
    certified: bool  # by confidence sets; otherwise by draws from a posterior


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


def policy_table(learner: Learner) -> Table:
    """A row per state: what the learner would play without exploring, and what it has seen of it."""
    told: Any = getattr(learner, "greedy_policy", None)
    if told is None:
        raise ValueError(f"{learner.name!r} has no policy to tell")
    actions, pairs = told(), learner.pairs
    columns: dict[str, Any] = {"state": state_labels(pairs), "action": action_labels(pairs, actions.tolist())}
    counts: Any = getattr(learner, "counts", None)
    if counts is not None:
        played, (scale, shift) = policy_pairs(pairs, actions), learner.reward_map
        visits, total = counts.visits[played], counts.r_sum[played]
        means = np.divide(total, visits, out=np.full(len(visits), np.nan), where=visits > 0)
        columns |= {"visits": visits, "mean_reward": scale * means + shift}
    return Table(columns)
