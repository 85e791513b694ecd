"""What no learner can beat: asymptotic lower bounds on regret in ergodic MDPs (Burnetas and Katehakis 1997).

A learner that is good in every ergodic MDP (regret below every power of T) has

    liminf R_T / log T  >=  sum over pairs with gap > 0 of gap(s,a) / K(s,a),
    gap(s,a) = g* + h*(s) - mu(s,a) - p(.|s,a).h*,
    K(s,a) = the least KL divergence from the pair's distribution of outcomes (r, s') to one whose mean of
             r + h*(s') exceeds g* + h*(s).

**What is taken.** Outcomes are pairs of a reward in [0, 1] and a successor; the other distribution may be any
distribution on [0, 1] x {all states}, so it may pay 1 and lead to the best state even where the MDP never does. K
depends on the distribution of X = r + h*(s') alone and is the one-dimensional maximum of
:mod:`equirl.estimation.kl_inf` with top 1 + max h* and target g* + h*(s). The pair's distribution of X is that of the
MDP: deterministic rewards are the number mu(s,a), Bernoulli ones are 0 or 1, beta ones are integrated (Gauss-Jacobi).
Learners given more about rewards or successors may pay less.

**With classes.** Pairs of a class share their distribution up to the placing of states (given) and their reward
distribution, so a sample of one is a sample of all. A class that holds an optimal pair is learned for nothing; any
other is played where it costs least until the pair of the class that is easiest to mistake for a better one is decided:

    sum over classes without an optimal pair of (least gap in the class) / (least K in the class).

The given placing is read as a numbering of states by position; that probabilities decrease along it is not imposed on
the other distribution. Learners who are not given the classes have the first bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import roots_jacobi

from equirl.estimation.kl_inf import kl_inf
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.solving.chains import chain_kind
from equirl.solving.optimal_gain import solve
from equirl.structure.partition import Partition
from equirl.words.answer_units import InUnits
from equirl.words.checking import inside
from equirl.words.formatting import shown

NODES = 64  # of the quadrature of beta rewards
ACCURACY = 1e-11  # asked of gain and bias


class Confusion(NamedTuple):
    """For each pair of the reachable part, what playing it costs and how hard it is to rule out."""

    pair: np.ndarray  # (m,) their numbers in the MDP
    gap: np.ndarray  # (m,) regret of one play, of rewards in [0, 1]; 0 for optimal pairs
    divergence: np.ndarray  # (m,) K; inf where no rewards in [0, 1] would make the pair better than the best


def confusion(mdp: TabularMDP, tolerance: float = 1e-8) -> Confusion:
    """Gaps and least divergences of the pairs reachable from the initial distribution. O(successors) after solving."""
    check_mdp(mdp)
    tolerance = inside("tolerance", tolerance, 0, math.inf)
    kind = chain_kind(mdp)
    if kind != "ergodic":
        raise ValueError(f"the bound holds for ergodic MDPs; this mdp is {kind}: some policy avoids a state for ever")
    pair = np.flatnonzero(mdp.reachable()[mdp.pairs.state])
    solution = solve(mdp, ACCURACY)
    h, top = solution.unit_bias, 1.0 + float(np.nanmax(solution.unit_bias))
    gap, divergence = np.zeros(len(pair)), np.zeros(len(pair))
    for i, k in enumerate(pair):
        row = mdp.rows.row(int(k))
        after, prob = h[mdp.rows.succ[row]], mdp.rows.prob[row]
        target = solution.unit_gain + h[mdp.pairs.state[k]]
        excess = target - mdp.r_mean[k] - float(prob @ after)
        if excess > tolerance * (1.0 + solution.unit_span):
            reward, mass = _reward_distribution(mdp, int(k))
            x, weight = np.add.outer(after, reward).ravel(), np.multiply.outer(prob, mass).ravel()
            gap[i], divergence[i] = excess, kl_inf(weight, x, len(x), target, top)
    return Confusion(pair, gap, divergence)


def regret_lower_bound(mdp: TabularMDP, classes: Partition | None = None, tolerance: float = 1e-8) -> InUnits[float]:
    """The constant c of ``liminf R_T / log T >= c``, without or with given classes.

    In the units of the problem's rewards. It is 0 where every pair is optimal or cannot be mistaken for a better one.

    Parameters
    ----------
    mdp : TabularMDP
        Its part reachable from the initial distribution must be ergodic.
    classes : Partition, optional
        Classes of the MDP's pairs, given to the learner together with the profiles; rewards are tied to classes.
    tolerance : float
        Gaps up to ``tolerance * (1 + span of h*)`` are taken for 0.

    Examples
    --------
    >>> arms = TabularMDP.from_arrays([[[1.0], [1.0]]], [[0.5, 0.6]], reward_law="bernoulli")  # a bandit
    >>> kl = 0.5 * math.log(0.5 / 0.6) + 0.5 * math.log(0.5 / 0.4)
    >>> round(regret_lower_bound(arms) - 0.1 / kl, 9)
    0.0
    """
    found = confusion(mdp, tolerance)
    if classes is None:
        return mdp.reward_map[0] * float((found.gap / np.where(found.gap > 0, found.divergence, 1.0)).sum())
    if not isinstance(classes, Partition):
        raise TypeError(f"classes must be a Partition, not {shown(classes)}")
    if classes.n_pairs != mdp.n_pairs:
        raise ValueError(f"classes are a partition of {classes.n_pairs} pairs; the mdp has {mdp.n_pairs}")
    total = 0.0
    for members in classes.restrict(found.pair):
        total += float(found.gap[members].min() / found.divergence[members].min()) if found.gap[members].all() else 0.0
    return mdp.reward_map[0] * total


def _reward_distribution(mdp: TabularMDP, pair: int) -> tuple[np.ndarray, np.ndarray]:
    mean = float(mdp.r_mean[pair])
    if mdp.reward_law == "bernoulli":
        return np.array([0.0, 1.0]), np.array([1.0 - mean, mean])
    if mdp.reward_law == "beta" and 0.0 < mean < 1.0:
        node, weight = roots_jacobi(NODES, (1 - mean) * mdp.concentration - 1, mean * mdp.concentration - 1)
        return (1.0 + node) / 2, weight / weight.sum()
    return np.array([mean]), np.ones(1)
