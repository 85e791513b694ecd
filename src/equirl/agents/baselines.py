"""Two baselines that learn nothing: one plays at random, one plays an optimal policy it is given."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np

from equirl.agents.rewards import unit_reward
from equirl.agents.stopping import UNLIMITED, Budget
from equirl.counts import Counts
from equirl.pairs import Pairs


class FixedLearner:
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
        self.name, self.pairs, self.policy, self.reward_map = name, pairs, policy, reward_map
        self.coins = np.random.default_rng(seed.spawn(1)[0])
        self.counts = Counts(pairs.n_pairs)
        self.t = 1
        self.episode_starts = [1]
        self.n_unconverged = 0

    def act(self, state: object) -> int:
        """The action to play in ``state``."""
        s = self.pairs.state_number(state)
        if self.policy is not None:
            return int(self.pairs.action[self.policy[s]])
        first, last = self.pairs.ptr[s], self.pairs.ptr[s + 1]
        return int(self.pairs.action[first + int(self.coins.random() * (last - first))])

    def observe(
        self, state: object, action: object, reward: float, next_state: object, terminated: bool = False
    ) -> None:
        """Count one step; nothing else is learned, and nothing changes where the input is wrong."""
        pair, successor = self.pairs.index(state, action), self.pairs.state_number(next_state)
        self.counts.record(pair, unit_reward(reward, self.reward_map, self.pairs, pair), successor)
        self.t += 1

    def rules(self) -> tuple[np.ndarray, np.ndarray, Budget]:
        """The policy, labels and budgets a compiled walk takes: nothing ever ends the one episode."""
        M = self.pairs.n_pairs
        policy = np.zeros(0, np.int64) if self.policy is None else self.policy
        budget = Budget(np.full(M, UNLIMITED), np.full(1, UNLIMITED), np.zeros(2, np.int64))
        return policy, np.zeros(M, np.int64), budget

    @property
    def n_episodes(self) -> int:
        return len(self.episode_starts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything, generator included; ``equirl.load_agent`` restores it."""
        from equirl.agents.saving import save_agent

        save_agent(self, path)

    def copy(self) -> FixedLearner:
        """An independent twin in the same state."""
        return copy.deepcopy(self)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__dict__.get('name')!r} learns nothing: it has no {name!r}")

    def __repr__(self) -> str:
        return f"<{self.name}: t={self.t}, S={self.pairs.n_states}, M={self.pairs.n_pairs}>"
