"""The least divergence to a distribution with a larger mean: what an index, and what a lower bound on regret, must pay.

For a distribution P on (-inf, top] and a target above its mean,

    K = inf { KL(P || Q) : Q a distribution on (-inf, top], mean of Q > target }
      = max over 0 <= l <= 1 / (top - target) of E log(1 - l (X - target)),        X ~ P

(Honda and Takemura 2010). With c = top - target, y = (top - X) / c >= 0 and l = theta / c this is the maximum over
theta in [0, 1] of the concave E log(1 + theta (y - 1)). K = 0 where E y <= 1: the mean reaches the target. K = E log y
where E 1/y <= 1: theta = 1, Q has mass at the top, P none. Else theta solves E (y - 1) / (1 + theta (y - 1)) = 0.
"""

from __future__ import annotations

import math

import numpy as np

from equirl.numerics.compiling import kernel

STEPS = 200
TOLERANCE = 1e-10  # of theta; K is flat at its maximum, so its error is about the square


@kernel
def kl_inf(weight: np.ndarray, x: np.ndarray, size: int, target: float, top: float) -> float:
    """K of the distribution with masses ``weight[:size]`` at ``x[:size]``; costs O(size) times about eight.

    0 where the mean is at least the target, inf where it is not and the target is not below the top.
    """
    mean = 0.0
    for i in range(size):
        mean += weight[i] * x[i]
    if mean >= target:
        return 0.0
    c = top - target
    if c <= 0.0:
        return math.inf

    # The end theta = 1
    slope = 0.0
    for i in range(size):
        if weight[i] > 0.0:
            y = (top - x[i]) / c
            slope += weight[i] * (1.0 - 1.0 / y) if y > 0.0 else -math.inf
    theta = 1.0 if slope >= 0.0 else _stationary(weight, x, size, target, c)
    total = 0.0
    for i in range(size):
        if weight[i] > 0.0:
            total += weight[i] * math.log1p(theta * (target - x[i]) / c)
    return max(total, 0.0)


@kernel
def _stationary(weight: np.ndarray, x: np.ndarray, size: int, target: float, c: float) -> float:
    """theta in (0, 1) where the derivative E z / (1 + theta z) vanishes, z = y - 1: Newton, halving where it leaves."""
    low, high, theta = 0.0, 1.0, 0.5
    for _ in range(STEPS):
        slope, curve = 0.0, 0.0
        for i in range(size):
            if weight[i] > 0.0:
                z = (target - x[i]) / c
                share = z / (1.0 + theta * z)
                slope += weight[i] * share
                curve -= weight[i] * share * share
        if slope > 0.0:
            low = theta
        else:
            high = theta
        new = theta - slope / curve if curve < 0.0 else low
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - theta) <= TOLERANCE * min(theta, 1.0 - theta):
            return new
        theta = new
    return theta
