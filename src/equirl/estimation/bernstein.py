"""UCRL2-B's bounds: empirical Bernstein, element by element (Fruit, Pirotta and Lazaric 2020).

    |p(x) - p_hat(x)| <= 2 sqrt(p_hat (1 - p_hat) L / n) + 6 L / n,        L = log(18 n / d)

and the same for means of rewards in [0, 1] with their empirical variance. d is the risk of one pair, delta / M (so that
L = log(18 S A n / delta) as published), given as ``log_level = log(d)``.

The constants 2 and 6 spend twice the logarithm of Maurer and Pontil's inequality (sqrt 2 and 7/3). Its square pays for
all n and all S successors at once: the bounds of one distribution hold together with probability 1 - d where S d <=
100, which every d <= delta / S meets. Where classes are fewer than states, use delta / max(C, S).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from equirl.numerics.compiling import kernel


@kernel
def bernstein(variance: float, n: float, log_level: float) -> float:
    """2 sqrt(variance L / n) + 6 L / n with L = log(18 n) - log_level; 1 (free) at n = 0."""
    if n <= 0.0:
        return 1.0
    share = (math.log(18.0 * n) - log_level) / n
    return 2.0 * math.sqrt(max(variance, 0.0) * share) + 6.0 * share


@kernel
def _fill_rows(
    ptr: np.ndarray, prob: np.ndarray, samples: np.ndarray, log_level: float, lower: np.ndarray, upper: np.ndarray,
    unseen_upper: np.ndarray,
) -> None:  # fmt: skip
    for k in range(len(samples)):
        unseen_upper[k] = min(1.0, bernstein(0.0, samples[k], log_level))
        for i in range(ptr[k], ptr[k + 1]):
            p = prob[i]
            radius = bernstein(p * (1.0 - p), samples[k], log_level)
            lower[i], upper[i] = max(0.0, p - radius), min(1.0, p + radius)


@kernel
def _fill_means(variance: np.ndarray, samples: np.ndarray, log_level: float, out: np.ndarray) -> None:
    for k in range(len(out)):
        out[k] = bernstein(variance[k], samples[k], log_level)


def bernstein_intervals(
    ptr: np.ndarray, prob: np.ndarray, samples: np.ndarray, log_level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return element_wise(_fill_rows, ptr, prob, samples, log_level)


def element_wise(
    fill: Callable[..., None], ptr: np.ndarray, prob: np.ndarray, samples: np.ndarray, log_level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds of each transition probability as ``fill`` writes them: lower and upper (nnz,), and unseen_upper (M,)."""
    lower, upper, unseen_upper = np.empty(len(prob)), np.empty(len(prob)), np.empty(len(samples))
    fill(ptr, prob, np.asarray(samples, float), log_level, lower, upper, unseen_upper)
    return lower, upper, unseen_upper


def bernstein_mean_radius(variance: np.ndarray, samples: np.ndarray, log_level: float) -> np.ndarray:
    """Radius of means in [0, 1], from their empirical variance; 1 where there are no samples."""
    samples = np.asarray(samples, float)
    out = np.empty(len(samples))
    _fill_means(np.asarray(variance, float), samples, log_level, out)
    return out
