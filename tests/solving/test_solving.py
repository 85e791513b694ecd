from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.model.mdp import TabularMDP
from equirl.solving import chains, gain_methods, gth_elimination, optimal_gain, shortest_times, value_iteration
from equirl.solving.multichain import NoConstantGain
from equirl.solving.optimal_gain import solve
from equirl.solving.policies import Policy
from equirl.solving.shortest_times import diameter
from equirl.worlds.world_registry import make
from oracles_solving import best_gain, cycle, dense_laws, dense_mdp, random_mdp, two_ends

seeds = st.integers(0, 10**6)
METHODS = ("auto", "value", "policy")
PLAIN_BODIES = (
    (
        value_iteration,
        ("mean_value", "bellman", "greedy", "_average_sweep", "damped_sweeps", "relax", "improve", "size_of"),
    ),
    (gain_methods, ("improve", "greedy")),
    (chains, ("_distances", "_approach")),
    (shortest_times, ("_hasten", "mean_value")),
    (gth_elimination, ("_eliminate", "_weigh", "_accumulate")),
)


def residual(mdp: TabularMDP, answer: optimal_gain.Solution) -> np.ndarray:
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


@pytest.mark.parametrize("method", ["auto", "policy"])
def test_policy_iteration_is_exact_up_to_rounding(method: str) -> None:
    answer = solve(make("riverswim", n_states=25), method=method)
    assert answer.gain == pytest.approx(0.875, abs=1e-13)
    assert (answer.method, answer.accuracy < 1e-12) == ("policy", True)


# Against slow answers


@given(seeds, st.sampled_from(METHODS))
def test_gains_agree_with_brute_force_over_policies(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, int(rng.integers(1, 6)))
    truth = best_gain(mdp)[mdp.reachable()]
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
    assert Policy(mdp, answer.policy).gain == pytest.approx(answer.gain, abs=1e-8)
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


@pytest.mark.parametrize("method", METHODS)
def test_too_few_sweeps_are_an_outcome(method: str) -> None:
    answer = solve(make("four-room", height=9, width=9), method=method, max_sweeps=5)
    assert not answer.converged
    assert answer.n_sweeps == 5
    assert abs(answer.gain - solve(make("four-room", height=9, width=9)).gain) <= answer.accuracy


@pytest.mark.parametrize("method", METHODS)
def test_an_accuracy_below_rounding_ends_with_what_rounding_allows(method: str) -> None:
    answer = solve(make("riverswim", n_states=25), accuracy=1e-17, method=method)
    assert not answer.converged
    assert answer.accuracy < 1e-12


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"method": "polcy"}, "did you mean 'policy'"),
        ({"accuracy": 0.0}, "accuracy must lie strictly between 0 and inf"),
        ({"accuracy": np.nan}, "accuracy must lie strictly between 0 and inf"),
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


# Compiled and plain


def test_the_kernels_agree_with_their_plain_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make("riverswim", n_states=5)
    compiled = [solve(mdp, method=method, accuracy=1e-4).gain for method in METHODS], diameter(mdp)
    for module, names in PLAIN_BODIES:
        for name in names:
            plain = getattr(module, name)
            monkeypatch.setattr(module, name, getattr(plain, "py_func", plain))
    plain_answers = [solve(mdp, method=method, accuracy=1e-4).gain for method in METHODS], diameter(mdp)
    assert plain_answers == (pytest.approx(compiled[0], abs=1e-12), pytest.approx(compiled[1], abs=1e-9))
    np.testing.assert_allclose(
        gth_elimination.irreducible_distribution(np.array([[0.5, 0.5], [1.0, 0.0]])), [2 / 3, 1 / 3]
    )


def test_solutions_are_shown_in_a_line_in_the_units_of_the_problem():
    pairs = [("off", "press", {"on": 1.0}, -1.0), ("on", "wait", {"on": 0.5, "off": 0.5}, 3.0)]
    lamp = TabularMDP.from_pairs(pairs, rescale=True)
    assert repr(solve(lamp)).startswith("Solution(gain=1.66667, within ")
    best = solve(lamp, discount=0.5)
    assert repr(best) == f"DiscountedSolution(discount=0.5, largest value {best.value.max():.6g})"
