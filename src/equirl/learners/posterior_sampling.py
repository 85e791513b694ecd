"""Posterior sampling: each episode draws one MDP from the posterior and plays its best policy.

What may be drawn is a choice of parts: rows of transition probabilities each on its own (PSRL) or through classes
that are drawn as well (C-PSRL), mean rewards by pair or shared, and how long an episode lasts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import estimate
from equirl.learners.beliefs import (
    ActionValues,
    AgentPlan,
    CountedBeliefs,
    FormedClasses,
    PairBelief,
    PolicyGap,
    greedy_actions,
    plan_values,
    shown_plan,
)
from equirl.learners.contract import (
    UNLIMITED,
    CountingLearner,
    Limits,
    State,
    Stretch,
    is_over,
    prefixed,
    unprefixed,
)
from equirl.learners.parts import DrawnPlanning, Lengths, RewardPrior, RowPrior
from equirl.learners.planners import discount_up_to_one
from equirl.learners.recipes import Blueprint
from equirl.model.pairs import Pairs
from equirl.model.rows import Rows
from equirl.numerics.random_draws import draw_state
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Plan, Stop
from equirl.posterior.drawn_plan import POLICY_SWEEPS, gain_in, mean_model, plan_from
from equirl.posterior.inspection import class_posterior, row_spread
from equirl.solving.optimal_gain import Criterion
from equirl.structure.partition import Partition
from equirl.words.checking import above, choice

STAY = 0.5  # chance of staying put while planning: a drawn MDP may be periodic
LEAST_SWEEPS, MOST_SWEEPS = 20, 1000  # full ones of a plan
MOST_LOOKUPS = 1e6  # successors looked at in all full sweeps of a plan, though LEAST_SWEEPS are always allowed
EPISODES = ("steady", "doubling", "tsde")
FLOOR, SHORTEST, GROWTH = 10, 50, 1.4  # of "steady" episodes
LEAST_DRAWS = 40  # from which the gap of a policy is told
SPREAD = (0.05, 0.95)  # quantiles of draws between which their middle lies


@dataclass(frozen=True)
class DrawnPlanner(DrawnPlanning):
    """Value iteration in the drawn MDP, to ``accuracy / sqrt(t)`` of the gain; every pair stays put half of the time.

    With a ``discount`` rewards to come are discounted, and nothing stays put for planning's sake.
    """

    accuracy: float = 0.1
    discount: float = 1.0

    def __post_init__(self) -> None:
        discount_up_to_one(self.discount)
        above("accuracy", self.accuracy, 0, "does not plan")

    @property
    def staying(self) -> float:
        return STAY if self.discount == 1.0 else 0.0

    def plan(
        self, state: int, pair_ptr: np.ndarray, model: ExactModel, accuracy: float, bias: np.ndarray, rng: np.ndarray
    ) -> Plan:
        sweeps = int(min(MOST_SWEEPS, max(LEAST_SWEEPS, MOST_LOOKUPS / model.n_entries)))
        stop = Stop(self.discount, self.accuracy * accuracy, sweeps, POLICY_SWEEPS)
        return plan_from(state, pair_ptr, model, bias, stop, rng)


@dataclass(frozen=True)
class EpisodeLengths(Lengths):
    """How long an episode lasts.

    "steady": until a pair's visits in it reach max(its visits before, min(FLOOR, t / M)), or max(SHORTEST, GROWTH
    sqrt(t)) steps: long enough to get somewhere, and draws enough for ever. "doubling": until a pair's visits double.
    "tsde": that, or one step longer than the episode before (Ouyang et al. 2017). With a finite ``effort`` an episode
    lasts at least as many steps as its drawing and planning took look-ups, over ``effort``.
    """

    episodes: str = "steady"
    effort: float = math.inf

    def __post_init__(self) -> None:
        choice("episodes", self.episodes, EPISODES)
        above("effort", self.effort, 0, "plans whenever the rule fires")

    def limits(self, visits: np.ndarray, t: int, last_length: int, work: float) -> Limits:
        floor, steps = 1, UNLIMITED
        if self.episodes == "steady":
            floor = min(FLOOR, max(1, t // len(visits)))
            steps = int(min(max(SHORTEST, GROWTH * math.sqrt(t)), UNLIMITED))
        elif self.episodes == "tsde":
            steps = last_length + 1
        grace = np.array([int(min(work / self.effort, UNLIMITED)), 0], np.int64)
        label, group_left = np.zeros(len(visits), np.int64), np.array([UNLIMITED], np.int64)
        return Limits(label, np.maximum(floor, visits), group_left, grace, np.array([steps], np.int64))


class PosteriorParts(NamedTuple):
    rows: RowPrior
    rewards: RewardPrior
    planner: DrawnPlanning
    lengths: Lengths


class PosteriorLearner(CountingLearner):
    """An agent that plays the best policy of an MDP drawn from its posterior. Make one with ``equirl.make_agent``."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        part = self.settings.part
        self.parts = PosteriorParts(part(RowPrior), part(RewardPrior), part(DrawnPlanning), part(Lengths))
        self.criterion = Criterion(self.parts.planner.discount)
        self.rng = draw_state(blueprint.seed)
        self.rows = self.parts.rows.row_sampler(self.pairs, self.given)
        self.rewards = self.parts.rewards.reward_sampler(self.pairs, self.given)
        self.seen: Snapshot | None = None  # the counts of the last draw
        self.model: ExactModel | None = None  # the MDP drawn
        self.drawn_plan: Plan | None = None

    # --- deciding

    def decide(self, state: int) -> Stretch:
        """The policy of the MDP drawn last, or of a new one where the episode ends."""
        self.test_structure()
        plan, limits = self.drawn_plan, self.limits
        if plan is None or limits is None or is_over(plan.policy[state], limits):
            plan, limits = self._start_episode(state)
        return Stretch(plan.policy, limits)

    def _start_episode(self, state: int) -> tuple[Plan, Limits]:
        planner, lengths = self.parts.planner, self.parts.lengths
        seen = self.counts.snapshot()
        self.model, work = self.draw_model(seen)
        end = self.model.n_entries

        bias = np.zeros(self.pairs.n_states) if self.drawn_plan is None else self.drawn_plan.bias
        plan = planner.plan(state, self.pairs.ptr, self.model, self.criterion.accuracy(self.t), bias, self.rng)
        self.n_unconverged += not plan.converged
        last = self.t - self.episode_starts[-1] if self.episode_starts else 0
        self.limits = lengths.limits(seen.visits, self.t, last, work + plan.n_sweeps * end)
        self.episode_starts.append(self.t)
        self.seen, self.drawn_plan = seen, plan
        return plan, self.limits

    def draw_model(self, seen: Snapshot) -> tuple[ExactModel, int]:
        """An MDP drawn from the posterior of these counts, and the work it took in look-ups."""
        rows, work = self.rows.draw(seen, self.rng)
        reward = self.rewards.draw(seen, self.rng)
        end = int(rows.ptr[-1])
        owner, stay = np.array(self.pairs.state), self.parts.planner.staying
        return ExactModel(Rows(rows.ptr, rows.succ[:end], rows.prob[:end]), rows.rest, reward, owner, stay), work

    @property
    def beliefs(self) -> PosteriorBeliefs:
        return PosteriorBeliefs(self)

    # --- saving

    def state(self) -> State:
        arrays, values = super().state()
        arrays |= {"rng": self.rng, **self.rows.arrays(), **self.rewards.arrays()}
        if self.seen is not None and self.drawn_plan is not None and self.model is not None:
            plan = self.drawn_plan
            arrays |= prefixed("then", self.seen) | {"policy": plan.policy, "bias": plan.bias}
            arrays |= prefixed("drawn", self.model.rows)
            arrays |= {f"drawn_{name}": np.asarray(getattr(self.model, name)) for name in ExactModel._fields[1:]}
            values["plan"] = [plan.gain, plan.n_sweeps, plan.span, plan.converged]
        return State(arrays, values)

    def restore(self, state: State) -> None:
        super().restore(state)
        arrays, values = state
        if arrays["rng"].dtype != np.uint64 or arrays["rng"].shape != (1,):
            raise ValueError("the generator's state is not whole")
        self.rng = arrays["rng"].copy()
        self.rewards.restore(arrays)
        if "plan" in values:
            self.seen = unprefixed("then", Snapshot, arrays)
            self.rows.restore(arrays, self.seen)
            rest, reward, owner, stay = (arrays[f"drawn_{name}"] for name in ExactModel._fields[1:])
            drawn = ExactModel(unprefixed("drawn", Rows, arrays), rest, reward, owner, float(stay))
            self.model = checked_model(drawn, self.pairs)
            gain, n_sweeps, span, converged = values["plan"]
            self.drawn_plan = Plan(arrays["policy"], gain, arrays["bias"], n_sweeps, span, converged)


class PosteriorBeliefs(CountedBeliefs):
    """The classes and the plan of the last draw; everything else from draws made in a copy."""

    agent: PosteriorLearner
    forms_classes: ClassVar[bool] = True
    has_policy: ClassVar[bool] = True
    has_gap: ClassVar[bool] = True
    unsure_by: ClassVar[str] = "spread of its draws"

    def measures(self) -> Mapping[str, float]:
        return {"n_classes": self.classes().partition.n_classes, **self.agent.rows.measures()}

    def classes(self) -> FormedClasses:
        """The classes of the last draw, or before the first of one made in a copy; pairs without one stand alone."""
        M, drawn, seen = self.agent.pairs.n_pairs, self.agent, self.agent.seen
        if seen is None:
            drawn, seen = self.agent.copy(), self.counts.snapshot()
            drawn.rows.draw(seen, drawn.rng)
        label = drawn.rows.labels()
        label = np.arange(M) if label is None else np.where(label < 0, M + np.arange(M), label)
        return FormedClasses(Partition.from_labels(label), seen, False)

    def alike_by(self) -> str:
        return super().alike_by() or ("" if self.agent.rows.labels() is None else "drawn")

    def alike_to(self, pair: int) -> np.ndarray:
        if self.alike_by() != "drawn":
            return super().alike_to(pair)
        labels = class_posterior(self.agent, LEAST_DRAWS, passes=1).labels
        return np.asarray(((labels == labels[:, [pair]]) & (labels >= 0)).mean(axis=0))

    def uncertainty(self) -> np.ndarray:
        return row_spread(self.agent)

    def pair_belief(self, pair: int) -> PairBelief:
        """The mean and the middle 90 % of draws of a pair's row and mean reward, given all that was seen."""
        twin, seen, S = self.agent.copy(), self.counts.snapshot(), self.agent.pairs.n_states
        twin.rows.plain()
        models = [twin.draw_model(seen)[0] for _ in range(LEAST_DRAWS)]
        succ = np.unique(np.concatenate([model.rows.succ[model.rows.row(pair)] for model in models]))
        law = np.zeros((len(models), len(succ)))
        for k, model in enumerate(models):
            row = model.rows.row(pair)
            np.add.at(law[k], np.searchsorted(succ, model.rows.succ[row]), model.rows.prob[row])
            law[k] += model.rest[pair] / S
        order = np.argsort(-law.mean(axis=0), kind="stable")
        low, high = np.quantile(law[:, order], SPREAD, axis=0)
        unseen = float(np.quantile([model.rest[pair] / S for model in models], SPREAD[1]))
        means = [model.reward[pair] for model in models]
        r_low, r_high = np.quantile(means, SPREAD)
        return PairBelief(
            succ[order], law.mean(axis=0)[order], low, high, unseen, float(np.mean(means)), float(r_low),
            float(r_high), int(seen.visits[pair]), "middle 90 % of draws",
        )  # fmt: skip

    def action_values(self, state: int) -> ActionValues | None:
        agent = self.agent
        if agent.drawn_plan is None or agent.model is None:
            return None
        value = plan_values(agent.model, agent.drawn_plan, agent.pairs, state, agent.criterion.discount)
        return ActionValues(value, "value in the MDP drawn")

    @property
    def plan(self) -> AgentPlan:
        """The plan being played: optimal in the MDP drawn, where it can be reached from where the episode began."""
        if self.agent.drawn_plan is None:
            raise ValueError("the learner has not decided anything yet; call act(state) first")
        return shown_plan(self.agent.drawn_plan, self.agent)

    def greedy_policy(self) -> np.ndarray:
        """What it would play without drawing: optimal in each pair's own estimates as they are now."""
        return greedy_actions(self.agent.pairs, estimate(self.counts.snapshot()))

    def policy_gap(self, state: int, delta: float) -> PolicyGap | None:
        """Of the best policy in the mean of drawn MDPs: the (1 - delta)-quantile of what it loses in them."""
        agent, pairs = self.agent, self.agent.pairs
        if agent.criterion.discount < 1.0:
            return None
        twin, seen = agent.copy(), self.counts.snapshot()
        twin.rows.plain()
        draws = max(LEAST_DRAWS, math.ceil(2 / delta))
        models = [twin.draw_model(seen)[0] for _ in range(draws)]
        accuracy, here = agent.criterion.accuracy(agent.t) / 10, np.eye(1, pairs.n_states, state)[0]
        stop = Stop(1.0, accuracy, MOST_SWEEPS, POLICY_SWEEPS)
        mean = mean_model(pairs, seen.visits > 0, models)
        best = plan_from(state, pairs.ptr, mean, np.zeros(pairs.n_states), stop, twin.rng)
        lost, bias = [], best.bias
        for model in models:
            plan = plan_from(state, pairs.ptr, model, bias, stop, twin.rng)
            bias = plan.bias
            lost.append(gain_in(model, plan.policy, here) - gain_in(model, best.policy, here))
        return PolicyGap(best.policy, max(0.0, float(np.quantile(lost, 1 - delta, method="higher"))), False)


def checked_model(model: ExactModel, pairs: Pairs) -> ExactModel:
    """The model, or an error where arrays from outside do not fit the pairs."""
    ptr, succ, prob = model.rows
    M, nnz = pairs.n_pairs, len(succ)
    fields = {"ptr": ptr, "succ": succ, "prob": prob, "rest": model.rest, "reward": model.reward, "state": model.state}
    sizes = {"ptr": M + 1, "succ": nnz, "prob": nnz, "rest": M, "reward": M, "state": M}
    for name, size in sizes.items():
        if fields[name].shape != (size,):
            raise ValueError(f"the {name} drawn does not fit the pairs")
    if ptr[0] != 0 or ptr[-1] != nnz or (np.diff(ptr) < 0).any() or not np.array_equal(model.state, pairs.state):
        raise ValueError("the rows drawn do not fit the pairs")
    if nnz and (succ.min() < 0 or succ.max() >= pairs.n_states):
        raise ValueError("a successor drawn is out of range")
    for name in ("prob", "rest", "reward"):
        if not ((fields[name] >= 0) & (fields[name] <= 1 + 1e-9)).all():
            raise ValueError(f"the {name} drawn is not between 0 and 1")
    return model
