"""Whether counts refute a statement that pairs are alike, at a risk that covers all times at once.

The pairs of a class are given to have one distribution over J outcomes: positions of an order that is given too, or
states, in an order of each pair's own. For a pair and those it is compared with,

    E_t = q(its outcomes) q(theirs) / (the largest likelihood that a common distribution gives to all of them),

q the Dirichlet(1/J, ..., 1/J) mixture, whose logarithm is ``log_mixture``. With the true distribution in place of the
best one, E_t is a martingale that starts at 1, whatever rule chooses the pairs. So where the statement holds, E_t ever
reaches 1/d with probability at most d (Ville's inequality).

Where each pair has an order of its own, the largest likelihood over distributions and orders is that of counts added up
by rank. A reward x in [0, 1] counts as x successes and 1 - x failures: since a^x b^(1 - x) <= a x + b (1 - x), E_t is
then a supermartingale for any rewards with a common mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import Grouping, class_starts
from equirl.model.rows import Rows, contains, place_of
from equirl.numerics.arrays import owners
from equirl.numerics.compiling import kernel
from equirl.structure.similarity import Profiles, l1_distance

REST = -1  # in place of a pair: all others of its class
SUCCESSORS, REWARDS, OUTSIDE = "successors", "rewards", "outside"


class GivenStructure(NamedTuple):
    """Which pairs are given to be alike."""

    label: np.ndarray  # (M,) int64
    n_classes: int
    profiles: Profiles | None  # corresponding successors, where they are given
    rewards: bool  # whether pairs of one class have one mean reward
    n_states: int


class Refutation(NamedTuple):
    """The strongest evidence against one class, of one kind."""

    label: int  # the class
    what: str  # SUCCESSORS, REWARDS or OUTSIDE
    pair: int
    other: int  # the pair it is compared with, or REST; for OUTSIDE the state reached
    visits: int
    other_visits: int
    difference: float  # L1 distance of frequencies, or of means in [0, 1]; for OUTSIDE how often
    evidence: float  # log E_t
    bound: float  # log 1/d: reached with probability d at most where the statement holds


class Compared(NamedTuple):
    """What is compared with what."""

    label: np.ndarray  # (M,) the class of each pair
    order: Rows  # the states at the given positions of each pair; no rows where no order is given
    class_ptr: np.ndarray  # (C + 1,) the positions of each class
    n_states: int
    rewards: bool


class Gathered(NamedTuple):
    """Counts as they are compared, and the evidence log E_t by pair."""

    own: np.ndarray  # (nnz,) counts by given position
    count: np.ndarray  # type: ignore[assignment]  # counts by given position of each class
    visits: np.ndarray  # (C,) samples of each class
    paid: np.ndarray  # (C,) float
    first: np.ndarray  # (C,) the most visited pair of each class, -1: none
    second: np.ndarray  # (C,) the next
    of_rows: np.ndarray  # (M,) float
    of_means: np.ndarray  # (M,) float


class StructureTest:
    """A statement ready to be tested, over and over as counts grow. Over a whole run it is wrong with risk delta.

    Half of delta is for successors where rewards are compared too. It is shared among all comparisons that could be
    made: a pair with the rest of its class, or, where no order is given, any two pairs of a class.
    """

    def __init__(self, given: GivenStructure, delta: float) -> None:
        size = np.bincount(given.label, minlength=given.n_classes)
        within = size[size > 1].astype(float)
        log_delta = math.log(delta) - (math.log(2.0) if given.rewards else 0.0)
        self.mean_bound = math.log(max(1.0, within.sum())) - log_delta
        self.row_bound, self.ordered = self.mean_bound, given.profiles is not None
        if not self.ordered:
            self.row_bound = math.log(max(1.0, (within * (within - 1) / 2).sum())) - log_delta
        M, C = len(given.label), given.n_classes
        order, class_ptr = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)), np.zeros(C + 1, np.int64)
        if given.profiles is not None:
            order = Rows(*given.profiles)
            class_ptr = class_starts(order.ptr, Grouping(given.label, C))
        self.compared = Compared(given.label, order, class_ptr, given.n_states, given.rewards)
        self.found = Gathered(
            np.zeros(len(order.succ), np.int64), np.zeros(self.compared.class_ptr[-1], np.int64), np.zeros(C, np.int64),
            np.zeros(C), np.full(C, -1), np.full(C, -1), np.zeros(M), np.zeros(M),
        )  # fmt: skip

    def look(self, seen: Snapshot, reported: np.ndarray) -> bool:
        """Whether these counts refute a class that is not marked in ``reported`` (C,); O(pairs + successors)."""
        outside = weigh_evidence(seen, self.compared, self.found)
        return outside > 0 or bool(_beyond(self.compared.label, self.found, self.row_bound, self.mean_bound, reported))

    def refutations(self, seen: Snapshot) -> list[Refutation]:
        """What the counts refute: the strongest evidence per class and kind, by class."""
        outside = weigh_evidence(seen, self.compared, self.found)
        found = self._outside(seen) if outside else []
        for k in _strongest(self.found.of_rows, self.row_bound, self.compared.label):
            found.append(self._of_rest(k) if self.ordered else self._of_mate(k, seen))
        for k in _strongest(self.found.of_means, self.mean_bound, self.compared.label):
            c, n = int(self.compared.label[k]), int(seen.visits[k])
            rest, evidence = int(self.found.visits[c]) - n, float(self.found.of_means[k])
            apart = abs(float(seen.r_sum[k]) / n - float(self.found.paid[c] - seen.r_sum[k]) / rest)
            found.append(Refutation(c, REWARDS, k, REST, n, rest, apart, evidence, self.mean_bound))
        return sorted(found, key=lambda one: one.label)

    def _of_rest(self, k: int) -> Refutation:
        (label, order, class_ptr, _, _), found = self.compared, self.found
        c, mine = int(label[k]), found.own[order.row(k)]
        rest = found.count[class_ptr[c] : class_ptr[c] + len(mine)] - mine
        apart = float(np.abs(mine / mine.sum() - rest / rest.sum()).sum())
        n, others, evidence = int(mine.sum()), int(rest.sum()), float(found.of_rows[k])
        return Refutation(c, SUCCESSORS, k, REST, n, others, apart, evidence, self.row_bound)

    def _of_mate(self, k: int, seen: Snapshot) -> Refutation:
        c = int(self.compared.label[k])
        j = int(self.found.second[c] if self.found.first[c] == k else self.found.first[c])
        (a, b), (m, n) = seen.ptr[[k, j]], np.diff(seen.ptr)[[k, j]]
        visits, other, evidence = int(seen.visits[k]), int(seen.visits[j]), float(self.found.of_rows[k])
        apart = float(l1_distance(seen.count / visits, a, m, seen.count / other, b, n))
        return Refutation(c, SUCCESSORS, k, j, visits, other, apart, evidence, self.row_bound)

    def _outside(self, seen: Snapshot) -> list[Refutation]:
        """Of each class the successor outside the order that was seen most often."""
        found: dict[int, Refutation] = {}
        for i, k in enumerate(owners(seen.ptr).tolist()):
            c, x, often = int(self.compared.label[k]), int(seen.succ[i]), int(seen.count[i])
            order = self.compared.order
            if x not in order.succ[order.row(k)] and (c not in found or often > found[c].difference):
                found[c] = Refutation(c, OUTSIDE, k, x, int(seen.visits[k]), 0, float(often), math.inf, 0.0)
        return list(found.values())


def _strongest(evidence: np.ndarray, bound: float, label: np.ndarray) -> list[int]:
    """Of each class with evidence beyond the bound, the pair with most."""
    beyond = np.flatnonzero(evidence >= bound)
    order = beyond[np.lexsort((beyond, -evidence[beyond], label[beyond]))]
    first = np.ones(len(order), bool)
    first[1:] = label[order][1:] != label[order][:-1]
    return order[first].tolist()


@kernel
def log_mixture(n: float, strength: float) -> float:
    """log Gamma(n + a) - log Gamma(a): what an outcome with n samples adds to the Dirichlet(a, ..., a) mixture.

    The sum over outcomes, less log Gamma(1 + total) where the a sum to 1, is the logarithm of the mixture.
    """
    return math.lgamma(n + strength) - math.lgamma(strength) if n > 0 else 0.0


@kernel
def log_best(n: float, total: float) -> float:
    """n log(n / total): what an outcome adds to the logarithm of the largest likelihood."""
    return n * math.log(n / total) if n > 0 else 0.0


@kernel
def _place(seen: Snapshot, compared: Compared, found: Gathered) -> int:
    """Counts by given position, of pairs and classes; how many entries of the counts stand nowhere."""
    ptr, succ, class_ptr, outside = compared.order.ptr, compared.order.succ, compared.class_ptr, 0
    found.own[:] = 0
    found.count[:] = 0
    for k in range(len(ptr) - 1):
        for i in range(seen.ptr[k], seen.ptr[k + 1]):
            j = place_of(succ, ptr[k], ptr[k + 1], seen.succ[i])
            if j == ptr[k + 1]:
                outside += 1
            else:
                found.own[j] = seen.count[i]
                found.count[class_ptr[compared.label[k]] + j - ptr[k]] += seen.count[i]
    return outside


@kernel
def _against_rest(compared: Compared, found: Gathered) -> None:
    ptr, class_ptr, label = compared.order.ptr, compared.class_ptr, compared.label
    own, count = found.own, found.count
    for k in range(len(label)):
        first, size, n, total = class_ptr[label[k]], ptr[k + 1] - ptr[k], 0, 0
        for j in range(size):
            n += own[ptr[k] + j]
            total += count[first + j]
        found.of_rows[k] = 0.0
        if n == 0 or n == total or size < 2:
            continue
        value = -math.lgamma(1.0 + n) - math.lgamma(1.0 + total - n)
        for j in range(size):
            mine, all_of_it = own[ptr[k] + j], count[first + j]
            value += log_mixture(mine, 1.0 / size) + log_mixture(all_of_it - mine, 1.0 / size)
            value -= log_best(all_of_it, total)
        found.of_rows[k] = value


@kernel
def _find_most_visited(visits: np.ndarray, label: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """The two most visited pairs of each class, of equals the first; -1 where there are fewer."""
    first[:] = -1
    second[:] = -1
    for k in range(len(label)):
        c = label[k]
        if first[c] < 0 or visits[k] > visits[first[c]]:
            first[c], second[c] = k, first[c]
        elif second[c] < 0 or visits[k] > visits[second[c]]:
            second[c] = k


@kernel
def _against_mate(seen: Snapshot, compared: Compared, found: Gathered) -> None:
    ptr, count, visits, S = seen.ptr, seen.count, seen.visits, compared.n_states
    for k in range(len(compared.label)):
        c = compared.label[k]
        j = found.second[c] if found.first[c] == k else found.first[c]
        found.of_rows[k] = 0.0
        if j < 0 or visits[k] == 0 or visits[j] == 0 or S < 2:
            continue
        m, n = ptr[k + 1] - ptr[k], ptr[j + 1] - ptr[j]
        value = -math.lgamma(1.0 + visits[k]) - math.lgamma(1.0 + visits[j])
        for i in range(max(m, n)):
            mine = count[ptr[k] + i] if i < m else 0
            other = count[ptr[j] + i] if i < n else 0
            value += log_mixture(mine, 1.0 / S) + log_mixture(other, 1.0 / S)
            value -= log_best(mine + other, visits[k] + visits[j])
        found.of_rows[k] = value


@kernel
def _against_mean(seen: Snapshot, compared: Compared, found: Gathered) -> None:
    for k in range(len(compared.label)):
        c, n = compared.label[k], seen.visits[k]
        rest = found.visits[c] - n
        found.of_means[k] = 0.0
        if n == 0 or rest == 0:
            continue
        paid = min(max(seen.r_sum[k], 0.0), float(n))
        other = min(max(found.paid[c] - paid, 0.0), float(rest))
        value = -math.lgamma(1.0 + n) - math.lgamma(1.0 + rest)
        value += log_mixture(paid, 0.5) + log_mixture(n - paid, 0.5)
        value += log_mixture(other, 0.5) + log_mixture(rest - other, 0.5)
        value -= log_best(paid + other, n + rest) + log_best(n - paid + rest - other, n + rest)
        found.of_means[k] = value


@kernel
def weigh_evidence(seen: Snapshot, compared: Compared, found: Gathered) -> int:
    """Fill in what is compared, and the evidence; how many entries lead outside the order given."""
    label = compared.label
    found.visits[:] = 0
    found.paid[:] = 0.0
    for k in range(len(label)):
        found.visits[label[k]] += seen.visits[k]
        found.paid[label[k]] += seen.r_sum[k]
    outside = 0
    if len(compared.order.succ) > 0:
        outside = _place(seen, compared, found)
        _against_rest(compared, found)
    else:
        _find_most_visited(seen.visits, label, found.first, found.second)
        _against_mate(seen, compared, found)
    if compared.rewards:
        _against_mean(seen, compared, found)
    return outside


@kernel
def _beyond(label: np.ndarray, found: Gathered, row_bound: float, mean_bound: float, reported: np.ndarray) -> bool:
    for k in range(len(label)):
        if not reported[label[k]] and (found.of_rows[k] >= row_bound or found.of_means[k] >= mean_bound):
            return True
    return False


@kernel
def first_outside(path: np.ndarray, final: int, owner: np.ndarray, ptr: np.ndarray, succ: np.ndarray) -> int:
    """The first step of a path to a state that the pair's profile leaves out; -1 where there is none."""
    for i in range(len(path)):
        x = owner[path[i + 1]] if i + 1 < len(path) else final
        if not contains(succ, ptr[path[i]], ptr[path[i] + 1], x):
            return i
    return -1
