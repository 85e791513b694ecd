"""Clustering: ApproxEquivalence against its line-by-line version, and how it grows with the number of pairs.

The line-by-line version is plain Python: lists, loops over all clusters and members, nothing kept between. It has the
defaults alone: balanced merges, pooled radii, no mean rewards, ties to the pair of the smallest number.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import product, zip_longest
from typing import Any, NamedTuple

import numpy as np

from equirl.clustering import approx_equivalence
from equirl.estimation import log_events, weissman
from equirl.lab.benchmarks.measurement import Finding, Measure, Sizes, power, seconds_of
from equirl.numerics.arrays import owners, places_in_rows, starts
from equirl.structure import profiles
from equirl.worlds import make

VISITS = 1000


class Counted(NamedTuple):
    """What a learner has counted, as ApproxEquivalence reads it."""

    visits: np.ndarray  # (M,)
    ptr: np.ndarray  # (M + 1,)
    counts: np.ndarray  # (nnz,) decreasing in each row
    n_states: int


def measure_clustering(sizes: Sizes) -> Iterator[Finding]:
    yield from _against_line_by_line(sizes)
    times = []
    problems = [count_in_grid(M) for M in sizes.growth_pairs]
    for problem in problems:
        times.append(seconds_of(partial(cluster, problem), min(sizes.seconds, 1.0)))
        note = f"M = {len(problem.visits)}, {VISITS} visits each, four-room grid"
        yield Measure("ApproxEquivalence", times[-1], "s", note)
    pairs = [len(problem.visits) for problem in problems]
    yield Measure("growth with M", power(pairs, times), "power", f"M = {pairs[0]} to {pairs[-1]}")


def count_in_grid(n_pairs: int) -> Counted:
    """Each pair of a four-room grid, sampled ``VISITS`` times."""
    side = round((n_pairs / 4) ** 0.5) + 3
    mdp = make("four-room", height=side, width=side)
    table = profiles(mdp)
    row = owners(table.ptr)
    probabilities = np.zeros((mdp.n_pairs, int(np.diff(table.ptr).max())))
    probabilities[row, places_in_rows(table.ptr)] = table.prob
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    counts = np.random.default_rng(0).multinomial(VISITS, probabilities)
    counts = -np.sort(-counts, axis=1)
    ptr = starts((counts > 0).sum(axis=1))
    return Counted(np.full(mdp.n_pairs, VISITS), ptr, counts[counts > 0], mdp.n_states)


def cluster(problem: Counted) -> Any:
    return approx_equivalence(*problem)


def _against_line_by_line(sizes: Sizes) -> Iterator[Finding]:
    problem = count_in_grid(sizes.oracle_pairs)
    ours = seconds_of(partial(cluster, problem), sizes.seconds / 3)
    start = time.perf_counter()
    plain_approx_equivalence(*problem)
    theirs = time.perf_counter() - start
    name = "line-by-line ApproxEquivalence against ours"
    yield Measure(name, theirs / ours, "times", f"M = {len(problem.visits)}")


class _Cluster:
    """A set of pairs: its members, visits and counts by position of the profile."""

    def __init__(self, members: list[int], n: int, counts: Sequence[int], level: tuple[float, float]) -> None:
        self.members, self.n, self.counts, self.level = members, n, counts, level

    def __or__(self, other: _Cluster) -> _Cluster:
        counts = [a + b for a, b in zip_longest(self.counts, other.counts, fillvalue=0)]
        return _Cluster(self.members + other.members, self.n + other.n, counts, self.level)

    @cached_property
    def profile(self) -> list[float]:
        return [x / self.n for x in self.counts]

    @cached_property
    def radius(self) -> float:
        return weissman(self.n, *self.level)

    @property
    def leader(self) -> int:
        return min(self.members)

    def d_hat(self, other: _Cluster) -> float:
        """The lower L1 distance of two profiles; not positive where they may be equal."""
        total = 0.0
        for p, q in zip_longest(self.profile, other.profile, fillvalue=0.0):
            total += abs(p - q)
        return total - (self.radius + other.radius)

    def is_balanced_with(self, other: _Cluster, balance: float) -> bool:
        one, two = self.n / len(self.members), other.n / len(other.members)
        return max(one, two) <= balance * min(one, two)


def plain_approx_equivalence(
    visits: np.ndarray,
    profile_ptr: np.ndarray,
    profile_counts: np.ndarray,
    n_states: int,
    *,
    delta: float = 0.05,
    balance: float = 4.0,
) -> list[int]:
    """The classes that :func:`equirl.clustering.approx_equivalence` finds with its default settings."""
    M = len(visits)
    level = log_events(n_states), math.log(delta) - math.log(3 * M)
    rows = [[int(x) for x in profile_counts[profile_ptr[j] : profile_ptr[j + 1]]] for j in range(M)]
    alone = [_Cluster([j], int(visits[j]), rows[j], level) for j in range(M)]

    clusters, merged = [u for u in alone if u.n > 0], True
    while merged:
        free, formed = sorted(clusters, key=lambda u: (-u.n, u.leader)), []
        for u in list(free):
            near = list(_neighbours(u, free, alone, balance)) if u in free else []
            if near:
                v = min(near, key=lambda v: (u.d_hat(v), v.leader))
                free.remove(u)
                free.remove(v)
                formed.append(u | v)
        clusters, merged = free + formed, bool(formed)
    label = list(range(M))
    for u in clusters:
        for j in u.members:
            label[j] = u.leader
    return label


def _neighbours(u: _Cluster, free: list[_Cluster], alone: list[_Cluster], balance: float) -> Iterator[_Cluster]:
    """The clusters that u may merge with: alike as wholes, member by member, and each member with the union."""
    for v in free:
        if (
            v is not u
            and u.is_balanced_with(v, balance)
            and u.d_hat(v) <= 0
            and all(alone[j].d_hat(alone[k]) <= 0 for j, k in product(u.members, v.members))
            and all(alone[j].d_hat(u | v) <= 0 for j in u.members + v.members)
        ):
            yield v
