"""IMED-RL's index (Pesquerel and Maillard 2022), for ergodic MDPs with rewards in [0, 1].

At every step: the skeleton ``A_s = {a : N(s,a) >= log^2 max_b N(s,b)}``; the bias phi of the empirical MDP restricted
to it; then in the current state, with X = r + phi(s') the outcome of a pair, gamma = the best empirical mean of X over
the skeleton's pairs of s, and top = 1 + max phi, the pair of least

    index = N K + log N,        K = max over 0 <= l <= 1 / (top - gamma) of mean log(1 - l (X - gamma)),

is played. A pair whose mean of X reaches gamma has K = 0, so the best one has index log N; one never played has -inf.

Counts keep successors and the sum of rewards, not rewards one by one. A pair's rewards are read as all equal to r_hat
(``binary`` False: right where rewards are deterministic), or as 0 or 1 with mean r_hat, independent of the successor
(``binary`` True: right for Bernoulli rewards; for others on [0, 1] that do not depend on the successor K can only
become smaller, so that the pair is explored more).

``prior`` is the weight of one more sample of every pair that pays 1/2 and leads to every state alike. 0 is the index as
published; it visits a state only as often as the policy of the moment leads there, which on a river of 25 states takes
longer than anyone waits. The authors' program has weight 1: what is hardly known then looks worth a visit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.kl_inf import kl_inf
from equirl.numerics.compiling import kernel

DAMPING = 0.8  # of the sweeps: the aperiodicity transform


class CountedRows(NamedTuple):
    """An empirical MDP: successors of pair k in ``succ[ptr[k]:ptr[k + 1]]``, seen ``count`` times each."""

    pair_ptr: np.ndarray  # (S + 1,)
    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,)
    count: np.ndarray  # type: ignore[assignment]  # (nnz,)
    visits: np.ndarray  # (M,)
    r_hat: np.ndarray  # (M,) in [0, 1]
    binary: np.ndarray  # (M,) bool: whether rewards are read as 0 or 1
    prior: float  # weight of a sample that pays 1/2 and leads anywhere; 0 for none


@kernel
def skeleton(pair_ptr: np.ndarray, visits: np.ndarray, keep: np.ndarray) -> None:
    """keep[k] = whether N_k >= log^2 max N in its state and N_k > 0. O(M). Where a state was visited, one is kept."""
    for s in range(len(pair_ptr) - 1):
        most = 1.0
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            most = max(most, float(visits[k]))
        least = max(1.0, math.log(most) ** 2)
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            keep[k] = visits[k] >= least


@kernel
def average(phi: np.ndarray) -> float:
    """The mean of phi over all states."""
    total = 0.0
    for s in range(len(phi)):
        total += phi[s]
    return total / len(phi)


@kernel
def mean_outcome(model: CountedRows, k: int, phi: np.ndarray, centre: float) -> float:
    """The empirical mean of r + phi(s') of a visited pair, the prior included; ``centre`` is the average of phi."""
    total = model.r_hat[k] * model.visits[k] + model.prior * (0.5 + centre)
    for i in range(model.ptr[k], model.ptr[k + 1]):
        total += model.count[i] * phi[model.succ[i]]
    return total / (model.visits[k] + model.prior)


@kernel
def best_outcome(model: CountedRows, keep: np.ndarray, state: int, phi: np.ndarray, centre: float) -> float:
    """gamma: the best mean outcome over the kept pairs of a state; -inf where none is kept."""
    best = -math.inf
    for k in range(model.pair_ptr[state], model.pair_ptr[state + 1]):
        if keep[k]:
            best = max(best, mean_outcome(model, k, phi, centre))
    return best


@kernel
def _has_untried(model: CountedRows, state: int) -> bool:
    for k in range(model.pair_ptr[state], model.pair_ptr[state + 1]):  # noqa: SIM110 - any() is not compiled
        if model.visits[k] <= 0:
            return True
    return False


@kernel
def empirical_bias(
    model: CountedRows, keep: np.ndarray, accuracy: float, max_sweeps: int, phi: np.ndarray
) -> tuple[int, float, float]:
    """The bias of the empirical MDP on the kept pairs, from and into ``phi``; least value 0.

    Damped relative value iteration, ``phi <- phi + 0.8 (T phi - phi - centre)``, until T phi - phi has span at most
    ``accuracy`` or for ``max_sweeps``. Returns the number of sweeps and the least and largest of T phi - phi, which
    bracket the gain. A sweep costs O(kept successors). A pair never played is read as paying 1 and leading to every
    state alike, so that the policy goes where pairs are untried ("each pair once").
    While pairs are few the empirical MDP may fall apart; its gains then differ and only the cap ends the sweeps.
    """
    S = len(phi)
    out, n = np.empty(S), 0
    while True:
        centre = average(phi)
        low, high = math.inf, -math.inf
        for s in range(S):
            out[s] = best_outcome(model, keep, s, phi, centre)
            if _has_untried(model, s):
                out[s] = max(out[s], 1.0 + centre)
            low, high = min(low, out[s] - phi[s]), max(high, out[s] - phi[s])
        n += 1
        if high - low <= accuracy or n >= max_sweeps:
            break
        for s in range(S):
            phi[s] += DAMPING * (out[s] - phi[s] - 0.5 * (low + high))
    _lift_to_zero(phi)
    return n, low, high


@kernel
def _lift_to_zero(phi: np.ndarray) -> None:
    least = math.inf
    for s in range(len(phi)):
        least = min(least, phi[s])
    for s in range(len(phi)):
        phi[s] -= least


@kernel
def outcome_law(model: CountedRows, k: int, phi: np.ndarray, weight: np.ndarray, x: np.ndarray) -> int:
    """Write the distribution of r + phi(s') of a visited pair, prior included, as masses and values; their number."""
    n, r, whole = 0, model.r_hat[k], model.visits[k] + model.prior
    for i in range(model.ptr[k], model.ptr[k + 1]):
        p, after = model.count[i] / whole, phi[model.succ[i]]
        if model.binary[k]:
            weight[n], x[n] = p * (1.0 - r), after
            weight[n + 1], x[n + 1] = p * r, 1.0 + after
            n += 2
        else:
            weight[n], x[n] = p, r + after
            n += 1
    if model.prior > 0.0:
        for s in range(len(phi)):
            weight[n], x[n] = model.prior / (whole * len(phi)), 0.5 + phi[s]
            n += 1
    return n


@kernel
def indices(model: CountedRows, keep: np.ndarray, state: int, phi: np.ndarray, top: float, out: np.ndarray) -> float:
    """Write the index of each pair of ``state`` into ``out``, its first action first; returns gamma.

    ``top`` is 1 + max phi. Costs O(S) and O(successors of the state's pairs) times about eight, with a
    prior O(S) times that. Play the least (ties at random).
    """
    first, last = model.pair_ptr[state], model.pair_ptr[state + 1]
    size = 0
    for k in range(first, last):
        size = max(size, model.ptr[k + 1] - model.ptr[k])
    size = 2 * size + len(phi) if model.prior > 0.0 else 2 * size
    weight, x = np.empty(size), np.empty(size)
    centre = average(phi)
    gamma = best_outcome(model, keep, state, phi, centre)
    tie = 1e-12 * (1.0 + abs(gamma))  # what rounding may put between two equal means
    for k in range(first, last):
        n = float(model.visits[k])
        if n <= 0.0:
            out[k - first] = -math.inf
        elif mean_outcome(model, k, phi, centre) >= gamma - tie:
            out[k - first] = math.log(n)
        else:
            atoms = outcome_law(model, k, phi, weight, x)
            out[k - first] = n * kl_inf(weight, x, atoms, gamma, top) + math.log(n)
    return gamma
