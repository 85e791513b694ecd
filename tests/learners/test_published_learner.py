"""The sort behind the published curves: what it leaves of ties, and the settings of the learner that uses it."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners import make_settings
from equirl.learners.published_learner import _order_by_quicksort, quicksort_order
from oracles import quicksort_order as plain_order


def orders(seed):
    """Values with many ties, of lengths around and far beyond those that are left to insertion."""
    rng = np.random.default_rng(seed)
    for n in (1, 2, 15, 16, 17, 18, 31, 33, 64, 100, 257, 600):
        for kinds in (1, 2, 3, 10, n):
            yield rng.integers(0, kinds, n)
        yield np.sort(rng.integers(0, 5, n))
        yield np.sort(rng.integers(0, 5, n))[::-1].copy()
        yield np.where(np.arange(n) == n // 3, 4, 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("plain", [False, True])
def test_places_are_in_the_order_that_the_swaps_of_a_plain_quicksort_leave(seed, plain):
    run = quicksort_order.py_func if plain else quicksort_order
    for values in orders(seed):
        order = np.full(len(values), -1)
        run(values, order)
        assert order.tolist() == list(plain_order(values.tolist()))
        assert (np.diff(values[order]) >= 0).all()


def test_successors_stand_by_decreasing_count_those_never_seen_as_the_swaps_fall():
    counts, rng = (
        eq.agent_for(eq.make("random", n_states=40, n_actions=1, seed=1), "random").counts,
        np.random.default_rng(0),
    )
    for _ in range(300):
        counts.record(int(rng.integers(0, 39)), 0.0, int(rng.integers(0, 6)))  # the last pair is never played
    seen = counts.snapshot()
    for run in (_order_by_quicksort, _order_by_quicksort.py_func):
        ptr = np.concatenate([np.arange(40) * 7, [39 * 7]])
        succ = np.full(39 * 7, -1, np.int32)
        run(seen, 40, ptr, succ)
        for k in range(39):
            count = np.zeros(40, int)
            count[seen.succ[seen.ptr[k] : seen.ptr[k + 1]]] = seen.count[seen.ptr[k] : seen.ptr[k + 1]]
            assert succ[7 * k : 7 * k + 7].tolist() == list(plain_order(count.tolist()))[::-1][:7]


def test_nearness_by_means_needs_rewards_that_are_pooled():
    with pytest.raises(
        ValueError, match=r"nearest_by='law_and_mean' compares means: it needs rewards='per_class', not"
    ):
        make_settings("c-ucrl-published", nearest_by="law_and_mean", rewards="per_pair")
    assert (
        make_settings("c-ucrl-published", nearest_by="law_and_mean", rewards="per_class").nearest_by == "law_and_mean"
    )
    assert make_settings("c-ucrl-published", nearest_by="law", rewards="per_pair").nearest_by == "law"
    with pytest.raises(ValueError, match="nearest_by"):
        make_settings("c-ucrl-published", nearest_by="mean")
