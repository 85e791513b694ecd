"""What a learner says of a pair: visits, rewards, successors, who it is alike to, why it plays what it plays."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.kl_radius import kl_interval
from equirl.learners import RefutedStructure
from equirl.learners.beliefs import ActionValues, PairBelief
from equirl.learners.explanations import _actions, _alike, _successors, _why
from equirl.model.rows import Rows
from equirl.planning.kl_ball import KLModels
from equirl.planning.l1_ball import ConfidenceSet
from equirl.words.tables import Table
from outside_learners import OUTSIDE

RANGE = (-100.0, 20.0)
RIVER = eq.make("ergodic-riverswim", n_states=6)


def fed(name, n=600):
    """A learner that observed and never decided."""
    agent = eq.make_agent(name, ["cold", "warm", "hot"], ["wait", "heat"], reward_range=RANGE)
    rng = np.random.default_rng(0)
    for k in range(n):
        state, action = k % 3, k // 3 % 2
        after = min(2, state + 1) if action == 1 and rng.random() < 0.8 else max(0, state - 1)
        agent.observe(state, action, -90.0 + 10 * after, after)
    return agent


@pytest.mark.parametrize("name", sorted(name for name in eq.AGENTS if not name.startswith("toy-")))
def test_every_learner_explains_itself_before_its_first_step_and_is_not_changed(name):
    agent, twin = (eq.agent_for(RIVER, name, seed=3) for _ in range(2))
    found = agent.beliefs.explain(2, 1)
    assert (found.visits, found.state, found.learner) == (0, 2, name)
    assert found.why
    assert agent.t == 1
    assert [agent.act_id(s) for s in range(6)] == [twin.act_id(s) for s in range(6)]
    assert str(found)
    assert len(found.actions) == 2


@pytest.mark.parametrize(
    "name", ["c-psrl", "psrl", "c-ucrl", "ucrl2-b", "kl-ucrl", "ucrl3", "imed-rl", "q-learning", "random"]
)
def test_after_observing_alone_it_speaks_in_names_and_units(name):
    agent = fed(name)
    found = agent.beliefs.explain("warm", "heat")
    assert (found.state, found.action, found.visits) == ("warm", "heat", 100)
    assert -95 < found.mean_reward < -65
    low, high = found.reward_bounds
    assert RANGE[0] <= low <= found.mean_reward <= high <= RANGE[1]
    assert found.successors["state"][0] == "hot"
    assert found.successors["seen"][0] + found.successors["seen"][1] == sum(found.successors["seen"]) == 100
    for p, lower, upper in zip(
        *(found.successors[column] for column in ("probability", "lower", "upper")), strict=True
    ):
        assert 0 <= lower <= p + 1e-9
        assert p <= upper + 1e-9 <= 1 + 2e-9
    assert found.actions["action"] == ["wait", "heat"]
    assert found.actions["plays"].count("yes") == 1
    assert agent.n_episodes <= 1


@pytest.mark.parametrize("name", ["c-psrl", "c-ucrl", "q-learning", "imed-rl"])
def test_the_action_explained_is_the_action_played(name):
    agent = eq.simulate(RIVER, name, 2_000, seed=1).agent
    for state in range(6):
        found = agent.beliefs.explain(state)
        assert RIVER.pairs.action_number(found.action) == agent.act_id(state)
        assert found.actions["plays"][found.actions["action"].index(found.action)] == "yes"


@pytest.mark.parametrize("name", ["c-ucrl", "c-psrl", "mbie", "q-learning"])
def test_the_action_played_is_not_behind_and_the_best_value_is_the_gain(name):
    agent = eq.simulate(RIVER, name, 3_000, seed=1).agent
    found = agent.beliefs.explain(3)
    played = found.actions["plays"].index("yes")
    if name != "q-learning":  # which explores
        assert found.actions["behind"][played] == pytest.approx(0, abs=1e-6)
    if name in ("c-ucrl", "c-psrl"):
        twin = agent.copy()
        twin.act_id(3)
        plan = twin.beliefs.plan
        assert max(found.actions["value"]) == pytest.approx(plan.gain, abs=2 * plan.span + 1e-9)


def test_who_is_alike_is_given_estimated_or_drawn_and_how_surely():
    drawn = eq.simulate(RIVER, "c-psrl", 20_000, seed=0).agent.beliefs.explain(2, 0)
    assert drawn.alike_by == "drawn"
    best = drawn.alike.rows()[0]
    assert best["probability"] > 0.5
    assert best["action"] == drawn.action
    given = eq.agent_for(RIVER, "c-ucrl-c").beliefs.explain(2, 0)
    classes = eq.equivalence_classes(RIVER)
    k = RIVER.pairs.index(2, 0)
    assert given.alike_by == "given"
    assert len(given.alike) == classes.sizes[classes.label[k]] - 1
    assert eq.simulate(RIVER, "c-ucrl", 500).agent.beliefs.explain(2, 0).alike_by == "estimated"
    alone = eq.make_agent("ucrl2-l", 3, 2).beliefs.explain(0, 0)
    assert (alone.alike_by, len(alone.alike)) == ("", 0)


def test_facts_are_told_in_words_and_what_is_not_known_is_said():
    agent = fed("c-ucrl")
    found = agent.beliefs.explain("warm", "heat")
    pair = Table({"state": ["cold"], "action": ["heat"]})
    two = Table({"state": ["cold", "hot"], "action": ["heat", "heat"]})
    for alike_by, alike, expected in (
        ("", Table({}), "nothing: the learner treats every pair on its own"),
        ("given", Table({}), "no other pair; classes are given"),
        ("estimated", pair, "1 pair listed; classes are estimated"),
        ("drawn", two, "2 pairs listed; classes are drawn"),
    ):
        told = replace(found, alike_by=alike_by, alike=alike)
        facts = dict(zip(told.table()["what"], told.table()["value"], strict=True))
        assert facts["alike"] == expected
        assert ("\n\nalike\n" in str(told)) == (len(alike) > 0)
        assert (facts["visits"], facts["why"], facts["bounds"]) == ("100", found.why, found.bounds_by)
    told = replace(found, visits=1234, mean_reward=-82.5, reward_bounds=(-100.0, -60.25), samples=4321)
    facts = dict(zip(told.table()["what"], told.table()["value"], strict=True))
    assert (facts["visits"], facts["mean reward"], facts["mean reward in"]) == ("1,234", "-82.5", "[-100, -60.25]")
    assert facts["samples behind its probabilities"] == "4,321"
    for visits, expected in ((-1, "not counted"), (0, "0")):
        told = replace(found, visits=visits, mean_reward=math.nan)
        facts = dict(zip(told.table()["what"], told.table()["value"], strict=True))
        assert (facts["visits"], facts["mean reward"]) == (expected, "not known")


def test_pooled_samples_are_more_than_visits():
    agent = eq.simulate(RIVER, "c-ucrl-c-sigma", 5_000, seed=0).agent
    found = agent.beliefs.explain(2, 1)
    assert found.samples > found.visits


def test_bounds_of_a_row_are_the_extremes_of_its_set():
    rows = Rows(np.array([0, 2]), np.array([0, 1], np.int32), np.array([0.9, 0.1]))
    ball = ConfidenceSet(rows, np.array([0.3]), np.zeros(1), np.ones(1))
    lower, upper, unseen = ball.row_bounds(0)
    np.testing.assert_allclose([lower, upper], [[0.75, 0.0], [1.0, 0.25]], atol=1e-12)
    assert unseen == pytest.approx(0.15)
    kl = KLModels(rows, np.array([0.05]), np.zeros(1), np.ones(1))
    lower, upper, unseen = kl.row_bounds(0)
    assert unseen == pytest.approx(1 - math.exp(-0.05))
    for p, q in [(0.9, lower[0]), (0.9, upper[0]), (0.1, lower[1]), (0.1, upper[1])]:
        assert p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) == pytest.approx(0.05, abs=1e-6)


def test_an_interval_of_a_coin_without_a_radius_is_a_point_and_with_an_infinite_one_everything():
    assert kl_interval(0.3, 0.0) == pytest.approx((0.3, 0.3))
    assert kl_interval(0.3, math.inf) == pytest.approx((0.0, 1.0))
    assert kl_interval(1.0, 0.1)[1] == 1.0


def test_mistakes_are_named():
    agent = fed("c-psrl", 30)
    with pytest.raises(ValueError, match="unknown state 'tepid'"):
        agent.beliefs.explain("tepid", "heat")
    with pytest.raises(ValueError, match="unknown action 'cool'"):
        agent.beliefs.explain("cold", "cool")


def test_what_is_refuted_is_not_warned_of_by_asking():
    agent = eq.make_agent("c-ucrl-c", 2, 1, classes=[0, 0])
    for k in range(400):
        agent.observe(k % 2, 0, float(k % 2), 0)
    agent.beliefs.explain(0)  # a warning is an error
    with pytest.warns(RefutedStructure):
        agent.act_id(0)


def test_of_a_learner_that_says_nothing_anything_is_possible():
    agent = eq.make_agent(OUTSIDE[2], ["cold", "warm", "hot"], ["wait", "heat"], reward_range=RANGE, seed=0)
    found = agent.beliefs.explain("warm", "heat")
    assert found.visits == -1
    assert math.isnan(found.mean_reward)
    assert found.reward_bounds == RANGE
    assert found.samples == 0
    assert found.bounds_by == "none: the learner says nothing"
    assert {name: list(column) for name, column in found.successors.columns.items()} == {
        "state": ["any other"], "seen": [0], "probability": [0.0], "lower": [0.0], "upper": [1.0],
    }  # fmt: skip


def test_of_a_large_class_the_ten_most_visited_others_are_listed():
    agent = eq.make_agent("c-ucrl-c", 15, 1, classes=np.zeros(15, int), seed=0)
    for state in range(15):
        for _ in range(state + 1):
            agent.observe(state, 0, 0.5, (state + 1) % 15)
    found = agent.beliefs.explain(13, 0)
    assert found.alike_by == "given"
    assert found.alike["state"] == [14, *range(12, 3, -1)]


def test_a_flat_prior_over_many_states_leaves_each_its_part():
    """Rows drawn hold a few states, and a rest that all states share: every one of them is told, and they sum to 1."""
    agent = eq.make_agent("psrl-published", 40, 1, prior=40.0, seed=0)
    for successor in (1, 1, 2):
        agent.observe(0, 0, 0.5, successor)
    belief = agent.beliefs.pair_belief(0)
    assert sorted(belief.succ.tolist()) == list(range(40))
    assert belief.prob.sum() == pytest.approx(1)
    assert 0 < belief.unseen_upper < belief.prob.max()


@pytest.mark.parametrize(
    ("values", "least", "of_rewards", "why"),
    [
        ([0.5, 0.3, 0.1], False, True, "'a' has the largest worth, ahead of the next by 2"),
        ([0.5, 0.3, 0.1], False, False, "'a' has the largest worth, ahead of the next by 0.2"),
        ([0.1, 0.3, 0.9], True, False, "'a' has the least worth, ahead of the next by 0.2"),
        ([0.5, 0.5, 0.1], False, False, "'a': no other action has a better worth, and of equals one is taken"),
        ([0.5, 0.5 - 1.4e-9, 0.1], False, False, "'a': no other action has a better worth, and of equals"),
        ([0.5, 0.5 - 1.6e-9, 0.1], False, False, "'a' has the largest worth, ahead of the next by 1.6e-09"),
        ([0.5, 0.5 + 1.4e-9, 0.1], False, False, "'a': no other action has a better worth, and of equals"),
        ([0.5, 0.5 + 1.6e-9, 0.1], False, False, "'a', though its worth is not the largest: it explores, or keeps"),
        ([0.5, 0.3, 0.1], True, False, "'a', though its worth is not the least: it explores, or keeps"),
        ([-math.inf, -math.inf, 3.0], True, False, "'a': no other action has a better worth, and of equals"),
        ([-math.inf, 2.0, 3.0], True, False, "'a' has the least worth, ahead of the next by inf"),
    ],
)
def test_the_reason_for_an_action_follows_from_the_values_of_all(values, least, of_rewards, why):
    agent = eq.make_agent("random", 2, ["a", "b", "c"], reward_range=(0, 10))
    known = ActionValues(np.array(values), "worth", of_rewards=of_rewards, least=least)
    assert _why(agent, 1, 3, known).startswith(why)


def test_where_there_is_one_action_or_no_value_the_reason_says_so():
    agent = eq.make_agent("random", 2, ["a", "b", "c"])
    assert _why(agent, 0, 2, None) == "'c', by a rule that looks at no values"
    assert _why(eq.make_agent("random", 2, ["a"]), 1, 1, None) == "'a' is the only action here"


def test_actions_are_listed_with_how_far_they_are_behind_the_best_in_the_users_units():
    agent = eq.make_agent("q-learning", 2, 3, reward_range=(-5, 15))
    for values, least, of_rewards, value, behind in (
        ([0.5, 0.25, 1.0], False, True, [5, 0, 15], [10, 15, 0]),
        ([0.5, 0.25, 1.0], True, False, [0.5, 0.25, 1.0], [0.25, 0, 0.75]),
        ([-math.inf, 0.25, -math.inf], True, False, [-math.inf, 0.25, -math.inf], [0, math.inf, 0]),
    ):
        known = ActionValues(np.array(values), "worth", of_rewards=of_rewards, least=least)
        table = _actions(agent.beliefs, 1, 4, known)
        assert list(table["value"]) == value
        assert list(table["behind"]) == behind
        assert table["plays"] == ["", "yes", ""]
    assert "value" not in _actions(agent.beliefs, 1, 4, None).columns


def test_pairs_hardly_ever_alike_are_not_listed():
    agent = eq.make_agent("c-psrl", 4, 1)
    beliefs = agent.beliefs
    beliefs.alike_by = lambda: "drawn"
    beliefs.alike_to = lambda pair: np.array([1.0, 0.04, 0.05, 0.9])
    table = _alike(beliefs, 0)
    assert table["state"] == [3, 2]
    assert list(table["probability"]) == [0.9, 0.05]


def test_any_other_state_is_listed_only_where_there_is_one_that_may_be_reached():
    beliefs = eq.make_agent("q-learning", 2, 1).beliefs
    for succ, unseen, states in (([1], 0.3, [1, "any other"]), ([1], 0.0, [1]), ([1, 0], 0.3, [1, 0])):
        mass = np.linspace(0.9, 0.1, len(succ)) if len(succ) > 1 else np.ones(1)
        belief = PairBelief(np.array(succ), mass, mass / 2, mass, unseen, 0.5, 0.0, 1.0, 3, "hand")
        table = _successors(beliefs, 0, belief)
        assert table["state"] == states
        assert list(table["upper"]) == [*mass.tolist(), 0.3][: len(states)]
        assert table["seen"] == [0] * len(states)
