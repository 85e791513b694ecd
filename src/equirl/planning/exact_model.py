"""One MDP as a set of models: no radius, nothing to maximise. For drawn MDPs and greedy policies.

A row may leave some of its mass to chance: ``rest[k]`` is spread evenly over all states, at the cost of one mean of u
per sweep instead of S entries per pair. With ``stay`` every pair stays put with that probability and otherwise does
what its row says: the gain of every policy is the same, and chains are aperiodic, so that sweeps converge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.model.rows import Rows
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.planning.optimistic_planning import Choices, Solver, Stop, Work, follow, iterate, sweep_states

STAY = 0.5  # with which sweeps converge however an MDP is periodic


class ExactModel(NamedTuple):
    """Transition probabilities and mean rewards by pair."""

    rows: Rows
    rest: np.ndarray  # (M,) mass spread evenly over all states
    reward: np.ndarray  # (M,)
    state: np.ndarray  # (M,) int64: the state of each pair
    stay: float  # in [0, 1)

    @property
    def r_lower(self) -> np.ndarray:
        return self.reward

    @property
    def r_upper(self) -> np.ndarray:
        return self.reward

    @property
    def n_entries(self) -> int:
        return len(self.rows.succ)

    def prepare(self) -> tuple[Solver, ExactModel]:
        return Solver(iterate_exact, sweep_exact), self

    def restrict(self, pairs: np.ndarray) -> ExactModel:
        return ExactModel(self.rows.take(pairs), self.rest[pairs], self.reward[pairs], self.state[pairs], self.stay)

    def with_rewards(self, reward: np.ndarray) -> ExactModel:
        return self._replace(reward=reward)

    def widths(self) -> np.ndarray:
        return np.zeros(len(self.reward))

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        """The probabilities themselves, ``stay`` left out."""
        other = float(self.rest[pair]) / (int(self.state[-1]) + 1)
        own = self.rows.prob[self.rows.row(pair)] + other
        return own, own, other

    def without_supports(self) -> ExactModel:
        return self


@inlined
def expected_value(models: ExactModel, k: int, work: Work, u_mean: float) -> float:
    """p.u for pair k, u_mean being the mean of u."""
    rows, value = models.rows, models.rest[k] * u_mean
    for i in range(np.uint64(rows.ptr[k]), np.uint64(rows.ptr[k + np.uint64(1)])):
        value += rows.prob[i] * work.u[rows.succ[i]]
    return (1.0 - models.stay) * value + models.stay * work.u[models.state[k]]


@lean_kernel
def sweep_exact(
    choices: Choices, models: ExactModel, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    total = 0.0
    for s in range(len(work.u)):
        total += work.u[s]
    return sweep_states(expected_value, choices, models, work, stop, total / len(work.u), shift)


@lean_kernel
def iterate_exact(choices: Choices, models: ExactModel, work: Work, stop: Stop) -> tuple[int, float, float]:
    return iterate(sweep_exact, sweep_exact, choices, models, work, stop)


@lean_kernel
def follow_exact(
    choices: Choices, models: ExactModel, work: Work, stop: Stop, u_min: float, u_max: float
) -> tuple[float, float]:
    return follow(sweep_exact, choices, models, work, stop, u_min, u_max)
