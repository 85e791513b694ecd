"""Means bounded by their variance, alone and shared: against the inequality itself, and on samples."""

import math

import numpy as np
import pytest

from equirl.estimation.confidence import hoeffding_radius
from equirl.estimation.variance_radius import BOLDEST, shared_mean_radius, variance_mean_radius, variance_radius


def ruled_out(gap, variance, n, log_level):
    """Whether a mean so far above the empirical one is ruled out by one of the mixed supermartingales."""
    for j in range(60):
        bold = BOLDEST / 2**j
        psi = -math.log(1 - bold) - bold
        if n * (bold * gap - psi * (variance + gap * gap)) > math.log((j + 1) * (j + 2)) - log_level:
            return True
    return False


def test_the_radius_is_the_least_gap_that_the_inequality_rules_out():
    random = np.random.default_rng(0)
    for _ in range(300):
        variance, n = random.choice([0.0, random.random() / 4]), float(int(10 ** random.uniform(0, 6)))
        level = -random.uniform(1, 30)
        radius = variance_radius(variance, n, level)
        assert 0 < radius <= 1
        assert not ruled_out(radius - 1e-9, variance, n, level)
        if radius < 1:
            for gap in np.linspace(radius + 1e-9, 1, 20):
                assert ruled_out(gap, variance, n, level)


def test_the_inequality_behind_it():
    y = np.linspace(-1, 3, 4001)
    for bold in (1e-3, 0.1, 0.3, BOLDEST):
        psi = -math.log(1 - bold) - bold
        assert (np.exp(bold * y - psi * y * y) <= 1 + bold * y + 1e-12).all()
        assert bold >= 2 * psi - 1e-12  # so that the greater root is beyond 1


@pytest.mark.parametrize("mean", [0.5, 0.02, 0.9])
@pytest.mark.parametrize("noise", ["coin", "beta", "rare"])
def test_it_holds_for_all_n_together(mean, noise):
    random, runs, n, risk = np.random.default_rng(1), 400, 2000, 0.2
    if noise == "coin":
        rewards = (random.random((runs, n)) < mean) * 1.0
    elif noise == "beta":
        rewards = random.beta(3 * mean, 3 * (1 - mean), (runs, n))
    else:  # often a little less, seldom all
        rewards = np.where(random.random((runs, n)) < 0.01, 1.0, (mean - 0.01) / 0.99)
    steps = np.unique(np.geomspace(1, n, 60).astype(int))
    t, total, squares = steps, rewards.cumsum(1)[:, steps - 1], (rewards**2).cumsum(1)[:, steps - 1]
    average = total / t
    radius = np.array([
        variance_mean_radius(squares[k] / t - average[k] ** 2, t, math.log(risk)) for k in range(runs)
    ])  # fmt: skip
    assert (mean > average + radius).any(1).mean() <= risk


def test_what_is_paid_for_sure_is_known_at_the_rate_1_over_n():
    n = np.array([0, 1000, 10_000, 100_000])
    sure, coin = (variance_mean_radius(np.full(4, v), n, math.log(1e-4)) for v in (0.0, 0.25))
    laplace = hoeffding_radius(n, math.log(1e-4))
    assert sure[0] == coin[0] == 1.0
    np.testing.assert_allclose(sure[1:] * n[1:], 1.75 * math.log(4e4), rtol=0.05)
    assert (coin[1:] <= 1.05 * laplace[1:]).all()


def slow_shared(visits, r_sum, r_squares, own, bold, level):
    """Runs by hand, in plain Python."""
    pairs = sorted((k for k in range(len(visits)) if visits[k]), key=lambda k: (r_sum[k] / visits[k], bold[k]))
    out, run = list(own), []

    def upper(members):
        n, total, squares = (sum(of[k] for k in members) for of in (visits, r_sum, r_squares))
        return total / n + variance_mean_radius([squares / n - (total / n) ** 2], [n], level)[0]

    runs = []
    for k in pairs:
        if run and r_sum[k] / visits[k] - bold[k] > upper(run):
            runs.append(run)
            run = []
        run = [*run, k]
    for members in [*runs, run]:
        for k in members:
            out[k] = min(own[k], max(upper(members) - r_sum[k] / visits[k], bold[k]))
    return out


def drawn_rewards(random, n_pairs):
    visits = random.integers(0, 3000, n_pairs) * (random.random(n_pairs) < 0.8)
    visits[0] += 1
    mean = random.choice([0.0, 0.2, 0.21, random.random()], n_pairs)
    r_sum = np.where(random.random(n_pairs) < 0.5, random.binomial(visits, mean), visits * mean)
    variance = np.where(r_sum == visits * mean, 0.0, mean * (1 - mean))
    return visits, r_sum, visits * variance + r_sum**2 / np.maximum(1, visits)


def test_shared_bounds_are_those_of_runs_formed_by_hand_and_no_order_matters():
    random = np.random.default_rng(2)
    for _ in range(60):
        visits, r_sum, r_squares = drawn_rewards(random, int(random.integers(1, 15)))
        variance = np.maximum(0, r_squares / np.maximum(1, visits) - (r_sum / np.maximum(1, visits)) ** 2)
        own, bold = (variance_mean_radius(variance, visits, level) for level in (math.log(1e-4), math.log(0.05)))
        found = shared_mean_radius(visits, r_sum, r_squares, own, bold, math.log(1e-4))
        np.testing.assert_allclose(found, slow_shared(visits, r_sum, r_squares, own, bold, math.log(1e-4)))
        assert (found <= own).all()
        assert (found[visits > 0] >= np.minimum(own, bold)[visits > 0] - 1e-12).all()
        order = random.permutation(len(visits))
        other = shared_mean_radius(*(of[order] for of in (visits, r_sum, r_squares, own, bold)), math.log(1e-4))
        np.testing.assert_allclose(other, found[order])


def test_pairs_that_pay_alike_need_fewer_visits_and_a_rich_one_among_poor_is_not_given_up():
    visits, poor = np.array([10_000, 200, 200]), np.zeros(3)
    own, bold = (variance_mean_radius(poor, visits, level) for level in (math.log(1e-5), math.log(0.05)))
    alike = shared_mean_radius(visits, poor, poor, own, bold, math.log(1e-5))
    np.testing.assert_allclose(alike[1:], bold[1:])
    assert alike[1] < 0.5 * own[1]
    rich = np.array([0.0, 0.0, 200 * 0.6])
    found = shared_mean_radius(visits, rich, rich * 0.6, own, bold, math.log(1e-5))
    assert found[2] == own[2]  # its rewards do not allow what the others pay: it is alone
