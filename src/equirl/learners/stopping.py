"""Stopping: when an episode ends. The doubling rule of the paper, and a thrifty form of it for many pairs.

The doubling rule fires before a step whose pair (or class) has been played max(1, N) times in the episode, N its
visits at the start. With M pairs that is up to M log2(T/M) episodes: on large problems a new plan for nearly every
new pair, and nearly all time goes into planning. With a finite ``effort`` a plan is played for at least ``w`` steps, w
being the look-ups that it cost (estimates and full sweeps) divided by ``effort``, and classes are estimated anew no
sooner than a clustering's look-ups over ``effort`` after the last time; plans between use the classes there are.
Groups inside given classes are formed anew with every plan.
Computing then takes time in proportion to playing, whatever M is. On small problems plans are cheap, w is a few steps
and hardly anything changes; on large ones new pairs are learned in batches.

Two things keep the cost in regret low. The w steps count from the start of the episode, so that an episode longer than
that ends as the rule says. And a pair may exceed its own limit by a quarter of the steps still to be played only: a
plan that hopes for a pair which stays put and pays nothing would otherwise try it w times. In the regret analysis an
episode gives a pair at most N + w visits instead of N: w visits once more while N < w, a number that does not grow with
time, and at most twice as many after that, so the bound keeps its order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equirl.estimation.pooling import Grouping
from equirl.learners.contract import UNLIMITED, Limits
from equirl.words.checking import above, choice

if TYPE_CHECKING:
    from equirl.learners.recipes import Settings

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


@dataclass(frozen=True)
class ClassDoubling(Doubling):
    """An episode ends before the visits of a class double; where rewards are kept by pair, those of a pair as well.

    Visits of a class say all there is to know of its members as long as everything is pooled. A mean reward kept by
    pair is learned from the pair's own visits: a plan that hopes for one would be played until the whole class has
    doubled, though the first few steps have shown that it pays nothing.
    """

    stopping: str = "class"

    def defaults_with(self, settings: Settings) -> dict[str, str]:
        """The rule by itself: "either" where rewards are kept by pair, else "class"."""
        return {"stopping": "either" if settings.rewards in ("per_pair", "shared") else "class"}


def doubling_limits(rule: str, visits: np.ndarray, groups: Grouping, grace: float) -> Limits:
    """max(1, N) visits by pair, by class, or both; not before ``grace`` steps are played."""
    pair_left, group_left = np.full(len(visits), UNLIMITED), np.full(groups.n_classes, UNLIMITED)
    if rule != "class":
        pair_left = np.maximum(1, visits)
    if rule != "pair":
        class_visits = np.zeros(groups.n_classes, np.int64)
        np.add.at(class_visits, groups.label, visits)
        group_left = np.maximum(1, class_visits)
    patience = np.array([int(min(grace, UNLIMITED)), 0], np.int64)
    return Limits(groups.label, pair_left, group_left, patience, np.array([UNLIMITED], np.int64))
