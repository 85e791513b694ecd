"""Random numbers inside kernels: a generator of one number of state, and the draws that posterior sampling needs.

The state is ``rng``, an array of one uint64 (splitmix64: a counter and a mixing function), so that it is saved and
restored with a learner bit by bit, and the same on every machine. Gamma variables come as logarithms: with small
shapes they are far below what a float can hold.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from equirl.numerics.compiling import lean_kernel

LOOKED_UP = 1 << 12  # whole numbers whose log Gamma is looked up


def draw_state(seed: np.random.SeedSequence) -> np.ndarray:
    """The state of a generator that starts from a seed."""
    return seed.generate_state(1, np.uint64)


@lean_kernel
def uniform(rng: np.ndarray) -> float:
    """A number in (0, 1)."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@lean_kernel
def below(rng: np.ndarray, n: int) -> int:
    """A whole number in 0 .. n - 1."""
    return min(n - 1, int(uniform(rng) * n))


@lean_kernel
def normal(rng: np.ndarray) -> float:
    """A standard normal variable (Marsaglia's polar method)."""
    while True:
        x, y = 2.0 * uniform(rng) - 1.0, 2.0 * uniform(rng) - 1.0
        s = x * x + y * y
        if 0.0 < s < 1.0:
            return x * math.sqrt(-2.0 * math.log(s) / s)


@lean_kernel
def log_gamma_draw(rng: np.ndarray, shape: float) -> float:
    """Logarithm of a Gamma(shape, 1) variable (Marsaglia and Tsang 2000)."""
    boost = 0.0
    if shape < 1.0:
        boost = math.log(uniform(rng)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log(uniform(rng)) < 0.5 * x * x + d - d * v + d * math.log(v):
                return boost + math.log(d * v)


@lean_kernel
def beta_draw(rng: np.ndarray, a: float, b: float) -> float:
    x, y = log_gamma_draw(rng, a), log_gamma_draw(rng, b)
    return 1.0 / (1.0 + math.exp(min(700.0, y - x)))


@lean_kernel
def gamma_shares(log_gamma: np.ndarray, first: int, last: int, rest: float) -> float:
    """Gamma variables over their sum, a Dirichlet draw: ``log_gamma[first:last]`` in place, and that of ``rest``.

    All are given as logarithms; -inf is no mass.
    """
    top = rest
    for j in range(first, last):
        top = max(top, log_gamma[j])
    rest = math.exp(rest - top)
    total = rest
    for j in range(first, last):
        log_gamma[j] = math.exp(log_gamma[j] - top)
        total += log_gamma[j]
    for j in range(first, last):
        log_gamma[j] /= total
    return rest / total


@lean_kernel
def pick_share(rng: np.ndarray, weight: np.ndarray, n: int, total: float) -> int:
    """An index below n with probability ``weight / total``."""
    u, last = uniform(rng) * total, 0
    for i in range(n):
        if weight[i] > 0.0:
            last = i
            u -= weight[i]
            if u < 0.0:
                break
    return last


@lean_kernel
def pick(rng: np.ndarray, log_weight: np.ndarray, n: int) -> int:
    """An index below n with probability proportional to exp(log_weight)."""
    top = -np.inf
    for i in range(n):
        top = max(top, log_weight[i])
    total = 0.0
    for i in range(n):
        total += math.exp(log_weight[i] - top)
    u, last = uniform(rng) * total, 0
    for i in range(n):
        if log_weight[i] > -np.inf:
            last = i
            u -= math.exp(log_weight[i] - top)
            if u < 0.0:
                break
    return last


@lean_kernel
def log_rising(a: float, n: float) -> float:
    """log Gamma(a + n) - log Gamma(a); by the product where n is a small whole number."""
    if n <= 12.0 and n == math.floor(n):
        product = 1.0
        for i in range(int(n)):
            product *= a + i
        return math.log(product)
    return math.lgamma(a + n) - math.lgamma(a)


@lean_kernel
def log_seating(a: float, n: int, n_groups: int) -> float:
    """How likely concentration a makes it that n sit down in so many groups: the log of what depends on a."""
    return n_groups * math.log(a) - log_rising(a, float(n))


@lean_kernel
def draw_concentration(rng: np.ndarray, n: int, n_groups: int, grid: np.ndarray, cell: np.ndarray) -> float:
    """The concentration of a Chinese restaurant process that put n into groups: one of a grid, alike likely before."""
    for i in range(len(grid)):
        cell[i] = log_seating(grid[i], n, n_groups)
    return grid[pick(rng, cell, len(grid))]


@lean_kernel
def log_gamma_whole(n: int, known: np.ndarray) -> float:
    """log Gamma of a whole number, looked up in ``log_gammas()`` where these go so far."""
    return known[n] if n < len(known) else math.lgamma(float(n))


@cache
def log_gammas() -> np.ndarray:
    """log Gamma of 0, 1, 2, ... (0 is never asked for), not to be changed."""
    return np.array([math.inf, *map(math.lgamma, range(1, LOOKED_UP))])
