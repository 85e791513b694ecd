"""Starting from counts instead of from nothing, such as those of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equirl.estimation.counts import Counts, Snapshot
from equirl.numerics.arrays import owners

if TYPE_CHECKING:
    from equirl.learners.contract import CountingLearner


def take_over(learner: CountingLearner, seen: Snapshot) -> None:
    """Give a new learner counts, as if it had recorded these steps; an error where they do not fit it."""
    if learner.t != 1:
        raise ValueError(f"{learner!r} has learned already; only a new learner starts from counts")
    if len(seen.visits) != learner.pairs.n_pairs:
        raise ValueError(f"the counts are of {len(seen.visits)} pairs; {learner.name!r} has {learner.pairs.n_pairs}")
    if learner.given.profiles is not None:
        for pair, successor in zip(owners(seen.ptr).tolist(), seen.succ.tolist(), strict=True):
            learner.check_successor(pair, successor)
    learner.counts = Counts.restore(seen)
    learner.t = 1 + int(seen.visits.sum())
