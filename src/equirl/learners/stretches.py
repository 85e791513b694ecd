"""Stretches: what a learner has decided to play for some steps, and what ends it.

Simulation plays a stretch in one compiled loop; a learner that is driven step by step spends the same limits one by
one. So both end a stretch before the same step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.compiling import inlined, lean_kernel

UNLIMITED = np.iinfo(np.int64).max // 2


OVERDRAFT = 4  # the steps that must still be played, over this: by how much a pair may exceed its own limit


class Limits(NamedTuple):
    """What ends a stretch: visits left by pair and by group of pairs, and steps left. Spent as the stretch goes.

    A stretch ends *before* a step that would exceed one of them, but not before ``grace[0]`` steps are played; a pair
    may exceed its own limit by a quarter of those still to be played, then it ends all the same.
    """

    label: np.ndarray  # (M,) int64: the group of each pair; empty where there are no limits by pair and group
    pair_left: np.ndarray  # (M,) int64
    group_left: np.ndarray  # (groups,) int64
    grace: np.ndarray  # (2,) int64: steps to play whatever limit is reached, and whether one is
    steps: np.ndarray  # (1,) int64


class Stretch(NamedTuple):
    """What to do until the limits end it: a pair per state or, where ``coins`` are given, one drawn per step."""

    policy: np.ndarray  # (S,) int64; not read where there are coins
    limits: Limits
    coins: np.ndarray = np.zeros(0)  # uniform numbers in [0, 1), one per step: play uniformly at random


def step_limits(steps: int = UNLIMITED) -> Limits:
    """Nothing but a number of steps ends the stretch."""
    none = np.zeros(0, np.int64)
    return Limits(none, none, none, np.zeros(2, np.int64), np.array([steps], np.int64))


@lean_kernel
def is_over(pair: int, limits: Limits) -> bool:
    """Whether the stretch ends before ``pair`` is played."""
    if limits.steps[0] <= 0 or (
        len(limits.label) > 0 and (limits.pair_left[pair] <= 0 or limits.group_left[limits.label[pair]] <= 0)
    ):
        limits.grace[1] = 1
    if limits.grace[1] == 0:
        return False
    overdrawn = -limits.pair_left[pair] if len(limits.label) > 0 else 0
    return limits.grace[0] <= 0 or overdrawn > limits.grace[0] // OVERDRAFT


@lean_kernel
def spend(pair: int, limits: Limits) -> None:
    """Take one visit of ``pair`` off the limits."""
    limits.steps[0] -= 1
    if len(limits.label) > 0:
        limits.pair_left[pair] -= 1
        limits.group_left[limits.label[pair]] -= 1
    limits.grace[0] -= 1


@lean_kernel
def spend_path(path: np.ndarray, limits: Limits) -> None:
    """Take the visits of a path off the limits, noting on the way when they are reached."""
    for i in range(len(path)):
        is_over(path[i], limits)
        spend(path[i], limits)


@inlined
def pair_played(stretch: Stretch, pair_ptr: np.ndarray, state: int, step: int) -> int:
    """The pair that a stretch plays in ``state`` at its ``step``-th step."""
    if len(stretch.coins) == 0:
        return stretch.policy[state]
    return pair_ptr[state] + int(stretch.coins[step] * (pair_ptr[state + 1] - pair_ptr[state]))
