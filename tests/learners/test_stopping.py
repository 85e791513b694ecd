"""When an episode ends, by each rule, and how the risk is shared out by each structure."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.given_knowledge import Given
from equirl.estimation.pooling import Grouping
from equirl.learners import make_settings
from equirl.learners.contract import UNLIMITED
from equirl.learners.parts import Known, Problem
from equirl.learners.posterior_sampling import DrawnPlanner, EpisodeLengths
from equirl.learners.stopping import ClassDoubling, Doubling, PairDoubling, VanishingRule, doubling_limits
from equirl.learners.structures import EstimatedClasses, GivenClasses, GivenProfiles, NoStructure, number_labels
from equirl.model.pairs import Pairs
from equirl.structure.partition import Partition

VISITS = np.array([0, 7, 2, 100])
GROUPS = Grouping(np.array([0, 1, 1, 0]), 3)  # the last is empty


@pytest.mark.parametrize(
    ("rule", "pairs", "classes"),
    [
        ("pair", [1, 7, 2, 100], [UNLIMITED] * 3),
        ("class", [UNLIMITED] * 4, [100, 9, 1]),
        ("either", [1, 7, 2, 100], [100, 9, 1]),
    ],
)
def test_visits_of_pairs_or_classes_may_double_and_what_was_never_seen_is_played_once(rule, pairs, classes):
    limits = doubling_limits(rule, VISITS, GROUPS, 12.7)
    assert (limits.pair_left.tolist(), limits.group_left.tolist()) == (pairs, classes)
    assert (limits.grace.tolist(), limits.steps.tolist()) == ([12, 0], [UNLIMITED])
    assert limits.label.tolist() == GROUPS.label.tolist()
    assert doubling_limits(rule, VISITS, GROUPS, math.inf).grace.tolist() == [UNLIMITED, 0]


@pytest.mark.parametrize("part", [PairDoubling(effort=4.0), Doubling("pair", effort=4.0)])
def test_a_plan_is_played_for_its_work_over_the_effort(part):
    assert part.limits(VISITS, GROUPS, 50.0).grace[0] == 12
    assert part.limits(VISITS, GROUPS, 50.0).pair_left.tolist() == [1, 7, 2, 100]
    assert type(part)().limits(VISITS, GROUPS, 1e9).grace[0] == 0


@pytest.mark.parametrize(
    "wrong", [lambda: PairDoubling(effort=0), lambda: Doubling("auto"), lambda: Doubling("pair", effort=-1)]
)
def test_a_rule_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match=r"effort|stopping"):
        wrong()
    assert ClassDoubling().stopping == "auto"


@pytest.mark.parametrize(
    ("vanish", "t", "growth"),
    [
        ("log", 1, 1 / math.log(math.e + 1)), ("log", 10_000, 1 / math.log(math.e + 10_000)),
        ("root", 100, math.sqrt(math.log(100) / 100)), ("root", 1, math.sqrt(math.log(2))), ("root", 3, 0.605145),
    ],
)  # fmt: skip
def test_the_vanishing_rule_grows_as_its_formula(vanish, t, growth):
    assert VanishingRule(vanish).growth(t) == pytest.approx(growth, rel=1e-5)


def test_the_vanishing_rule_allows_a_share_of_the_visits_and_at_least_one():
    limits = VanishingRule("log").limits(VISITS, GROUPS, 99.0)
    share = 1 / math.log(math.e + 110)
    assert limits.pair_left.tolist() == [1, int(7 * share), 1, int(100 * share)]
    assert int(7 * share) == 1 < int(100 * share) == 21
    assert limits.group_left.tolist() == [UNLIMITED] * 3
    assert (limits.grace.tolist(), limits.steps.tolist()) == ([0, 0], [UNLIMITED])


# --- episodes of posterior sampling


def lengths(t, last=0, work=0.0, **settings):
    limits = EpisodeLengths(**settings).limits(VISITS, t, last, work)
    return limits.pair_left.tolist(), int(limits.steps[0]), int(limits.grace[0])


@pytest.mark.parametrize(
    ("t", "left", "steps"),
    [
        (1, [1, 1, 1, 5], 50), (7, [1, 1, 1, 5], 50), (8, [2, 2, 2, 5], 50), (27, [6, 6, 2, 6], 50),
        (43, [10, 7, 2, 10], 50), (10_000, [10, 7, 2, 10], 140),
    ],
)  # fmt: skip
def test_steady_episodes_last_some_visits_of_a_pair_or_a_number_of_steps_that_grows(t, left, steps):
    assert lengths(t) == (left, steps, 0)


def test_steady_episodes_end_when_few_visits_double_or_with_one_visit_of_a_pair_to_twenty_before():
    limits = EpisodeLengths().limits(np.array([0, 1, 2, 3, 9, 11, 199, 220, 4_000]), 10_000, 0, 0.0)
    assert limits.pair_left.tolist() == [10, 2, 2, 3, 9, 10, 10, 11, 200]


def test_other_episodes_double_or_last_a_step_longer_than_the_one_before():
    assert lengths(10_000, 30, episodes="doubling") == ([1, 7, 2, 100], UNLIMITED, 0)
    assert lengths(10_000, 30, episodes="tsde") == ([1, 7, 2, 100], 31, 0)
    assert lengths(10_000, work=100.0, effort=8.0)[2] == 12
    assert lengths(10**18)[1] == 1_400_000_000


def test_an_episode_limits_no_group_of_pairs():
    limits = EpisodeLengths().limits(VISITS, 9, 0, 0.0)
    assert limits.label.tolist() == [0, 0, 0, 0]
    assert limits.group_left.tolist() == [UNLIMITED]


@pytest.mark.parametrize(
    "setting",
    [
        {"episodes": "long"}, {"effort": 0.0},
    ],
)  # fmt: skip
def test_lengths_that_are_none_are_named(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=name):
        EpisodeLengths(**setting)


@pytest.mark.parametrize(
    "setting",
    [
        {"accuracy": 0.0}, {"discount": 0.0}, {"discount": 1.1},
    ],
)  # fmt: skip
def test_settings_of_planning_in_a_drawn_mdp_that_are_none_are_named(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=name):
        DrawnPlanner(**setting)


def test_pairs_stay_put_while_planning_unless_there_is_a_discount():
    assert DrawnPlanner().staying == 0.5
    assert DrawnPlanner(discount=0.9).staying == 0.0


# --- shares of the risk

PROBLEM = Problem(Pairs.uniform(5, 2), Given(), 0.05, True)
APART = PROBLEM._replace(pool_rewards=False)


@pytest.mark.parametrize(
    ("part", "pooled", "apart"),
    [
        (NoStructure(), (10, 10, False), (10, 10, False)),
        (GivenProfiles(), (3, 3, False), (3, 10, False)),
        (GivenClasses(pooling="balanced"), (30, 30, False), (30, 30, False)),
        (GivenClasses(pooling="class"), (3, 3, True), (3, 10, True)),
        (EstimatedClasses(), (30, 30, False), (30, 30, False)),
        (EstimatedClasses(radius="theory"), (10, 10, True), (10, 30, True)),
    ],
)
def test_the_risk_goes_in_as_many_parts_as_the_definitions_say(part, pooled, apart):
    assert tuple(part.shares(3, PROBLEM)) == pooled
    assert tuple(part.shares(3, APART)) == apart


def test_priorities_are_drawn_only_where_groups_are_formed_and_ties_fall_at_random():
    for balanced, priority, drawn in (("balanced", "random", True), ("balanced", "index", False)):
        assert GivenClasses(pooling=balanced, priority=priority).draws_priority is drawn
        assert EstimatedClasses(priority=priority).draws_priority is drawn
    assert GivenClasses(pooling="class").draws_priority is GivenClasses(pooling="class").clusters is False
    assert GivenClasses(pooling="class").rules(PROBLEM) is None
    assert NoStructure().draws_priority is NoStructure().clusters is False


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: EstimatedClasses(balance=1.0), lambda: EstimatedClasses(merge_rule="any"),
        lambda: EstimatedClasses(priority="last"), lambda: EstimatedClasses(radius="wide"),
        lambda: GivenClasses(pooling="none"), lambda: GivenClasses(merge_rule="any"),
    ],
)  # fmt: skip
def test_a_setting_of_a_structure_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match=r"balance|merge_rule|priority|radius|pooling"):
        wrong()


@pytest.mark.parametrize("plain", [False, True])
def test_labels_are_numbered_by_first_appearance(plain):
    leader, label = np.array([3, 3, 0, 3, 4, 0]), np.empty(6, np.int64)
    run = number_labels.py_func if plain else number_labels
    assert run(leader, np.full(6, -1), label) == 3
    assert label.tolist() == [0, 0, 1, 0, 2, 1]


def test_whole_classes_are_pooled_where_every_pair_has_its_own():
    river = eq.make("riverswim", n_states=4)
    assert eq.agent_for(river, "c-ucrl-c", classes=np.arange(8)).settings.pooling == "class"
    assert eq.agent_for(river, "c-ucrl-c", classes=[0, *range(7)]).settings.pooling == "balanced"


@pytest.mark.parametrize(
    ("classes", "laws", "rewards", "pooling"),
    [
        ([0, 0, 1, 2, 3, 4, 5, 6], None, "per_class", "balanced"),
        ([0, 0, 1, 2, 3, 4, 5, 6], None, "per_pair", "balanced"),
        ([0, 0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 1, 1, 1, 1], "per_class", "balanced"),
        ([0, 0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 1, 1, 1, 1], "per_pair", "class"),
        ([0, 1, 2, 3, 4, 5, 6, 7], None, "per_class", "class"),
        ([0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 1, 1, 1, 1, 1, 1], "per_class", "class"),
    ],
)
def test_whole_classes_are_pooled_where_they_are_of_laws_alone_or_of_single_pairs(classes, laws, rewards, pooling):
    settings = make_settings("c-ucrl-c", rewards=rewards)
    both, alone = (None if label is None else Partition(label) for label in (classes, laws))
    known = Known(Pairs.uniform(4, 2), Given(both, transition_classes=alone))
    assert GivenClasses().resolved(settings, known).pooling == pooling
    assert GivenClasses().resolved(settings, None).pooling == "auto"
    for chosen in ("class", "balanced"):
        assert GivenClasses(pooling=chosen).resolved(settings, known).pooling == chosen
