from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracles_equivalence as oracle
from equirl.structure.partition import Partition
from equirl.structure.quality import _bias, match_classes, misclustered, misclustering_bias, misclustering_ratio


@st.composite
def clustered_counts(draw):
    """Estimated labels, true labels, sorted successor counts (some pairs unseen) and a priority."""
    size = draw(st.integers(1, 9))
    several = {"min_size": size, "max_size": size}
    label = draw(st.lists(st.integers(0, 2), **several))
    truth = draw(st.lists(st.integers(0, 2), **several))
    counts = [sorted(draw(st.lists(st.integers(1, 6), max_size=4)), reverse=True) for _ in range(size)]
    priority = draw(st.permutations(range(size)))
    return label, truth, counts, priority


def as_arrays(counts):
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in counts])])
    return [sum(row) for row in counts], ptr, np.array([n for row in counts for n in row], dtype=np.int64)


@given(clustered_counts())
@settings(max_examples=150, deadline=None)
def test_both_measures_agree_with_their_definitions(case):
    label, truth, counts, priority = case
    part, true = Partition.from_labels(label), Partition.from_labels(truth)
    visits, ptr, flat = as_arrays(counts)
    expected = oracle.bias(label, truth, visits, counts, priority)
    assert misclustering_bias(part, true, visits, ptr, flat, priority) == pytest.approx(expected, abs=1e-12)
    expected = oracle.ratio(label, truth, visits, priority)
    assert misclustering_ratio(part, true, visits, priority) == pytest.approx(expected)
    assert misclustering_ratio(part, true) == pytest.approx(expected)


@given(clustered_counts(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_the_bias_by_state_pools_the_laws_themselves(case, random):
    label, truth, counts, priority = case
    visits, ptr, flat = as_arrays(counts)
    states = [random.sample(range(6), len(row)) for row in counts]
    laws = [
        [dict(zip(at, row, strict=True)).get(x, 0) for x in range(6)] for at, row in zip(states, counts, strict=True)
    ]
    flat_states = [x for at in states for x in at]
    part, true = Partition.from_labels(label), Partition.from_labels(truth)
    expected = oracle.bias(label, truth, visits, laws, priority)
    found = misclustering_bias(part, true, visits, ptr, flat, priority, successors=flat_states)
    assert found == pytest.approx(expected, abs=1e-12)


@given(clustered_counts())
@settings(max_examples=50, deadline=None)
def test_the_right_partition_and_singletons_have_no_error(case):
    _, truth, counts, _ = case
    true = Partition.from_labels(truth)
    visits, ptr, flat = as_arrays(counts)
    for part in (true, Partition.singletons(len(truth))):
        assert misclustering_ratio(part, true) == 0
        assert misclustering_bias(part, true, visits, ptr, flat) == 0


def test_more_visits_decide_between_equal_parts():
    part, truth = Partition.from_labels("aaaa"), Partition.from_labels("xxyy")
    assert misclustered(part, truth, visits=[1, 1, 1, 2]).tolist() == [True, True, False, False]


def test_priority_decides_between_parts_of_equal_size_and_visits():
    part, truth = Partition.from_labels("aaaa"), Partition.from_labels("xxyy")
    assert misclustered(part, truth, [1, 1, 1, 1], priority=[2, 3, 1, 9]).tolist() == [True, True, False, False]
    assert misclustered(part, truth, [1, 1, 1, 1]).tolist() == [False, False, True, True]


def test_the_ratio_counts_every_pair_outside_the_largest_part():
    part, truth = Partition.from_labels("aaaabb"), Partition.from_labels("xxyzxx")
    assert misclustering_ratio(part, truth) == pytest.approx(2 / 6)


def test_the_compiled_bias_is_the_plain_one():
    rng = np.random.default_rng(0)
    counts = [sorted(rng.integers(1, 9, rng.integers(1, 5)).tolist(), reverse=True) for _ in range(30)]
    _, ptr, flat = as_arrays(counts)
    label, wrong = rng.integers(0, 3, 30), rng.random(30) < 0.4
    place = 4 * np.repeat(label, np.diff(ptr)) + np.arange(len(flat)) - np.repeat(ptr[:-1], np.diff(ptr))
    results = [f(label, ptr, flat, place, wrong, np.zeros(12, int), np.zeros(3, int)) for f in (_bias, _bias.py_func)]
    assert results[0] == results[1] > 0


def test_successors_that_do_not_match_are_named():
    part = Partition.from_labels("aab")
    with pytest.raises(ValueError, match="successors has 2 entries, profile_counts 3"):
        misclustering_bias(part, part, [1, 1, 1], np.arange(4), np.ones(3, int), successors=[0, 1])


@pytest.mark.parametrize(
    ("visits", "ptr", "message"),
    [
        ([1, 1], [0, 1, 2, 3], "visits has shape"),
        ([1, 1, 1], [0, 1, 2], r"profile_ptr must have shape \(4,\)"),
        ([1, 1, 1], [0, 1, 2, 4], "profile_ptr must run from 0 to 3"),
    ],
)
def test_arrays_that_do_not_match_are_named(visits, ptr, message):
    part = Partition.from_labels("aab")
    with pytest.raises(ValueError, match=message):
        misclustering_bias(part, part, visits, np.array(ptr), np.array([1, 1, 1]))


def test_partitions_of_different_problems_are_refused():
    with pytest.raises(ValueError, match="one of 3 pairs, one of 2"):
        misclustering_ratio(Partition.singletons(3), Partition.singletons(2))


@given(clustered_counts())
@settings(max_examples=100, deadline=None)
def test_the_largest_overlaps_are_matched_first_and_each_class_once(case):
    found, truth = (Partition.from_labels(labels) for labels in case[:2])
    overlaps = Counter(zip(found.label.tolist(), truth.label.tolist(), strict=True))
    expected = {}
    for mine, its in sorted(overlaps, key=lambda both: (-overlaps[both], both)):
        if mine not in expected and its not in expected.values():
            expected[mine] = its
    assert match_classes(found, truth).tolist() == [expected.get(mine, -1) for mine in range(found.n_classes)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("aab", Partition.singletons(3)), "partition must be a Partition, not 'aab'"),
        ((Partition.singletons(3), "aab"), "truth must be a Partition, not 'aab'"),
        ((Partition.singletons(2), Partition.singletons(2), [1, -1]), "visits must be numbers, none of them negative"),
        ((Partition.singletons(2), Partition.singletons(2), [1, np.nan]), "visits must be numbers"),
        ((Partition.singletons(2), Partition.singletons(2), None, [np.nan, 1]), "priority must be numbers$"),
        ((Partition.singletons(2), Partition.singletons(2), None, [1]), r"priority has shape \(1,\)"),
    ],
)
def test_what_cannot_be_compared_is_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        misclustered(*arguments)


def test_visits_and_priorities_of_nothing_are_those_of_nothing():
    part, truth = Partition.from_labels("aab"), Partition.from_labels("xyy")
    assert misclustered(part, truth, [0, 0, 0], [-1, -2, 0]).tolist() == [True, False, False]
    with pytest.raises(TypeError, match="visits must be a number for each pair, not None"):
        misclustering_bias(part, truth, None, np.arange(4), np.ones(3, int))
