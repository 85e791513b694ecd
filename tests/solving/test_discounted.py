from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.model.mdp import TabularMDP
from equirl.solving import discounted, renewal, value_iteration
from equirl.solving.chains import whole
from equirl.solving.discounted import DISCOUNTED_METHODS, DiscountedSolution
from equirl.solving.optimal_gain import solve
from equirl.solving.policies import Policy
from equirl.solving.value_iteration import Aim, SolverLimits
from equirl.worlds.world_registry import load_world, make
from oracles_solving import best_discounted, cycle, dense_laws, dense_mdp, random_mdp, two_ends

seeds = st.integers(0, 10**6)


@given(seeds, st.sampled_from(DISCOUNTED_METHODS), st.sampled_from([0.0, 0.3, 0.95, 0.999]))
def test_values_agree_with_brute_force_over_policies(seed: int, method: str, discount: float) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, int(rng.integers(1, 6)))
    answer = solve(mdp, method=method, discount=discount)
    assert np.abs(answer.value - best_discounted(mdp, discount)).max() <= answer.accuracy <= 1e-8
    np.testing.assert_allclose(Policy(mdp, answer.policy).values(discount=discount), answer.value, rtol=0, atol=2e-8)
    assert answer.value_from_start == pytest.approx(mdp.initial @ answer.value)


@pytest.mark.parametrize("method", DISCOUNTED_METHODS)
def test_values_agree_with_independent_solvers_on_100_random_mdps(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        toolbox = pytest.importorskip("mdptoolbox.mdp")
        quantecon = pytest.importorskip("quantecon.markov")
    rng = np.random.default_rng(0)
    for _ in range(100):
        mdp = dense_mdp(rng, int(rng.integers(2, 20)), int(rng.integers(1, 5)))
        laws, rewards = mdp.to_arrays()
        discount = float(rng.uniform(0.1, 0.99))
        value = solve(mdp, accuracy=1e-9, method=method, discount=discount).value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = quantecon.DiscreteDP(rewards, laws, discount).solve(method="policy_iteration").v
            two = toolbox.PolicyIteration(laws.transpose(1, 0, 2), rewards, discount)
            two.run()
        np.testing.assert_allclose(value, one, rtol=0, atol=1e-8)
        np.testing.assert_allclose(value, two.V, rtol=0, atol=1e-8)


@pytest.mark.parametrize("accuracy", [1e-1, 1e-4, 1e-8])
@pytest.mark.parametrize("method", DISCOUNTED_METHODS)
def test_the_certified_accuracy_holds(accuracy: float, method: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        mdp = dense_mdp(rng, 4, 2)
        answer = solve(mdp, accuracy=accuracy, method=method, discount=0.97)
        assert np.abs(answer.value - best_discounted(mdp, 0.97)).max() <= answer.accuracy <= accuracy


def test_values_shrunk_by_one_minus_the_discount_tend_to_the_gain() -> None:
    mdp = make("riverswim", n_states=8)
    average = solve(mdp)
    far = [
        np.abs((1 - d) * solve(mdp, discount=d).unit_value - average.unit_gain).max()
        for d in (0.99, 0.999, 0.9999, 0.99999)
    ]
    assert all(b < a / 5 for a, b in itertools.pairwise(far))
    assert solve(mdp, discount=0.99999).policy.tolist() == average.policy.tolist()


@pytest.mark.parametrize(
    "world",
    [
        "ergodic-riverswim:n_states=8", "two-room", "cycle", "random", "planted", "access-control",
        "frozen-lake:size=4x4", "car-rental:max_cars=5",
    ],
)  # fmt: skip
def test_with_a_discount_close_to_one_a_world_is_solved_as_for_average_reward(world: str) -> None:
    mdp = load_world(world)
    average = solve(mdp, accuracy=1e-11)
    far = [np.abs((1 - d) * solve(mdp, discount=d).unit_value - average.unit_gain).max() for d in (0.99, 0.999, 0.9999)]
    assert all(b < a / 5 for a, b in itertools.pairwise(far))
    assert far[-1] < 2e-4 * (1 + average.unit_span)
    patient = solve(mdp, discount=0.99999).policy
    assert Policy(mdp, patient).unit_gain == pytest.approx(average.unit_gain, abs=1e-9)


@pytest.mark.parametrize("world", ["ergodic-riverswim:n_states=8", "random", "planted", "car-rental:max_cars=5"])
def test_the_only_optimal_policy_is_that_of_a_discount_close_to_one(world: str) -> None:
    mdp = load_world(world)
    assert solve(mdp, discount=0.99999).policy.tolist() == solve(mdp, accuracy=1e-11).policy.tolist()


def test_values_in_the_original_units_are_those_of_the_original_rewards() -> None:
    mdp = make("cliff-walking")
    answer = solve(mdp, accuracy=1e-10, discount=0.9)
    scale, shift = mdp.reward_map
    own = scale * mdp.r_mean[answer.policy_pair] + shift
    theirs = np.linalg.solve(np.eye(mdp.n_states) - 0.9 * dense_laws(mdp)[answer.policy_pair], own)
    np.testing.assert_allclose(answer.value, theirs, rtol=0, atol=1e-7)


def test_a_slow_grid_is_solved_by_a_few_exact_evaluations() -> None:
    answer = solve(make("four-room", height=60, width=60), discount=0.9999)
    assert (answer.method, answer.converged) == ("policy", True)
    assert answer.n_sweeps < 3000


def test_where_factors_fill_too_much_sweeps_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make("four-room", height=20, width=20)
    monkeypatch.setattr(renewal, "SMALL", 10)
    monkeypatch.setattr(renewal, "MOST_WORK", 10.0)
    answer = solve(mdp, discount=0.999)
    assert (answer.method, answer.converged) == ("modified", True)


def test_every_state_has_a_value_whatever_the_chain() -> None:
    answer = solve(two_ends(1.0, 0.2), discount=0.5)
    np.testing.assert_allclose(answer.value, [1.0, 2.0, 0.4], rtol=0, atol=1e-8)
    assert answer.policy[0] == 0


@pytest.mark.parametrize("method", DISCOUNTED_METHODS)
def test_too_few_sweeps_are_an_outcome(method: str) -> None:
    mdp = make("four-room", height=9, width=9)
    answer = solve(mdp, method=method, max_sweeps=2, discount=0.99)
    assert isinstance(answer, DiscountedSolution)
    assert not answer.converged
    assert np.abs(answer.value - solve(mdp, discount=0.99).value).max() <= answer.accuracy + 1e-8


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"discount": 1.0}, "discount must be at least 0 and less than 1, not 1.0"),
        ({"discount": -0.1}, "discount must be at least 0"),
        ({"discount": 0.9, "method": "modifid"}, "did you mean 'modified'"),
        ({"discount": 0.9, "accuracy": 0.0}, "accuracy must lie strictly between 0 and inf"),
        ({"discount": 0.9, "multichain": True}, "multichain=True is for average reward"),
    ],
)
def test_wrong_keywords_are_named(keywords: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        solve(cycle(3), **keywords)


def test_a_randomised_policy_has_discounted_values() -> None:
    mdp = TabularMDP.from_arrays([[[1.0], [1.0]]], [[0.0, 1.0]])
    assert Policy(mdp, [0.5, 0.5]).values(discount=0.9).tolist() == pytest.approx([5.0])


def test_the_kernels_agree_with_their_plain_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make("riverswim", n_states=5)
    compiled = [solve(mdp, accuracy=1e-3, method=method, discount=0.8).value for method in DISCOUNTED_METHODS]
    for name in ("_discounted_sweeps", "_evaluate"):
        monkeypatch.setattr(discounted, name, getattr(discounted, name).py_func)
    for name in ("mean_value", "bellman", "greedy"):
        monkeypatch.setattr(discounted, name, getattr(value_iteration, name).py_func)
    plain = [solve(mdp, accuracy=1e-3, method=method, discount=0.8).value for method in DISCOUNTED_METHODS]
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["auto", "modified", "value", "policy"])
@pytest.mark.parametrize("max_sweeps", [1, 2, 3, 25])
def test_no_method_makes_more_sweeps_than_it_may_and_what_it_found_is_certified(method: str, max_sweeps: int) -> None:
    mdp = make("random", n_states=8, n_actions=2, branching=3, seed=1)
    exact = solve(mdp, discount=0.95, accuracy=1e-10).value
    found = solve(mdp, discount=0.95, accuracy=1e-13, method=method, max_sweeps=max_sweeps)
    assert found.n_sweeps <= max_sweeps
    assert np.abs(found.value - exact).max() <= found.accuracy + 1e-9
    assert found.converged == (found.accuracy <= 1e-13)


@pytest.mark.parametrize("evaluations", [0, 3])
def test_sweeps_in_several_calls_are_those_of_one(evaluations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    part = whole(make("random", n_states=8, n_actions=2, branching=3, seed=1))
    limits = SolverLimits(1e-12, 40)
    one = discounted._sweeps(part, 0.95, np.zeros(8), limits, evaluations, 5)
    monkeypatch.setattr(discounted, "LEAST_PER_CALL", 7)
    monkeypatch.setattr(discounted, "SUCCESSORS_PER_CALL", 0)
    several = discounted._sweeps(part, 0.95, np.zeros(8), limits, evaluations, 5)
    for found in (one, several):
        assert found.n_sweeps <= 40
        assert found.method == ("modified" if evaluations else "value")
    np.testing.assert_allclose(one.value, several.value, atol=one.bound + several.bound)


WORLD = make("random", n_states=6, n_actions=3, branching=4, seed=2)
P, R = WORLD.to_arrays()


def swept(v: np.ndarray, discount: float) -> np.ndarray:
    return (R + discount * P @ v).max(axis=1)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("size", [0.0, 0.1, 7.0])
def test_bounds_give_their_middle_and_all_that_rounding_may_hide(discount: float, size: float) -> None:
    part = whole(WORLD)._replace(defect=0.01)
    v = size * np.random.default_rng(3).normal(size=6)
    after = swept(v, discount)
    lower, upper = (after + discount / (1 - discount) * end for end in ((after - v).min(), (after - v).max()))
    value, bound = discounted._macqueen(part, discount, after, (after - v).min(), (after - v).max())
    np.testing.assert_allclose(value, (lower + upper) / 2, atol=1e-12)
    hidden = 0.01 / (1 - discount) * (1 + np.abs(value).max())
    assert bound == pytest.approx((upper - lower)[0] / 2 + hidden, rel=1e-9)


@pytest.mark.parametrize("plain", [False, True])
def test_a_sweep_that_evaluates_follows_the_policy_and_puts_the_first_state_at_zero(plain: bool) -> None:
    rng, out = np.random.default_rng(4), np.empty(6)
    v, actions = rng.normal(size=6), rng.integers(0, 3, 6)
    after = np.array([R[s, a] + 0.8 * P[s, a] @ v for s, a in enumerate(actions)])
    run = discounted._evaluate.py_func if plain else discounted._evaluate
    run(whole(WORLD).model, 0.8, 3 * np.arange(6) + actions, v, out)
    np.testing.assert_allclose(v, after - after[0], atol=1e-13)


def paced(v: np.ndarray, aim: Aim, evaluations: int) -> tuple[int, float, float, np.ndarray]:
    """Sweeps that look every time whether half the bounds and rounding meet the accuracy, or rounding is all left."""
    n, gamma = 0, aim.discount
    while True:
        after = swept(v, gamma)
        n, low, high = n + 1, (after - v).min(), (after - v).max()
        half = gamma / (1 - gamma) * (high - low) / 2
        noise = aim.rounding / (1 - gamma) * (1 + np.abs(after + gamma / (1 - gamma) * (low + high) / 2).max())
        if half + noise <= aim.accuracy or half <= noise or n >= aim.max_sweeps:
            return n, low, high, after
        v = after - after[0]
        actions = (R + gamma * P @ v).argmax(axis=1)
        for _ in range(min(evaluations, aim.max_sweeps - n - 1)):
            new = R[np.arange(6), actions] + gamma * P[np.arange(6), actions] @ v
            n, v = n + 1, new - new[0]


@pytest.mark.parametrize(
    ("aim", "evaluations"),
    [
        (Aim(0.9, 1.0, 1e-6, 0.0, 1000), 0), (Aim(0.9, 1.0, 1e-6, 0.0, 1000), 3),
        (Aim(0.9, 1.0, 0.0, 0.0, 7), 0), (Aim(0.9, 1.0, 0.0, 0.0, 7), 3),
        (Aim(0.9, 1.0, 0.0, 0.0, 9), 3), (Aim(0.9, 1.0, 0.0, 0.0, 1), 0),
        (Aim(0.9, 1.0, 0.3, 2e-3, 1000), 0), (Aim(0.9, 1.0, 0.0, 1e-3, 1000), 0),
        (Aim(0.9, 1.0, 0.0, 1e-4, 1000), 2), (Aim(0.5, 1.0, 0.1, 0.01, 1000), 0),
        (Aim(0.0, 1.0, 0.1, 0.0, 1000), 0), (Aim(0.9, 1.0, 0.0, 1.0, 1000), 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [0.0, 5.0])
def test_sweeps_end_by_their_bounds_by_rounding_or_by_their_cap(aim: Aim, evaluations: int, size: float) -> None:
    start, model = size * np.random.default_rng(1).normal(size=6), whole(WORLD).model
    *expected, after = paced(start.copy(), aim, evaluations)
    for run in (discounted._discounted_sweeps, discounted._discounted_sweeps.py_func):
        out = np.empty(6)
        found = run(model, aim, evaluations, start.copy(), out, np.zeros(6, np.int64))
        assert found == pytest.approx(tuple(expected), abs=1e-9)
        np.testing.assert_allclose(out, after, atol=1e-9)


def test_policy_iteration_counts_its_steps_and_ends_where_a_policy_repeats() -> None:
    part, limits = whole(WORLD), SolverLimits(1e-9, 100)
    actions, n, seen = (R + 0.9 * P @ np.zeros(6)).argmax(axis=1), 0, set()
    while tuple(actions) not in seen:
        seen.add(tuple(actions))
        rows = np.arange(6), actions
        v = np.linalg.solve(np.eye(6) - 0.9 * P[rows], R[rows])
        n, actions = n + 1, (R + 0.9 * P @ v).argmax(axis=1)
    found = discounted._policy_iteration(part, 0.9, np.zeros(6), limits, 4)
    assert (found.n_sweeps, found.method) == (n + 4, "policy")
    np.testing.assert_allclose(found.value, v, atol=1e-9)
    assert discounted._policy_iteration(part, 0.9, np.zeros(6), SolverLimits(1e-9, 5), 4).n_sweeps == 5
