"""When an episode ends: the doubling rule of the paper, and a thrifty form of it for problems with many pairs.

The doubling rule ends an episode before a step whose pair (or class) has been played max(1, N) times in it, N its
visits at the start. With M pairs that is up to M log2(T/M) episodes: on large problems a new plan for nearly every
new pair, and nearly all time goes into planning. With a finite ``effort`` a plan is played on, once the rule has
fired, until the look-ups it cost are at most ``effort`` per step played on: planning then takes time in proportion to
playing, whatever M is. On small problems plans are cheap, the wait is a few steps, and nothing changes; on large ones
new pairs are learned in batches. A pair that fired may meanwhile go on to three times its budget and no further, so
in the regret analysis ``sum_k nu_k / sqrt(N_k)`` grows from (sqrt(2) + 1) sqrt(N) to (sqrt(4) + 1) sqrt(N): a
constant factor, at worst. Such extended budgets start at the number of visits below which an optimistic reward cannot
fall under 1 whatever is seen, which adds a number per pair that does not grow with time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.agents.settings import Settings
from equirl.compiling import kernel
from equirl.confidence import hoeffding

UNLIMITED = np.iinfo(np.int64).max // 2


class Budget(NamedTuple):
    """Visits left in an episode, by pair and by class; changed in place as the episode goes."""

    pair_left: np.ndarray  # (M,) int64
    pair_more: np.ndarray  # (M,) what a pair may play beyond, if patience lasts
    class_left: np.ndarray  # (C,) int64
    class_more: np.ndarray  # (C,)
    grace: np.ndarray  # (2,) int64: steps to play on once the rule has fired, and whether it has


@kernel
def rule_fires(
    pair: int, group: int, pair_left: np.ndarray, pair_more: np.ndarray, class_left: np.ndarray,
    class_more: np.ndarray, grace: np.ndarray,
) -> bool:  # fmt: skip
    """Whether the episode ends before ``pair`` is played; where patience lasts, its budget is extended instead."""
    if grace[1] and grace[0] <= 0:
        return True
    if pair_left[pair] <= 0:
        if grace[0] <= 0 or pair_more[pair] <= 0:
            return True
        grace[1] = 1
        pair_left[pair] += pair_more[pair]
        pair_more[pair] = 0
    if class_left[group] <= 0:
        if grace[0] <= 0 or class_more[group] <= 0:
            return True
        grace[1] = 1
        class_left[group] += class_more[group]
        class_more[group] = 0
    return False


@kernel
def spend(
    pair: int, group: int, pair_left: np.ndarray, pair_more: np.ndarray, class_left: np.ndarray,
    class_more: np.ndarray, grace: np.ndarray,
) -> None:  # fmt: skip
    """Take one visit of ``pair`` off the budgets."""
    pair_left[pair] -= 1
    class_left[group] -= 1
    grace[0] -= grace[1]


def make_budget(settings: Settings, work: float, visits: np.ndarray, label: np.ndarray, n_classes: int) -> Budget:
    """The budgets of an episode that starts with these visits, its plan having cost ``work`` look-ups."""
    M, grace = len(visits), int(work / settings.effort)
    least = never_informative(settings.delta, M) if grace else 1
    pair_left, class_left = np.full(M, UNLIMITED), np.full(n_classes, UNLIMITED)
    if settings.stopping != "class":
        pair_left = np.maximum(1, visits)
    if settings.stopping != "pair":
        class_visits = np.zeros(n_classes, np.int64)
        np.add.at(class_visits, label, visits)
        class_left = np.maximum(1, class_visits)
    more = (3 * np.maximum(left, least) - left for left in (pair_left, class_left))
    return Budget(pair_left, next(more), class_left, next(more), np.array([grace, 0], np.int64))


def never_informative(delta: float, n_pairs: int) -> int:
    """The most visits after which the bound on a mean reward is still 1 whatever was paid (at least 1)."""
    log_level, n = math.log(delta) - math.log(n_pairs), 1
    while hoeffding(n + 1, log_level) >= 1:
        n += 1
    return n
