"""What was seen, drawn again: the Bayesian bootstrap of the rows that a policy plays (Rubin 1981).

A pair leads where it was seen to lead, with probabilities Dirichlet(counts), and pays what it always paid, or a mean
Beta(paid, visits - paid). No prior has a say. In a posterior every pair on the way may also lead where it never did:
with few visits that shifts what a policy earns, at every pair the same way. So the two spreads together say more than
either.
"""

from __future__ import annotations

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.arrays import owners, starts, take_rows
from equirl.planning.exact_model import ExactModel
from equirl.posterior.sure_rewards import SAME


def resampled_rows(seen: Snapshot, policy: np.ndarray, model: ExactModel, rng: np.random.Generator) -> ExactModel:
    """The rows of a policy, a pair per state, drawn from what was seen of them; those never played as in ``model``."""
    n, paid = seen.visits[policy], np.clip(seen.r_sum[policy], 0.0, seen.visits[policy])
    played, drawn = n > 0, model.restrict(policy)
    ptr, entry = take_rows(seen.ptr, policy)
    weight = rng.standard_gamma(seen.count[entry].astype(float))
    total = np.bincount(owners(ptr), weights=weight, minlength=len(policy))
    prob = weight / total[owners(ptr)]
    mean = paid / np.maximum(1, n)
    varies = (paid > 0) & (paid < n) & (seen.r_squares[policy] / np.maximum(1, n) - mean**2 > SAME)
    mean[varies] = rng.beta(paid[varies], (n - paid)[varies])

    own_size, size = np.diff(ptr), np.diff(drawn.ptr)
    whole = starts(np.where(played, own_size, size))
    succ, chance = np.zeros(whole[-1], np.int32), np.zeros(whole[-1])
    rows = np.flatnonzero(played), ptr, seen.succ[entry], prob
    for chosen, from_ptr, states, masses in (rows, (np.flatnonzero(~played), drawn.ptr, drawn.succ, drawn.prob)):
        sizes, place = take_rows(from_ptr, chosen)
        goal = np.repeat(whole[chosen] - sizes[:-1], np.diff(sizes)) + np.arange(sizes[-1])
        succ[goal], chance[goal] = states[place], masses[place]
    rest, reward = np.where(played, 0.0, drawn.rest), np.where(played, mean, drawn.reward)
    return ExactModel(whole, succ, chance, rest, reward, np.arange(len(policy)), drawn.stay)
