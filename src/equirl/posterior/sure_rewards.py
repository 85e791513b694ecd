"""Pairs that always pay the same amount: in most problems all do, and then a visit or two tell which.

The model. A share rho of the pairs pays a sure amount, the others toss coins. A coin of uniform bias, tossed n times,
shows its first face every time with probability 2 / (n + 1). So a pair that paid the same at all its n visits is sure
with probability

    rho / ( rho + (1 - rho) 2 / (n + 1) ),        rho ~ Beta(1 + pairs that did, 1 + pairs that did not),

among those visited twice or more. It is drawn anew each time: a pair that may still have a surprise is taken for a coin
now and then, less often the longer it has shown none. A pair that always paid 0, or 1, is left to the coins: one of
strong bias looks just like that, and what pays nothing is common enough to be learned together.
"""

from __future__ import annotations

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import beta_draw, uniform

SAME = 1e-9  # up to which variances and amounts are equal, rounding aside


@lean_kernel
def paid_the_same(k: int, seen: Snapshot) -> bool:
    """Whether pair k was visited and paid the same amount each time, more than 0 and less than 1."""
    n = seen.visits[k]
    if n == 0:
        return False
    amount = seen.r_sum[k] / n
    return SAME < amount < 1.0 - SAME and seen.r_squares[k] / n - amount * amount <= SAME


@lean_kernel
def draw_sure(rng: np.ndarray, seen: Snapshot, out: np.ndarray) -> None:
    """Which pairs pay a sure amount, from the posterior; nothing is drawn where none can. O(pairs)."""
    first, same, other = 0, 0, 0
    for k in range(len(out)):
        out[k] = paid_the_same(k, seen)
        first += out[k]
        if seen.visits[k] > 1:
            same += out[k]
            other += not out[k] and 0.0 < seen.r_sum[k] < seen.visits[k]
    if first == 0:
        return
    rho = beta_draw(rng, 1.0 + same, 1.0 + other)
    for k in range(len(out)):
        if out[k]:
            coin = (1.0 - rho) * 2.0 / (seen.visits[k] + 1.0)
            out[k] = uniform(rng) * (rho + coin) < rho
