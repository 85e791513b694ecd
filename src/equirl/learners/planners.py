"""Planner: how the optimistic policy is found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equirl.learners.parts import Planner
from equirl.planning.optimistic_planning import ModelSet, Plan, extended_value_iteration
from equirl.words.checking import choice, flag, inside, real_number, whole_number

ACTION_TIES = ("random", "first")
MOST_THREADS = 1024
POLICY_SWEEPS = 10  # cheap sweeps between full ones under warm_start


def discount_up_to_one(discount: float) -> float:
    """A discount in (0, 1]; 1 is the average reward."""
    number = real_number("discount", discount)
    return number if number == 1 else inside("discount", discount)


@dataclass(frozen=True)
class OptimisticPlanner(Planner):
    """Extended value iteration."""

    action_ties: str = "random"
    warm_start: bool = False
    max_sweeps: int = 10**5
    threads: int = 1  # that share each sweep; no bit of the result depends on it
    discount: float = 1.0  # below 1: rewards to come are discounted; 1: the average reward

    def __post_init__(self) -> None:
        discount_up_to_one(self.discount)
        choice("action_ties", self.action_ties, ACTION_TIES)
        flag("warm_start", self.warm_start)
        whole_number("max_sweeps", self.max_sweeps)
        whole_number("threads", self.threads, most=MOST_THREADS)

    def plan(
        self, pair_ptr: np.ndarray, models: ModelSet, accuracy: float, rng: np.random.Generator, last: Plan | None
    ) -> Plan:
        return extended_value_iteration(
            pair_ptr, models, accuracy,
            coin=rng.random(len(pair_ptr) - 1) if self.action_ties == "random" else None,
            start=last.bias if self.warm_start and last is not None else None,
            policy_sweeps=POLICY_SWEEPS if self.warm_start else 0,
            max_sweeps=self.max_sweeps, threads=self.threads, discount=self.discount,
        )  # fmt: skip


@dataclass(frozen=True)
class SupportPlanner(OptimisticPlanner):
    """Extended value iteration on growing supports, which choose anew in every sweep and may so run in circles.

    After ``support_sweeps`` sweeps without an end the supports are given up: the whole intervals are planned in, which
    is at least as optimistic and always ends.
    """

    warm_start: bool = True
    support_sweeps: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("support_sweeps", self.support_sweeps)

    def plan(
        self, pair_ptr: np.ndarray, models: ModelSet, accuracy: float, rng: np.random.Generator, last: Plan | None
    ) -> Plan:
        """Plan with growing supports, then, should that not end, without."""
        first = replace(self, max_sweeps=min(self.support_sweeps, self.max_sweeps))
        found = OptimisticPlanner.plan(first, pair_ptr, models, accuracy, rng, last)
        if found.converged:
            return found
        rest = replace(self, warm_start=True)
        after = OptimisticPlanner.plan(rest, pair_ptr, models.without_supports(), accuracy, rng, found)
        return after._replace(n_sweeps=found.n_sweeps + after.n_sweeps)
