"""Other numbers for states and actions: where everything goes, and numbers that are none."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.model.pairs import Pairs
from equirl.model.renumbering import by_state, permutation, random_numbers, renumber_rows, restriction

WORLD = eq.make("random", n_states=4, n_actions=3, branching=3, seed=2)
UNEVEN = Pairs(np.array([0, 2, 3, 6]), np.array([0, 2, 1, 0, 1, 3]), ("a", "b", "c"), ("p", "q", "r", "s"))


def triples(pairs, way):
    """(new state, new action) of each old pair."""
    found = {}
    for new, old in enumerate(way.source.tolist()):
        found[old] = int(way.pairs.state[new]), int(way.pairs.action[new])
    return [found[k] for k in range(pairs.n_pairs)]


def test_pairs_go_with_their_states_and_actions_and_names_with_them():
    states, actions = [2, 0, 1], [3, 1, 0, 2]
    way = permutation(UNEVEN, states, actions)
    expected = [(states[s], actions[a]) for s, a in zip(UNEVEN.state, UNEVEN.action, strict=True)]
    assert triples(UNEVEN, way) == expected
    assert way.state.tolist() == states
    assert (way.pairs.state_names, way.pairs.action_names) == (("b", "c", "a"), ("r", "q", "s", "p"))
    same = permutation(UNEVEN)
    assert same.pairs == UNEVEN
    assert same.source.tolist() == list(range(6))


def test_actions_may_be_renumbered_state_by_state_and_then_have_no_names():
    way = permutation(UNEVEN, None, [[2, 0], [1], [3, 0, 1]])
    assert triples(UNEVEN, way) == [(0, 2), (0, 0), (1, 1), (2, 3), (2, 0), (2, 1)]
    assert (way.pairs.state_names, way.pairs.action_names) == (("a", "b", "c"), None)


@pytest.mark.parametrize(
    ("states", "actions", "message"),
    [
        ([0, 0, 1], None, r"states must be a permutation of 0 .. 2, not \[0, 0, 1\]"),
        ([0, 1], None, r"states must be a permutation of 0 .. 2, not \[0, 1\]"),
        ([0.0, 1.0, 2.0], None, "states must be a permutation"),
        (np.zeros(21, int), None, r"states must be a permutation of 0 .. 2, not int64 of shape \(21,\)"),
        (np.zeros(20, int), None, r"states must be a permutation of 0 .. 2, not \[0, 0, 0"),
        (None, [0, 1, 2], "actions must be a permutation of 0 .. 3"),
        (None, [[2, 0], [1]], "actions has 2 rows, one per state would be 3"),
        (
            None,
            [[2, 0], [1], [3, 0]],
            r"actions of state 'c' must be a permutation of its ids \[0, 1, 3\], not \[3, 0\]",
        ),
        (None, [[2, 1], [1], [3, 0, 1]], r"actions of state 'a' must be a permutation of its ids \[0, 2\]"),
    ],
)
def test_numbers_that_are_no_permutation_are_named(states, actions, message):
    with pytest.raises(ValueError, match=message):
        permutation(UNEVEN, states, actions)


def test_only_some_states_keep_their_order_and_recall_their_numbers():
    way = restriction(UNEVEN, np.array([True, False, True]))
    assert way.state.tolist() == [0, -1, 1]
    assert way.source.tolist() == [0, 1, 3, 4, 5]
    assert (way.pairs.ptr.tolist(), way.pairs.action.tolist()) == ([0, 2, 5], [0, 2, 0, 1, 3])
    assert (way.pairs.state_names, way.pairs.action_names) == (("a", "c"), UNEVEN.action_names)
    unnamed = restriction(Pairs.uniform(3, 1), np.array([False, True, True]))
    assert unnamed.pairs.state_names == ("1", "2")
    assert by_state(np.array([5, 6, 7]), way).tolist() == [5, 7]
    assert by_state(np.arange(6).reshape(3, 2), way).tolist() == [[0, 1], [4, 5]]


def test_rows_and_values_go_where_their_states_go():
    states = np.array([2, 0, 3, 1])
    way = permutation(WORLD.pairs, states, [1, 2, 0])
    rows = renumber_rows(WORLD.rows, way)
    for new, old in enumerate(way.source.tolist()):
        before = dict(zip(WORLD.rows.succ[WORLD.rows.row(old)], WORLD.rows.prob[WORLD.rows.row(old)], strict=True))
        after = dict(zip(rows.succ[rows.row(new)], rows.prob[rows.row(new)], strict=True))
        assert after == {states[x]: p for x, p in before.items()}
    assert by_state(np.array([10, 11, 12, 13]), way)[states].tolist() == [10, 11, 12, 13]


def test_random_numbers_permute_states_and_the_actions_of_each():
    states, actions = random_numbers(UNEVEN, np.random.default_rng(0))
    assert sorted(states.tolist()) == [0, 1, 2]
    assert [sorted(ids.tolist()) for ids in actions] == [[0, 2], [1], [0, 1, 3]]
    drawn = {tuple(random_numbers(UNEVEN, np.random.default_rng(seed))[1][2].tolist()) for seed in range(60)}
    assert len(drawn) == 6
