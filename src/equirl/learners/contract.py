"""Driving a learner step by step: what it is told is checked, mapped and counted here, once for all learners."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from typing import Self

from equirl.estimation.counts import Counts
from equirl.learners.rewards import unit_reward
from equirl.model.pairs import Pairs


class Driven(ABC):
    """A learner that decides with :meth:`act` and learns with :meth:`observe`."""

    def __init__(self, name: str, pairs: Pairs, reward_map: tuple[float, float]) -> None:
        self.name, self.pairs, self.reward_map = name, pairs, reward_map
        self.counts = Counts(pairs.n_pairs)
        self.t = 1
        self.episode_starts: list[int] = []
        self.n_unconverged = 0
        self.pending: tuple[int, float] | None = None  # a pair whose successor is the state after the restart

    @abstractmethod
    def _decide(self, state: int) -> int:
        """The pair to play in ``state``."""

    @abstractmethod
    def _check_successor(self, pair: int, successor: int) -> None:
        """An error where the learner knows that ``pair`` cannot lead there."""

    @abstractmethod
    def _note(self, pair: int) -> None:
        """Take note that ``pair`` was played once more."""

    def act(self, state: object) -> int:
        """The action to play in ``state`` (a number or a name)."""
        s = self.pairs.state_number(state)
        self.settle(s)
        return int(self.pairs.action[self._decide(s)])

    def observe(
        self, state: object, action: object, reward: float, next_state: object, terminated: bool = False
    ) -> None:
        """Learn one step. Nothing changes where the input is wrong.

        ``terminated=True``: the process restarts, and the successor learned is the state next given to :meth:`act`.
        After a truncation simply go on from the new state: the jump is not a transition and is not learned.
        """
        pair = self.pairs.index(state, action)
        successor = self.pairs.state_number(next_state)
        value = unit_reward(reward, self.reward_map, self.pairs, pair)
        if self.pending is not None:
            raise ValueError("after a terminated step, call act(first state of the next episode) before observe")
        if terminated:
            self.pending = pair, value
        else:
            self._learn(pair, value, successor)

    def settle(self, state: int) -> None:
        """Learn a terminated step, if one is pending: the process restarted in ``state``."""
        if self.pending is not None:
            self._learn(*self.pending, state)
            self.pending = None

    def _learn(self, pair: int, reward: float, successor: int) -> None:
        self._check_successor(pair, successor)
        self.counts.record(pair, reward, successor)
        self.t += 1
        self._note(pair)

    @property
    def n_episodes(self) -> int:
        return len(self.episode_starts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything, generators included; ``equirl.load_agent`` restores it."""
        from equirl.learners.saving import save_agent

        save_agent(self, path)  # type: ignore[arg-type]

    def copy(self) -> Self:
        """An independent twin in the same state, random generators included."""
        return copy.deepcopy(self)
