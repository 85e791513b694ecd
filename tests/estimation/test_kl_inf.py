import math

import numpy as np
import pytest

from equirl.estimation import kl_inf as of_kl_inf
from equirl.estimation.kl_inf import kl_inf
from oracles_best_laws import kl_least


def least(weight, x, target, top, run=kl_inf):
    return run(np.asarray(weight, float), np.asarray(x, float), len(x), target, top)


def random_case(rng):
    n = int(rng.integers(1, 7))
    weight, x = rng.dirichlet(np.ones(n)), rng.normal(size=n)
    top = x.max() + float(rng.choice([0.0, 1.0])) * rng.random()
    mean = weight @ x
    return weight, x, mean + (top - mean) * rng.uniform(0.02, 0.98), top


def test_it_lies_between_a_dual_bound_and_the_divergence_to_a_law_of_that_mean_on_seven_hundred_cases():
    rng = np.random.default_rng(0)
    for _ in range(700):
        weight, x, target, top = random_case(rng)
        if top - weight @ x > 1e-9:
            low, high = kl_least(weight, x, target, top)
            assert low - 1e-12 <= least(weight, x, target, top) <= high + 1e-12


def test_bernoulli_laws_have_the_binary_divergence():
    for p, q in ((0.5, 0.6), (0.1, 0.9), (0.01, 0.011), (0.3, 0.300001)):
        kl = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
        assert least([1 - p, p], [0, 1], q, 1.0) == pytest.approx(kl, rel=1e-5)


def test_a_sure_outcome_below_the_top():
    # x = 0, target 1/2, top 1: the other law has mass 1/2 at the top, KL = log 2
    assert least([1.0], [0.0], 0.5, 1.0) == pytest.approx(math.log(2))
    assert least([1.0], [0.2], 0.5, 1.0) == pytest.approx(math.log(0.8 / 0.5))


def test_a_mean_at_the_target_costs_nothing_and_a_target_at_the_top_is_out_of_reach():
    assert least([0.5, 0.5], [0, 1], 0.5, 1.0) == 0
    assert least([0.5, 0.5], [0, 1], 0.4, 1.0) == 0
    assert least([0.5, 0.5], [0, 1], 1.0, 1.0) == math.inf


def test_mass_of_zero_changes_nothing():
    assert least([0.0, 1.0], [1.0, 0.2], 0.5, 1.0) == pytest.approx(math.log(0.8 / 0.5))


def test_compiled_equals_its_plain_python_body():
    rng = np.random.default_rng(2)
    for _ in range(50):
        case = random_case(rng)
        assert least(*case) == pytest.approx(least(*case, run=kl_inf.py_func), rel=1e-12, abs=1e-15)


def test_mass_of_zero_at_the_top_changes_nothing():
    weight, x = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 1.0])
    for size in (2, 3):
        assert kl_inf(weight, x, size, 0.6, 1.0) == kl_inf(weight, x, 2, 0.6, 1.0) > 0


def test_where_the_end_is_best_nothing_is_searched_though_some_outcomes_lie_above_the_target(monkeypatch):
    def searched(*case):
        raise AssertionError(case)

    monkeypatch.setattr(of_kl_inf, "_stationary", searched)
    weight, x = np.array([0.9, 0.1]), np.array([0.0, 0.7])
    found = kl_inf.py_func(weight, x, 2, 0.5, 1.0)
    assert found == pytest.approx(weight @ np.log((1.0 - x) / 0.5), rel=1e-15)
    with pytest.raises(AssertionError):
        kl_inf.py_func(weight, np.array([0.0, 0.99]), 2, 0.5, 1.0)
