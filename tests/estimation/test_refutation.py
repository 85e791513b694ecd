"""The test of stated structure: its formula, its risk over whole runs, and what it notices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln

from equirl.estimation.counts import Counts
from equirl.estimation.refutation import (
    OUTSIDE,
    REST,
    REWARDS,
    SUCCESSORS,
    GivenStructure,
    StructureTest,
    _find_most_visited,
    _strongest,
    first_outside,
    log_best,
    log_mixture,
)
from equirl.structure.similarity import Profiles

LABEL = np.array([0, 0, 1, 0, 1])
ORDERS = [[0, 1, 2], [2, 0, 3], [1, 4], [4, 3, 0], [3, 2]]
S = 5


def profiles():
    flat = [x for row in ORDERS for x in row]
    sizes = [len(row) for row in ORDERS]
    return Profiles(np.concatenate([[0], np.cumsum(sizes)]), np.array(flat, np.int32), np.full(len(flat), np.nan))


def stated(order=True, rewards=True):
    return GivenStructure(LABEL, 2, profiles() if order else None, rewards, S)


def played(laws, means, steps, rng, of_reward=None):
    """Counts of steps with pairs chosen by what was seen so far: the more often, the likelier."""
    counts = Counts(len(laws))
    for _ in range(steps):
        weight = 20.0 + counts.visits
        k = int(rng.choice(len(laws), p=weight / weight.sum()))
        reward = float(rng.random() < means[k]) if of_reward is None else of_reward(means[k], rng)
        counts.record(k, reward, int(rng.choice(S, p=laws[k])))
        yield counts


def true_laws(masses=((0.6, 0.3, 0.1), (0.8, 0.2))):
    laws = np.zeros((len(ORDERS), S))
    for k, row in enumerate(ORDERS):
        laws[k, row] = masses[LABEL[k]]
    return laws


def mixture(counts, size):
    counts = np.asarray(counts, float)
    return gammaln(1.0) - gammaln(1 + counts.sum()) + (gammaln(counts + 1 / size) - gammaln(1 / size)).sum()


def likelihood(counts):
    counts = np.asarray(counts, float)
    counts = counts[counts > 0]
    return (counts * np.log(counts / counts.sum())).sum()


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 6, 8, 10, 80])  # few: pairs seen once or never
def test_the_evidence_is_the_likelihood_ratio_of_the_definition(steps):
    rng = np.random.default_rng(steps)
    *_, counts = played(true_laws(), [0.5] * 5, steps, rng)
    seen = counts.snapshot()
    matrix = np.zeros((5, S))
    for k in range(5):
        matrix[k, seen.succ[seen.ptr[k] : seen.ptr[k + 1]]] = seen.count[seen.ptr[k] : seen.ptr[k + 1]]
    ordered = StructureTest(stated(), 0.1)
    ordered.refutations(seen)
    apart = StructureTest(stated(order=False), 0.1)
    apart.refutations(seen)
    for k in range(5):
        mates = [j for j in range(5) if LABEL[j] == LABEL[k] and j != k]
        own = matrix[k, ORDERS[k]]
        rest = sum(matrix[j, ORDERS[j]] for j in mates)
        if not own.sum() or not rest.sum():
            assert ordered.found.of_rows[k] == apart.found.of_rows[k] == ordered.found.of_means[k] == 0.0
            continue
        expected = mixture(own, len(own)) + mixture(rest, len(own)) - likelihood(own + rest)
        assert ordered.found.of_rows[k] == pytest.approx(expected)
        j = max(mates, key=lambda j: seen.visits[j])
        pooled = -np.sort(-matrix[k]) - np.sort(-matrix[j])
        expected = mixture(matrix[k], S) + mixture(matrix[j], S) - likelihood(pooled)
        assert apart.found.of_rows[k] == pytest.approx(expected)
        paid = np.array([seen.r_sum[k], seen.visits[k] - seen.r_sum[k]])
        others = np.sum([[seen.r_sum[j], seen.visits[j] - seen.r_sum[j]] for j in mates], axis=0)
        expected = mixture(paid, 2) + mixture(others, 2) - likelihood(paid + others)
        assert ordered.found.of_means[k] == pytest.approx(expected)


def test_the_risk_is_shared_among_all_that_could_be_compared():
    both, laws = StructureTest(stated(), 0.1), StructureTest(stated(rewards=False), 0.1)
    assert both.row_bound == both.mean_bound == pytest.approx(math.log(5 / 0.05))
    assert laws.row_bound == pytest.approx(math.log(5 / 0.1))
    assert StructureTest(stated(order=False), 0.1).row_bound == pytest.approx(math.log((3 + 1) / 0.05))


@pytest.mark.parametrize("order", [True, False])
def test_a_true_statement_is_refuted_with_at_most_the_risk_in_a_whole_run(order):
    risk, runs, alarms = 0.5, 120, 0
    nothing_told = np.zeros(2, bool)

    def fraction(mean, rng):
        return float(rng.beta(2 * mean, 2 * (1 - mean)))

    for seed in range(runs):
        test, rng = StructureTest(stated(order), risk), np.random.default_rng(seed)
        pays = None if seed % 2 else fraction
        run = played(true_laws(), [0.3, 0.3, 0.8, 0.3, 0.8], 150, rng, pays)
        alarms += any(test.look(counts.snapshot(), nothing_told) for counts in run)  # looks after every step
    assert alarms <= risk * runs


def test_without_the_bound_it_would_cry_wolf():
    """The same runs refute a true statement far more often than the risk where single looks are taken at face value."""
    alarms, nothing_told = 0, np.zeros(2, bool)
    for seed in range(60):
        test, rng = StructureTest(stated(rewards=False), 0.5), np.random.default_rng(seed)
        test.row_bound = 0.0
        alarms += any(test.look(counts.snapshot(), nothing_told) for counts in played(true_laws(), [0.5] * 5, 150, rng))
    assert alarms > 30


def test_a_pair_of_another_law_is_named_with_the_evidence():
    laws = true_laws()
    laws[3, ORDERS[3]] = (0.2, 0.2, 0.6)
    *_, counts = played(laws, [0.5] * 5, 600, np.random.default_rng(1))
    (found,) = StructureTest(stated(), 0.05).refutations(counts.snapshot())
    assert (found.label, found.what, found.pair, found.other) == (0, SUCCESSORS, 3, REST)
    assert found.evidence > found.bound
    assert found.visits + found.other_visits == counts.visits[LABEL == 0].sum()
    assert 0.5 < found.difference < 1.1


def test_without_an_order_only_profiles_are_compared():
    laws = true_laws()
    laws[3, ORDERS[3]] = (0.1, 0.6, 0.3)  # the same profile elsewhere
    *_, counts = played(laws, [0.5] * 5, 600, np.random.default_rng(1))
    assert StructureTest(stated(order=False), 0.05).refutations(counts.snapshot()) == []
    assert len(StructureTest(stated(), 0.05).refutations(counts.snapshot())) == 1
    laws[3, ORDERS[3]] = (1.0, 0.0, 0.0)
    *_, counts = played(laws, [0.5] * 5, 600, np.random.default_rng(1))
    (found,) = StructureTest(stated(order=False), 0.05).refutations(counts.snapshot())
    assert 3 in (found.pair, found.other)


def test_means_are_compared_where_they_are_stated_to_be_equal():
    *_, counts = played(true_laws(), [0.2, 0.2, 0.5, 0.9, 0.5], 600, np.random.default_rng(1))
    (found,) = StructureTest(stated(), 0.05).refutations(counts.snapshot())
    assert (found.label, found.what, found.pair) == (0, REWARDS, 3)
    assert found.difference == pytest.approx(0.7, abs=0.15)
    assert StructureTest(stated(rewards=False), 0.05).refutations(counts.snapshot()) == []


def test_a_successor_outside_the_order_refutes_at_once():
    counts = Counts(5)
    counts.record(2, 0.0, 0)
    test = StructureTest(stated(), 0.05)
    assert test.look(counts.snapshot(), np.zeros(2, bool))
    (found,) = test.refutations(counts.snapshot())
    assert (found.what, found.pair, found.other, found.difference) == (OUTSIDE, 2, 0, 1.0)


def test_classes_that_were_told_are_not_told_again():
    *_, counts = played(true_laws(), [0.2, 0.2, 0.5, 0.9, 0.5], 600, np.random.default_rng(1))
    test = StructureTest(stated(), 0.05)
    assert test.look(counts.snapshot(), np.array([False, False]))
    assert not test.look(counts.snapshot(), np.array([True, False]))


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_compared_with_the_two_most_visited_of_their_class_of_equals_the_first(seed):
    rng = np.random.default_rng(seed)
    label, visits = rng.integers(0, 4, 30), rng.integers(0, 6, 30)
    first, second = np.empty(5, np.int64), np.empty(5, np.int64)  # class 4 has no pair
    _find_most_visited(visits, label, first, second)
    for c in range(5):
        members = sorted(np.flatnonzero(label == c), key=lambda k: -visits[k])  # stable: of equals the first
        assert (first[c], second[c]) == (*members, -1, -1)[:2]


def counted(matrix, paid=None):
    """Counts with so many visits of each pair to each state."""
    counts = Counts(len(matrix))
    for k, row in enumerate(matrix):
        for x, n in enumerate(row):
            for _ in range(n):
                counts.record(k, 0.0 if paid is None else paid[k], x)
    return counts.snapshot()


@pytest.mark.parametrize("n_states", [1, 2, 3])
@pytest.mark.parametrize("order", [False, True])
def test_with_one_state_nothing_tells_pairs_apart_and_two_are_enough(n_states, order):
    matrix = np.array([[9, 1, 0], [2, 8, 0]]) if n_states > 1 else np.array([[10, 0, 0], [10, 0, 0]])
    succ = np.tile(np.arange(n_states, dtype=np.int32), 2)
    table = Profiles(n_states * np.arange(3), succ, np.full(2 * n_states, np.nan)) if order else None
    test = StructureTest(GivenStructure(np.zeros(2, int), 1, table, False, n_states), 0.1)
    test.refutations(counted(matrix))
    one, two = matrix if order else -np.sort(-matrix)
    expected = mixture(one[:n_states], n_states) + mixture(two[:n_states], n_states) - likelihood(one + two)
    assert test.found.of_rows.tolist() == pytest.approx([0.0 if n_states == 1 else expected] * 2)
    assert test.found.of_means.tolist() == [0.0, 0.0]  # not stated to be equal


def test_a_pair_refuted_by_another_is_named_with_both_visits_and_the_distance_of_their_profiles():
    label = np.array([0, 1, 1, 1])
    matrix = np.array([[0, 5, 0], [40, 0, 40], [0, 60, 0], [1, 1, 0]])
    test = StructureTest(GivenStructure(label, 2, None, False, 3), 0.05)
    (found,) = test.refutations(counted(matrix))
    assert (found.label, found.what, found.pair, found.other) == (1, SUCCESSORS, 1, 2)
    assert (found.visits, found.other_visits) == (80, 60)
    assert found.difference == pytest.approx(abs(0.5 - 1.0) + 0.5)
    assert found.evidence == test.found.of_rows[1] == test.found.of_rows[2] > found.bound == test.row_bound
    assert found.bound == pytest.approx(math.log(3 / 0.05))


def test_means_and_rows_are_told_with_what_the_rest_of_the_class_did():
    table = Profiles(2 * np.arange(4), np.tile(np.arange(2, dtype=np.int32), 3), np.full(6, np.nan))
    matrix, paid = np.array([[30, 10], [5, 75], [20, 0]]), [0.9, 0.1, 0.9]
    test = StructureTest(GivenStructure(np.zeros(3, int), 1, table, True, 2), 0.05)
    rows, means = test.refutations(counted(matrix, paid))
    assert (rows.what, rows.pair, rows.other, rows.visits, rows.other_visits) == (SUCCESSORS, 1, REST, 80, 60)
    assert rows.difference == pytest.approx(abs(5 / 80 - 50 / 60) + abs(75 / 80 - 10 / 60))
    assert (means.what, means.pair, means.other, means.visits, means.other_visits) == (REWARDS, 1, REST, 80, 60)
    assert means.difference == pytest.approx(0.8)
    assert (rows.evidence, means.evidence) == (test.found.of_rows[1], test.found.of_means[1])


def test_of_each_class_the_successor_outside_that_was_seen_most_often_is_told():
    matrix = np.zeros((5, S), int)
    matrix[0, 4], matrix[1, 1], matrix[3, 2], matrix[3, 4] = 2, 3, 3, 7
    matrix[2, 0] = 1
    found = StructureTest(stated(), 0.05).refutations(counted(matrix))
    told = [(one.label, one.pair, one.other, one.visits, one.difference) for one in found if one.what == OUTSIDE]
    assert told == [(0, 1, 1, 3, 3.0), (1, 2, 0, 1, 1.0)]
    assert all((one.other_visits, one.evidence, one.bound) == (0, math.inf, 0.0) for one in found)


@pytest.mark.parametrize("paid", [-1e-9, 1 + 1e-9])
def test_sums_of_rewards_a_rounding_beyond_their_range_count_as_its_ends(paid):
    matrix = np.zeros((5, S), int)
    matrix[0, 0], matrix[1, 2] = 8, 6
    test, exact = StructureTest(stated(), 0.05), StructureTest(stated(), 0.05)
    test.refutations(counted(matrix)._replace(r_sum=np.array([8.0, 6.0, 0.0, 0.0, 0.0]) * paid))
    exact.refutations(counted(matrix)._replace(r_sum=np.array([8.0, 6.0, 0.0, 0.0, 0.0]) * round(paid)))
    assert exact.found.of_means[0] != 0.0
    np.testing.assert_allclose(test.found.of_means, exact.found.of_means, rtol=1e-6)
    assert np.isfinite(test.found.of_means).all()


@pytest.mark.parametrize("seed", range(5))
def test_of_each_class_the_strongest_evidence_at_or_beyond_the_bound_is_kept(seed):
    rng = np.random.default_rng(seed)
    evidence, label = rng.integers(0, 6, 20).astype(float), rng.integers(0, 5, 20)
    expected = []
    for c in range(5):
        good = [k for k in range(20) if label[k] == c and evidence[k] >= 4.0]
        expected += [max(good, key=lambda k: evidence[k])] if good else []
    assert _strongest(evidence, 4.0, label) == expected
    assert _strongest(evidence, 7.0, label) == []


@pytest.mark.parametrize("plain", [False, True])
def test_the_first_step_that_leaves_its_profile_is_found(plain):
    run = first_outside.py_func if plain else first_outside
    table, owner = profiles(), np.array([0, 1, 2, 3, 4])  # a pair per state
    for path, final, first in (
        ([0, 1, 2], 4, -1), ([0, 1, 2], 1, -1), ([0, 1, 2], 0, 2), ([0, 3, 4], 2, 0), ([0, 2, 3], 0, 1),
        ([0, 2, 1], 3, -1), ([4], 4, 0), ([0, 0, 0], 0, -1), ([], 3, -1),
    ):  # fmt: skip
        assert run(np.array(path, np.int64), final, owner, table.ptr, table.succ) == first


def test_outcomes_without_samples_add_nothing_and_others_their_terms():
    for mixed, best in ((log_mixture, log_best), (log_mixture.py_func, log_best.py_func)):
        assert mixed(0.0, 0.25) == best(0.0, 3.0) == 0.0
        assert mixed(2.0, 0.25) == pytest.approx(math.log(0.25 * 1.25))
        assert mixed(0.5, 0.5) == pytest.approx(-math.log(math.pi) / 2)
        assert best(2.0, 3.0) == pytest.approx(2 * math.log(2 / 3))
