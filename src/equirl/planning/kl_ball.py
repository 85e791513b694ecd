"""The best distribution in a Kullback-Leibler ball: ``max q.u`` over ``KL(p || q) <= d`` (KL-UCRL's inner maximum).

For every v >= max u, Jensen's inequality bounds ``v - q.u = sum q (v - u) >= exp(sum p log(q (v - u) / p))``, so

    q.u <= v - exp(E log(v - u) - d),        E the mean under p,

and the least such bound is attained. Its derivative in v is ``1 - exp(f(v) - d)`` with the decreasing function
f(v) = E log(v - u) + log E 1/(v - u): either ``f(max u) <= d``, then v = max u (a state never seen takes mass), or v
solves f(v) = d. Where the search for v ends early the value is still an upper bound, with an error of second order.

With a = v - (largest u seen) and gaps e = (largest u seen) - u >= 0 everything is free of cancellation:

    f = E log1p(e / a) + log1p(-E (e / a) / (1 + e / a)),        q.u = (largest u seen) - a expm1(E log1p(e / a) - d).

f(v) <= log(1 + R^2 / (4 a^2)) (Kantorovich; R the largest gap) brackets a from above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.kl_radius import kl_interval
from equirl.model.rows import Rows
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.planning.optimistic_planning import Choices, Solver, Stop, Work, iterate, sweep_states

FREE = 45.0  # exp(-45) is below rounding: the ball holds the best state to double precision
STEPS = 100
TOLERANCE = 1e-9  # of v, relative; the value's error is about its square


class KLBall(NamedTuple):
    """Distributions within ``radius`` (KL from the row) of a row; an empty row is free."""

    rows: Rows  # that sum to 1
    radius: np.ndarray  # (M,) >= 0, may be inf


@lean_kernel
def _seen_range(models: KLBall, k: int | np.int64, u: np.ndarray) -> tuple[float, float]:
    """Least and largest u where row k has mass; (inf, -inf) where it has none."""
    low, high = math.inf, -math.inf
    for i in range(models.rows.ptr[k], models.rows.ptr[k + 1]):
        if models.rows.prob[i] > 0.0:
            low, high = min(low, u[models.rows.succ[i]]), max(high, u[models.rows.succ[i]])
    return low, high


@lean_kernel
def _divergence(models: KLBall, k: int | np.int64, u: np.ndarray, high: float, a: float) -> tuple[float, float, float]:
    """f at a, its derivative by log a, and E log1p(e / a)."""
    log_mean, tilt, square = 0.0, 0.0, 0.0
    for i in range(models.rows.ptr[k], models.rows.ptr[k + 1]):
        p = models.rows.prob[i]
        if p > 0.0:
            z = (high - u[models.rows.succ[i]]) / a
            share = z / (1.0 + z)
            log_mean += p * math.log1p(z)
            tilt += p * share
            square += p * share * share
    tilt = min(tilt, 1.0)  # rows sum to 1 up to rounding
    return log_mean + math.log1p(-tilt), -(square - tilt * tilt) / (1.0 - tilt), log_mean


@lean_kernel
def _solve(models: KLBall, k: int | np.int64, u: np.ndarray, high: float, low_a: float, high_a: float) -> float:
    """The a in [low_a, high_a] where f(a) = radius: Newton on log f by log a, halving where it leaves the bracket."""
    d, left, right = models.radius[k], math.log(low_a), math.log(high_a)
    at = right
    for _ in range(STEPS):
        f, slope, _ = _divergence(models, k, u, high, math.exp(at))
        if f > d:
            left = at
        else:
            right = at
        step = math.inf
        if f > 0.0 and slope < 0.0:
            step = -(math.log(f) - math.log(d)) * f / slope
        new = at + step
        if not left < new < right:
            new = 0.5 * (left + right)
        if abs(new - at) <= TOLERANCE:
            return math.exp(new)
        at = new
    return math.exp(at)


@lean_kernel
def kl_value(models: KLBall, k: int | np.int64, u: np.ndarray, top: float) -> float:
    """``max q.u`` over the ball of pair k; ``top`` is the largest u.

    Costs O(successors) times about six evaluations of f; relative error about 1e-14 of the span of u.
    """
    d = models.radius[k]
    low, high = _seen_range(models, k, u)
    if high < low or low == top or d >= FREE:
        return top
    gap, widest = top - high, high - low
    if d <= 0.0:
        return high - _mean_gap(models, k, u, high)

    # An unseen state is best, and the ball reaches far enough to give it mass
    if gap > 0.0:
        f, _, log_mean = _divergence(models, k, u, high, gap)
        if f <= d:
            return high - gap * math.expm1(log_mean - d)

    # All mass stays on the support
    high_a = 0.5 * widest / math.sqrt(math.expm1(d))
    low_a = max(gap, 1e-18 * widest)
    if high_a <= low_a:
        high_a = 2.0 * low_a
    a = _solve(models, k, u, high, low_a, high_a)
    _, _, log_mean = _divergence(models, k, u, high, a)
    return min(top, high - a * math.expm1(log_mean - d))


@lean_kernel
def _mean_gap(models: KLBall, k: int | np.int64, u: np.ndarray, high: float) -> float:
    total = 0.0
    for i in range(models.rows.ptr[k], models.rows.ptr[k + 1]):
        total += models.rows.prob[i] * (high - u[models.rows.succ[i]])
    return total


class KLModels(NamedTuple):
    """Kullback-Leibler balls of transition probabilities and bounds on mean rewards; an empty row is free."""

    rows: Rows  # that sum to 1
    radius: np.ndarray  # (M,) of KL(row || q)
    r_lower: np.ndarray  # (M,)
    r_upper: np.ndarray  # (M,)

    def widths(self) -> np.ndarray:
        """By Pinsker's inequality."""
        return np.minimum(np.sqrt(2.0 * self.radius), 2.0)

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        prob, radius = self.rows.prob[self.rows.row(pair)], float(self.radius[pair])
        ends = np.array([kl_interval(p, radius) for p in prob.tolist()]).reshape(-1, 2)
        return ends[:, 0], ends[:, 1], kl_interval(0.0, radius)[1]

    @property
    def n_entries(self) -> int:
        return len(self.rows.succ)

    def prepare(self) -> tuple[Solver, KLBall]:
        ptr, succ, prob = self.rows
        return Solver(iterate_kl, sweep_kl), KLBall(Rows(np.array(ptr), np.array(succ), np.array(prob)), self.radius)

    def restrict(self, pairs: np.ndarray) -> KLModels:
        return KLModels(self.rows.take(pairs), self.radius[pairs], self.r_lower[pairs], self.r_upper[pairs])

    def with_rewards(self, reward: np.ndarray) -> KLModels:
        return self._replace(r_lower=reward, r_upper=reward)

    def without_supports(self) -> KLModels:
        return self


@inlined
def kl_maximum(models: KLBall, k: int, work: Work, u_max: float) -> float:
    return kl_value(models, np.int64(k), work.u, u_max)


@lean_kernel
def sweep_kl(
    choices: Choices, models: KLBall, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    return sweep_states(kl_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def iterate_kl(choices: Choices, models: KLBall, work: Work, stop: Stop) -> tuple[int, float, float]:
    return iterate(sweep_kl, sweep_kl, choices, models, work, stop)
