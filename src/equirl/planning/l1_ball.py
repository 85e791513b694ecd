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

from equirl.estimation.pooling import Spare
from equirl.model.rows import Rows, contains
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.planning.optimistic_planning import Choices, Solver, Stop, Work, follow, iterate, sort_by_u, sweep_states


class ConfidenceSet(NamedTuple):
    """Plausible models, pair by pair: an L1 ball of transition probabilities and an interval of mean rewards.

    A row may hold no successors where its radius is 2 (any distribution is plausible). ``spare`` masses belong to the
    estimate but are placed on no state yet; planning gives them to the best unobserved states.

    Parameters
    ----------
    rows : Rows
        The estimated transition probabilities.
    p_radius : ndarray of float, shape (M,)
        The radius of each ball.
    r_lower, r_upper : ndarray of float, shape (M,)
        Bounds on mean rewards in [0, 1].
    spare : Spare, optional
        Masses of the rows that are placed on no state.
    """

    rows: Rows
    p_radius: np.ndarray  # (M,)
    r_lower: np.ndarray  # (M,) in [0, 1]
    r_upper: np.ndarray  # (M,) in [0, 1]
    spare: Spare | None = None

    @property
    def n_entries(self) -> int:
        return len(self.rows.succ)

    def widths(self) -> np.ndarray:
        return np.minimum(self.p_radius, 2.0)

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        half, prob = min(1.0, 0.5 * float(self.p_radius[pair])), self.rows.prob[self.rows.row(pair)]
        return np.maximum(prob - half, 0.0), np.minimum(prob + half, 1.0), half

    def prepare(self) -> tuple[Solver, Balls | PlacedBalls]:
        """The kernels and the arrays they read; rows with spare mass have room for it at their end."""
        ptr, succ, prob = self.rows
        if self.spare is None:
            rows = Rows(ptr, succ.astype(np.uint32), prob.copy())
            return Solver(iterate_balls, sweep_balls, follow_balls, on_gpu=True), Balls(rows, 0.5 * self.p_radius)
        ptr = ptr + self.spare.ptr
        rows = Rows(ptr, np.zeros(ptr[-1], np.uint32), np.zeros(ptr[-1]))
        return Solver(iterate_placed, sweep_placed), PlacedBalls(rows, 0.5 * self.p_radius, self.rows, self.spare)

    def restrict(self, pairs: np.ndarray) -> ConfidenceSet:
        radius, lower, upper = (values[pairs] for values in (self.p_radius, self.r_lower, self.r_upper))
        return ConfidenceSet(self.rows.take(pairs), radius, lower, upper, self.spare and self.spare.take(pairs))

    def with_rewards(self, reward: np.ndarray) -> ConfidenceSet:
        return self._replace(r_lower=reward, r_upper=reward)

    def without_supports(self) -> ConfidenceSet:
        return self


class Balls(NamedTuple):
    """The balls as sweeps read them."""

    rows: Rows  # kept in increasing u
    moved: np.ndarray  # (M,) half the radius


class PlacedBalls(NamedTuple):
    """Balls around estimates with spare masses, which are placed anew before each sweep."""

    rows: Rows  # kept in increasing u
    moved: np.ndarray  # (M,) half the radius
    estimate: Rows
    spare: Spare


@inlined
def ball_maximum(models: Balls | PlacedBalls, k: int, work: Work, u_max: float) -> float:
    """The largest q.u over the ball of pair k."""
    m, value = models.moved[k], u_max
    rows, one = models.rows, np.uint64(1)
    while m < 1.0:
        left, value, before, ordered = m, 0.0, -np.inf, True
        for i in range(np.uint64(rows.ptr[k]), np.uint64(rows.ptr[k + one])):
            x, p = work.u[rows.succ[i]], rows.prob[i]
            ordered &= before <= x
            before = x
            taken = min(p, left)
            left -= taken
            value += (p - taken) * x
        if ordered:
            value += (m - left) * u_max
            break
        sort_row(rows.ptr[k], rows.ptr[k + one], rows.succ, rows.prob, work.u)
    return value


@lean_kernel
def sort_row(first: int, last: int, succ: np.ndarray, prob: np.ndarray, u: np.ndarray) -> None:
    for i in range(first + 1, last):
        x, p, j = succ[i], prob[i], i
        while j > first and u[succ[j - 1]] > u[x]:
            succ[j], prob[j] = succ[j - 1], prob[j - 1]
            j -= 1
        succ[j], prob[j] = x, p


@lean_kernel
def sweep_balls(
    choices: Choices, models: Balls | PlacedBalls, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep over the balls as their rows stand."""
    return sweep_states(ball_maximum, choices, models, work, stop, u_max, shift)


@lean_kernel
def sweep_placed(
    choices: Choices, models: PlacedBalls, work: Work, stop: Stop, u_max: float, shift: float
) -> tuple[float, float, float, float]:
    """A sweep before which spare masses go to the best unobserved states."""
    sort_by_u(work.u, work.by_u)
    place_spare(models, work.by_u)
    return sweep_balls(choices, models, work, stop, u_max, shift)


@lean_kernel
def iterate_balls(choices: Choices, models: Balls, work: Work, stop: Stop) -> tuple[int, float, float]:
    return iterate(sweep_balls, sweep_balls, choices, models, work, stop)


@lean_kernel
def iterate_placed(choices: Choices, models: PlacedBalls, work: Work, stop: Stop) -> tuple[int, float, float]:
    """Extended value iteration over balls with spare masses; cheap sweeps leave these where they are."""
    return iterate(sweep_placed, sweep_balls, choices, models, work, stop)


@lean_kernel
def follow_balls(
    choices: Choices, models: Balls, work: Work, stop: Stop, u_min: float, u_max: float
) -> tuple[float, float]:
    return follow(sweep_balls, choices, models, work, stop, u_min, u_max)


@lean_kernel
def place_spare(models: PlacedBalls, by_u: np.ndarray) -> None:
    """Write each row anew: its observed successors, then its spare masses on unobserved states in decreasing u."""
    fixed, spare, rows = models.estimate, models.spare, models.rows
    for k in range(len(rows.ptr) - 1):
        first, last, at = fixed.ptr[k], fixed.ptr[k + 1], rows.ptr[k]
        for i in range(first, last):
            rows.succ[at], rows.prob[at] = fixed.succ[i], fixed.prob[i]
            at += 1
        rank = 0
        for i in range(spare.ptr[k], spare.ptr[k + 1]):
            while contains(fixed.succ, first, last, by_u[rank]):
                rank += 1
            rows.succ[at], rows.prob[at] = by_u[rank], spare.mass[i]
            at += 1
            rank += 1
