"""Extreme laws with their certificates: a law of the set bounds from one side, a multiplier from the other.

Both sides hold however the law and the multiplier were found, so a bad search widens the pair and cannot hide a fault.
"""

from __future__ import annotations

import math

import numpy as np

ROUNDING = 1e-10  # how far the two sides may lie apart, in units of the values


def closed(low, high, scale):
    """Both sides, which must meet."""
    assert abs(high - low) <= ROUNDING * scale, (low, high)
    return low, high


def is_law(q):
    return q.min() >= 0 and abs(math.fsum(q) - 1) <= 1e-12


def interval_maximum(lower, upper, u):
    """max q.u over laws with lower <= q <= upper.

    For every l the maximum is at most l + sum max((u - l) lower, (u - l) upper), which is piecewise linear in l with
    its breakpoints at the values of u; the law fills the states up in decreasing u.
    """
    rest = u - u[:, None]  # a row for each l
    high = (u + np.maximum(rest * lower, rest * upper).sum(axis=1)).min()
    q, left = lower.copy(), 1 - math.fsum(lower)
    for x in np.argsort(-u):
        given = min(upper[x] - lower[x], left)
        q[x], left = q[x] + given, left - given
    assert is_law(q)
    assert (q >= lower).all()
    assert (q <= upper + 1e-15).all()
    return closed(q @ u, high, 1 + np.abs(u).max())


def l1_maximum(p, radius, u):
    """max q.u over laws with ||q - p||_1 <= radius.

    For every m >= 0 the maximum is at most top - m + m radius + sum p max(u - top + m, -m), top the largest u:
    piecewise linear in m with its breakpoints at half the gaps below the top. The law moves mass from the worst states.
    """
    m = (u.max() - u)[:, None] / 2  # one of them is 0
    high = (u.max() + m[:, 0] * (radius - 1) + np.maximum(u - u.max() + m, -m) @ p).min()
    q, best = p.copy(), u.argmax()
    left = min(radius / 2, 1 - p[best])
    q[best] += left
    for x in np.argsort(u):
        taken = min(q[x], left) if x != best else 0.0
        q[x], left = q[x] - taken, left - taken
    assert is_law(q)
    assert np.abs(q - p).sum() <= radius + 1e-14
    return closed(q @ u, high, 1 + np.abs(u).max())


def kl_maximum(p, d, u):
    """max q.u over laws with KL(p || q) <= d.

    For every v >= max u, v - q.u = sum q (v - u) >= exp(sum p log(q (v - u) / p)) by Jensen's inequality, so q.u is at
    most v - exp(E log(v - u) - d). The law is p / (v - u) scaled, at v = max u with what is left on the best state; v
    by bisection of its divergence, from the side that lies in the ball.
    """
    seen, top, scale = p > 0, u.max(), np.ptp(u) + 1e-300
    w, gap = p[seen], top - u[seen]
    inner = d * (1 - 1e-13)  # so that rounding does not leave the ball

    def tilted(a):
        q = np.zeros_like(p)
        q[seen] = w / (a + gap)
        return q / q.sum()

    def divergence(q):
        return math.fsum(w * np.log(w / q[seen]))

    q = np.zeros_like(p)
    at_top = math.exp(w @ np.log(gap) - inner) if gap.min() > 0 else 0.0
    if at_top > 0 and at_top * (w / gap).sum() <= 1:
        a, q[seen] = 0.0, at_top * w / gap
        q[u.argmax()] += 1 - q.sum()
        high = top - at_top * math.exp(inner - d)
    else:
        low, a = 1e-17 * scale, 1e9 * scale
        while a > low * (1 + 1e-15) and low < (middle := math.sqrt(low * a)) < a:
            low, a = (middle, a) if divergence(tilted(middle)) > inner else (low, middle)
        q = tilted(a)
        high = top - a * math.expm1(w @ np.log1p(gap / a) - d)
    assert is_law(q)
    assert divergence(q) <= d
    return closed(top - q @ (top - u), high, 1 + np.abs(u).max())


def kl_least(weight, x, target, top):
    """The least KL(P || Q) over laws Q on (-inf, top] with mean at least the target; P has the masses at x.

    For every s in [0, 1] it is at least E log(1 - s (X - target) / (top - target)): E_Q of the argument is at most 1.
    The law has the density 1 over the argument and what is missing at the top; s by bisection of the derivative.
    """
    weight, x = weight[weight > 0], x[weight > 0]
    z = (target - x) / (top - target)
    low, s = 0.0, 1.0
    with np.errstate(divide="ignore"):
        inside = np.sum(weight * z / (1 + z)) < 0  # at s = 1 the bound falls
    while inside and low < (middle := (low + s) / 2) < s:
        low, s = (middle, s) if np.sum(weight * z / (1 + middle * z)) > 0 else (low, middle)

    atoms, q = np.append(x, top), np.append(weight / (1 + s * z), 0.0)
    q = q / max(q.sum(), 1.0)
    q[-1] += 1 - q.sum()
    short = max(0.0, target - q @ atoms) + 1e-15 * (1 + np.abs(atoms).max())
    q = q + min(1.0, short / (top - q @ atoms)) * (np.eye(len(q))[-1] - q)
    assert is_law(q)
    assert math.fsum(q * (atoms - target)) >= 0

    held = q[:-1] + q[-1] * (x == top) / max(1, (x == top).sum())  # the top may be a value of P
    return closed(weight @ np.log1p(s * z), weight @ np.log(weight / held), 1.0)
