"""What a learner made for a known MDP is given, what its parts make of it, and that it does not cost regret."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners.learner_registry import agent_for, make_agent, make_settings
from equirl.model.mdp import TabularMDP
from equirl.structure.equivalence import equivalence_classes, separating_tolerance
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


def test_the_class_rule_ends_episodes_unless_rewards_are_kept_by_pair():
    for rewards, rule in (("per_class", "class"), ("known", "class"), ("per_pair", "either")):
        assert make_settings("c-ucrl-c-sigma", rewards=rewards).stopping == rule
    assert make_settings("c-ucrl-c-sigma", rewards="per_pair", stopping="class").stopping == "class"


def test_rewards_that_split_what_laws_leave_whole_are_kept_by_pair():
    world = machines()
    agent = agent_for(world, "c-ucrl-c-sigma")
    assert (agent.settings.rewards, agent.settings.stopping) == ("per_pair", "either")
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
def test_every_learner_that_may_keeps_rewards_by_pair_where_laws_alone_serve_better(name):
    assert agent_for(machines(), name).settings.rewards == "per_pair"
