"""Structures: which pairs are pooled, into how many parts the risk goes, and what clustering is asked for."""

import math

import numpy as np
import pytest

from equirl.clustering.approximate_equivalence import approx_equivalence
from equirl.estimation.counts import Counts
from equirl.estimation.given_knowledge import NOTHING
from equirl.learners.learner_registry import make_settings
from equirl.learners.parts import Known, Problem, Shares
from equirl.learners.structures import (
    Clustering,
    EstimatedClasses,
    GivenClasses,
    GivenProfiles,
    NoStructure,
    clustered,
    number_labels,
)
from equirl.model.pairs import Pairs
from equirl.structure.partition import Partition

PAIRS = Pairs.uniform(3, 2)
CLASSES = Partition.from_labels([0, 1, 0, 1, 2, 2])
GIVEN = NOTHING._replace(classes=CLASSES)


def problem(pool_rewards=True, given=GIVEN):
    return Problem(PAIRS, given, 0.05, pool_rewards)


def some_counts(seed=0, steps=400):
    counts, rng = Counts(6), np.random.default_rng(seed)
    for _ in range(steps):
        counts.record(int(rng.integers(6)), float(rng.random()), int(rng.choice(3, p=[0.6, 0.3, 0.1])))
    return counts.snapshot()


@pytest.mark.parametrize(
    ("structure", "pooled", "own"),
    [
        (NoStructure(), Shares(6, 6), Shares(6, 6)),
        (GivenProfiles(), Shares(3, 3), Shares(3, 6)),
        (GivenClasses(pooling="balanced"), Shares(18, 18), Shares(18, 18)),
        (GivenClasses(pooling="class"), Shares(3, 3, weighted=True), Shares(3, 6, weighted=True)),
        (EstimatedClasses(), Shares(18, 18), Shares(18, 18)),
        (EstimatedClasses(radius="theory"), Shares(6, 6, weighted=True), Shares(6, 18, weighted=True)),
    ],
)
def test_the_risk_goes_into_parts_for_all_sets_that_must_hold_at_once(structure, pooled, own):
    assert structure.shares(3, problem(pool_rewards=True)) == pooled
    assert structure.shares(3, problem(pool_rewards=False)) == own


def test_pairs_stand_alone_or_in_the_classes_given():
    alone = NoStructure().groups(some_counts(), problem(), None, None)
    assert (alone.label.tolist(), alone.n_groups) == ([0, 1, 2, 3, 4, 5], 6)
    for structure in (GivenProfiles(), GivenClasses(pooling="class")):
        found = structure.groups(some_counts(), problem(), None, None)
        assert (found.label.tolist(), found.n_groups) == (CLASSES.label.tolist(), 3)
        found.label[0] = 9
        assert CLASSES.label[0] == 0


@pytest.mark.parametrize("pool_rewards", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_groups_are_those_of_approx_equivalence_inside_the_classes_given_or_anywhere(given, pool_rewards):
    seen, priority = some_counts(), np.array([3, 1, 2, 5, 0, 4])
    structure = GivenClasses(balance=1.5, pooling="balanced") if given else EstimatedClasses(balance=1.5)
    rules = structure.rules(problem(pool_rewards))
    found = structure.groups(seen, problem(pool_rewards), rules, priority)
    expected = approx_equivalence(
        seen.visits, seen.ptr, seen.count, 3, priority=priority, balance=1.5, given=CLASSES if given else None,
        r_sum=seen.r_sum if pool_rewards else None,
    ).partition  # fmt: skip
    assert (found.label.tolist(), found.n_groups) == (expected.label.tolist(), expected.n_classes)
    assert (rules.balance, rules.given, rules.means) == (1.5, given, pool_rewards and not given)
    assert rules.log_level == pytest.approx(math.log(0.05 / 18))
    again = clustered(seen, rules, None, CLASSES.label if given else None)
    by_number = clustered(seen, rules, np.arange(6), CLASSES.label if given else None)
    assert again.label.tolist() == by_number.label.tolist()


def test_only_what_clusters_has_rules_and_only_random_priorities_are_drawn():
    assert GivenClasses(pooling="class").rules(problem()) is None
    assert EstimatedClasses(radius="theory").rules(problem()).theory
    assert not EstimatedClasses().rules(problem()).theory
    assert EstimatedClasses(merge_rule="nearest").rules(problem()).nearest
    for structure, clusters, draws in (
        (NoStructure(), False, False), (GivenProfiles(), False, False), (GivenClasses(pooling="class"), False, False),
        (GivenClasses(pooling="balanced"), True, True), (EstimatedClasses(), True, True),
        (GivenClasses(pooling="balanced", priority="index"), True, False),
        (EstimatedClasses(priority="index"), True, False),
    ):  # fmt: skip
        assert (structure.clusters, structure.draws_priority) == (clusters, draws), structure


@pytest.mark.parametrize(
    ("classes", "laws", "rewards", "pooling"),
    [
        ([0, 0, 1, 1, 2, 2], None, "per_class", "balanced"),
        ([0, 0, 1, 1, 2, 2], [0] * 6, "per_class", "balanced"),
        ([0, 0, 1, 1, 2, 2], [0] * 6, "per_pair", "class"),
        ([0, 0, 1, 1, 2, 2], None, "per_pair", "balanced"),
        ([0, 1, 2, 3, 4, 5], None, "per_class", "class"),
        ([0, 0, 1, 2, 3, 4], None, "per_class", "balanced"),
    ],
)
def test_whole_classes_are_pooled_where_there_is_nothing_to_balance_or_classes_are_of_laws(
    classes, laws, rewards, pooling
):
    settings = make_settings("c-ucrl-c", rewards=rewards)
    given = NOTHING._replace(
        classes=Partition.from_labels(classes), transition_classes=None if laws is None else Partition.from_labels(laws)
    )
    assert GivenClasses().resolved(settings, Known(PAIRS, given)).pooling == pooling
    assert GivenClasses().resolved(settings, None).pooling == "auto"
    for fixed in ("balanced", "class"):
        assert GivenClasses(pooling=fixed).resolved(settings, Known(PAIRS, given)).pooling == fixed


@pytest.mark.parametrize(
    ("structure", "wrong"),
    [
        (Clustering, {"balance": 1.0}), (Clustering, {"merge_rule": "x"}), (Clustering, {"priority": "x"}),
        (GivenClasses, {"balance": 1.0}), (GivenClasses, {"pooling": "x"}), (EstimatedClasses, {"balance": 0.5}),
        (EstimatedClasses, {"radius": "x"}),
    ],
)  # fmt: skip
def test_settings_of_structures_are_checked(structure, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        structure(**wrong)


def test_labels_are_numbered_as_they_first_appear():
    for run in (number_labels, number_labels.py_func):
        out = np.empty(5, np.int64)
        assert run(np.array([4, 1, 4, 0, 1]), np.full(5, -1), out) == 3
        assert out.tolist() == [0, 1, 0, 2, 1]
