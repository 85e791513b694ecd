"""A walk through an MDP under a fixed policy, and what it pays: the compiled inside of an episode.

Within an episode the policy is fixed and rewards decide nothing, so a walk through states comes first and the rewards
of its pairs are drawn after. One uniform number per step moves the world and one more pays a random reward, each
from its own generator, so that learners can share the world's randomness step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.core.compiling import kernel
from equirl.estimation.counts import record_successor
from equirl.learners.stopping import rule_fires, spend
from equirl.model.mdp import TabularMDP

BLOCK = 1 << 15  # steps per compiled call at most: bounds memory and lets Ctrl-C be heard
RULE_FIRED, NO_SLOT, PLAYED = 0, 1, 2


@kernel
def walk(
    state: int, draw: np.ndarray, coin: np.ndarray, pair_ptr: np.ndarray, row_ptr: np.ndarray, succ: np.ndarray,
    cumulative: np.ndarray, policy: np.ndarray, label: np.ndarray, pair_left: np.ndarray, class_left: np.ndarray,
    grace: np.ndarray, visits: np.ndarray, start: np.ndarray, size: np.ndarray, room: np.ndarray, seen: np.ndarray,
    count: np.ndarray, used: np.ndarray, path: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """Play at most ``len(draw)`` steps, until the stopping rule fires; returns steps played, state and why it ended.

    Policy: a pair per state, or where ``coin`` has numbers, uniform among the state's pairs.
    """
    for i in range(len(draw)):
        first, n = pair_ptr[state], pair_ptr[state + 1] - pair_ptr[state]
        k = policy[state] if len(coin) == 0 else first + int(coin[i] * n)
        if rule_fires(k, label[k], pair_left, class_left, grace):
            return i, state, RULE_FIRED
        low, high = row_ptr[k], row_ptr[k + 1] - 1
        while low < high:
            middle = (low + high) >> 1
            if draw[i] < cumulative[middle]:
                high = middle
            else:
                low = middle + 1
        x: Any = np.int64(succ[low])  # the type that Counts.record gives: compiled once
        if not record_successor(k, x, start, size, room, seen, count, used):
            return i, state, NO_SLOT
        visits[k] += 1
        spend(k, label[k], pair_left, class_left, grace)
        path[i] = k
        state = x
    return len(draw), state, PLAYED


@kernel
def tally(
    path: np.ndarray, paid: np.ndarray, r_mean: np.ndarray, r_sum: np.ndarray, t: int, marks: np.ndarray, mark: int,
    total: np.ndarray, reward: np.ndarray, mean_reward: np.ndarray,
) -> int:  # fmt: skip
    """Add the rewards of a path to the pairs and, in order, to the totals; note the totals at each mark passed."""
    for i in range(len(path)):
        r_sum[path[i]] += paid[i]
        total[0] += paid[i]
        total[1] += r_mean[path[i]]
        if t + i == marks[mark]:
            reward[mark], mean_reward[mark] = total[0], total[1]
            mark += 1
    return mark


@kernel
def cumulate_rows(ptr: np.ndarray, prob: np.ndarray, out: np.ndarray) -> None:
    """Cumulative probabilities, row by row."""
    for k in range(len(ptr) - 1):
        total = 0.0
        for i in range(ptr[k], ptr[k + 1]):
            total += prob[i]
            out[i] = total


class World:
    """An MDP being played: its state and its generators, one for moves and one for rewards."""

    def __init__(self, mdp: TabularMDP, seed: np.random.SeedSequence) -> None:
        first, moves, pay = (np.random.default_rng(child) for child in seed.spawn(3))
        self.mdp, self._moves, self._pay = mdp, moves, pay
        self.cumulative = np.empty(len(mdp.rows.prob))
        cumulate_rows(mdp.rows.ptr, mdp.rows.prob, self.cumulative)
        start = int(np.searchsorted(np.cumsum(mdp.initial), first.random(), side="right"))
        self.state = min(start, int(np.flatnonzero(mdp.initial)[-1]))
        self._draw = np.empty(0)

    def draws(self, limit: int) -> np.ndarray:
        """The next uniform numbers for moves: at least one, at most ``limit``, not yet used up."""
        if not len(self._draw):
            self._draw = self._moves.random(BLOCK)
        return self._draw[:limit]

    def use(self, n: int) -> None:
        """Mark n draws as used."""
        self._draw = self._draw[n:]

    def pay(self, path: np.ndarray) -> np.ndarray:
        """Rewards of the pairs of a path, drawn from their laws."""
        means = self.mdp.r_mean[path]
        if self.mdp.reward_law == "deterministic":
            return means
        uniform = self._pay.random(len(path))
        if self.mdp.reward_law == "bernoulli":
            return (uniform < means).astype(float)
        from scipy.special import betaincinv

        k = self.mdp.concentration
        inner = (means > 0) & (means < 1)
        a, b = np.where(inner, means * k, 1.0), np.where(inner, (1 - means) * k, 1.0)
        return np.where(inner, betaincinv(a, b, uniform), means)
