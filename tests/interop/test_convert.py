import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from equirl.interop.convert import from_quantecon, from_toolbox, to_quantecon, to_toolbox
from equirl.model.mdp import TabularMDP
from equirl.solving.optimal_gain import solve
from equirl.worlds.world_registry import make

UNEVEN = TabularMDP.from_pairs(
    [(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 0.5, 1: 0.5}, 1.0), (1, 7, {2: 1.0}, 0.2), (2, 3, {0: 1.0}, 0.0)], 3
)
RANDOM = make("random", n_states=8, n_actions=3, seed=5)


def test_toolbox_arrays_come_back_as_the_same_mdp():
    assert from_toolbox(*to_toolbox(RANDOM)) == RANDOM


def test_sparse_toolbox_matrices_come_back_as_the_same_mdp():
    transitions, rewards = to_toolbox(RANDOM, sparse=True)
    assert [matrix.shape for matrix in transitions] == [(8, 8)] * 3
    assert from_toolbox(transitions, rewards) == RANDOM


def test_sparse_and_dense_toolbox_forms_agree():
    dense, sparse = to_toolbox(RANDOM)[0], to_toolbox(RANDOM, sparse=True)[0]
    assert np.array_equal(dense, [matrix.toarray() for matrix in sparse])


@pytest.mark.parametrize("law_form", [list, lambda arrays: [sp.csr_matrix(array) for array in arrays]])
@pytest.mark.parametrize("reward_form", [np.array, lambda arrays: [sp.csr_matrix(array) for array in arrays]])
def test_toolbox_rewards_by_transition_are_averaged(law_form, reward_form):
    transitions, _ = to_toolbox(RANDOM)
    paid = np.random.default_rng(0).random(transitions.shape)
    mdp = from_toolbox(law_form(transitions), reward_form(paid))
    assert mdp.r_mean.reshape(8, 3) == pytest.approx((transitions * paid).sum(axis=2).T)


def test_toolbox_rewards_can_be_rescaled_and_the_map_is_kept():
    transitions, rewards = to_toolbox(RANDOM)
    mdp = from_toolbox(transitions, 10 * rewards - 4, rescale=True)
    scale, shift = mdp.reward_map
    assert scale * mdp.r_mean + shift == pytest.approx(10 * RANDOM.r_mean - 4)


def test_toolbox_rewards_outside_the_unit_interval_are_an_error_that_names_the_pair():
    transitions, rewards = to_toolbox(RANDOM)
    with pytest.raises(ValueError, match=r"mean reward of \(s=.*outside \[0, 1\]"):
        from_toolbox(transitions, rewards + 1)


@pytest.mark.parametrize(
    ("transitions", "rewards", "message"),
    [
        (np.eye(2), np.zeros(2), r"\(A, S, S\) is needed"),
        (np.array([np.eye(2)] * 3), np.zeros((2, 2, 2)), "rewards of 2 actions and transitions of 3"),
        (np.array([np.eye(2)]), [sp.eye(3)], r"reward matrix has shape \(3, 3\)"),
    ],
)
def test_toolbox_arrays_that_do_not_fit_are_named(transitions, rewards, message):
    with pytest.raises(ValueError, match=message):
        from_toolbox(transitions, rewards)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_toolbox_form_refuses_states_that_differ_in_their_actions(sparse):
    with pytest.raises(ValueError, match="states differ in their actions"):
        to_toolbox(UNEVEN, sparse=sparse)


def test_quantecon_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "quantecon", None)
    monkeypatch.setitem(sys.modules, "quantecon.markov", None)
    with pytest.raises(ImportError, match="pip install quantecon"):
        to_quantecon(RANDOM)


@pytest.mark.parametrize("mdp", [UNEVEN, RANDOM], ids=["uneven", "random"])
@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_quantecon_gives_the_same_mdp_back(mdp, discount):
    pytest.importorskip("quantecon")
    ddp = to_quantecon(mdp, discount)
    assert ddp.beta == discount
    back = from_quantecon(ddp)
    assert back == mdp
    assert back.discount == (None if discount == 1 else discount)


def test_quantecon_gets_the_discount_that_the_problem_came_with():
    pytest.importorskip("quantecon")
    mdp = replace(RANDOM, discount=0.8)
    assert (to_quantecon(mdp).beta, to_quantecon(mdp, 0.5).beta, to_quantecon(RANDOM).beta) == (0.8, 0.5, 1.0)


def test_a_quantecon_problem_is_solved_with_its_own_discount():
    markov = pytest.importorskip("quantecon.markov")
    rng = np.random.default_rng(0)
    ddp = markov.DiscreteDP(10 * rng.random((6, 3)) - 4, rng.dirichlet(np.ones(6), (6, 3)), 0.93)
    mdp = from_quantecon(ddp, rescale=True)
    value = solve(mdp, accuracy=1e-10, discount=mdp.discount).value
    theirs = ddp.solve(method="policy_iteration").v
    np.testing.assert_allclose(value, theirs, rtol=0, atol=1e-8)


def test_quantecon_solves_what_it_is_given():
    pytest.importorskip("quantecon")
    mdp = TabularMDP.from_arrays([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], [[0.5, 0.0], [1.0, 1.0]])
    solution = to_quantecon(mdp, 0.5).solve(method="policy_iteration")
    assert solution.v == pytest.approx([1.0, 2.0])


def test_the_dense_forms_of_quantecon_are_read_and_forbidden_actions_left_out():
    markov = pytest.importorskip("quantecon.markov")
    rewards = np.array([[-5.0, 5.0], [0.0, -np.inf]])
    laws = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])
    dense = from_quantecon(markov.DiscreteDP(rewards, laws, 0.9), rescale=True)
    states, actions = np.array([0, 0, 1]), np.array([0, 1, 0])
    by_pair = markov.DiscreteDP(rewards[states, actions], laws[states, actions], 0.9, states, actions)
    assert dense.reward_map == (10.0, -5.0)
    assert dense.n_pairs == 3
    assert dense.transition_probabilities(1, 0) == {1: 1.0}
    assert from_quantecon(by_pair, rescale=True) == dense
