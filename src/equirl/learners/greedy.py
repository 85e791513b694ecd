"""The best policy of the estimates themselves: no radii, nothing drawn."""

from __future__ import annotations

import numpy as np

from equirl.estimation.pooling import Estimates
from equirl.model.pairs import Pairs
from equirl.numerics.arrays import owners, starts
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import extended_value_iteration

STAY = 0.5  # half the time staying: chains are aperiodic, so that sweeps converge


def greedy_pairs(pairs: Pairs, estimates: Estimates, accuracy: float = 1e-6) -> np.ndarray:
    """(S,) the best pair in each state of the estimated MDP. Pairs without samples pay nothing and stay put."""
    known = estimates.samples > 0
    row = owners(estimates.ptr)
    placed = np.bincount(row, weights=estimates.prob, minlength=pairs.n_pairs)  # below 1 where masses are spare
    prob, succ = np.zeros(len(row)), estimates.succ
    np.divide(estimates.prob, placed[row], out=prob, where=known[row])
    size = np.diff(estimates.ptr) + ~known  # a pair without samples gets one entry: its own state
    ptr = starts(size)
    ends = np.flatnonzero(~known)
    succ = np.insert(succ, estimates.ptr[ends + 1], pairs.state[ends])
    prob = np.insert(prob, estimates.ptr[ends + 1], 1.0)
    means = np.where(known, estimates.r_hat, 0.0)
    model = ExactModel(ptr, succ, prob, np.zeros(pairs.n_pairs), means, pairs.state.copy(), STAY)
    return extended_value_iteration(pairs.ptr, model, accuracy, max_sweeps=10**4).policy
