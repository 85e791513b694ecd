"""Stopping: when an episode ends. The doubling rule of the paper, a thrifty form of it for many pairs, a vanishing one.

The doubling rule fires before a step whose pair (or class) has been played max(1, N) times in the episode, N its
visits at the start. With M pairs that is up to M log2(T/M) episodes: on large problems nearly all time goes into
planning. With a finite ``effort`` a plan is played for at least ``w`` steps, w being the look-ups that it cost
(estimates and full sweeps) divided by ``effort``, and classes are estimated anew no sooner than a clustering's look-ups
over ``effort`` after the last time; plans between use the classes there are. Groups inside given classes are formed
anew with every plan. Computing then takes time in proportion to playing, whatever M is.

Two things keep the cost in regret low. The w steps count from the start of the episode, so that an episode longer than
that ends as the rule says. And a pair may exceed its own limit by a quarter of the steps still to be played only: a
plan that hopes for a pair which stays put and pays nothing would otherwise try it w times. In the regret analysis an
episode gives a pair at most N + w visits instead of N: w once while N < w, which does not grow with time, and at most
2 N after that, so the bound keeps its order.

Under the vanishing multiplicative rule (Boone and Gaujal 2025) an episode ends before a pair's visits exceed
(1 + f(t_k)) N_k, with f -> 0: a learner which has strayed from the good policy is called back soon, where doubling lets
a bad policy run for as long as all that was seen before. The price is about M log(T) / f(T) episodes of planning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from equirl.estimation.pooling import Grouping, class_sums
from equirl.learners.contract import UNLIMITED, Limits
from equirl.learners.parts import AUTO, Estimate, Known, Stopping
from equirl.words.checking import above, choice

if TYPE_CHECKING:
    from equirl.learners.recipes import Settings

RULES = ("pair", "class", "either")
SPEEDS = ("log", "root")


@dataclass(frozen=True)
class PairDoubling(Stopping):
    """An episode ends before the visits of a pair double."""

    effort: float = math.inf  # look-ups of planning allowed per step; inf: plan whenever the rule fires

    def __post_init__(self) -> None:
        above("effort", self.effort, 0, "plans whenever the rule fires")

    def limits(self, visits: np.ndarray, groups: Grouping, work: float) -> Limits:
        return doubling_limits("pair", visits, groups, work / self.effort)


@dataclass(frozen=True)
class Doubling(Stopping):
    """An episode ends before the visits of a pair, of a class, or of either double."""

    stopping: str = "either"
    effort: float = math.inf  # as in PairDoubling
    rules: ClassVar[tuple[str, ...]] = RULES

    def __post_init__(self) -> None:
        choice("stopping", self.stopping, self.rules)
        above("effort", self.effort, 0, "plans whenever the rule fires")

    def limits(self, visits: np.ndarray, groups: Grouping, work: float) -> Limits:
        return doubling_limits(self.stopping, visits, groups, work / self.effort)


@dataclass(frozen=True)
class ClassDoubling(Doubling):
    """An episode ends before the visits of a class double; "auto": where rewards are set apart, those of a pair too.

    Visits of a class say all there is to know of its members as long as everything is pooled. A mean reward set apart
    is learned from fewer visits: a plan that hopes for one would be played until the whole class has doubled, though
    the first few steps have shown that it pays nothing.
    """

    stopping: str = AUTO
    rules: ClassVar[tuple[str, ...]] = (AUTO, *RULES)

    def resolved(self, settings: Settings, known: Known | None) -> Self:
        own = settings.part(Estimate).resolved(settings, known).own_rewards
        if self.stopping != AUTO or own is None:
            return self
        return replace(self, stopping="either" if own else "class")


@dataclass(frozen=True)
class VanishingRule(Stopping):
    """An episode ends before the visits of a pair exceed (1 + f(t)) times those before it.

    ``vanish="log"``: f(t) = 1 / log(e + t). ``"root"``: f(t) = sqrt(log(t) / t), planning far more often.
    """

    vanish: str = "log"

    def __post_init__(self) -> None:
        choice("vanish", self.vanish, SPEEDS)

    def growth(self, t: int) -> float:
        """f(t), at most 1."""
        if self.vanish == "log":
            return 1.0 / math.log(math.e + t)
        return min(1.0, math.sqrt(math.log(max(t, 2)) / t))

    def limits(self, visits: np.ndarray, groups: Grouping, work: float) -> Limits:
        growth = self.growth(int(visits.sum()) + 1)
        pair_left = np.maximum(1, (growth * visits).astype(np.int64))
        group_left = np.full(groups.n_groups, UNLIMITED)
        return Limits(groups.label, pair_left, group_left, np.zeros(2, np.int64), np.array([UNLIMITED], np.int64))


def doubling_limits(rule: str, visits: np.ndarray, groups: Grouping, grace: float) -> Limits:
    """max(1, N) visits by pair, by class, or both; not before ``grace`` steps are played."""
    pair_left, group_left = np.full(len(visits), UNLIMITED), np.full(groups.n_groups, UNLIMITED)
    if rule != "class":
        pair_left = np.maximum(1, visits)
    if rule != "pair":
        group_left = np.maximum(1, class_sums(groups, visits))
    patience = np.array([int(min(grace, UNLIMITED)), 0], np.int64)
    return Limits(groups.label, pair_left, group_left, patience, np.array([UNLIMITED], np.int64))
