"""Relative value iteration for average reward, damped, with a bracket around the optimal gain.

Whatever h is, every optimal gain of a block whose gain is constant lies between min(T h - h) and max(T h - h). The
step h <- h + tau (T h - h) is the aperiodicity transform: periodic MDPs converge, and the bracket is that of the
original MDP.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.solving.bellman import StopRule, greedy, relax
from equirl.solving.chains import Block

DAMPING = 0.8
SUCCESSORS_PER_CALL = 10**9  # looked at in one compiled call, so that Ctrl-C is heard
LEAST_PER_CALL = 1000  # sweeps


class SolverLimits(NamedTuple):
    """What is asked of a solver, and what it may spend."""

    accuracy: float
    max_sweeps: int


class Answer(NamedTuple):
    """What a solver found for a block of n states."""

    low: float  # low - noise <= g* <= high + noise
    high: float
    noise: float  # what rounding may hide in the bracket
    bias: np.ndarray  # (n,)
    pair: np.ndarray  # (n,) pairs of the block that attain T bias
    n_sweeps: int
    method: str

    @property
    def accuracy(self) -> float:
        """Half the bracket, plus what rounding may hide in it."""
        return (self.high - self.low) / 2 + self.noise


def better(old: Answer, new: Answer) -> Answer:
    """The more accurate of two answers, the second found after the first."""
    return new if new.accuracy <= old.accuracy else old._replace(n_sweeps=new.n_sweeps)


def rounding_error(part: Block, u: np.ndarray) -> float:
    """What rounding may hide in T u - u."""
    return float(part.rounding * (1 + np.abs(u).max()))


def value_iteration(part: Block, u: np.ndarray, limits: SolverLimits, done: int = 0) -> Answer:
    """Sweep from ``u`` (changed in place) until the bracket is narrow enough; of the sweeps some were ``done``."""
    model, rounding = part.model, part.rounding
    at_once = max(LEAST_PER_CALL, SUCCESSORS_PER_CALL // len(part.succ))
    while True:
        cap = min(at_once, limits.max_sweeps - done)
        n, low, high = relax(model, u, StopRule(DAMPING, limits.accuracy, rounding, cap))
        done += n
        if n < cap or done >= limits.max_sweeps:
            pair = np.zeros(len(u), np.int64)
            greedy(model, 1.0, u, pair)
            return Answer(low, high, rounding_error(part, u), u.copy(), pair, done, "value")
        done -= 1  # the last sweep changed nothing: the next call makes it again
