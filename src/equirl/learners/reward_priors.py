"""Priors of mean rewards for posterior sampling: by pair, shared by pairs that are drawn, by given class, or known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from equirl.core.checking import above, between, choice
from equirl.estimation.counts import Snapshot
from equirl.learners.structures import Problem
from equirl.posterior.reward_sampler import (
    TableState,
    draw_by_pair,
    draw_shared,
    empty_tables,
    recount_tables,
    resample_tables,
)


class RewardSampler(ABC):
    """What was drawn of the mean rewards, and how to draw on."""

    @abstractmethod
    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        """(M,) mean rewards from the posterior, given the counts."""

    def arrays(self) -> dict[str, np.ndarray]:
        """What must be kept to go on."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:  # noqa: B027 - some keep nothing
        """Go on from what was kept."""


@dataclass(frozen=True)
class DrawnRewards:
    """Mean rewards: "shared" by pairs that are drawn, "per_pair", or "known" in advance.

    Shared, a pair still draws from its own rewards with chance ``own / visits``, and a new mean has weight
    ``reward_alpha`` against the pairs of another.
    """

    rewards: str = "shared"
    own: float = 0.0
    reward_alpha: float = 1.0

    def __post_init__(self) -> None:
        choice("rewards", self.rewards, ("shared", "per_pair", "known"))
        between("own", self.own, most=1e9)
        above("reward_alpha", self.reward_alpha, 0, "shares nothing")

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be given."""
        return ("mean_rewards",) if self.rewards == "known" else ()

    def sampler(self, problem: Problem) -> RewardSampler:
        """The sampler of this choice."""
        if self.rewards == "known":
            return _Known(problem)
        return _Shared(self, problem) if self.rewards == "shared" else _ByPair()


@dataclass(frozen=True)
class ClassRewards:
    """Mean rewards where classes are given: "per_class", "per_pair", or "known" in advance."""

    rewards: str = "per_class"

    def __post_init__(self) -> None:
        choice("rewards", self.rewards, ("per_class", "per_pair", "known"))

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be given."""
        return ("mean_rewards",) if self.rewards == "known" else ()

    def sampler(self, problem: Problem) -> RewardSampler:
        """The sampler of this choice."""
        if self.rewards == "known":
            return _Known(problem)
        return _ByClass(problem) if self.rewards == "per_class" else _ByPair()


class _Known(RewardSampler):
    def __init__(self, problem: Problem) -> None:
        assert problem.given.mean_rewards is not None
        self.means = np.array(problem.given.mean_rewards)

    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        return self.means


class _ByPair(RewardSampler):
    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        out = np.empty(len(seen.visits))
        draw_by_pair(rng, seen, out)
        return out


class _ByClass(RewardSampler):
    """One mean per given class, from the rewards of all its pairs."""

    def __init__(self, problem: Problem) -> None:
        assert problem.given.classes is not None
        self.classes = problem.given.classes

    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        label, n = self.classes.label, self.classes.n_classes
        paid, visits = (np.bincount(label, weights=values, minlength=n) for values in (seen.r_sum, seen.visits))
        pooled = seen._replace(visits=visits.astype(np.int64), r_sum=paid)
        means = np.empty(n)
        draw_by_pair(rng, pooled, means)
        return means[label]


class _Shared(RewardSampler):
    def __init__(self, part: DrawnRewards, problem: Problem) -> None:
        self.part = part
        self.state: TableState = empty_tables(problem.pairs.n_pairs)

    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        M, state = len(seen.visits), self.state
        recount_tables(seen, state)
        resample_tables(rng, 0, M, self.part.reward_alpha, seen, state, np.empty(M + 2))
        out = np.empty(M)
        draw_shared(rng, self.part.own, seen, state, np.empty(M + 1), out)
        return out

    def arrays(self) -> dict[str, np.ndarray]:
        return {"reward_table": self.state.table}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        table = arrays["reward_table"].copy()
        fits = table.shape == self.state.table.shape and table.dtype == np.int64
        if not fits or table.max() >= len(table) or table.min() < -1:
            raise ValueError("the tables of rewards do not fit the learner")
        self.state = self.state._replace(table=table)
