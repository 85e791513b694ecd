"""Means in [0, 1] from their empirical variance, uniformly over time: what is paid for sure is soon known.

For y >= -1 and 0 <= l < 1, ``exp(l y - psi(l) y^2) <= 1 + l y`` with ``psi(l) = -log(1 - l) - l`` (Fan, Grama and Liu
2015). So with y = mu - r the products over the rewards r seen are a supermartingale, mixed over l_j = 2^-j 0.58 with
weights 1 / ((j + 1)(j + 2)) as well, and by Ville's inequality, with probability 1 - d, for all n and all j

    l D - psi(l) (V + D^2) <= log((j + 1)(j + 2) / d) / n,        D = mu - r_hat, V the empirical variance.

Whatever D up to 1 violates the inequality of one j is ruled out above its lesser root (the greater one is beyond 1,
since l >= 2 psi(l) up to 0.58), so D is at most the least of these roots: about ``sqrt(2 V L / n)`` where rewards vary
and ``1.7 L / n`` where they do not, L the logarithm above.
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
