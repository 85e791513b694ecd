"""What is to be maximised, in one small type: all that depends on it asks here.

The average reward, and the discounted reward. Which pairs are equivalent depends on neither.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.solving.multichain import NoConstantGain
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


@dataclass(frozen=True)
class DiscountedReward:
    """Rewards to come, each step's worth ``discount`` times that of the step before.

    Values are on the scale of rewards, (1 - discount) v in [0, 1], so that they compare with a gain.
    """

    discount: float

    def accuracy(self, t: int) -> float:
        """(1 - discount) / sqrt(t): values are then planned to within discount / sqrt(t)."""
        return (1.0 - self.discount) / math.sqrt(t)

    def optimum(self, mdp: TabularMDP) -> float:
        """The optimal gain, against which the regret curve is still drawn; NaN where the MDP has no single one."""
        try:
            return certified_gain(mdp)
        except NoConstantGain:
            return math.nan

    def regret(self, t: np.ndarray, optimum: float, earned: np.ndarray) -> np.ndarray:
        """T g* minus what was earned: how a discounted learner fares on average."""
        return t * optimum - earned


AVERAGE_REWARD = AverageReward()


def criterion_for(discount: float) -> Criterion:
    """The average reward where the discount is 1, else the discounted reward."""
    return AVERAGE_REWARD if discount == 1.0 else DiscountedReward(discount)
