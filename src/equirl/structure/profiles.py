"""Profiles: what a law looks like once the names of the states are forgotten (Definition 1).

The *profile* of a pair is its law with the probabilities sorted, largest first; the profile order sigma_{s,a} says
which state stands at each place. A pair is (eps_p, eps_mu)-similar to another when the L1 distance of their profiles
is at most eps_p and their mean rewards differ by at most eps_mu.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from equirl.core.compiling import kernel
from equirl.core.naming import unknown_name
from equirl.model.mdp import TabularMDP, check_mdp

TOLERANCE = 1e-9  # probabilities and means closer than this are taken as equal
CONTRASTS = ("l1", "squared", "kl")


class Profiles(NamedTuple):
    """Laws sorted by decreasing probability: the places of pair k are ``ptr[k]:ptr[k + 1]``; zeros are left out."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) int32: the state at each place, sigma_{s,a}
    prob: np.ndarray  # (nnz,) float64: its probability, decreasing inside a pair

    def profile(self, pair: int) -> np.ndarray:
        """The sorted probabilities of one pair."""
        return self.prob[self.ptr[pair] : self.ptr[pair + 1]]

    def order(self, pair: int) -> np.ndarray:
        """The states of one pair, most probable first."""
        return self.succ[self.ptr[pair] : self.ptr[pair + 1]]


def profiles(mdp: TabularMDP) -> Profiles:
    """The profile and profile order of every pair; equal probabilities in increasing order of state.

    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> profiles(mdp).profile(0), profiles(mdp).order(0)
    (array([0.8, 0.2]), array([1, 0], dtype=int32))
    """
    check_mdp(mdp)
    rows = mdp.rows
    pair = np.repeat(np.arange(mdp.n_pairs), np.diff(rows.ptr))
    order = np.lexsort((rows.succ, -rows.prob, pair))
    return Profiles(rows.ptr.copy(), rows.succ[order], rows.prob[order])


def profile_distance(mdp: TabularMDP, pair: Any, other: Any, contrast: str = "l1") -> float:
    """How far the profile of ``other`` is from that of ``pair``; each a number or (state, action).

    ``contrast``: "l1", sum |p - q|; "squared", sum (p - q)^2; "kl", sum p log(p / q), infinite where q has no mass.

    >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
    >>> profile_distance(mdp, (0, 0), (1, 0)), profile_distance(mdp, 0, 1, "kl"), profile_distance(mdp, 1, 0, "squared")
    (1.0, inf, 0.5)
    """
    check_mdp(mdp)
    if contrast not in CONTRASTS:
        raise ValueError(unknown_name("contrast", contrast, CONTRASTS))
    p, q = (_sorted_law(mdp, _pair_number(mdp, which)) for which in (pair, other))
    if contrast == "kl":
        if len(p) > len(q):
            return math.inf
        return max(0.0, float(np.sum(p * np.log(p / q[: len(p)]))))
    length = max(len(p), len(q))
    gap = np.pad(p, (0, length - len(p))) - np.pad(q, (0, length - len(q)))
    return float(np.abs(gap).sum() if contrast == "l1" else (gap**2).sum())


def similar(
    mdp: TabularMDP, pair: Any, other: Any, eps_p: float = TOLERANCE, eps_mu: float = TOLERANCE, contrast: str = "l1"
) -> bool:
    """Whether ``other`` is (eps_p, eps_mu)-similar to ``pair``; ``eps_mu=math.inf`` compares laws alone.

    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.7, 0.3]]], [[0.0], [0.1]])
    >>> similar(mdp, 0, 1, eps_p=0.25, eps_mu=0.1), similar(mdp, 0, 1, eps_p=0.25, eps_mu=0.05)
    (True, False)
    """
    check_mdp(mdp)
    for name, eps in (("eps_p", eps_p), ("eps_mu", eps_mu)):
        if not eps >= 0:
            raise ValueError(f"{name} must be at least 0, not {eps}")
    k, j = _pair_number(mdp, pair), _pair_number(mdp, other)
    means_agree = abs(mdp.r_mean[k] - mdp.r_mean[j]) <= eps_mu
    return bool(means_agree) and profile_distance(mdp, k, j, contrast) <= eps_p


def _sorted_law(mdp: TabularMDP, pair: int) -> np.ndarray:
    return np.sort(mdp.rows.prob[mdp.rows.ptr[pair] : mdp.rows.ptr[pair + 1]])[::-1]


def _pair_number(mdp: TabularMDP, pair: Any) -> int:
    if isinstance(pair, tuple) and len(pair) == 2:
        return mdp.pairs.index(*pair)
    try:
        number = operator.index(pair)
    except TypeError:
        raise TypeError(f"a pair is its number or (state, action), not {pair!r}") from None
    if not 0 <= number < mdp.n_pairs:
        raise ValueError(f"there is no pair {number}: pairs are 0 to {mdp.n_pairs - 1}")
    return number


def take_profiles(table: Profiles, pairs: np.ndarray) -> Profiles:
    """The profiles of some pairs, numbered 0, 1, ... in the order given."""
    lengths = np.diff(table.ptr)[pairs]
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(ptr[-1]) + np.repeat(table.ptr[pairs] - ptr[:-1], lengths)
    return Profiles(ptr, table.succ[place], table.prob[place])


def projection(points: Profiles) -> np.ndarray:
    """sum_j w_j p_j with |w_j| <= 1, so that it moves by at most the L1 distance; weights without a pattern."""
    place = np.arange(len(points.prob)) - np.repeat(points.ptr[:-1], np.diff(points.ptr))
    weight = np.cos(1.0 + math.sqrt(7.0) * place)
    owner = np.repeat(np.arange(len(points.ptr) - 1), np.diff(points.ptr))
    return np.bincount(owner, weights=weight * points.prob, minlength=len(points.ptr) - 1)


@kernel
def profile_l1(ptr: np.ndarray, prob: np.ndarray, k: int, j: int) -> float:
    """L1 distance of profiles k and j, the shorter one continued by zeros."""
    n, m = ptr[k + 1] - ptr[k], ptr[j + 1] - ptr[j]
    total = 0.0
    for i in range(max(n, m)):
        p = prob[ptr[k] + i] if i < n else 0.0
        q = prob[ptr[j] + i] if i < m else 0.0
        total += abs(p - q)
    return total
