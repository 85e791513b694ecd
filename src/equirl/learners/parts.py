"""What each kind of part takes and returns: whatever has these members can take its place in a learner.

A *part* is a frozen dataclass; its fields are settings and its ``__post_init__`` checks them. One that inherits its
kind need only say what differs.
"""

from __future__ import annotations

import math
from dataclasses import Field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from equirl.clustering.clusters import Rules
from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import Given
from equirl.estimation.pooling import Estimates, Grouping
from equirl.learners.contract import Limits
from equirl.model.pairs import Pairs
from equirl.numerics.portions import Portions
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import ModelSet, Plan
from equirl.posterior.reward_priors import RewardSampler
from equirl.posterior.row_priors import RowSampler

if TYPE_CHECKING:
    from equirl.learners.imed import CountedRows
    from equirl.learners.recipes import Settings

AUTO = "auto"  # a setting that the part decides once it sees what is given
NESTED = "nested"  # means pooled over classes of both, transition probabilities over coarser ones of their own


class Known(NamedTuple):
    """By what a setting that is "auto" is decided."""

    pairs: Pairs
    given: Given


class Problem(NamedTuple):
    """What parts know of the learner they belong to."""

    pairs: Pairs
    given: Given
    delta: float  # risk
    pool_rewards: bool  # whether pairs of one class share their mean reward
    share_rewards: bool = False  # whether pairs that pay alike bound each other's mean reward

    def means(self, groups: Grouping) -> Grouping | None:
        """The pairs that share their mean reward: of the groups, or of classes given for it; None: each has its own."""
        finer = self.given.reward_classes
        if self.pool_rewards:
            return groups
        return None if finer is None else Grouping.of(finer)

    def n_means(self, n_classes: int) -> int:
        """How many mean rewards are learned where this many classes are pooled."""
        finer = self.given.reward_classes
        if self.pool_rewards:
            return n_classes
        return self.pairs.n_pairs if finer is None else finer.n_classes


class Shares(NamedTuple):
    """In how many parts the risk goes, for sets of transition probabilities and for those of means.

    ``weighted``: the radius of a class's transition probabilities is its members', weighted by visits.
    """

    transitions: int
    mean: int
    weighted: bool = False


class Evidence(NamedTuple):
    """What a set of models encloses."""

    seen: Snapshot
    groups: Grouping
    estimates: Estimates
    shares: Shares
    t: int


@runtime_checkable
class Part(Protocol):
    """What a part says of itself; of a dataclass without these, nothing is needed and it looks for nothing."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def needs(self) -> tuple[str, ...]:
        """What it must be given: "classes", "profiles", "mean_rewards"."""
        return ()

    @property
    def looks_for_classes(self) -> bool:
        """Whether it finds out by itself which pairs are alike."""
        return False


@runtime_checkable
class DependentPart(Part, Protocol):
    """A part whose settings may depend on those of other parts, or on what is given."""

    def resolved(self, settings: Settings, known: Known | None) -> Self:
        """The part with its settings that are "auto" decided, as far as they can be before anything is known."""
        return self

    def check_with(self, settings: Settings) -> None:
        """An error where its settings do not go with those of other parts."""
        return


@runtime_checkable
class Structure(DependentPart, Protocol):
    """Which pairs are pooled, and how the risk is shared out among their sets."""

    @property
    def clusters(self) -> bool:
        """Whether ApproxEquivalence forms the groups."""
        return False

    @property
    def draws_priority(self) -> bool:
        """Whether ties of the clustering are broken at random."""
        return False

    def rules(self, problem: Problem) -> Rules | None:
        """What the clustering goes by, made once."""
        return None

    def groups(self, seen: Snapshot, problem: Problem, rules: Rules | None, priority: np.ndarray | None) -> Grouping:
        """The pairs to pool, from what was seen."""
        ...

    def shares(self, n_classes: int, problem: Problem) -> Shares:
        """How many events the risk is shared by."""
        ...


@runtime_checkable
class Estimate(DependentPart, Protocol):
    """How counts become estimates."""

    @property
    def pool_rewards(self) -> bool:
        """Whether pairs of one class share their mean reward."""
        return False

    @property
    def share_rewards(self) -> bool:
        """Whether pairs that pay alike bound each other's mean reward."""
        return False

    @property
    def own_rewards(self) -> bool | None:
        """Whether mean rewards are learned from fewer visits than a class's; None as long as that is not decided."""
        return True

    def estimate(self, seen: Snapshot, groups: Grouping, problem: Problem) -> Estimates: ...


@runtime_checkable
class Models(DependentPart, Protocol):
    """Which MDPs are plausible around the estimates."""

    @property
    def delta(self) -> float:
        """The risk that the truth is not among them."""
        return math.nan

    @property
    def quick_rewards(self) -> bool:
        """Whether a sure reward is known within some visits, by its variance."""
        return False

    def enclose(self, evidence: Evidence, problem: Problem) -> ModelSet: ...


@runtime_checkable
class Planner(Part, Protocol):
    """How the best policy of the best plausible MDP is found."""

    @property
    def discount(self) -> float:
        """Of rewards to come; 1 is the average reward."""
        return 1.0

    def plan(
        self, pair_ptr: np.ndarray, models: ModelSet, accuracy: float, rng: np.random.Generator, last: Plan | None
    ) -> Plan:
        """Plan in a set of models, ties between actions broken with ``rng``; ``last`` is the plan before."""
        ...


@runtime_checkable
class Stopping(DependentPart, Protocol):
    """When an episode ends."""

    @property
    def effort(self) -> float:
        """Look-ups of planning allowed per step played."""
        return math.inf

    def limits(self, visits: np.ndarray, groups: Grouping, work: float) -> Limits:
        """The limits of an episode that starts with these visits, its plan having cost ``work`` look-ups."""
        ...


@runtime_checkable
class RowPrior(Part, Protocol):
    """The prior of transition probabilities."""

    def row_sampler(self, pairs: Pairs, given: Given) -> RowSampler: ...


@runtime_checkable
class RewardPrior(Part, Protocol):
    """The prior of mean rewards."""

    def reward_sampler(self, pairs: Pairs, given: Given) -> RewardSampler: ...


class DrawnProblem(NamedTuple):
    """What there is to plan in a drawn MDP."""

    state: int  # from which on
    pair_ptr: np.ndarray
    model: ExactModel
    accuracy: float  # of the criterion
    bias: np.ndarray  # of the plan before
    share: float = 1.0  # of the pairs: those that changed since then


@runtime_checkable
class DrawnPlanning(Part, Protocol):
    """How the best policy of a drawn MDP is found."""

    @property
    def discount(self) -> float:
        """Of rewards to come; 1 is the average reward."""
        return 1.0

    @property
    def staying(self) -> float:
        """With what probability every pair of the MDP to plan in stays put, so that sweeps converge."""
        return 0.0

    def portions(self, problem: DrawnProblem, rng: np.ndarray, in_portions: bool) -> Portions[Plan]:
        """Plan, all at once or ``in_portions`` that can be paused between."""
        ...


@runtime_checkable
class Lengths(Part, Protocol):
    """How long an episode lasts for which one MDP was drawn."""

    @property
    def budget(self) -> float:
        """Look-ups allowed per call of ``decide``."""
        return math.inf

    def limits(self, visits: np.ndarray, t: int, last_length: int, work: float) -> Limits:
        """The limits of an episode that starts at t with these visits, after ``work`` look-ups."""
        ...


@runtime_checkable
class Indices(Part, Protocol):
    """What the index of a pair is computed from."""

    @property
    def max_sweeps(self) -> int:
        """Of value iteration per step."""
        return 1

    def rows(self, seen: Snapshot, problem: Problem) -> CountedRows: ...


@runtime_checkable
class Steps(DependentPart, Protocol):
    """Whom a step of Q-learning teaches, and how much."""

    @property
    def discount(self) -> float:
        """Of rewards to come, below 1."""
        ...

    @property
    def explore(self) -> float:
        """The chance of an action at random."""
        ...

    @property
    def power(self) -> float:
        """Step sizes n^(-power); 0: 1 / (1 + (1 - discount) n)."""
        ...

    @property
    def own_rewards(self) -> bool:
        """Whether each pair of a class learns with the mean of its own rewards."""
        return False
