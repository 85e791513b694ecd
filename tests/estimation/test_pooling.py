"""Estimates pooled over known profiles, ties, spare masses and variances, against their definitions on drawn counts."""

import numpy as np
import pytest

from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import (
    Estimates,
    Grouping,
    Spare,
    contains,
    estimate,
    pool,
    pool_given,
    reward_variance,
    tie_groups,
)
from equirl.model.rows import Rows
from equirl.structure.similarity import Profiles

S = 6


def drawn(seed, n_pairs=7):
    """Known profiles in decreasing order with ties, and counts at some of their positions, in decreasing order."""
    rng = np.random.default_rng(seed)
    label = np.append(rng.integers(0, 3, n_pairs - 1), 3)  # the last pair is alone
    shapes = [np.sort(rng.integers(1, 4, rng.integers(1, 5)))[::-1] for _ in range(4)]
    order = [rng.permutation(S)[: len(shapes[c])] for c in label]
    prob = [shapes[c] / shapes[c].sum() for c in label]
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in order])])
    profiles = Profiles(ptr, np.concatenate(order).astype(np.int32), np.concatenate(prob))
    table = [{int(x): int(n) for x, n in zip(row, rng.integers(0, 9, len(row)), strict=True) if n} for row in order]
    table[int(rng.integers(n_pairs - 1))] = {}
    rows = [sorted(row.items(), key=lambda item: -item[1]) for row in table]
    visits = np.array([sum(row.values()) for row in table])
    r_sum = visits * rng.random(n_pairs)
    seen = Snapshot(
        np.concatenate([[0], np.cumsum([len(row) for row in rows])]),
        np.array([x for row in rows for x, _ in row], np.int32),
        np.array([n for row in rows for _, n in row], np.int64),
        visits, r_sum, r_sum * rng.random(n_pairs),
    )  # fmt: skip
    return seen, table, label, profiles, order, prob


@pytest.mark.parametrize("seed", range(12))
def test_known_profiles_pool_counts_by_position_and_equal_probabilities_share(seed):
    seen, table, label, profiles, order, prob = drawn(seed)
    groups = Grouping(label, 4)
    found = pool_given(seen, groups, profiles, tie_groups(profiles, label), means=groups)
    for k in range(7):
        members = np.flatnonzero(label == label[k])
        total = np.zeros(len(order[k]))
        for j in members:
            total += [table[j].get(int(x), 0) for x in order[j]]
        if len(members) > 1:
            total = np.array([total[np.isclose(prob[k], p)].mean() for p in prob[k]])
        n = int(seen.visits[members].sum())
        row = slice(profiles.ptr[k], profiles.ptr[k + 1])
        np.testing.assert_allclose(found.rows.prob[row], total / n if n else 0 * total)
        assert (found.samples[k], found.r_samples[k]) == (n, n)
        assert found.r_hat[k] == pytest.approx(seen.r_sum[members].sum() / n if n else 0.0)
    own = pool_given(seen, groups, profiles, tie_groups(profiles, label), means=None)
    np.testing.assert_array_equal(own.r_samples, seen.visits)
    np.testing.assert_allclose(own.r_hat, estimate(seen).r_hat)


@pytest.mark.parametrize("seed", range(6))
def test_means_may_be_pooled_over_finer_groups_than_rows(seed):
    seen, _, label, profiles, *_ = drawn(seed)
    groups, finer = Grouping(label, 4), np.unique(2 * label + np.arange(7) % 2, return_inverse=True)[1]
    means = Grouping(finer, finer.max() + 1)
    coarse, found = (
        pool_given(seen, groups, profiles, tie_groups(profiles, label), means=by) for by in (groups, means)
    )
    np.testing.assert_array_equal(found.rows.prob, coarse.rows.prob)
    np.testing.assert_array_equal(found.samples, coarse.samples)
    for k in range(7):
        members = finer == finer[k]
        n = seen.visits[members].sum()
        assert found.r_samples[k] == (n if coarse.samples[k] else 0)
        assert found.r_hat[k] == pytest.approx(seen.r_sum[members].sum() / n if n else 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_the_variance_of_rewards_is_that_of_the_samples_behind_the_mean(seed):
    seen, _, label, *_ = drawn(seed)
    groups = Grouping(label, 4)
    for pooled in (False, True):
        means = groups if pooled else None
        found = reward_variance(seen, means, pool(seen, groups, S, means=means))
        for k in range(7):
            members = np.flatnonzero(label == label[k]) if pooled else np.array([k])
            n = seen.visits[members].sum() if seen.visits[k] else 0
            mean = seen.r_sum[members].sum() / n if n else 0.0
            square = seen.r_squares[members].sum() / n if n else 0.0
            assert found[k] == pytest.approx(max(0.0, square - mean**2))


def test_ties_are_probabilities_within_the_tolerance_of_the_one_before_and_pairs_alone_have_none():
    prob = np.array([0.5, 0.5 - 1e-10, 0.4, 0.4 - 3e-9, 0.5, 0.5, 0.5, 0.5])
    profiles = Profiles(np.array([0, 4, 6, 8]), np.arange(8, dtype=np.int32), prob)
    assert tie_groups(profiles, np.array([0, 0, 1])).tolist() == [0, 0, 2, 3, 0, 0, 0, 1]
    assert tie_groups(profiles, np.array([0, 0, 1]), 1e-8).tolist() == [0, 0, 2, 2, 0, 0, 0, 1]
    assert tie_groups(profiles, np.array([0, 1, 1])).tolist() == [0, 1, 2, 3, 0, 0, 0, 0]


def test_spare_masses_follow_their_rows_and_are_absent_where_none_is():
    spare = Spare(np.array([0, 2, 2, 3]), np.array([0.3, 0.1, 0.2]))
    some = spare.take(np.array([2, 0]))
    assert (some.ptr.tolist(), some.mass.tolist()) == ([0, 1, 3], [0.2, 0.3, 0.1])
    assert spare.take(np.array([1])) is None
    assert Estimates(Rows(np.zeros(1), np.zeros(0), np.zeros(0)), *np.zeros((3, 0))).spare is None


def test_a_value_is_looked_for_between_two_places():
    values = np.array([4, 7, 9, 4])
    for run in (contains, contains.py_func):
        assert [bool(run(values, first, last, 7)) for first, last in ((0, 2), (1, 2), (0, 1), (2, 4), (1, 1))] == [
            True, True, False, False, False,
        ]  # fmt: skip
