"""The least expected times to a target: single steps of policy iteration, and when it may stop early."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.solving import shortest_times
from equirl.solving.chains import incoming, whole
from equirl.solving.renewal import IllConditioned
from equirl.solving.shortest_times import _hasten, _longest_time, diameter
from oracles_solving import hitting_times

WORLD = eq.make("random", n_states=5, n_actions=3, branching=3, seed=4)
P, _ = WORLD.to_arrays()
PART = whole(WORLD)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("tie", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_a_pair_is_changed_where_another_is_faster_by_more_than_the_tie(seed, tie, plain):
    rng = np.random.default_rng(seed)
    times, kept = 3 * rng.random(5), rng.integers(0, 3, 5)
    mean = P @ times
    expected = np.where(mean.min(axis=1) < mean[np.arange(5), kept] - tie, mean.argmin(axis=1), kept)
    pair = 3 * np.arange(5) + kept
    changed = (_hasten.py_func if plain else _hasten)(PART.model, times, tie, pair)
    assert (pair - 3 * np.arange(5)).tolist() == expected.tolist()
    assert bool(changed) == (expected.tolist() != kept.tolist())


def test_a_pair_just_as_fast_replaces_none():
    for a in range(3):
        pair = 3 * np.arange(5) + a
        assert not _hasten(PART.model, np.ones(5), 1e-12, pair)
        assert pair.tolist() == (3 * np.arange(5) + a).tolist()


@pytest.mark.parametrize("target", range(5))
def test_the_longest_time_to_a_target_is_that_of_value_iteration_and_an_upper_bound_where_that_is_enough(target):
    exact = hitting_times(WORLD, target).max()
    laws, arrivals = PART.matrix(), incoming(PART)
    assert _longest_time(PART, laws, arrivals, target, 0.0) == pytest.approx(exact, rel=1e-9)
    assert exact - 1e-9 <= _longest_time(PART, laws, arrivals, target, 1e9) <= 1e9


def test_the_most_states_and_the_longest_time_are_limits_that_may_be_reached(monkeypatch):
    exact = max(hitting_times(WORLD, target).max() for target in range(5))
    assert diameter(WORLD, max_states=5) == pytest.approx(exact, rel=1e-9)
    with pytest.raises(ValueError, match=r"of 5 states takes some 5 sparse factorisations; pass max_states=5 to wait"):
        diameter(WORLD, max_states=4)
    monkeypatch.setattr(shortest_times, "LONGEST_TIME", exact / 2)
    with pytest.raises(IllConditioned, match="the diameter is beyond double precision"):
        diameter(WORLD)
