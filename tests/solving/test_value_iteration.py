"""Single sweeps, damped sweeps and improvement steps, each against its definition in plain numbers."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.solving.chains import whole
from equirl.solving.value_iteration import (
    Aim,
    BlockAnswer,
    SolverLimits,
    Ties,
    bellman,
    better,
    greedy,
    improve,
    mean_value,
    relax,
    rounding_error,
    size_of,
    value_iteration,
)

WORLD = eq.make("random", n_states=6, n_actions=3, branching=4, seed=2)
P, R = WORLD.to_arrays()
MODEL = whole(WORLD).model


def operator(u, discount=1.0):
    q = R + discount * P @ u
    return q.max(axis=1), q.argmax(axis=1)


@pytest.mark.parametrize("discount", [1.0, 0.7])
@pytest.mark.parametrize("plain", [False, True])
def test_a_sweep_is_the_bellman_operator_and_tells_the_least_and_largest_change(discount, plain):
    sweep, best_of = (bellman.py_func, greedy.py_func) if plain else (bellman, greedy)
    for seed in range(5):
        u, out, best = 3 * np.random.default_rng(seed).normal(size=6), np.empty(6), np.zeros(6, np.int64)
        low, high = sweep(MODEL, discount, u, out)
        expected, actions = operator(u, discount)
        np.testing.assert_allclose(out, expected)
        assert (low, high) == pytest.approx(((expected - u).min(), (expected - u).max()))
        best_of(MODEL, discount, u, best)
        np.testing.assert_array_equal(best, 3 * np.arange(6) + actions)


@pytest.mark.parametrize("plain", [False, True])
def test_the_mean_value_after_a_pair_is_the_sum_over_its_successors(plain):
    u, run = np.random.default_rng(7).normal(size=6), mean_value.py_func if plain else mean_value
    found = [run(MODEL, np.uint64(k), u) for k in range(WORLD.n_pairs)]
    np.testing.assert_allclose(found, (P @ u).ravel(), atol=1e-14)


def test_of_equal_pairs_the_first_is_greedy():
    best = np.full(6, -1)
    greedy(MODEL._replace(reward=np.ones(WORLD.n_pairs)), 0.0, np.ones(6), best)
    assert best.tolist() == (3 * np.arange(6)).tolist()


@pytest.mark.parametrize("plain", [False, True])
def test_the_size_of_values_is_the_largest_without_its_sign(plain):
    run = size_of.py_func if plain else size_of
    assert [run(np.array(u)) for u in ([0.5, -3.0, 2.0], [0.25], [-0.125, 0.0])] == [3.0, 0.25, 0.125]


def test_what_rounding_may_hide_grows_with_values_from_a_least_amount():
    part = whole(WORLD)
    assert rounding_error(part, np.zeros(6)) == part.rounding
    assert rounding_error(part, np.array([0.0, -4.0, 3.0, 0.0, 0.0, 0.0])) == pytest.approx(5 * part.rounding)


def damped(u, rule):
    """Sweeps that look every time whether the bracket and rounding meet the accuracy, or rounding is all there is."""
    n = 0
    while True:
        swept, _ = operator(u)
        n, low, high = n + 1, (swept - u).min(), (swept - u).max()
        half, noise = (high - low) / 2, rule.rounding * (1 + np.abs(u).max())
        if half + noise <= rule.accuracy or half <= noise or n >= rule.max_sweeps:
            return n, low, high
        u += rule.damping * (swept - u - (low + high) / 2)


@pytest.mark.parametrize(
    "rule",
    [
        Aim(1.0, 0.8, 1e-6, 0.0, 1000), Aim(1.0, 0.5, 0.1, 0.02, 1000), Aim(1.0, 0.8, 0.0, 0.03, 1000),
        Aim(1.0, 0.8, 0.0, 0.3, 1000), Aim(1.0, 0.8, 0.0, 0.6, 1000), Aim(1.0, 0.9, 0.0, 0.0, 7),
        Aim(1.0, 0.8, 0.2, 0.15, 1000), Aim(1.0, 1.0, 0.02, 0.001, 1000),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [0.0, 1.0, 5.0])
def test_damped_sweeps_end_by_their_bracket_by_rounding_or_by_their_cap(rule, size):
    start = size * np.random.default_rng(1).normal(size=6)
    for run in (relax, relax.py_func):
        u, expected = start.copy(), start.copy()
        assert run(MODEL, u, rule) == pytest.approx(damped(expected, rule), abs=1e-9)
        np.testing.assert_allclose(u, expected, atol=1e-9)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_policy_is_improved_by_gain_first_then_by_value_and_kept_where_nothing_is_better(seed, plain):
    rng, ties = np.random.default_rng(seed), Ties(0.05, 0.1)
    gain, bias = rng.integers(0, 3, 6) / 2, rng.normal(size=6)
    before = 3 * np.arange(6) + rng.integers(0, 3, 6)
    of_gain, of_value = (P @ gain).ravel(), (R + P @ bias).ravel()
    expected = before.copy()
    for s in range(6):
        good = [k for k in range(3 * s, 3 * s + 3) if of_gain[k] >= of_gain[3 * s : 3 * s + 3].max() - 0.05]
        best = max(good, key=lambda k: of_value[k])
        if before[s] not in good or of_value[best] > of_value[before[s]] + 0.1:
            expected[s] = best
    pair = before.copy()
    changed = (improve.py_func if plain else improve)(MODEL, gain, bias, ties, pair)
    assert pair.tolist() == expected.tolist()
    assert bool(changed) == (expected.tolist() != before.tolist())


@pytest.mark.parametrize("plain", [False, True])
def test_a_pair_that_is_just_as_good_replaces_none_and_of_better_ones_the_first_is_taken(plain):
    alike = MODEL._replace(reward=np.tile([0.2, 0.7, 0.7], 6))
    for kept, expected, moved in ((0, 1, True), (1, 1, False), (2, 2, False)):
        pair = 3 * np.arange(6) + kept
        changed = (improve.py_func if plain else improve)(alike, np.zeros(6), np.zeros(6), Ties(0.0, 0.0), pair)
        assert (pair.tolist(), bool(changed)) == ((3 * np.arange(6) + expected).tolist(), moved)


def test_the_more_accurate_of_two_answers_is_kept_with_all_sweeps_counted():
    old, nothing = BlockAnswer(0.0, 1.0, 0.1, np.zeros(1), np.zeros(1), 5, "value"), np.ones(1)
    assert old.accuracy == pytest.approx(0.6)
    wide, same, narrow = (BlockAnswer(low, 2.0, 0.1, nothing, nothing, 9, "policy") for low in (0.0, 1.0, 1.5))
    assert better(old, narrow) is narrow
    assert better(old, same) is same
    kept = better(old, wide)
    assert (kept.method, kept.n_sweeps, kept.high) == ("value", 9, 1.0)


@pytest.mark.parametrize("max_sweeps", [1, 2, 3, 10])
def test_sweeps_in_several_calls_are_as_many_as_in_one(max_sweeps, monkeypatch):
    part = whole(WORLD)
    one = value_iteration(part, np.zeros(6), SolverLimits(1e-12, max_sweeps))
    assert one.n_sweeps == max_sweeps
    monkeypatch.setattr("equirl.solving.value_iteration.LEAST_PER_CALL", 2)
    monkeypatch.setattr("equirl.solving.value_iteration.SUCCESSORS_PER_CALL", 0)
    several = value_iteration(part, np.zeros(6), SolverLimits(1e-12, max_sweeps))
    assert several.n_sweeps == max_sweeps
    np.testing.assert_allclose(several.bias, one.bias)
    assert (several.low, several.high) == pytest.approx((one.low, one.high))
    assert one.pair.tolist() == (3 * np.arange(6) + operator(one.bias)[1]).tolist()
