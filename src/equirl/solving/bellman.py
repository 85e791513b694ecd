"""Sweeps over a known MDP: the Bellman operator, damped value iteration, the improvement step of policy iteration.

T u (s) = max over the pairs k of s of reward[k] + gamma sum_x p(x | k) u(x), gamma being 1 for average reward.
All kernels take the MDP as one :class:`Model`: pairs of state s in ``pair_ptr[s]:pair_ptr[s + 1]``, successors of pair
k in ``row_ptr[k]:row_ptr[k + 1]``. Its index arrays are unsigned, which spares a test for negative indices per access.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.compiling import kernel

Index = int | np.uint64


class Model(NamedTuple):
    """An MDP of n states and m pairs as flat arrays, for kernels."""

    pair_ptr: np.ndarray  # (n + 1,) uint64
    row_ptr: np.ndarray  # (m + 1,) uint64
    succ: np.ndarray  # (nnz,) uint32
    prob: np.ndarray  # (nnz,) float64
    reward: np.ndarray  # (m,) float64
    defect: float  # how far from 1 a row sums at most


class StopRule(NamedTuple):
    """When damped value iteration ends, and how it steps."""

    damping: float  # u <- u + damping (T u - u)
    accuracy: float  # asked of half the bracket, rounding included
    rounding: float  # error of a sweep, relative to 1 + max |u|
    max_sweeps: int


class Ties(NamedTuple):
    """Differences up to which the improvement step takes two gains, or two values, for equal."""

    gain: float
    value: float


@kernel
def mean_value(model: Model, k: Index, u: np.ndarray) -> float:
    """Sum over x of p(x | k) u(x)."""
    total = 0.0
    for j in range(model.row_ptr[k], model.row_ptr[k + np.uint64(1)]):
        total += model.prob[j] * u[model.succ[j]]
    return total


@kernel
def bellman(model: Model, discount: float, u: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """out = T u; returns the smallest and the largest of T u - u."""
    pair_ptr, row_ptr, succ, prob, reward, _ = model
    one, k, j = np.uint64(1), np.uint64(0), np.uint64(0)
    low, high = np.inf, -np.inf
    for s in range(np.uint64(len(u))):
        top = -np.inf
        last = pair_ptr[s + one]
        while k < last:  # pairs and entries are read once each, in order
            end = row_ptr[k + one]
            total = 0.0
            while j < end:
                total += prob[j] * u[succ[j]]
                j += one
            q = reward[k] + discount * total
            if q > top:
                top = q
            k += one
        out[s] = top
        change = top - u[s]
        if change < low:
            low = change
        if change > high:
            high = change
    return low, high


@kernel
def greedy(model: Model, discount: float, u: np.ndarray, best: np.ndarray) -> None:
    """``best``: the first pair of each state that attains T u."""
    for s in range(np.uint64(len(u))):
        top = -np.inf
        for k in range(model.pair_ptr[s], model.pair_ptr[s + np.uint64(1)]):
            q = model.reward[k] + discount * mean_value(model, k, u)
            if q > top:
                top = q
                best[s] = k


@kernel
def relax(model: Model, u: np.ndarray, rule: StopRule) -> tuple[int, float, float]:
    """Damped sweeps of ``u`` until half the bracket and rounding meet the accuracy, or only rounding is left.

    Returns the number of sweeps and the smallest and largest of T u - u at the end.
    """
    out, n, bound = np.empty(len(u)), 0, _size(u)  # bound >= the size of u, which is looked up only near the end
    while True:
        low, high = bellman(model, 1.0, u, out)
        n += 1
        half, centre = (high - low) / 2, (low + high) / 2
        if half <= rule.accuracy or half <= 2 * rule.rounding * (1 + bound) or n >= rule.max_sweeps:
            bound = _size(u)
            noise = rule.rounding * (1 + bound)
            if half + noise <= rule.accuracy or half <= noise or n >= rule.max_sweeps:
                return n, low, high
        for s in range(len(u)):
            u[s] += rule.damping * (out[s] - u[s] - centre)
        bound += rule.damping * half


@kernel
def _size(u: np.ndarray) -> float:
    """The largest |u|."""
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
