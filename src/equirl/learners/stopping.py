"""When an episode ends: the doubling rule of the paper, and a thrifty form of it for problems with many pairs.

The doubling rule fires before a step whose pair (or class) has been played max(1, N) times in the episode, N its
visits at the start. With M pairs that is up to M log2(T/M) episodes: on large problems a new plan for nearly every
new pair, and nearly all time goes into planning. With a finite ``effort`` the plan is played on for ``w`` more steps,
w being the look-ups that it cost (in full sweeps and clustering) divided by ``effort``: planning then takes time in
proportion to playing, whatever M is. On small problems plans are cheap, w is a few steps and hardly anything changes;
on large ones new pairs are learned in batches. In the regret analysis an episode gives a pair at most N + w visits
instead of N: w visits once more while N < w, a number that does not grow with time, and at most twice as many after
that, so the bound keeps its order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.core.compiling import kernel
from equirl.learners.settings import Settings

UNLIMITED = np.iinfo(np.int64).max // 2


class Budget(NamedTuple):
    """Visits left before the rule fires, by pair and by class; changed in place as the episode goes."""

    pair_left: np.ndarray  # (M,) int64
    class_left: np.ndarray  # (C,) int64
    grace: np.ndarray  # (2,) int64: steps to play on once the rule has fired, and whether it has


@kernel
def rule_fires(pair: int, group: int, pair_left: np.ndarray, class_left: np.ndarray, grace: np.ndarray) -> bool:
    """Whether the episode ends before ``pair`` is played."""
    if pair_left[pair] <= 0 or class_left[group] <= 0:
        grace[1] = 1
    return grace[1] == 1 and grace[0] <= 0


@kernel
def spend(pair: int, group: int, pair_left: np.ndarray, class_left: np.ndarray, grace: np.ndarray) -> None:
    """Take one visit of ``pair`` off the budgets."""
    pair_left[pair] -= 1
    class_left[group] -= 1
    grace[0] -= grace[1]


def make_budget(settings: Settings, work: float, visits: np.ndarray, label: np.ndarray, n_classes: int) -> Budget:
    """The budgets of an episode that starts with these visits, its plan having cost ``work`` look-ups."""
    pair_left, class_left = np.full(len(visits), UNLIMITED), np.full(n_classes, UNLIMITED)
    if settings.stopping != "class":
        pair_left = np.maximum(1, visits)
    if settings.stopping != "pair":
        class_visits = np.zeros(n_classes, np.int64)
        np.add.at(class_visits, label, visits)
        class_left = np.maximum(1, class_visits)
    return Budget(pair_left, class_left, np.array([int(min(work / settings.effort, UNLIMITED)), 0], np.int64))
