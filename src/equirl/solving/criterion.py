"""What is to be maximised, in one small type: all that depends on it asks here.

The average reward, or the discounted reward. Which pairs are equivalent depends on neither.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.solving.multichain import NoConstantGain
from equirl.solving.optimal_gain import certified_gain


@dataclass(frozen=True)
class Criterion:
    """The average reward (discount 1), or rewards to come, each step's worth ``discount`` times that of the one before.

    Discounted values are on the scale of rewards, (1 - discount) v in [0, 1], so that they compare with a gain.
    """

    discount: float = 1.0  # the factor on the values of successors in a Bellman sweep

    def accuracy(self, t: int) -> float:
        """The span of u' - u at which planning at time t may stop: discounted values are then within 1 / sqrt(t)."""
        return (1.0 if self.discount == 1.0 else 1.0 - self.discount) / math.sqrt(t)

    def optimum(self, mdp: TabularMDP) -> float:
        """The optimal gain of the part reachable from the initial distribution; an error where it is not certified.

        Regret is measured against it with a discount, too; there it is NaN where the MDP has no single one.
        """
        try:
            return certified_gain(mdp)
        except NoConstantGain:
            if self.discount == 1.0:
                raise
            return math.nan

    def regret(self, t: np.ndarray, optimum: float, earned: np.ndarray) -> np.ndarray:
        """What was lost up to times t, given what was earned up to them."""
        return t * optimum - earned


AVERAGE_REWARD = Criterion()
