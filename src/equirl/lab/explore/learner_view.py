"""A learner at work as a page draws it: visits, policy, the classes it believes in, how unsure it is."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from equirl.lab.explore.packing import packed
from equirl.lab.plots.learner_figures import Belief
from equirl.learners import Learner
from equirl.model import TabularMDP
from equirl.simulation import LiveRun
from equirl.structure import Partition, equivalence_classes, match_classes, misclustering_ratio

UNSURE_SECONDS = 0.4  # between two looks at how unsure a learner is: a spread takes draws


class Truth:
    """The true classes of a world, by whether rewards count; computed when first needed."""

    def __init__(self, mdp: TabularMDP) -> None:
        self.mdp = mdp
        self._found: dict[bool, Partition] = {}

    def classes(self, rewards: bool) -> Partition:
        """The classes of pairs."""
        if rewards not in self._found:
            self._found[rewards] = equivalence_classes(self.mdp, rewards=rewards)
        return self._found[rewards]


class Believed(NamedTuple):
    """The classes that a learner believes in, beside the true ones."""

    found: Partition
    truth: Partition
    stands_for: np.ndarray  # (M,) the true class that the pair's own stands for, or -1
    wrong: float  # the share of pairs outside the largest true part of their class
    rewards: bool  # whether rewards count in both


class LearnerView:
    """One run watched: what is sent of it, and what was sent already."""

    def __init__(self, run: LiveRun, mdp: TabularMDP, truth: Truth) -> None:
        self.run, self.mdp, self.truth = run, mdp, truth
        self.visits = np.zeros(mdp.n_pairs, np.int64)
        self._episodes_shown = -1
        self._unsure_at = 0.0

    def advance(self) -> None:
        """Play one stretch."""
        np.add.at(self.visits, self.run.advance(), 1)

    def describe(self, final: bool) -> dict[str, Any]:
        """What is new since last time, ready for JSON."""
        learner, run = self.run.learner, self.run
        told: dict[str, Any] = {
            "t": run.steps, "episodes": learner.n_episodes, "visits": packed(self.visits),
            "policy": packed(run.policy),
        }  # fmt: skip
        fresh = learner.n_episodes != self._episodes_shown
        if run.steps and (fresh or final):
            told["classes"] = self._classes(learner)
        if run.steps and (final or (fresh and time.monotonic() - self._unsure_at > UNSURE_SECONDS)):
            unsure = learner.beliefs.uncertainty()
            told["width"] = None if unsure is None else packed(unsure, "f4")
            self._unsure_at = time.monotonic()
        if run.steps:
            self._episodes_shown = learner.n_episodes
        return told

    def belief(self, label: str) -> Belief:
        """All of it at once, as a figure shows it."""
        run, learner = self.run, self.run.learner
        believed = self._believed(learner) if run.steps else None
        truth = self.truth.classes(True) if believed is None else believed.truth
        return Belief(
            label, run.steps, self.visits, run.policy, learner.beliefs.uncertainty() if run.steps else None,
            learner.beliefs.unsure_by,
            None if believed is None else believed.stands_for, 0 if believed is None else believed.found.n_classes,
            truth,
        )  # fmt: skip

    def _classes(self, learner: Learner) -> dict[str, Any] | None:
        """The classes in force: by pair the true class that its own stands for, or -1 - its own number."""
        believed = self._believed(learner)
        if believed is None:
            return None
        found, truth = believed.found, believed.truth
        shown = np.where(believed.stands_for >= 0, believed.stands_for, -1 - found.label)
        return {
            "shown": packed(shown), "n": found.n_classes, "true": packed(truth.label), "n_true": truth.n_classes,
            "wrong": believed.wrong, "rewards": believed.rewards,
        }  # fmt: skip

    def _believed(self, learner: Learner) -> Believed | None:
        formed = learner.beliefs.classes()
        if formed is None:
            return None
        found, truth = formed.partition, self.truth.classes(formed.compares_rewards)
        stands_for = match_classes(found, truth)[found.label]
        wrong = misclustering_ratio(found, truth, formed.seen.visits)
        return Believed(found, truth, stands_for, wrong, formed.compares_rewards)
