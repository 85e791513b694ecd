"""The optimistic learner: UCRL2, UCRL2-L and every C-UCRL are values of it.

Episodes k = 1, 2, ...: at t_k the counts become estimates (pooled over whatever structure the learner has), estimates
and radii become a set of plausible models, extended value iteration finds the best policy in the best of them, and
that policy is played until the pair, or the class, about to be played has doubled its visits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.confidence import ConfidenceSet
from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import Estimates
from equirl.learners.beliefs import Grouping, Knowledge, estimate_models, form_groups
from equirl.learners.contract import Driven
from equirl.learners.settings import Settings
from equirl.learners.stopping import Budget, make_budget, rule_fires, spend
from equirl.model.pairs import Pairs
from equirl.planning.extended_value_iteration import Plan, extended_value_iteration, gain_bounds
from equirl.structure.partition import Partition

POLICY_SWEEPS = 10  # cheap sweeps between full ones under warm_start
CLUSTERING_WORK = 1000  # look-ups that ApproxEquivalence is counted for, per observed successor


class Episode(NamedTuple):
    """One episode: what the learner thought at its start, and how many visits are left before it ends."""

    start: int  # t_k
    seen: Snapshot
    groups: Grouping
    estimates: Estimates
    models: ConfidenceSet
    plan: Plan
    budget: Budget


class OptimisticLearner(Driven):
    """A learner that plays the best policy of the best plausible model. Make one with ``equirl.make_agent``."""

    def __init__(
        self,
        name: str,
        pairs: Pairs,
        settings: Settings,
        told: Knowledge,
        seed: np.random.SeedSequence,
        reward_map: tuple[float, float] = (1.0, 0.0),
    ) -> None:
        super().__init__(name, pairs, reward_map)
        self.settings, self.told = settings, told
        self.tie_rng, self.priority_rng = (np.random.default_rng(child) for child in seed.spawn(2))
        self.episode: Episode | None = None

    # --- deciding

    def _decide(self, state: int) -> int:
        return int(self.ready(state).plan.policy[state])

    def ready(self, state: int) -> Episode:
        """The current episode, or a new one where the rule fires for the pair about to be played in ``state``."""
        episode = self.episode
        if episode is not None:
            pair = episode.plan.policy[state]
            if not rule_fires(pair, episode.groups.label[pair], *episode.budget):
                return episode
        return self._start_episode()

    def _start_episode(self) -> Episode:
        settings, S = self.settings, self.pairs.n_states
        seen = self.counts.snapshot()
        draws = settings.clusters and settings.priority == "random"
        priority = self.priority_rng.permutation(self.pairs.n_pairs) if draws else None
        groups = form_groups(settings, self.told, seen, S, priority)
        estimates, models = estimate_models(settings, self.told, self.pairs, seen, groups, self.t)

        coin = self.tie_rng.random(S) if settings.action_ties == "random" else None
        warm = self.episode.plan.bias if settings.warm_start and self.episode is not None else None
        cheap = POLICY_SWEEPS if settings.warm_start else 0
        plan = extended_value_iteration(
            self.pairs.ptr, models, 1 / math.sqrt(self.t), coin=coin, start=warm, policy_sweeps=cheap,
            max_sweeps=settings.max_sweeps, threads=settings.threads,
        )  # fmt: skip
        self.n_unconverged += not plan.converged

        work = plan.n_sweeps * len(models.succ) + (CLUSTERING_WORK * len(seen.succ) if settings.clusters else 0)
        budget = make_budget(settings, work, seen.visits, *groups)
        self.episode_starts.append(self.t)
        self.episode = Episode(self.t, seen, groups, estimates, models, plan, budget)
        return self.episode

    # --- learning

    def _check_successor(self, pair: int, successor: int) -> None:
        profiles = self.told.profiles
        if profiles is not None and successor not in profiles.succ[profiles.ptr[pair] : profiles.ptr[pair + 1]]:
            where = self.pairs.describe(pair)
            raise ValueError(f"({where}) cannot lead to state {successor}: the profiles it was told leave it out")

    def _note(self, pair: int) -> None:
        if self.episode is not None:
            spend(pair, self.episode.groups.label[pair], *self.episode.budget)

    # --- telling

    @property
    def current(self) -> Episode:
        """The episode under way; an error before the first decision."""
        if self.episode is None:
            raise ValueError("the learner has not decided anything yet; call act(state) first")
        return self.episode

    @property
    def partition(self) -> Partition:
        """The classes in force: told, estimated, or one per pair."""
        return Partition.from_labels(self.current.groups.label)

    @property
    def estimates(self) -> Estimates:
        """Laws and means by pair, as pooled at the start of the episode."""
        return self.current.estimates

    @property
    def models(self) -> ConfidenceSet:
        """The plausible models: laws, L1 radii, bounds on the means."""
        return self.current.models

    @property
    def plan(self) -> Plan:
        """The optimistic plan being played."""
        return self.current.plan

    def greedy_policy(self) -> np.ndarray:
        """What it would play without optimism: (S,) action ids, optimal in the estimates as they are now.

        Pairs never tried are avoided (reward 0, staying put) wherever a tried one exists.
        """
        seen = self.counts.snapshot()
        if self.episode is not None:
            groups = self.episode.groups
        else:
            groups = form_groups(self.settings, self.told, seen, self.pairs.n_states, None)
        estimates, models = estimate_models(self.settings, self.told, self.pairs, seen, groups, self.t)
        return self.pairs.action[greedy_pairs(self.pairs, estimates, models)]

    def gain_bounds(self) -> tuple[float, float]:
        """Certified bounds on the gain of the policy being played, on the event that the truth is plausible."""
        episode = self.current
        return gain_bounds(episode.models, episode.plan.policy, 1 / math.sqrt(episode.start))

    def __repr__(self) -> str:
        return f"<{self.name}: t={self.t}, {self.n_episodes} episodes, S={self.pairs.n_states}, M={self.pairs.n_pairs}>"


def greedy_pairs(pairs: Pairs, estimates: Estimates, models: ConfidenceSet, accuracy: float = 1e-6) -> np.ndarray:
    """(S,) the best pair in each state of the estimated MDP itself: no radii, half the time staying (aperiodic)."""
    M = pairs.n_pairs
    known = estimates.samples > 0
    size = np.where(known, np.diff(models.ptr), 0) + 1  # one more entry: staying
    ptr = np.concatenate([[0], np.cumsum(size)])
    succ, prob = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])
    stay = ptr[1:] - 1
    succ[stay], prob[stay] = pairs.state, np.where(known, 0.5, 1.0)
    moves = np.ones(ptr[-1], bool)
    moves[stay] = False
    row = np.repeat(np.arange(M), np.diff(models.ptr))
    placed = np.bincount(row, weights=models.prob, minlength=M)  # below 1 where masses are spare
    kept = known[row]
    succ[moves], prob[moves] = models.succ[kept], 0.5 * models.prob[kept] / placed[row][kept]
    means = np.where(known, estimates.r_hat, 0.0)
    flat = ConfidenceSet(ptr, succ, prob, np.zeros(M), means, means, np.zeros(1, np.int64), np.zeros(0))
    return extended_value_iteration(pairs.ptr, flat, accuracy, max_sweeps=10**4).policy
