"""Rewards that come with where a pair leads. For policies from logs, which say what came with which successor.

Where a goal pays and ends, a mean reward and the chance to end are one thing. Drawn apart, the chance pooled over a
class, a pair of lucky visits keeps its reward and loses the chance that goes with it: to stay beside the goal seems to
pay for ever. So a pair pays in one of two ways,

- by pair, whatever follows: a mean from the tables of ``reward_priors``;
- by successor: what comes with x has a mean m(x), from tables of the same kind, at which the successors of pairs sit.
  With the probabilities p drawn for those seen, and as wary of what was not as ``planning.wary_model``, the mean is

      r = v + unseen min(0, base - v),        v = sum over seen x of p(x) m(x) / (1 - unseen),

  ``base`` being what successors pay on average.

A share rho of the pairs pays by successor, rho ~ Beta(MIXED, MIXED): pairs of one log are mostly of a kind. Of each the
rewards are held against both, by their marginal likelihoods with one mean or one for each successor; noise, and how
much coins are alike, are those by which all of them are likeliest at even odds. A pair has a say if it led to several
states and did not always pay 0, or always 1. Of amounts, an only one that came with a successor has none: whatever it
is, it fits a mean of its own.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from equirl.estimation.counts import Snapshot
from equirl.numerics.arrays import owners
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import draw_state
from equirl.planning.exact_model import ExactModel
from equirl.posterior.deployment import places_of_seen
from equirl.posterior.reward_priors import (
    RANGE_VARIANCE,
    SAME,
    DrawnRewards,
    base_of,
    log_marginal_of_amounts,
    log_marginal_of_coins,
)

MIXED = 0.1
SHARES = np.clip(betaincinv(MIXED, MIXED, (np.arange(40) + 0.5) / 40), 1e-6, 1 - 1e-6)  # of pairs, equally likely
NOISES = np.geomspace(SAME, RANGE_VARIANCE, 12)  # b of ``reward_priors``; the least is none
STRENGTHS = np.geomspace(0.25, 64.0, 5)  # of the base of coins, in tosses
LEAST_CHANCE = 1e-3  # below which no pair is taken to pay by successor


class SuccessorRewards:
    """What is drawn of rewards that come with successors."""

    def __init__(
        self, prior: DrawnRewards, seen: Snapshot, paid: tuple[np.ndarray, np.ndarray], seed: np.random.SeedSequence
    ) -> None:
        total, squares = paid if prior.reward_noise == "drawn" else (paid[0], paid[0])
        self.seen, self.cells = seen, seen._replace(visits=seen.count, r_sum=total, r_squares=squares)
        self.chance = np.where(seen.visits > 0, chance_by_successor(seen, total, squares), 0.0)
        self.sampler = prior.sampler_of(len(total))
        self.sampler.drop_hope()
        of_means, of_pairs = seed.spawn(2)
        self.rng, self.pick = draw_state(of_means), np.random.default_rng(of_pairs)

    def coupled(self, model: ExactModel) -> ExactModel:
        """A drawn MDP in which pairs drawn to pay by successor do."""
        if (self.chance < LEAST_CHANCE).all():
            return model
        mean = row_means(self.seen, model, self.sampler.draw(self.cells, self.rng), base_of(self.cells, False)[0])
        return model.with_rewards(np.where(self.pick.random(len(mean)) < self.chance, mean, model.reward))


def row_means(seen: Snapshot, model: ExactModel, means: np.ndarray, base: float) -> np.ndarray:
    """(M,) what drawn rows pay if each successor seen pays its mean; ``base`` for a row of nothing seen."""
    owner, M = owners(seen.ptr), len(seen.visits)
    prob = model.rows.prob[places_of_seen(seen, [model])[0]]
    known = np.bincount(owner, weights=prob, minlength=M)
    paid = np.bincount(owner, weights=prob * means, minlength=M)
    value = np.divide(paid, known, out=np.full(M, base), where=known > 0)
    return value + (1.0 - known) * np.minimum(0.0, base - value)


def chance_by_successor(seen: Snapshot, paid: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """(M,) the probability that a pair pays by successor, given what came with the successors of all."""
    more = evidence_for_successors(seen, paid, squares)
    log_share, log_rest = np.log(SHARES)[:, None], np.log1p(-SHARES)[:, None]
    joint = np.logaddexp(log_share + more, log_rest)
    weight = joint.sum(axis=1)
    weight = np.exp(weight - weight.max())
    chance: np.ndarray = (weight / weight.sum()) @ np.exp(log_share + more - joint)
    return chance


def evidence_for_successors(seen: Snapshot, paid: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """(M,) the log of how much likelier a pair's rewards are by successor than by pair; 0 for one that has no say."""
    owner, M, base = owners(seen.ptr), len(seen.visits), base_of(seen, False)
    coins = seen.r_sum - seen.r_squares <= SAME * seen.visits
    n = np.where(coins[owner] | (seen.count > 1), seen.count, 0).astype(float)
    visits, total = (np.bincount(owner, weights=of * (n > 0), minlength=M) for of in (n, paid))
    says = (total > SAME * visits) & (total < (1 - SAME) * visits)
    more = np.zeros(M)
    for kind, scales in ((says & coins, STRENGTHS), (says & ~coins, NOISES)):
        found = [np.zeros((2, M)) for _ in scales]
        for scale, out in zip(scales, found, strict=True):
            compare_marginals(seen.ptr, n, paid, squares, kind & coins, scale, scale * base, out)
        alone, apart = max(found, key=lambda out: float(np.logaddexp(*out)[kind].sum()))
        more[kind] = (apart - alone)[kind]
    return more


@lean_kernel
def compare_marginals(
    ptr: np.ndarray, n: np.ndarray, paid: np.ndarray, squares: np.ndarray, coins: np.ndarray, b: float,
    base: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Log likelihoods (2, M) of what came with the successors of pairs: with one mean for all, with one for each."""
    for k in range(len(ptr) - 1):
        visits, total, square = 0.0, 0.0, 0.0
        for i in range(ptr[k], ptr[k + 1]):
            if n[i] > 0.0:
                out[1, k] += _log_marginal(n[i], paid[i], squares[i], coins[k], b, base)
                visits, total, square = visits + n[i], total + paid[i], square + squares[i]
        if visits > 0.0:
            out[0, k] = _log_marginal(visits, total, square, coins[k], b, base)


@lean_kernel
def _log_marginal(n: float, total: float, squares: float, coins: bool, b: float, base: np.ndarray) -> float:
    """Of what a pair paid in part, which may be 0 and 1 alone where it pays other amounts."""
    return log_marginal_of_coins(n, total, base) if coins else log_marginal_of_amounts(n, total, squares, b)
