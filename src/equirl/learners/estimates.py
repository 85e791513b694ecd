"""Estimate: how counts become estimates. Each pair on its own, or pooled over groups and read back to pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import PLACEMENTS, Estimates, Grouping, Placement, estimate, pool, pool_given
from equirl.learners.parts import AUTO, NESTED, Estimate, Known, Models, Problem, Structure
from equirl.words.checking import choice

if TYPE_CHECKING:
    from equirl.learners.recipes import Settings

REWARDS = ("per_class", "per_pair", "shared", "known")

# Whether rewards are set apart from transition probabilities: see sets_rewards_apart
MUCH_FINER = 4  # times as many classes of transition probabilities and rewards as of the former alone
SOON = 6  # largest S C / M at which pooled probabilities are soon learned
OWN = 0.9  # share of classes of both among pairs from which rewards are what takes time


def sets_rewards_apart(known: Known, quick_rewards: bool = False) -> bool:
    """Whether transition probabilities are pooled over classes of their own, coarser than those with rewards.

    Of machines that wear alike and earn differently, classes of both pool nearly nothing. They are set apart where they
    are much finer; where the coarser ones are soon learned (a radius of about sqrt(2 S log 2 / n) is below 1 after
    eight visits to each pair; else what is pooled pays late); and where not nearly every pair pays an amount of its
    own, for then all depends on trying every pair. With ``quick_rewards``: where they are finer and not soon learned.
    """
    if known.given.transition_classes is None or known.given.classes is None:
        return False
    coarser, both = known.given.transition_classes.n_classes, known.given.classes.n_classes
    S, M = known.pairs.n_states, known.pairs.n_pairs
    if quick_rewards:
        return coarser < both and S * both > SOON * M
    return S * coarser <= SOON * M and MUCH_FINER * coarser <= both < OWN * M


@dataclass(frozen=True)
class RewardModel(Estimate):
    """Mean rewards: pooled over classes (nested: finer ones), by pair, shared by pairs that pay alike, or known.

    "shared", not as in posterior sampling: each pair keeps its own estimate, and others bound how far it may be off.
    """

    rewards: str = "per_pair"
    choices: ClassVar[tuple[str, ...]] = REWARDS

    def __post_init__(self) -> None:
        choice("rewards", self.rewards, self.choices)

    @property
    def pool_rewards(self) -> bool:
        return self.rewards == "per_class"

    @property
    def share_rewards(self) -> bool:
        return self.rewards == "shared"

    @property
    def own_rewards(self) -> bool | None:
        return None if self.rewards == AUTO else self.rewards in ("per_pair", "shared", NESTED)

    def check_with(self, settings: Settings) -> None:
        if self.share_rewards and not settings.part(Models).quick_rewards:
            raise ValueError(
                "rewards='shared' needs reward_bound='variance', which learners with Laplace bounds have (mbie, "
                "ucrl2-l, c-ucrl and their relatives); rewards='per_pair' works with any bound"
            )

    @property
    def needs(self) -> tuple[str, ...]:
        return {"known": ("mean_rewards",), NESTED: ("reward_classes",)}.get(self.rewards, ())


@dataclass(frozen=True)
class ClassRewardModel(RewardModel):
    """Mean rewards where classes may be given: "auto" decides by them; "per_class" where they are of one kind."""

    choices: ClassVar[tuple[str, ...]] = (AUTO, *REWARDS)
    apart: ClassVar[str] = "per_pair"  # what "auto" is where classes of transition probabilities alone are pooled

    def check_with(self, settings: Settings) -> None:
        super().check_with(settings)
        if self.rewards == AUTO and "classes" not in settings.part(Structure).needs:
            raise ValueError("rewards='auto' decides by the classes given, and none are given; choose how to keep them")

    def resolved(self, settings: Settings, known: Known | None) -> Self:
        if self.rewards != AUTO or known is None:
            return self
        quick = settings.part(Models).quick_rewards
        apart = "shared" if quick else self.apart
        return replace(self, rewards=apart if sets_rewards_apart(known, quick) else "per_class")


@dataclass(frozen=True)
class OwnEstimate(RewardModel):
    """Each pair from its own counts."""

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        return estimate(seen)


@dataclass(frozen=True)
class GivenProfilePool(ClassRewardModel):
    """Pooled over classes, through the profiles given.

    Where "auto" sets rewards apart they are nested: each quantity is pooled over the coarsest classes given for it.
    Without profiles that does worse than rewards by pair (docs/learners.md, "What given classes decide").
    """

    rewards: str = AUTO
    choices: ClassVar[tuple[str, ...]] = (AUTO, NESTED, *REWARDS)
    apart: ClassVar[str] = NESTED

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        """Equation 4 of the paper."""
        given = problem.given
        assert given.profiles is not None
        assert given.tie is not None
        return pool_given(seen, groups, given.profiles, given.tie, means=problem.means(groups))


@dataclass(frozen=True)
class EmpiricalPool(ClassRewardModel):
    """Pooled over groups, through the empirical profiles; ``ties`` places mass beyond the observed successors."""

    ties: str = "support"
    placements: ClassVar[dict[str, Placement]] = PLACEMENTS

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("ties", self.ties, self.placements)

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        """Equation 7 of the paper."""
        place = self.placements[self.ties]
        return pool(seen, groups, problem.pairs.n_states, place=place, means=problem.means(groups))
