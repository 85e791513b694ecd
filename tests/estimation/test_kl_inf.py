import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from equirl.estimation.kl_inf import kl_inf


def least(weight, x, target, top, run=kl_inf):
    return run(np.asarray(weight, float), np.asarray(x, float), len(x), target, top)


def by_search(weight, x, target, top):
    """The dual maximum over l, by a fine grid and a bounded search."""
    most = 1 / (top - target)

    def height(share):
        inside = 1 - np.multiply.outer(share, most * (x - target))
        return np.log(np.maximum(inside, 1e-300)) @ weight

    grid = np.linspace(0, 1, 4001)
    at = grid[height(grid).argmax()]
    found = minimize_scalar(
        lambda s: -height(s), bounds=(max(0, at - 1e-3), min(1, at + 1e-3)), method="bounded", options={"xatol": 1e-12}
    )
    return max(-found.fun, height(at))


def by_convex_solver(weight, x, target, top):
    """The primal: the least KL divergence to a law on x and the top with mean at least the target (SLSQP)."""
    atoms, p = np.append(x, top), np.append(weight, 0.0)
    seen = p > 0
    limits = [
        {"type": "eq", "fun": lambda q: q.sum() - 1, "jac": np.ones_like},
        {"type": "ineq", "fun": lambda q: q @ atoms - target, "jac": lambda q: atoms},
    ]
    start = 0.5 * p
    start[-1] += 0.5
    found = minimize(
        lambda q: np.sum(p[seen] * np.log(p[seen] / q[seen])), start,
        jac=lambda q: -np.divide(p, q, out=np.zeros_like(p), where=seen), constraints=limits,
        bounds=[(1e-9, 1.0) if x else (0.0, 1.0) for x in seen], options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    return found.fun if found.success else None


def random_case(rng):
    n = int(rng.integers(1, 7))
    weight, x = rng.dirichlet(np.ones(n)), rng.normal(size=n)
    top = x.max() + float(rng.choice([0.0, 1.0])) * rng.random()
    mean = weight @ x
    return weight, x, mean + (top - mean) * rng.uniform(0.02, 0.98), top


def test_it_is_the_dual_maximum_on_four_hundred_cases():
    rng = np.random.default_rng(0)
    for _ in range(400):
        weight, x, target, top = random_case(rng)
        if top - weight @ x > 1e-9:
            assert least(weight, x, target, top) == pytest.approx(by_search(weight, x, target, top), rel=1e-6, abs=1e-9)


def test_it_is_the_primal_minimum_on_three_hundred_cases():
    rng, compared = np.random.default_rng(1), 0
    for _ in range(340):
        weight, x, target, top = random_case(rng)
        exact = by_convex_solver(weight, x, target, top) if top - weight @ x > 1e-9 else None
        if exact is not None:
            compared += 1
            assert least(weight, x, target, top) == pytest.approx(exact, rel=1e-4, abs=1e-6)
    assert compared >= 250


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
