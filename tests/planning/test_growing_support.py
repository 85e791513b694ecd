import numpy as np
import pytest

from equirl.planning.intervals import GrowingSupport, Intervals, interval_value, support_slack, support_value
from oracles_best_laws import interval_maximum


def maximum(weights, lower, upper):
    """max q.weights over laws within the bounds."""
    return interval_maximum(lower, upper, weights)[1]


def interval_set(ptr, succ, lower, upper, unseen_upper):
    return Intervals(ptr, succ, lower, upper, unseen_upper).copy()


def growing_support(bounds, most_visits):
    return GrowingSupport(bounds, support_slack(bounds.ptr, most_visits))


def whole_value(models, k, u, by_u):
    return interval_value(models.bounds, k, u, by_u)


def literally(models, u, order):
    """The definition, word by word: (value, support, least distance of a test from its threshold)."""
    bounds = models.bounds
    n, seen = len(u), bounds.succ.astype(int)
    lower, upper = np.zeros(n), np.full(n, bounds.unseen_upper[0])
    lower[seen], upper[seen] = bounds.lower, bounds.upper
    f = u - u.min()
    kappa = models.slack[0] * (u.max() - u.min())
    inside = np.zeros(n, bool)
    inside[seen] = True
    inside[order[0]] = True
    margin = np.inf
    while not inside.all():
        out_value, in_value = maximum(f * ~inside, lower, upper), maximum(f * inside, lower, upper)
        margin = min(margin, abs(out_value - min(kappa, in_value)))
        if not out_value > min(kappa, in_value):
            break
        inside[next(x for x in order if not inside[x])] = True
    return maximum(u, lower, np.where(inside, upper, 0.0)), inside, margin


def random_case(rng):
    n = int(rng.integers(2, 12))
    seen = rng.permutation(n)[: rng.integers(1, n + 1)]
    p = rng.dirichlet(np.full(len(seen), 0.5))
    width = 0.4 * rng.random() * rng.random(len(seen))
    lower, upper = np.maximum(0, p - width), np.minimum(1, p + width)
    room = float(rng.choice([0.02, 0.1, 0.5])) * rng.random()
    slack = np.array([float(10 ** rng.uniform(-3, 0.5))])
    u = rng.normal(size=n) if rng.random() < 0.8 else rng.integers(0, 4, n) + 0.0
    return GrowingSupport(interval_set(np.array([0, len(seen)]), seen, lower, upper, np.array([room])), slack), u


@pytest.mark.parametrize("cases", [300, pytest.param(1000, marks=pytest.mark.long)])
def test_the_value_is_the_literal_definition(cases):
    rng, grown, cut, compared = np.random.default_rng(0), 0, 0, 0
    for _ in range(cases):
        models, u = random_case(rng)
        order = np.argsort(-u, kind="stable")
        exact, inside, margin = literally(models, u, order)
        if margin < 1e-9:  # a test decided by rounding
            continue
        compared += 1
        assert support_value(models, 0, u, order) == pytest.approx(exact, abs=1e-11)
        grown += inside.sum() > len(models.bounds.succ) + 1
        cut += exact < whole_value(models, 0, u, order) - 1e-6
    assert compared >= 0.8 * cases
    assert grown >= 0.1 * cases  # the support does grow,
    assert cut >= 0.05 * cases  # and it matters that it stops


def test_without_slack_the_support_grows_until_the_value_is_that_of_the_intervals():
    rng = np.random.default_rng(1)
    for _ in range(300):
        models, u = random_case(rng)
        order = np.argsort(-u, kind="stable")
        free = models._replace(slack=np.zeros(1))
        assert support_value(free, 0, u, order) == pytest.approx(whole_value(models, 0, u, order), abs=1e-12)


def test_an_empty_row_is_free():
    bounds = interval_set(np.array([0, 0]), np.zeros(0), np.zeros(0), np.zeros(0), np.ones(1))
    u = np.array([0.5, 3.0, -1.0])
    assert support_value(growing_support(bounds, 100), 0, u, np.array([1, 0, 2])) == 3.0


def test_equal_values_and_one_state():
    bounds = interval_set(np.array([0, 1]), np.zeros(1), np.array([0.4]), np.ones(1), np.full(1, 0.3))
    assert support_value(growing_support(bounds, 100), 0, np.full(3, 2.0), np.arange(3)) == pytest.approx(2.0)
    assert support_value(growing_support(bounds, 100), 0, np.full(1, 2.0), np.arange(1)) == pytest.approx(2.0)


def test_the_slack_is_that_of_the_paper():
    bounds = interval_set(np.array([0, 2, 3]), np.zeros(3), np.zeros(3), np.ones(3), np.ones(2))
    assert growing_support(bounds, 8000).slack == pytest.approx([20 / 400, 10 / 400])


def test_the_value_lies_between_that_of_the_seen_states_and_that_of_all():
    rng = np.random.default_rng(2)
    for _ in range(200):
        models, u = random_case(rng)
        order = np.argsort(-u, kind="stable")
        least = interval_value(models.bounds._replace(unseen_upper=np.zeros(1)), 0, u, order)
        assert least - 1e-12 <= support_value(models, 0, u, order) <= whole_value(models, 0, u, order) + 1e-12


def test_many_states_in_a_sliding_window():
    rng = np.random.default_rng(3)
    n = 3000
    u = np.sort(rng.random(n))[::-1].copy()
    bounds = interval_set(np.array([0, 1]), np.array([n - 1]), np.array([0.5]), np.array([1.0]), np.array([2e-3]))
    models = GrowingSupport(bounds, np.array([0.3]))
    f = u - u.min()
    m = 1  # states in B besides the successor, which is the worst state
    while m < n - 1 and 2e-3 * f[m : min(m + 250, n - 1)].sum() > min(0.3 * f[0], 2e-3 * f[: min(m, 250)].sum()):
        m += 1
    exact = 2e-3 * u[: min(m, 250)].sum() + (1 - 2e-3 * min(m, 250)) * u[-1]
    assert support_value(models, 0, u, np.arange(n)) == pytest.approx(exact, abs=1e-9)


def test_compiled_equals_its_plain_python_body():
    rng = np.random.default_rng(4)
    for _ in range(50):
        models, u = random_case(rng)
        order = np.argsort(-u, kind="stable")
        copy = GrowingSupport(models.bounds.copy(), models.slack)
        assert support_value(models, 0, u, order) == pytest.approx(support_value.py_func(copy, 0, u, order), abs=1e-12)
