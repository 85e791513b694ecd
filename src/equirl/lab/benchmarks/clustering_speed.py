"""Clustering: ApproxEquivalence against its line-by-line version, and how it grows with the number of pairs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equirl.clustering import approx_equivalence
from equirl.lab.benchmarks.measurement import Finding, Measure, power, side_by_side
from equirl.lab.benchmarks.plain_clustering import plain_approx_equivalence
from equirl.numerics.arrays import owners, starts
from equirl.structure import profiles
from equirl.worlds import make

if TYPE_CHECKING:
    from equirl.lab.benchmarks.suite import Sizes

SUBJECT = "clustering"
VISITS = 1000


class Counted(NamedTuple):
    """What a learner has counted, as ApproxEquivalence reads it."""

    visits: np.ndarray  # (M,)
    ptr: np.ndarray  # (M + 1,)
    counts: np.ndarray  # (nnz,) decreasing in each row
    n_states: int


def measure_clustering(sizes: Sizes) -> Iterator[Finding]:
    """All figures about clustering."""
    yield from _against_line_by_line(sizes)
    times = []
    problems = [count_in_grid(M) for M in sizes.growth_pairs]
    for problem in problems:
        times.append(side_by_side({"merge": partial(cluster, problem)}, min(sizes.seconds, 1.0))["merge"])
        note = f"M = {len(problem.visits)}, {VISITS} visits each, four-room grid"
        yield Measure(SUBJECT, "ApproxEquivalence", times[-1], "s", note)
    pairs = [len(problem.visits) for problem in problems]
    yield Measure(SUBJECT, "growth with M", power(pairs, times), "power", f"M = {pairs[0]} to {pairs[-1]}")


def count_in_grid(n_pairs: int) -> Counted:
    """Each pair of a four-room grid, sampled ``VISITS`` times."""
    side = round((n_pairs / 4) ** 0.5) + 3
    mdp = make("four-room", height=side, width=side)
    table = profiles(mdp)
    row = owners(table.ptr)
    probabilities = np.zeros((mdp.n_pairs, int(np.diff(table.ptr).max())))
    probabilities[row, np.arange(len(row)) - table.ptr[row]] = table.prob
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    counts = np.random.default_rng(0).multinomial(VISITS, probabilities)
    counts = -np.sort(-counts, axis=1)
    ptr = starts((counts > 0).sum(axis=1))
    return Counted(np.full(mdp.n_pairs, VISITS), ptr, counts[counts > 0], mdp.n_states)


def cluster(problem: Counted) -> Any:
    """The estimated classes."""
    return approx_equivalence(*problem)


def _against_line_by_line(sizes: Sizes) -> Iterator[Finding]:
    problem = count_in_grid(sizes.oracle_pairs)
    ours = side_by_side({"merge": partial(cluster, problem)}, sizes.seconds / 3)["merge"]
    start = time.perf_counter()
    plain_approx_equivalence(*problem)
    theirs = time.perf_counter() - start
    name = "line-by-line ApproxEquivalence against ours"
    yield Measure(SUBJECT, name, theirs / ours, "times", f"M = {len(problem.visits)}")
