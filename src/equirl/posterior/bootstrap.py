"""What was seen, drawn again: the Bayesian bootstrap (Rubin 1981), in which no prior has a say."""

from __future__ import annotations

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.model.rows import Rows
from equirl.numerics.arrays import owners, starts, take_rows
from equirl.planning.exact_model import ExactModel
from equirl.posterior.reward_priors import SAME

Paid = tuple[np.ndarray, np.ndarray] | None  # (nnz,) sums of the rewards that came with each successor, and of squares


def resampled_rows(
    seen: Snapshot, policy: np.ndarray, model: ExactModel, rng: np.random.Generator, paid: Paid = None
) -> ExactModel:
    """The rows of a policy, each Dirichlet(counts) with ``resampled_rewards``; those never played as in ``model``.

    In a posterior every pair on the way may also lead where it never did: with few visits that shifts what a policy
    earns, at every pair the same way. So the two spreads together say more than either.
    """
    played, drawn = seen.visits[policy] > 0, model.restrict(policy)
    ptr, entry = take_rows(seen.ptr, policy)
    owner, S = owners(ptr), len(policy)
    weight = rng.standard_gamma(seen.count[entry].astype(float))
    prob = weight / np.bincount(owner, weights=weight, minlength=S)[owner]
    mean = np.bincount(owner, weights=prob * resampled_rewards(seen, policy, rng, paid), minlength=S)

    own_size, size = np.diff(ptr), np.diff(drawn.rows.ptr)
    whole = starts(np.where(played, own_size, size))
    succ, chance = np.zeros(whole[-1], np.int32), np.zeros(whole[-1])
    rows = np.flatnonzero(played), ptr, seen.succ[entry], prob
    for chosen, from_ptr, states, masses in (rows, (np.flatnonzero(~played), *drawn.rows)):
        sizes, place = take_rows(from_ptr, chosen)
        goal = np.repeat(whole[chosen] - sizes[:-1], np.diff(sizes)) + np.arange(sizes[-1])
        succ[goal], chance[goal] = states[place], masses[place]
    rest, reward = np.where(played, 0.0, drawn.rest), np.where(played, mean, drawn.reward)
    return ExactModel(Rows(whole, succ, chance), rest, reward, np.arange(S), drawn.stay)


def resampled_rewards(seen: Snapshot, pairs: np.ndarray, rng: np.random.Generator, paid: Paid = None) -> np.ndarray:
    """What comes with each successor of some pairs, likewise: where it is not known, what the pair pays on average.

    It is what always came, a coin's mean Beta(sum, visits - sum), or a mean as far off as its own noise allows.
    """
    ptr, entry = take_rows(seen.ptr, pairs)
    if paid is not None:
        return resampled_means(seen.count[entry], paid[0][entry], paid[1][entry], rng)
    return resampled_means(seen.visits[pairs], seen.r_sum[pairs], seen.r_squares[pairs], rng)[owners(ptr)]


def resampled_means(n: np.ndarray, total: np.ndarray, squares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mean rewards, given how many there were, their sums and those of their squares; 0 where there was none."""
    total = np.clip(total, 0.0, n)
    mean = total / np.maximum(1, n)
    variance = np.maximum(0.0, squares / np.maximum(1, n) - mean**2)
    varies, coins = variance > SAME, total - squares <= SAME * n
    tossed = varies & coins
    mean[tossed] = rng.beta(total[tossed], (n - total)[tossed])
    noisy = varies & ~coins
    drawn_mean = mean[noisy] + np.sqrt(variance[noisy] / n[noisy]) * rng.standard_normal(noisy.sum())
    mean[noisy] = np.clip(drawn_mean, 0.0, 1.0)
    return mean
