"""Confidence sets: how far the truth may be from the estimates, each bound once (equation 3 of the paper).

Distributions are enclosed in L1 balls, means in intervals, both uniformly over time by the Laplace method:

    beta_n(d)  = sqrt( 2 (1 + 1/n) log( sqrt(n+1) (2^S - 2) / d ) / n )       a distribution on S states
    beta'_n(d) = sqrt(   (1 + 1/n) log( sqrt(n+1) / d ) / (2 n) )             a mean in [0, 1], one side

Levels d are handled as ``log_level = log(d)``, so that delta / (3 M) never underflows and 2^S never overflows.
"""

from __future__ import annotations

import math

import numpy as np

from equirl.numerics.compiling import kernel


@kernel
def log_events(n_states: int) -> float:
    """log(2^S - 2), the number of events in Weissman's bound; -inf for S = 1."""
    if n_states < 2:
        return -math.inf
    return n_states * math.log(2.0) + math.log1p(-(2.0 ** (1.0 - n_states)))


@kernel
def weissman(n: float, log_n_events: float, log_level: float) -> float:
    """beta_n(d): L1 radius of a distribution from n samples; 2 (free) at n = 0, and 0 where there is one state."""
    if log_n_events == -math.inf:
        return 0.0
    if n <= 0:
        return 2.0
    log_term = 0.5 * math.log(n + 1.0) + log_n_events - log_level
    return math.sqrt(2.0 * (1.0 + 1.0 / n) * log_term / n)


@kernel
def hoeffding(n: float, log_level: float) -> float:
    """beta'_n(d): upper radius of a mean in [0, 1] from n samples; 1 (free) at n = 0."""
    if n <= 0:
        return 1.0
    return math.sqrt((1.0 + 1.0 / n) * (0.5 * math.log(n + 1.0) - log_level) / (2.0 * n))


@kernel
def _fill_weissman(visits: np.ndarray, log_n_events: float, log_level: float, out: np.ndarray) -> None:
    for k in range(len(visits)):
        out[k] = weissman(visits[k], log_n_events, log_level)


@kernel
def _fill_hoeffding(visits: np.ndarray, log_level: float, out: np.ndarray) -> None:
    for k in range(len(visits)):
        out[k] = hoeffding(visits[k], log_level)


def weissman_radius(visits: np.ndarray, n_states: int, log_level: float) -> np.ndarray:
    """beta_n(d) for an array of visits, d = exp(log_level)."""
    visits = np.asarray(visits, dtype=np.int64)
    out = np.empty(len(visits))
    _fill_weissman(visits, log_events(n_states), log_level, out)
    return out


def hoeffding_radius(visits: np.ndarray, log_level: float) -> np.ndarray:
    """beta'_n(d) for an array of visits, d = exp(log_level)."""
    visits = np.asarray(visits, dtype=np.int64)
    out = np.empty(len(visits))
    _fill_hoeffding(visits, log_level, out)
    return out


def jaksch_transition_radius(visits: np.ndarray, n_states: int, n_actions: int, t: int, log_level: float) -> np.ndarray:
    """UCRL2's L1 radius at time t: sqrt(14 S log(2 A t / d) / max(1, N)), A the largest number of actions."""
    return np.sqrt(14 * n_states * (math.log(2.0 * n_actions * t) - log_level) / np.maximum(1, visits))


def jaksch_mean_radius(visits: np.ndarray, n_pairs: int, t: int, log_level: float) -> np.ndarray:
    """UCRL2's radius of a mean at time t: sqrt(7 log(2 M t / d) / (2 max(1, N)))."""
    return np.sqrt(7 * (math.log(2.0 * n_pairs * t) - log_level) / (2 * np.maximum(1, visits)))


def share_weighted(radius: np.ndarray, visits: np.ndarray, label: np.ndarray, n_classes: int) -> np.ndarray:
    """The theory's radius of a class, by pair: sum over c of N radius_N / n(c) (equations 6 and 7)."""
    weighted = np.bincount(label, weights=visits * radius, minlength=n_classes)
    total = np.bincount(label, weights=visits, minlength=n_classes)
    return np.divide(weighted, total, out=np.full(n_classes, 2.0), where=total > 0)[label]
