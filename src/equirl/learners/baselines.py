"""Two baselines that learn nothing: one plays at random, one plays an optimal policy it is given."""

from __future__ import annotations

import copy

import numpy as np

from equirl.learners.beliefs import GivenBeliefs
from equirl.learners.contract import CountingLearner, State, Stretch, step_limits
from equirl.learners.recipes import Blueprint
from equirl.model.mdp import TabularMDP
from equirl.solving.optimal_gain import solve

AHEAD = 1 << 15  # steps whose actions are drawn ahead


class FixedLearner(CountingLearner):
    """Plays one policy for ever, or actions drawn uniformly where there is none."""

    def __init__(self, blueprint: Blueprint, mdp: TabularMDP | None = None) -> None:
        super().__init__(blueprint)
        self.policy = None if mdp is None else solve(mdp).policy_pair
        self.rng = np.random.default_rng(blueprint.seed.spawn(1)[0])
        self.episode_starts.append(1)

    def decide(self, state: int) -> Stretch:
        """The policy for ever, or draws for the steps to come; only those of steps played are used up."""
        if self.policy is not None:
            return Stretch(self.policy, step_limits())
        return Stretch(np.zeros(0, np.int64), step_limits(AHEAD), copy.deepcopy(self.rng).random(AHEAD))

    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        super().record(path, rewards, final)
        if self.policy is None:
            self.rng.random(len(path))

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        super().record_step(pair, reward, successor)
        if self.policy is None:
            self.rng.random()

    @property
    def beliefs(self) -> GivenBeliefs:
        return GivenBeliefs(self)

    def state(self) -> State:
        arrays, values = super().state()
        if self.policy is not None:
            arrays["policy"] = self.policy
        return State(arrays, values | {"coins": self.rng.bit_generator.state, "fixed": self.policy is not None})

    def restore(self, state: State) -> None:
        super().restore(state)
        self.policy = state.arrays.get("policy")
        if self.policy is None and state.values["fixed"]:
            raise ValueError("the policy is missing")
        self.rng.bit_generator.state = state.values["coins"]
