"""From a drawn structure to a drawn MDP, with sparse rows.

Per class the masses are w ~ Dirichlet(N_1, ..., N_J, gamma). The observed successors of a pair get the masses of their
positions; positions of the class that the pair has not seen go to other states drawn at random; the last mass, for new
positions, is broken by sticks onto random states. A pair never visited draws a class too: alpha for a new one, for the
others their members, times what its neighbours say. So a pair visited twice borrows the masses of a class visited a
million times, and yet what it has not seen is placed anew in each draw. Now and then it draws from its own counts
alone: that others are alike may be wrong, and where a pair has many successors what it has not seen averages out, so
that no draw would ever make a pair of few visits worth trying.

Without classes (plain posterior sampling) a row is Dirichlet(a + counts) over the states open to the pair: all, or
those entered so far (``hope``). Of the mass of those it has not seen, a few random ones take their parts, and
what is left goes to one more or to all alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import ClassCounts, Grouping, count_by_given_position
from equirl.model.rows import Rows, contains
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import below, beta_draw, gamma_shares, log_gamma_draw, uniform
from equirl.posterior.class_state import ClassState
from equirl.posterior.hope import Reach, n_open, near_state
from equirl.posterior.neighbouring_classes import neighbour_factor
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles

UNSEEN_POSITIONS = 12  # positions of the class that a pair has not seen, placed one by one; the rest goes to all states
TRIES = 64  # at drawing a state that a row does not hold yet
LEAST = 1e-7  # masses below this are not placed
UNLIKE = 2.0  # a pair stands apart so many times as likely as its class has mass where the pair has not been


class DrawnRows(NamedTuple):
    """Rows being written: those of pair k in ``succ[ptr[k]:ptr[k + 1]]``, ``rest[k]`` spread over all states."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (cells,) int32
    prob: np.ndarray  # (cells,)
    rest: np.ndarray  # (M,)
    fresh: np.ndarray = np.zeros(0, np.bool_)  # (M,) rows to draw, of whole states; the others are left empty
    part: np.ndarray = np.zeros(2, np.int64)  # of these the pairs part[0]:part[1] now, of whole states too


class Placing(NamedTuple):
    """Where masses go that no observed successor has."""

    pair_ptr: np.ndarray  # (S + 1,)
    state: np.ndarray  # (M,) int64: the state of each pair
    sticks: int  # pieces into which the mass of new positions is broken
    near: float  # chance that what a pair has not seen is placed near its state
    outward: float  # chance that what is not near is placed outward
    beyond: np.ndarray  # int64: the states there, none where it does not matter
    reach: Reach


class ClassDraw(NamedTuple):
    """What is drawn before the rows, for all of them."""

    w: np.ndarray  # (cells of the class state,) drawn masses by position
    w_new: np.ndarray  # (M + 1,) drawn masses of new positions
    exception: np.ndarray  # (M,) int64: a state that the pair leads to in this draw whatever its class says, or -1
    leave: float  # chance per step that such a state is left, where nothing else is known of the pair
    apart: float  # chance, times visits, that a pair stands apart: its row is drawn from its own counts
    taken: np.ndarray  # scratch: positions that a pair has seen
    label: np.ndarray  # (M,) int64, scratch: the class of each pair in this draw, -1 for new ones
    back: float = 0.0  # chance per step that a state never entered leads back to one that was
    entered: np.ndarray = np.zeros(0, np.bool_)  # (S,) whether a state was entered; not looked at where back is 0


def make_rows(n_pairs: int, n_entries: int, sticks: int) -> DrawnRows:
    cells = n_entries + n_pairs * (UNSEEN_POSITIONS + sticks + 2)
    return DrawnRows(
        np.zeros(n_pairs + 1, np.int64), np.empty(cells, np.int32), np.empty(cells), np.zeros(n_pairs),
        np.ones(n_pairs, np.bool_), np.array([0, n_pairs]),
    )  # fmt: skip


@lean_kernel
def put_together(kept: Rows, rest: np.ndarray, rows: DrawnRows, out: DrawnRows) -> None:
    """Rows drawn where they are fresh, and those kept from an earlier draw elsewhere."""
    first, last, M = 0, 0, len(rest)
    while last < M:
        first = last
        while last < M and rows.fresh[last] == rows.fresh[first]:
            last += 1
        if rows.fresh[first]:
            _copy_rows(first, last, rows.ptr, rows.succ, rows.prob, rows.rest, out)
        else:
            _copy_rows(first, last, kept.ptr, kept.succ, kept.prob, rest, out)


@lean_kernel
def _copy_rows(
    first: int, last: int, ptr: np.ndarray, succ: np.ndarray, prob: np.ndarray, rest: np.ndarray, out: DrawnRows
) -> None:
    """The rows of pairs ``first:last``, as one block."""
    out.ptr[0] = 0
    shift = out.ptr[first] - ptr[first]
    for k in range(first, last):
        out.ptr[k + 1], out.rest[k] = ptr[k + 1] + shift, rest[k]
    for i in range(ptr[first], ptr[last]):
        out.succ[i + shift], out.prob[i + shift] = succ[i], prob[i]


@lean_kernel
def draw_masses(rng: np.ndarray, state: ClassState, w: np.ndarray, w_new: np.ndarray) -> None:
    """w ~ Dirichlet(N_1, ..., N_J, gamma) for every class: by cell of ``state.pooled``, and for new positions."""
    for c in range(state.used[0]):
        if state.members[c] == 0:
            continue
        first, last = state.start[c], state.start[c] + state.width[c]
        new = log_gamma_draw(rng, state.hyper[1])
        for j in range(first, last):
            w[j] = log_gamma_draw(rng, float(state.pooled[j])) if state.pooled[j] > 0 else -math.inf
        w_new[c] = gamma_shares(w, first, last, new)


@lean_kernel
def _place(rng: np.ndarray, mass: float, k: int, end: int, seen: Snapshot, placing: Placing, rows: DrawnRows) -> int:
    """Put a mass on a random state that the row of pair k, up to ``end``, does not hold: near, outward, or any.

    Returns the new end of the row.
    """
    order, n_states, low = placing.reach.order, n_open(float(seen.visits[k]), placing.reach), rows.ptr[k]
    free = n_states - (end - low)
    if free <= 0:
        return end
    x = -1
    if placing.near > 0.0 and uniform(rng) < placing.near:
        x = near_state(rng, placing.state[k], placing.pair_ptr, seen)
    outward = placing.outward > 0.0 and n_states == len(order) and len(placing.beyond) > 0
    if outward and (x < 0 or contains(rows.succ, low, end, x)) and uniform(rng) < placing.outward:
        x = placing.beyond[below(rng, len(placing.beyond))]
    for _ in range(TRIES):
        if x >= 0 and not contains(rows.succ, low, end, x):
            break
        x = order[below(rng, n_states)]
    if contains(rows.succ, low, end, x):  # nearly all states are held: count off the others
        skip, i = below(rng, free), 0
        while skip > 0 or contains(rows.succ, low, end, order[i]):
            skip -= not contains(rows.succ, low, end, order[i])
            i += 1
        x = order[i]
    rows.succ[end], rows.prob[end] = x, mass
    return end + 1


@lean_kernel
def _break(
    rng: np.ndarray, mass: float, gamma: float, k: int, end: int, seen: Snapshot, placing: Placing, rows: DrawnRows
) -> int:
    """Break a mass of pair k by sticks Beta(1, gamma) onto random states; the last, or the last state, takes all."""
    left = mass
    for stick in range(placing.sticks):
        free = n_open(float(seen.visits[k]), placing.reach) - (end - rows.ptr[k])
        if left < LEAST or free <= 0:
            break
        last = stick == placing.sticks - 1 or free == 1
        piece = left if last else left * (1.0 - uniform(rng) ** (1.0 / gamma))
        end = _place(rng, piece, k, end, seen, placing, rows)
        left -= piece
    return end


@lean_kernel
def _spread(
    rng: np.ndarray, mass: float, strength: float, k: int, end: int, seen: Snapshot, placing: Placing, rows: DrawnRows
) -> int:
    """Share a mass among states open to pair k that its row does not hold, as Dirichlet(strength, ..., strength) would.

    A state met with chance proportional to its mass is any of the m states and has the part Beta(1 + strength,
    strength (m - 1)); the others share the rest likewise. What is left after a few goes to one state where the prior
    is sparse; where it is not, there are more of them, and then all states alike take what is left, or, where not all
    are open, those met in proportion to their parts.
    """
    left, low, first, n_states = mass, rows.ptr[k], end, n_open(float(seen.visits[k]), placing.reach)
    for stick in range(placing.sticks + UNSEEN_POSITIONS):
        free = n_states - (end - low)
        if left < LEAST or free == 0:
            return end
        if free == 1 or (stick == placing.sticks - 1 and strength * free <= 1.0):
            return _place(rng, left, k, end, seen, placing, rows)
        piece = left * beta_draw(rng, 1.0 + strength, strength * (free - 1))
        end = _place(rng, piece, k, end, seen, placing, rows)
        left -= piece
    if n_states < len(placing.reach.order):
        for i in range(first, end):
            rows.prob[i] *= mass / (mass - left)
        return end
    each = left / (n_states - (end - low))
    rows.rest[k] = each * n_states
    for i in range(low, end):  # the rest goes to all states, these included
        rows.prob[i] -= min(each, rows.prob[i])
    return end


@lean_kernel
def _normalise(k: int, end: int, rows: DrawnRows) -> None:
    """Close the row of pair k at ``end`` and bring it to mass one."""
    rows.ptr[k + 1] = end
    total = rows.rest[k]
    for i in range(rows.ptr[k], end):
        total += rows.prob[i]
    rows.rest[k] /= total
    for i in range(rows.ptr[k], end):
        rows.prob[i] /= total


@lean_kernel
def _class_of_unvisited(rng: np.ndarray, k: int, state: ClassState, draw: ClassDraw) -> int:
    """The class of a pair never visited: members times what its neighbours say, or with weight alpha a new one, -1."""
    total = 0.0
    for c in range(state.used[0]):
        total += state.members[c] * neighbour_factor(k, c, draw.label, state.neighbours)
    u = uniform(rng) * (total + state.hyper[0])
    for c in range(state.used[0]):
        u -= state.members[c] * neighbour_factor(k, c, draw.label, state.neighbours)
        if u < 0.0:
            return c
    return -1


@lean_kernel
def _class_row(
    rng: np.ndarray,
    k: int,
    c: int,
    seen: Snapshot,
    state: ClassState,
    placing: Placing,
    draw: ClassDraw,
    rows: DrawnRows,
) -> int:
    """The masses of class c on the successors of pair k, and on random states where it has seen fewer."""
    end, first, w = rows.ptr[k], state.start[c], draw.w
    for j in range(state.width[c]):
        draw.taken[j] = 0
    for i in range(seen.ptr[k], seen.ptr[k + 1]):
        rows.succ[end], rows.prob[end] = seen.succ[i], w[first + state.position[i]]
        draw.taken[state.position[i]] = 1
        end += 1
    extra, anywhere = 0, n_open(float(seen.visits[k]), placing.reach) == len(placing.reach.order)
    for j in range(state.width[c]):
        if draw.taken[j] or state.pooled[first + j] == 0 or w[first + j] <= LEAST:
            continue
        if extra == UNSEEN_POSITIONS:
            rows.rest[k] += w[first + j] if anywhere else 0.0
            continue
        end = _place(rng, w[first + j], k, end, seen, placing, rows)
        extra += 1
    return _break(rng, draw.w_new[c], state.hyper[1], k, end, seen, placing, rows)


@lean_kernel
def _row_apart(rng: np.ndarray, k: int, gamma: float, seen: Snapshot, placing: Placing, rows: DrawnRows) -> int:
    """The row of pair k in a class of its own: Dirichlet(counts, gamma), the last mass for new positions."""
    low = end = rows.ptr[k]
    new = log_gamma_draw(rng, gamma)
    for i in range(seen.ptr[k], seen.ptr[k + 1]):
        rows.succ[end], rows.prob[end] = seen.succ[i], log_gamma_draw(rng, float(seen.count[i]))
        end += 1
    new = gamma_shares(rows.prob, low, end, new)
    return _break(rng, new, gamma, k, end, seen, placing, rows)


@lean_kernel
def _divert(rng: np.ndarray, k: int, end: int, n: float, draw: ClassDraw, rows: DrawnRows) -> int:
    """Give the exceptional successor of pair k, where its row does not hold it, the mass Beta(1, n)."""
    if contains(rows.succ, rows.ptr[k], end, draw.exception[k]):
        return end
    mass = beta_draw(rng, 1.0, n)
    for i in range(rows.ptr[k], end):
        rows.prob[i] *= 1.0 - mass
    rows.succ[end], rows.prob[end] = draw.exception[k], mass
    return end + 1


@lean_kernel
def _lead_back(rng: np.ndarray, k: int, placing: Placing, draw: ClassDraw, rows: DrawnRows) -> None:
    """Give a random state that was entered the chance of leading back; pair k, the last, has a row of mass one."""
    end, x = rows.ptr[k + 1], placing.reach.order[below(rng, placing.reach.n_entered)]
    rows.rest[k] *= 1.0 - draw.back
    place = end
    for i in range(rows.ptr[k], end):
        rows.prob[i] *= 1.0 - draw.back
        if rows.succ[i] == x:
            place = i
    if place == end:
        rows.succ[end], rows.prob[end] = x, 0.0
        rows.ptr[k + 1] = end + 1
    rows.prob[place] += draw.back


@lean_kernel
def _stands_apart(rng: np.ndarray, k: int, c: int, seen: Snapshot, state: ClassState, draw: ClassDraw) -> bool:
    """Whether pair k draws from its own counts: ever less often, and hardly where it has seen all of its class."""
    if draw.apart == 0.0 or seen.visits[k] == 0:
        return False
    known = 0.0
    for i in range(seen.ptr[k], seen.ptr[k + 1]):
        known += state.pooled[state.start[c] + state.position[i]]
    left = 1.0 - known / (state.total[c] + state.hyper[1])  # on average: the masses drawn must not decide
    return uniform(rng) * seen.visits[k] < draw.apart * min(1.0, UNLIKE * left)


@lean_kernel
def draw_class_rows(
    rng: np.ndarray, seen: Snapshot, state: ClassState, placing: Placing, draw: ClassDraw, rows: DrawnRows
) -> None:
    """Rows of the pairs asked for, through their classes."""
    for k in range(rows.part[0], rows.part[1]):
        draw.label[k] = state.label[k]
    for k in range(rows.part[0], rows.part[1]):
        if not rows.fresh[k]:
            rows.ptr[k + 1] = rows.ptr[k]
            continue
        end, c, rows.rest[k] = rows.ptr[k], draw.label[k], 0.0
        if draw.exception[k] >= 0 and (c < 0 or state.total[c] == 0):  # nothing is known of what it does
            rows.succ[end], rows.prob[end] = draw.exception[k], 1.0 - draw.leave
            end += 1
            x = placing.reach.order[below(rng, placing.reach.n_entered)]
            if draw.leave > 0.0 and x != draw.exception[k]:
                rows.succ[end], rows.prob[end] = x, draw.leave
                end += 1
            _normalise(k, end, rows)
            continue
        if c < 0:
            c = draw.label[k] = _class_of_unvisited(rng, k, state, draw)
        if c < 0:
            end = _break(rng, 1.0, state.hyper[1], k, end, seen, placing, rows)
        elif _stands_apart(rng, k, c, seen, state, draw):
            end = _row_apart(rng, k, state.hyper[1], seen, placing, rows)
        else:
            end = _class_row(rng, k, c, seen, state, placing, draw, rows)
        if draw.exception[k] >= 0 and seen.visits[k] > 0:
            end = _divert(rng, k, end, float(seen.visits[k]), draw, rows)
        _normalise(k, end, rows)
        if draw.back > 0.0 and not draw.entered[placing.state[k]]:
            _lead_back(rng, k, placing, draw, rows)


@lean_kernel
def draw_own_rows(rng: np.ndarray, strength: float, seen: Snapshot, placing: Placing, rows: DrawnRows) -> None:
    """Rows of the pairs asked for, each Dirichlet(strength + counts) over the states open to it."""
    for k in range(rows.part[0], rows.part[1]):
        if not rows.fresh[k]:
            rows.ptr[k + 1] = rows.ptr[k]
            continue
        end, top, rows.rest[k] = rows.ptr[k], -math.inf, 0.0
        for i in range(seen.ptr[k], seen.ptr[k + 1]):
            rows.succ[end], rows.prob[end] = seen.succ[i], log_gamma_draw(rng, strength + seen.count[i])
            top = max(top, rows.prob[end])
            end += 1
        unseen = strength * (n_open(float(seen.visits[k]), placing.reach) - (seen.ptr[k + 1] - seen.ptr[k]))
        left = log_gamma_draw(rng, unseen) if unseen > 0.0 else -math.inf
        top = max(top, left)
        for i in range(rows.ptr[k], end):
            rows.prob[i] = math.exp(rows.prob[i] - top)
        if unseen > 0.0:
            end = _spread(rng, math.exp(left - top), strength, k, end, seen, placing, rows)
        _normalise(k, end, rows)


def draw_profile_rows(
    rng: np.ndarray, seen: Snapshot, classes: Partition, profiles: Profiles, tie: np.ndarray, prior: float
) -> np.ndarray:
    """Probabilities in the order of ``profiles``: per class Dirichlet(prior / J + pooled counts), ties sharing."""
    pooled = count_by_given_position(seen, Grouping.of(classes), profiles)
    w, prob = np.empty(len(pooled.count)), np.empty(len(profiles.prob))
    _draw_known_masses(rng, pooled, prior, w)
    _share_ties(profiles.ptr.copy(), tie, pooled, w, prob)
    return prob


@lean_kernel
def _draw_known_masses(rng: np.ndarray, pooled: ClassCounts, prior: float, w: np.ndarray) -> None:
    for c in range(len(pooled.visits)):
        first, last = pooled.ptr[c], pooled.ptr[c + 1]
        for j in range(first, last):
            w[j] = log_gamma_draw(rng, prior / (last - first) + pooled.count[j])
        gamma_shares(w, first, last, -math.inf)


@lean_kernel
def _share_ties(ptr: np.ndarray, tie: np.ndarray, pooled: ClassCounts, w: np.ndarray, prob: np.ndarray) -> None:
    """The mass of each entry; entries of one tie group share theirs."""
    for k in range(len(pooled.label)):
        base, j = pooled.ptr[pooled.label[k]], ptr[k]
        while j < ptr[k + 1]:
            end, total = j, 0.0
            while end < ptr[k + 1] and tie[end] == tie[j]:
                total += w[base + end - ptr[k]]
                end += 1
            for i in range(j, end):
                prob[i] = total / (end - j)
            j = end
