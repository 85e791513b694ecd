"""A rollout in an MDP under a fixed policy, and what it pays: the compiled inside of a stretch.

Within a stretch the policy is fixed and rewards decide nothing, so the path comes first and the rewards of its pairs
are drawn after. One uniform number per step moves the world and one more pays a random reward, each from its own
generator, so that learners can share the world's randomness step by step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.learners.contract import Limits, Stretch, is_over, pair_played, spend
from equirl.model.mdp import TabularMDP
from equirl.model.reward_laws import draw_rewards
from equirl.model.rows import Rows
from equirl.numerics.compiling import lean_kernel

BLOCK = 1 << 15  # steps per compiled call at most: bounds memory and lets Ctrl-C be heard


class Dynamics(NamedTuple):
    pair_ptr: np.ndarray  # (S + 1,)
    rows: Rows  # with probabilities summed along each row


@lean_kernel
def walk(state: int, draw: np.ndarray, world: Dynamics, stretch: Stretch, path: np.ndarray) -> tuple[int, int]:
    """Play at most ``len(draw)`` steps, until the limits of the stretch (which are spent) end it.

    Returns the number of steps played and the state reached; the pairs played are in ``path``.
    """
    for i in range(len(draw)):
        k = pair_played(stretch, world.pair_ptr, state, i)
        if is_over(k, stretch.limits):
            return i, state
        low, high = world.rows.ptr[k], world.rows.ptr[k + 1] - 1
        while low < high:
            middle = (low + high) >> 1
            if draw[i] < world.rows.prob[middle]:
                high = middle
            else:
                low = middle + 1
        spend(k, stretch.limits)
        path[i] = k
        state = int(world.rows.succ[low])
    return len(draw), state


@lean_kernel
def cumulate_rows(ptr: np.ndarray, prob: np.ndarray, out: np.ndarray) -> None:
    for k in range(len(ptr) - 1):
        total = 0.0
        for i in range(ptr[k], ptr[k + 1]):
            total += prob[i]
            out[i] = total


class Rollout:
    """An MDP being played: its state and its generators, one for moves and one for rewards."""

    def __init__(self, mdp: TabularMDP, seed: np.random.SeedSequence) -> None:
        first, moves, pay = (np.random.default_rng(child) for child in seed.spawn(3))
        self.mdp, self._moves, self._pay = mdp, moves, pay
        cumulative = np.empty(len(mdp.rows.prob))
        cumulate_rows(mdp.rows.ptr, mdp.rows.prob, cumulative)
        self.dynamics = Dynamics(mdp.pairs.ptr, mdp.rows._replace(prob=cumulative))
        start = int(np.searchsorted(np.cumsum(mdp.initial), first.random(), side="right"))
        self.state = min(start, int(np.flatnonzero(mdp.initial)[-1]))
        self._draw, self._path = np.empty(0), np.empty(BLOCK, np.int64)

    def play(self, stretch: Stretch, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Play a stretch, or what fits into a block of it and into ``most`` steps.

        The stretch is the learner's own; its limits are left as they are.
        """
        if not len(self._draw):
            self._draw = self._moves.random(BLOCK)
        draw = self._draw[:most]
        if len(stretch.coins):
            draw = draw[: len(stretch.coins)]
        label, *left = stretch.limits
        own = stretch._replace(limits=Limits(label, *(array.copy() for array in left)))
        steps, self.state = walk(self.state, draw, self.dynamics, own, self._path)
        self._draw = self._draw[steps:]
        path = self._path[:steps]
        mdp = self.mdp
        return path, draw_rewards(mdp.reward_law, mdp.r_mean[path], mdp.concentration, self._pay)
