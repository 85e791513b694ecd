"""Quantiles of Beta(a, b), so that what is drawn with them depends on no library's version.

With p = a / (a + b), q = b / (a + b) and d(a) the rest of Stirling's formula,

    x^a (1 - x)^b / B(a, b) = sqrt(a q / (2 pi)) exp(a l(x / p - 1) + b l((1 - x) / q - 1) + d(a + b) - d(a) - d(b)),

where l(w) = log(1 + w) - w: no large numbers cancel. The distribution function is that times a continued fraction
(DLMF 8.17.22), which is short where a or b is moderate; else it is the integral of the density in units of the standard
deviation (double exponential quadrature). Newton's method on the logarithm of the smaller tail finds the quantile.
"""

from __future__ import annotations

import math

import numpy as np

from equirl.numerics.compiling import lean_kernel

MODERATE = 3000.0  # up to this smaller parameter the continued fraction is short
MOST_STEPS = 100  # of Newton's method, which needs some five
TINY = 1e-300


@lean_kernel
def stirling_rest(a: float) -> float:
    """log Gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2; its series where a is large, and from there by recurrence."""
    shift = 0.0
    if a < 10.0:
        first, product = a, 1.0
        while a < 10.0:
            product *= a
            a += 1.0
        shift = (a - 0.5) * math.log(a) - a - math.log(product) - (first - 0.5) * math.log(first) + first
    y = 1.0 / a
    z = y * y
    rest = 1.0 / 1188.0 - z * (691.0 / 360360.0 - z / 156.0)
    return shift + y * (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * rest))))


@lean_kernel
def log1p_rest(w: float) -> float:
    """log(1 + w) - w, without cancellation where w is small."""
    if abs(w) > 0.1:
        return math.log1p(w) - w
    total = 0.0
    for n in range(18, 1, -1):
        total = 1.0 / n - w * total
    return -w * w * total


@lean_kernel
def log_scale(a: float, b: float) -> float:
    """log of x^a (1 - x)^b / B(a, b) at the mean."""
    rest = stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b)
    return 0.5 * math.log(a * (b / (a + b)) / (2.0 * math.pi)) + rest


@lean_kernel
def log_power(a: float, b: float, x: float) -> float:
    """log of x^a (1 - x)^b / B(a, b) less its value at the mean."""
    p, q = a / (a + b), b / (a + b)
    low, high = (x - p) / p, (p - x) / q
    first = log1p_rest(low) if low > -0.5 else math.log(x / p) - low
    last = log1p_rest(high) if high > -0.5 else math.log((1.0 - x) / q) - high
    return a * first + b * last


@lean_kernel
def fraction(a: float, b: float, x: float) -> float:
    """a I_x(a, b) / (x^a (1 - x)^b / B(a, b)) by its continued fraction (Lentz), for x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > TINY else TINY)
    value, m = d, 0.0
    while True:
        m += 1.0
        step = 1.0
        for odd in range(2):
            if odd:
                term = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
            else:
                term = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > TINY else TINY)
            c = 1.0 + term / c
            c = c if abs(c) > TINY else TINY
            step = c * d
            value *= step
        if abs(step - 1.0) < 1e-16 or m > 1e5:
            return value


@lean_kernel
def lower_quantile(a: float, b: float, log_u: float, most: float, log_most: float) -> float:
    """The x at which log I_x(a, b) = log_u, no larger than ``most``, at which it is ``log_most``."""
    constant = log_scale(a, b) - math.log(a) - log_u
    x = most * math.exp((log_u - log_most) / a)
    low, high = 0.0, most
    for _ in range(MOST_STEPS):
        if x < TINY:
            return x
        rest = fraction(a, b, x)
        excess = log_power(a, b, x) + math.log(rest) + constant
        if excess > 0.0:
            high = x
        else:
            low = x
        step = excess * rest * (1.0 - x) / a  # the slope in log x is x times density over I_x
        new = x * math.exp(-step)
        x = new if low <= new <= high else 0.5 * (low + high)
        if abs(excess) < 1e-8:  # what is left is its square
            break
    return x


@lean_kernel
def log_density_rest(a: float, b: float, z: float) -> float:
    """log of the density at z standard deviations above the mean, but for its constant; minus infinity above 1."""
    up, down = z * math.sqrt(b / (a + b) / a), -z * math.sqrt(a / (a + b) / b)
    if down <= -1.0:
        return -np.inf
    return (a - 1.0) * log1p_rest(up) + (b - 1.0) * log1p_rest(down) - up - down


@lean_kernel
def mills_ratio(a: float, b: float, z: float) -> float:
    """The mass above z standard deviations over the mean, divided by the density there (per standard deviation)."""
    here, total = log_density_rest(a, b, z), 0.0
    for i in range(-64, 73):
        s = i / 16.0
        inward = math.exp(-s)
        t = math.exp(s - inward) / (1.0 + max(z, 0.0))
        total += t * (1.0 + inward) * math.exp(log_density_rest(a, b, z + t) - here)
    return total / 16.0


@lean_kernel
def upper_deviation(a: float, b: float, log_u: float) -> float:
    """How many standard deviations above the mean a mass of exp(log_u), at most 1/2, begins; a and b are large."""
    constant = stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b) - 0.5 * math.log(2.0 * math.pi)
    t = math.sqrt(-2.0 * log_u)  # that of the normal distribution, to three digits: Abramowitz and Stegun 26.2.23
    z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    for _ in range(MOST_STEPS):
        ratio = mills_ratio(a, b, z)
        step = (log_density_rest(a, b, z) + constant + math.log(ratio) - log_u) * ratio
        z += step
        if abs(step) < 1e-8:
            break
    return z


@lean_kernel
def beta_quantile(a: float, b: float, u: float) -> float:
    """The x at which the distribution function of Beta(a, b) is u, to some 1e-14 of x or of 1 - x."""
    if u <= 0.0:
        return 0.0
    if min(a, b) > MODERATE:
        deviation = math.sqrt(a / (a + b) * (b / (a + b)) / (a + b))
        if u <= 0.5:
            return a / (a + b) - deviation * upper_deviation(b, a, math.log(u))
        return a / (a + b) + deviation * upper_deviation(a, b, math.log1p(-u))
    split = (a + 1.0) / (a + b + 2.0)
    log_split = log_scale(a, b) + log_power(a, b, split) + math.log(fraction(a, b, split)) - math.log(a)
    if math.log(u) <= log_split:
        return lower_quantile(a, b, math.log(u), split, log_split)
    return 1.0 - lower_quantile(b, a, math.log1p(-u), 1.0 - split, math.log(-math.expm1(log_split)))


@lean_kernel
def beta_reward(m: float, concentration: float, u: float) -> float:
    """The quantile of Beta(m k, (1 - m) k), with concentration k; m itself where it is 0 (or nearly) or 1."""
    a, b = m * concentration, (1.0 - m) * concentration
    if not TINY < m < 1.0:
        return m
    if min(a, b) > TINY:
        return beta_quantile(a, b, u)
    return 0.0 if u < 1.0 - m else 1.0  # all mass is at 0 and 1


@lean_kernel
def beta_quantiles(mean: np.ndarray, concentration: float, u: np.ndarray) -> None:
    """Put the reward of :func:`beta_reward` in place of each mean."""
    for i in range(len(mean)):
        mean[i] = beta_reward(mean[i], concentration, u[i])
