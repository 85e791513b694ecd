import math

import numpy as np
import pytest

from equirl.model.rows import Rows
from equirl.planning import kl_ball
from equirl.planning.kl_ball import KLBall, KLModels, kl_value
from oracles_best_laws import kl_maximum


def one_row(p, radius):
    seen = np.flatnonzero(p)
    rows = Rows(np.array([0, len(seen)]), seen.astype(np.int32), np.asarray(p, float)[seen])
    return KLBall(rows, np.array([float(radius)]))


def best(p, radius, u, run=kl_value):
    u = np.asarray(u, float)
    return run(one_row(np.asarray(p, float), radius), 0, u, float(u.max()))


def random_case(rng):
    n = int(rng.integers(2, 8))
    p = rng.dirichlet(np.full(n, 0.6)) * (rng.random(n) < 0.7)
    p = p / p.sum() if p.sum() > 0 else np.eye(n)[0]
    u = rng.normal(size=n) if rng.random() < 0.6 else rng.integers(0, 3, n).astype(float)
    return p, float(10 ** rng.uniform(-3, 1)), u


def test_the_maximum_lies_between_a_law_of_the_ball_and_a_dual_bound_on_a_thousand_cases():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        p, d, u = random_case(rng)
        low, high = kl_maximum(p, d, u)
        assert low - 1e-12 <= best(p, d, u) <= high + 1e-12


def test_where_every_state_is_seen_small_balls_have_certified_maxima_too():
    rng = np.random.default_rng(2)
    for _ in range(600):
        n = int(rng.integers(2, 8))
        p, u, d = rng.dirichlet(np.ones(n)), rng.normal(size=n), float(10 ** rng.uniform(-6, 0.5))
        low, high = kl_maximum(p, d, u)
        assert low - 1e-11 <= best(p, d, u) <= high + 1e-11


def test_a_row_without_samples_is_free():
    models = KLBall(Rows(np.array([0, 0]), np.zeros(0, np.int32), np.zeros(0)), np.array([math.inf]))
    assert kl_value(models, 0, np.array([1.0, 4.0]), 4.0) == 4.0


def test_radius_zero_is_the_law_itself():
    assert best([0.2, 0.0, 0.8], 0.0, [1.0, 9.0, -1.0]) == pytest.approx(-0.6, abs=1e-15)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("d", [1e-300, 1e-100, 1e-40, 1e-20, 1e-16])
def test_tiny_radii_hardly_move_the_mean(d, plain, monkeypatch):
    """There f is no more than rounding, or zero."""
    if plain:
        monkeypatch.setattr(kl_ball, "_solve", kl_ball._solve.py_func)
    p, u = np.array([0.2, 0.3, 0.5]), np.array([1.0, 3.0, -1.0])
    variance = p @ (u - p @ u) ** 2
    assert best(p, d, u, kl_value.py_func if plain else kl_value) == pytest.approx(
        p @ u + math.sqrt(2 * d * variance), abs=1e-14
    )


@pytest.mark.parametrize("d", [44.0, 50.0, 1e3, 1e300, math.inf])
@pytest.mark.parametrize("p", [[1.0, 0.0], [0.5, 0.5], [1e-9, 1 - 1e-9], [1 - 1e-9, 1e-9]])
def test_huge_radii_reach_the_best_state(d, p):
    assert best(p, d, [0.0, 1.0]) == pytest.approx(1.0, abs=1e-12)


def test_an_unseen_best_state_takes_mass_in_closed_form():
    # one successor of value 0, an unseen state of value 1: q(unseen) = 1 - exp(-d)
    for d in (1e-6, 0.1, 2.0):
        assert best([1.0, 0.0], d, [0.0, 1.0]) == pytest.approx(1 - math.exp(-d), rel=1e-12)


def test_two_successors_are_the_binary_divergence():
    # KL(p || q) = d solved for q > p by hand: p = 1/2, q = (1 + sqrt(1 - exp(-2 d))) / 2
    for d in (1e-8, 1e-3, 0.3, 4.0):
        q = (1 + math.sqrt(-math.expm1(-2 * d))) / 2
        assert best([0.5, 0.5], d, [0.0, 1.0]) == pytest.approx(q, rel=1e-12)


def test_equal_values_leave_nothing_to_gain():
    assert best([0.3, 0.7, 0.0], 0.4, [2.0, 2.0, 2.0]) == 2.0
    assert best([0.3, 0.7, 0.0], 0.4, [2.0, 2.0, 1.0]) == 2.0
    assert best([0.3, 0.7, 0.0], 0.4, [2.0, 2.0, 3.0]) == pytest.approx(3 - math.exp(-0.4), rel=1e-12)


def test_far_away_values_cost_no_digits():
    p, u, d = np.array([0.2, 0.3, 0.5]), np.array([1.0, 3.0, -1.0]), 0.05
    assert best(p, d, u + 2.0**20) - 2.0**20 == pytest.approx(best(p, d, u), abs=1e-9)
    assert best(p, d, u * 1e-9) == pytest.approx(best(p, d, u) * 1e-9, rel=1e-12)


def test_the_value_grows_with_the_radius():
    rng = np.random.default_rng(3)
    for _ in range(100):
        p, _, u = random_case(rng)
        found = [best(p, d, u) for d in np.geomspace(1e-12, 60, 60)]
        assert np.diff(found).min() >= -1e-13
        assert p @ u - 1e-13 <= found[0] <= found[-1] <= u.max()


def test_compiled_equals_its_plain_python_body():
    rng = np.random.default_rng(4)
    for _ in range(50):
        p, d, u = random_case(rng)
        assert best(p, d, u) == pytest.approx(best(p, d, u, kl_value.py_func), abs=1e-12)


def test_a_set_tells_its_sizes_and_keeps_its_pairs_apart():
    rows = Rows(np.array([0, 2, 3]), np.array([0, 2, 1], np.int32), np.array([0.25, 0.75, 1.0]))
    models = KLModels(rows, np.array([0.02, 3.0]), np.array([0.1, 0.2]), np.array([0.3, 0.4]))
    np.testing.assert_allclose(models.widths(), [0.2, 2.0])  # Pinsker: the L1 distance is at most sqrt(2 d), and 2
    assert models.n_entries == 3
    lower, upper, other = models.row_bounds(0)
    for p, low, high in zip((0.25, 0.75, 0.0), [*lower, 0.0], [*upper, other], strict=True):
        for q in {low, high} - {0.0}:
            assert (p * math.log(p / q) if p else 0.0) + (1 - p) * math.log((1 - p) / (1 - q)) == pytest.approx(0.02)
        assert low < p < high or p == low == 0.0 < high
    assert models.row_bounds(1)[0].tolist() == pytest.approx([math.exp(-3.0)])
    one = models.restrict(np.array([1]))
    assert (one.rows.succ.tolist(), one.radius.tolist(), one.r_lower.tolist(), one.r_upper.tolist()) == (
        [1], [3.0], [0.2], [0.4],
    )  # fmt: skip
    paid = models.with_rewards(np.array([0.5, 0.6]))
    assert (paid.r_lower.tolist(), paid.r_upper.tolist()) == ([0.5, 0.6], [0.5, 0.6])
    assert models.without_supports() is models


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_where_the_search_ends_early_the_value_is_still_an_upper_bound(steps, monkeypatch):
    monkeypatch.setattr(kl_ball, "STEPS", steps)
    monkeypatch.setattr(kl_ball, "_solve", kl_ball._solve.py_func)
    rng = np.random.default_rng(5)
    for _ in range(60):
        p, d, u = random_case(rng)
        low, _ = kl_maximum(p, d, u)
        assert low - 1e-12 <= best(p, d, u, kl_value.py_func) <= u.max()


@pytest.mark.parametrize("plain", [False, True])
def test_the_divergence_and_its_slope_are_those_of_their_formulas(plain):
    run = kl_ball._divergence.py_func if plain else kl_ball._divergence
    p, u = np.array([0.2, 0.3, 0.5]), np.array([1.0, 3.0, -1.0])
    for a in (0.01, 0.7, 30.0):

        def f(a):
            z = (3.0 - u) / a
            return p @ np.log1p(z) + np.log1p(-(p @ (z / (1 + z))))

        found, slope, log_mean = run(one_row(p, 0.1), 0, u, 3.0, a)
        assert (found, log_mean) == pytest.approx((f(a), p @ np.log1p((3.0 - u) / a)))
        assert slope == pytest.approx((f(a * math.exp(1e-5)) - f(a * math.exp(-1e-5))) / 2e-5, rel=1e-6)


def test_only_successors_with_mass_are_seen():
    models = KLBall(Rows(np.array([0, 3]), np.array([0, 1, 2], np.int32), np.array([0.5, 0.0, 0.5])), np.ones(1))
    for run in (kl_ball._seen_range, kl_ball._seen_range.py_func):
        assert run(models, 0, np.array([2.0, 9.0, 1.0])) == (1.0, 2.0)
        assert run(models, 0, np.array([2.0, -9.0, 1.0])) == (1.0, 2.0)
