"""Sweeps over a known MDP: the Bellman operator, damped value iteration, the improvement step of policy iteration.

T u (s) = max over the pairs k of s of reward[k] + gamma sum_x p(x | k) u(x), gamma being 1 for average reward.

Whatever h is, every optimal gain of a block whose gain is constant lies between min(T h - h) and max(T h - h). The
step h <- h + tau (T h - h) is the aperiodicity transform: periodic MDPs converge, and the bracket is that of the
original MDP.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equirl.numerics.compiling import inlined, kernel
from equirl.solving.chains import Block, Model

Index = int | np.uint64


class Aim(NamedTuple):
    """What sweeps are for, and when they end."""

    discount: float  # 1 for average reward
    damping: float  # u <- u + damping (T u - u)
    accuracy: float  # asked of half the bracket times ``weight``, rounding included
    rounding: float  # error of that, relative to 1 + max |u|
    max_sweeps: int
    weight: float = 1.0  # what half the bracket counts: gamma / (1 - gamma) for discounted values (MacQueen)
    shift: float = 0.0  # the values meant are u and so many centres of the bracket: 1 / (1 - gamma) of discounted ones


class Ties(NamedTuple):
    """Differences up to which the improvement step takes two gains, or two values, for equal."""

    gain: float
    value: float


@kernel
def mean_value(model: Model, k: Index, u: np.ndarray) -> float:
    """Sum over x of p(x | k) u(x)."""
    total = 0.0
    ptr, succ, prob = model.rows
    for j in range(ptr[k], ptr[k + np.uint64(1)]):
        total += prob[j] * u[succ[j]]
    return total


@inlined
def sweep_once(
    model: Model, discount: float, u: np.ndarray, out: np.ndarray, pair: np.ndarray, keep: bool
) -> tuple[float, float, bool]:
    """out = T u, to ``keep`` with the first ``pair`` that attains it; the bracket of T u - u; whether a pair is new."""
    pair_ptr, (row_ptr, succ, prob), reward, _ = model
    one, k, j = np.uint64(1), np.uint64(0), np.uint64(0)
    low, high, changed = np.inf, -np.inf, False
    for s in range(np.uint64(len(u))):
        top, best = -np.inf, k
        last = pair_ptr[s + one]
        while k < last:  # pairs and entries are read once each, in order
            end = row_ptr[k + one]
            total = 0.0
            while j < end:
                total += prob[j] * u[succ[j]]
                j += one
            q = reward[k] + discount * total
            if q > top:
                top, best = q, k
            k += one
        out[s] = top
        if keep:  # a constant of each kernel
            changed |= pair[s] != np.int64(best)
            pair[s] = best
        low, high = min(low, top - u[s]), max(high, top - u[s])
    return low, high, changed


@kernel
def bellman(model: Model, discount: float, u: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """out = T u; returns the smallest and the largest of T u - u."""
    low, high, _ = sweep_once(model, discount, u, out, out, False)
    return low, high


@kernel
def best_sweep(
    model: Model, discount: float, u: np.ndarray, out: np.ndarray, pair: np.ndarray
) -> tuple[float, float, bool]:
    """:func:`bellman` with the first ``pair`` of each state that attains T u, and whether any of them changed."""
    return sweep_once(model, discount, u, out, pair, True)


@kernel
def greedy(model: Model, discount: float, u: np.ndarray, best: np.ndarray) -> None:
    """``best``: the first pair of each state that attains T u."""
    sweep_once(model, discount, u, np.empty(len(u)), best, True)


@kernel
def relax(model: Model, u: np.ndarray, aim: Aim) -> tuple[int, float, float]:
    return damped_sweeps(_average_sweep, model, u, aim)


@kernel
def _average_sweep(model: Model, u: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    return bellman(model, 1.0, u, out)


@inlined
def damped_sweeps(sweep: Any, model: Any, u: np.ndarray, aim: Aim) -> tuple[int, float, float]:
    """Damped sweeps of ``u`` until half the bracket and rounding meet the accuracy, or only rounding is left.

    ``sweep(model, u, out)`` writes T u and returns the least and the largest of T u - u. Returns the number of sweeps
    and these two at the end. (Optimistic planning sweeps without damping, in a loop of its own: u + (T u - u) is not
    T u to the last bit, and its cheap sweeps and cycles have no place here.)
    """
    out, n, bound = np.empty(len(u)), 0, size_of(u)  # bound >= the size of u, which is looked up only near the end
    while True:
        low, high = sweep(model, u, out)
        n += 1
        half, centre = (high - low) / 2, (low + high) / 2
        if half <= aim.accuracy or half <= 2 * aim.rounding * (1 + bound) or n >= aim.max_sweeps:
            bound = size_of(u)
            noise = aim.rounding * (1 + bound)
            if half + noise <= aim.accuracy or half <= noise or n >= aim.max_sweeps:
                break
        for s in range(len(u)):
            u[s] += aim.damping * (out[s] - u[s] - centre)
        bound += aim.damping * half
    return n, low, high


@kernel
def size_of(u: np.ndarray) -> float:
    size = 0.0
    for s in range(len(u)):
        size = max(size, abs(u[s]))
    return size


@kernel
def improve(model: Model, gain: np.ndarray, bias: np.ndarray, ties: Ties, pair: np.ndarray) -> bool:
    """Change ``pair`` where another one leads to more gain or, at equal gain, to more value; whether any changed."""
    changed = False
    for s in range(np.uint64(len(pair))):
        first, last = model.pair_ptr[s], model.pair_ptr[s + np.uint64(1)]
        top_gain = -np.inf
        for k in range(first, last):
            top_gain = max(top_gain, mean_value(model, k, gain))
        kept = np.uint64(pair[s])
        chosen: Index = kept
        if mean_value(model, kept, gain) < top_gain - ties.gain:
            value = -np.inf
        else:
            value = model.reward[kept] + mean_value(model, kept, bias) + ties.value
        for k in range(first, last):
            if mean_value(model, k, gain) >= top_gain - ties.gain:
                q = model.reward[k] + mean_value(model, k, bias)
                if q > value:
                    value, chosen = q, k
        pair[s] = chosen
        changed |= chosen != kept
    return changed


DAMPING = 0.8
SUCCESSORS_PER_CALL = 10**9  # looked at in one compiled call, so that Ctrl-C is heard
LEAST_PER_CALL = 1000  # sweeps


class SolverLimits(NamedTuple):
    """What is asked of a solver, and what it may spend."""

    accuracy: float
    max_sweeps: int


class BlockAnswer(NamedTuple):
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
        return (self.high - self.low) / 2 + self.noise


def better(old: BlockAnswer, new: BlockAnswer) -> BlockAnswer:
    """The more accurate of two answers, the second found after the first."""
    return new if new.accuracy <= old.accuracy else old._replace(n_sweeps=new.n_sweeps)


def rounding_error(part: Block, u: np.ndarray) -> float:
    """What rounding may hide in T u - u."""
    return float(part.rounding * (1 + np.abs(u).max()))


def value_iteration(part: Block, u: np.ndarray, limits: SolverLimits, done: int = 0) -> BlockAnswer:
    """Sweep from ``u`` (changed in place) until the bracket is narrow enough; of the sweeps some were ``done``."""
    model, rounding = part.model, part.rounding
    at_once = max(LEAST_PER_CALL, SUCCESSORS_PER_CALL // len(part.rows.succ))
    while True:
        cap = min(at_once, limits.max_sweeps - done)
        n, low, high = relax(model, u, Aim(1.0, DAMPING, limits.accuracy, rounding, cap))
        done += n
        if n < cap or done >= limits.max_sweeps:
            pair = np.zeros(len(u), np.int64)
            greedy(model, 1.0, u, pair)
            return BlockAnswer(low, high, rounding_error(part, u), u.copy(), pair, done, "value")
        done -= 1  # the last sweep changed nothing: the next call makes it again
