"""A learner at work as a page draws it: visits, policy, the classes it believes in, how unsure it is."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from equirl.explore.packing import packed
from equirl.learners.contract import Learner
from equirl.model.mdp import TabularMDP
from equirl.simulation.live_run import LiveRun
from equirl.structure.equivalence import equivalence_classes
from equirl.structure.matching import match_classes
from equirl.structure.partition import Partition
from equirl.structure.quality import misclustering_ratio

UNSURE_SECONDS = 0.4  # between two looks at how unsure a learner is: a spread takes draws


class Truth:
    """The true classes of a world, by whether rewards count; computed when first needed.

    Parameters
    ----------
    mdp : TabularMDP
        The world.
    """

    def __init__(self, mdp: TabularMDP) -> None:
        self.mdp = mdp
        self._found: dict[bool, Partition] = {}

    def classes(self, rewards: bool) -> Partition:
        """The classes of pairs."""
        if rewards not in self._found:
            self._found[rewards] = equivalence_classes(self.mdp, rewards=rewards)
        return self._found[rewards]


class LearnerView:
    """One run watched: what is sent of it, and what was sent already.

    Parameters
    ----------
    run : LiveRun
        The run.
    mdp : TabularMDP
        Its world.
    truth : Truth
        The true classes, shared by all learners.
    """

    def __init__(self, run: LiveRun, mdp: TabularMDP, truth: Truth) -> None:
        self.run, self.mdp, self.truth = run, mdp, truth
        self.visits = np.zeros(mdp.n_pairs, np.int64)
        self._episodes_shown = -1
        self._unsure_at = 0.0

    def advance(self) -> None:
        """Play one stretch."""
        np.add.at(self.visits, self.run.advance(), 1)

    def describe(self, final: bool) -> dict[str, Any]:
        """What is new since last time, ready for JSON.

        Parameters
        ----------
        final : bool
            Whether the page will look at this for long, so that everything must be fresh.

        Returns
        -------
        dict
        """
        learner, run = self.run.learner, self.run
        told: dict[str, Any] = {
            "t": run.steps, "episodes": learner.n_episodes, "visits": packed(self.visits),
            "policy": packed(run.policy),
        }  # fmt: skip
        fresh = learner.n_episodes != self._episodes_shown
        if run.steps and (fresh or final):
            told["classes"] = self._classes(learner)
        if run.steps and (final or (fresh and time.monotonic() - self._unsure_at > UNSURE_SECONDS)):
            unsure = learner.uncertainty()
            told["width"] = None if unsure is None else packed(unsure, "f4")
            self._unsure_at = time.monotonic()
        if run.steps:
            self._episodes_shown = learner.n_episodes
        return told

    def _classes(self, learner: Learner) -> dict[str, Any] | None:
        """The classes in force: by pair the true class that its own stands for, or -1 - its own number."""
        formed = learner.classes()
        if formed is None:
            return None
        found, truth = formed.partition, self.truth.classes(formed.compares_rewards)
        match = match_classes(found, truth)
        shown = np.where(match >= 0, match, -1 - np.arange(len(match)))[found.label]
        ratio = misclustering_ratio(found, truth, formed.seen.visits)
        return {
            "shown": packed(shown), "n": found.n_classes, "true": packed(truth.label), "n_true": truth.n_classes,
            "wrong": ratio, "rewards": formed.compares_rewards,
        }  # fmt: skip
