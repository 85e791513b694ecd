"""What was seen of an MDP, and a wary view of what was not. For policies that are to be deployed.

A pair leads where it was seen to lead, except for a mass ``unseen[k]`` of which nothing is known. Where that mass goes
would be worth what the pair's known successors are worth on average, or what a usual state is worth (``share`` of the
time is spent in each), whichever is less:

    value of k  =  v + unseen[k] min(0, share.u - v),        v = sum over seen x of p(x) u(x).

So a pair of few lucky visits is drawn back to the usual, and one whose visits were poor is not hoped to do better. A
pair never tried is of no use; in a state where none was, what follows is usual.

All of it may be given several times over, by draws from a posterior. A pair is then worth what all but
``rank`` of its draws give it at least: the policy found is good in all but a few draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.compiling import inlined, lean_kernel
from equirl.planning.optimistic_planning import Choices, Solver, Stop, Work, iterate, sweep_states


class WaryModel(NamedTuple):
    """Rows of the successors seen, in D draws, and what may be otherwise."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (entries,) int32
    prob: np.ndarray  # (D, entries): of the successors seen, summing to one
    unseen: np.ndarray  # (D, M)
    reward: np.ndarray  # (M,) on average over the draws
    surplus: np.ndarray  # (D, M): what a draw pays more, divided by the discount
    share: np.ndarray  # (S,) of the time, in each state
    avoided: np.ndarray  # (M,) bool: never tried, in a state where others were
    state: np.ndarray  # (M,) int64: the state of each pair
    stay: float  # every pair stays put with this probability, as in ``exact_model``
    rank: int  # of the value that counts, from 0: the least
    cell: np.ndarray  # (D,) scratch

    @property
    def r_upper(self) -> np.ndarray:
        return self.reward

    @property
    def n_entries(self) -> int:
        return self.prob.size

    def prepare(self) -> tuple[Solver, WaryModel]:
        return Solver(iterate_wary, sweep_wary), self


@inlined
def wary_value(models: WaryModel, k: int, work: Work, usual: float) -> float:
    """The wary value of what follows pair k, ``usual`` being that of a usual state."""
    if models.avoided[k]:
        return -np.inf
    first, last, cell = models.ptr[k], models.ptr[k + np.uint64(1)], models.cell
    for d in range(len(cell)):
        value = usual
        if last > first:
            value = 0.0
            for i in range(first, last):
                value += models.prob[d, i] * work.u[models.succ[i]]
            value += models.unseen[d, k] * min(0.0, usual - value)
        cell[d] = models.surplus[d, k] + (1.0 - models.stay) * value + models.stay * work.u[models.state[k]]
    return ranked(cell, models.rank)


@lean_kernel
def ranked(cell: np.ndarray, rank: int) -> float:
    """Of some values the one that ``rank`` others come before; they are sorted in place, the least first."""
    for i in range(1, len(cell)):
        x, j = cell[i], i
        while j > 0 and cell[j - 1] > x:
            cell[j] = cell[j - 1]
            j -= 1
        cell[j] = x
    return cell[rank]


@lean_kernel
def sweep_wary(
    choices: Choices, models: WaryModel, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    usual = 0.0
    for s in range(len(work.u)):
        usual += models.share[s] * work.u[s]
    return sweep_states(wary_value, choices, models, work, stop, usual, shift)


@lean_kernel
def iterate_wary(choices: Choices, models: WaryModel, work: Work, stop: Stop) -> tuple[int, float, float]:
    return iterate(sweep_wary, sweep_wary, choices, models, work, stop)
