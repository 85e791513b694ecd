"""Pairs and names: how they are numbered, found, compared and told, and the first that is one too many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equirl.model.pairs import (
    MOST_BITS,
    NameNumbers,
    Pairs,
    check_names,
    checked_names,
    is_name,
    names_from_json,
    names_within,
    number_of,
    numbered,
    pairs_from,
    plain_name,
)

UNEVEN = Pairs(np.array([0, 2, 3, 6]), np.array([0, 2, 1, 0, 1, 3]))


def test_sizes_follow_from_the_actions_of_each_state():
    assert (UNEVEN.n_states, UNEVEN.n_pairs, UNEVEN.n_actions, UNEVEN.n_action_ids) == (3, 6, 3, 4)
    assert UNEVEN.state.tolist() == [0, 0, 1, 2, 2, 2]
    assert not UNEVEN.state.flags.writeable


@pytest.mark.parametrize(
    ("ptr", "action", "uniform"),
    [
        ([0, 2, 4], [0, 1, 0, 1], True),
        ([0, 1, 2], [0, 0], True),
        ([0, 2, 4], [0, 1, 0, 2], False),
        ([0, 2, 3], [0, 1, 0], False),
        ([0, 1, 2], [1, 1], False),
    ],
)
def test_pairs_are_uniform_where_every_state_has_the_first_actions(ptr, action, uniform):
    assert Pairs(np.array(ptr), np.array(action)).is_uniform is uniform


def test_every_pair_is_found_and_no_other():
    listed = {(0, 0): 0, (0, 2): 1, (1, 1): 2, (2, 0): 3, (2, 1): 4, (2, 3): 5}
    for s in range(3):
        for a in range(4):
            assert UNEVEN.find(s, a) == listed.get((s, a), -1)
            if (s, a) in listed:
                assert UNEVEN.index(s, a) == listed[s, a]
    with pytest.raises(ValueError, match=r"action 1 is not allowed in state 0 \(allowed: 0, 2\)"):
        UNEVEN.index(0, 1)


def test_pairs_are_told_by_number_or_by_name():
    named = Pairs(UNEVEN.ptr, UNEVEN.action, ("a", 7, ("b", 1)), ("up", "down", "left", "right"))
    assert (UNEVEN.describe(5), named.describe(5)) == ("s=2, a=3", "s=('b', 1), a='right'")
    assert (UNEVEN.allowed(2), named.allowed(("b", 1))) == ("0, 1, 3", "'up', 'down', 'right'")
    for pair in (-1, 6):
        with pytest.raises(ValueError, match="pair must be"):
            UNEVEN.describe(pair)


@pytest.mark.parametrize(
    "other",
    [
        Pairs(np.array([0, 2, 3, 6]), np.array([0, 2, 1, 0, 2, 3])), Pairs(np.array([0, 2, 3, 5, 6]), UNEVEN.action),
        Pairs(UNEVEN.ptr, UNEVEN.action, ("a", "b", "c")), Pairs(UNEVEN.ptr, UNEVEN.action, None, tuple("abcd")),
    ],
)  # fmt: skip
def test_pairs_are_equal_where_all_of_them_and_their_names_are(other):
    assert Pairs(UNEVEN.ptr.copy(), UNEVEN.action.copy()) == UNEVEN
    assert other == Pairs(other.ptr, other.action, other.state_names, other.action_names)
    assert other != UNEVEN
    assert UNEVEN != "pairs"


@pytest.mark.parametrize(
    ("ptr", "action", "message"),
    [
        ([0, 2], [1, 1], r"action ids of state 0 must increase from 0 or more; found 1"),
        ([0, 1, 3], [0, 2, 1], r"action ids of state 1 must increase from 0 or more; found 1"),
        ([0, 1, 2], [3, -2], r"action ids of state 1 must increase from 0 or more; found -2"),
        ([1, 2], [0], "ptr runs from 1 to 2, not from 0 to the 1 pairs"),
        ([0], [], r"pairs need ptr \(S \+ 1,\) and action \(M,\), not \(1,\) and \(0,\)"),
        ([[0, 1]], [0], "pairs need ptr"),
        ([0, 1], [[0]], "pairs need ptr"),
        ([0, 1, 0, 1], [0], "state 1 has no action"),
    ],
)
def test_pairs_that_are_none_are_refused(ptr, action, message):
    with pytest.raises(ValueError, match=message):
        Pairs(np.array(ptr), np.array(action, int))


def test_as_many_states_as_names_and_at_least_as_many_actions():
    assert Pairs(np.array([0, 1]), np.array([2]), None, tuple("abcd")).n_action_ids == 3
    for names in (("a",), ("a", "b", "c")):
        with pytest.raises(ValueError, match=f"{len(names)} state names for 2 states"):
            Pairs(np.array([0, 1, 2]), np.array([0, 0]), names)
    with pytest.raises(ValueError, match="2 action names for 3 actions"):
        Pairs(np.array([0, 1]), np.array([2]), None, ("a", "b"))


def test_names_are_texts_finite_numbers_of_some_length_and_tuples_of_them():
    for name in ("", "a", 0, -3, 2.5, (), ("a", (1, 2.0)), 2**MOST_BITS - 1, -(2**MOST_BITS) + 1):
        assert is_name(name)
    for value in (None, math.nan, math.inf, 2**MOST_BITS, ("a", None), b"a", ["a"]):
        assert not is_name(value)
    with pytest.raises(TypeError, match=r"state names must be a tuple of str, numbers or tuples, not \['a'\]"):
        check_names("state", ["a"])
    with pytest.raises(TypeError, match="state names must be strings, numbers or tuples of them, not None"):
        check_names("state", ("a", None))
    with pytest.raises(ValueError, match="two states are named 'b'"):
        check_names("state", ("a", "b", "b"))


def test_names_of_other_libraries_are_pythons_own():
    assert plain_name(np.int64(3)) == 3
    assert type(plain_name(np.int64(3))) is int
    assert plain_name(np.array([1, 2])) == plain_name([1, 2]) == (1, 2)
    assert plain_name([["a"], np.float64(0.5)]) == (("a",), 0.5)
    assert [type(plain_name(value)) for value in (True, False, np.True_, "True")] == [int, int, int, str]
    assert checked_names("action", [0, 1.5, "x", (1,)]) == ("0", "1.5", "x", (1,))
    assert checked_names("state", [0, 1.5, "x"]) == (0, 1.5, "x")
    assert names_from_json([["a", 1], "b"]) == (("a", 1), "b")
    assert names_from_json([]) is names_from_json(None) is None
    assert names_within(["b", "a", "b", 1]) == ("b", "a", 1)
    assert names_within([(1,), 2]) == ((1,), 2)
    assert names_within([1, 2.5]) is names_within([]) is None


def test_numbers_are_names_only_where_some_names_are_numbers():
    texts, mixed = NameNumbers(["a", "b"]), NameNumbers(["a", 5, (1, 2)])
    assert (texts.are_numbers, mixed.are_numbers, NameNumbers([("a", 1)]).are_numbers) == (False, True, False)
    assert (texts.find("b"), mixed.find([1, 2]), mixed.find(5.0)) == (1, 2, 1)
    assert texts.find("c") is texts.find({}) is None
    assert numbered(None) is None
    assert number_of("state", "b", 2, texts) == number_of("state", 1, 2, texts) == number_of("state", 5, 3, mixed) == 1
    with pytest.raises(ValueError, match="unknown state 1"):
        number_of("state", 1, 3, mixed)


@pytest.mark.parametrize(
    ("kind", "value", "error", "message"),
    [
        ("state", -1, ValueError, "state -1 is out of range: there are 3 states, 0 to 2"),
        ("state", 3, ValueError, "state 3 is out of range: there are 3 states, 0 to 2"),
        ("state", "a", ValueError, "state 'a' is a name, but the problem names no states; give a number"),
        ("state", ("a",), ValueError, "is a name, but the problem names no states"),
        ("state", 1.0, TypeError, "a state is an integer or a name, not 1.0"),
        ("action", None, TypeError, "an action is an integer or a name, not None"),
        ("state", np.array([1, 2]), TypeError, "a state is an integer or a name"),
        ("state", np.array([1.0]), TypeError, "a state is an integer or a name"),
    ],
)
def test_what_is_no_number_of_a_state_is_told(kind, value, error, message):
    with pytest.raises(error, match=message):
        number_of(kind, value, 3, None)


@pytest.mark.parametrize("value", [0, 2, np.int8(2), True, np.array(1), np.array([1]), np.array([[2]])])
def test_whole_numbers_of_any_kind_are_numbers_of_states(value):
    assert number_of("state", value, 3, None) == int(np.asarray(value).item())


def test_actions_are_given_by_number_by_name_or_by_state():
    assert pairs_from(3, 2) == Pairs.uniform(3, 2)
    assert pairs_from(3, [1, 2, 1]) == Pairs.uniform(3, [1, 2, 1])
    assert pairs_from(["a", "b"], 2).state_names == ("a", "b")
    same = pairs_from(2, ["up", "down"])
    assert (same.action.tolist(), same.action_names) == ([0, 1, 0, 1], ("up", "down"))
    own = pairs_from(3, [["up"], ["down", "up"], ["left"]])
    assert (own.ptr.tolist(), own.action.tolist()) == ([0, 1, 3, 4], [0, 0, 1, 2])
    assert own.action_names == ("up", "down", "left")
    ids = pairs_from(2, [[3, 1], {0}])
    assert (ids.ptr.tolist(), ids.action.tolist(), ids.action_names) == ([0, 2, 3], [1, 3, 0], None)
    by_name = pairs_from(["a", "b"], {"b": ["x"], "a": ["y", "x"]})
    assert (by_name.ptr.tolist(), by_name.action.tolist(), by_name.action_names) == ([0, 2, 3], [0, 1, 1], ("y", "x"))


@pytest.mark.parametrize(
    ("states", "actions", "message"),
    [
        (2, [[0], [1], [2]], "n_actions lists the actions of 3 states; there are 2"),
        (2, {0: [0]}, "n_actions lists no actions of state 1"),
        (["a", "b"], {"a": [0]}, "n_actions lists no actions of state 'b'"),
        (2, {5: [0]}, "n_actions: state 5 is out of range"),
        (2, [[0, 0], [1]], r"the actions of state 0 hold one twice: \[0, 0\]"),
        (2, [[0], 3], "the actions of state 1 must be a list of ids or names, not 3"),
        (["a", "a"], 2, "n_states: two states are named 'a'"),
        ([None], 2, "n_states: state names must be strings"),
    ],
)
def test_actions_that_make_no_sense_are_told(states, actions, message):
    with pytest.raises((TypeError, ValueError), match=message):
        pairs_from(states, actions)
