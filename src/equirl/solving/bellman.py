"""Sweeps over a known MDP: the Bellman operator, damped value iteration, the improvement step of policy iteration.

All take an MDP as flat arrays: pairs of state s in ``pair_ptr[s]:pair_ptr[s + 1]``, successors of pair k in
``row_ptr[k]:row_ptr[k + 1]``. T u (s) = max over the pairs k of s of reward[k] + sum_x p(x | k) u(x).
"""

from __future__ import annotations

import numpy as np

from equirl.core.compiling import kernel


@kernel
def _dot(succ: np.ndarray, prob: np.ndarray, first: int, last: int, u: np.ndarray) -> float:
    total = 0.0
    for j in range(first, last):
        total += prob[j] * u[succ[j]]
    return total


@kernel
def bellman(
    pair_ptr: np.ndarray, row_ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, reward: np.ndarray,
    u: np.ndarray, out: np.ndarray, best: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """out = T u, ``best`` the pairs that attain it; returns the smallest and the largest of T u - u."""
    low, high = np.inf, -np.inf
    for s in range(len(u)):
        top = -np.inf
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            q = reward[k] + _dot(succ, prob, row_ptr[k], row_ptr[k + 1], u)
            if q > top:
                top = q
                best[s] = k
        out[s] = top
        low, high = min(low, top - u[s]), max(high, top - u[s])
    return low, high


@kernel
def relax(
    pair_ptr: np.ndarray, row_ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, reward: np.ndarray,
    u: np.ndarray, best: np.ndarray, tau: float, accuracy: float, rounding: float, max_sweeps: int,
) -> tuple[int, float, float]:  # fmt: skip
    """Damped sweeps of ``u`` until half the bracket and rounding meet the accuracy, or only rounding is left."""
    out, n = np.empty(len(u)), 0
    while True:
        low, high = bellman(pair_ptr, row_ptr, succ, prob, reward, u, out, best)
        n += 1
        size = 0.0
        for s in range(len(u)):
            size = max(size, abs(u[s]))
        noise = rounding * (1 + size)
        half = (high - low) / 2
        if half + noise <= accuracy or half <= noise or n >= max_sweeps:
            return n, low, high
        centre = (low + high) / 2
        for s in range(len(u)):
            u[s] += tau * (out[s] - u[s] - centre)


@kernel
def improve(
    pair_ptr: np.ndarray, row_ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, reward: np.ndarray,
    gain: np.ndarray, bias: np.ndarray, gain_tie: float, tie: float, pair: np.ndarray,
) -> bool:  # fmt: skip
    """Change ``pair`` where another one leads to more gain or, at equal gain, to more value; whether any changed."""
    changed = False
    for s in range(len(pair)):
        top_gain = -np.inf
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            top_gain = max(top_gain, _dot(succ, prob, row_ptr[k], row_ptr[k + 1], gain))
        kept, k = pair[s], pair[s]
        if _dot(succ, prob, row_ptr[k], row_ptr[k + 1], gain) < top_gain - gain_tie:
            value = -np.inf
        else:
            value = reward[k] + _dot(succ, prob, row_ptr[k], row_ptr[k + 1], bias) + tie
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            if _dot(succ, prob, row_ptr[k], row_ptr[k + 1], gain) >= top_gain - gain_tie:
                q = reward[k] + _dot(succ, prob, row_ptr[k], row_ptr[k + 1], bias)
                if q > value:
                    value, pair[s] = q, k
        changed |= pair[s] != kept
    return changed
