"""Chains solved by renewal, against dense linear algebra; what is beyond double precision is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from equirl.solving import renewal
from equirl.solving.renewal import (
    IllConditioned,
    TooMuchFill,
    _largest_by_class,
    discounted_values,
    factor,
    fill,
    gain_and_bias,
    renew,
    settled_mass,
    share_of_time,
)
from oracles_solving import limit_matrix

# two closed classes, {0, 1} and {2, 3, 4}, and two states that are left for good
CHAIN = np.array([
    [0.2, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.6, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.3, 0.0, 0.7, 0.0, 0.0],
    [0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0],
    [0.1, 0.0, 0.2, 0.0, 0.0, 0.3, 0.4],
    [0.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0],
])  # fmt: skip
REWARD = np.array([0.3, 0.9, 0.1, 0.5, 0.0, 1.0, 0.2])
SPARSE = scipy.sparse.csr_array(CHAIN)
LIMIT = limit_matrix(CHAIN)


def expected_bias(chain, reward):
    """(I - P + P*)^-1 (r - P* r): the bias that has mean 0 in the long run from every state."""
    limit = limit_matrix(chain)
    return np.linalg.solve(np.eye(len(chain)) - chain + limit, reward - limit @ reward)


@pytest.mark.parametrize("reference", [None, 3, 5])
def test_gain_and_bias_are_those_of_the_deviation_matrix(reference):
    parts = renew(SPARSE, reference=reference)
    gain, bias = gain_and_bias(parts, REWARD.copy())
    np.testing.assert_allclose(gain, LIMIT @ REWARD, atol=1e-13)
    np.testing.assert_allclose(bias, expected_bias(CHAIN, REWARD), atol=1e-12)
    for c, inside in enumerate(([0, 1], [2, 3, 4])):
        at = [set(inside) >= {int(state)} for state in parts.reference]
        assert sum(at) == 1, c
        np.testing.assert_allclose(parts.stationary[inside], LIMIT[inside[0], inside])
    assert parts.stationary[5:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("reference", [None, 0, 1, 2])
def test_of_one_class_any_state_may_be_the_reference(reference):
    chain, reward = CHAIN[2:5, 2:5], REWARD[2:5].copy()
    parts = renew(scipy.sparse.csr_array(chain), reference=reference)
    assert parts.reference.tolist() == [1 if reference is None else reference]  # the most visited, or the one given
    gain, bias = gain_and_bias(parts, reward)
    np.testing.assert_allclose(gain, limit_matrix(chain) @ reward, atol=1e-14)
    np.testing.assert_allclose(bias, expected_bias(chain, reward), atol=1e-13)


def test_time_is_shared_by_where_a_start_ends():
    for start in (*np.eye(7), np.full(7, 1 / 7)):
        np.testing.assert_allclose(share_of_time(SPARSE, start), start @ LIMIT, atol=1e-14)


def test_where_renewal_fails_elimination_helps_unless_the_chain_is_too_large(monkeypatch):
    go = 1e-12  # two states that hardly ever change places
    chain = scipy.sparse.csr_array([[1 - go, go], [2 * go, 1 - 2 * go]])
    with pytest.raises(IllConditioned, match=r"only after more than 1e\+10 steps on average"):
        renew(chain)
    np.testing.assert_allclose(share_of_time(chain, np.array([1.0, 0.0])), [2 / 3, 1 / 3], rtol=1e-4)
    monkeypatch.setattr(renewal, "MOST_DENSE", 2)
    np.testing.assert_allclose(share_of_time(chain, np.array([1.0, 0.0])), [2 / 3, 1 / 3], rtol=1e-4)
    monkeypatch.setattr(renewal, "MOST_DENSE", 1)
    with pytest.raises(IllConditioned):
        share_of_time(chain, np.array([1.0, 0.0]))


def test_the_longest_time_that_is_solved_is_the_limit(monkeypatch):
    chain = scipy.sparse.csr_array([[0.5, 0.5], [0.25, 0.75]])  # from 0 to 1 in 2 steps
    monkeypatch.setattr(renewal, "LONGEST_TIME", 2.0)
    assert renew(chain).reference.tolist() == [1]
    monkeypatch.setattr(renewal, "LONGEST_TIME", 1.9)
    with pytest.raises(IllConditioned):
        renew(chain)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.99])
def test_discounted_values_solve_their_equation(discount):
    expected = np.linalg.solve(np.eye(7) - discount * CHAIN, REWARD)
    np.testing.assert_allclose(discounted_values(SPARSE, REWARD, discount), expected, rtol=1e-12)


def test_a_discount_of_one_has_no_values():
    with pytest.raises(IllConditioned, match=r"a discount of 1\.0 is too close to 1 for double precision"):
        discounted_values(scipy.sparse.csr_array(np.eye(2)), np.ones(2), 1.0)


def test_masses_are_where_lazy_steps_bring_them_from_recurrent_states():
    label = np.array([0, 0, 1, 1, 1, -1, -1])
    lazy = (np.eye(7) + CHAIN) / 2
    start = np.array([1.0, 1, 1, 1, 1, 0, 0])
    for n in (0, 1, 3):
        np.testing.assert_allclose(settled_mass(SPARSE, label, n), start @ np.linalg.matrix_power(lazy, n), atol=1e-14)
    np.testing.assert_allclose(settled_mass(SPARSE, label), start @ np.linalg.matrix_power(lazy, 28), atol=1e-14)


def test_of_each_class_the_state_of_largest_mass_is_found_of_equals_the_first():
    label, mass = np.array([1, 0, -1, 1, 0, 1]), np.array([0.2, 0.5, 9.0, 0.7, 0.5, 0.1])
    assert _largest_by_class(mass, label).tolist() == [1, 3]


def test_factors_are_ordered_where_states_are_many_or_it_is_asked_for(monkeypatch):
    free = np.full(7, 0.5)
    assert not isinstance(factor(SPARSE, free), renewal.OrderedFactors)
    assert isinstance(factor(SPARSE, free, ordered=True), renewal.OrderedFactors)
    monkeypatch.setattr(renewal, "SMALL", 7)
    assert not isinstance(factor(SPARSE, free), renewal.OrderedFactors)
    monkeypatch.setattr(renewal, "SMALL", 6)
    assert isinstance(factor(SPARSE, free), renewal.OrderedFactors)
    assert factor(scipy.sparse.csr_array(np.eye(2)), np.ones(2)) is None


def test_fill_and_work_are_counted_and_counting_stops_beyond_the_most(monkeypatch):
    n = 6  # an arrow: eliminated from its tip all fills in, from its other end nothing does
    arrow = np.eye(n)
    arrow[0, :] = arrow[:, 0] = 1.0
    system = scipy.sparse.csc_array(arrow)
    full = [n - 1 - k for k in range(n)]
    assert fill(system, np.arange(n)) == (sum(full), sum(c * c for c in full))
    assert fill(system, np.arange(n)[::-1].copy()) == (n - 1, n - 1)
    monkeypatch.setattr(renewal, "MOST_FILL", n - 1)
    assert fill(system, np.arange(n)[::-1].copy())[0] == n - 1
    assert n - 1 < fill(system, np.arange(n))[0] < sum(full)


@pytest.mark.parametrize("plain", [False, True])
def test_counting_stops_with_the_row_that_passes_the_most(plain):
    run, ptr = renewal._count_fill.py_func if plain else renewal._count_fill, np.array([0, 0, 1, 3, 6])
    for most, counts, total in ((5, [3, 2, 1, 0], 6), (3, [3, 2, 1, 0], 6), (2, [2, 1, 0, 0], 3), (0, [1, 0, 0, 0], 1)):
        found = np.zeros(4, np.int64)
        assert run(ptr, np.array([0, 0, 1, 0, 1, 2]), found, most) == total
        assert found.tolist() == counts


@pytest.mark.parametrize(("limit", "least"), [("MOST_FILL", 1), ("MOST_WORK", 1.0)])
def test_factors_beyond_either_limit_are_refused(limit, least, monkeypatch):
    monkeypatch.setattr(renewal, limit, least)
    with pytest.raises(TooMuchFill, match="the LU factors of a chain of 7 states have more than"):
        factor(SPARSE, np.full(7, 0.5), ordered=True)


def test_factors_at_the_limits_are_made(monkeypatch):
    system = (scipy.sparse.identity(7) - 0.5 * SPARSE).tocsc()
    n_fill, work = fill(system, renewal.fill_reducing_order(system))
    monkeypatch.setattr(renewal, "MOST_FILL", n_fill)
    monkeypatch.setattr(renewal, "MOST_WORK", work)
    found = factor(SPARSE, np.full(7, 0.5), ordered=True).solve(REWARD)
    np.testing.assert_allclose(found, np.linalg.solve(np.eye(7) - 0.5 * CHAIN, REWARD), rtol=1e-12)
