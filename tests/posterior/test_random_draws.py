import math

import numpy as np
import pytest
from scipy import stats

from equirl.numerics import random_draws
from equirl.numerics.random_draws import (
    LOOKED_UP,
    below,
    beta_draw,
    draw_state,
    gamma_shares,
    log_gamma_draw,
    log_gamma_whole,
    log_gammas,
    log_rising,
    normal,
    pick,
    pick_share,
    uniform,
)

N = 20_000


def rng(seed=0):
    return draw_state(np.random.SeedSequence(seed))


def test_uniform_numbers_are_uniform_and_not_correlated():
    random = rng()
    draws = np.array([uniform(random) for _ in range(N)])
    assert stats.kstest(draws, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / math.sqrt(N)
    assert draws.min() > 0
    assert draws.max() < 1


def test_generators_of_neighbouring_seeds_are_not_correlated():
    draws = np.array([[uniform(random) for _ in range(5000)] for random in (rng(1), rng(2))])
    assert abs(np.corrcoef(draws)[0, 1]) < 4 / math.sqrt(5000)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_whole_numbers_are_equally_likely(n):
    random = rng(3)
    found = np.bincount([below(random, n) for _ in range(N)], minlength=n)
    assert len(found) == n
    assert n == 1 or stats.chisquare(found).pvalue > 1e-3


def test_normal_variables_are_normal():
    random = rng(4)
    assert stats.kstest([normal(random) for _ in range(N)], "norm").pvalue > 1e-3


@pytest.mark.parametrize("shape", [0.01, 0.2, 1.0, 1.5, 30.0, 1e6])
def test_logarithms_of_gamma_variables_have_their_law(shape):
    random = rng(5)
    draws = [log_gamma_draw(random, shape) for _ in range(N)]
    assert np.isfinite(draws).all()
    assert stats.kstest(draws, stats.loggamma(shape).cdf).pvalue > 1e-3


@pytest.mark.parametrize("shape", [1e-6, 1e-4])
def test_gamma_variables_of_tiny_shapes_are_far_below_what_a_float_holds(shape):
    random = rng(6)
    draws = np.array([log_gamma_draw(random, shape) for _ in range(N)])
    assert np.isfinite(draws).all()
    assert stats.kstest(-draws * shape, "expon").pvalue > 1e-3  # log X = log(U) / shape + O(1)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.5, 2), (0.01, 0.3), (3, 0.05), (400, 7), (1, 1e6)])
def test_beta_variables_have_their_law(a, b):
    random = rng(7)
    draws = np.array([beta_draw(random, a, b) for _ in range(N)])
    assert ((draws >= 0) & (draws <= 1)).all()
    inside = (draws > 1e-300) & (draws < 1 - 1e-12)  # what rounds to 0 or 1 counts as such
    assert stats.kstest(draws[inside], lambda x: _between(stats.beta(a, b).cdf, x)).pvalue > 1e-3
    assert (draws >= 1 - 1e-12).mean() == pytest.approx(stats.beta(a, b).sf(1 - 1e-12), abs=0.02)


def _between(cdf, x):
    low, high = cdf(1e-300), cdf(1 - 1e-12)
    return (cdf(x) - low) / (high - low)


def test_picks_are_in_proportion_to_their_weights_whatever_their_scale():
    weights = np.array([1.0, 0.0, 3.0, 0.5])
    for shift in (0.0, -2000.0, 5000.0):
        random = rng(8)
        with np.errstate(divide="ignore"):
            log_weight = np.log(weights) + shift
        found = np.bincount([pick(random, log_weight, 4) for _ in range(N)], minlength=4)
        assert found[1] == 0
        assert stats.chisquare(found[weights > 0], N * weights[weights > 0] / weights.sum()).pvalue > 1e-3


def test_picks_look_no_further_than_they_are_told():
    assert pick(rng(), np.array([0.0, 1e9]), 1) == 0
    assert pick(rng(), np.array([-np.inf, 1e9]), 1) == 0  # below n, whatever the weights


def test_shares_are_picked_in_proportion_to_them():
    random, share = rng(8), np.array([1.0, 0.0, 3.0, 0.5, 9.0])
    found = np.bincount([pick_share(random, share, 4, 4.5) for _ in range(N)], minlength=4)
    assert len(found) == 4
    assert found[1] == 0
    assert stats.chisquare(found[share[:4] > 0], N * share[[0, 2, 3]] / 4.5).pvalue > 1e-3


@pytest.mark.parametrize("n", [1, 2, 3, 40, LOOKED_UP - 1, LOOKED_UP, 10**9])
def test_log_gamma_of_whole_numbers_is_the_same_looked_up_and_worked_out(n):
    assert log_gamma_whole(n, log_gammas()) == pytest.approx(math.lgamma(n), rel=1e-14)


@pytest.mark.parametrize("n", [0, 1, 5, 12, 13, 400, 2.5])
@pytest.mark.parametrize("a", [1e-3, 0.5, 7.0, 1e5])
def test_rising_factorials_are_ratios_of_gamma_functions(a, n):
    exact = math.lgamma(a + n) - math.lgamma(a)
    assert log_rising(a, float(n)) == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_the_state_is_all_there_is():
    random = rng(9)
    uniform(random)
    twin = random.copy()
    assert [uniform(random) for _ in range(5)] == [uniform(twin) for _ in range(5)]


def test_compiled_draws_equal_the_plain_ones():
    for draw, arguments in ((log_gamma_draw, (0.3,)), (beta_draw, (0.3, 2.0)), (pick, (np.log([1.0, 2.0, 3.0]), 3))):
        one, other = rng(10), rng(10)
        for _ in range(20):
            assert draw(one, *arguments) == pytest.approx(draw.py_func(other, *arguments), rel=1e-14)
        assert one[0] == other[0]


def test_the_compiled_uniform_number_equals_the_plain_one():
    one, other = rng(11), rng(11)
    with np.errstate(over="ignore"):  # unsigned numbers wrap around
        assert [uniform(one) for _ in range(9)] == [uniform.py_func(other) for _ in range(9)]


def test_uniform_numbers_are_those_of_splitmix64():
    """As published: the first outputs for the seed 0."""
    random = np.zeros(1, np.uint64)
    for published in (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC):
        assert uniform(random) == ((published >> 11) + 0.5) / 2**53


def test_a_whole_number_is_below_its_bound_where_the_uniform_one_rounds_to_one():
    whole, z = 2**64, 2**64 - 1  # the output of 64 ones, undone step by step
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        z ^= (z >> shift) ^ (z >> 2 * shift)
        z = z * pow(factor, -1, whole) % whole
    state = np.array([(z - 0x9E3779B97F4A7C15) % whole], np.uint64)
    assert uniform(state.copy()) == 1.0
    assert [below(state.copy(), n) for n in (1, 7, 1000)] == [0, 6, 999]


@pytest.mark.parametrize("log_weight", [[0.0, -np.inf], [-np.inf, 0.0, -np.inf, -np.inf], [-3.0, 1.0, -np.inf]])
def test_what_has_no_weight_is_not_picked_where_rounding_leaves_something_over(log_weight, monkeypatch):
    monkeypatch.setattr(random_draws, "uniform", lambda _: 1.0)
    possible = np.flatnonzero(np.isfinite(log_weight))
    share = np.exp(log_weight)
    assert pick.py_func(rng(), np.array(log_weight), len(log_weight)) == possible[-1]
    assert pick_share.py_func(rng(), share, len(share), share.sum()) == possible[-1]
    monkeypatch.setattr(random_draws, "uniform", lambda _: 0.0)
    assert pick.py_func(rng(), np.array(log_weight), len(log_weight)) == possible[0]
    assert pick_share.py_func(rng(), share, len(share), share.sum()) == possible[0]


@pytest.mark.parametrize("plain", [False, True])
def test_shares_of_gamma_variables_are_these_over_their_sum(plain):
    run, log_gamma = gamma_shares.py_func if plain else gamma_shares, np.log([9.0, 1.0, 2.0, 4.0, 9.0])
    assert run(log_gamma, 1, 4, np.log(3.0)) == pytest.approx(0.3)
    np.testing.assert_allclose(log_gamma, [np.log(9.0), 0.1, 0.2, 0.4, np.log(9.0)])
    small = np.array([-2000.0, -2001.0, -np.inf])
    assert run(small, 0, 3, -np.inf) == 0.0
    np.testing.assert_allclose(small, np.array([1.0, np.exp(-1.0), 0.0]) / (1 + np.exp(-1.0)))
