"""Estimate: how counts become estimates. Each pair on its own, or pooled over groups and read back to pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import PLACEMENTS, Estimates, Grouping, Placement, estimate, pool, pool_known
from equirl.learners.structures import Problem
from equirl.words.checking import choice

REWARDS = ("per_class", "per_pair", "shared", "known")


@dataclass(frozen=True)
class RewardModel:
    """Mean rewards: pooled over classes, kept by pair, shared by pairs that pay alike, or known in advance.

    Common to all estimates. "shared": each pair keeps its own estimate, and others bound how far it may be off.
    """

    rewards: str = "per_pair"

    def __post_init__(self) -> None:
        choice("rewards", self.rewards, REWARDS)

    @property
    def pool_rewards(self) -> bool:
        """Whether pairs of one class share their mean reward."""
        return self.rewards == "per_class"

    @property
    def share_rewards(self) -> bool:
        """Whether pairs that pay alike bound each other's mean reward."""
        return self.rewards == "shared"

    def check_with(self, settings: Any) -> None:
        """Means are shared by their variance."""
        if self.share_rewards and settings.as_dict().get("reward_bound") != "variance":
            raise ValueError(
                "rewards='shared' needs reward_bound='variance', which learners with Laplace bounds have (mbie, "
                "ucrl2-l, c-ucrl and their relatives); rewards='per_pair' works with any bound"
            )

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be given."""
        return ("mean_rewards",) if self.rewards == "known" else ()


@dataclass(frozen=True)
class OwnEstimate(RewardModel):
    """Each pair from its own counts."""

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        """p_hat and mu_hat."""
        return estimate(seen)


@dataclass(frozen=True)
class GivenProfilePool(RewardModel):
    """Pooled over classes, through the profiles given."""

    rewards: str = "per_class"

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        """Equation 4 of the paper."""
        given = problem.given
        assert given.profiles is not None
        assert given.tie is not None
        return pool_known(seen, groups, given.profiles, given.tie, pool_rewards=self.pool_rewards)


@dataclass(frozen=True)
class EmpiricalPool(RewardModel):
    """Pooled over groups, through the empirical profiles; ``ties`` places mass beyond the observed successors."""

    ties: str = "support"
    placements: ClassVar[dict[str, Placement]] = PLACEMENTS

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("ties", self.ties, self.placements)

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        """Equation 7 of the paper."""
        place = self.placements[self.ties]
        return pool(seen, groups, problem.pairs.n_states, place=place, pool_rewards=self.pool_rewards)
