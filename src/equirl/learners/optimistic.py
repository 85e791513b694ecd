"""The optimistic learner: UCRL2, UCRL2-L, every C-UCRL and their relatives are choices of its parts.

Episodes k = 1, 2, ...: at t_k the counts become estimates (pooled over whatever structure the learner has), estimates
become a set of plausible models, planning finds the best policy in the best of them, and that policy is played until
the stopping rule fires.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import Estimates, Grouping
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
from equirl.learners.parts import Estimate, Evidence, Models, Planner, Problem, Stopping, Structure
from equirl.learners.recipes import Blueprint
from equirl.model.reward_distributions import original_values
from equirl.planning.optimistic_planning import ModelSet, Plan, gain_bounds, value_bounds
from equirl.solving.optimal_gain import Criterion
from equirl.solving.policies import policy_pairs
from equirl.structure.partition import Partition
from equirl.words.checking import discount_below_one

# What ``effort`` is charged, in look-ups
SWEEP_WORK = 0.4  # per entry of a sweep
ESTIMATE_WORK = 8  # of estimates and sets, per observed successor
CLUSTERING_WORK = 400  # of ApproxEquivalence, per observed successor


class OptimisticParts(NamedTuple):
    structure: Structure
    estimate: Estimate
    models: Models
    planner: Planner
    stopping: Stopping


class Episode(NamedTuple):
    """What the learner thought at the start of an episode."""

    start: int  # t_k
    seen: Snapshot
    groups: Grouping
    estimates: Estimates
    models: ModelSet
    plan: Plan


class OptimisticLearner(CountingLearner):
    """An agent that plays the best policy of the best plausible model. Make one with ``equirl.make_agent``."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        part = self.settings.part
        self.parts = OptimisticParts(part(Structure), part(Estimate), part(Models), part(Planner), part(Stopping))
        self.criterion = Criterion(self.parts.planner.discount)
        delta, rewards = self.parts.models.delta, self.parts.estimate
        self.problem = Problem(self.pairs, self.given, delta, rewards.pool_rewards, rewards.share_rewards)
        self.rules = self.parts.structure.rules(self.problem)
        self.tie_rng, self.priority_rng = (np.random.default_rng(child) for child in blueprint.seed.spawn(2))
        self.episode: Episode | None = None
        self.cluster_from = 1  # classes are estimated anew in the first episode that starts at this time or later

    # --- deciding

    def decide(self, state: int) -> Stretch:
        """The episode under way, or a new one where the rule fires for the pair about to be played."""
        self.test_structure()
        episode, limits = self.episode, self.limits
        if episode is None or limits is None or is_over(episode.plan.policy[state], limits):
            episode, limits = self._start_episode()
        return Stretch(episode.plan.policy, limits)

    def _start_episode(self) -> tuple[Episode, Limits]:
        seen = self.counts.snapshot()
        groups = self._group(seen)
        estimates, models = self.believe(seen, groups, self.t)

        last, accuracy = self.episode and self.episode.plan, self.criterion.accuracy(self.t)
        plan = self.parts.planner.plan(self.pairs.ptr, models, accuracy, self.tie_rng, last)
        self.n_unconverged += not plan.converged

        work = SWEEP_WORK * plan.n_sweeps * models.n_entries + ESTIMATE_WORK * len(seen.succ)
        self.limits = self.parts.stopping.limits(seen.visits, groups, work)
        self.episode_starts.append(self.t)
        self.episode = Episode(self.t, seen, groups, estimates, models, plan)
        return self.episode, self.limits

    def _group(self, seen: Snapshot) -> Grouping:
        """The structure's groups; those of the episode before as long as a finite ``effort`` says so.

        Groups inside given classes are always formed anew: a pair met since would stand alone, its first visit telling
        next to nothing, and be hoped for again and again.
        """
        structure = self.parts.structure
        if self.episode is not None and self.t < self.cluster_from:
            return self.episode.groups
        priority = self.priority_rng.permutation(self.pairs.n_pairs) if structure.draws_priority else None
        if structure.clusters and self.given.classes is None:
            rest = CLUSTERING_WORK * len(seen.succ) / self.parts.stopping.effort
            self.cluster_from = self.t + int(min(rest, UNLIMITED))
        return structure.groups(seen, self.problem, self.rules, priority)

    def first_groups(self, seen: Snapshot) -> Grouping:
        """The groups of these counts, without a draw: what :attr:`beliefs` are over before the first episode."""
        return self.parts.structure.groups(seen, self.problem, self.rules, None)

    def believe(self, seen: Snapshot, groups: Grouping, t: int) -> tuple[Estimates, ModelSet]:
        estimates = self.parts.estimate.estimate(seen, groups, self.problem)
        shares = self.parts.structure.shares(groups.n_groups, self.problem)
        models = self.parts.models.enclose(Evidence(seen, groups, estimates, shares, t), self.problem)
        if self.given.mean_rewards is not None:
            estimates = estimates._replace(r_hat=self.given.mean_rewards)
        return estimates, models

    @property
    def beliefs(self) -> OptimisticBeliefs:
        return OptimisticBeliefs(self)

    # --- saving

    def state(self) -> State:
        arrays, values = super().state()
        values = {"tie_rng": self.tie_rng.bit_generator.state, "priority_rng": self.priority_rng.bit_generator.state}
        if self.episode is not None:
            episode, plan = self.episode, self.episode.plan
            values["cluster_from"] = self.cluster_from
            values["episode"] = {
                "start": episode.start, "n_classes": episode.groups.n_groups, "gain": plan.gain,
                "n_sweeps": plan.n_sweeps, "span": plan.span, "converged": plan.converged,
            }  # fmt: skip
            arrays |= prefixed("then", episode.seen)
            arrays |= {"label": episode.groups.label, "policy": plan.policy, "bias": plan.bias}
        return State(arrays, values)

    def restore(self, state: State) -> None:
        super().restore(state)
        arrays, values = state
        self.tie_rng.bit_generator.state = values["tie_rng"]
        self.priority_rng.bit_generator.state = values["priority_rng"]
        if "episode" in values:
            self.cluster_from = int(values["cluster_from"])
            then: dict[str, Any] = values["episode"]
            seen, groups = unprefixed("then", Snapshot, arrays), Grouping(arrays["label"], then["n_classes"])
            plan = Plan(
                arrays["policy"], then["gain"], arrays["bias"], then["n_sweeps"], then["span"], then["converged"]
            )
            self.episode = Episode(then["start"], seen, groups, *self.believe(seen, groups, then["start"]), plan)


class OptimisticBeliefs(CountedBeliefs):
    """Estimates and plausible models; those of the episode under way, or from all that was seen until now."""

    agent: OptimisticLearner
    forms_classes: ClassVar[bool] = True
    has_policy: ClassVar[bool] = True
    has_gap: ClassVar[bool] = True
    unsure_by: ClassVar[str] = "width of its sets"

    @property
    def episode(self) -> Episode:
        if self.agent.episode is None:
            raise ValueError("the learner has not decided anything yet; call act(state) first")
        return self.agent.episode

    def _now(self) -> tuple[Estimates, ModelSet]:
        """Estimates and plausible models from all that was seen, over the groups of the episode or the first ones."""
        agent, seen = self.agent, self.counts.snapshot()
        groups = agent.first_groups(seen) if agent.episode is None else agent.episode.groups
        return agent.believe(seen, groups, agent.t)

    def measures(self) -> Mapping[str, float]:
        return {"n_classes": self.episode.groups.n_groups}

    def classes(self) -> FormedClasses:
        """The classes in force: given, estimated, or one per pair; before the first decision those of what was seen."""
        agent, episode = self.agent, self.agent.episode
        seen = self.counts.snapshot() if episode is None else episode.seen
        groups = agent.first_groups(seen) if episode is None else episode.groups
        return FormedClasses(Partition.from_labels(groups.label), seen, agent.parts.estimate.pool_rewards)

    def alike_by(self) -> str:
        return super().alike_by() or ("estimated" if self.agent.parts.structure.clusters else "")

    @property
    def estimates(self) -> Estimates:
        return self.episode.estimates

    @property
    def models(self) -> ModelSet:
        return self.episode.models

    def uncertainty(self) -> np.ndarray:
        return self.models.widths()

    def pair_belief(self, pair: int) -> PairBelief:
        estimates, models = self._now()
        row = estimates.rows.row(pair)
        lower, upper, unseen = models.row_bounds(pair)
        r_lower, r_upper = float(models.r_lower[pair]), float(models.r_upper[pair])
        known = self.agent.given.mean_rewards is not None or estimates.r_samples[pair] > 0
        mean = float(estimates.r_hat[pair]) if known else math.nan
        return PairBelief(
            estimates.rows.succ[row], estimates.rows.prob[row], lower, upper, unseen, mean, r_lower, r_upper,
            int(estimates.samples[pair]), f"confidence sets, risk {self.agent.parts.models.delta:g}",
        )  # fmt: skip

    def action_values(self, state: int) -> ActionValues:
        plan, agent = self.episode.plan, self.agent
        value = plan_values(self.models, plan, agent.pairs, state, agent.criterion.discount)
        return ActionValues(value, "optimistic value")

    @property
    def plan(self) -> AgentPlan:
        return shown_plan(self.episode.plan, self.agent)

    def greedy_policy(self) -> np.ndarray:
        return greedy_actions(self.agent.pairs, self._now()[0])

    def gain_bounds(self, policy: Any = None) -> tuple[float, float]:
        agent, (scale, shift) = self.agent, self.agent.reward_map
        if policy is None:
            models, pairs, t = self.models, self.episode.plan.policy, self.episode.start
        else:
            models, pairs, t = self._now()[1], policy_pairs(agent.pairs, policy), agent.t
        low, high = gain_bounds(models, pairs, agent.criterion.accuracy(t))
        return scale * low + shift, scale * high + shift

    def value_bounds(self, policy: Any, discount: float) -> tuple[np.ndarray, np.ndarray]:
        agent = self.agent
        discount, pairs = discount_below_one(discount), policy_pairs(agent.pairs, policy)
        found = value_bounds(self._now()[1], pairs, (1.0 - discount) / math.sqrt(agent.t), discount)
        low, high = (original_values(values, discount, agent.reward_map) for values in found)
        return low, high

    def policy_gap(self, state: int, delta: float) -> PolicyGap | None:
        """The optimistic optimum less the certified gain of the policy being played; None at another risk."""
        agent, episode = self.agent, self.agent.episode
        if episode is None or agent.criterion.discount < 1.0 or delta < agent.parts.models.delta:
            return None
        plan = episode.plan
        low, _ = gain_bounds(episode.models, plan.policy, agent.criterion.accuracy(episode.start))
        return PolicyGap(plan.policy, max(0.0, min(1.0, plan.gain + plan.span / 2) - low), True)
