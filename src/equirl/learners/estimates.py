"""Estimate: how counts become estimates. Each pair on its own, or pooled over groups and read back to pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import PLACEMENTS, Estimates, Grouping, Placement, estimate, pool, pool_known
from equirl.learners.parts import AUTO, NESTED, Estimate, Known, Models, Problem, Structure
from equirl.words.checking import choice

if TYPE_CHECKING:
    from equirl.learners.recipes import Settings

REWARDS = ("per_class", "per_pair", "shared", "known")

# Whether rewards are kept by pair, and classes of transition probabilities alone are pooled: see keeps_rewards_by_pair
MUCH_FINER = 4  # times as many classes of transition probabilities and rewards as of the former alone
SOON = 6  # largest S C / M at which pooled probabilities are soon learned
OWN = 0.9  # share of classes of both among pairs from which rewards are what takes time


def keeps_rewards_by_pair(known: Known, quick_rewards: bool = False) -> bool:
    """Whether classes of transition probabilities with rewards by pair serve better than classes of both.

    With machines of twelve types that wear alike and earn differently, classes of both pool nearly nothing, and that is
    what a learner needs least; it would do worse than one that is given nothing. Three conditions. There are at least
    :data:`MUCH_FINER` times as many classes with rewards as without. Transition probabilities are soon learned once
    pooled: the radius of a class with n samples is about sqrt(2 S log 2 / n), so under 1 after eight visits to each
    pair where S C <= :data:`SOON` M. Where classes are small against the states, what is pooled stays vague for as long
    as rewards are unknown, and pays late. And not nearly every pair has a reward of its own (:data:`OWN`): there all
    depends on trying every pair, and a learner that knows the probabilities goes and does so at once.

    ``quick_rewards``: sure rewards are known within some visits, so that probabilities are what takes time. Then their
    classes are better wherever those with rewards are more and not soon learned themselves.
    """
    if known.given.transition_classes is None or known.given.classes is None:
        return False
    laws, both = known.given.transition_classes.n_classes, known.given.classes.n_classes
    S, M = known.pairs.n_states, known.pairs.n_pairs
    if quick_rewards:
        return laws < both and S * both > SOON * M
    return S * laws <= SOON * M and MUCH_FINER * laws <= both < OWN * M


@dataclass(frozen=True)
class RewardModel(Estimate):
    """Mean rewards: pooled over classes (nested: finer ones), by pair, shared by pairs that pay alike, or known.

    Common to all estimates. "shared" (not as in posterior sampling): each pair keeps its own estimate, and others
    bound how far it may be off.
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
        return replace(self, rewards=apart if keeps_rewards_by_pair(known, quick) else "per_class")


@dataclass(frozen=True)
class OwnEstimate(RewardModel):
    """Each pair from its own counts."""

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        return estimate(seen)


@dataclass(frozen=True)
class GivenProfilePool(ClassRewardModel):
    """Pooled over classes, through the profiles given.

    Where "auto" sets rewards apart they are nested: each quantity is pooled over the coarsest classes given for it.
    With rewards by pair, a learner that soon knows all transition probabilities goes to try every pair on purpose, and
    with three machines did worse than one that knows nothing. Without profiles (C-UCRL(C)) probabilities stay vague
    for long, and rewards known so soon made it do worse (docs/learners.md, "What given classes decide").
    """

    rewards: str = AUTO
    choices: ClassVar[tuple[str, ...]] = (AUTO, NESTED, *REWARDS)
    apart: ClassVar[str] = NESTED

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates:
        """Equation 4 of the paper."""
        given = problem.given
        assert given.profiles is not None
        assert given.tie is not None
        return pool_known(seen, groups, given.profiles, given.tie, means=problem.means(groups))


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
