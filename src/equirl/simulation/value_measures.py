"""How good the policy being played is under a discount: sample complexity of exploration, and regret by value.

With V* the optimal values and V the values of the policy that the learner plays at time t, both times
(1 - discount), the gap in the state where it stands is V*(s_t) - V(s_t). The *sample complexity of exploration* counts
the steps whose gap exceeds epsilon (Kakade 2003); the *value regret* sums the gaps.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.solving.optimal_gain import solve
from equirl.solving.policies import evaluate_policy
from equirl.words.checking import inside

VALUE_CURVES = ("sample_complexity", "value_regret")
REMEMBERED = 512  # policies whose values are kept


class ValueMeasures:
    """Gaps of policies to the optimum, by state; a policy played again is not evaluated again."""

    def __init__(self, mdp: TabularMDP, discount: float, epsilon: float) -> None:
        self.mdp, self.discount, self.epsilon = mdp, discount, inside("epsilon", epsilon)
        self.optimal = solve(mdp, discount=discount).value
        self._gaps: OrderedDict[bytes, np.ndarray] = OrderedDict()  # of the policies played last

    def gap(self, policy: np.ndarray) -> np.ndarray:
        """(S,) how far the values of a policy (a pair per state) are below the optimum, times (1 - discount)."""
        key = policy.tobytes()
        if key not in self._gaps:
            values = evaluate_policy(self.mdp, self.mdp.pairs.action[policy], discount=self.discount)
            self._gaps[key] = (1.0 - self.discount) * np.maximum(0.0, self.optimal - values)
            if len(self._gaps) > REMEMBERED:
                self._gaps.popitem(last=False)
        return self._gaps[key]

    def along(self, policy: np.ndarray, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step by step along a path: whether the gap exceeds epsilon, and the gap."""
        gap = self.gap(policy)[self.mdp.pairs.state[path]]
        return (gap > self.epsilon).astype(float), gap
