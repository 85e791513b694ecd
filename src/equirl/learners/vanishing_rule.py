"""The vanishing multiplicative rule (Boone and Gaujal 2025): episodes whose relative growth tends to 0.

Doubling lets a bad policy run for as long as all that was seen before. Here an episode ends before a pair's visits
exceed (1 + f(t_k)) N_k, with f -> 0: plans come more often the later it is, so that a learner which has strayed from
the good policy is called back soon. The price is planning: about M log(T) / f(T) episodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equirl.estimation.pooling import Grouping
from equirl.learners.contract import UNLIMITED, Limits
from equirl.words.checking import choice

SPEEDS = ("log", "root")


@dataclass(frozen=True)
class VanishingRule:
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
        """The limits of an episode that starts with these visits."""
        growth = self.growth(int(visits.sum()) + 1)
        pair_left = np.maximum(1, (growth * visits).astype(np.int64))
        group_left = np.full(groups.n_classes, UNLIMITED)
        return Limits(groups.label, pair_left, group_left, np.zeros(2, np.int64), np.array([UNLIMITED], np.int64))
