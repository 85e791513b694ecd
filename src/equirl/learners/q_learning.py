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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import check_path
from equirl.estimation.pooling import Grouping, estimate, pool_known
from equirl.learners.beliefs import ActionValues, CountedBeliefs
from equirl.learners.contract import CountingLearner, State, Stretch, step_limits
from equirl.learners.estimates import keeps_rewards_by_pair
from equirl.learners.parts import AUTO, Known, Steps
from equirl.learners.recipes import Blueprint, Settings
from equirl.numerics.arrays import owners
from equirl.numerics.compiling import kernel
from equirl.solving.optimal_gain import Criterion
from equirl.words.checking import between, choice, inside

STEPS = ("rescaled", "power")
REWARDS = (AUTO, "per_class", "per_pair")
NO_SUMS, NO_VISITS = np.zeros(0), np.zeros(0, np.int64)
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
        return replace(self, rewards="per_pair" if keeps_rewards_by_pair(known, quick_rewards=True) else "per_class")


class QLearner(CountingLearner):
    """An agent that keeps a value per pair and nothing else of what it saw. Make one with ``equirl.make_agent``."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self.part = self.settings.part(Steps)
        self.criterion = Criterion(self.part.discount)
        self.rng = np.random.default_rng(blueprint.seed)
        self.q, self.n = np.ones(self.pairs.n_pairs), np.zeros(self.pairs.n_pairs, np.int64)
        self.policy = np.array(self.pairs.ptr[:-1])
        self.chosen: tuple[int, int] | None = None  # state and pair decided, not yet played
        self._pair_ptr = np.array(self.pairs.ptr)
        self._others = self._class_mates()
        self._own_rewards = self.part.own_rewards

    def _class_mates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(ptr, pairs) of each class, and (ptr, states) of the profiles; each pair alone where nothing is given."""
        M = self.pairs.n_pairs
        if not self.part.needs:
            nothing = np.zeros(M + 1, np.int64)
            return np.arange(M + 1), np.arange(M), nothing, np.zeros(0, np.int32)
        classes, profiles = self.given.classes, self.given.profiles
        assert classes is not None
        assert profiles is not None
        order = np.argsort(classes.label, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(classes.sizes)])
        return ptr, order, np.array(profiles.ptr), np.array(profiles.succ)

    def decide(self, state: int) -> Stretch:
        """The best pair by its value, ties at random, or any with a small chance; for one step."""
        self.test_structure()
        if self.chosen is None or self.chosen[0] != state:
            first, last = self.pairs.ptr[state], self.pairs.ptr[state + 1]
            own = self.q[first:last]
            best = np.flatnonzero(own >= own.max())
            pair = first + best[int(self.rng.random() * len(best))]
            if self.rng.random() < self.part.explore:
                pair = first + int(self.rng.random() * (last - first))
            self.chosen = state, int(pair)
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
        self._teach(pair, reward, successor)

    def start_from(self, seen: Snapshot) -> None:
        """Take over counts; values are the fixed point of the update with their frequencies, 1 where nothing was seen.

        The order of the steps, on which Q-learning depends, is not in the counts.
        """
        super().start_from(seen)
        known = estimate(seen)
        if self.given.classes is not None and self.given.profiles is not None and self.given.tie is not None:
            groups = Grouping(self.given.classes.label.copy(), self.given.classes.n_classes)
            known = pool_known(seen, groups, self.given.profiles, self.given.tie, pool_rewards=not self._own_rewards)
        there = seen.visits > 0 if self._own_rewards else known.samples > 0
        self.n, row = np.where(there, known.samples, 0).astype(np.int64), owners(known.rows.ptr)
        change, discount = 1.0, self.part.discount
        while change > FIXED:
            best = np.maximum.reduceat(self.q, self.pairs.ptr[:-1])
            after = np.bincount(row, weights=known.rows.prob * best[known.rows.succ], minlength=len(self.q))
            values = np.where(there, (1.0 - discount) * known.r_hat + discount * after, 1.0)
            change, self.q = float(np.abs(values - self.q).max()), values
        self.policy = self.best_pairs()

    def best_pairs(self) -> np.ndarray:
        """(S,) the pair of the largest value in each state, of equals the first."""
        ptr = self.pairs.ptr.tolist()
        return np.array([first + int(np.argmax(self.q[first:last])) for first, last in pairwise(ptr)])

    def _teach(self, pair: int, reward: float, successor: int) -> None:
        label = pair if self.given.classes is None else int(self.given.classes.label[pair])
        own = self.part.discount, self.part.power
        paid = (self.counts.r_sum, self.counts.visits) if self._own_rewards else (NO_SUMS, NO_VISITS)
        teach_class(pair, label, reward, successor, own, self._others, self._pair_ptr, (self.q, self.n), paid)
        first, last = self.pairs.ptr[self.pairs.state[pair]], self.pairs.ptr[self.pairs.state[pair] + 1]
        self.policy[self.pairs.state[pair]] = first + int(np.argmax(self.q[first:last]))  # no longer what was tried
        self.chosen = None

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
        chosen = state.values["chosen"]
        if chosen is not None:
            s, k = (int(number) for number in chosen)
            if not 0 <= s < self.pairs.n_states or not ptr[s] <= k < ptr[s + 1]:
                raise ValueError("the pair decided is not one of its state")
            self.chosen = s, k


class QBeliefs(CountedBeliefs):
    agent: QLearner
    has_policy: ClassVar[bool] = True

    def action_values(self, state: int) -> ActionValues:
        ptr = self.agent.pairs.ptr
        return ActionValues(self.agent.q[ptr[state] : ptr[state + 1]].copy(), "value per step")

    def measures(self) -> Mapping[str, float]:
        given = self.agent.given
        return {"n_classes": given.classes.n_classes if given.classes else self.agent.pairs.n_pairs}

    def greedy_policy(self) -> np.ndarray:
        return self.agent.pairs.action[self.agent.best_pairs()]


@kernel
def teach_class(
    pair: int, label: int, reward: float, successor: int, own: tuple[float, float],
    others: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], pair_ptr: np.ndarray,
    values: tuple[np.ndarray, np.ndarray], paid: tuple[np.ndarray, np.ndarray],
) -> None:  # fmt: skip
    """One step for every pair of a class: each with the successor that stands where that of ``pair`` stands.

    ``own``: the discount, and the rate of step sizes or 0. ``paid``: sums of rewards and visits by pair, where each
    learns with its own mean and those never played learn nothing; or empty.
    """
    discount, rate = own
    class_ptr, members, profile_ptr, profile_succ = others
    q, n = values
    r_sum, visits = paid
    place = 0
    while len(profile_succ) > 0 and profile_succ[profile_ptr[pair] + place] != successor:
        place += 1
    for i in range(class_ptr[label], class_ptr[label + 1]):
        k, x, gain = members[i], successor, reward
        if len(visits) > 0:
            if visits[k] == 0:
                continue
            gain = r_sum[k] / visits[k]
        if len(profile_succ) > 0:
            x = profile_succ[profile_ptr[k] + place]
        best = -np.inf
        for j in range(pair_ptr[x], pair_ptr[x + 1]):
            best = max(best, q[j])
        n[k] += 1
        step = n[k] ** (-rate) if rate > 0.0 else 1.0 / (1.0 + (1.0 - discount) * n[k])
        q[k] += step * ((1.0 - discount) * gain + discount * best - q[k])
