"""Transitions counted in one pass, against sorting them."""

import numpy as np
import pytest

from equirl.logs.log import count_transitions
from equirl.model.pairs import Pairs


def sorted_counts(pairs, pair, successor, reward, weight):
    """The same by NumPy's own sorting and adding up; successors of a pair by decreasing count, then number."""
    different, place = np.unique(pair * pairs.n_states + successor, return_inverse=True)
    n = np.zeros(len(different), np.int64)
    np.add.at(n, place, weight)
    owner, succ = different // pairs.n_states, different % pairs.n_states
    order = np.lexsort((-succ, -n, owner))
    powers = [np.clip(reward, 0.0, 1.0), np.clip(reward, 0.0, 1.0) ** 2]
    earned = [np.bincount(pair, weights=of * weight, minlength=pairs.n_pairs) for of in powers]
    came = [np.bincount(place, weights=of * weight, minlength=len(n))[order] for of in powers]
    return owner[order], succ[order], n[order], earned, came


@pytest.mark.parametrize(("n_states", "n_rows"), [(1, 0), (1, 5), (3, 40), (30, 500), (200, 3000)])
@pytest.mark.parametrize("heaviest", [1, 9])
def test_counts_are_those_of_sorting_to_the_last_bit(n_states, n_rows, heaviest):
    rng = np.random.default_rng([n_states, heaviest])
    pairs = Pairs.uniform(n_states, rng.integers(1, 4, n_states))
    pair, successor = rng.integers(pairs.n_pairs, size=n_rows), rng.integers(n_states, size=n_rows)
    reward, weight = rng.normal(0.5, 0.6, n_rows), rng.integers(1, heaviest + 1, n_rows)
    seen, came = count_transitions(pairs, pair, successor, reward, weight)
    owner, succ, n, earned, expected = sorted_counts(pairs, pair, successor, reward, weight)
    assert np.array_equal(np.repeat(np.arange(pairs.n_pairs), np.diff(seen.ptr)), owner)
    assert np.array_equal(seen.succ, succ)
    assert np.array_equal(seen.count, n)
    assert np.array_equal(seen.visits, np.bincount(owner, weights=n, minlength=pairs.n_pairs))
    assert np.array_equal([seen.r_sum, seen.r_squares], earned)
    assert np.array_equal(came, expected)
