"""Settings of the optimistic learners: keywords in, one validated dataclass out."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from equirl.clustering.approx_equivalence import MERGE_RULES, NEARNESS, RADII, check_balance
from equirl.core.checking import above, choice, flag, inside, whole_number

CHOICES: dict[str, tuple[str, ...]] = {
    "structure": ("none", "profiles", "classes", "estimated"),
    "bounds": ("laplace", "jaksch"),
    "rewards": ("per_class", "per_pair", "known"),
    "ties": ("support", "optimistic", "index", "quicksort"),
    "action_ties": ("random", "first"),
    "merge_rule": MERGE_RULES,
    "nearest_by": NEARNESS,
    "radius": RADII,
    "pooling": ("balanced", "class"),
    "stopping": ("pair", "class", "either"),
    "priority": ("random", "index"),
}


@dataclass(frozen=True)
class Settings:
    """What makes one optimistic learner differ from another (SPEC section 7)."""

    structure: str = "none"  # what is known of the classes: nothing, classes and profiles, classes, or estimated
    bounds: str = "laplace"
    delta: float = 0.05
    balance: float = 4.0  # alpha
    rewards: str = "per_pair"
    ties: str = "support"
    action_ties: str = "random"
    merge_rule: str = "balanced"
    nearest_by: str = "law"
    radius: str = "pooled"
    pooling: str = "balanced"
    stopping: str = "pair"
    priority: str = "random"
    effort: float = math.inf  # look-ups of planning allowed per step; inf: plan whenever the doubling rule fires
    warm_start: bool = False
    max_sweeps: int = 10**5
    threads: int = 1  # that share each sweep of planning; no bit of the result depends on it

    def __post_init__(self) -> None:
        for key, choices in CHOICES.items():
            choice(f"value of {key}", getattr(self, key), choices)
        inside("delta", self.delta)
        check_balance(self.balance)
        above("effort", self.effort, 0, "plans whenever the rule fires")
        if self.nearest_by == "law_and_mean" and self.rewards != "per_class":
            raise ValueError(
                f"nearest_by='law_and_mean' compares means: it needs rewards='per_class', not {self.rewards!r}"
            )
        flag("warm_start", self.warm_start)
        for key in ("max_sweeps", "threads"):
            whole_number(key, getattr(self, key))

    @property
    def clusters(self) -> bool:
        """Whether ApproxEquivalence forms the groups that are pooled."""
        return self.structure == "estimated" or (self.structure == "classes" and self.pooling == "balanced")

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain values."""
        return asdict(self)
