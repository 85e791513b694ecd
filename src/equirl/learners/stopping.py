"""Stopping: when an episode ends. The doubling rule of the paper, and a thrifty form of it for many pairs.

The doubling rule fires before a step whose pair (or class) has been played max(1, N) times in the episode, N its
visits at the start. With M pairs that is up to M log2(T/M) episodes: on large problems a new plan for nearly every
new pair, and nearly all time goes into planning. With a finite ``effort`` the plan is played on for ``w`` more steps,
w being the look-ups that it cost (in full sweeps and clustering) divided by ``effort``: planning then takes time in
proportion to playing, whatever M is. On small problems plans are cheap, w is a few steps and hardly anything changes;
on large ones new pairs are learned in batches. In the regret analysis an episode gives a pair at most N + w visits
instead of N: w visits once more while N < w, a number that does not grow with time, and at most twice as many after
that, so the bound keeps its order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equirl.core.checking import above, choice
from equirl.estimation.pooling import Grouping
from equirl.learners.contract import UNLIMITED, Limits

RULES = ("pair", "class", "either")


@dataclass(frozen=True)
class PairDoubling:
    """An episode ends before the visits of a pair double."""

    effort: float = math.inf  # look-ups of planning allowed per step; inf: plan whenever the rule fires

    def __post_init__(self) -> None:
        above("effort", self.effort, 0, "plans whenever the rule fires")

    def limits(self, visits: np.ndarray, groups: Grouping, work: float) -> Limits:
        """The limits of an episode that starts with these visits, its plan having cost ``work`` look-ups."""
        return doubling_limits("pair", visits, groups, work / self.effort)


@dataclass(frozen=True)
class Doubling:
    """An episode ends before the visits of a pair, of a class, or of either double."""

    stopping: str = "either"
    effort: float = math.inf  # as in PairDoubling

    def __post_init__(self) -> None:
        choice("stopping", self.stopping, RULES)
        above("effort", self.effort, 0, "plans whenever the rule fires")

    def limits(self, visits: np.ndarray, groups: Grouping, work: float) -> Limits:
        """The limits of an episode that starts with these visits, its plan having cost ``work`` look-ups."""
        return doubling_limits(self.stopping, visits, groups, work / self.effort)


def doubling_limits(rule: str, visits: np.ndarray, groups: Grouping, grace: float) -> Limits:
    """max(1, N) visits by pair, by class, or both; ``grace`` more steps once they are used up."""
    pair_left, group_left = np.full(len(visits), UNLIMITED), np.full(groups.n_classes, UNLIMITED)
    if rule != "class":
        pair_left = np.maximum(1, visits)
    if rule != "pair":
        class_visits = np.zeros(groups.n_classes, np.int64)
        np.add.at(class_visits, groups.label, visits)
        group_left = np.maximum(1, class_visits)
    patience = np.array([int(min(grace, UNLIMITED)), 0], np.int64)
    return Limits(groups.label, pair_left, group_left, patience, np.array([UNLIMITED], np.int64))
