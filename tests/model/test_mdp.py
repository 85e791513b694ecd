import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from equirl.model.mdp import Picture, TabularMDP
from equirl.model.pairs import Pairs
from equirl.model.reward_distributions import draw_rewards, original_rewards, rescale_rewards
from equirl.model.rows import Rows
from mdps_kit import UNEVEN, P, R, small, uneven


def changed(array, index, value):
    array = np.array(array)
    array[index] = value
    return array


# Makers


def test_dense_arrays_come_back_from_to_arrays():
    transitions, rewards = small().to_arrays()
    assert np.array_equal(transitions, P)
    assert np.array_equal(rewards, R)


def test_one_sparse_matrix_per_action_gives_the_same_mdp_as_dense_arrays():
    assert TabularMDP.from_arrays([sp.csr_matrix(P[:, a]) for a in range(2)], R) == small()


def test_a_list_of_pairs_in_any_order_gives_the_same_mdp_as_dense_arrays():
    listed = [(s, a, dict(enumerate(P[s, a])), R[s, a]) for a in (1, 0) for s in (1, 0)]
    assert TabularMDP.from_pairs(listed, 2) == small()


def test_duplicate_successors_are_summed():
    matrix = sp.coo_matrix(([0.25, 0.75, 0.25, 0.75], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert TabularMDP.from_arrays([matrix], np.zeros((2, 1))).transition_probabilities(0, 0) == {1: 1.0}


def test_zero_probabilities_are_not_stored():
    assert small().rows.succ.size == 6


def test_rewards_by_state_are_paid_for_every_action():
    assert TabularMDP.from_arrays(P, [0.2, 0.4]).r_mean.tolist() == [0.2, 0.2, 0.4, 0.4]


def test_rewards_by_transition_are_averaged_over_the_law():
    paid = np.zeros((2, 2, 2))
    paid[0, 0] = 0.2, 0.6
    assert TabularMDP.from_arrays(P, paid).mean_reward(0, 0) == pytest.approx(0.4)


def test_actions_may_differ_by_state_and_keep_their_ids():
    mdp = uneven()
    assert mdp.transition_probabilities(1, 7) == {2: 1.0}
    assert mdp.pairs.index(2, 3) == 3


def test_pairs_may_be_listed_by_name():
    mdp = TabularMDP.from_pairs(
        [("dry", "wait", {"wet": 1.0}, 0), ("wet", "wait", {"dry": 1.0}, 1)],
        2,
        state_names=["dry", "wet"],
        action_names=["wait"],
        initial="wet",
    )
    assert mdp.transition_probabilities("dry", "wait") == {"wet": 1.0}
    assert mdp.initial.tolist() == [0.0, 1.0]


def test_one_state_with_one_action_is_an_mdp():
    mdp = TabularMDP.from_arrays([[[1.0]]], [[0.5]])
    assert (mdp.n_states, mdp.n_pairs, mdp.transition_probabilities(0, 0)) == (1, 1, {0: 1.0})
    assert mdp.shuffled(0) == mdp


def test_makers_leave_their_inputs_alone_and_later_changes_do_not_reach_the_mdp():
    transitions, rewards, initial = P.copy(), R.copy(), np.array([0.5, 0.5])
    mdp = TabularMDP.from_arrays(transitions, rewards, initial)
    transitions[:], rewards[:], initial[:] = 0, 0, 0
    assert mdp == small(initial=[0.5, 0.5])


def test_the_arrays_of_an_mdp_are_read_only():
    mdp = small()
    for array in (*mdp.rows, mdp.r_mean, mdp.initial, mdp.pairs.ptr, mdp.pairs.action, mdp.pairs.state):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda mdp: pickle.loads(pickle.dumps(mdp)),
    "old pickle": lambda mdp: pickle.loads(pickle.dumps(mdp, protocol=0)),
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_an_mdp_is_equal_and_read_only(way):
    mdp = small(picture=Picture(("..",), np.array([[0, 0], [0, 1]])), state_names=["a", "b"])
    other = COPIES[way](mdp)
    assert other == mdp
    for array in (*other.rows, other.r_mean, other.initial, other.pairs.ptr, other.pairs.action, other.picture.cell):
        assert array.flags.owndata
        assert not array.flags.writeable


def test_read_only_views_of_a_users_arrays_are_copied():
    mdp = small()
    given = {name: np.array(array) for name, array in zip(Rows._fields, mdp.rows, strict=True)}
    given |= {"r_mean": np.array(mdp.r_mean), "initial": np.array(mdp.initial)}
    views = {name: array[:] for name, array in given.items()}
    for view in views.values():
        view.setflags(write=False)
    made = TabularMDP(mdp.pairs, Rows(*list(views.values())[:3]), views["r_mean"], views["initial"])
    for array in given.values():
        array[:] = 7
    assert made == mdp


def test_read_only_views_of_pairs_are_copied():
    ptr, action = np.array([0, 1, 2]), np.array([0, 0])
    views = ptr[:], action[:]
    for view in views:
        view.setflags(write=False)
    pairs = Pairs(*views)
    ptr[:], action[:] = 9, 9
    assert pairs == Pairs.uniform(2, 1)


def test_to_arrays_refuses_states_that_differ_in_their_actions():
    with pytest.raises(ValueError, match="states differ in their actions"):
        uneven().to_arrays()


def test_a_successor_given_by_name_and_by_number_is_summed():
    mdp = TabularMDP.from_pairs([(0, 0, {"a": 0.3, 0: 0.7}, 0)], 1, state_names=["a"])
    assert (mdp.transition_probabilities(0, 0), mdp.transition_probabilities("a", 0)) == ({0: 1.0}, {"a": 1.0})
    with pytest.raises(ValueError, match=r"sums to 1\.3"):
        TabularMDP.from_pairs([(0, 0, {"a": 0.3, 0: 1.0}, 0)], 1, state_names=["a"])


# What is wrong is named

BAD = {
    "nan": (lambda: small_with(changed(P, (0, 1, 0), np.nan)), r"p\(0 \| s=0, a=1\) is nan"),
    "negative": (lambda: small_with(changed(P, (1, 0), [-0.5, 1.5])), r"p\(0 \| s=1, a=0\) is -0.5"),
    "sum": (lambda: small_with(changed(P, (1, 1, 1), 0.68)), r"p\(\. \| s=1, a=1\) sums to 0.93, not 1"),
    "sum just beyond the tolerance": (lambda: small_with(changed(P, (0, 0, 0), 0.5 + 2e-8)), "s=0, a=0.*not 1"),
    "empty row": (lambda: TabularMDP.from_pairs([(0, 0, {}, 0)], 1), r"s=0, a=0\) sums to 0"),
    "shape": (lambda: small_with(P[0]), r"transitions have shape \(2, 2\)"),
    "not square": (lambda: small_with(P[:, :, :1]), r"transitions have shape \(2, 2, 1\)"),
    "no states": (lambda: small_with(np.zeros((0, 0, 0))), "at least 1"),
    "reward shape": (lambda: TabularMDP.from_arrays(P, R[:, :1]), r"rewards have shape \(2, 1\); \(2, 2\) is needed"),
    "reward above 1": (
        lambda: TabularMDP.from_arrays(P, 2 * R),
        r"mean reward of \(s=1, a=0\) is 2, outside \[0, 1\]; equirl.rescale_rewards",
    ),
    "reward below 0": (lambda: TabularMDP.from_arrays(P, -R), r"s=0, a=1\) is -0.5"),
    "reward nan": (lambda: TabularMDP.from_arrays(P, R * np.nan), r"s=0, a=0\) is nan"),
    "one sparse matrix": (lambda: TabularMDP.from_arrays(sp.eye(2), R), "one .* matrix per action"),
    "mixed matrices": (lambda: TabularMDP.from_arrays([sp.eye(2), P[0]], R), "matrix of action 1 is a ndarray"),
    "sparse shape": (lambda: TabularMDP.from_arrays([sp.eye(2), sp.eye(3)], R), r"action 1 has shape \(3, 3\)"),
    "too many states": (lambda: TabularMDP.from_pairs([], 2**31), "2147483648 states are too many"),
    "too many sparse states": (
        lambda: TabularMDP.from_arrays([sp.coo_matrix((2**31, 2**31))], []),
        "2147483648 states are too many",
    ),
    "no state": (lambda: TabularMDP.from_pairs([], 0), "n_states must be at least 1, not 0"),
    "states not an integer": (lambda: TabularMDP.from_pairs([], 2.5), "n_states must be an integer, not 2.5"),
    "unknown state": (lambda: from_pair((5, 0, {0: 1}, 0)), "state 5 is out of range"),
    "fractional state": (lambda: from_pair((0.5, 0, {0: 1}, 0)), "a state is an integer or a name, not 0.5"),
    "unknown successor": (lambda: from_pair((0, 0, {9: 1}, 0)), "s=0, a=0.* unknown state.* 9"),
    "fractional successor": (lambda: from_pair((0, 0, {0.5: 1}, 0)), "s=0, a=0.* unknown state.* 0.5"),
    "negative action": (lambda: from_pair((0, -1, {0: 1}, 0)), "a=-1.* negative action"),
    "fractional action": (lambda: from_pair((0, 0.5, {0: 1}, 0)), "not 0.5"),
    "pair twice": (lambda: from_pair((0, 0, {0: 1}, 0), (0, 0, {0: 1}, 0)), "s=0, a=0.* listed twice"),
    "not a pair": (lambda: from_pair((0, 0, 1)), "is not .state, action"),
    "empty action set": (lambda: TabularMDP.from_pairs([(0, 0, {0: 1}, 0)], 2), "state 1 has no action"),
    "no such name": (
        lambda: small().transition_probabilities("here", 0),
        "'here' is a name, but the problem names no states",
    ),
    "misspelt tuple": (
        lambda: small(state_names=[(0, 1), (1, 1)]).transition_probabilities((0, 2), 0),
        r"did you mean \(0, 1\)\?",
    ),
    "misspelt name": (
        lambda: small(state_names=["north", "south"]).transition_probabilities("nroth", 0),
        "did you mean 'north'",
    ),
    "state out of range": (
        lambda: small().transition_probabilities(2, 0),
        "state 2 is out of range: there are 2 states, 0 to 1",
    ),
    "action not allowed": (
        lambda: uneven().transition_probabilities(2, 0),
        r"action 0 is not allowed in state 2 \(allowed: 3\)",
    ),
    "initial state": (lambda: small(initial=2), "state 2 is out of range"),
    "initial shape": (lambda: small(initial=[1.0]), r"initial distribution has shape \(1,\), not \(2,\)"),
    "initial sum": (lambda: small(initial=[0.5, 0.4]), "initial distribution sums to 0.9, not 1"),
    "initial negative": (lambda: small(initial=[-0.5, 1.5]), "initial distribution gives state 0 the probability -0.5"),
    "reward law": (lambda: small(reward_law="bernouli"), "did you mean 'bernoulli'"),
    "concentration": (lambda: small(concentration=0), "concentration must be a positive, finite number, not 0"),
    "reward map": (lambda: small(reward_map=(0, 0)), "reward_map"),
    "keyword": (lambda: small(rewardlaw="beta"), "unknown keyword 'rewardlaw'; did you mean 'reward_law'"),
    "too few names": (lambda: small(state_names=["a"]), "1 state names for 2 states"),
    "same names": (lambda: small(action_names=["a", "a"]), "two actions are named 'a'"),
    "picture": (lambda: small(picture=Picture(("..",), np.zeros((1, 2), int))), "places 1 states, the MDP has 2"),
    "no rewards to rescale": (lambda: rescale_rewards([np.inf]), "must be finite"),
    "not a permutation": (lambda: small().permute(states=[0, 0]), "states must be a permutation of 0 .. 1"),
    "ids of another state": (
        lambda: uneven().permute(actions=[[0], [0, 3], [3]]),
        r"actions of state 1 must be a permutation of its ids \[0, 7\]",
    ),
    "fractional permutation": (lambda: small().permute(states=[1.0, 0.0]), "states must be a permutation"),
    "masked transitions": (lambda: small_with(np.ma.masked_less(P, 0.3)), "transitions must be .* entries are masked"),
    "masked rewards": (lambda: TabularMDP.from_arrays(P, np.ma.masked_less(R, 0.3)), "rewards .* masked"),
    "masked initial": (lambda: small(initial=np.ma.masked_array([1.0, 0.0], [0, 1])), "initial .* masked"),
    "complex rewards": (lambda: TabularMDP.from_arrays(P, R + 0j), "rewards must be .* complex"),
    "complex initial": (lambda: small(initial=np.array([1.0 + 0j, 0.0])), "initial must be .* complex"),
    "complex sparse": (
        lambda: TabularMDP.from_arrays([sp.csr_matrix(P[:, a] + 0j) for a in range(2)], R),
        "transitions must be .* complex",
    ),
    "names not a list": (lambda: small(state_names=5), "state_names must be a list, not 5"),
    "normalize": (lambda: small(normalize="yes"), "normalize must be True or False, not 'yes'"),
    "normalize far from 1": (lambda: small_with(changed(P, (1, 1, 1), 0.68), normalize=True), "sums to 0.93, not 1"),
    "rewards too far apart": (lambda: rescale_rewards([-1e308, 1e308]), "rewards from -1e.308 to 1e.308"),
    "actions of too few states": (lambda: uneven().permute(actions=[[0]]), "actions has 1 rows, one per state"),
}


def small_with(transitions, **extras):
    return TabularMDP.from_arrays(transitions, R, **extras)


def from_pair(*listed):
    return TabularMDP.from_pairs(listed, 1)


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_gives_an_error_that_names_it(kind):
    make, message = BAD[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_rows_within_the_tolerance_are_kept_as_they_are():
    mdp = TabularMDP.from_arrays([[[1 - 5e-9]]], [[0.0]])
    assert mdp.rows.prob.tolist() == [1 - 5e-9]


BAD_ROWS = {
    "unsorted": (Rows(np.array([0, 2, 3]), np.array([1, 0, 0]), np.array([0.5, 0.5, 1.0])), "s=0, a=0.*not increasing"),
    "repeated": (Rows(np.array([0, 2, 3]), np.array([1, 1, 0]), np.array([0.5, 0.5, 1.0])), "s=0, a=0.*not increasing"),
    "out of range": (Rows(np.array([0, 1, 2]), np.array([0, 2]), np.ones(2)), "s=1, a=0.* unknown state 2"),
    "sum": (Rows(np.array([0, 1, 2]), np.array([0, 1]), np.array([1.0, 0.9])), "s=1, a=0.* sums to 0.9"),
    "zero": (Rows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([1.0, 0.0, 1.0])), "s=0, a=0.* is 0"),
    "falling ptr": (Rows(np.array([0, 3, 2]), np.array([0, 1]), np.ones(2)), "without falling"),
    "short ptr": (Rows(np.array([0, 2]), np.array([0, 1]), np.ones(2)), "do not match 2 pairs"),
    "long ptr": (Rows(np.array([0, 1, 3]), np.array([0, 1]), np.ones(2)), "run from 0 to 2"),
    "wrapped": (
        Rows(np.array([0, 1, 2]), np.array([2**32, 1]), np.ones(2)),
        "rows.succ must fit int32; entry 0 is 4294967296",
    ),
    "wrapped below": (
        Rows(np.array([0, 1, 2]), np.array([-(2**32), 1]), np.ones(2)),
        "rows.succ must fit int32; entry 0 is -4294967296",
    ),
    "unsigned": (Rows(np.array([0, 1, 2**64 - 1], np.uint64), np.array([0, 1]), np.ones(2)), "rows.ptr must fit int64"),
    "overflowing ptr": (
        Rows(np.array([0, 2**62, 2]), np.array([0, 1]), np.ones(2)),
        "rows.ptr must run from 0 to 2 without falling; entry 1 is 4611686018427387904",
    ),
    "masked": (
        Rows(np.array([0, 1, 2]), np.array([0, 1]), np.ma.masked_array([1.0, 1.0], [0, 1])),
        "rows.prob must be .* masked",
    ),
    "complex": (Rows(np.array([0, 1, 2]), np.array([0, 1]), np.ones(2) + 0j), "rows.prob must hold float64, not compl"),
    "not rows": (5, "rows must be Rows, not 5; TabularMDP.from_rows"),
    "a matrix": (P, "rows must be Rows, not array"),
    "fractional": (Rows(np.array([0, 1, 2]), np.array([0.0, 1.0]), np.ones(2)), "rows.succ must hold int32"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_inconsistent_rows_are_refused(kind):
    rows, message = BAD_ROWS[kind]
    with pytest.raises((ValueError, TypeError), match=message):
        TabularMDP(Pairs.uniform(2, 1), rows, np.zeros(2), np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": [0, 1]}, r"pairs must be Pairs, not \[0, 1\]"),
        ({"r_mean": "low"}, "r_mean must hold float64"),
        ({"r_mean": np.zeros(3)}, r"r_mean has shape \(3,\); one mean reward per pair would be \(4,\)"),
        ({"initial": [[1.0]]}, r"initial distribution has shape \(1, 1\)"),
        ({"reward_law": np.zeros(2)}, "unknown reward_law"),
        ({"picture": "S.G"}, "picture must be a Picture, not 'S.G'"),
        ({"name": 3}, "name must be a str, not 3"),
    ],
)
def test_parts_that_are_none_are_named(changes, message):
    mdp = small()
    parts = {"pairs": mdp.pairs, "rows": mdp.rows, "r_mean": mdp.r_mean, "initial": mdp.initial}
    with pytest.raises((ValueError, TypeError), match=message):
        TabularMDP(**(parts | changes))


@pytest.mark.parametrize(
    "n_actions", [2**62, np.full(4, 2**62), np.full(4, 2**63, np.uint64), np.full(4, 2**30), 2**31, 10**30], ids=repr
)
def test_more_pairs_than_can_be_numbered_are_refused(n_actions):
    with pytest.raises(ValueError, match="n_actions"):
        Pairs.uniform(4, n_actions)


@pytest.mark.parametrize(
    ("n_actions", "message"),
    [
        ([1, 0], "n_actions must be at least 1; entry 1 is 0"),
        ([1.0, 2.0], "n_actions must hold integers, not float64"),
        ([1, 2, 3], r"n_actions has shape \(3,\); one number per state would be \(2,\)"),
        (np.ma.masked_array([1, 2], [0, 1]), "n_actions must be .* masked"),
    ],
)
def test_numbers_of_actions_that_make_no_sense_are_named(n_actions, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Pairs.uniform(2, n_actions)


@pytest.mark.parametrize(
    ("ptr", "action", "message"),
    [
        ([0, 2**62, -(2**62) - 1, 2], [0, 0], "state 1 has no action"),
        ([0, 1, 1], [0], "state 1 has no action"),
        ([0, 2], [1, 0], "must increase"),
        ([0, 1], [-1], "found -1"),
        ([0, 3], [0], "not from 0 to the 1 pairs"),
    ],
)
def test_inconsistent_pairs_are_refused(ptr, action, message):
    with pytest.raises(ValueError, match=message):
        Pairs(np.array(ptr), np.array(action))


def test_names_are_found_among_many_without_a_search():
    pairs = Pairs(np.arange(50_001), np.zeros(50_000, int), tuple(map(str, range(50_000))))
    assert [pairs.state_number(str(s)) for s in range(0, 50_000, 7)] == list(range(0, 50_000, 7))


# Rows that were rounded, and rows by pair


def test_rows_in_single_precision_are_taken_as_they_are_or_normalized():
    rounded = np.full((3, 1, 3), 1 / 3, np.float32)
    with pytest.raises(ValueError, match=r"s=0, a=0\) sums to 1\.00000003, not 1; .*normalize=True"):
        TabularMDP.from_arrays(rounded, np.zeros((3, 1)))
    mdp = TabularMDP.from_arrays(rounded, np.zeros((3, 1)), np.full(3, 1 / 3, np.float32), normalize=True)
    assert mdp.transition_probabilities(0, 0) == {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}
    assert mdp.initial.tolist() == [1 / 3] * 3


def test_every_maker_normalizes():
    row = {0: 0.3333, 1: 0.6666}
    made = [
        TabularMDP.from_pairs([(s, 0, row, 0) for s in range(2)], 2, normalize=True),
        TabularMDP.from_rows(np.tile(list(row.values()), (2, 1)), np.zeros(2), 1, normalize=True),
        TabularMDP.from_arrays([sp.csr_array(np.tile(list(row.values()), (2, 1)))], np.zeros((2, 1)), normalize=True),
    ]
    assert made[0].transition_probabilities(1, 0) == {0: 0.3333 / (0.3333 + 0.6666), 1: 0.6666 / (0.3333 + 0.6666)}
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("form", ["csr", "coo", "dense", "arrays", "unsorted arrays"])
def test_rows_by_pair_give_the_same_mdp_as_dense_arrays(form):
    matrix = P.reshape(4, 2)
    ptr, succ, prob = (np.array(part) for part in small().rows)
    unsorted = succ.copy(), prob.copy()
    for part in unsorted:
        part[:2] = part[1::-1]
    given = {
        "csr": sp.csr_array(matrix),
        "coo": sp.coo_matrix(matrix),
        "dense": matrix,
        "arrays": (ptr, succ, prob),
        "unsorted arrays": (ptr, *unsorted),
    }[form]
    assert TabularMDP.from_rows(given, R.ravel(), 2) == small()


def test_rows_by_pair_may_differ_in_actions_and_keep_action_ids():
    made = TabularMDP.from_rows(uneven().rows, uneven().r_mean, uneven().pairs)
    assert made == uneven()
    assert TabularMDP.from_rows(uneven().rows, uneven().r_mean, [1, 2, 1]).transition_probabilities(1, 1) == {2: 1.0}
    listed = TabularMDP.from_rows(uneven().rows, uneven().r_mean, [[3], [0, 2], [1]])
    assert listed.transition_probabilities(1, 2) == {2: 1.0}
    assert listed.pairs.action.tolist() == [3, 0, 2, 1]


def test_rows_of_different_lengths_are_told_in_words():
    with pytest.raises(TypeError, match=r"^transitions must be an array: its rows differ in length$"):
        TabularMDP.from_arrays([[[0.5, 0.5], [1, 0]], [[0, 1]]], [[0, 0.5], [1]])
    with pytest.raises(ValueError, match=r"actions make 4 pairs, one row each"):
        TabularMDP.from_rows(np.eye(3), [0, 0, 1], [[0, 1], [0], [2]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transitions": np.eye(3)}, r"transitions have 3 rows, which 2 actions per state do not divide"),
        ({"transitions": np.ones((4, 1))}, "transitions have 1 columns; actions make 2 states"),
        ({"transitions": np.ones(4)}, r"transitions have shape \(4,\); \(M, S\)"),
        ({"transitions": ([0, 2, 1], [0, 1], [1.0, 1.0])}, "ptr must run from 0 to 2"),
        ({"transitions": ([0, 1], [2**32], [1.0]), "rewards": [0.0], "actions": 1}, "unknown state 4294967296"),
        ({"transitions": ([0, 1], [0], [1.0, 0.0])}, "succ has 1 entries, prob has shape"),
        ({"rewards": R}, r"rewards have shape \(2, 2\); one mean per pair would be \(4,\)"),
        ({"actions": [2, 1]}, "transitions have 4 rows; actions make 3 pairs"),
        ({"actions": "two"}, "actions must be an integer, not 'two'"),
    ],
)
def test_rows_by_pair_that_do_not_fit_are_named(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        TabularMDP.from_rows(**({"transitions": P.reshape(4, 2), "rewards": R.ravel(), "actions": 2} | changes))


# Rewards


def test_deterministic_rewards_use_no_random_numbers():
    rng = np.random.default_rng(0)
    assert draw_rewards("deterministic", np.array([0.25, 0.5]), 4.0, rng).tolist() == [0.25, 0.5]
    assert rng.random() == np.random.default_rng(0).random()


@pytest.mark.parametrize("law", ["bernoulli", "beta"])
def test_means_of_zero_and_one_are_paid_for_sure(law):
    means = np.tile([0.0, 1.0], 50)
    assert draw_rewards(law, means, 4.0, np.random.default_rng(0)).tolist() == means.tolist()


def test_rescaled_rewards_lie_in_the_unit_interval_and_map_back():
    mapped, (scale, shift) = rescale_rewards([-100.0, -1.0, 20.0])
    assert (mapped.min(), mapped.max()) == (0.0, 1.0)
    assert scale * mapped + shift == pytest.approx([-100.0, -1.0, 20.0])


def test_equal_rewards_are_rescaled_to_zero():
    mapped, (scale, shift) = rescale_rewards([3.0, 3.0])
    assert (mapped.tolist(), scale, shift) == ([0.0, 0.0], 1.0, 3.0)


# Renumbering


def test_permute_moves_laws_rewards_and_initial_law_together():
    mdp = uneven(initial=1, state_names="abc")
    other = mdp.permute(states=[2, 0, 1])
    for s, a, law, mean in UNEVEN:
        assert other.transition_probabilities("abc"[s], a) == {"abc"[x]: p for x, p in law.items()}
        assert other.rows.succ[other.rows.row(other.pairs.index("abc"[s], a))].tolist() == sorted(
            [2, 0, 1][x] for x in law
        )
        assert other.mean_reward("abc"[s], a) == mean
    assert other.initial.tolist() == [1.0, 0.0, 0.0]


def test_permuting_actions_moves_their_names():
    mdp = small(action_names=["left", "right"])
    assert mdp.permute(actions=[1, 0]).transition_probabilities(1, "right") == mdp.transition_probabilities(1, "right")
    assert mdp.permute(actions=[1, 0]).transition_probabilities(1, 0) == mdp.transition_probabilities(1, 1)


def test_permuting_actions_state_by_state_keeps_to_the_ids_of_the_state():
    other = uneven().permute(actions=[[0], [7, 0], [3]])
    assert other.transition_probabilities(1, 0) == {2: 1.0}
    assert other.transition_probabilities(1, 7) == {0: 0.5, 1: 0.5}


def test_permuting_back_gives_an_equal_mdp():
    mdp = uneven(state_names="abc")
    assert mdp.permute(states=[2, 0, 1]).permute(states=[1, 2, 0]) == mdp


def laws_by_name(mdp):
    """For each state by name: the laws (by name) and rewards of its pairs, whatever their action ids."""
    names, found = mdp.pairs.state_names, {}
    for s, a in zip(mdp.pairs.state, mdp.pairs.action, strict=True):
        law = sorted((names[x], p) for x, p in mdp.transition_probabilities(s, a).items())
        found.setdefault(names[s], []).append((law, mdp.mean_reward(s, a)))
    return {name: sorted(laws) for name, laws in found.items()}


@given(seed=st.integers(0, 10**6))
def test_shuffling_keeps_the_pairs_of_every_state(seed):
    mdp = uneven(state_names="abc")
    assert laws_by_name(mdp.shuffled(seed)) == laws_by_name(mdp)


def test_shuffling_renumbers_actions_where_states_differ_in_them():
    found = {
        tuple(uneven(state_names="abc").shuffled(seed).transition_probabilities("b", 7).values()) for seed in range(20)
    }
    assert found == {(1.0,), (0.5, 0.5)}


def test_the_same_seed_shuffles_alike_and_another_otherwise():
    assert small().shuffled(3) == small().shuffled(3)
    assert any(small().shuffled(seed) != small() for seed in range(5))


def test_unreachable_states_can_be_left_out():
    mdp = TabularMDP.from_pairs([(0, 0, {0: 1}, 0), (1, 0, {2: 1}, 0.5), (2, 0, {1: 1}, 1)], 3, initial=2)
    kept = mdp.restrict_to_reachable()
    assert mdp.reachable().tolist() == [False, True, True]
    assert kept.pairs.state_names == ("1", "2")
    assert kept.transition_probabilities("2", 0) == {"1": 1.0}


# Equality and repr


def test_equality_sees_laws_rewards_names_pictures_and_reward_laws_but_not_the_title():
    picture = Picture(("..",), np.array([[0, 0], [0, 1]]))
    others = [
        small_with(changed(P, (0, 0), [0.4, 0.6])),
        TabularMDP.from_arrays(P, R / 2),
        small(initial=1),
        small(state_names=["a", "b"]),
        small(picture=picture),
        small(reward_law="beta"),
        small(reward_map=(2.0, 0.0)),
    ]
    assert all(other != small() for other in others)
    assert small(name="title") == small()
    assert small(picture=picture) == small(picture=picture)
    assert small() != "an MDP"


def test_repr_tells_the_sizes():
    assert repr(small(name="toy")) == ("TabularMDP('toy', S=2, M=4, successors=6, deterministic rewards in [0, 1])")


@pytest.mark.parametrize("sign", [1, -1])
def test_rows_sum_to_one_within_a_hundred_millionth_and_are_normalized_within_a_thousandth(sign):
    def with_sum(excess, **options):
        return TabularMDP.from_pairs([(0, 0, {0: 0.5, 1: 0.5 + sign * excess}, 0), (1, 0, {0: 1.0}, 0)], 2, **options)

    with_sum(0.9e-8)
    for excess, normalize in ((1.1e-8, False), (1.1e-3, True)):
        with pytest.raises(ValueError, match=r"s=0, a=0\) sums to"):
            with_sum(excess, normalize=normalize)
    assert with_sum(0.9e-3, normalize=True).rows.prob[:2].sum() == pytest.approx(1, abs=1e-15)


def test_the_concentration_is_compared_where_rewards_are_beta_alone():
    one, two = ({"concentration": c} for c in (4.0, 5.0))
    assert small(reward_law="beta", **one) == small(reward_law="beta", **one)
    assert small(reward_law="beta", **one) != small(reward_law="beta", **two)
    assert small(reward_law="bernoulli", **one) == small(reward_law="bernoulli", **two)


@pytest.mark.parametrize(
    ("reward_map", "expected"),
    [((3.0, 0.0), 0.37037036704), ((30.0, -30.0), -26.2962963296), ((1.0, 899.0), 899.123456789)],
)
def test_rewards_in_the_users_units_have_twelve_digits_of_the_largest(reward_map, expected):
    assert original_rewards(0.123456789012345, reward_map) == expected


def test_without_a_word_the_first_state_is_where_everything_begins():
    pairs = [(s, 0, {(s + 1) % 3: 1.0}, 0.5) for s in range(3)]
    made = [
        TabularMDP.from_pairs(pairs), TabularMDP.from_costs(pairs),
        TabularMDP.from_arrays(np.eye(3)[:, None], np.zeros((3, 1))),
        TabularMDP.from_rows(np.eye(3), np.zeros(3), actions=1),
    ]  # fmt: skip
    assert [mdp.initial.tolist() for mdp in made] == [[1.0, 0.0, 0.0]] * 4


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        ("text", "picture must be a Picture, not 'text'"),
        (Picture(["..", 3], [[0, 0], [0, 1]]), "picture.rows must be rows of text"),
        (Picture([".."], [0, 0]), r"picture.cell has shape \(2,\); a row and a column per state"),
        (Picture([".."], [[0, 0, 0], [0, 0, 0]]), r"picture.cell has shape \(2, 3\)"),
        (Picture([".."], [[0, 0], [1, 0]]), "picture.cell places state 1 at 1,0, outside the 1 rows of the map"),
        (Picture([".."], [[0, 2], [0, 0]]), "picture.cell places state 0 at 0,2"),
        (Picture([".."], [[0, -1], [0, 0]]), "picture.cell places state 0 at 0,-1"),
        (Picture([".."], [[-1, 0], [0, 0]]), "picture.cell places state 0 at -1,0"),
    ],
)
def test_a_picture_that_does_not_show_the_states_is_refused(picture, message):
    with pytest.raises((TypeError, ValueError), match=message):
        TabularMDP.from_arrays(np.eye(2)[:, None], np.zeros((2, 1)), picture=picture)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ([0.5, 0.4], "sums to 0.9, not 1"), ([1.5, -0.5], "gives state 1 the probability -0.5"),
        ([np.nan, 1.0], "gives state 0 the probability nan"), ([1.0], r"shape \(1,\)"),
    ],
)  # fmt: skip
def test_an_initial_distribution_that_is_none_is_refused(initial, message):
    mdp = TabularMDP.from_arrays(np.eye(2)[:, None], np.zeros((2, 1)))
    with pytest.raises(ValueError, match=message):
        TabularMDP(mdp.pairs, mdp.rows, mdp.r_mean, np.array(initial))


def test_the_scale_of_rewards_and_their_concentration_are_numbers():
    mdp = replace(small(), reward_map=[2, np.float32(1)], concentration=3)
    assert (mdp.reward_map, mdp.concentration) == ((2.0, 1.0), 3.0)
    assert [type(value) for value in (*mdp.reward_map, mdp.concentration)] == [float] * 3
    for wrong in ({"reward_map": (1.0,)}, {"reward_map": "ab"}, {"reward_map": 2.0}, {"concentration": "much"}):
        with pytest.raises(TypeError, match=f"{next(iter(wrong))} must be"):
            replace(small(), **wrong)
