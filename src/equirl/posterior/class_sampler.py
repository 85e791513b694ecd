"""The posterior of classes: which pairs are alike, and which of their successors correspond.

The model. Visited pairs sit in classes by a Chinese restaurant process (concentration alpha). A class has masses by
*position*, drawn by stick breaking (GEM, parameter gamma). Each pair of a class has its own injection from positions to
states, uniform: the masses are the class's, the states are the pair's. With N_j the pooled counts of a class by
position (without pair k), N their sum, and n_1 .. n_K the counts of k's successors, n their sum, an injection weighs

    prod_{i -> occupied j} Gamma(N_j + n_i) / Gamma(N_j)  *  prod_{i -> new} gamma Gamma(n_i)
        *  Gamma(gamma + N) / Gamma(gamma + N + n),

a class the number of its members times the sum of these, a new class alpha times the weight with all positions new.
A class also weighs what the classes of the pair's neighbours in its state say (``neighbouring_classes``).

One step for a pair. The sum over injections is not computed: for every class one injection is drawn, successor after
successor, and its weight over its chance is an unbiased estimate of the sum. With the injection that the pair holds
kept for its own class, choosing among the classes by these estimates leaves the posterior, given all other pairs,
exactly invariant (a Gibbs step with one importance particle per class). Before it, Metropolis steps rearrange the
injection held.

Cost of a pass: O(visited pairs * classes * successors * positions) look-ups. Memory: O(pairs + stored successors).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import (
    below,
    draw_concentration,
    log_gamma_whole,
    log_gammas,
    log_rising,
    log_seating,
    pick,
    pick_share,
    uniform,
)
from equirl.posterior.class_state import ClassState, install, is_placed, move_counts, reserve
from equirl.posterior.neighbouring_classes import make_room, neighbour_factor


class Scratch(NamedTuple):
    log_weight: np.ndarray  # (M + 2,) of the classes
    replay: np.ndarray  # (M + 2,) uint64: the generator before each class's injection was drawn
    taken: np.ndarray  # (positions,) int64
    cell: np.ndarray  # (positions + 1,) weights of positions
    place: np.ndarray  # (successors,) int64: an injection read backwards, the position of each successor
    spot: np.ndarray  # (positions,) int64: occupied positions
    log_gamma: np.ndarray  # of whole numbers, to be looked up


def make_scratch(n_pairs: int, longest: int, widest: int) -> Scratch:
    P = widest + longest + 1
    return Scratch(
        np.empty(n_pairs + 2), np.empty(n_pairs + 2, np.uint64), np.empty(P, np.int64), np.empty(P + 1),
        np.empty(longest + 1, np.int64), np.empty(P, np.int64),
        log_gammas(),
    )  # fmt: skip


@lean_kernel
def draw_injection(
    rng: np.ndarray, k: int, c: int, keep: bool, seen: Snapshot, state: ClassState, scratch: Scratch
) -> float:
    """Match pair k's successors, most frequent first, to positions of class c: log of weight over chance.

    ``scratch.place`` holds the injection, -1 for new positions. ``keep``: take the one that the pair holds.
    """
    gamma, J, first = state.hyper[1], state.width[c], state.start[c]
    taken, cell, known, start, log_new = scratch.taken, scratch.cell, scratch.log_gamma, seen.ptr[k], math.log(gamma)
    for j in range(J):
        taken[j] = state.pooled[first + j] == 0
    log_weight, visits = 0.0, 0.0
    for i in range(seen.ptr[k + 1] - start):
        n = seen.count[start + i]
        visits += n
        top = cell[J] = log_new + log_gamma_whole(n, known)
        for j in range(J):
            N = state.pooled[first + j]
            cell[j] = -math.inf if taken[j] else log_gamma_whole(N + n, known) - log_gamma_whole(N, known)
            top = max(top, cell[j])
        total = 0.0
        for j in range(J + 1):
            cell[j] = math.exp(cell[j] - top) if cell[j] > -math.inf else 0.0
            total += cell[j]
        log_weight += top + math.log(total)
        if keep:
            j = state.position[start + i]
            j = J if j >= J or taken[j] else j
        else:
            j = pick_share(rng, cell, J + 1, total)
        scratch.place[i] = j if j < J else -1
        if j < J:
            taken[j] = 1
    return log_weight - log_rising(gamma + state.total[c], visits)


@lean_kernel
def own_weight(k: int, seen: Snapshot, gamma: float) -> float:
    """Log weight of pair k in a class of its own."""
    log_weight, visits = 0.0, 0.0
    for i in range(seen.ptr[k], seen.ptr[k + 1]):
        visits += seen.count[i]
        log_weight += math.log(gamma) + math.lgamma(float(seen.count[i]))
    return log_weight - log_rising(gamma, visits)


@lean_kernel
def _position_weight(n: int, j: int, c: int, state: ClassState, scratch: Scratch) -> float:
    """Log weight of a successor seen n times at position j of class c; -1 is a new position."""
    if j < 0:
        return math.log(state.hyper[1]) + log_gamma_whole(n, scratch.log_gamma)
    N = state.pooled[state.start[c] + j]
    return log_gamma_whole(N + n, scratch.log_gamma) - log_gamma_whole(N, scratch.log_gamma)


@lean_kernel
def rearrange(rng: np.ndarray, k: int, c: int, seen: Snapshot, state: ClassState, scratch: Scratch) -> None:
    """Metropolis steps on the injection that pair k, taken out of class c, holds.

    A step sends a successor to a position, whoever is there to the successor's place; or, from there, to a new one.
    Without them a wrong matching stays, for the drawn injections hardly ever propose to leave it.
    """
    place, spot, holder, J, start = scratch.place, scratch.spot, scratch.taken, 0, seen.ptr[k]
    n = seen.ptr[k + 1] - start
    for j in range(state.width[c]):
        holder[j] = -1
        if state.pooled[state.start[c] + j] > 0:
            spot[J] = j
            J += 1
    for i in range(n):
        j = state.position[start + i]
        place[i] = j if j < state.width[c] and state.pooled[state.start[c] + j] > 0 else -1
        if place[i] >= 0:
            holder[place[i]] = i
    for _ in range(n * J):
        i, a = below(rng, n), spot[below(rng, J)]
        old, other = place[i], holder[a]
        to = -1 if old == a else a
        mine = seen.count[start + i]
        gain = _position_weight(mine, to, c, state, scratch) - _position_weight(mine, old, c, state, scratch)
        if other >= 0 and other != i:
            its = seen.count[start + other]
            gain += _position_weight(its, old, c, state, scratch) - _position_weight(its, a, c, state, scratch)
        if gain < 0.0 and math.log(uniform(rng)) >= gain:
            continue
        if old >= 0:
            holder[old] = -1
        if to >= 0:
            holder[to] = i
        place[i] = to
        if other >= 0 and other != i:
            place[other] = old
            if old >= 0:
                holder[old] = other
    for i in range(n):
        state.position[start + i] = place[i] if place[i] >= 0 else state.width[c] + n  # new: given a number by install


@lean_kernel
def class_weights(
    rng: np.ndarray, k: int, seen: Snapshot, state: ClassState, scratch: Scratch, old: int, placed: bool
) -> int:
    """Log weights of all classes for pair k, taken out of class ``old``; returns the number of a new one."""
    n_classes = state.used[0]
    empty = n_classes
    for c in range(n_classes):
        scratch.replay[c] = rng[0]
        if state.members[c] > 0:
            keep = placed and c == old
            weight = draw_injection(rng, k, c, keep, seen, state, scratch)
            factor = neighbour_factor(k, c, state.label, state.neighbours)
            scratch.log_weight[c] = weight + math.log(state.members[c] * factor)
        else:
            scratch.log_weight[c] = -math.inf
            empty = c
    scratch.log_weight[empty] = math.log(state.hyper[0]) + own_weight(k, seen, state.hyper[1])
    return empty


@lean_kernel
def resample(rng: np.ndarray, k: int, seen: Snapshot, state: ClassState, scratch: Scratch) -> bool:
    """One step for the class and the injection of pair k; False (nothing changed) where cells may run out."""
    n, old, placed = seen.ptr[k + 1] - seen.ptr[k], state.label[k], is_placed(k, seen, state)
    widest = 0
    for c in range(state.used[0]):
        widest = max(widest, state.width[c])
    if state.used[1] + 2 * (widest + n) + 4 > len(state.pooled) or widest + n >= len(scratch.taken):
        return False
    if not make_room(state.label, state.neighbours):
        return False
    if old >= 0:
        move_counts(k, old, -1, seen, state)
        if placed and state.members[old] > 0:
            rearrange(rng, k, old, seen, state, scratch)
    new = class_weights(rng, k, seen, state, scratch, old, placed)
    chosen = pick(rng, scratch.log_weight, max(state.used[0], new + 1))
    if chosen == new:
        for i in range(n):
            scratch.place[i] = -1
        state.total[new] = state.width[new] = 0
        if new == state.used[0]:
            state.used[0], state.room[new] = new + 1, 0
    else:
        after = rng[0]
        rng[0] = scratch.replay[chosen]  # the same draws give the same injection
        draw_injection(rng, k, chosen, placed and chosen == old, seen, state, scratch)
        rng[0] = after
    reserve(chosen, n, state)
    install(k, chosen, seen, state, scratch.place)
    return True


@lean_kernel
def resample_within(rng: np.ndarray, k: int, seen: Snapshot, state: ClassState, scratch: Scratch) -> bool:
    """One step for the injection of pair k, whose class is given; False (nothing changed) where cells may run out."""
    n, c, placed = seen.ptr[k + 1] - seen.ptr[k], state.label[k], is_placed(k, seen, state)
    if state.used[1] + 2 * (state.width[c] + n) + 4 > len(state.pooled) or state.width[c] + n >= len(scratch.taken):
        return False
    move_counts(k, c, -1, seen, state)
    if placed:
        rearrange(rng, k, c, seen, state, scratch)
    draw_injection(rng, k, c, placed, seen, state, scratch)
    reserve(c, n, state)
    install(k, c, seen, state, scratch.place)
    return True


@lean_kernel
def resample_range(
    rng: np.ndarray, first: int, last: int, only_new: bool, fixed: bool, seen: Snapshot, state: ClassState,
    scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """A step for every visited pair in ``first:last``, or only for those without a class or with new successors.

    ``fixed``: classes are given, only injections are drawn. Returns where it stopped, which is before the end where
    cells ran out, and the work: classes times successors, summed.
    """
    work = 0
    for k in range(first, last):
        if seen.visits[k] > 0 and not (only_new and is_placed(k, seen, state)):
            done = resample_within(rng, k, seen, state, scratch) if fixed else resample(rng, k, seen, state, scratch)
            if not done:
                return k, work
            work += (1 if fixed else state.used[0]) * (seen.ptr[k + 1] - seen.ptr[k])
    return last, work


@lean_kernel
def draw_alpha(rng: np.ndarray, state: ClassState, grid: np.ndarray, cell: np.ndarray) -> None:
    """Draw alpha from its posterior on a grid."""
    pairs, classes = 0, 0
    for c in range(state.used[0]):
        pairs += state.members[c]
        classes += state.members[c] > 0
    state.hyper[0] = draw_concentration(rng, pairs, classes, grid, cell)


@lean_kernel
def draw_gamma(rng: np.ndarray, state: ClassState, grid: np.ndarray, cell: np.ndarray) -> None:
    """Draw gamma from its posterior on a grid, every point of it equally likely before."""
    for i in range(len(grid)):
        cell[i] = 0.0
    for c in range(state.used[0]):
        if state.members[c] == 0:
            continue
        J = 0
        for j in range(state.width[c]):
            J += state.pooled[state.start[c] + j] > 0
        for i in range(len(grid)):
            cell[i] += log_seating(grid[i], state.total[c], J)
    state.hyper[1] = grid[pick(rng, cell, len(grid))]
