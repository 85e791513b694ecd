import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.structure.partition import Partition

labels = st.lists(st.integers(0, 5), min_size=1, max_size=12)
two_labelings = labels.flatmap(
    lambda one: st.tuples(st.just(one), st.lists(st.integers(0, 3), min_size=len(one), max_size=len(one)))
)


@given(labels)
def test_labels_count_classes_in_order_of_first_appearance(given_labels):
    label = Partition.from_labels(given_labels).label
    assert list(dict.fromkeys(label.tolist())) == list(range(len(set(given_labels))))
    same = np.equal.outer(np.array(given_labels), np.array(given_labels))
    assert np.array_equal(np.equal.outer(label, label), same)


@given(labels, st.permutations(range(6)))
def test_partitions_are_equal_up_to_relabelling(given_labels, new_name):
    one, other = Partition.from_labels(given_labels), Partition.from_labels([new_name[c] for c in given_labels])
    assert one == other
    assert hash(one) == hash(other)


def test_different_partitions_are_not_equal():
    assert Partition.from_labels([0, 0, 1]) != Partition.from_labels([0, 1, 1])
    assert Partition.from_labels([0, 0, 1]) != [0, 0, 1]


@given(labels)
def test_sizes_and_members_agree_with_labels(given_labels):
    part = Partition.from_labels(given_labels)
    assert part.sizes.sum() == len(given_labels)
    assert [len(pairs) for pairs in part] == part.sizes.tolist()
    for c, pairs in enumerate(part):
        assert np.array_equal(pairs, part.members(c))
        assert (part.label[pairs] == c).all()
    assert len(part) == part.n_classes == len(set(given_labels))


@given(two_labelings)
def test_common_refinement_joins_what_both_join(labelings):
    one, other = labelings
    both = Partition.from_labels(one) & Partition.from_labels(other)
    assert both == Partition.from_labels([10 * a + b for a, b in zip(one, other, strict=True)])


@given(two_labelings)
def test_refinement_is_inclusion_of_classes(labelings):
    one, other = labelings
    inside = all(one[i] != one[j] or other[i] == other[j] for i in range(len(one)) for j in range(len(one)))
    assert Partition.from_labels(one).refines(Partition.from_labels(other)) == inside


@given(labels, st.data())
def test_restriction_keeps_the_relation_among_the_chosen_pairs(given_labels, data):
    chosen = data.draw(st.lists(st.integers(0, len(given_labels) - 1), unique=True))
    expected = Partition.from_labels([given_labels[k] for k in chosen])
    assert Partition.from_labels(given_labels).restrict(chosen) == expected


def test_restriction_takes_a_mask():
    assert Partition.from_labels("abca").restrict(np.array([False, True, True, True])).label.tolist() == [0, 1, 2]


@given(labels)
def test_json_goes_both_ways(given_labels):
    part = Partition.from_labels(given_labels)
    assert Partition.from_json(part.to_json()) == part
    assert json.loads(part.to_json())["label"] == part.label.tolist()


def test_a_partition_of_nothing_is_empty():
    part = Partition.from_labels([])
    assert (part.n_pairs, part.n_classes, list(part)) == (0, 0, [])
    assert Partition.from_json(part.to_json()) == part


def test_singletons_have_a_class_each():
    assert Partition.singletons(4).label.tolist() == [0, 1, 2, 3]


def test_labels_cannot_be_changed_and_do_not_follow_the_array_given():
    given_labels = np.array([0, 1, 1])
    part = Partition(given_labels)
    given_labels[0] = 5
    assert part.label.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        part.label[0] = 1


def test_repr_shows_the_largest_classes():
    assert repr(Partition.from_labels([0, 1, 1, 2, 2, 2])) == "Partition(M=6, C=3, sizes 3 2 1)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Partition(np.array([0, 2, 1])), "label 2 of pair 1 is not canonical.*from_labels"),
        (lambda: Partition(np.array([-1, 0])), "label -1 of pair 0"),
        (lambda: Partition(np.array([[0, 1]])), r"shape \(1, 2\)"),
        (lambda: Partition.from_labels([[0], [1]]), r"shape \(2, 1\)"),
        (lambda: Partition.from_labels([0.5, float("nan")]), "pair 1 is NaN"),
        (lambda: Partition.singletons(3).members(3), "no class 3: classes are 0 to 2"),
        (lambda: Partition.singletons(3).restrict([0, 3]), "no pair 3"),
        (lambda: Partition.singletons(3).restrict([[0, 1]]), r"pairs has shape \(1, 2\)"),
        (lambda: Partition.from_json("[" * 100_000), "not a partition: the text is nested too deeply"),
        (lambda: Partition.from_json('{"kind": "partition", "label": 3}'), "not a partition"),
        (lambda: Partition.from_json('{"kind": "other", "label": [0]}'), "not a partition"),
        (lambda: Partition.singletons(3).restrict(np.array([True])), "pairs is a mask of shape"),
        (lambda: Partition.singletons(3) & Partition.singletons(2), "one of 3 pairs, one of 2"),
        (lambda: Partition.singletons(-1), "n_pairs must be at least 0, not -1"),
        (lambda: Partition(np.array([2**64 - 1], np.uint64)), "label must fit int64"),
        (lambda: Partition.from_json("[1, 2"), "not a partition"),
        (lambda: Partition.from_json('{"label": [0]}'), "not a partition"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_labels_that_are_not_integers_are_refused_with_the_remedy():
    with pytest.raises(TypeError, match="from_labels takes any labels"):
        Partition(np.array([0.0, 1.0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Partition.singletons(2.5), "n_pairs must be an integer, not 2.5"),
        (lambda: Partition.singletons(3).members("a"), "label must be an integer, not 'a'"),
        (lambda: Partition.singletons(3).restrict([0.5]), "pairs must hold int64, not float64"),
        (lambda: Partition.from_labels([None, 1]), "labels must be numbers or strings"),
        (lambda: Partition.singletons(3).refines("aab"), "other must be a Partition, not 'aab'"),
        (lambda: Partition.singletons(3) & 3, "unsupported operand"),
        (lambda: Partition.from_json(3), "text must be a str, not 3"),
        (lambda: Partition.from_labels(np.ma.masked_array([0, 1], [0, 1])), "labels must be .* masked"),
        (lambda: Partition(np.ma.masked_array([0, 1], [0, 1])), "label must be .* masked"),
    ],
)
def test_input_of_the_wrong_kind_is_named(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize("way", [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_a_copy_of_a_partition_is_equal_and_read_only(way):
    part = Partition.from_labels("abca")
    assert way(part) == part
    assert not way(part).label.flags.writeable
