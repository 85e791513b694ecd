"""Profiles: what transition probabilities look like once the names of the states are forgotten (Definition 1).

The *profile* of a pair is the list of its transition probabilities, largest first; the profile order sigma_{s,a} says
which state stands at each place. A pair is (eps_p, eps_mu)-similar to another when the L1 distance of their profiles
is at most eps_p and their mean rewards differ by at most eps_mu. See docs/definitions.md, "Profiles and classes".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import pair_number
from equirl.model.rows import AT_ONCE, Rows
from equirl.numerics.arrays import rows_by_length
from equirl.numerics.compiling import kernel
from equirl.words.checking import between, choice, whole_number

TOLERANCE = 1e-9  # probabilities and means closer than this are taken as equal
CONTRASTS = ("l1", "squared", "kl")


class Profiles(Rows):
    """Transition probabilities of every pair, sorted; zeros are left out.

    Parameters
    ----------
    ptr : ndarray of int64, shape (M + 1,)
        The places of pair k are ``ptr[k]:ptr[k + 1]``.
    succ : ndarray of int32, shape (nnz,)
        The state at each place, sigma_{s,a}.
    prob : ndarray of float64, shape (nnz,)
        Its probability, decreasing inside a pair; NaN throughout where only the correspondence is known (``order=``).
    """

    __slots__ = ()

    def profile(self, pair: int) -> np.ndarray:
        """The sorted probabilities of one pair, given by its number."""
        return self.prob[self.row(whole_number("pair", pair, least=0, most=len(self.ptr) - 2))]

    def order(self, pair: int) -> np.ndarray:
        """The states of one pair, given by its number, most probable first."""
        return self.succ[self.row(whole_number("pair", pair, least=0, most=len(self.ptr) - 2))]


def profiles(mdp: TabularMDP) -> Profiles:
    """The profile and profile order of every pair; equal probabilities in increasing order of state.

    Parameters
    ----------
    mdp : TabularMDP
        A known MDP.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> profiles(mdp).profile(0), profiles(mdp).order(0)
    (array([0.8, 0.2]), array([1, 0], dtype=int32))
    """
    check_mdp(mdp)
    rows = mdp.rows
    succ, prob = np.empty_like(rows.succ), np.empty_like(rows.prob)
    for place in rows_by_length(rows.ptr, AT_ONCE):
        order = np.take_along_axis(place, np.argsort(-rows.prob[place], axis=1, kind="stable"), axis=1)
        succ[place], prob[place] = rows.succ[order], rows.prob[order]
    return Profiles(rows.ptr.copy(), succ, prob)


def sorted_masses(rows: Rows) -> Rows:
    """The rows with their probabilities decreasing; their ``succ`` is left as it was, in another order."""
    prob = np.empty_like(rows.prob)
    for place in rows_by_length(rows.ptr, AT_ONCE):
        prob[place] = -np.sort(-rows.prob[place], axis=1)
    return rows._replace(prob=prob)


def profile_distance(mdp: TabularMDP, pair: Any, other: Any, contrast: str = "l1") -> float:
    """How far the profile of one pair is from that of another.

    Parameters
    ----------
    mdp : TabularMDP
        A known MDP.
    pair, other : int or (state, action)
        Two pairs, with profiles p and q.
    contrast : {"l1", "squared", "kl"}
        sum |p - q|, sum (p - q)^2, or sum p log(p / q), infinite where q has no mass.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
    >>> profile_distance(mdp, (0, 0), (1, 0)), profile_distance(mdp, 0, 1, "kl"), profile_distance(mdp, 1, 0, "squared")
    (1.0, inf, 0.5)
    """
    check_mdp(mdp)
    choice("contrast", contrast, CONTRASTS)
    p, q = (profile_of(mdp, pair_number(mdp.pairs, which)) for which in (pair, other))
    if contrast == "l1":
        return float(l1_distance(p, 0, len(p), q, 0, len(q)))
    if contrast == "kl":
        if len(p) > len(q):
            return math.inf
        return max(0.0, float(np.sum(p * np.log(p / q[: len(p)]))))
    length = max(len(p), len(q))
    gap = np.pad(p, (0, length - len(p))) - np.pad(q, (0, length - len(q)))
    return float((gap**2).sum())


def similar(
    mdp: TabularMDP, pair: Any, other: Any, eps_p: float = TOLERANCE, eps_mu: float = TOLERANCE, contrast: str = "l1"
) -> bool:
    """Whether two pairs are (eps_p, eps_mu)-similar.

    Parameters
    ----------
    mdp : TabularMDP
        A known MDP.
    pair, other : int or (state, action)
        Two pairs.
    eps_p : float
        The largest distance of the profiles.
    eps_mu : float
        The largest difference of the mean rewards, in the units of the problem; ``math.inf`` compares transition
        probabilities alone.
    contrast : {"l1", "squared", "kl"}
        The distance, as in :func:`profile_distance`.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.7, 0.3]]], [[0.0], [0.1]])
    >>> similar(mdp, 0, 1, eps_p=0.25, eps_mu=0.1), similar(mdp, 0, 1, eps_p=0.25, eps_mu=0.05)
    (True, False)
    """
    check_mdp(mdp)
    eps_p, eps_mu = between("eps_p", eps_p, most=math.inf), between("eps_mu", eps_mu, most=math.inf)
    k, j = pair_number(mdp.pairs, pair), pair_number(mdp.pairs, other)
    means_agree = mdp.reward_map[0] * abs(mdp.r_mean[k] - mdp.r_mean[j]) <= eps_mu
    return bool(means_agree) and profile_distance(mdp, k, j, contrast) <= eps_p


def profile_of(mdp: TabularMDP, pair: int) -> np.ndarray:
    """The profile of one pair of a known MDP."""
    return -np.sort(-mdp.rows.prob[mdp.rows.row(pair)])


def projection(points: Rows) -> np.ndarray:
    """sum_j w_j p_j with |w_j| <= 1, so that it moves by at most the L1 distance; weights without a pattern."""
    weight = np.cos(1.0 + math.sqrt(7.0) * np.arange(np.diff(points.ptr).max()))
    height = np.empty(len(points.ptr) - 1)
    _project(points, weight, height)
    return height


@kernel
def _project(points: Rows, weight: np.ndarray, height: np.ndarray) -> None:
    """``height``: of each point, summed place by place, so that equal points have the same to the last bit."""
    ptr, _, prob = points
    for k in range(len(height)):
        total = 0.0
        for j in range(ptr[k], ptr[k + 1]):
            total += weight[j - ptr[k]] * prob[j]
        height[k] = total


@kernel
def l1_distance(x: np.ndarray, i: int, m: int, y: np.ndarray, k: int, n: int) -> float:
    """L1 distance of the profiles x[i:i + m] and y[k:k + n], summed by position; the shorter one goes on with zeros."""
    total = 0.0
    for p in range(min(m, n)):
        total += abs(x[i + p] - y[k + p])
    for p in range(n, m):
        total += x[i + p]
    for p in range(m, n):
        total += y[k + p]
    return total


@kernel
def profile_l1(table: Rows, k: int, j: int) -> float:
    """L1 distance of two profiles of one table."""
    ptr, _, prob = table
    return l1_distance(prob, ptr[k], ptr[k + 1] - ptr[k], prob, ptr[j], ptr[j + 1] - ptr[j])
