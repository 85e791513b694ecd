"""Beta quantiles of our own: as SciPy's, at any size of the parameters."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import special, stats

from equirl.model.reward_distributions import draw_rewards
from equirl.numerics import beta_quantile as quantiles
from equirl.numerics.beta_quantile import (
    beta_quantile,
    beta_quantiles,
    fraction,
    log1p_rest,
    log_density_rest,
    log_power,
    log_scale,
    mills_ratio,
    stirling_rest,
)


@pytest.fixture(autouse=True)
def digits():
    with localcontext(prec=50) as context:
        yield context


def exact_rest(w):
    """log(1 + w) - w."""
    return (1 + Decimal(w)).ln() - Decimal(w)


def exact_stirling(a):
    """By d(a) - d(a + 1) = (a + 1/2) log(1 + 1/a) - 1 from where two terms of the series have all digits."""
    a, total = Decimal(a), Decimal(0)
    while a < 600:
        total += (a + Decimal("0.5")) * (1 + 1 / a).ln() - 1
        a += 1
    return total + 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5) - 1 / (1680 * a**7)


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


@pytest.mark.parametrize("a", [10.0, 10.5, 13.0, 40.0, 3000.0])
def test_the_series_of_stirling_s_formula_has_all_digits(a):
    assert stirling_rest(a) == pytest.approx(float(exact_stirling(a)), rel=6e-15)


@pytest.mark.parametrize("a", [0.02, 0.7, 1.0, 4.3, 9.99])
def test_below_ten_stirling_s_formula_loses_nothing_beyond_rounding(a):
    assert stirling_rest(a) == pytest.approx(float(exact_stirling(a)), abs=2e-14)


@pytest.mark.parametrize("w", [1e-9, -1e-5, 0.03, 0.0999, -0.0999, 0.1001, 0.19, -0.19, -0.6, 2.0])
def test_what_is_left_of_a_logarithm_has_all_digits(w):
    assert log1p_rest(w) == pytest.approx(float(exact_rest(w)), rel=2e-14)


@pytest.mark.parametrize(("a", "b"), [(0.3, 2.0), (4.0, 0.5), (30.0, 50.0), (4000.0, 70.0)])
def test_powers_and_their_scale_have_the_digits_that_their_size_allows(a, b):
    p = Decimal(a) / (Decimal(a) + Decimal(b))
    for share in (1e-12, 1e-7, 1e-3, 0.4, 0.6, 0.99, 1.0):
        for x in (float(p) * share, 1.0 - float(1 - p) * share):
            first, last = exact_rest(Decimal(x) / p - 1), exact_rest((1 - Decimal(x)) / (1 - p) - 1)
            exact = float(Decimal(a) * first + Decimal(b) * last)
            assert log_power(a, b, x) == pytest.approx(exact, rel=1e-12, abs=1e-15)
    rest = exact_stirling(a + b) - exact_stirling(a) - exact_stirling(b)
    scale = 0.5 * math.log(a * b / (a + b) / (2.0 * math.pi)) + float(rest)
    assert log_scale(a, b) == pytest.approx(scale, rel=1e-13, abs=3e-14)


@pytest.mark.parametrize(("a", "b"), [(0.3, 2.0), (1.0, 1.0), (4.0, 0.5), (30.0, 50.0), (200.0, 70.0)])
def test_the_continued_fraction_is_the_distribution_function_over_its_first_factor(a, b):
    for share in (0.1, 0.5, 0.9, 1.0):
        x = share * (a + 1.0) / (a + b + 2.0)
        first = math.exp(log_scale(a, b) + log_power(a, b, x))
        assert fraction(a, b, x) == pytest.approx(a * special.betainc(a, b, x) / first, rel=2e-12)
        assert fraction.py_func(a, b, x) == pytest.approx(fraction(a, b, x), rel=1e-15)


@pytest.mark.parametrize(("a", "b"), [(4e3, 5e3), (1e5, 4e3), (1e7, 1e7)])
def test_densities_and_tails_in_standard_deviations_are_those_of_the_law(a, b):
    law = stats.beta(a, b)
    deviation = math.sqrt(a * b / (a + b)) / (a + b)
    for z in (-1.0, 0.0, 0.5, 3.0):
        x = a / (a + b) + z * deviation
        ratio = math.exp(law.logpdf(x) - law.logpdf(a / (a + b)))
        assert math.exp(log_density_rest(a, b, z)) == pytest.approx(ratio, rel=1e-7)
        assert mills_ratio(a, b, z) == pytest.approx(law.sf(x) / law.pdf(x) / deviation, rel=1e-7)
    assert log_density_rest(a, b, 1.001 * math.sqrt(b / a * (a + b))) == -math.inf


@pytest.mark.parametrize(("a", "b", "steps"), [(0.3, 2.0, 3), (8.0, 5.0, 4), (900.0, 40.0, 5), (5e3, 9e3, 2)])
def test_quantiles_take_few_steps(a, b, steps, monkeypatch):
    """Newton's method starts near, and doubles the digits in each step."""
    exact = {u: beta_quantile(a, b, u) for u in (0.1, 0.4, 0.6, 0.95)}
    monkeypatch.setattr(quantiles, "MOST_STEPS", steps)
    for name in ("lower_quantile", "upper_deviation"):
        monkeypatch.setattr(quantiles, name, getattr(quantiles, name).py_func)
    for u, x in exact.items():
        assert beta_quantile.py_func(a, b, u) == pytest.approx(x, rel=1e-13)


def test_rewards_have_the_beta_law():
    rewards = draw_rewards("beta", np.full(4000, 0.3), 2.0, np.random.default_rng(3))
    assert stats.kstest(rewards, stats.beta(0.6, 1.4).cdf).pvalue > 1e-3
