"""Classes of pairs, positions of their successors, and the counts pooled over both: what the class sampler keeps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.numerics.arrays import owners
from equirl.numerics.compiling import lean_kernel
from equirl.posterior.neighbouring_classes import Neighbours, count_all, count_neighbours, make_neighbours


class ClassState(NamedTuple):
    """Classes and positions now, with the pooled counts that follow from them; changed in place.

    Pooled counts of class c by position are ``pooled[start[c] : start[c] + width[c]]``, 0 where a position is empty.
    """

    label: np.ndarray  # (M,) int64: the class of a pair, -1 where it has none yet
    position: np.ndarray  # (nnz,) int64: where each observed successor stands, -1 where not yet
    hyper: np.ndarray  # (2,) alpha, gamma
    members: np.ndarray  # (M + 1,) int64: pairs in each class
    total: np.ndarray  # (M + 1,) int64: pooled visits
    start: np.ndarray  # (M + 1,) int64
    room: np.ndarray  # (M + 1,) int64: cells reserved
    width: np.ndarray  # (M + 1,) int64: cells in use, empty ones between included
    pooled: np.ndarray  # (cells,) int64: N_j, from which masses w are drawn
    used: np.ndarray  # (2,) int64: classes and cells given out; classes with no member are gaps
    neighbours: Neighbours  # classes of pairs of the same state


def empty_state(pair_ptr: np.ndarray, alpha: float, gamma: float, eta: float = math.inf) -> ClassState:
    """``eta``: of ``neighbouring_classes``."""
    n_pairs = int(pair_ptr[-1])
    members, total, start, room, width = np.zeros((5, n_pairs + 1), np.int64)
    return ClassState(
        np.full(n_pairs, -1), np.zeros(0, np.int64), np.array([alpha, gamma]), members, total, start, room,
        width, np.zeros(0, np.int64), np.zeros(2, np.int64), make_neighbours(pair_ptr, eta),
    )  # fmt: skip


def check_classes(label: np.ndarray, position: np.ndarray, hyper: np.ndarray, seen: Snapshot) -> None:
    """An error where classes and positions from outside do not fit the counts: compiled loops trust them."""
    M, nnz = len(seen.visits), len(seen.succ)
    for name, array, length, dtype in (
        ("classes", label, M, np.int64), ("positions", position, nnz, np.int64), ("parameters", hyper, 2, np.float64),
    ):  # fmt: skip
        if array.shape != (length,) or array.dtype != dtype:
            raise ValueError(f"the {name} drawn do not fit the counts: {array.dtype} of shape {array.shape}")
    for name, array, most in (("class", label, M), ("position", position, nnz)):
        bad = np.flatnonzero((array < -1) | (array >= most))
        if len(bad):
            raise ValueError(f"a {name} is out of range: entry {bad[0]} is {array[bad[0]]}, not -1 to {most - 1}")
    if not (np.isfinite(hyper) & (hyper > 0)).all():
        raise ValueError(f"alpha and gamma must be positive, not {hyper[0]} and {hyper[1]}")
    owner = owners(seen.ptr)
    held = (owner * nnz + position)[position >= 0]
    if len(np.unique(held)) < len(held):
        raise ValueError("two successors of a pair stand at one position")


def carry_over(state: ClassState, before: Snapshot | None, seen: Snapshot) -> ClassState:
    """The same classes and positions for newer counts, numbered without gaps; what is new has no place yet.

    O(pairs + successors). There is room for a while of sampling; where it runs out, carry over again.
    """
    position = np.full(len(seen.succ), -1)
    if before is not None:
        _match_positions(before, state.position, seen, position)
    state = state._replace(position=position)
    cells = _number_classes(seen, state, np.full(len(seen.visits) + 1, -1))
    spare = 4 * len(seen.succ) + 8 * len(seen.visits) + 64
    state = state._replace(pooled=np.zeros(cells + spare, np.int64))
    _pool(seen, state, np.full(cells, -1))
    count_all(state.label, state.neighbours)
    return state


@lean_kernel
def _match_positions(before: Snapshot, old: np.ndarray, seen: Snapshot, position: np.ndarray) -> None:
    """Positions follow their successors; within a pair these may have changed their order."""
    for k in range(len(seen.visits)):
        for i in range(seen.ptr[k], seen.ptr[k + 1]):
            for j in range(before.ptr[k], before.ptr[k + 1]):
                if before.succ[j] == seen.succ[i]:
                    position[i] = old[j]
                    break


@lean_kernel
def _number_classes(seen: Snapshot, state: ClassState, number: np.ndarray) -> int:
    """Number classes in order of first appearance and give them cells; returns how many cells that takes."""
    n = 0
    for c in range(len(state.members)):
        state.members[c] = state.total[c] = state.width[c] = state.room[c] = 0
    for k in range(len(state.label)):
        c = state.label[k]
        if c < 0:
            continue
        if number[c] < 0:
            number[c] = n
            n += 1
        c = state.label[k] = number[c]
        state.members[c] += 1
        for i in range(seen.ptr[k], seen.ptr[k + 1]):
            state.room[c] = max(state.room[c], state.position[i] + 1)
    cells = 0
    for c in range(n):
        state.start[c] = cells
        state.room[c] = 2 * state.room[c] + 4
        cells += state.room[c]
    state.used[0], state.used[1] = n, cells
    return cells


@lean_kernel
def _pool(seen: Snapshot, state: ClassState, moved: np.ndarray) -> None:
    """Pool the counts; positions are numbered anew, without gaps."""
    for k in range(len(state.label)):
        c = state.label[k]
        if c < 0:
            continue
        first = state.start[c]
        for i in range(seen.ptr[k], seen.ptr[k + 1]):
            if state.position[i] < 0:
                continue
            old = first + state.position[i]
            if moved[old] < 0:
                moved[old] = state.width[c]
                state.width[c] += 1
            state.position[i] = moved[old]
            state.pooled[first + moved[old]] += seen.count[i]
            state.total[c] += seen.count[i]


@lean_kernel
def move_counts(k: int, c: int, sign: int, seen: Snapshot, state: ClassState) -> None:
    """Add pair k and its counts, by position, to class c (sign 1), or take them out (-1)."""
    state.members[c] += sign
    count_neighbours(k, c, sign, state.label, state.neighbours)
    for i in range(seen.ptr[k], seen.ptr[k + 1]):
        if state.position[i] >= 0:
            state.pooled[state.start[c] + state.position[i]] += sign * seen.count[i]
            state.total[c] += sign * seen.count[i]


@lean_kernel
def reserve(c: int, n: int, state: ClassState) -> bool:
    """Make sure that class c can take n more positions; False where cells ran out."""
    if state.width[c] + n <= state.room[c]:
        return True
    room = 2 * (state.width[c] + n)
    if state.used[1] + room > len(state.pooled):
        return False
    for j in range(state.width[c]):
        state.pooled[state.used[1] + j] = state.pooled[state.start[c] + j]
    state.start[c], state.room[c] = state.used[1], room
    state.used[1] += room
    return True


@lean_kernel
def is_placed(k: int, seen: Snapshot, state: ClassState) -> bool:
    """Whether pair k has a class and all its successors have positions."""
    if state.label[k] < 0:
        return False
    for i in range(seen.ptr[k], seen.ptr[k + 1]):  # noqa: SIM110 - all() is not compiled
        if state.position[i] < 0:
            return False
    return True


@lean_kernel
def install(k: int, c: int, seen: Snapshot, state: ClassState, place: np.ndarray) -> None:
    """Put pair k into class c with this injection; new positions take the first empty cells."""
    start, free = seen.ptr[k], 0
    for i in range(seen.ptr[k + 1] - start):
        j = place[i]
        if j < 0:
            while free < state.width[c] and state.pooled[state.start[c] + free] > 0:
                free += 1
            if free == state.width[c]:
                state.pooled[state.start[c] + free] = 0
                state.width[c] += 1
            j = free
            free += 1
        state.position[start + i] = j
    state.label[k] = c
    move_counts(k, c, 1, seen, state)
    while state.width[c] > 0 and state.pooled[state.start[c] + state.width[c] - 1] == 0:
        state.width[c] -= 1
