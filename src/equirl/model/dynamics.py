"""An MDP as compiled loops play it: a uniform number per step moves it, and one more pays where rewards are random."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.rows import Rows
from equirl.numerics.beta_quantile import beta_reward
from equirl.numerics.compiling import inlined, lean_kernel


class Dynamics(NamedTuple):
    pair_ptr: np.ndarray  # (S + 1,)
    rows: Rows  # with probabilities summed along each row
    r_mean: np.ndarray  # (M,)
    concentration: float  # of Beta rewards; 0 for other laws


class Chances(NamedTuple):
    """Uniform numbers in [0, 1), one per step."""

    moves: np.ndarray  # (n,)
    pay: np.ndarray  # (n,), or empty where a pair pays its mean


def dynamics_of(mdp: TabularMDP) -> Dynamics:
    cumulative = np.empty(len(mdp.rows.prob))
    cumulate_rows(mdp.rows.ptr, mdp.rows.prob, cumulative)
    concentration = mdp.concentration if mdp.reward_law == "beta" else 0.0
    return Dynamics(mdp.pairs.ptr, mdp.rows._replace(prob=cumulative), mdp.r_mean, float(concentration))


@lean_kernel
def cumulate_rows(ptr: np.ndarray, prob: np.ndarray, out: np.ndarray) -> None:
    for k in range(len(ptr) - 1):
        total = 0.0
        for i in range(ptr[k], ptr[k + 1]):
            total += prob[i]
            out[i] = total


@inlined
def successor_drawn(rows: Rows, pair: int, draw: float) -> int:
    """The first successor whose probability, summed along the row, exceeds a uniform number."""
    low, high = rows.ptr[pair], rows.ptr[pair + 1] - 1
    while low < high:
        middle = (low + high) >> 1
        if draw < rows.prob[middle]:
            high = middle
        else:
            low = middle + 1
    return int(rows.succ[low])


@inlined
def simple_reward(mean: float, concentration: float, pay: np.ndarray, step: int) -> float:
    """What a pair pays where that is its mean, or 1 with this probability and else 0."""
    if len(pay) == 0:
        return mean
    return 1.0 if pay[step] < mean else 0.0


@inlined
def beta_drawn(mean: float, concentration: float, pay: np.ndarray, step: int) -> float:
    """What a pair pays where rewards have Beta distributions."""
    return beta_reward(mean, concentration, pay[step])
