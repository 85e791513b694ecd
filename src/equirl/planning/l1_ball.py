"""L1 balls around estimated transition probabilities: the confidence set of UCRL2, and the best distribution in it.

Over the ball ``{q : ||q - p||_1 <= d}`` the maximum of q.u moves mass ``m = min(d / 2, 1)`` to a state of largest u
and takes it from the successors of smallest u. Where the taking reaches the best state itself, giving and taking
cancel, so only the successors of p matter and a sweep costs O(stored successors), never O(S^2 A).

Each row is kept in increasing u, in place: one pass then takes the mass from its front, adds up the rest and sees
whether the order still holds; a row whose order broke is sorted by insertion and passed again. Orders settle after a
few sweeps, so a sweep costs about as much as a sparse matrix product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.estimation.placements import Placed, contains
from equirl.numerics.arrays import take_rows
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.planning.sweeps import Choices, Solver, Stop, Work, follow, iterate, sort_by_u, sweep_states


class ConfidenceSet(NamedTuple):
    """Plausible models, pair by pair: an L1 ball of transition probabilities and an interval of mean rewards.

    A row may hold no successors where its radius is 2 (any distribution is plausible). ``spare`` masses belong to the
    estimate but are placed on no state yet; planning gives them to the best unobserved states.
    """

    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,)
    prob: np.ndarray  # (nnz,)
    p_radius: np.ndarray  # (M,)
    r_lower: np.ndarray  # (M,) in [0, 1]
    r_upper: np.ndarray  # (M,) in [0, 1]
    spare_ptr: np.ndarray  # (M + 1,) or (1,) where nothing is spare
    spare: np.ndarray

    @property
    def n_entries(self) -> int:
        """Stored successors: what one sweep looks at."""
        return len(self.succ)

    def widths(self) -> np.ndarray:
        """(M,) the radii, at most 2: how far a plausible row may lie from the estimate in L1."""
        return np.minimum(self.p_radius, 2.0)

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Bounds on the probabilities of a pair's stored successors, and the largest of any other state."""
        half, row = min(1.0, 0.5 * float(self.p_radius[pair])), slice(self.ptr[pair], self.ptr[pair + 1])
        return np.maximum(self.prob[row] - half, 0.0), np.minimum(self.prob[row] + half, 1.0), half

    def prepare(self) -> tuple[Solver, BallRows]:
        """The kernels and the arrays they read; rows with unplaced mass have room for it at their end."""
        placed = Placed(self.ptr, self.succ, self.prob, self.spare_ptr, self.spare)
        if not len(self.spare):
            ptr, succ, prob = self.ptr, self.succ.astype(np.uint32), self.prob.copy()
        else:
            ptr = self.ptr + self.spare_ptr
            succ, prob = np.zeros(ptr[-1], np.uint32), np.zeros(ptr[-1])
        rows = BallRows(ptr, succ, prob, 0.5 * self.p_radius, self.r_upper, placed)
        return Solver(iterate_balls, sweep_balls, None if len(self.spare) else follow_balls), rows

    def restrict(self, pairs: np.ndarray) -> ConfidenceSet:
        """The set of some pairs alone, numbered 0, 1, ... in the order given."""
        ptr, entry = take_rows(self.ptr, pairs)
        spare_ptr, spare = self.spare_ptr, self.spare
        if len(spare):
            spare_ptr, place = take_rows(spare_ptr, pairs)
            spare = spare[place]
        radius, lower, upper = (values[pairs] for values in (self.p_radius, self.r_lower, self.r_upper))
        return ConfidenceSet(ptr, self.succ[entry], self.prob[entry], radius, lower, upper, spare_ptr, spare)

    def with_rewards(self, reward: np.ndarray) -> ConfidenceSet:
        """The same transition probabilities with these rewards."""
        return self._replace(r_lower=reward, r_upper=reward)


class BallRows(NamedTuple):
    """The balls as sweeps read them; rows are kept in increasing u."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) uint32
    prob: np.ndarray  # (nnz,) float64
    moved: np.ndarray  # (M,) half the radius
    reward: np.ndarray  # (M,)
    placed: Placed  # the estimates, whose spare masses are placed anew before each sweep


@inlined
def ball_maximum(models: BallRows, k: int, work: Work, u_max: float) -> float:
    """The largest q.u over the ball of pair k."""
    m, value = models.moved[k], u_max
    one = np.uint64(1)
    while m < 1.0:
        left, value, before, ordered = m, 0.0, -np.inf, True
        for i in range(np.uint64(models.ptr[k]), np.uint64(models.ptr[k + one])):
            x, p = work.u[models.succ[i]], models.prob[i]
            ordered &= before <= x
            before = x
            taken = min(p, left)
            left -= taken
            value += (p - taken) * x
        if ordered:
            value += (m - left) * u_max
            break
        sort_row(models.ptr[k], models.ptr[k + one], models.succ, models.prob, work.u)
    return value


@lean_kernel
def sort_row(first: int, last: int, succ: np.ndarray, prob: np.ndarray, u: np.ndarray) -> None:
    """Put the row ``first:last`` in increasing u."""
    for i in range(first + 1, last):
        x, p, j = succ[i], prob[i], i
        while j > first and u[succ[j - 1]] > u[x]:
            succ[j], prob[j] = succ[j - 1], prob[j - 1]
            j -= 1
        succ[j], prob[j] = x, p


@lean_kernel
def sweep_balls(
    choices: Choices, models: BallRows, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep over the balls as their rows stand."""
    return sweep_states(ball_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def sweep_placing(
    choices: Choices, models: BallRows, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep before which spare masses go to the best unobserved states."""
    if len(models.placed.spare) > 0:
        sort_by_u(work.u, work.by_u)
        place_spare(models, work.by_u)
    return sweep_balls(choices, models, work, stop, u_max, shift)


@lean_kernel
def iterate_balls(choices: Choices, models: BallRows, work: Work, stop: Stop) -> tuple[int, float, float]:
    """Extended value iteration over the balls."""
    return iterate(sweep_placing, sweep_balls, choices, models, work, stop)


@lean_kernel
def follow_balls(
    choices: Choices, models: BallRows, work: Work, stop: Stop, u_min: float, u_max: float
) -> tuple[float, float]:
    """Cheap sweeps along the best pairs."""
    return follow(sweep_balls, choices, models, work, stop, u_min, u_max)


@lean_kernel
def place_spare(models: BallRows, by_u: np.ndarray) -> None:
    """Write each row anew: its observed successors, then its spare masses on unobserved states in decreasing u."""
    fixed, succ, prob = models.placed, models.succ, models.prob
    for k in range(len(models.ptr) - 1):
        first, last, at = fixed.ptr[k], fixed.ptr[k + 1], models.ptr[k]
        for i in range(first, last):
            succ[at], prob[at] = fixed.succ[i], fixed.prob[i]
            at += 1
        rank = 0
        for i in range(fixed.spare_ptr[k], fixed.spare_ptr[k + 1]):
            while contains(fixed.succ, first, last, by_u[rank]):
                rank += 1
            succ[at], prob[at] = by_u[rank], fixed.spare[i]
            at += 1
            rank += 1
