import math

import numpy as np
import pytest

from equirl.estimation.ucrl3_bounds import (
    _proxy_slope,
    _quadratic_end,
    bernoulli_proxy,
    bernstein_end,
    lower_end,
    mean_upper,
    peeled_log,
    ucrl3_intervals,
    ucrl3_log_level,
    ucrl3_mean_upper,
    upper_end,
)


def g(q):
    if q in (0, 1):
        return 0.0
    return 0.25 if q == 0.5 else (0.5 - q) / math.log(1 / q - 1)


def l_n(n, d):
    eta = 1.12
    return eta * math.log(math.log(eta * n) * math.log(eta**2 * n) / (d * math.log(eta) ** 2))


def plausible(q, p_hat, n, d):
    """The two inequalities as they are written, above or below p_hat."""
    share, above = l_n(n, d) / n, q >= p_hat
    proxy = q * (1 - q) if above and q >= 0.5 else g(q)
    bernstein = math.sqrt(2 * q * (1 - q) * share) + share / 3
    gauss = math.sqrt(2 * proxy * (1 + 1 / n) * math.log(2 * math.sqrt(n + 1) / d) / n)
    return abs(q - p_hat) <= min(bernstein, gauss)


def test_numbers_worked_out_by_hand():
    # n = 1000, d = exp(-8.5252): l = 1.12 (log(7.021084 * 7.134413 / 0.0128435) + 8.5252)
    assert peeled_log(1000.0, -8.5252) == pytest.approx(18.80949, abs=1e-3)
    assert ucrl3_log_level(0.05, 12, 6) == pytest.approx(math.log(0.05 / (12 * 21)))
    assert mean_upper(0.3, 0.0, 1000.0, -8.5252) == pytest.approx(0.3 + 7 * 0.01880949 / 3, abs=1e-5)
    # a large variance: Hoeffding is smaller, sqrt(1.001 (0.5 log 1001 + 8.5252) / 2000)
    assert mean_upper(0.3, 0.25, 1000.0, -8.5252) == pytest.approx(0.3 + 0.0774307, abs=1e-5)


def test_the_proxy_is_its_formula_and_smooth_in_the_middle():
    for q in (0.0, 1e-9, 0.1, 0.4, 0.49, 0.5, 0.6, 0.999, 1.0):
        assert bernoulli_proxy(q) == pytest.approx(g(q), rel=1e-9)
    near = [bernoulli_proxy(0.5 + x) for x in np.linspace(-2e-4, 2e-4, 401)]
    assert np.abs(np.diff(near)).max() < 1e-9


@pytest.mark.parametrize("n", [1, 2, 10, 100, 10_000, 10**7])
@pytest.mark.parametrize("p_hat", [0.0, 0.001, 0.3, 0.5, 0.8, 1.0])
def test_the_ends_are_the_outermost_plausible_numbers(n, p_hat):
    d = 1e-4
    low, high = lower_end(p_hat, n, math.log(d)), upper_end(p_hat, n, math.log(d))
    grid = np.linspace(0, 1, 20_001)
    good = np.array([plausible(q, p_hat, n, d) for q in grid])
    good |= grid == p_hat
    assert grid[good].max() <= high <= grid[good].max() + 5e-5 + 1e-12
    assert grid[good].min() - 5e-5 - 1e-12 <= low <= grid[good].min()
    assert good[(grid >= low + 1e-4) & (grid <= high - 1e-4)].all()  # an interval


def test_the_end_by_the_quadratic_is_that_of_the_inequality():
    rng = np.random.default_rng(0)
    for _ in range(300):
        p, share = float(rng.random()), float(10 ** rng.uniform(-8, 0.5))
        q = bernstein_end(p, share)
        if q < 1:
            assert q - p == pytest.approx(math.sqrt(2 * q * (1 - q) * share) + share / 3, rel=1e-9)


def test_no_samples_leave_everything_free():
    lower, upper, unseen = ucrl3_intervals(np.array([0, 1, 1]), np.array([1.0]), np.array([0, 0]), -9.0)
    assert (lower[0], upper[0], unseen.tolist()) == (0, 1, [1, 1])
    assert ucrl3_mean_upper([0.0], [0.0], [0], -9.0)[0] == 1


def test_a_hundred_thousand_states_do_not_overflow():
    level = ucrl3_log_level(0.05, 400_000, 100_000)
    lower, upper, unseen = ucrl3_intervals(np.array([0, 2]), np.array([0.25, 0.75]), np.array([10**9]), level)
    assert (lower < [0.25, 0.75]).all()
    assert (upper > [0.25, 0.75]).all()
    assert 0 < unseen[0] < 1e-6
    assert (upper - lower < 1e-3).all()


def test_intervals_shrink_as_samples_grow():
    n = np.unique(np.geomspace(1, 1e9, 120).astype(int)).astype(float)
    for p in (0.0, 0.2, 0.7, 1.0):
        assert (np.diff([upper_end(p, x, -9.0) for x in n]) <= 1e-12).all()
        assert (np.diff([lower_end(p, x, -9.0) for x in n]) >= -1e-12).all()
    assert (np.diff([mean_upper(0.2, 0.1, x, -9.0) for x in n]) <= 1e-12).all()


@pytest.mark.parametrize("p", [0.5, 0.1, 0.02, 0.9])
def test_the_bounds_of_a_probability_hold_for_all_n_together(p):
    delta, runs, horizon = 0.3, 150, 400
    level, n = math.log(delta / 3), np.arange(1, horizon + 1)
    rng, violated = np.random.default_rng(0), 0
    for _ in range(runs):
        p_hat = np.cumsum(rng.random(horizon) < p) / n
        inside = [lower_end(x, float(m), level) <= p <= upper_end(x, float(m), level) for m, x in enumerate(p_hat, 1)]
        violated += not all(inside)
    assert violated / runs <= delta


@pytest.mark.parametrize("p", [0.5, 0.05])
def test_the_bound_of_a_mean_holds_for_all_n_together(p):
    delta, runs, horizon = 0.3, 300, 400
    level, n = math.log(delta / 3), np.arange(1, horizon + 1)
    rng, violated = np.random.default_rng(1), 0
    for _ in range(runs):
        mean = np.cumsum(rng.random(horizon) < p) / n
        violated += (ucrl3_mean_upper(mean, mean * (1 - mean), n, level) < p).any()
    assert violated / runs <= delta


def test_compiled_equals_its_plain_python_body():
    for p in (0.0, 0.3, 1.0):
        for run in (lower_end, upper_end):
            assert run(p, 50.0, -9.0) == pytest.approx(run.py_func(p, 50.0, -9.0), abs=1e-12)


@pytest.mark.parametrize("q", [-0.1, 0.0, 1.0, 1.1])
def test_the_proxy_is_zero_at_both_ends_and_beyond(q):
    assert bernoulli_proxy(q) == bernoulli_proxy.py_func(q) == 0.0


def outermost(p_hat, n, d, end):
    """The plausible number farthest towards an end, by bisection: what is plausible is an interval around p_hat."""
    if plausible(end, p_hat, n, d):
        return end
    good, bad = p_hat, end
    while abs(bad - good) > 1e-16 * max(1.0, abs(good)) and (middle := 0.5 * (good + bad)) not in (good, bad):
        good, bad = (middle, bad) if plausible(middle, p_hat, n, d) else (good, middle)
    return good


@pytest.mark.parametrize("n", [1, 3, 40, 1000, 10**6, 10**9])
@pytest.mark.parametrize("d", [0.2, 1e-3, 1e-12])
def test_the_ends_are_right_to_twelve_digits_and_never_cut_what_is_plausible(n, d):
    for p_hat in (0.0, 1e-6, 0.02, 0.25, 0.4999, 0.5, 0.6, 0.99, 1 - 1e-7, 1.0):
        for plain in (False, True):
            above, below = (end.py_func if plain else end for end in (upper_end, lower_end))
            high, low = outermost(p_hat, n, d, 1.0), outermost(p_hat, n, d, 0.0)
            assert -1e-15 <= above(p_hat, float(n), math.log(d)) - high <= 1e-12
            assert -1e-15 <= low - below(p_hat, float(n), math.log(d)) <= 1e-12


@pytest.mark.parametrize("q", [1e-6, 0.01, 0.3, 0.4999, 0.49996, 0.5, 0.50004, 0.5001, 0.8, 1 - 1e-6])
def test_the_slope_of_the_proxy_is_that_of_small_differences(q):
    step = 1e-4 * min(q, 1 - q)
    slope = (g(q + step) - g(q - step)) / (2 * step)
    for run in (_proxy_slope, _proxy_slope.py_func):
        assert run(q) == pytest.approx(slope, rel=1e-5, abs=2e-8)


def test_the_end_by_a_quadratic_is_one_where_the_inequality_holds_everywhere():
    for run in (_quadratic_end, _quadratic_end.py_func):
        assert run(0.5, 1.0) == run(0.5, 1.5) == 1.0
        for a, b in ((0.3, 0.0), (0.3, 0.2), (1e-6, 0.7), (5.0, 0.99)):
            q = run(a, b)
            assert q - b == pytest.approx(math.sqrt(a * q * (1 - q)), rel=1e-9)
            assert q > b


def test_rows_and_means_are_filled_one_by_one():
    ptr, prob, samples = np.array([0, 2, 2, 3]), np.array([0.25, 0.75, 1.0 + 1e-12]), np.array([40, 3, 900])
    lower, upper, unseen = ucrl3_intervals(ptr, prob, samples, -9.0)
    assert lower.tolist() == [lower_end(min(p, 1.0), float(n), -9.0) for p, n in zip(prob, (40, 40, 900), strict=True)]
    assert upper.tolist() == [upper_end(min(p, 1.0), float(n), -9.0) for p, n in zip(prob, (40, 40, 900), strict=True)]
    assert unseen.tolist() == [upper_end(0.0, float(n), -9.0) for n in samples]
    means = ucrl3_mean_upper([0.1, 0.5], [0.02, 0.2], [40, 3], -9.0)
    assert means.tolist() == [mean_upper(0.1, 0.02, 40.0, -9.0), mean_upper(0.5, 0.2, 3.0, -9.0)]


def test_a_bound_on_a_mean_is_the_smaller_of_two_and_at_most_one():
    for run in (mean_upper, mean_upper.py_func):
        for variance, n in ((0.0, 5000), (0.01, 5000), (0.2, 5000), (-1e-18, 5000), (0.25, 2)):
            share = l_n(n, math.exp(-9.0)) / n
            bernstein = math.sqrt(2 * max(variance, 0.0) * share) + 7 * share / 3
            hoeffding = math.sqrt((1 + 1 / n) * (0.5 * math.log(n + 1) + 9.0) / (2 * n))
            assert run(0.3, variance, float(n), -9.0) == pytest.approx(min(1.0, 0.3 + min(bernstein, hoeffding)))
