"""Names: strings, numbers and tuples, accepted by every maker and given back as they came."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.model.pairs import action_labels, pairs_from, state_labels

GRID = [
    ((0, 0), "right", {(0, 1): 1.0}, -1.0),
    ((0, 1), "right", {(0, 1): 0.5, (0, 0): 0.5}, 3.0),
    ((0, 1), "left", {(0, 0): 1.0}, 0.0),
]
STOCK = [(10, 0, {20: 1.0}, 0.0), (20, 3, {10: 1.0}, 1.0)]


def test_states_named_by_tuples_are_found_by_tuples():
    mdp = eq.TabularMDP.from_pairs(GRID, rescale=True)
    assert mdp.n_states == 2
    assert mdp.transition_probabilities((0, 1), "left") == {(0, 0): 1.0}
    assert mdp.transition_probabilities(np.array([0, 1]), "left") == {(0, 0): 1.0}
    agent = eq.agent_for(mdp, "ucrl2-l")
    agent.observe((0, 0), "right", 0.5, [0, 1])
    assert agent.act_id((0, 1)) in (0, 1)


def test_where_states_are_named_by_numbers_a_number_is_a_name():
    mdp = eq.TabularMDP.from_pairs(STOCK, state_names=[10, 20])
    assert mdp.transition_probabilities(20, 3) == {10: 1.0}
    assert mdp.initial.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="unknown state 1"):
        mdp.transition_probabilities(1, 3)
    env = eq.TabularEnv(mdp)  # environments number states 0, 1, ... whatever they are called
    assert env.reset(seed=0)[0] == 0
    assert env.step(0)[0] == 1
    assert env.P[1] == {3: [(1.0, 0, 1.0, False)]}


def test_names_within_the_list_need_no_other_list():
    lamp = [("off", "press", {"on": 1.0}, 0.0), ("on", "wait", {"off": 1.0}, 1.0)]
    mdp = eq.TabularMDP.from_pairs(lamp)
    assert mdp.pairs.state_names == ("off", "on")
    assert mdp.pairs.action_names == ("press", "wait")
    assert mdp == eq.TabularMDP.from_pairs(lamp, 2, state_names=["off", "on"], action_names=["press", "wait"])
    assert eq.TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0), (1, 4, {0: 1.0}, 0)]).n_states == 2
    with pytest.raises(TypeError, match="some actions are numbers and some are names"):
        eq.TabularMDP.from_pairs([("a", 0, {"a": 1.0}, 0), ("a", "go", {"a": 1.0}, 0)])


@pytest.mark.parametrize("make", ["tuples", "numbers", "strings"])
def test_names_survive_files_of_problems_and_learners(tmp_path, make):
    mdp = {
        "tuples": lambda: eq.TabularMDP.from_pairs(GRID, rescale=True),
        "numbers": lambda: eq.TabularMDP.from_pairs(STOCK, state_names=[10, 20]),
        "strings": lambda: eq.TabularMDP.from_pairs([("a", "b", {"a": 1.0}, 0.5)]),
    }[make]()
    mdp.save(tmp_path / "mdp.npz")
    assert eq.TabularMDP.load(tmp_path / "mdp.npz") == mdp
    agent = eq.agent_for(mdp, "psrl")
    agent.save(tmp_path / "agent.npz")
    assert eq.load_agent(tmp_path / "agent.npz").pairs == mdp.pairs


def test_every_maker_rescales_and_takes_initial_laws_by_name():
    P, R = [[[0.5, 0.5]], [[1.0, 0.0]]], [[-10.0], [30.0]]
    expected = eq.TabularMDP.from_arrays(P, [[0.0], [1.0]], [0.25, 0.75], reward_map=(40.0, -10.0))
    names = {"state_names": ["x", "y"]}
    law = {"x": 0.25, "y": 0.75}
    made = [
        eq.TabularMDP.from_arrays(P, R, law, rescale=True, **names),
        eq.TabularMDP.from_rows(np.array(P)[:, 0], [-10.0, 30.0], 1, law, rescale=True, **names),
        eq.TabularMDP.from_pairs(
            [("x", 0, {"x": 0.5, "y": 0.5}, -10), ("y", 0, {"x": 1}, 30)], None, law, rescale=True
        ),
        eq.TabularMDP.from_costs([("x", 0, {"x": 0.5, "y": 0.5}, 10), ("y", 0, {"x": 1}, -30)], initial=law),
        eq.TabularMDP.from_costs(P, -np.array(R), law, **names),
    ]
    for mdp in made:
        assert mdp.reward_map == (40.0, -10.0)
        np.testing.assert_array_equal(mdp.r_mean, expected.r_mean)
        np.testing.assert_array_equal(mdp.initial, expected.initial)
    with pytest.raises(TypeError, match="leave one of them out"):
        eq.TabularMDP.from_arrays(P, R, rescale=True, reward_map=(1, 0))
    with pytest.raises(ValueError, match="initial: unknown state 'z'"):
        eq.TabularMDP.from_arrays(P, R, {"z": 1.0}, rescale=True, **names)
    with pytest.raises(ValueError, match="mean_cost"):
        eq.TabularMDP.from_costs([("x", 0, {"x": 1.0})])


def test_a_first_state_may_be_a_tuple():
    assert eq.TabularMDP.from_pairs(GRID, initial=(0, 1), rescale=True).initial.tolist() == [0.0, 1.0]
    assert eq.TabularMDP.from_pairs(STOCK, state_names=[10, 20], initial=(0.5, 0.5)).initial.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("names", "error"),
    [([{1}, {2}], TypeError), ([None, "a"], TypeError), (["a", "a"], ValueError), ([1, 1.0], ValueError)],
)
def test_what_cannot_be_a_name_is_refused(names, error):
    with pytest.raises(error, match="state"):
        eq.TabularMDP.from_arrays([[[1.0, 0.0]], [[0.0, 1.0]]], [[0.0], [1.0]], state_names=names)


# --- states and action sets


def test_action_sets_may_differ_by_state_and_have_names():
    agent = eq.make_agent("ucrl2-l", 3, [[0, 2], [1], [0, 1, 2]])
    assert agent.pairs.action.tolist() == [0, 2, 1, 0, 1, 2]
    agent = eq.make_agent("psrl", ["low", "high"], {"high": ["sell", "hold"], "low": ["hold"]})
    agent.observe("low", "hold", 0.5, "high")
    assert agent.act("low") == "hold"
    assert eq.make_agent("psrl", [(0, 0), (0, 1)], ["up", "down"]).pairs.n_pairs == 4
    assert eq.make_agent("psrl", ["a", "b"], 3).pairs.n_pairs == 6
    assert eq.make_agent("psrl", ["a", "b"], [1, 2]).pairs.n_pairs == 3


@pytest.mark.parametrize(
    ("states", "actions", "message"),
    [
        (2, [[0, 1]], "lists the actions of 1 states; there are 2"),
        (2, {0: [0]}, "lists no actions of state 1"),
        (2, [[0, 0], [1]], "the actions of state 0 hold one twice"),
        (2, [[0], 1], "the actions of state 1 must be a list"),
        (["a", "b"], {"c": [0]}, "unknown state 'c'"),
        (2, [[], [0]], "state 0 has no action"),
    ],
)
def test_action_sets_that_make_no_sense_are_named(states, actions, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pairs_from(states, actions)


def test_labels_are_names_where_there_are_names_and_numbers_where_there_are_none():
    named = eq.TabularMDP.from_pairs([("ok", "run", {"bad": 1.0}, 0.0), ("bad", "mend", {"ok": 1.0}, 0.0)]).pairs
    bare = eq.TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 3, {0: 1.0}, 0.0)]).pairs
    assert (state_labels(named), state_labels(named, [1])) == (["ok", "bad"], ["bad"])
    assert (state_labels(bare), state_labels(bare, [1])) == ([0, 1], [1])
    assert (action_labels(named, [1, 0]), action_labels(bare, np.array([3]))) == (["mend", "run"], [3])
