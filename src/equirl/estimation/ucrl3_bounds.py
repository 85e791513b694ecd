"""UCRL3's bounds (Bourel, Maillard and Talebi 2020), time-uniform, at the risk ``d`` of one inequality.

With eta = 1.12 and ``l_n = eta log( log(eta n) log(eta^2 n) / (d log^2 eta) )`` (peeling):

- mean rewards: r_hat + min( sqrt(2 V l / n) + 7 l / (3 n), sqrt((1 + 1/n) log(sqrt(n + 1) / d) / (2 n)) ), at most 1;
- each transition probability q: |q - p_hat| <= sqrt(2 q (1 - q) l / n) + l / (3 n)                    (Bernstein)
  and <= sqrt(2 g(q) (1 + 1/n) log(2 sqrt(n + 1) / d) / n)                                           (sub-Gaussian)

with g(q) = (1/2 - q) / log(1/q - 1), the variance proxy of a Bernoulli distribution; above p_hat, q (1 - q) replaces g
from 1/2 on. Both hold on an interval around p_hat (the right sides are concave in q): the ends of the first are roots
of a quadratic, those of the second are found by Newton's steps from outside, so that rounding never cuts the interval.

A pair has 3 inequalities for its mean and 3 for each successor: d = delta / (M (3 + 3 S)) as ``log_level = log(d)``.
"""

from __future__ import annotations

import math

import numpy as np

from equirl.estimation.bernstein import element_wise
from equirl.estimation.confidence import hoeffding
from equirl.numerics.compiling import kernel

ETA = 1.12
LOG_ETA = math.log(ETA)
WIDTH = 1e-13  # of the bracket, or of a step, at which the search for an end stops


def ucrl3_log_level(delta: float, n_rows: int, n_states: int) -> float:
    """log(delta / (n_rows (3 + 3 S))): the risk of one of UCRL3's inequalities, ``n_rows`` pairs or classes."""
    return math.log(delta) - math.log(n_rows) - math.log(3.0 + 3.0 * n_states)


@kernel
def peeled_log(n: float, log_level: float) -> float:
    """l_n for n >= 1 samples."""
    log_n = math.log(max(n, 1.0))
    iterated = math.log(LOG_ETA + log_n) + math.log(2.0 * LOG_ETA + log_n) - 2.0 * math.log(LOG_ETA)
    return ETA * (iterated - log_level)


@kernel
def bernoulli_proxy(q: float) -> float:
    """g(q) = (1/2 - q) / log(1/q - 1): 0 at 0 and 1, 1/4 at 1/2."""
    if q <= 0.0 or q >= 1.0:
        return 0.0
    x = 1.0 - 2.0 * q
    if abs(x) < 1e-4:
        return 0.25 * (1.0 - x * x / 3.0)  # log((1 + x) / (1 - x)) = 2 x (1 + x^2 / 3 + ...)
    return 0.5 * x / (math.log1p(-q) - math.log(q))


@kernel
def _quadratic_end(a: float, b: float) -> float:
    """The largest q in [0, 1] with q - b <= sqrt(a q (1 - q))."""
    if b >= 1.0:
        return 1.0
    return min(1.0, (2.0 * b + a + math.sqrt(a * a + 4.0 * a * b * (1.0 - b))) / (2.0 * (1.0 + a)))


@kernel
def bernstein_end(p_hat: float, share: float) -> float:
    """The largest q in [p_hat, 1] with q - p_hat <= sqrt(2 q (1 - q) share) + share / 3, share = l / n."""
    return _quadratic_end(2.0 * share, p_hat + share / 3.0)


@kernel
def _proxy_slope(q: float) -> float:
    """The derivative of g at q in (0, 1)."""
    x = 1.0 - 2.0 * q
    if abs(x) < 1e-4:
        return x / 3.0
    log_odds = math.log1p(-q) - math.log(q)
    return (x / (2.0 * q * (1.0 - q)) - log_odds) / (log_odds * log_odds)


@kernel
def _gauss_end(p_hat: float, outer: float, c: float) -> float:
    """The largest q in [p_hat, outer] with q - p_hat <= sqrt(c g(q)).

    The excess of the left side is convex in q, so Newton's steps from outside stay outside (up to rounding, which
    ends them); a start where g vanishes is left by halving.
    """
    if outer >= 1.0 and 1.0 - WIDTH - p_hat <= math.sqrt(c * bernoulli_proxy(1.0 - WIDTH)):
        return outer
    low, high, q, stepped = p_hat, outer, outer, False
    while high - low > WIDTH:
        root = math.sqrt(c * bernoulli_proxy(q))
        excess = q - p_hat - root
        if excess <= 0.0:
            if stepped:
                return min(high, q + WIDTH)
            low = q
        else:
            high = q
        stepped = excess > 0.0 and root > 0.0
        if stepped:
            q -= excess / (1.0 - 0.5 * c * _proxy_slope(q) / root)
            if high - q <= WIDTH:
                return high
            stepped = q > low
        if not stepped:
            q = 0.5 * (low + high)
    return high


@kernel
def _gauss_share(n: float, log_level: float) -> float:
    """c = 2 (1 + 1/n) log(2 sqrt(n + 1) / d) / n: the squared sub-Gaussian radius is c g."""
    return 2.0 * (1.0 + 1.0 / n) * (math.log(2.0) + 0.5 * math.log(n + 1.0) - log_level) / n


@kernel
def upper_end(p_hat: float, n: float, log_level: float) -> float:
    """The largest plausible q >= p_hat after n samples; 1 at n = 0."""
    if n <= 0.0:
        return 1.0
    outer, c = bernstein_end(p_hat, peeled_log(n, log_level) / n), _gauss_share(n, log_level)
    variance_end = _quadratic_end(c, p_hat)
    if variance_end >= 0.5:  # where q (1 - q) stands for g
        return min(outer, variance_end)
    return _gauss_end(p_hat, min(outer, 0.5), c)


@kernel
def lower_end(p_hat: float, n: float, log_level: float) -> float:
    """The least plausible q <= p_hat after n samples; 0 at n = 0. Both inequalities are mirrored at 1/2."""
    if n <= 0.0:
        return 0.0
    mirrored, c = 1.0 - p_hat, _gauss_share(n, log_level)
    outer = min(bernstein_end(mirrored, peeled_log(n, log_level) / n), mirrored + 0.5 * math.sqrt(c))
    return max(0.0, 1.0 - _gauss_end(mirrored, outer, c))


@kernel
def mean_upper(r_hat: float, variance: float, n: float, log_level: float) -> float:
    """Upper bound of a mean in [0, 1] after n samples with this empirical variance; 1 at n = 0."""
    if n <= 0.0:
        return 1.0
    share = peeled_log(n, log_level) / n
    radius = min(math.sqrt(2.0 * max(variance, 0.0) * share) + 7.0 * share / 3.0, hoeffding(n, log_level))
    return min(1.0, r_hat + radius)


@kernel
def _fill_rows(
    ptr: np.ndarray, prob: np.ndarray, samples: np.ndarray, log_level: float, lower: np.ndarray, upper: np.ndarray,
    unseen_upper: np.ndarray,
) -> None:  # fmt: skip
    for k in range(len(samples)):
        unseen_upper[k] = upper_end(0.0, samples[k], log_level)
        for i in range(ptr[k], ptr[k + 1]):
            p = min(prob[i], 1.0)
            lower[i], upper[i] = lower_end(p, samples[k], log_level), upper_end(p, samples[k], log_level)


@kernel
def _fill_means(
    r_hat: np.ndarray, variance: np.ndarray, samples: np.ndarray, log_level: float, out: np.ndarray
) -> None:
    for k in range(len(out)):
        out[k] = mean_upper(r_hat[k], variance[k], samples[k], log_level)


def ucrl3_intervals(
    ptr: np.ndarray, prob: np.ndarray, samples: np.ndarray, log_level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return element_wise(_fill_rows, ptr, prob, samples, log_level)


def ucrl3_mean_upper(r_hat: np.ndarray, variance: np.ndarray, samples: np.ndarray, log_level: float) -> np.ndarray:
    """(M,) upper bounds of means in [0, 1], from their empirical variance."""
    samples, r_hat = np.asarray(samples, float), np.asarray(r_hat, float)
    out = np.empty(len(samples))
    _fill_means(r_hat, np.asarray(variance, float), samples, log_level, out)
    return out
