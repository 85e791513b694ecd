"""Priors of mean rewards: by pair, shared by pairs that are drawn, by given class, or known; and their draws.

By pair: Beta(1 + sum r, 1 + sum (1 - r)). Shared: a Chinese restaurant process over the *visited* pairs, tables with a
Beta(1, 1) mean each. A pair never visited draws from Beta(1, 1), or a learner would believe that all it has not seen
pays what it has seen.

Rewards are tosses of coins (``reward_noise="coin"``), or whether a pair pays a sure amount is drawn as well ("drawn").
A share rho of the pairs pays a sure amount, the others toss coins. A coin of uniform bias, tossed n times, shows its
first face every time with probability 2 / (n + 1). So a pair that paid the same at all its n visits is sure with
probability

    rho / ( rho + (1 - rho) 2 / (n + 1) ),        rho ~ Beta(1 + pairs that did, 1 + pairs that did not),

among those visited twice or more. It is drawn anew each time: a pair that may still have a surprise is taken for a coin
now and then, less often the longer it has shown none. A pair that always paid 0, or 1, is left to the coins: one of
strong bias looks just like that, and what pays nothing is common enough to be learned together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import Given
from equirl.model.pairs import Pairs
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import beta_draw, pick, uniform
from equirl.words.checking import above, between, choice

SAME = 1e-9  # up to which variances and amounts are equal, rounding aside


class RewardSampler(ABC):
    """What was drawn of the mean rewards, and how to draw on."""

    @abstractmethod
    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        """(M,) mean rewards from the posterior, given the counts."""

    def tables(self) -> np.ndarray | None:
        """(M,) which pairs shared a mean in the last draw, -1 for pairs without one; None where that is not drawn."""
        return None

    def arrays(self) -> dict[str, np.ndarray]:
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
    looks_for_classes: ClassVar[bool] = False

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
        return ("mean_rewards",) if self.rewards == "known" else ()

    def reward_sampler(self, pairs: Pairs, given: Given) -> RewardSampler:
        if self.rewards == "known":
            return _Known(given)
        return self.with_noise(_Shared(self, pairs.n_pairs) if self.rewards == "shared" else _ByPair())


@dataclass(frozen=True)
class ClassRewards(RewardNoise):
    """Mean rewards where classes are given: "per_class", "per_pair", or "known" in advance."""

    rewards: str = "per_class"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("rewards", self.rewards, ("per_class", "per_pair", "known"))

    @property
    def needs(self) -> tuple[str, ...]:
        return ("mean_rewards",) if self.rewards == "known" else ()

    def reward_sampler(self, pairs: Pairs, given: Given) -> RewardSampler:
        if self.rewards == "known":
            return _Known(given)
        by_pair = self.with_noise(_ByPair())
        return _ByClass(given, by_pair) if self.rewards == "per_class" else by_pair


class _Known(RewardSampler):
    def __init__(self, given: Given) -> None:
        assert given.mean_rewards is not None
        self.means = np.array(given.mean_rewards)

    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        return self.means


class _ByPair(RewardSampler):
    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        out = np.empty(len(seen.visits))
        draw_by_pair(rng, seen, out)
        return out


class _ByClass(RewardSampler):
    """One mean per given class, from the rewards of all its pairs."""

    def __init__(self, given: Given, single: RewardSampler) -> None:
        assert given.classes is not None
        self.classes, self.single = given.classes, single

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
    def __init__(self, part: DrawnRewards, n_pairs: int) -> None:
        self.part = part
        self.state: TableState = empty_tables(n_pairs)

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


class TableState(NamedTuple):
    """Which pairs share a mean reward; changed in place."""

    table: np.ndarray  # (M,) int64: -1 for pairs never visited
    members: np.ndarray  # (M + 1,) int64
    good: np.ndarray  # (M + 1,) pooled rewards
    bad: np.ndarray  # (M + 1,) pooled visits less rewards
    used: np.ndarray  # (1,) int64: tables given out; some may be empty


def empty_tables(n_pairs: int) -> TableState:
    return TableState(
        np.full(n_pairs, -1), np.zeros(n_pairs + 1, np.int64), np.zeros(n_pairs + 1), np.zeros(n_pairs + 1),
        np.zeros(1, np.int64),
    )  # fmt: skip


@lean_kernel
def log_beta_rising(a: float, b: float, good: float, bad: float) -> float:
    """log B(a + good, b + bad) - log B(a, b)."""
    return (
        math.lgamma(a + good) - math.lgamma(a) + math.lgamma(b + bad) - math.lgamma(b)
        - math.lgamma(a + b + good + bad) + math.lgamma(a + b)
    )  # fmt: skip


@lean_kernel
def recount_tables(seen: Snapshot, state: TableState) -> None:
    """Pooled rewards from the tables that pairs sit at; those without rewards leave theirs."""
    for t in range(len(state.members)):
        state.members[t], state.good[t], state.bad[t] = 0, 0.0, 0.0
    state.used[0] = 0
    for k in range(len(state.table)):
        if seen.visits[k] == 0:
            state.table[k] = -1
        t = state.table[k]
        if t >= 0:
            state.members[t] += 1
            state.good[t] += seen.r_sum[k]
            state.bad[t] += seen.visits[k] - seen.r_sum[k]
            state.used[0] = max(state.used[0], t + 1)


@lean_kernel
def table_weights(good: float, bad: float, alpha: float, state: TableState, log_weight: np.ndarray) -> int:
    """Log weights of all tables for a pair with these rewards, taken out of its own; the number of a new one."""
    empty = state.used[0]
    for t in range(state.used[0]):
        if state.members[t] > 0:
            a, b = 1.0 + max(0.0, state.good[t]), 1.0 + max(0.0, state.bad[t])
            log_weight[t] = math.log(state.members[t]) + log_beta_rising(a, b, good, bad)
        else:
            log_weight[t] = -math.inf
            empty = t
    log_weight[empty] = math.log(alpha) + log_beta_rising(1.0, 1.0, good, bad)
    return empty


@lean_kernel
def resample_tables(
    rng: np.ndarray, first: int, n_pairs: int, alpha: float, seen: Snapshot, state: TableState, log_weight: np.ndarray
) -> None:
    """A Gibbs step for the tables of ``n_pairs`` pairs from ``first`` on, around, and of all that have none."""
    M = len(state.table)
    for i in range(M):
        k = (first + i) % M
        if seen.visits[k] == 0 or (i >= n_pairs and state.table[k] >= 0):
            continue
        good, t = seen.r_sum[k], state.table[k]
        bad = seen.visits[k] - good
        if t >= 0:
            state.members[t] -= 1
            state.good[t] -= good
            state.bad[t] -= bad
        new = table_weights(good, bad, alpha, state, log_weight)
        state.used[0] = max(state.used[0], new + 1)
        t = pick(rng, log_weight, state.used[0])
        if t == new:
            state.good[t] = state.bad[t] = 0.0
        state.table[k] = t
        state.members[t] += 1
        state.good[t] += good
        state.bad[t] += bad


@lean_kernel
def draw_shared(
    rng: np.ndarray, own: float, seen: Snapshot, state: TableState, mean: np.ndarray, out: np.ndarray
) -> None:
    """Mean rewards by table; with chance min(1, own / visits) a pair draws from its own posterior instead.

    ``mean`` (M + 1,) is scratch: the drawn means of the tables.
    """
    for t in range(state.used[0]):
        mean[t] = beta_draw(rng, 1.0 + max(0.0, state.good[t]), 1.0 + max(0.0, state.bad[t]))
    for k in range(len(out)):
        n = seen.visits[k]
        if n > 0 and (own <= 0.0 or uniform(rng) * n >= own):
            out[k] = mean[state.table[k]]
        else:
            out[k] = own_draw(rng, k, seen)


@lean_kernel
def own_draw(rng: np.ndarray, k: int, seen: Snapshot) -> float:
    """The mean reward of pair k from its own rewards alone."""
    good = seen.r_sum[k]
    return beta_draw(rng, 1.0 + good, 1.0 + max(0.0, seen.visits[k] - good))


@lean_kernel
def draw_by_pair(rng: np.ndarray, seen: Snapshot, out: np.ndarray) -> None:
    for k in range(len(out)):
        out[k] = own_draw(rng, k, seen)


@lean_kernel
def paid_the_same(k: int, seen: Snapshot) -> bool:
    """Whether pair k was visited and paid the same amount each time, more than 0 and less than 1."""
    n = seen.visits[k]
    if n == 0:
        return False
    amount = seen.r_sum[k] / n
    return SAME < amount < 1.0 - SAME and seen.r_squares[k] / n - amount * amount <= SAME


@lean_kernel
def draw_sure(rng: np.ndarray, seen: Snapshot, out: np.ndarray) -> None:
    """Which pairs pay a sure amount, from the posterior; nothing is drawn where none can. O(pairs)."""
    first, same, other = 0, 0, 0
    for k in range(len(out)):
        out[k] = paid_the_same(k, seen)
        first += out[k]
        if seen.visits[k] > 1:
            same += out[k]
            other += not out[k] and 0.0 < seen.r_sum[k] < seen.visits[k]
    if first == 0:
        return
    rho = beta_draw(rng, 1.0 + same, 1.0 + other)
    for k in range(len(out)):
        if out[k]:
            coin = (1.0 - rho) * 2.0 / (seen.visits[k] + 1.0)
            out[k] = uniform(rng) * (rho + coin) < rho
