"""IMED-RL: no episodes; before every step the pair of least index is chosen (Pesquerel and Maillard 2022).

For ergodic worlds. Pooling is offered where classes and profiles are both given: pooled counts are then samples of one
distribution, and n(c) stands for the visits of a pair. Estimated classes would put samples of other distributions
behind an index whose very meaning is how unlikely they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import check_in_profile
from equirl.estimation.pooling import Grouping, estimate, pool_known
from equirl.learners.answers import ActionValues, PairBelief, own_belief
from equirl.learners.contract import CountingLearner, State, Stretch, step_limits
from equirl.learners.greedy import greedy_pairs
from equirl.learners.imed_index import CountedRows, empirical_bias, indices, skeleton
from equirl.learners.recipes import Blueprint
from equirl.learners.structures import Problem
from equirl.words.checking import between, flag, whole_number


@dataclass(frozen=True)
class OwnIndices:
    """Indices from each pair's own counts.

    ``prior``: weight of one more sample of every pair, which pays 1/2 and leads anywhere; with 0, the index as
    published, far states of a long river are never reached. ``binary``: rewards are read as 0 or 1 with the mean seen;
    otherwise as always equal to it. ``max_sweeps``: of value iteration per step.
    """

    prior: float = 1.0
    binary: bool = True
    max_sweeps: int = 20
    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        between("prior", self.prior, most=1e6)
        flag("binary", self.binary)
        whole_number("max_sweeps", self.max_sweeps)

    def rows(self, seen: Snapshot, problem: Problem) -> CountedRows:
        """The empirical MDP."""
        r_hat = np.divide(seen.r_sum, seen.visits, out=np.zeros(len(seen.visits)), where=seen.visits > 0)
        return self._counted(seen.ptr, seen.succ, seen.count.astype(float), seen.visits.astype(float), r_hat, problem)

    def _counted(
        self, ptr: np.ndarray, succ: np.ndarray, count: np.ndarray, visits: np.ndarray, r_hat: np.ndarray,
        problem: Problem,
    ) -> CountedRows:  # fmt: skip
        binary = np.full(len(visits), self.binary)
        pair_ptr = np.array(problem.pairs.ptr)
        return CountedRows(pair_ptr, np.array(ptr), np.array(succ), count, visits, r_hat, binary, float(self.prior))


@dataclass(frozen=True)
class ClassIndices(OwnIndices):
    """Indices from counts pooled over given classes, through given profiles."""

    needs: ClassVar[tuple[str, ...]] = ("classes", "profiles")

    def rows(self, seen: Snapshot, problem: Problem) -> CountedRows:
        """The empirical MDP of pooled counts: every pair has its class's."""
        given = problem.given
        assert given.classes is not None
        assert given.profiles is not None
        assert given.tie is not None
        groups = Grouping(given.classes.label.copy(), given.classes.n_classes)
        pooled = pool_known(seen, groups, given.profiles, given.tie, pool_rewards=True)
        visits = pooled.samples.astype(float)
        count = pooled.prob * np.repeat(visits, np.diff(pooled.ptr))
        return self._counted(pooled.ptr, pooled.succ, count, visits, pooled.r_hat, problem)


class ImedLearner(CountingLearner):
    """A learner that plays the pair of least index. Make one with ``equirl.make_agent``."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        (self.part,) = blueprint.settings.parts
        self.problem = Problem(self.pairs, self.given, math.nan, True)
        self.tie_rng = np.random.default_rng(blueprint.seed)
        self.bias = np.zeros(self.pairs.n_states)
        self.policy = np.zeros(self.pairs.n_states, np.int64)
        self.chosen: tuple[int, int] | None = None  # state and pair decided, not yet played

    def decide(self, state: int) -> Stretch:
        """The pair of least index in ``state``, for one step; asked again before it is played, the same."""
        self.watch_statement()
        if self.chosen is None or self.chosen[0] != state:
            self.chosen = state, self._choose(state)
        self.policy[state] = self.chosen[1]
        return Stretch(self.policy, step_limits(1))

    def _choose(self, state: int) -> int:
        index = self._indices(state, self.bias)
        least = np.flatnonzero(index <= index.min())
        return int(self.pairs.ptr[state] + least[int(self.tie_rng.random() * len(least))])

    def _indices(self, state: int, bias: np.ndarray) -> np.ndarray:
        """The index of each action in a state; ``bias`` is brought up to date in place."""
        rows = self.part.rows(self.counts.snapshot(), self.problem)
        keep = np.zeros(self.pairs.n_pairs, np.bool_)
        skeleton(rows.pair_ptr, rows.visits, keep)
        empirical_bias(rows, keep, 1 / math.sqrt(self.t), self.part.max_sweeps, bias)
        index = np.empty(self.pairs.ptr[state + 1] - self.pairs.ptr[state])
        indices(rows, keep, state, bias, 1.0 + bias.max(), index)
        return index

    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        """Count the steps of a path."""
        super().record(path, rewards, final)
        self.chosen = None

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        """Count one step."""
        super().record_step(pair, reward, successor)
        self.chosen = None

    def check_successor(self, pair: int, successor: int) -> None:
        """An error where the profiles given leave the successor out."""
        check_in_profile(self.given, self.pairs, pair, successor)

    def pair_belief(self, pair: int) -> PairBelief:
        """Frequencies alone."""
        return own_belief(self.counts.snapshot(), pair)

    def action_values(self, state: int) -> ActionValues:
        """The index of each action."""
        return ActionValues(self._indices(state, self.bias.copy()), "index", of_rewards=False, least=True)

    def measures(self) -> Mapping[str, float]:
        """The classes whose counts are pooled, or one per pair."""
        return {"n_classes": self.given.classes.n_classes if self.given.classes else self.pairs.n_pairs}

    def greedy_policy(self) -> np.ndarray:
        """The best policy of each pair's own estimates as they are now: (S,) action ids."""
        return self.pairs.action[greedy_pairs(self.pairs, estimate(self.counts.snapshot()))]

    def state(self) -> State:
        """Counts, the bias, what was decided and not yet played, the generator."""
        arrays, values = super().state()
        arrays["index_bias"] = self.bias
        return State(arrays, values | {"chosen": self.chosen, "tie_rng": self.tie_rng.bit_generator.state})

    def restore(self, state: State) -> None:
        """Go on from a state."""
        super().restore(state)
        bias = state.arrays["index_bias"]
        if bias.shape != self.bias.shape or not np.isfinite(bias).all():
            raise ValueError("the bias does not fit the learner")
        self.bias, self.tie_rng.bit_generator.state = bias.copy(), state.values["tie_rng"]
        chosen = state.values["chosen"]
        if chosen is not None:
            s, k = (int(number) for number in chosen)
            if not 0 <= s < self.pairs.n_states or not self.pairs.ptr[s] <= k < self.pairs.ptr[s + 1]:
                raise ValueError("the pair decided is not one of its state")
            self.chosen = s, k
