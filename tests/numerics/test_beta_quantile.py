"""Beta quantiles of our own: as SciPy's, at any size of the parameters."""

import math

import numpy as np
import pytest
from scipy import special, stats

from equirl.model.reward_laws import draw_rewards
from equirl.numerics.beta_quantile import beta_quantile, beta_quantiles, log1p_rest, stirling_rest


@pytest.mark.parametrize(
    ("low", "high", "error"),
    [(-1, 1, 1e-13), (0, 2, 1e-13), (1, 3.4, 1e-13), (3.5, 4.5, 3e-13), (5, 7, 3e-12)],  # SciPy's own errors grow
)
def test_quantiles_are_those_of_scipy(low, high, error):
    rng = np.random.default_rng(1)
    a, b, u = 10 ** rng.uniform(low, high, 400), 10 ** rng.uniform(low, high, 400), rng.random(400)
    ours = np.array([beta_quantile(*each) for each in zip(a, b, u, strict=True)])
    assert np.abs(ours - special.betaincinv(a, b, u)).max() < error


def test_small_parameters_are_solved_in_probability():
    rng = np.random.default_rng(2)
    for a, b, u in zip(10 ** rng.uniform(-6, 0, 300), 10 ** rng.uniform(-6, 1, 300), rng.random(300), strict=True):
        x = beta_quantile(a, b, u)
        if 1e-290 < x < 1 - 1e-3:
            assert special.betainc(a, b, x) == pytest.approx(u, rel=3e-13)


def test_tails_are_accurate_relative_to_their_size():
    for a, b, u in [(0.5, 2.0, 1e-12), (3.0, 40.0, 2.0**-53), (200.0, 900.0, 2.0**-53), (1e4, 1e4, 2.0**-53)]:
        x = beta_quantile(a, b, u)  # SciPy's own quantile is off by a factor of 200 in the first of these
        assert special.betainc(a, b, x) == pytest.approx(u, rel=1e-12)
        assert beta_quantile(b, a, 1 - u) == pytest.approx(1 - x, abs=1e-5 * u + 1e-15)


@pytest.mark.parametrize(("a", "u"), [(1.0, 0.3), (3.0, 0.9), (0.25, 0.5)])
def test_a_power_is_inverted_exactly(a, u):
    assert beta_quantile(a, 1.0, u) == pytest.approx(u ** (1 / a), rel=2e-14)


def test_quantiles_rise_with_probability_across_the_split_and_with_the_parameters_across_methods():
    u = np.linspace(0.001, 0.999, 500)
    for a, b in [(0.3, 0.7), (2.8, 1.2), (2990.0, 3010.0), (5000.0, 7000.0)]:
        assert (np.diff([beta_quantile(a, b, v) for v in u]) > 0).all()
    below, above = beta_quantile(3000.0, 9000.0, 0.2), beta_quantile(np.nextafter(3000.0, 4000.0), 9000.0, 0.2)
    assert below == pytest.approx(above, rel=1e-13)


@pytest.mark.parametrize("concentration", [5e-324, 1e-300, 1e-9, 1e12, 1e300, 1.7e308])
def test_extreme_concentrations_are_coins_or_means(concentration):
    mean, u = np.array([0.0, 5e-324, 0.3, 0.3, 0.3, 1.0]), np.array([0.9, 0.5, 0.0, 0.69, 0.71, 0.1])
    beta_quantiles(mean, concentration, u)
    expected = [0, 0, 0, 0, 1, 1] if concentration < 1 else [0, 0, 0, 0.3, 0.3, 1]
    np.testing.assert_allclose(mean, expected, atol=1e-5)


def test_what_is_left_of_logarithms_and_of_stirling_s_formula():
    assert log1p_rest(0.05) == pytest.approx(math.log1p(0.05) - 0.05, rel=1e-12)
    whole = [stirling_rest(a) + (a - 0.5) * math.log(a) - a + 0.5 * math.log(2 * math.pi) for a in (0.1, 3.0, 500.0)]
    np.testing.assert_allclose(whole, special.gammaln([0.1, 3.0, 500.0]), rtol=1e-13, atol=1e-13)


def test_rewards_have_the_beta_law():
    rewards = draw_rewards("beta", np.full(4000, 0.3), 2.0, np.random.default_rng(3))
    assert stats.kstest(rewards, stats.beta(0.6, 1.4).cdf).pvalue > 1e-3
