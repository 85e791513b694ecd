"""Priors of mean rewards: by pair, shared by pairs that are drawn, by given class, or known; and their draws.

One model for coins, money and sure amounts. Pairs sit at tables, each at its own or by a Chinese restaurant process,
whose concentration is drawn with them: where many were opened, so will be more. A table pays

- coins, where only 0 and 1 were paid so far: a mean from Beta(1, 1);
- amounts that scatter: Normal with a mean of density one and a variance of its own, inverse-Gamma(SHAPE, b). With n
  rewards at the table and Q the sum of their squared deviations, its marginal likelihood is

      (2 pi)^(-(n-1)/2)  n^(-1/2)  b^SHAPE Gamma(SHAPE + (n-1)/2) / ( Gamma(SHAPE) (b + Q/2)^(SHAPE + (n-1)/2) ).

  The usual noise b is drawn too, from the variances of all tables and of one that spans the range: so the noise of a
  pair seen once is that of the others. Means are drawn within [0, 1].

A pair that paid the same amount at all its n visits may pay it for sure, the limit of no variance. A share rho of the
pairs does; an amount of uniform chance shows n times in a row with probability 2 / (n + 1). So such a pair is sure with
probability

    rho / ( rho + (1 - rho) 2 / (n + 1) ),        rho ~ Beta(1 + pairs that did, 1 + pairs that did not),

among those visited twice or more. It is drawn anew each time, and where it is not sure there is another amount, any in
the range, with chance Beta(1, n + 1). A pair that always paid 0, or 1, is left to the coins: one of strong bias looks
just like that, and what pays nothing is common enough to be learned together.

A pair never visited draws its mean from [0, 1], or a learner would believe that all it has not seen pays what it has
seen. With ``reward_noise="coin"`` every reward is a toss of a coin, as in PSRL as published.

Who explores may hope, so a coin hardly tossed may show anything. For a policy that is to be deployed (``drop_hope``)
coins, and amounts not yet shown, come from Beta(m, 1 - m), m being what pairs pay on average: where most pay nothing,
so does one that paid nothing once.
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
from equirl.numerics.portions import Portions, finished
from equirl.numerics.random_draws import beta_draw, draw_concentration, log_gamma_draw, normal, pick, uniform
from equirl.structure.partition import Partition
from equirl.words.checking import choice

SAME = 1e-9  # up to which variances and amounts are equal, rounding aside
SHAPE = 1.0  # of the variances of tables
CONCENTRATIONS = np.geomspace(0.3, 30.0, 12)  # among which the weight of a new table is drawn, a pair having one
LARGEST_VARIANCE = 0.25  # of anything between 0 and 1
RANGE_VARIANCE = 1 / 12  # of the one table more that the usual noise is drawn from


class KeptRewards(NamedTuple):
    """Mean rewards of an earlier draw, of which some are to be drawn anew."""

    mean: np.ndarray  # (M,)
    fresh: np.ndarray  # (M,) bool: those to draw


class RewardSampler(ABC):
    """What was drawn of the mean rewards, and how to draw on."""

    def draw(self, seen: Snapshot, rng: np.ndarray) -> np.ndarray:
        """(M,) mean rewards from the posterior, given the counts."""
        return finished(self.portions(seen, rng))

    @abstractmethod
    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: KeptRewards | None = None, budget: float = math.inf
    ) -> Portions[np.ndarray]:
        """The same in portions of at most ``budget`` look-ups, or of one pass over the pairs where that is more.

        What is ``kept`` is taken over, but where pairs share a mean all get the one drawn now.
        """

    def tables(self) -> np.ndarray | None:
        """(M,) which pairs shared a mean in the last draw, -1 for pairs without one; None where that is not drawn."""
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        """What must be kept to go on."""
        return {}

    def drop_hope(self) -> None:  # noqa: B027 - some have no hope
        """From now on draw without the hope that keeps a learner exploring."""

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:  # noqa: B027 - some keep nothing
        """Go on from what was kept."""


@dataclass(frozen=True)
class RewardNoise:
    """How rewards scatter, and whether their means are known: what all priors have in common.

    "drawn": whether a pair pays the same each time is drawn too, and what it pays is known where it does. "coin": every
    reward is a toss of a coin, as in PSRL as published.
    """

    reward_noise: str = "drawn"
    rewards: str = "known"
    choices: ClassVar[tuple[str, ...]] = ("known",)
    looks_for_classes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice("reward_noise", self.reward_noise, ("drawn", "coin"))
        choice("rewards", self.rewards, self.choices)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("mean_rewards",) if self.rewards == "known" else ()

    def at_tables(self, n: int, *, shared: bool = False) -> RewardSampler:
        """A sampler of so many means with this noise, shared at tables or each on its own."""
        return _Tables(n, shared=shared, coins=self.reward_noise == "coin")


@dataclass(frozen=True)
class DrawnRewards(RewardNoise):
    """Mean rewards: "shared", "per_pair", or "known" in advance.

    Which pairs share a mean is drawn, apart from the classes of transition probabilities.
    """

    rewards: str = "shared"
    choices: ClassVar[tuple[str, ...]] = ("shared", "per_pair", "known")

    def reward_sampler(self, pairs: Pairs, given: Given) -> RewardSampler:
        return _Known(given) if self.rewards == "known" else self.sampler_of(pairs.n_pairs)

    def sampler_of(self, n: int) -> RewardSampler:
        """A sampler for so many pairs, or whatever else pays."""
        return self.at_tables(n, shared=self.rewards == "shared")


@dataclass(frozen=True)
class ClassRewards(RewardNoise):
    """Mean rewards where classes are given: "per_class", "per_pair", or "known" in advance."""

    rewards: str = "per_class"
    choices: ClassVar[tuple[str, ...]] = ("per_class", "per_pair", "known")

    def reward_sampler(self, pairs: Pairs, given: Given) -> RewardSampler:
        if self.rewards == "known":
            return _Known(given)
        if self.rewards == "per_pair":
            return self.at_tables(pairs.n_pairs)
        assert given.classes is not None
        return _ByClass(given.classes, self.at_tables(given.classes.n_classes))


class _Known(RewardSampler):
    def __init__(self, given: Given) -> None:
        assert given.mean_rewards is not None
        self.means = np.array(given.mean_rewards)

    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: KeptRewards | None = None, budget: float = math.inf
    ) -> Portions[np.ndarray]:
        yield len(seen.visits)
        return self.means


class _ByClass(RewardSampler):
    """One mean per given class, from the rewards of all its pairs."""

    def __init__(self, classes: Partition, single: RewardSampler) -> None:
        self.classes, self.single = classes, single

    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: KeptRewards | None = None, budget: float = math.inf
    ) -> Portions[np.ndarray]:
        label, n = self.classes.label, self.classes.n_classes
        yield len(label)
        sums = (np.bincount(label, weights=of, minlength=n) for of in (seen.visits, seen.r_sum, seen.r_squares))
        visits, r_sum, r_squares = sums
        pooled = seen._replace(visits=visits.astype(np.int64), r_sum=r_sum, r_squares=r_squares)
        means = yield from self.single.portions(pooled, rng, None, budget)  # few, so all are drawn
        return means[label]

    def drop_hope(self) -> None:
        self.single.drop_hope()

    def arrays(self) -> dict[str, np.ndarray]:
        return self.single.arrays()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.single.restore(arrays)


class _Tables(RewardSampler):
    """Pairs at tables: shared ones that are drawn, or each at its own.

    Pairs drawn to pay a sure amount pay it, and the others sit at tables; with ``coins`` every reward r is taken for a
    coin that shows 1 with probability r, and all do.
    """

    def __init__(self, n_pairs: int, *, shared: bool, coins: bool = False) -> None:
        self.shared, self.coins = shared, coins
        self.state: TableState = empty_tables(n_pairs)
        self.amount = np.empty(0)  # of the last draw: sure amounts, else nan
        self.surprise = np.empty(0, bool)  # and who is not sure after all
        self.hopeful = True

    def drop_hope(self) -> None:
        self.hopeful = False

    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: KeptRewards | None = None, budget: float = math.inf
    ) -> Portions[np.ndarray]:
        if self.coins:
            return (yield from self._means(seen._replace(r_squares=seen.r_sum), rng, kept, budget))
        yield len(seen.visits)
        mean = np.empty(len(seen.visits))
        sure = np.empty(len(seen.visits), bool)
        draw_constant(rng, seen, base_of(seen, self.hopeful), mean, sure)
        constant = ~np.isnan(mean)
        rest = seen._replace(visits=np.where(constant, 0, seen.visits))
        self.amount, self.surprise = np.where(sure, mean, np.nan), ~sure & constant
        other = yield from self._means(rest, rng, kept, budget)
        if kept is not None:
            mean = np.where(kept.fresh, mean, kept.mean)
        return np.where(constant, mean, other)

    def _means(self, seen: Snapshot, rng: np.ndarray, kept: KeptRewards | None, budget: float) -> Portions[np.ndarray]:
        yield len(seen.visits)
        M, state = len(seen.visits), self.state
        state.base[:] = base_of(seen, self.hopeful)
        if not self.shared:
            state.table[:] = np.arange(M)
        recount_tables(seen, state)
        if self.shared:
            state.turn[:] = True if kept is None else kept.fresh | (state.table < 0)
            yield from self._resampled(seen, rng, budget)
        yield M
        out = np.empty(M)
        draw_means(rng, seen, state, np.empty(M + 1), out)
        return out if kept is None else np.where(kept.fresh | (state.table >= 0), out, kept.mean)

    def _resampled(self, seen: Snapshot, rng: np.ndarray, budget: float) -> Portions[None]:
        state, first, M, log_weight = self.state, 0, len(seen.visits), np.empty(len(seen.visits) + 2)
        members, grid = state.members[: state.used[0]], CONCENTRATIONS
        alpha = draw_concentration(rng, int(members.sum()), int((members > 0).sum()), grid, np.empty(len(grid)))
        while first < M:
            until, cost = M, budget
            if budget < math.inf:
                asked = (state.turn & (seen.visits > 0))[first:]
                costs = np.cumsum(1 + asked * (state.used[0] + np.cumsum(asked)))  # each may open a table
                until = first + max(1, int(np.searchsorted(costs, budget, side="right")))
                cost = float(costs[until - first - 1])
            yield cost
            state.part[:] = first, until
            resample_tables(rng, alpha, seen, state, log_weight)
            first = until

    def tables(self) -> np.ndarray | None:
        """Pairs that pay the same sure amount share it; those with a surprise have it to themselves."""
        if not self.shared or len(self.amount) == 0:
            return self.state.table if self.shared else None
        _, equal = np.unique(self.amount.round(9), return_inverse=True)
        M = len(self.amount)
        tables = np.where(np.isnan(self.amount), self.state.table, M + 1 + equal)
        return np.where(self.surprise, 2 * M + 1 + np.arange(M), tables)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"reward_table": self.state.table, "reward_noise": self.state.noise}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        table, noise = arrays["reward_table"].copy(), arrays["reward_noise"].copy()
        fits = table.shape == self.state.table.shape and table.dtype == np.int64
        if not fits or table.max() >= len(table) or table.min() < -1:
            raise ValueError("the tables of rewards do not fit the learner")
        if noise.shape != (1,) or noise.dtype != np.float64 or not 0 < noise[0] < math.inf:
            raise ValueError("the noise of rewards is not a positive number")
        self.state = self.state._replace(table=table, noise=noise)


class TableState(NamedTuple):
    """Which pairs share a mean reward, and the rewards of each table; changed in place."""

    table: np.ndarray  # (M,) int64: -1 for pairs never visited
    members: np.ndarray  # (M + 1,) int64
    visits: np.ndarray  # (M + 1,) float64
    total: np.ndarray  # (M + 1,) rewards
    squares: np.ndarray  # (M + 1,) of rewards
    used: np.ndarray  # (1,) int64: tables given out; some may be empty
    noise: np.ndarray  # (1,) b, the scale of the variances
    base: np.ndarray  # (2,) of the Beta distribution that the means of coins come from
    turn: np.ndarray  # (M,) bool: pairs whose tables are drawn anew
    part: np.ndarray  # (2,) int64: of these the pairs part[0]:part[1] now


def empty_tables(n_pairs: int) -> TableState:
    """No pair sits at a table yet."""
    visits, total, squares = np.zeros((3, n_pairs + 1))
    members, noise = np.zeros(n_pairs + 1, np.int64), np.array([SHAPE * RANGE_VARIANCE])
    return TableState(
        np.full(n_pairs, -1), members, visits, total, squares, np.zeros(1, np.int64), noise, np.ones(2),
        np.ones(n_pairs, np.bool_), np.array([0, n_pairs]),
    )  # fmt: skip


def base_of(seen: Snapshot, hopeful: bool) -> np.ndarray:
    """Beta(1, 1), or without hope Beta(m, 1 - m), m being the mean of the pairs' means and of one that is a half."""
    if hopeful:
        return np.ones(2)
    played = seen.visits > 0
    paid = np.clip(seen.r_sum[played] / seen.visits[played], 0.0, 1.0)
    m = (0.5 + paid.sum()) / (1 + len(paid))
    return np.array([m, 1.0 - m])


@lean_kernel
def only_coins(n: float, total: float, squares: float) -> bool:
    """Whether these rewards were all 0 or 1, whose squares they are."""
    return total - squares <= SAME * n


@lean_kernel
def scatter(n: float, total: float, squares: float) -> float:
    """The sum of squared deviations from the mean."""
    return max(0.0, squares - total * total / max(1.0, n))


@lean_kernel
def log_marginal(n: float, total: float, squares: float, b: float, base: np.ndarray) -> float:
    """The log likelihood of the rewards of a table, its mean and variance integrated out."""
    return (
        log_marginal_of_coins(n, total, base) if only_coins(n, total, squares)
        else log_marginal_of_amounts(n, total, squares, b)
    )  # fmt: skip


@lean_kernel
def log_marginal_of_coins(n: float, total: float, base: np.ndarray) -> float:
    good, one, other = max(0.0, total), base[0], base[1]
    before = math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)
    after = math.lgamma(one + good) + math.lgamma(other + max(0.0, n - good)) - math.lgamma(one + other + n)
    return after - before


@lean_kernel
def log_marginal_of_amounts(n: float, total: float, squares: float, b: float) -> float:
    half = 0.5 * (n - 1.0)
    return (
        math.lgamma(SHAPE + half) - math.lgamma(SHAPE) + SHAPE * math.log(b)
        - (SHAPE + half) * math.log(b + 0.5 * scatter(n, total, squares))
        - half * math.log(2.0 * math.pi) - 0.5 * math.log(n)
    )  # fmt: skip


@lean_kernel
def _count(k: int, t: int, sign: int, seen: Snapshot, state: TableState) -> None:
    """Pair k comes to table t (sign 1) or leaves it (-1)."""
    state.members[t] += sign
    state.visits[t] += sign * seen.visits[k]
    state.total[t] += sign * seen.r_sum[k]
    state.squares[t] += sign * seen.r_squares[k]


@lean_kernel
def _clear(t: int, state: TableState) -> None:
    state.members[t], state.visits[t], state.total[t], state.squares[t] = 0, 0.0, 0.0, 0.0


@lean_kernel
def recount_tables(seen: Snapshot, state: TableState) -> None:
    """Rewards by table, from where pairs sit; those without rewards leave, and so do pairs that pay coins no longer."""
    for t in range(len(state.members)):
        _clear(t, state)
    state.used[0] = 0
    for k in range(len(state.table)):
        if seen.visits[k] == 0:
            state.table[k] = -1
        t = state.table[k]
        if t < 0:
            continue
        if state.members[t] > 0 and only_coins(state.visits[t], state.total[t], state.squares[t]) != only_coins(
            float(seen.visits[k]), seen.r_sum[k], seen.r_squares[k]
        ):
            state.table[k] = -1
            continue
        _count(k, t, 1, seen, state)
        state.used[0] = max(state.used[0], t + 1)


@lean_kernel
def table_weights(k: int, alpha: float, seen: Snapshot, state: TableState, log_weight: np.ndarray) -> int:
    """Log weights of all tables for pair k, taken out of its own; the number of a new one."""
    b, empty = state.noise[0], state.used[0]
    n, total, squares = float(seen.visits[k]), seen.r_sum[k], seen.r_squares[k]
    coins = only_coins(n, total, squares)
    for t in range(state.used[0]):
        log_weight[t] = -math.inf
        if state.members[t] == 0:
            empty = t
            continue
        N, T, Q = state.visits[t], state.total[t], state.squares[t]
        if only_coins(N, T, Q) == coins:
            joint = log_marginal(N + n, T + total, Q + squares, b, state.base)
            log_weight[t] = math.log(state.members[t]) + joint - log_marginal(N, T, Q, b, state.base)
    log_weight[empty] = math.log(alpha) + log_marginal(n, total, squares, b, state.base)
    return empty


@lean_kernel
def resample_tables(rng: np.ndarray, alpha: float, seen: Snapshot, state: TableState, log_weight: np.ndarray) -> None:
    """A Gibbs step for the table of every visited pair whose turn it is."""
    for k in range(state.part[0], state.part[1]):
        if seen.visits[k] == 0 or not state.turn[k]:
            continue
        if state.table[k] >= 0:
            _count(k, state.table[k], -1, seen, state)
        new = table_weights(k, alpha, seen, state, log_weight)
        state.used[0] = max(state.used[0], new + 1)
        t = state.table[k] = pick(rng, log_weight, state.used[0])
        if t == new:
            _clear(t, state)
        _count(k, t, 1, seen, state)


@lean_kernel
def draw_means(rng: np.ndarray, seen: Snapshot, state: TableState, mean: np.ndarray, out: np.ndarray) -> None:
    """Mean rewards by table, then the usual noise. Pairs never visited draw any mean. ``mean``: (M + 1,) scratch."""
    shape, rate = SHAPE, 1.0 / RANGE_VARIANCE
    for t in range(state.used[0]):
        n, total, squares = state.visits[t], state.total[t], state.squares[t]
        if state.members[t] == 0:
            continue
        if only_coins(n, total, squares):
            good = max(0.0, total)
            mean[t] = beta_draw(rng, state.base[0] + good, state.base[1] + max(0.0, n - good))
            continue
        spread = state.noise[0] + 0.5 * scatter(n, total, squares)
        variance = spread * math.exp(-log_gamma_draw(rng, SHAPE + 0.5 * (n - 1.0)))
        variance = min(LARGEST_VARIANCE, variance)
        mean[t] = normal_within(rng, total / n, math.sqrt(variance / n))
        shape, rate = shape + SHAPE, rate + 1.0 / variance
    if shape > SHAPE:
        state.noise[0] = math.exp(log_gamma_draw(rng, shape)) / rate
    for k in range(len(out)):
        out[k] = mean[state.table[k]] if state.table[k] >= 0 else uniform(rng)


@lean_kernel
def normal_within(rng: np.ndarray, centre: float, sigma: float) -> float:
    """A Normal variable given that it is in [0, 1], where its centre is."""
    for _ in range(100):
        x = centre + sigma * normal(rng)
        if 0.0 <= x <= 1.0:
            return x
    return min(1.0, max(0.0, centre))


@lean_kernel
def paid_the_same(k: int, seen: Snapshot) -> bool:
    """Whether pair k was visited and paid the same amount each time, more than 0 and less than 1."""
    n = seen.visits[k]
    if n == 0:
        return False
    amount = seen.r_sum[k] / n
    return SAME < amount < 1.0 - SAME and seen.r_squares[k] / n - amount * amount <= SAME


@lean_kernel
def draw_constant(rng: np.ndarray, seen: Snapshot, base: np.ndarray, mean: np.ndarray, sure: np.ndarray) -> None:
    """Means of pairs that paid the same amount each time, for sure or not so far; nan: not drawn here.

    A pair seen once that is not sure is left to the tables. Another amount comes from Beta(``base``). Nothing is drawn
    where no pair can be sure. O(pairs).
    """
    candidates, same, other = 0, 0, 0
    for k in range(len(mean)):
        mean[k], sure[k] = math.nan, paid_the_same(k, seen)
        candidates += sure[k]
        if seen.visits[k] > 1:
            same += sure[k]
            other += not sure[k] and 0.0 < seen.r_sum[k] < seen.visits[k]
    if candidates == 0:
        return
    rho = beta_draw(rng, 1.0 + same, 1.0 + other)
    for k in range(len(mean)):
        if not sure[k]:
            continue
        n = seen.visits[k]
        amount = seen.r_sum[k] / n
        sure[k] = uniform(rng) * (rho + (1.0 - rho) * 2.0 / (n + 1.0)) < rho
        if sure[k]:
            mean[k] = amount
        elif n > 1:
            chance = beta_draw(rng, 1.0, n + 1.0)
            other_amount = uniform(rng) if base[0] + base[1] > 1.0 else beta_draw(rng, base[0], base[1])
            mean[k] = amount + chance * (other_amount - amount)
