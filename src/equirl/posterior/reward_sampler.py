"""The posterior of mean rewards: by pair, or shared by the pairs of a table.

By pair: Beta(1 + sum r, 1 + sum (1 - r)). Shared: a Chinese restaurant process over the *visited* pairs, tables with a
Beta(1, 1) mean each. A pair never visited draws from Beta(1, 1), or a learner would believe that all it has not seen
pays what it has seen.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import beta_draw, pick, uniform


class TableState(NamedTuple):
    """Which pairs share a mean reward; changed in place."""

    table: np.ndarray  # (M,) int64: -1 for pairs never visited
    members: np.ndarray  # (M + 1,) int64
    good: np.ndarray  # (M + 1,) pooled rewards
    bad: np.ndarray  # (M + 1,) pooled visits less rewards
    used: np.ndarray  # (1,) int64: tables given out; some may be empty


def empty_tables(n_pairs: int) -> TableState:
    """No pair sits at a table yet."""
    return TableState(
        np.full(n_pairs, -1), np.zeros(n_pairs + 1, np.int64), np.zeros(n_pairs + 1), np.zeros(n_pairs + 1),
        np.zeros(1, np.int64),
    )  # fmt: skip


@lean_kernel
def log_beta_rising(a: float, b: float, good: float, bad: float) -> float:
    """log B(a + good, b + bad) - log B(a, b)."""
    return (
        math.lgamma(a + good) - math.lgamma(a) + math.lgamma(b + bad) - math.lgamma(b)
        - math.lgamma(a + b + good + bad) + math.lgamma(a + b)
    )  # fmt: skip


@lean_kernel
def recount_tables(seen: Snapshot, state: TableState) -> None:
    """Pooled rewards from the tables that pairs sit at; those without rewards leave theirs."""
    for t in range(len(state.members)):
        state.members[t], state.good[t], state.bad[t] = 0, 0.0, 0.0
    state.used[0] = 0
    for k in range(len(state.table)):
        if seen.visits[k] == 0:
            state.table[k] = -1
        t = state.table[k]
        if t >= 0:
            state.members[t] += 1
            state.good[t] += seen.r_sum[k]
            state.bad[t] += seen.visits[k] - seen.r_sum[k]
            state.used[0] = max(state.used[0], t + 1)


@lean_kernel
def table_weights(good: float, bad: float, alpha: float, state: TableState, log_weight: np.ndarray) -> int:
    """Log weights of all tables for a pair with these rewards, taken out of its own; the number of a new one."""
    empty = state.used[0]
    for t in range(state.used[0]):
        if state.members[t] > 0:
            a, b = 1.0 + max(0.0, state.good[t]), 1.0 + max(0.0, state.bad[t])
            log_weight[t] = math.log(state.members[t]) + log_beta_rising(a, b, good, bad)
        else:
            log_weight[t] = -math.inf
            empty = t
    log_weight[empty] = math.log(alpha) + log_beta_rising(1.0, 1.0, good, bad)
    return empty


@lean_kernel
def resample_tables(
    rng: np.ndarray, first: int, n_pairs: int, alpha: float, seen: Snapshot, state: TableState, log_weight: np.ndarray
) -> None:
    """A Gibbs step for the tables of ``n_pairs`` pairs from ``first`` on, around, and of all that have none."""
    M = len(state.table)
    for i in range(M):
        k = (first + i) % M
        if seen.visits[k] == 0 or (i >= n_pairs and state.table[k] >= 0):
            continue
        good, t = seen.r_sum[k], state.table[k]
        bad = seen.visits[k] - good
        if t >= 0:
            state.members[t] -= 1
            state.good[t] -= good
            state.bad[t] -= bad
        new = table_weights(good, bad, alpha, state, log_weight)
        state.used[0] = max(state.used[0], new + 1)
        t = pick(rng, log_weight, state.used[0])
        if t == new:
            state.good[t] = state.bad[t] = 0.0
        state.table[k] = t
        state.members[t] += 1
        state.good[t] += good
        state.bad[t] += bad


@lean_kernel
def draw_shared(
    rng: np.ndarray, own: float, seen: Snapshot, state: TableState, mean: np.ndarray, out: np.ndarray
) -> None:
    """Mean rewards by table; with chance min(1, own / visits) a pair draws from its own posterior instead.

    ``mean`` (M + 1,) is scratch: the drawn means of the tables.
    """
    for t in range(state.used[0]):
        mean[t] = beta_draw(rng, 1.0 + max(0.0, state.good[t]), 1.0 + max(0.0, state.bad[t]))
    for k in range(len(out)):
        n = seen.visits[k]
        if n > 0 and (own <= 0.0 or uniform(rng) * n >= own):
            out[k] = mean[state.table[k]]
        else:
            out[k] = own_draw(rng, k, seen)


@lean_kernel
def own_draw(rng: np.ndarray, k: int, seen: Snapshot) -> float:
    """The mean reward of pair k from its own rewards alone."""
    good = seen.r_sum[k]
    return beta_draw(rng, 1.0 + good, 1.0 + max(0.0, seen.visits[k] - good))


@lean_kernel
def draw_by_pair(rng: np.ndarray, seen: Snapshot, out: np.ndarray) -> None:
    """Mean rewards, each pair on its own."""
    for k in range(len(out)):
        out[k] = own_draw(rng, k, seen)
