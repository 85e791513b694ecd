"""Priors of mean rewards for posterior sampling: by pair, shared by pairs that are drawn, by given class, or known.

Rewards are tosses of coins (``reward_noise="coin"``), or whether a pair pays a sure amount is drawn as well ("drawn").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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
from equirl.posterior.sure_rewards import draw_sure
from equirl.words.checking import above, between, choice


class RewardSampler(ABC):
    """What was drawn of the mean rewards, and how to draw on."""

    @abstractmethod
    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        """(M,) mean rewards from the posterior, given the counts."""

    def tables(self) -> np.ndarray | None:
        """(M,) which pairs shared a mean in the last draw, -1 for pairs without one; None where that is not drawn."""
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        """What must be kept to go on."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:  # noqa: B027 - some keep nothing
        """Go on from what was kept."""


@dataclass(frozen=True)
class RewardNoise:
    """How rewards scatter: what all priors have in common.

    "drawn": whether a pair pays the same each time is drawn too, and what it pays is known where it does. "coin": every
    reward is a toss of a coin, as in PSRL as published.
    """

    reward_noise: str = "drawn"

    def __post_init__(self) -> None:
        choice("reward_noise", self.reward_noise, ("drawn", "coin"))

    def with_noise(self, coins: RewardSampler) -> RewardSampler:
        """The sampler for this noise, from the one for coins."""
        return coins if self.reward_noise == "coin" else _SureOrCoin(coins)


@dataclass(frozen=True)
class DrawnRewards(RewardNoise):
    """Mean rewards: "shared" by pairs that are drawn, "per_pair", or "known" in advance.

    Shared, a pair still draws from its own rewards with chance ``own / visits``, and a new mean has weight
    ``reward_alpha`` against the pairs of another.
    """

    rewards: str = "shared"
    own: float = 0.0
    reward_alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
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
        return self.with_noise(_Shared(self, problem) if self.rewards == "shared" else _ByPair())


@dataclass(frozen=True)
class ClassRewards(RewardNoise):
    """Mean rewards where classes are given: "per_class", "per_pair", or "known" in advance."""

    rewards: str = "per_class"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("rewards", self.rewards, ("per_class", "per_pair", "known"))

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be given."""
        return ("mean_rewards",) if self.rewards == "known" else ()

    def sampler(self, problem: Problem) -> RewardSampler:
        """The sampler of this choice."""
        if self.rewards == "known":
            return _Known(problem)
        by_pair = self.with_noise(_ByPair())
        return _ByClass(problem, by_pair) if self.rewards == "per_class" else by_pair


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

    def __init__(self, problem: Problem, single: RewardSampler) -> None:
        assert problem.given.classes is not None
        self.classes, self.single = problem.given.classes, single

    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        label, n = self.classes.label, self.classes.n_classes
        sums = (np.bincount(label, weights=of, minlength=n) for of in (seen.visits, seen.r_sum, seen.r_squares))
        visits, r_sum, r_squares = sums
        pooled = seen._replace(visits=visits.astype(np.int64), r_sum=r_sum, r_squares=r_squares)
        return self.single.draw(pooled, rng)[label]


class _SureOrCoin(RewardSampler):
    """Pairs drawn to pay a sure amount pay it; the others are left to the sampler for coins."""

    def __init__(self, coins: RewardSampler) -> None:
        self.coins = coins
        self.sure = self.amount = np.empty(0)  # of the last draw

    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        sure = np.empty(len(seen.visits), bool)
        draw_sure(rng, seen, sure)
        self.sure, self.amount = sure, seen.r_sum / np.maximum(1, seen.visits)
        tossed = seen._replace(visits=np.where(sure, 0, seen.visits), r_sum=np.where(sure, 0.0, seen.r_sum))
        return np.where(sure, self.amount, self.coins.draw(tossed, rng))

    def tables(self) -> np.ndarray | None:
        """Pairs that pay the same sure amount share it."""
        tables = self.coins.tables()
        if tables is None or not len(self.sure):
            return tables
        _, equal = np.unique(self.amount.round(9), return_inverse=True)
        return np.where(self.sure, len(tables) + 1 + equal, tables)

    def arrays(self) -> dict[str, np.ndarray]:
        return self.coins.arrays()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.coins.restore(arrays)


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

    def tables(self) -> np.ndarray | None:
        return self.state.table

    def arrays(self) -> dict[str, np.ndarray]:
        return {"reward_table": self.state.table}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        table = arrays["reward_table"].copy()
        fits = table.shape == self.state.table.shape and table.dtype == np.int64
        if not fits or table.max() >= len(table) or table.min() < -1:
            raise ValueError("the tables of rewards do not fit the learner")
        self.state = self.state._replace(table=table)
