"""What is to be maximised, in one small type: all that depends on it asks here.

Today the average reward; a discounted criterion fits the same face.
"""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.solving.optimal_gain import certified_gain


class Criterion(Protocol):
    """What planning, learners and simulation ask of a criterion."""

    @property
    def discount(self) -> float:
        """The factor on the values of successors in a Bellman sweep; 1 for average reward."""

    def accuracy(self, t: int) -> float:
        """The span of u' - u at which planning at time t may stop."""

    def optimum(self, mdp: TabularMDP) -> float:
        """What the best policy earns."""

    def regret(self, t: np.ndarray, optimum: float, earned: np.ndarray) -> np.ndarray:
        """What was lost up to times t, given what was earned up to them."""


class AverageReward:
    """Reward per step in the long run: the gain g*; regret is t g* minus the rewards received."""

    discount: ClassVar[float] = 1.0

    def accuracy(self, t: int) -> float:
        """1 / sqrt(t)."""
        return 1 / math.sqrt(t)

    def optimum(self, mdp: TabularMDP) -> float:
        """The optimal gain of the part reachable from the initial distribution; an error where it is not certified."""
        return certified_gain(mdp)

    def regret(self, t: np.ndarray, optimum: float, earned: np.ndarray) -> np.ndarray:
        """T g* minus what was earned."""
        return t * optimum - earned


AVERAGE_REWARD = AverageReward()
