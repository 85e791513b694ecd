from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.model.mdp import TabularMDP
from equirl.solving import gth_elimination
from equirl.solving.chains import closed_classes
from equirl.solving.multichain import NoConstantGain
from equirl.solving.optimal_gain import Criterion
from equirl.solving.policies import (
    Policy,
    chain_of_pairs,
    policy_chain,
    policy_pairs,
    policy_weights,
)
from equirl.solving.renewal import IllConditioned, discounted_values
from equirl.worlds.world_registry import make
from oracles_solving import (
    cycle,
    dense_laws,
    dense_mdp,
    limit_matrix,
    policies,
    random_mdp,
    stationary_by_eigenvector,
    two_ends,
)

seeds = st.integers(0, 10**6)


@given(seeds)
def test_gain_and_law_of_any_policy_agree_with_the_limit_of_its_powers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 6, branching=2)
    pair = next(iter(policies(mdp)))
    limit, policy = limit_matrix(dense_laws(mdp)[pair]), mdp.pairs.action[pair]
    np.testing.assert_allclose(Policy(mdp, policy).stationary_distribution(), mdp.initial @ limit, atol=1e-9)
    np.testing.assert_allclose(Policy(mdp, policy).evaluate().gain, limit @ mdp.r_mean[pair], atol=1e-9)


@given(seeds)
def test_the_bias_of_a_policy_solves_its_equation_and_averages_to_zero(seed: int) -> None:
    mdp = random_mdp(np.random.default_rng(seed), 6, max_actions=1, branching=2)
    laws, value = dense_laws(mdp), Policy(mdp, mdp.pairs.action).evaluate()
    np.testing.assert_allclose(value.gain + value.bias, mdp.r_mean + laws @ value.bias, atol=1e-9)
    np.testing.assert_allclose(limit_matrix(laws) @ value.bias, 0, atol=1e-7)


@given(seeds)
def test_a_randomised_policy_is_evaluated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = dense_mdp(rng, 5, 3)
    weights = rng.dirichlet(np.ones(3), size=5)
    laws, rewards = mdp.to_arrays()
    law = stationary_by_eigenvector(np.einsum("sa,sax->sx", weights, laws))
    np.testing.assert_allclose(Policy(mdp, weights.ravel()).stationary_distribution(), law, atol=1e-10)
    assert Policy(mdp, weights.ravel()).gain == pytest.approx(law @ (weights * rewards).sum(axis=1))


def test_a_periodic_policy_is_averaged() -> None:
    np.testing.assert_allclose(Policy(cycle(4), [0] * 4).stationary_distribution(), 0.25)


def test_the_law_of_a_policy_with_two_ends_weighs_them_by_their_probability() -> None:
    ends = [(0, 0, {1: 0.25, 2: 0.75}, 0.0), (1, 0, {1: 1.0}, 1.0), (2, 0, {2: 1.0}, 0.0)]
    mdp = TabularMDP.from_pairs(ends, 3)
    np.testing.assert_allclose(Policy(mdp, [0, 0, 0]).stationary_distribution(), [0, 0.25, 0.75])
    assert Policy(mdp, [0, 0, 0]).gain == pytest.approx(0.25)


def test_a_river_that_parts_in_the_middle_has_an_exact_gain_though_no_exact_bias() -> None:
    n = 60
    mdp = make("ergodic-riverswim", n_states=n)
    policy = [1] * (n // 2) + [0] * (n // 2)
    # a birth and death chain: detailed balance, in logarithms
    up = np.array([0.1] * (n // 2) + [0.4] * (n // 2 - 1))
    down = np.array([0.9] * (n // 2 - 1) + [0.05] * (n // 2))
    log_law = np.append(0.0, np.cumsum(np.log(up / down)))
    law = np.exp(log_law - log_law.max())
    np.testing.assert_allclose(Policy(mdp, policy).stationary_distribution(), law / law.sum(), rtol=1e-9)
    with pytest.raises(IllConditioned, match="double precision"):
        Policy(mdp, policy).evaluate()


@given(seeds)
def test_elimination_agrees_with_renewal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 7, max_actions=1, branching=2)
    policy = mdp.pairs.action
    chain, _ = policy_chain(mdp, policy)
    law = gth_elimination.long_run_distribution(chain, closed_classes(chain), mdp.initial)  # has no bias at times
    np.testing.assert_allclose(law, Policy(mdp, policy).stationary_distribution(), atol=1e-12)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ([0, 7, 0], "plays action 7 in state 1, which allows: 0"),
        ([0.0, 1.5, 1.0, 1.0], "sum to 1.5, not 1"),
        ([-0.5, 1.5, 1.0, 1.0], r"\(s=0, a=0\) with probability -0.5"),
        ([0.0, 1.0, 1.0, np.nan], r"\(s=2, a=0\) with probability nan"),
        ([0, 0], r"not shape \(2,\)"),
        ([0.0, 0.0, 0.0], "a policy is 3 integers"),
    ],
)
def test_a_wrong_policy_is_named(policy: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        policy_weights(two_ends().pairs, policy)


def test_a_policy_that_may_play_two_actions_is_no_policy_of_one_action_each() -> None:
    pairs = two_ends().pairs
    with pytest.raises(ValueError, match="a policy of one action per state is needed; this one plays 4 pairs"):
        policy_pairs(pairs, [0.5, 0.5, 1.0, 1.0])
    assert policy_pairs(pairs, [1, 0, 0]).tolist() == policy_pairs(pairs, [0.0, 1.0, 1.0, 1.0]).tolist() == [1, 2, 3]


def test_probabilities_may_sum_to_one_but_for_rounding() -> None:
    pairs = two_ends().pairs
    assert policy_weights(pairs, [0.5, 0.5 + 5e-9, 1.0, 1.0])[1] == 0.5 + 5e-9
    with pytest.raises(ValueError, match="state 0 sum to"):
        policy_weights(pairs, [0.5, 0.5 + 5e-8, 1.0, 1.0])


def test_without_a_single_gain_only_a_discount_leaves_the_optimum_open() -> None:
    with pytest.raises(NoConstantGain):
        Criterion().optimum(two_ends())
    assert np.isnan(Criterion(0.9).optimum(two_ends()))
    assert (Criterion().accuracy(4), Criterion(0.8).accuracy(4)) == pytest.approx((0.5, 0.1))
    np.testing.assert_allclose(Criterion().regret(np.array([2, 4]), 0.5, np.array([0.25, 1.0])), [0.75, 1.0])


@pytest.mark.parametrize("seed", range(5))
def test_the_chain_of_a_pair_per_state_is_that_of_its_policy(seed):
    rng = np.random.default_rng(seed)
    mdp = make("random", n_states=12, n_actions=3, seed=seed)
    pair = mdp.pairs.ptr[:-1] + rng.integers(3, size=12)
    (chain, reward), (expected, paid) = chain_of_pairs(mdp, pair), policy_chain(mdp, mdp.pairs.action[pair])
    np.testing.assert_array_equal(chain.toarray(), expected.toarray())
    np.testing.assert_array_equal(reward, paid)
    for discount in (0.5, 0.99):
        np.testing.assert_array_equal(
            discounted_values(chain, reward, discount), discounted_values(expected, paid, discount)
        )
