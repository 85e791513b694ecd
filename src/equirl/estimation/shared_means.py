"""Mean rewards that pairs share although nobody said which: bounds from what all pairs that pay alike were paid.

Pairs in the order of their means fall into *runs*: a pair joins the run below it as long as the mean of the run, at
its upper bound, is one that the pair's own rewards allow. Then its mean is at most

    min( own bound at the risk of the run,  max( upper bound of the run's pooled mean,  own bound at a risk d' ) ).

Where the pairs of a run do pay alike, all bounds hold together, and what one of them was paid tells about the others;
where they do not, each pair's bound still holds with probability 1 - d'. So a pair that was never seen to pay, among
many that never pay, is given up after some visits of its own, not at its first.
"""

from __future__ import annotations

import numpy as np

from equirl.estimation.variance_radius import sharp_radius
from equirl.numerics.compiling import kernel


@kernel
def _share(
    order: np.ndarray, visits: np.ndarray, r_sum: np.ndarray, r_squares: np.ndarray, bold: np.ndarray,
    log_level: float, out: np.ndarray,
) -> None:  # fmt: skip
    first = 0
    while first < len(order):
        n, total, squares, upper, last = 0.0, 0.0, 0.0, 1.0, first
        while last < len(order):
            k = order[last]
            if last > first and r_sum[k] / visits[k] - bold[k] > upper:
                break
            n, total, squares, last = n + visits[k], total + r_sum[k], squares + r_squares[k], last + 1
            mean = total / n
            upper = mean + sharp_radius(squares / n - mean * mean, n, log_level)
        for i in range(first, last):
            k = order[i]
            out[k] = min(out[k], max(upper - r_sum[k] / visits[k], bold[k]))
        first = last


def shared_mean_radius(
    visits: np.ndarray, r_sum: np.ndarray, r_squares: np.ndarray, own: np.ndarray, bold: np.ndarray, log_level: float
) -> np.ndarray:
    """Upper radius of each pair's mean in [0, 1] around its own. O(M log M); the order of pairs is no matter."""
    there = np.flatnonzero(visits)
    order = there[np.lexsort((bold[there], r_sum[there] / visits[there]))]
    out = own.copy()
    _share(order, visits, r_sum, r_squares, bold, log_level, out)
    return out
