"""What was seen: visits, rewards and successors by pair, in a sparse table that grows as it must.

The successors of a pair are kept in the order of its *empirical profile*: decreasing counts, equal counts by state
number, highest first as in the published program. So the profile mapping sigma_{s,a,t} is read off the table and never
sorted anew. Recording a transition costs O(successors seen at the pair), in practice one or two comparisons, since
frequent ones stand first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.arrays import starts
from equirl.numerics.compiling import lean_kernel


class SuccessorTable(NamedTuple):
    """Slots of successors: those of pair k are ``state[start[k] : start[k] + size[k]]``, with room for ``room[k]``."""

    start: np.ndarray  # (M,) int64
    size: np.ndarray  # (M,) int64
    room: np.ndarray  # (M,) int64
    state: np.ndarray  # (slots,) int32
    count: np.ndarray  # type: ignore[assignment]  # (slots,) int64, decreasing inside a pair
    used: np.ndarray  # (1,) int64: slots given out so far


class Snapshot(NamedTuple):
    """The counts at one moment, compact: successors of pair k in profile order in ``succ[ptr[k]:ptr[k + 1]]``."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) int32
    count: np.ndarray  # type: ignore[assignment]  # (nnz,) int64
    visits: np.ndarray  # (M,) int64
    r_sum: np.ndarray  # (M,) float64
    r_squares: np.ndarray  # (M,) float64: sums of squared rewards


@lean_kernel
def record_successor(pair: int, x: int, table: SuccessorTable) -> bool:
    """Count one transition of ``pair`` to ``x``, keeping profile order; False (nothing done) where slots ran out."""
    start, size, room, state, count, used = table
    first, n = start[pair], size[pair]
    i = first
    while i < first + n and state[i] != x:
        i += 1

    # A successor never seen here: a new slot, in a doubled block at the end of the table where the old one is full.
    if i == first + n:
        if n == room[pair]:
            wider = 2 * n
            if used[0] + wider > len(state):
                return False
            for j in range(n):
                state[used[0] + j] = state[first + j]
                count[used[0] + j] = count[first + j]
            start[pair], room[pair] = used[0], wider
            used[0] += wider
            first = start[pair]
            i = first + n
        size[pair] = n + 1
        count[i] = 0

    c = count[i] + 1
    while i > first and (count[i - 1] < c or (count[i - 1] == c and state[i - 1] < x)):
        state[i], count[i] = state[i - 1], count[i - 1]
        i -= 1
    state[i], count[i] = x, c
    return True


@lean_kernel
def record_path(
    path: np.ndarray, rewards: np.ndarray, final: int, owner: np.ndarray, begin: int, visits: np.ndarray,
    r_sum: np.ndarray, r_squares: np.ndarray, table: SuccessorTable,
) -> int:  # fmt: skip
    """Count the steps of a path from step ``begin`` on; the state after its last pair is ``final``.

    ``owner`` (M,) is the state of each pair. Returns the number of steps counted: less than all where slots ran out.
    """
    for i in range(begin, len(path)):
        k = path[i]
        x = owner[path[i + 1]] if i + 1 < len(path) else final
        if not record_successor(k, x, table):
            return i
        visits[k] += 1
        r_sum[k] += rewards[i]
        r_squares[k] += rewards[i] * rewards[i]
    return len(path)


@lean_kernel
def _compact(table: SuccessorTable, ptr: np.ndarray, succ: np.ndarray, out: np.ndarray) -> None:
    for k in range(len(table.start)):
        for j in range(table.size[k]):
            succ[ptr[k] + j] = table.state[table.start[k] + j]
            out[ptr[k] + j] = table.count[table.start[k] + j]


class Counts:
    """Counts of all pairs. Memory: O(pairs + successors seen)."""

    def __init__(self, n_pairs: int, room: int = 4) -> None:
        self.visits = np.zeros(n_pairs, np.int64)
        self.r_sum, self.r_squares = np.zeros(n_pairs), np.zeros(n_pairs)
        self.table = SuccessorTable(
            np.arange(n_pairs, dtype=np.int64) * room,
            np.zeros(n_pairs, np.int64),
            np.full(n_pairs, room, np.int64),
            np.zeros(n_pairs * room, np.int32),
            np.zeros(n_pairs * room, np.int64),
            np.array([n_pairs * room], np.int64),
        )

    def record(self, pair: int, reward: float, successor: int) -> None:
        while not record_successor(pair, successor, self.table):
            self.grow()
        self.visits[pair] += 1
        self.r_sum[pair] += reward
        self.r_squares[pair] += reward * reward

    def record_path(self, path: np.ndarray, rewards: np.ndarray, final: int, owner: np.ndarray) -> None:
        """Count the steps of a path: pairs in order, what each paid, and the state after the last one."""
        done = 0
        while done < len(path):
            done = record_path(path, rewards, final, owner, done, self.visits, self.r_sum, self.r_squares, self.table)
            if done < len(path):
                self.grow()

    def grow(self) -> None:
        table = self.table
        more = max(16, len(table.state), 2 * int(table.room.max()))
        self.table = table._replace(
            state=np.concatenate([table.state, np.zeros(more, np.int32)]),
            count=np.concatenate([table.count, np.zeros(more, np.int64)]),
        )

    def snapshot(self) -> Snapshot:
        """A compact copy, unaffected by what is recorded later. O(pairs + successors)."""
        table = self.table
        ptr = starts(table.size)
        succ, count = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], np.int64)
        _compact(table, ptr, succ, count)
        return Snapshot(ptr, succ, count, self.visits.copy(), self.r_sum.copy(), self.r_squares.copy())

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Counts:
        """The counts of which ``snapshot`` was taken."""
        counts = cls(len(snapshot.visits), room=1)
        size = np.diff(snapshot.ptr)
        room = np.maximum(size, 1)
        start = np.cumsum(room) - room
        state, count = np.zeros(room.sum(), np.int32), np.zeros(room.sum(), np.int64)
        place = np.repeat(start - snapshot.ptr[:-1], size) + np.arange(len(snapshot.succ))
        state[place], count[place] = snapshot.succ, snapshot.count
        counts.table = SuccessorTable(start, size, room, state, count, np.array([room.sum()], np.int64))
        counts.visits, counts.r_sum = snapshot.visits.copy(), snapshot.r_sum.copy()
        counts.r_squares = snapshot.r_squares.copy()
        return counts
