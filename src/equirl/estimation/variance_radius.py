"""Means in [0, 1] from their empirical variance, uniformly over time: what is paid for sure is soon known.

For y >= -1 and 0 <= l < 1, ``exp(l y - psi(l) y^2) <= 1 + l y`` with ``psi(l) = -log(1 - l) - l`` (Fan, Grama and Liu
2015). So with y = mu - r the products over the rewards r seen are a supermartingale, mixed over l_j = 2^-j 0.58 with
weights 1 / ((j + 1)(j + 2)) as well, and by Ville's inequality, with probability 1 - d, for all n and all j

    l D - psi(l) (V + D^2) <= log((j + 1)(j + 2) / d) / n,        D = mu - r_hat, V the empirical variance.

Whatever D up to 1 violates the inequality of one j is ruled out above its lesser root (the greater one is beyond 1,
since l >= 2 psi(l) up to 0.58), so D is at most the least of these roots: about ``sqrt(2 V L / n)`` where rewards vary
and ``1.7 L / n`` where they do not, L the logarithm above.

Pairs may share their means although it is not given which. Pairs in the order of their means fall into *runs*: a pair
joins the run below it as long as the mean of the run, at its upper bound, is one that the pair's own rewards allow.
Then its mean is at most

    min( own bound at the risk of the run,  max( upper bound of the run's pooled mean,  own bound at a risk d' ) ).

Where the pairs of a run do pay alike, all bounds hold together, and what one of them was paid tells about the others;
where they do not, each pair's bound still holds with probability 1 - d'. So a pair that was never seen to pay, among
many that never pay, is given up after some visits of its own, not at its first.
"""

from __future__ import annotations

import math

import numpy as np

from equirl.estimation.confidence import hoeffding
from equirl.numerics.compiling import kernel

BOLDEST = 0.58  # l_0


@kernel
def variance_radius(variance: float, n: float, log_level: float) -> float:
    """The least root over j: upper radius of a mean in [0, 1]; at most 1 (free)."""
    least, bold, j = 1.0, BOLDEST, 0
    while bold * bold * n > -log_level:  # the best l is above sqrt(8 L / n)
        psi = -math.log1p(-bold) - bold
        share = psi * max(variance, 0.0) + (math.log((j + 1.0) * (j + 2.0)) - log_level) / n
        rest = bold * bold - 4.0 * psi * share
        if rest >= 0.0:
            least = min(least, 2.0 * share / (bold + math.sqrt(rest)))
        bold, j = bold / 2.0, j + 1
    return least


@kernel
def sharp_radius(variance: float, n: float, log_level: float) -> float:
    """The lesser of this bound and Laplace's, half the risk each; 1 (free) at n = 0."""
    half = log_level - math.log(2.0)
    return min(hoeffding(n, half), variance_radius(variance, n, half))


@kernel
def _fill(variance: np.ndarray, samples: np.ndarray, log_level: float, out: np.ndarray) -> None:
    for k in range(len(out)):
        out[k] = sharp_radius(variance[k], samples[k], log_level)


def variance_mean_radius(variance: np.ndarray, samples: np.ndarray, log_level: float) -> np.ndarray:
    """Upper radius of means in [0, 1]: the lesser of this bound and Laplace's, half the risk each; 1 if unseen."""
    samples = np.asarray(samples, float)
    out = np.empty(len(samples))
    _fill(np.asarray(variance, float), samples, log_level, out)
    return out


@kernel
def _fill_shared(
    order: np.ndarray, visits: np.ndarray, r_sum: np.ndarray, r_squares: np.ndarray, riskier: np.ndarray,
    log_level: float, out: np.ndarray,
) -> None:  # fmt: skip
    first = 0
    while first < len(order):
        n, total, squares, upper, last = 0.0, 0.0, 0.0, 1.0, first
        while last < len(order):
            k = order[last]
            if last > first and r_sum[k] / visits[k] - riskier[k] > upper:
                break
            n, total, squares, last = n + visits[k], total + r_sum[k], squares + r_squares[k], last + 1
            mean = total / n
            upper = mean + sharp_radius(squares / n - mean * mean, n, log_level)
        for i in range(first, last):
            k = order[i]
            out[k] = min(out[k], max(upper - r_sum[k] / visits[k], riskier[k]))
        first = last


def shared_mean_radius(
    visits: np.ndarray, r_sum: np.ndarray, r_squares: np.ndarray, own: np.ndarray, riskier: np.ndarray, log_level: float
) -> np.ndarray:
    """Upper radius of each pair's mean, ``own`` being its own bound at the risk of the run, ``riskier`` at d'."""
    there = np.flatnonzero(visits)
    order = there[np.lexsort((riskier[there], r_sum[there] / visits[there]))]
    out = own.copy()
    _fill_shared(order, visits, r_sum, r_squares, riskier, log_level, out)
    return out
