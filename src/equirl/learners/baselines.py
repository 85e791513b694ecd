"""Two baselines that learn nothing: one plays at random, one plays an optimal policy it is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.learners.contract import Driven
from equirl.learners.stopping import UNLIMITED, Budget
from equirl.model.pairs import Pairs


class FixedLearner(Driven):
    """Plays one policy for ever (``policy``: a pair per state), or actions drawn uniformly where there is none."""

    settings = None

    def __init__(
        self,
        name: str,
        pairs: Pairs,
        seed: np.random.SeedSequence,
        policy: np.ndarray | None = None,
        reward_map: tuple[float, float] = (1.0, 0.0),
    ) -> None:
        super().__init__(name, pairs, reward_map)
        self.policy = policy
        self.coins = np.random.default_rng(seed.spawn(1)[0])
        self.episode_starts.append(1)

    def _decide(self, state: int) -> int:
        if self.policy is not None:
            return int(self.policy[state])
        first, last = self.pairs.ptr[state], self.pairs.ptr[state + 1]
        return int(first + int(self.coins.random() * (last - first)))

    def _check_successor(self, pair: int, successor: int) -> None:
        pass

    def _note(self, pair: int) -> None:
        pass

    def rules(self) -> tuple[np.ndarray, np.ndarray, Budget]:
        """The policy, labels and budgets a compiled walk takes: nothing ever ends the one episode."""
        M = self.pairs.n_pairs
        policy = np.zeros(0, np.int64) if self.policy is None else self.policy
        budget = Budget(np.full(M, UNLIMITED), np.full(1, UNLIMITED), np.zeros(2, np.int64))
        return policy, np.zeros(M, np.int64), budget

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__dict__.get('name')!r} learns nothing: it has no {name!r}")

    def __repr__(self) -> str:
        return f"<{self.name}: t={self.t}, S={self.pairs.n_states}, M={self.pairs.n_pairs}>"
