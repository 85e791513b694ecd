import math

import numpy as np
import pytest

from equirl.estimation.bernstein import bernstein, bernstein_intervals, bernstein_mean_radius


def test_bounds_worked_out_by_hand():
    # n = 100, d = 0.01: L = log(18 * 100 / 0.01) = 12.1007; p = 1/2: 2 sqrt(0.25 * 0.121007) + 6 * 0.121007
    assert bernstein(0.25, 100.0, math.log(0.01)) == pytest.approx(1.073903, abs=1e-5)
    # n = 10^4, M = 50, delta = 0.05: L = log(18 * 50 * 10^4 / 0.05) = 19.00847
    assert bernstein(0.09, 1e4, math.log(0.05 / 50)) == pytest.approx(2 * 0.3 * 0.04359870 + 0.01140508, abs=1e-6)


def test_the_level_is_the_published_one():
    S, A, n, delta, p = 7, 3, 1234, 0.05, 0.3
    L = math.log(18 * S * A * n / delta)
    published = 2 * math.sqrt(p * (1 - p) * L / n) + 6 * L / n
    assert bernstein(p * (1 - p), float(n), math.log(delta / (S * A))) == pytest.approx(published)


def test_intervals_surround_the_estimates_and_stay_probabilities():
    ptr, prob = np.array([0, 2, 2, 3]), np.array([0.7, 0.3, 1.0])
    lower, upper, unseen = bernstein_intervals(ptr, prob, np.array([5000, 0, 10**6]), math.log(1e-3))
    assert (lower >= 0).all()
    assert (lower < prob).all()
    assert (upper[:2] > prob[:2]).all()
    assert upper[2] == 1
    assert unseen[1] == 1  # no samples: free
    assert unseen[2] == pytest.approx(6 * math.log(18e6 / 1e-3) / 1e6)
    assert upper[0] - prob[0] == pytest.approx(prob[0] - lower[0])


def test_few_samples_give_trivial_bounds():
    lower, upper, unseen = bernstein_intervals(np.array([0, 1]), np.array([1.0]), np.array([1.5]), -5.0)
    assert (lower[0], upper[0], unseen[0]) == (0, 1, 1)


def test_a_hundred_thousand_states_do_not_overflow():
    radius = bernstein_mean_radius(np.full(3, 0.25), [0, 1, 10**9], math.log(0.05) - math.log(4e5))
    assert radius[0] == 1
    assert np.isfinite(radius).all()


def test_radii_fall_with_n_as_the_square_root_or_faster():
    n = np.geomspace(10, 1e12, 200)
    noisy, sure = bernstein_mean_radius(np.full(200, 0.2), n, -30.0), bernstein_mean_radius(np.zeros(200), n, -30.0)
    assert (np.diff(noisy) < 0).all()
    assert (np.diff(sure) < 0).all()
    rate = math.log(noisy[-1] / noisy[-40]) / math.log(n[-1] / n[-40])
    assert rate == pytest.approx(-0.5, abs=0.03)
    assert math.log(sure[-1] / sure[-40]) / math.log(n[-1] / n[-40]) == pytest.approx(-1, abs=0.03)


@pytest.mark.parametrize("law", [[0.5, 0.5], [0.9, 0.08, 0.02], [0.99, 0.01]])
def test_the_bounds_of_a_law_hold_for_all_n_together(law):
    law, delta, runs, horizon = np.array(law), 0.3, 300, 1500
    rng, violated = np.random.default_rng(0), 0
    n = np.arange(1, horizon + 1)
    L = np.log(18 * n) - math.log(delta)
    for _ in range(runs):
        p_hat = np.cumsum(np.eye(len(law))[rng.choice(len(law), horizon, p=law)], axis=0) / n[:, None]
        radius = 2 * np.sqrt(p_hat * (1 - p_hat) * (L / n)[:, None]) + 6 * (L / n)[:, None]
        assert radius[99, 0] == pytest.approx(bernstein(p_hat[99, 0] * (1 - p_hat[99, 0]), 100.0, math.log(delta)))
        violated += (np.abs(p_hat - law) > radius).any()
    assert violated / runs <= delta


def test_compiled_equals_its_plain_python_body():
    for n in (0.0, 1.0, 33.5, 1e6):
        assert bernstein(0.1, n, -7.0) == pytest.approx(bernstein.py_func(0.1, n, -7.0), rel=1e-14)
