from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirl import elimination, hitting, solving, sweeping
from equirl.envs import make
from equirl.mdp import TabularMDP
from equirl.policies import IllConditioned, evaluate_policy, policy_chain, policy_weights
from equirl.solving import NoConstantGain, diameter, policy_gain, solve, stationary_law
from oracles_solving import (
    best_gain,
    dense_laws,
    dense_mdp,
    hitting_times,
    limit_matrix,
    policies,
    random_mdp,
    stationary_by_eigenvector,
)  # fmt: skip

seeds = st.integers(0, 10**6)
METHODS = ("auto", "value", "policy")


def two_ends(gain_1: float = 1.0, gain_2: float = 0.0, **extras) -> TabularMDP:
    """A start that leads to one of two absorbing states."""
    first = [(0, 0, {1: 1.0}, 0.0), (0, 1, {2: 1.0}, 0.0)]
    return TabularMDP.from_pairs([*first, (1, 0, {1: 1.0}, gain_1), (2, 0, {2: 1.0}, gain_2)], 3, **extras)


def cycle(n: int) -> TabularMDP:
    """A deterministic cycle that pays once a round: periodic, gain 1 / n."""
    return TabularMDP.from_pairs([(s, 0, {(s + 1) % n: 1.0}, float(s == 0)) for s in range(n)], n)


def residual(mdp: TabularMDP, answer: solving.Solution) -> np.ndarray:
    """T h - h - g in the solved states."""
    value = np.maximum.reduceat(mdp.r_mean + dense_laws(mdp) @ answer.bias, mdp.pairs.ptr[:-1])
    return (value - answer.bias - answer.gain)[~np.isnan(answer.bias)]


# The gains of the paper's worlds


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("world", ["riverswim", "ergodic-riverswim"])
def test_the_gain_of_both_rivers_of_25_states_is_0_875(world: str, method: str) -> None:
    assert solve(make(world, n_states=25), method=method).gain == pytest.approx(0.875, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("walls_are_states", [False, True])
def test_the_gain_of_the_7x7_four_room_is_0_0756256(walls_are_states: bool, method: str) -> None:
    mdp = make("four-room", height=7, width=7, walls_are_states=walls_are_states)
    assert solve(mdp, method=method).gain == pytest.approx(0.0756256, abs=1e-6)


# Against slow answers


@given(seeds, st.sampled_from(METHODS))
def test_gains_agree_with_brute_force_over_policies(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, int(rng.integers(1, 6)))
    truth = best_gain(mdp)[solving.reachable(mdp)]
    if np.ptp(truth) > 1e-9:
        with pytest.raises(NoConstantGain):
            solve(mdp, method=method)
    else:
        answer = solve(mdp, method=method)
        assert answer.gain == pytest.approx(truth[0], abs=2e-8)
        assert answer.converged


@pytest.mark.parametrize("method", METHODS)
def test_gains_agree_with_an_independent_solver_on_50_random_mdps(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        toolbox = pytest.importorskip("mdptoolbox.mdp")
    rng = np.random.default_rng(0)
    for _ in range(50):
        mdp = dense_mdp(rng, int(rng.integers(2, 30)), int(rng.integers(1, 5)))
        laws, rewards = mdp.to_arrays()
        other = toolbox.RelativeValueIteration(laws.transpose(1, 0, 2), rewards, epsilon=1e-10, max_iter=100_000)
        other.run()
        assert solve(mdp, method=method).gain == pytest.approx(other.average_reward, abs=1e-7)


@given(seeds, st.sampled_from(METHODS))
def test_the_bias_solves_the_optimality_equation_to_the_accuracy(seed: int, method: str) -> None:
    mdp = dense_mdp(np.random.default_rng(seed), 7, 3)
    answer = solve(mdp, accuracy=1e-6, method=method)
    assert np.abs(residual(mdp, answer)).max() <= answer.accuracy <= 1e-6
    assert answer.bias.min() == 0
    assert answer.span == answer.bias.max()


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-8])
def test_the_certified_accuracy_holds(accuracy: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        mdp = dense_mdp(rng, 4, 2)
        answer = solve(mdp, accuracy=accuracy, method="value")
        assert abs(answer.gain - best_gain(mdp)[0]) <= answer.accuracy <= accuracy


@given(seeds)
def test_the_policy_earns_the_gain(seed: int) -> None:
    mdp = dense_mdp(np.random.default_rng(seed), 8, 3)
    answer = solve(mdp)
    assert policy_gain(mdp, answer.policy) == pytest.approx(answer.gain, abs=1e-8)
    assert (mdp.pairs.state[answer.policy_pair] == np.arange(8)).all()


# Shapes of problems


@pytest.mark.parametrize("method", METHODS)
def test_a_periodic_mdp_converges(method: str) -> None:
    answer = solve(cycle(7), method=method)
    assert answer.gain == pytest.approx(1 / 7, abs=1e-8)
    assert answer.converged


def test_one_state_pays_its_best_reward() -> None:
    answer = solve(TabularMDP.from_arrays([[[1.0], [1.0]]], [[0.3, 0.8]]))
    assert (answer.policy.tolist(), answer.span) == ([1], 0.0)
    assert answer.gain == pytest.approx(0.8, abs=1e-12)


def test_policies_use_the_action_ids_of_each_state() -> None:
    mdp = TabularMDP.from_pairs([(0, 3, {1: 1.0}, 0.0), (1, 5, {1: 1.0}, 0.2), (1, 9, {0: 1.0}, 1.0)], 2)
    assert solve(mdp).policy.tolist() == [3, 9]


@given(seeds)
def test_renumbering_renumbers_the_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp, order = dense_mdp(rng, 6, 3), rng.permutation(6)
    one, two = solve(mdp), solve(mdp.permute(states=order.tolist()))
    assert two.gain == pytest.approx(one.gain, abs=1e-10)
    np.testing.assert_allclose(two.bias[order], one.bias, atol=1e-8)
    assert two.policy[order].tolist() == one.policy.tolist()


def test_a_start_that_is_left_for_ever_is_solved_too() -> None:
    mdp = TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 0, {2: 1.0}, 1.0), (2, 0, {1: 1.0}, 0.0)], 3)
    answer = solve(mdp)
    assert (answer.kind, answer.gain) == ("weakly communicating", pytest.approx(0.5))
    np.testing.assert_allclose(answer.bias, [0.0, 0.5, 0.0], atol=1e-9)


# Where the gain may depend on the start


@pytest.mark.parametrize("method", METHODS)
def test_two_absorbing_states_of_different_gain_are_named(method: str) -> None:
    with pytest.raises(NoConstantGain, match=r"1 from state 1, 0 from state 2"):
        solve(two_ends(), method=method)


def test_the_error_uses_the_names_of_states() -> None:
    with pytest.raises(NoConstantGain, match=r"1 from state 'won', 0 from state 'lost'"):
        solve(two_ends(state_names=["start", "won", "lost"]))


def test_a_rich_place_that_can_be_left_for_ever_is_named() -> None:
    stay = [(0, 0, {0: 1.0}, 0.9), (0, 1, {1: 1.0}, 0.0), (1, 0, {1: 1.0}, 0.1)]
    with pytest.raises(NoConstantGain, match=r"0.1 from state 1, at least 0.9 from state 0"):
        solve(TabularMDP.from_pairs(stay, 2))


@pytest.mark.parametrize("method", METHODS)
def test_several_closed_classes_of_equal_gain_are_solved(method: str) -> None:
    answer = solve(two_ends(0.6, 0.6), method=method)
    assert (answer.kind, answer.gain) == ("multichain", pytest.approx(0.6))


@pytest.mark.parametrize("method", METHODS)
def test_a_poor_place_that_can_be_left_for_ever_does_no_harm(method: str) -> None:
    stay = [(0, 0, {0: 1.0}, 0.1), (0, 1, {1: 1.0}, 0.0), (1, 0, {1: 1.0}, 0.9)]
    answer = solve(TabularMDP.from_pairs(stay, 2), method=method)
    assert (answer.gain, answer.policy.tolist()) == (pytest.approx(0.9), [1, 0])


def test_the_gain_is_that_of_the_part_reachable_from_the_initial_law() -> None:
    answer = solve(two_ends(0.7, 0.2, initial=2))
    assert (answer.gain, answer.kind) == (pytest.approx(0.2), "ergodic")
    assert np.isnan(answer.bias).tolist() == [True, True, False]


# Outcomes and wrong input


def test_too_few_sweeps_are_an_outcome() -> None:
    answer = solve(make("riverswim", n_states=25), method="value", max_sweeps=5)
    assert not answer.converged
    assert answer.n_sweeps == 5
    assert abs(answer.gain - 0.875) <= answer.accuracy


@pytest.mark.parametrize("method", METHODS)
def test_an_accuracy_below_rounding_ends_with_what_rounding_allows(method: str) -> None:
    answer = solve(make("riverswim", n_states=25), accuracy=1e-17, method=method)
    assert not answer.converged
    assert answer.accuracy < 1e-12


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"method": "polcy"}, "did you mean 'policy'"),
        ({"accuracy": 0.0}, "accuracy must be positive"),
        ({"accuracy": np.nan}, "accuracy must be positive"),
        ({"max_sweeps": 0}, "max_sweeps must be at least 1"),
    ],
)
def test_wrong_keywords_are_named(keywords: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        solve(cycle(3), **keywords)


# Large problems


def test_a_large_grid_is_solved_without_tens_of_thousands_of_sweeps() -> None:
    answer = solve(make("four-room", height=60, width=60), accuracy=1e-7)
    assert answer.converged
    assert answer.n_sweeps < 2000


def test_policy_iteration_gets_past_a_policy_that_double_precision_cannot_evaluate() -> None:
    answer = solve(make("ergodic-riverswim", n_states=400))
    assert answer.gain == pytest.approx(0.875, abs=1e-8)
    assert answer.converged


# Given policies


@given(seeds)
def test_gain_and_law_of_any_policy_agree_with_the_limit_of_its_powers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 6, branching=2)
    pair = next(iter(policies(mdp)))
    limit, policy = limit_matrix(dense_laws(mdp)[pair]), mdp.pairs.action[pair]
    np.testing.assert_allclose(stationary_law(mdp, policy), mdp.initial @ limit, atol=1e-9)
    np.testing.assert_allclose(evaluate_policy(mdp, policy).gain, limit @ mdp.r_mean[pair], atol=1e-9)


@given(seeds)
def test_the_bias_of_a_policy_solves_its_equation_and_averages_to_zero(seed: int) -> None:
    mdp = random_mdp(np.random.default_rng(seed), 6, max_actions=1, branching=2)
    laws, value = dense_laws(mdp), evaluate_policy(mdp, mdp.pairs.action)
    np.testing.assert_allclose(value.gain + value.bias, mdp.r_mean + laws @ value.bias, atol=1e-9)
    np.testing.assert_allclose(limit_matrix(laws) @ value.bias, 0, atol=1e-7)


@given(seeds)
def test_a_randomised_policy_is_evaluated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = dense_mdp(rng, 5, 3)
    weights = rng.dirichlet(np.ones(3), size=5)
    laws, rewards = mdp.to_arrays()
    law = stationary_by_eigenvector(np.einsum("sa,sax->sx", weights, laws))
    np.testing.assert_allclose(stationary_law(mdp, weights.ravel()), law, atol=1e-10)
    assert policy_gain(mdp, weights.ravel()) == pytest.approx(law @ (weights * rewards).sum(axis=1))


def test_a_periodic_policy_is_averaged() -> None:
    np.testing.assert_allclose(stationary_law(cycle(4), [0] * 4), 0.25)


def test_the_law_of_a_policy_with_two_ends_weighs_them_by_their_probability() -> None:
    ends = [(0, 0, {1: 0.25, 2: 0.75}, 0.0), (1, 0, {1: 1.0}, 1.0), (2, 0, {2: 1.0}, 0.0)]
    mdp = TabularMDP.from_pairs(ends, 3)
    np.testing.assert_allclose(stationary_law(mdp, [0, 0, 0]), [0, 0.25, 0.75])
    assert policy_gain(mdp, [0, 0, 0]) == pytest.approx(0.25)


def test_a_river_that_parts_in_the_middle_has_an_exact_gain_though_no_exact_bias() -> None:
    n = 60
    mdp = make("ergodic-riverswim", n_states=n)
    policy = [1] * (n // 2) + [0] * (n // 2)
    # a birth and death chain: detailed balance, in logarithms
    up = np.array([0.1] * (n // 2) + [0.4] * (n // 2 - 1))
    down = np.array([0.9] * (n // 2 - 1) + [0.05] * (n // 2))
    log_law = np.append(0.0, np.cumsum(np.log(up / down)))
    law = np.exp(log_law - log_law.max())
    np.testing.assert_allclose(stationary_law(mdp, policy), law / law.sum(), rtol=1e-9)
    with pytest.raises(IllConditioned, match="double precision"):
        evaluate_policy(mdp, policy)


@given(seeds)
def test_elimination_agrees_with_renewal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 7, max_actions=1, branching=2)
    policy = mdp.pairs.action
    chain, _ = policy_chain(mdp, policy)
    law = elimination.long_run_law(chain, evaluate_policy(mdp, policy).label, mdp.initial)
    np.testing.assert_allclose(law, stationary_law(mdp, policy), atol=1e-12)


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


# The diameter


@given(seeds)
def test_the_diameter_agrees_with_value_iteration_on_hitting_times(seed: int) -> None:
    mdp = dense_mdp(np.random.default_rng(seed), 5, 2)
    slow = max(hitting_times(mdp, y, sweeps=2000).max() for y in range(5))
    assert diameter(mdp) == pytest.approx(slow, rel=1e-9)


def test_the_diameter_of_a_river_is_the_time_to_swim_up() -> None:
    mdp = make("riverswim", n_states=8)
    assert diameter(mdp) == pytest.approx(hitting_times(mdp, 7).max(), rel=1e-9)
    assert diameter(mdp.shuffled(5)) == pytest.approx(diameter(mdp), rel=1e-9)


def test_the_diameter_of_a_cycle_is_its_length_less_one() -> None:
    assert diameter(cycle(9)) == pytest.approx(8)


def test_the_diameter_is_infinite_where_some_state_cannot_be_reached_again() -> None:
    assert diameter(two_ends()) == np.inf


def test_the_diameter_is_that_of_the_reachable_part() -> None:
    with_walls = make("four-room", height=7, width=7, walls_are_states=True)
    without = make("four-room", height=7, width=7)
    assert diameter(with_walls) == pytest.approx(diameter(without))


def test_one_state_has_diameter_zero() -> None:
    assert diameter(TabularMDP.from_arrays([[[1.0]]], [[0.5]])) == 0


def test_a_diameter_that_takes_long_is_refused_with_the_way_to_wait_for_it() -> None:
    with pytest.raises(ValueError, match="pass max_states=9"):
        diameter(cycle(9), max_states=8)


def test_a_diameter_beyond_double_precision_is_refused() -> None:
    against = [(s, 0, {s + 1: 0.01, max(s - 1, 0): 0.99}, 0.0) for s in range(11)]
    mdp = TabularMDP.from_pairs([*against, (11, 0, {0: 1.0}, 0.0)], 12)
    with pytest.raises(IllConditioned, match="reaching state"):
        diameter(mdp)


# Compiled and plain


def test_the_kernels_agree_with_their_plain_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make("riverswim", n_states=5)
    compiled = [solve(mdp, method=method, accuracy=1e-4).gain for method in METHODS], diameter(mdp)
    for module, names in ((sweeping, ("_dot", "bellman", "relax", "improve")), (solving, ("relax", "improve"))):
        for name in names:
            plain = getattr(module, name)
            monkeypatch.setattr(module, name, getattr(plain, "py_func", plain))
    for name in ("_distances", "_approach", "_hasten"):
        monkeypatch.setattr(hitting, name, getattr(hitting, name).py_func)
    monkeypatch.setattr(elimination, "_eliminate", elimination._eliminate.py_func)
    plain_answers = [solve(mdp, method=method, accuracy=1e-4).gain for method in METHODS], diameter(mdp)
    assert plain_answers == (pytest.approx(compiled[0], abs=1e-12), pytest.approx(compiled[1], abs=1e-9))
    np.testing.assert_allclose(elimination.irreducible_law(np.array([[0.5, 0.5], [1.0, 0.0]])), [2 / 3, 1 / 3])
