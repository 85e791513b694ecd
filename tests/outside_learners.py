"""Three learners written outside the package: another set of models, a drawn MDP, and one that decides step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import equirl as eq
from equirl.learners import (
    CountedBeliefs,
    ModelSetPart,
    NoStructure,
    OptimisticLearner,
    OptimisticPlanner,
    OwnEstimate,
    PairDoubling,
    step_limits,
)
from equirl.numerics import inlined, lean_kernel
from equirl.planning import Solver, iterate, sweep_states

# --- another set of models: what was seen is right with weight 1 - w, and anything may happen with weight w


class Contaminated(NamedTuple):
    ptr: np.ndarray
    succ: np.ndarray
    prob: np.ndarray
    weight: np.ndarray  # (M,) w
    reward: np.ndarray

    @property
    def r_lower(self):
        return self.reward

    @property
    def r_upper(self):
        return self.reward

    @property
    def n_entries(self):
        return len(self.succ)

    def prepare(self):
        return Solver(iterate_contaminated, sweep_contaminated), self

    def widths(self):
        return 2 * self.weight

    def row_bounds(self, pair):
        lower = (1.0 - self.weight[pair]) * self.prob[self.ptr[pair] : self.ptr[pair + 1]]
        return lower, lower + self.weight[pair], float(self.weight[pair])


@inlined
def contaminated_maximum(models, k, work, u_max):
    value = 0.0
    for i in range(models.ptr[k], models.ptr[k + 1]):
        value += models.prob[i] * work.u[models.succ[i]]
    return (1.0 - models.weight[k]) * value + models.weight[k] * u_max


@lean_kernel
def sweep_contaminated(choices, models, work, stop, u_max, shift):
    return sweep_states(contaminated_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def iterate_contaminated(choices, models, work, stop):
    return iterate(sweep_contaminated, sweep_contaminated, choices, models, work, stop)


@dataclass(frozen=True)
class Contamination(ModelSetPart):
    """A part with a setting of its own."""

    trust: float = 0.3

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.trust <= 1:
            raise ValueError(f"trust must be between 0 and 1, not {self.trust!r}")

    def enclose(self, evidence, problem):
        estimates = evidence.estimates
        weight = np.minimum(1.0, 1 / np.sqrt(1 + self.trust * estimates.samples))
        reward = np.where(estimates.samples > 0, np.minimum(1.0, estimates.r_hat + weight), 1.0)
        return Contaminated(*estimates.rows, weight, reward)


# --- a drawn MDP: Dirichlet rows, Beta means


@dataclass(frozen=True)
class Prior:
    strength: float = 0.1


class DrawingBeliefs(CountedBeliefs):
    def measures(self):
        return {"pairs_tried": int((self.counts.visits > 0).sum())}


class Drawing(eq.CountingLearner):
    def __init__(self, blueprint):
        super().__init__(blueprint)
        self.rng = np.random.default_rng(blueprint.seed)
        self.policy = None

    def decide(self, state):
        if self.policy is None or eq.is_over(self.policy[state], self.limits):
            self._draw()
        return eq.Stretch(self.policy, self.limits)

    def _draw(self):
        pairs, seen = self.pairs, self.counts.snapshot()
        S, M = pairs.n_states, pairs.n_pairs
        weight = np.full((M, S), self.settings.strength)
        weight[np.repeat(np.arange(M), np.diff(seen.ptr)), seen.succ] += seen.count
        rows = np.array([self.rng.dirichlet(row) for row in weight])
        means = self.rng.beta(1 + seen.r_sum, 1 + seen.visits - seen.r_sum)
        ptr, succ = np.arange(M + 1) * S, np.tile(np.arange(S, dtype=np.int32), M)
        model = eq.ExactModel(eq.Rows(ptr, succ, rows.ravel()), np.zeros(M), means, pairs.state.copy(), 0.1)
        self.policy = eq.extended_value_iteration(pairs.ptr, model, 1e-2, max_sweeps=1000).policy
        self.limits = eq.pair_limits(np.maximum(1, seen.visits))
        self.episode_starts.append(self.t)

    @property
    def beliefs(self):
        return DrawingBeliefs(self)

    def state(self):
        arrays, values = super().state()
        if self.policy is not None:
            arrays["policy"] = self.policy
        return eq.State(arrays, values | {"rng": self.rng.bit_generator.state})

    def restore(self, state):
        super().restore(state)
        self.policy = state.arrays.get("policy")
        self.rng.bit_generator.state = state.values["rng"]


# --- one that decides step by step: Q-learning with a little chance


@dataclass(frozen=True)
class Chance:
    explore: float = 0.1


class StepByStep(eq.Learner):
    def __init__(self, blueprint):
        super().__init__(blueprint)
        self.rng = np.random.default_rng(blueprint.seed)
        self.q, self.chosen = np.ones(self.pairs.n_pairs), None

    def decide(self, state):
        if self.chosen is None:
            first, last = self.pairs.ptr[state], self.pairs.ptr[state + 1]
            best = int(first + np.argmax(self.q[first:last]))
            self.chosen = int(self.rng.integers(first, last)) if self.rng.random() < self.settings.explore else best
        policy = np.zeros(self.pairs.n_states, np.int64)
        policy[state] = self.chosen
        return eq.Stretch(policy, step_limits(1))

    def record(self, path, rewards, final):
        for i, (k, reward) in enumerate(zip(path, rewards, strict=True)):
            x = self.pairs.state[path[i + 1]] if i + 1 < len(path) else final
            ahead = self.q[self.pairs.ptr[x] : self.pairs.ptr[x + 1]].max()
            self.q[k] += 0.1 * (reward + 0.9 * ahead - self.q[k])
        self.t += len(path)
        self.chosen = None

    def state(self):
        return eq.State({"q": self.q}, {"rng": self.rng.bit_generator.state, "chosen": self.chosen})

    def restore(self, state):
        self.q, self.chosen = state.arrays["q"].copy(), state.values["chosen"]
        self.rng.bit_generator.state = state.values["rng"]


OUTSIDE = ("toy-contaminated", "toy-drawing", "toy-steps")
eq.register_learner(
    "toy-contaminated",
    eq.Recipe(
        "optimism with another set of models",
        OptimisticLearner,
        (NoStructure(), OwnEstimate(), Contamination(), OptimisticPlanner(), PairDoubling()),
    ),
)
eq.register_learner("toy-drawing", eq.Recipe("draws its MDP", Drawing, (Prior(),)))
eq.register_learner("toy-steps", eq.Recipe("decides step by step", StepByStep, (Chance(),)))
