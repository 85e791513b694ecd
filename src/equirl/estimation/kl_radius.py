"""Radii of Kullback-Leibler balls ``KL(p_hat || p) <= radius`` around empirical distributions.

KL-UCRL (Filippi, Cappe and Garivier 2010): at time t,

    C_P / n,   C_P = S (B + log(B + 1/log t) (1 + 1/(B + 1/log t))),   B = log(2 e S log t / d)

with d = delta / (S A) the risk of one pair, so that B = log(2 e S^2 A log t / delta) as published. The factor S counts
the states that the distribution may reach.

For all n at once, and much smaller (Jonsson et al. 2020, Proposition 1; by a mixture over distributions):

    ( log(1/d) + (S - 1) log(e (1 + n / (S - 1))) ) / n.
"""

from __future__ import annotations

import math

import numpy as np

from equirl.numerics.compiling import kernel


@kernel
def filippi_constant(n_states: int, t: float, log_level: float) -> float:
    """KL-UCRL's C_P at time t (at least 2) at the risk exp(log_level) of one pair; 0 where there is one state."""
    if n_states < 2:
        return 0.0
    log_t = math.log(max(t, 2.0))
    B = 1.0 + math.log(2.0 * n_states * log_t) - log_level
    whole = B + 1.0 / log_t
    return n_states * (B + math.log(whole) * (1.0 + 1.0 / whole))


@kernel
def mixture_constant(n: float, n_states: int, log_level: float) -> float:
    """log(1/d) + (S - 1) log(e (1 + n / (S - 1))): bounds n KL(p_hat || p) for all n; 0 where there is one state."""
    if n_states < 2:
        return 0.0
    return -log_level + (n_states - 1) * (1.0 + math.log1p(n / (n_states - 1)))


@kernel
def _fill_mixture(samples: np.ndarray, n_states: int, log_level: float, out: np.ndarray) -> None:
    for k in range(len(out)):
        out[k] = mixture_constant(samples[k], n_states, log_level)


def filippi_radius(samples: np.ndarray, n_states: int, t: float, log_level: float) -> np.ndarray:
    """KL-UCRL's radius C_P / n of each distribution; inf (free) where there are no samples."""
    return _over(np.full(len(samples), filippi_constant(n_states, t, log_level)), samples, n_states)


def mixture_radius(samples: np.ndarray, n_states: int, log_level: float) -> np.ndarray:
    """The time-uniform radius (log(1/d) + (S - 1) log(e (1 + n/(S - 1)))) / n; inf where there are no samples."""
    samples = np.asarray(samples, float)
    out = np.empty(len(samples))
    _fill_mixture(samples, n_states, log_level, out)
    return _over(out, samples, n_states)


def kl_interval(p: float, radius: float) -> tuple[float, float]:
    """The least and the largest q with p log(p/q) + (1-p) log((1-p)/(1-q)) <= radius.

    In a Kullback-Leibler ball of distributions, what one probability p of its centre can become.
    """
    return 1.0 - _largest(1.0 - p, radius), _largest(p, radius)


def _largest(p: float, radius: float) -> float:
    def divergence(q: float) -> float:
        return (p * math.log(p / q) if p > 0 else 0.0) + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)

    low, high = p, 1.0
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if divergence(middle) <= radius else (low, middle)
    return high


def _over(constant: np.ndarray, samples: np.ndarray, n_states: int) -> np.ndarray:
    samples = np.asarray(samples, float)
    nothing = math.inf if n_states > 1 else 0.0
    return np.divide(constant, samples, out=np.full(len(samples), nothing), where=samples > 0)
