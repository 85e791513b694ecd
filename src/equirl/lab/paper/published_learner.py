"""C-UCRL as published and as programmed: the learner behind the paper's curves, and what only it needs.

*As published* are the unstated choices named in docs/definitions.md. *As programmed* adds two more that the program
behind the curves makes: the nearest neighbour by the larger of the distances of transition probabilities and of means
(``nearest_by="law_and_mean"``), and tied successors as an unstable quicksort leaves them (``ties="quicksort"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equirl.clustering import NEARNESS, Rules
from equirl.estimation import PLACEMENTS, Placement
from equirl.lab.paper.quicksort import place_by_quicksort
from equirl.learners import (
    AGENTS,
    Doubling,
    EmpiricalPool,
    EstimatedClasses,
    LaplaceBalls,
    OptimisticLearner,
    OptimisticPlanner,
    Problem,
    Recipe,
    Settings,
    clustering_rules,
)
from equirl.words.checking import choice


@dataclass(frozen=True)
class PublishedClasses(EstimatedClasses):
    """Estimated classes, nearest by distribution or by the larger of the distances of distribution and mean."""

    nearest_by: str = "law"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("nearest_by", self.nearest_by, NEARNESS)

    def check_with(self, settings: Settings) -> None:
        """An error where means are to be compared that are not pooled."""
        if self.nearest_by == "law_and_mean" and settings.rewards != "per_class":
            raise ValueError(
                f"nearest_by='law_and_mean' compares means: it needs rewards='per_class', not {settings.rewards!r}"
            )

    def rules(self, problem: Problem) -> Rules | None:
        """The rules of ApproxEquivalence."""
        return clustering_rules(self, problem, radius=self.radius, nearest_by=self.nearest_by)


@dataclass(frozen=True)
class PublishedPool(EmpiricalPool):
    """Pooled through the empirical profiles, unseen successors in an order of the program's own."""

    placements: ClassVar[dict[str, Placement]] = {**PLACEMENTS, "quicksort": place_by_quicksort}


AGENTS.add(
    "c-ucrl-published",
    Recipe(
        "C-UCRL with the unstated choices of the published program",
        OptimisticLearner,
        (
            PublishedClasses(priority="index"),
            PublishedPool("per_class", "index"),
            LaplaceBalls(),
            OptimisticPlanner(action_ties="first"),
            Doubling("class"),
        ),
    ),
)
