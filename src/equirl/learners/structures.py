"""Structure: which pairs are pooled. A learner has none, is given the classes, or estimates them as it goes.

Each structure also says how the risk is shared out among its sets (docs/definitions.md, "Estimates and confidence
sets"): ``Shares.transitions`` parts of delta for the sets of transition probabilities, ``Shares.mean`` for the means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from equirl.clustering.approximate_equivalence import MERGE_RULES, RADII, check_balance, make_rules, merge_pairs
from equirl.clustering.clusters import Rules
from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import Grouping
from equirl.learners.parts import AUTO, Estimate, Known, Problem, Shares, Structure
from equirl.numerics.compiling import kernel
from equirl.words.checking import choice

if TYPE_CHECKING:
    from equirl.learners.recipes import Settings

PRIORITIES = ("random", "index")
POOLINGS = (AUTO, "balanced", "class")


@dataclass(frozen=True)
class NoStructure(Structure):
    """Every pair on its own."""

    def groups(self, seen: Snapshot, problem: Problem, rules: Rules | None, priority: np.ndarray | None) -> Grouping:
        M = len(seen.visits)
        return Grouping(np.arange(M), M)

    def shares(self, n_classes: int, problem: Problem) -> Shares:
        """delta / M for everything."""
        return Shares(problem.pairs.n_pairs, problem.pairs.n_pairs)


@dataclass(frozen=True)
class GivenProfiles(Structure):
    """Classes and profiles are given: C-UCRL(C, sigma)."""

    needs: ClassVar[tuple[str, ...]] = ("classes", "profiles")

    def groups(self, seen: Snapshot, problem: Problem, rules: Rules | None, priority: np.ndarray | None) -> Grouping:
        return given_groups(problem)

    def shares(self, n_classes: int, problem: Problem) -> Shares:
        """delta / C, and delta / M for means that are not pooled."""
        return Shares(n_classes, problem.n_means(n_classes))


@dataclass(frozen=True)
class Clustering(Structure):
    """Groups formed by ApproxEquivalence: what the two structures that use it have in common."""

    balance: float = 4.0  # alpha
    merge_rule: str = "balanced"
    priority: str = "random"

    def __post_init__(self) -> None:
        check_balance(self.balance)
        choice("merge_rule", self.merge_rule, MERGE_RULES)
        choice("priority", self.priority, PRIORITIES)


@dataclass(frozen=True)
class GivenClasses(Clustering):
    """Classes are given, profiles are not: C-UCRL(C).

    ``pooling="balanced"`` pools only groups with balanced visits inside a class, ``"class"`` the classes as they are.
    "auto" pools whole classes of transition probabilities alone, which are large and whose pairs are soon unlike in
    visits, so that balanced parts stay small; and where every class is a single pair, which leaves nothing to balance.
    """

    pooling: str = AUTO
    needs: ClassVar[tuple[str, ...]] = ("classes",)

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("pooling", self.pooling, POOLINGS)

    def resolved(self, settings: Settings, known: Known | None) -> Self:
        if self.pooling != AUTO or known is None:
            return self
        given, pools = known.given, settings.part(Estimate).resolved(settings, known).pool_rewards
        if given.transition_classes is not None and not pools:
            return replace(self, pooling="class")
        alone = given.classes is not None and given.classes.n_classes == known.pairs.n_pairs
        return replace(self, pooling="class" if alone else "balanced")

    @property
    def clusters(self) -> bool:
        return self.pooling == "balanced"

    @property
    def draws_priority(self) -> bool:
        return self.clusters and self.priority == "random"

    def rules(self, problem: Problem) -> Rules | None:
        return clustering_rules(self, problem, given=True) if self.clusters else None

    def groups(self, seen: Snapshot, problem: Problem, rules: Rules | None, priority: np.ndarray | None) -> Grouping:
        if rules is None or problem.given.classes is None:
            return given_groups(problem)
        return clustered(seen, rules, priority, problem.given.classes.label)

    def shares(self, n_classes: int, problem: Problem) -> Shares:
        """delta / 3M for balanced groups; for whole classes delta / C with radii weighted by visits."""
        M = problem.pairs.n_pairs
        if self.clusters:
            return Shares(3 * M, 3 * M)
        return Shares(n_classes, n_classes if problem.pool_rewards else M, weighted=True)


@dataclass(frozen=True)
class EstimatedClasses(Clustering):
    """Nothing is given: ApproxEquivalence estimates the classes, anew each episode as far as ``effort`` allows."""

    radius: str = "pooled"
    clusters: ClassVar[bool] = True
    looks_for_classes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("radius", self.radius, RADII)

    @property
    def draws_priority(self) -> bool:
        return self.priority == "random"

    def rules(self, problem: Problem) -> Rules | None:
        return clustering_rules(self, problem, radius=self.radius)

    def groups(self, seen: Snapshot, problem: Problem, rules: Rules | None, priority: np.ndarray | None) -> Grouping:
        assert rules is not None
        return clustered(seen, rules, priority, None)

    def shares(self, n_classes: int, problem: Problem) -> Shares:
        """delta / 3M; for the radii of the theory delta / M, weighted by visits."""
        M = problem.pairs.n_pairs
        if self.radius == "theory":
            return Shares(M, M if problem.pool_rewards else 3 * M, weighted=True)
        return Shares(3 * M, 3 * M)


def given_groups(problem: Problem) -> Grouping:
    assert problem.given.classes is not None
    return Grouping.of(problem.given.classes)


def clustering_rules(part: Clustering, problem: Problem, given: bool = False, **more: str) -> Rules:
    return make_rules(
        problem.pairs.n_pairs, problem.pairs.n_states, delta=problem.delta, balance=part.balance,
        merge_rule=part.merge_rule, means=problem.pool_rewards, given=given, **more,
    )  # fmt: skip


def clustered(seen: Snapshot, rules: Rules, priority: np.ndarray | None, given: np.ndarray | None) -> Grouping:
    """The clusters of ApproxEquivalence, numbered by first appearance."""
    M = len(seen.visits)
    priority = np.arange(M) if priority is None else priority
    leader, _ = merge_pairs(seen.visits, seen.ptr, seen.count, rules, priority, seen.r_sum, given)
    label = np.empty(M, np.int64)
    return Grouping(label, number_labels(leader, np.full(M, -1), label))


@kernel
def number_labels(leader: np.ndarray, number: np.ndarray, out: np.ndarray) -> int:
    """``numerics.arrays.number_by_appearance`` for every episode, where NumPy would take a tenth of its time.

    ``number`` starts at -1. Returns how many labels there are.
    """
    n = 0
    for k in range(len(leader)):
        if number[leader[k]] < 0:
            number[leader[k]] = n
            n += 1
        out[k] = number[leader[k]]
    return n
