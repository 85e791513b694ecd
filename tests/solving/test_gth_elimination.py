"""Elimination without subtraction, against linear equations and against chains whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from equirl.solving import gth_elimination
from equirl.solving.chains import closed_classes
from equirl.solving.gth_elimination import (
    costs_to_go,
    eliminate,
    irreducible_distribution,
    long_run_distribution,
)


def random_chain(seed: int, n: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    chain = rng.random((n, n)) * (rng.random((n, n)) < 0.6) + 0.1 * np.roll(np.eye(n), 1, axis=1)
    return chain / chain.sum(axis=1, keepdims=True)


def censored(chain: np.ndarray, k: int) -> np.ndarray:
    """The chain that only sees states 0, ..., k."""
    seen, rest = chain[: k + 1], chain[k + 1 :]
    return seen[:, : k + 1] + seen[:, k + 1 :] @ np.linalg.solve(np.eye(len(rest)) - rest[:, k + 1 :], rest[:, : k + 1])


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_steps_are_those_of_the_chain_that_only_sees_states_up_to_each(seed, plain, monkeypatch):
    if plain:
        monkeypatch.setattr(gth_elimination, "_eliminate", gth_elimination._eliminate.py_func)
    chain = random_chain(seed)
    before = chain.copy()
    steps, leaving = eliminate(chain)
    np.testing.assert_array_equal(chain, before)
    for k in range(1, 6):
        seen = censored(chain, k)
        np.testing.assert_allclose(steps[k, :k], seen[k, :k], atol=1e-14)
        assert leaving[k] == pytest.approx(seen[k, :k].sum())
        np.testing.assert_allclose(steps[:k, k], seen[:k, k] / seen[k, :k].sum(), atol=1e-14)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_costs_until_the_first_state_solve_their_equations(seed, plain, monkeypatch):
    if plain:
        monkeypatch.setattr(gth_elimination, "_accumulate", gth_elimination._accumulate.py_func)
    chain, cost = random_chain(seed), np.random.default_rng(seed).random(6)
    kept = cost.copy()
    cycle, to_go = costs_to_go(*eliminate(chain), cost)
    np.testing.assert_array_equal(cost, kept)
    expected = np.linalg.solve(np.eye(5) - chain[1:, 1:], cost[1:])
    np.testing.assert_allclose(to_go, [0.0, *expected])
    assert cycle == pytest.approx(cost[0] + chain[0, 1:] @ expected)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_stationary_distribution_is_left_as_it_is_by_a_step(seed, plain, monkeypatch):
    if plain:
        monkeypatch.setattr(gth_elimination, "_weigh", gth_elimination._weigh.py_func)
    chain = random_chain(seed)
    law = irreducible_distribution(chain)
    assert law.sum() == pytest.approx(1.0, abs=1e-15)
    assert (law > 0).all()
    np.testing.assert_allclose(law @ chain, law, rtol=1e-14)


@pytest.mark.parametrize("plain", [False, True])
def test_shares_may_span_more_than_the_range_of_numbers(plain, monkeypatch):
    if plain:
        monkeypatch.setattr(gth_elimination, "_weigh", gth_elimination._weigh.py_func)
    n, down = 60, 1e-20  # each state 1e20 times as likely as the one before
    chain = np.diag(np.full(n - 1, 1.0), 1)
    chain[np.arange(1, n), np.arange(n - 1)] = down
    chain[np.arange(1, n - 1), np.arange(2, n)] = 1 - down
    chain[-1, -1] = 1 - down
    law = irreducible_distribution(chain)
    assert np.isfinite(law).all()
    assert law[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(law[-6:-1] / law[-5:], 1e-20, rtol=1e-12)


def test_a_single_state_has_all_the_time():
    assert irreducible_distribution(np.array([[1.0]])).tolist() == [1.0]
    assert costs_to_go(*eliminate(np.array([[1.0]])), np.array([0.3])) == (0.3, pytest.approx([0.0]))


def test_time_goes_to_the_classes_that_a_start_ends_in():
    # 0 and 1 are passed through; {2, 3} and {4} are closed, and {5} is never entered
    chain = scipy.sparse.csr_array(
        np.array([
            [0.5, 0.25, 0.25, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.5, 0.0, 0.5, 0.0],
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.5, 0.5, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        ])
    )  # fmt: skip
    label = closed_classes(chain)
    for initial, expected in (
        ([1.0, 0, 0, 0, 0, 0], [0, 0, 0.25, 0.5, 0.25, 0]),
        ([0, 1.0, 0, 0, 0, 0], [0, 0, 1 / 6, 1 / 3, 1 / 2, 0]),
        ([0, 0, 1.0, 0, 0, 0], [0, 0, 1 / 3, 2 / 3, 0, 0]),
        ([0.4, 0.2, 0.1, 0.0, 0.0, 0.3], [0, 0, 1 / 6, 1 / 3, 0.2, 0.3]),
    ):
        np.testing.assert_allclose(long_run_distribution(chain, label, np.array(initial)), expected, atol=1e-15)
