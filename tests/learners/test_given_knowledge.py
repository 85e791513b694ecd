"""What a learner made for a known MDP is given, what its parts make of it, and that it does not cost regret."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.confidence import hoeffding_radius
from equirl.estimation.given_knowledge import (
    Given,
    check_in_profile,
    check_path,
    checked,
    is_order,
    partition_of,
    profiles_of,
)
from equirl.learners.estimates import sets_rewards_apart
from equirl.learners.learner_registry import agent_for, make_agent, make_settings
from equirl.learners.parts import Known
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs
from equirl.structure.equivalence import equivalence_classes, separating_tolerance
from equirl.structure.similarity import Profiles
from equirl.worlds.world_registry import make

QUEUE = make("access-control", n_servers=4)


def machines(n_types=6, n_wear=6):
    """Machines of several types that wear alike and earn differently; a repair brings one of any type, as new."""
    S = n_types * n_wear
    p, r = np.zeros((S, 2, S)), np.zeros((S, 2))
    for kind in range(n_types):
        for wear in range(n_wear):
            s = kind * n_wear + wear
            for more, chance in ((0, 0.6), (1, 0.3), (2, 0.1)):
                p[s, 0, kind * n_wear + min(n_wear - 1, wear + more)] += chance
            p[s, 1, ::n_wear] = 1 / n_types
            r[s, 0] = (0.4 + 0.6 * kind / (n_types - 1)) * (1 - wear / (n_wear - 1)) ** 0.5
    return TabularMDP.from_arrays(p, r)


def chain(step, n=40):
    """Pairs each within ``step`` of the next, far apart at the ends."""
    p = [[[0.5 + step * k / 2, 0.5 - step * k / 2]] for k in range(n)]
    rows = np.zeros((n, 1, n))
    rows[:, 0, :2] = np.array(p)[:, 0]
    return TabularMDP.from_arrays(rows, np.zeros((n, 1)))


@pytest.mark.parametrize("name", ["c-ucrl-c", "c-ucrl-c-sigma", "c-kl-ucrl-c-sigma", "c-psrl-c"])
@pytest.mark.parametrize(("rewards", "with_rewards"), [("per_class", True), ("per_pair", False), ("known", False)])
def test_classes_are_split_by_reward_only_where_a_class_shares_its_reward(name, rewards, with_rewards):
    given = agent_for(QUEUE, name, rewards=rewards).given
    assert given.classes == equivalence_classes(QUEUE, rewards=with_rewards)


def test_the_class_rule_ends_episodes_unless_rewards_are_set_apart():
    for rewards, rule in (("per_class", "class"), ("known", "class"), ("per_pair", "either"), ("nested", "either")):
        assert make_settings("c-ucrl-c-sigma", rewards=rewards).stopping == rule
    assert make_settings("c-ucrl-c-sigma", rewards="per_pair", stopping="class").stopping == "class"


def test_rewards_that_split_what_laws_leave_whole_are_nested():
    world = machines()
    agent = agent_for(world, "c-ucrl-c-sigma")
    assert (agent.settings.rewards, agent.settings.stopping) == ("nested", "either")
    assert agent.given.classes == equivalence_classes(world, rewards=False)
    assert agent.given.reward_classes == equivalence_classes(world)
    assert agent_for(world, "c-ucrl-c-sigma", rewards="per_class").settings.rewards == "per_class"


def test_what_a_part_decides_is_said_in_the_settings():
    assert {make_settings("c-ucrl-c").as_dict()[name] for name in ("rewards", "pooling")} == {"auto"}
    assert make_settings("c-ucrl-c-sigma").stopping == "auto"
    agent = agent_for(machines(), "c-ucrl-c")
    assert (agent.settings.rewards, agent.settings.pooling) == ("per_pair", "class")
    assert agent.given.classes == equivalence_classes(machines(), rewards=False)
    assert agent_for(machines(), "c-ucrl-c", rewards="auto", pooling="balanced").settings.pooling == "balanced"


def test_classes_of_one_kind_share_their_rewards():
    world, labels = machines(), equivalence_classes(machines(), rewards=False).label
    for agent in (
        agent_for(world, "c-ucrl-c", classes=labels),
        make_agent("c-ucrl-c", world.n_states, 2, classes=labels),
    ):
        assert (agent.settings.rewards, agent.settings.pooling) == ("per_class", "balanced")


def test_rewards_are_decided_by_classes_only_where_these_are_given():
    with pytest.raises(ValueError, match="rewards='auto' decides by the classes given, and none are given"):
        make_settings("c-ucrl", rewards="auto")


@pytest.mark.parametrize("world", ["riverswim", "ergodic-riverswim", "four-room", "two-room", "two-kinds-river"])
def test_the_worlds_of_the_paper_share_rewards_by_class(world):
    assert agent_for(make(world), "c-ucrl-c").settings.rewards == "per_class"


@pytest.mark.parametrize("name", ["c-ucrl-c", "c-ucrl-c-sigma"])
@pytest.mark.parametrize(
    "world",
    [QUEUE, machines(), make("machines", n_machines=2), make("car-rental", max_cars=4, max_move=2), make("admission")],
    ids=["queue", "types of machines", "machines", "cars", "admission"],
)
def test_being_told_does_not_cost_regret(name, world):
    told, untold = (np.mean([eq.simulate(world, n, 30_000, s).regret[-1] for s in range(3)]) for n in (name, "ucrl2-l"))
    assert told <= untold


@pytest.mark.parametrize("name", ["c-ucrl-c", "c-ucrl-c-sigma"])
def test_classes_of_one_pair_each_cost_nothing(name):
    stock = make("perishable", max_order=4, mean=2.0)
    assert equivalence_classes(stock).n_classes == stock.n_pairs
    runs = [eq.simulate(stock, which, 20_000, seed=3) for which in (name, "ucrl2-l")]
    np.testing.assert_array_equal(runs[0].regret, runs[1].regret)
    balanced = agent_for(stock, "c-ucrl-c", pooling="balanced")
    assert balanced.settings.pooling == "balanced"  # as chosen


def test_classes_and_profiles_may_be_stated():
    labels = np.zeros(QUEUE.n_pairs, int)
    agent = agent_for(QUEUE, "c-ucrl-c", classes=labels)
    assert agent.given.classes.n_classes == 1
    assert agent.settings.rewards == "per_class"
    with pytest.raises(ValueError, match="their profiles differ"):
        agent_for(QUEUE, "c-ucrl-c-sigma", classes=labels)
    with pytest.raises(ValueError, match="makes no use of classes"):
        agent_for(QUEUE, "ucrl2-l", classes=labels)


def test_a_tolerance_joins_what_is_nearly_equal_and_travels_with_a_saved_learner(tmp_path):
    p = np.array([[[0.7, 0.3]], [[0.3005, 0.6995]]])
    world = TabularMDP.from_arrays(p, np.zeros((2, 1)))
    assert agent_for(world, "c-ucrl-c-sigma").given.classes.n_classes == 2
    trace = eq.simulate(world, "c-ucrl-c-sigma", 200, tolerance=0.01)
    assert trace.agent.given.classes.n_classes == 1
    trace.agent.save(tmp_path / "agent.npz")
    assert eq.load_agent(tmp_path / "agent.npz").given.tolerance == 0.01
    with pytest.raises(ValueError, match="no use of tolerance"):
        agent_for(world, "ucrl2-l", tolerance=0.01)


def test_auto_takes_the_least_tolerance_that_separates():
    world = chain(3e-9)
    with pytest.raises(ValueError, match="tolerance='auto'"):
        equivalence_classes(world, tolerance=1e-8)
    assert separating_tolerance(world) == 1e-9
    smooth = chain(5e-10)
    assert separating_tolerance(smooth) == pytest.approx(1e-8)
    assert equivalence_classes(smooth, tolerance="auto").n_classes == 1
    assert agent_for(smooth, "c-ucrl-c", tolerance="auto").given.tolerance == pytest.approx(1e-8)
    with pytest.raises(TypeError, match="tolerance"):
        equivalence_classes(world, tolerance="wide")


@pytest.mark.parametrize("name", ["c-ucrl-c", "c-ucrl-c-sigma", "c-q-learning-c-sigma"])
def test_every_learner_that_may_sets_rewards_apart_where_laws_alone_serve_better(name):
    assert agent_for(machines(), name).settings.rewards == ("nested" if name == "c-ucrl-c-sigma" else "per_pair")


@pytest.mark.parametrize("name", ["c-ucrl2-b-c-sigma", "c-kl-ucrl-c-sigma", "c-ucrl3-c-sigma"])
def test_the_relatives_nest_rewards_as_well(name):
    agent = agent_for(machines(), name)
    assert agent.settings.rewards == "nested"
    assert agent.given.reward_classes == equivalence_classes(machines())


def test_nested_rewards_have_their_risk_shared_by_their_own_classes():
    world = machines()
    agent = eq.simulate(world, "c-ucrl-c-sigma", 3_000, seed=1).agent
    given, seen = agent.given, agent.episode.seen
    level = np.log(0.05 / given.reward_classes.n_classes)
    n = np.bincount(given.reward_classes.label, weights=seen.visits)[given.reward_classes.label]
    mean = np.bincount(given.reward_classes.label, weights=seen.r_sum)[given.reward_classes.label] / np.maximum(n, 1)
    upper = np.where(n > 0, np.minimum(1, mean + hoeffding_radius(n, level)), 1)
    np.testing.assert_allclose(agent.beliefs.models.r_upper, upper)


def test_nested_rewards_of_a_learner_are_saved_and_need_two_kinds_of_classes(tmp_path):
    world = machines()
    agent = eq.simulate(world, "c-ucrl-c-sigma", 500, seed=1).agent
    agent.save(tmp_path / "agent.npz")
    again = eq.load_agent(tmp_path / "agent.npz")
    assert again.given.reward_classes == agent.given.reward_classes
    np.testing.assert_array_equal(*(one.beliefs.models.r_upper for one in (agent, again)))
    told = {"classes": agent.given.classes, "profiles": eq.profiles(world)}
    with pytest.raises(ValueError, match="classes that are stated are of one kind; choose rewards='per_class'"):
        make_agent("c-ucrl-c-sigma", world.n_states, 2, rewards="nested", **told)
    with pytest.raises(ValueError, match="'nested'"):
        make_settings("c-ucrl-c", rewards="nested")


# --- what is stated, checked

TWO = Pairs.uniform(2, 1)
WHOLE = Profiles(np.array([0, 2, 4]), np.array([0, 1, 1, 0]), np.array([0.6, 0.4, 0.6, 0.4]))
ORDER = WHOLE._replace(prob=np.full(4, np.nan))
ALIKE = partition_of([0, 0], TWO)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("text", "profiles must be what equirl.profiles"),
        (WHOLE._replace(prob=WHOLE.prob[None]), r"profiles.prob has shape \(1, 4\); it has one dimension"),
        (WHOLE._replace(ptr=np.array([0, 4])), "the profiles describe 1 pairs, the problem has 2"),
        (WHOLE._replace(ptr=np.array([1, 2, 4])), "the profiles are not whole"),
        (WHOLE._replace(ptr=np.array([0, 2, 3])), "the profiles are not whole"),
        (WHOLE._replace(ptr=np.array([0, 4, 4])), "the profiles are not whole"),
        (WHOLE._replace(prob=WHOLE.prob[:3]), "the profiles are not whole"),
        (WHOLE._replace(succ=WHOLE.succ[:3]), "the profiles are not whole"),
        (WHOLE._replace(prob=np.array([0.6, 0.4, 0.6, 0.3])), r"\(s=1, a=0\) sums to 0.9, not 1"),
        (WHOLE._replace(prob=np.array([0.6, 0.4, 0.6, 0.5])), r"\(s=1, a=0\) sums to 1.1, not 1"),
        (WHOLE._replace(prob=np.array([0.6, 0.4, 0.4, 0.6])), r"\(s=1, a=0\) is not in decreasing order"),
        (WHOLE._replace(succ=np.array([0, 1, 1, 1])), r"\(s=1, a=0\) names a state twice"),
        (ORDER._replace(succ=np.array([0, 1, 1, 1])), r"\(s=1, a=0\) names a state twice"),
        (ORDER._replace(succ=np.array([0, 1, 1, 2])), "2"),
    ],
)
def test_profiles_that_are_not_whole_are_refused_each_for_its_reason(table, message):
    with pytest.raises((TypeError, ValueError), match=message):
        checked("it", ("classes", "profiles"), Given(ALIKE, table), TWO)


@pytest.mark.parametrize(
    ("given", "needs", "message"),
    [
        (Given(), ("classes",), "'it' with these settings must be given classes: classes="),
        (Given(ALIKE), ("classes", "profiles"), "must be given profiles: profiles=... or order="),
        (Given(), ("mean_rewards",), "must be given mean_rewards: mean_rewards="),
        (Given(ALIKE), (), "makes no use of classes"),
        (Given(ALIKE, WHOLE), ("classes",), "makes no use of profiles"),
        (Given(ALIKE, ORDER), ("classes",), "makes no use of order"),
        (Given(partition_of([0, 0, 0], TWO)), ("classes",), "the classes label 3 pairs, the problem has 2"),
        (Given(mean_rewards=np.ones(3)), ("mean_rewards",), r"mean_rewards has shape \(3,\), not \(2,\)"),
        (Given(mean_rewards=np.array([0, 1.1])), ("mean_rewards",), r"\(s=1, a=0\) is NaN or outside reward_range"),
        (Given(mean_rewards=np.array([-0.1, 0])), ("mean_rewards",), r"\(s=0, a=0\) is NaN or outside"),
        (Given(mean_rewards=np.array([0, np.nan])), ("mean_rewards",), r"\(s=1, a=0\) is NaN or outside"),
    ],
)
def test_what_is_given_too_much_too_little_or_for_another_problem_is_named(given, needs, message):
    with pytest.raises(ValueError, match=message):
        checked("it", needs, given, TWO)


def test_mean_rewards_may_be_at_the_ends_of_their_range():
    assert checked("it", ("mean_rewards",), Given(mean_rewards=np.array([0.0, 1.0])), TWO).names == {"mean_rewards"}


@pytest.mark.parametrize(("apart", "tolerance", "alike"), [
    (0.9e-6, 1e-9, True), (1.1e-6, 1e-9, False), (0.9e-3, 1e-4, True), (1.1e-3, 1e-4, False),
])  # fmt: skip
def test_profiles_of_a_class_may_differ_by_ten_times_the_tolerance(apart, tolerance, alike):
    table = WHOLE._replace(prob=np.array([0.6, 0.4, 0.6 + apart / 2, 0.4 - apart / 2]))
    stated = Given(ALIKE, table, tolerance=tolerance)
    if alike:
        assert checked("it", ("classes", "profiles"), stated, TWO).tie.tolist() == [0, 1, 0, 1]
        return
    with pytest.raises(ValueError, match=r"\(s=0, a=0\) and \(s=1, a=0\) are in one class, but their profiles differ"):
        checked("it", ("classes", "profiles"), stated, TWO)


def test_positions_of_an_order_stand_for_themselves_though_nothing_is_known_of_their_masses():
    assert checked("it", ("classes", "profiles"), Given(ALIKE, ORDER), TWO).tie.tolist() == [0, 1, 0, 1]
    even = WHOLE._replace(prob=np.full(4, 0.5))
    assert checked("it", ("classes", "profiles"), Given(ALIKE, even), TWO).tie.tolist() == [0, 0, 0, 0]


def test_only_probabilities_that_are_all_unknown_are_an_order():
    assert is_order(ORDER)
    assert not is_order(WHOLE)
    assert not is_order(None)
    assert not is_order(ORDER._replace(prob=np.array([np.nan, 0.4, 0.6, 0.4])))
    assert not is_order(ORDER._replace(prob=np.zeros(0)))
    assert not is_order(ORDER._replace(prob=[np.nan]))


def test_classes_of_transition_probabilities_are_in_force_only_where_rewards_are_not_pooled():
    laws, both = partition_of([0, 0], TWO), partition_of([0, 1], TWO)
    given = Given(both, tolerance=0.1, transition_classes=laws, transition_tolerance=0.2)
    for pooled, classes, tolerance in ((True, both, 0.1), (False, laws, 0.2)):
        found = given.in_force(pooled)
        assert (found.classes, found.tolerance, found.transition_classes) == (classes, tolerance, None)
        assert found.reward_classes is None
    nested = given.in_force(pool_rewards=False, nested=True)
    assert (nested.classes, nested.reward_classes, nested.tolerance) == (laws, both, 0.2)
    assert Given(both, tolerance=0.1).in_force(pool_rewards=False).classes == both


def test_a_path_is_checked_step_by_step_where_a_user_stated_the_successors():
    ring = Pairs.uniform(3, 1)
    table = Profiles(np.array([0, 1, 2, 4]), np.array([1, 2, 0, 2]), np.full(4, np.nan))
    stated = Given(partition_of([0, 0, 1], ring), table, refutable=True)
    check_path(stated, ring, np.array([0, 1, 2, 2]), 0)
    with pytest.raises(ValueError, match=r"\(s=1, a=0\) cannot lead to state 0"):
        check_path(stated, ring, np.array([0, 1, 0]), 1)
    with pytest.raises(ValueError, match=r"\(s=2, a=0\) cannot lead to state 1: the order given leaves it out"):
        check_path(stated, ring, np.array([0, 1, 2]), 1)
    check_path(stated._replace(refutable=False), ring, np.array([0, 0]), 0)
    with pytest.raises(ValueError, match="the profiles given leave it out"):
        check_in_profile(Given(profiles=WHOLE._replace(ptr=np.array([0, 1, 4]))), TWO, 0, 1)


def test_a_function_that_gives_no_label_or_takes_other_arguments_is_named():
    with pytest.raises(TypeError, match=r"classes\(0, 0\) gives no label"):
        partition_of(lambda s, a: [s], TWO)
    with pytest.raises(TypeError, match=r"classes\(0, 0\) failed: .* it is a function of both"):
        partition_of(lambda s: s, TWO)
    with pytest.raises(ValueError, match="profiles and order both say which successors correspond"):
        profiles_of(WHOLE, [[0], [1]], TWO)
    assert profiles_of(WHOLE, None, TWO) is WHOLE
    assert profiles_of(None, [[0], [1, 0]], TWO).ptr.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("laws", "both", "S", "M", "quick", "kept"),
    [
        (5, 20, 12, 10 * 12, False, True), (5, 19, 12, 120, False, False),  # four times as many classes
        (60, 240, 12, 120 * 12, False, True), (61, 250, 12, 122, False, False),  # soon learned
        (5, 107, 12, 120, False, True), (5, 108, 12, 120, False, False),  # not nearly every pair its own
        (5, 61, 12, 120, True, True), (5, 60, 12, 120, True, False), (61, 61, 12, 120, True, False),
    ],
)  # fmt: skip
def test_rewards_are_kept_by_pair_under_three_conditions(laws, both, S, M, quick, kept):
    labels = [np.arange(M) % n if n <= M else None for n in (laws, both)]
    given = Given(partition_of(labels[1], None), transition_classes=partition_of(labels[0], None))
    assert sets_rewards_apart(Known(Pairs.uniform(S, M // S), given), quick) is kept
    assert not sets_rewards_apart(Known(Pairs.uniform(S, M // S), given._replace(transition_classes=None)), quick)
