"""Q-learning, the baseline everyone knows, and Q-learning that shares each step among the pairs of a given class.

After a step (s, a, r, x) with n visits of the pair,

    Q(s,a) <- Q(s,a) + w_n ( r + discount max_b Q(x,b) - Q(s,a) ),

where w_n = 1 / (1 + (1 - discount) n), with which the noise of n steps averages out in the time that values take to
come from far away (Wainwright 2019), or n^(-rate). With classes and profiles given, the step teaches every pair of the
class: the successor of a member stands where x stands in the profile of (s, a). Where a class is of transition
probabilities alone, it teaches those that were played, each with the mean of its own rewards. Values are kept times
(1 - discount), in [0, 1]; they start at 1, the optimistic end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import check_path
from equirl.estimation.pooling import Grouping, estimate, pool_given
from equirl.learners.beliefs import ActionValues, GivenBeliefs
from equirl.learners.contract import CountingLearner, State, Stretch, checked_choice, step_limits
from equirl.learners.estimates import sets_rewards_apart
from equirl.learners.parts import AUTO, Known, Steps
from equirl.learners.recipes import Blueprint, Settings
from equirl.model.dynamics import Chances, Dynamics, beta_drawn, simple_reward, successor_drawn
from equirl.model.rows import place_of
from equirl.numerics.arrays import owners, starts
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.numerics.seeding import put_back
from equirl.solving.optimal_gain import Criterion
from equirl.words.checking import between, choice, inside

STEPS = ("rescaled", "power")
REWARDS = (AUTO, "per_class", "per_pair")
NO_SUMS, NO_VISITS, NO_STATES = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int32)
COINS = 3  # random numbers that a decision uses at most
FIXED = 1e-10  # change of values at which those of counts are found


@dataclass(frozen=True)
class OwnSteps(Steps):
    """A step teaches the pair it was made with.

    ``explore``: chance of an action at random. ``steps``: how step sizes fall, "rescaled" or "power", that with
    ``rate``, in [0.5, 1].
    """

    discount: float = 0.95
    explore: float = 0.05
    steps: str = "rescaled"
    rate: float = 0.7

    def __post_init__(self) -> None:
        inside("discount", self.discount)
        between("explore", self.explore)
        choice("steps", self.steps, STEPS)
        between("rate", self.rate, 0.5, 1.0)

    @property
    def power(self) -> float:
        return self.rate if self.steps == "power" else 0.0


@dataclass(frozen=True)
class SharedSteps(OwnSteps):
    """A step teaches every pair of its class; classes and profiles are given.

    ``rewards``: "per_class", which pays one reward, "per_pair" for classes of transition probabilities alone, or "auto"
    to decide by the classes given.
    """

    rewards: str = AUTO
    needs: ClassVar[tuple[str, ...]] = ("classes", "profiles")

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("rewards", self.rewards, REWARDS)

    @property
    def own_rewards(self) -> bool:
        return self.rewards == "per_pair"

    def resolved(self, settings: Settings, known: Known | None) -> Self:
        if self.rewards != AUTO or known is None:
            return self
        return replace(self, rewards="per_pair" if sets_rewards_apart(known, quick_rewards=True) else "per_class")


class QLearner(CountingLearner):
    """An agent that keeps a value per pair and nothing else of what it saw. Make one with ``equirl.make_agent``."""

    own_loop: ClassVar[bool] = True

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self.part = self.settings.part(Steps)
        self.criterion = Criterion(self.part.discount)
        self.rng = np.random.default_rng(blueprint.seed)
        self.q, self.n = np.ones(self.pairs.n_pairs), np.zeros(self.pairs.n_pairs, np.int64)
        self.policy = np.array(self.pairs.ptr[:-1])
        self.chosen: tuple[int, int] | None = None  # state and pair decided, not yet played
        self._members = self._class_members()
        self._own_rewards, self._rates = self.part.own_rewards, (float(self.part.discount), float(self.part.power))

    def _class_members(self) -> Members:
        M, ptr = self.pairs.n_pairs, np.array(self.pairs.ptr)
        if not self.part.needs:
            return Members(ptr, np.arange(M), np.arange(M + 1), np.arange(M), np.zeros(M + 1, np.int64), NO_STATES)
        classes, profiles = self.given.classes, self.given.profiles
        assert classes is not None
        assert profiles is not None
        order, sizes = np.argsort(classes.label, kind="stable"), starts(classes.sizes)
        return Members(ptr, classes.label.copy(), sizes, order, np.array(profiles.ptr), np.array(profiles.succ))

    def _taught(self, paid: tuple[np.ndarray, np.ndarray]) -> Taught:
        return Taught(self.q, self.n, self.policy, *(paid if self._own_rewards else (NO_SUMS, NO_VISITS)))

    def decide(self, state: int) -> Stretch:
        """The best pair by its value, ties at random, or any with a small chance; for one step."""
        self.test_structure()
        if self.chosen is None or self.chosen[0] != state:
            coins = self.rng.random(COINS)
            pair, used = choose_by_value(state, self.q, self._members.pair_ptr, self.part.explore, coins, 0)
            put_back(self.rng, COINS - used)
            self.chosen = state, pair
        self.policy[state] = self.chosen[1]
        return Stretch(self.policy, step_limits(1))

    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        check_path(self.given, self.pairs, path, final)  # before anything is learned
        for i, k in enumerate(path.tolist()):
            after = int(self.pairs.state[path[i + 1]]) if i + 1 < len(path) else final
            self.record_step(k, float(rewards[i]), after)

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        self.check_successor(pair, successor)  # teaching looks for it in the profile
        super().record_step(pair, reward, successor)
        taught = self._taught((self.counts.r_sum, self.counts.visits))
        teach_class(pair, int(self.pairs.state[pair]), reward, successor, self._rates, self._members, taught)
        self.chosen = None

    def play_steps(
        self, world: Dynamics, state: int, chances: Chances, path: np.ndarray, rewards: np.ndarray
    ) -> tuple[int, int]:
        self.test_structure()
        most = int(min(len(chances.moves), self._watch_at - self.t))
        coins, own = self.rng.random(COINS * most), self._own_rewards
        taught = self._taught((self.counts.r_sum.copy(), self.counts.visits.copy()) if own else (NO_SUMS, NO_VISITS))
        chosen = self.chosen[1] if self.chosen is not None and self.chosen[0] == state else -1
        steps, used, final = (play_simple if world.concentration == 0.0 else play_beta)(
            (state, chosen), world, chances, coins, (*self._rates, self.part.explore), self._members, taught,
            (path[:most], rewards),
        )  # fmt: skip
        put_back(self.rng, len(coins) - used)
        if steps:
            self.counts.record_path(path[:steps], rewards[:steps], final, self.pairs.state)
            self.t, self.chosen = self.t + steps, None
        return steps, final

    def start_from(self, seen: Snapshot) -> None:
        """Take over counts; values are the fixed point of the update with their frequencies, 1 where nothing was seen.

        The order of the steps, on which Q-learning depends, is not in the counts.
        """
        super().start_from(seen)
        known = estimate(seen)
        if self.given.classes is not None and self.given.profiles is not None and self.given.tie is not None:
            groups = Grouping.of(self.given.classes)
            known = pool_given(
                seen, groups, self.given.profiles, self.given.tie, means=None if self._own_rewards else groups
            )
        there = seen.visits > 0 if self._own_rewards else known.samples > 0
        self.n, row = np.where(there, known.samples, 0).astype(np.int64), owners(known.rows.ptr)
        change, discount = 1.0, self.part.discount
        while change > FIXED:  # the update of every pair at once, on average over what was seen
            best = np.maximum.reduceat(self.q, self.pairs.ptr[:-1])
            after = np.bincount(row, weights=known.rows.prob * best[known.rows.succ], minlength=len(self.q))
            values = np.where(there, (1.0 - discount) * known.r_hat + discount * after, 1.0)
            change, self.q = float(np.abs(values - self.q).max()), values
        self.policy = self.best_pairs()

    def best_pairs(self) -> np.ndarray:
        """(S,) the pair of the largest value in each state, of equals the first."""
        best = np.maximum.reduceat(self.q, self.pairs.ptr[:-1])
        pair = np.flatnonzero(self.q == best[self.pairs.state])
        return pair[np.unique(self.pairs.state[pair], return_index=True)[1]]

    @property
    def beliefs(self) -> QBeliefs:
        return QBeliefs(self)

    def state(self) -> State:
        arrays, values = super().state()
        arrays |= {"q": self.q, "taught": self.n, "greedy": self.policy}
        return State(arrays, values | {"chosen": self.chosen, "rng": self.rng.bit_generator.state})

    def restore(self, state: State) -> None:
        super().restore(state)
        q, n, policy = (state.arrays[name].copy() for name in ("q", "taught", "greedy"))
        fits = q.shape == self.q.shape and n.shape == self.n.shape and q.dtype == np.float64 and n.dtype == np.int64
        if not fits or not np.isfinite(q).all() or n.min() < 0 or n.max() > self.counts.visits.sum():
            raise ValueError("the values do not fit the agent")
        ptr = self.pairs.ptr
        if (
            policy.shape != self.policy.shape
            or policy.dtype != np.int64
            or not ((policy >= ptr[:-1]) & (policy < ptr[1:])).all()
        ):
            raise ValueError("the policy does not fit the agent")
        self.q, self.n, self.policy = q, n, policy
        self.rng.bit_generator.state = state.values["rng"]
        self.chosen = checked_choice(state.values["chosen"], self.pairs)


class QBeliefs(GivenBeliefs):
    agent: QLearner
    has_policy: ClassVar[bool] = True

    def action_values(self, state: int) -> ActionValues:
        ptr = self.agent.pairs.ptr
        return ActionValues(self.agent.q[ptr[state] : ptr[state + 1]].copy(), "value per step")

    def greedy_policy(self) -> np.ndarray:
        return self.agent.pairs.action[self.agent.best_pairs()]


class Members(NamedTuple):
    """Which pairs a step teaches: those of its class, each with the successor in the same place of its profile."""

    pair_ptr: np.ndarray  # (S + 1,) int64
    label: np.ndarray  # (M,) int64: the class of each pair
    ptr: np.ndarray  # (C + 1,) int64: of the pairs of each class
    pair: np.ndarray  # (M,) int64: pairs by class
    profile_ptr: np.ndarray  # (M + 1,) int64
    profile_succ: np.ndarray  # (nnz,) int32; empty where each pair stands alone


class Taught(NamedTuple):
    """Values, and what changes with them."""

    q: np.ndarray  # (M,)
    n: np.ndarray  # (M,) int64: how often each was taught
    policy: np.ndarray  # (S,) int64: the best pair of each state that was left
    r_sum: np.ndarray  # (M,) rewards so far, where each pair learns with its own mean; or empty
    visits: np.ndarray  # (M,) int64, likewise


@lean_kernel
def choose_by_value(
    state: int, q: np.ndarray, pair_ptr: np.ndarray, explore: float, coins: np.ndarray, used: int
) -> tuple[int, int]:
    """The best pair of a state by its value, ties at random, or any with a small chance; and the coins used so far."""
    first, last = pair_ptr[state], pair_ptr[state + 1]
    best, ties = q[first], 0
    for k in range(first + 1, last):
        best = max(best, q[k])
    for k in range(first, last):
        ties += q[k] >= best
    pick, pair = int(coins[used] * ties), first
    for k in range(first, last):
        if q[k] >= best:
            if pick == 0:
                pair = k
            pick -= 1
    used += 2
    if coins[used - 1] < explore:
        pair = first + int(coins[used] * (last - first))
        used += 1
    return pair, used


@lean_kernel
def place_in_profile(pair: int, successor: int, members: Members) -> int:
    """Where a successor stands in the profile of a pair: -1 nowhere, 0 where there are no profiles."""
    if len(members.profile_succ) == 0:
        return 0
    first, last = members.profile_ptr[pair], members.profile_ptr[pair + 1]
    place = place_of(members.profile_succ, first, last, successor)
    return place - first if place < last else -1


@lean_kernel
def teach_class(
    pair: int, state: int, reward: float, successor: int, rates: tuple[float, float], members: Members, taught: Taught
) -> None:
    """One step of a pair of ``state``, for every pair of its class. ``rates``: discount, and that of step sizes or 0.

    Where each learns with its own mean reward, those never played learn nothing.
    """
    discount, rate = rates
    q, n, label = taught.q, taught.n, members.label[pair]
    place = place_in_profile(pair, successor, members)
    for i in range(members.ptr[label], members.ptr[label + 1]):
        k, x, gain = members.pair[i], successor, reward
        if len(taught.visits) > 0:
            if taught.visits[k] == 0:
                continue
            gain = taught.r_sum[k] / taught.visits[k]
        if len(members.profile_succ) > 0:
            x = members.profile_succ[members.profile_ptr[k] + place]
        best = -np.inf
        for j in range(members.pair_ptr[x], members.pair_ptr[x + 1]):
            best = max(best, q[j])
        n[k] += 1
        step = n[k] ** (-rate) if rate > 0.0 else 1.0 / (1.0 + (1.0 - discount) * n[k])
        q[k] += step * ((1.0 - discount) * gain + discount * best - q[k])
    greedy = members.pair_ptr[state]
    for k in range(greedy + 1, members.pair_ptr[state + 1]):
        if q[k] > q[greedy]:
            greedy = k
    taught.policy[state] = greedy  # no longer what was tried


@inlined
def play(
    reward_drawn: Callable[..., float], start: tuple[int, int], world: Dynamics, chances: Chances, coins: np.ndarray,
    rates: tuple[float, float, float], members: Members, taught: Taught, out: tuple[np.ndarray, np.ndarray],
) -> tuple[int, int, int]:  # fmt: skip
    """Decide and learn step by step, until the path is full or before a successor outside its profile.

    ``start``: the state, and the pair decided there or -1. Returns the steps played, coins used and the state reached.
    """
    path, rewards = out
    state, chosen = start
    used = 0
    for i in range(len(path)):
        pair, spent = chosen, used
        if i > 0 or chosen < 0:
            pair, spent = choose_by_value(state, taught.q, members.pair_ptr, rates[2], coins, used)
        successor = successor_drawn(world.rows, pair, chances.moves[i])
        if place_in_profile(pair, successor, members) < 0:
            return i, used, state
        path[i] = pair
        rewards[i] = reward_drawn(world.r_mean[pair], world.concentration, chances.pay, i)
        if len(taught.visits) > 0:
            taught.r_sum[pair] += rewards[i]
            taught.visits[pair] += 1
        teach_class(pair, state, rewards[i], successor, rates[:2], members, taught)
        state, used = successor, spent
    return len(path), used, state


@lean_kernel
def play_simple(
    start: tuple[int, int], world: Dynamics, chances: Chances, coins: np.ndarray, rates: tuple[float, float, float],
    members: Members, taught: Taught, out: tuple[np.ndarray, np.ndarray],
) -> tuple[int, int, int]:  # fmt: skip
    return play(simple_reward, start, world, chances, coins, rates, members, taught, out)


@lean_kernel
def play_beta(
    start: tuple[int, int], world: Dynamics, chances: Chances, coins: np.ndarray, rates: tuple[float, float, float],
    members: Members, taught: Taught, out: tuple[np.ndarray, np.ndarray],
) -> tuple[int, int, int]:  # fmt: skip
    return play(beta_drawn, start, world, chances, coins, rates, members, taught, out)
