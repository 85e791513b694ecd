import numpy as np
import pytest

from equirl.planning.intervals import GrowingSupport, IntervalModels, Intervals, interval_value, support_value
from equirl.planning.optimistic_planning import single_sweep
from oracles_best_laws import interval_maximum


def dense_bounds(models, k, n):
    """lower and upper (S,) of pair k."""
    part = slice(models.ptr[k], models.ptr[k + 1])
    lower, upper = np.zeros(n), np.full(n, models.unseen_upper[k])
    lower[models.succ[part]], upper[models.succ[part]] = models.lower[part], models.upper[part]
    return lower, upper


def random_set(rng, n):
    """One row of bounds that hold a law, some states not stored."""
    seen = rng.permutation(n)[: rng.integers(0, n + 1)]
    p = rng.dirichlet(np.full(len(seen), 0.5)) if len(seen) else np.zeros(0)
    width = rng.random() * rng.random(len(seen))
    room = float(rng.choice([0.0, 1.0, 0.3 * rng.random()])) if len(seen) else 1.0
    lower, upper = np.maximum(0, p - width), np.minimum(1, p + width * rng.random(len(seen)))
    return Intervals(np.array([0, len(seen)]), seen, lower, upper, np.array([room])).copy()


def random_u(rng, n):
    return rng.normal(size=n) if rng.random() < 0.6 else rng.integers(0, 3, n).astype(float)


def best_first(u):
    return np.argsort(-u, kind="stable")


def test_the_maximum_is_certified_by_a_law_and_a_multiplier_on_a_thousand_cases():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        n = int(rng.integers(1, 10))
        models, u = random_set(rng, n), random_u(rng, n)
        low, high = interval_maximum(*dense_bounds(models, 0, n), u)
        assert low - 1e-12 <= interval_value(models, 0, u, best_first(u)) <= high + 1e-12


def test_rows_stay_right_from_sweep_to_sweep():
    rng = np.random.default_rng(1)
    n = 12
    rows = [random_set(rng, n) for _ in range(30)]
    ptr = np.concatenate([[0], np.cumsum([len(row.succ) for row in rows])])
    joined = [np.concatenate([getattr(row, name) for row in rows]) for name in ("succ", "lower", "upper")]
    models = Intervals(ptr, *joined, np.concatenate([row.unseen_upper for row in rows])).copy()
    for _ in range(5):
        u = random_u(rng, n)
        for k in range(30):
            low, high = interval_maximum(*dense_bounds(models, k, n), u)
            assert low - 1e-12 <= interval_value(models, k, u, best_first(u)) <= high + 1e-12


def one_row(succ, lower, upper, room):
    return Intervals(
        np.array([0, len(succ)]), np.array(succ), np.array(lower), np.array(upper), np.array([room])
    ).copy()


def test_an_empty_row_is_free():
    u = np.array([0.5, 3.0, -1.0])
    assert interval_value(one_row([], [], [], 1.0), 0, u, best_first(u)) == 3.0


def test_bounds_without_room_are_the_law():
    u = np.array([0.5, 3.0, -1.0])
    assert interval_value(one_row([0, 2], [0.25, 0.75], [0.25, 0.75], 0.0), 0, u, best_first(u)) == pytest.approx(
        -0.625
    )


def test_one_state_has_one_law():
    assert interval_value(one_row([0], [0.2], [1.0], 1.0), 0, np.array([7.0]), np.array([0])) == pytest.approx(7.0)


def test_lower_bounds_above_one_are_scaled():
    u = np.array([0.0, 1.0])
    assert interval_value(one_row([0, 1], [0.9, 0.6], [1.0, 1.0], 0.0), 0, u, best_first(u)) == pytest.approx(0.4)


def test_mass_that_no_upper_bound_takes_goes_to_the_best_state():
    u = np.array([0.0, 1.0, 2.0])
    assert interval_value(one_row([0, 1], [0.1, 0.1], [0.5, 0.3], 0.0), 0, u, best_first(u)) == pytest.approx(
        0.3 + 0.2 * 2
    )


def test_many_states_are_filled_in_order():
    rng = np.random.default_rng(2)
    n = 100_000
    u = rng.normal(size=n)
    order = best_first(u)
    models = one_row([order[3], order[-1]], [0.05, 0.5], [0.1, 0.9], 1e-3)
    unseen = np.delete(order[:-1], 3)[:400]
    exact = 0.5 * u[order[-1]] + 0.1 * u[order[3]] + 1e-3 * u[unseen].sum()
    assert interval_value(models, 0, u, order) == pytest.approx(exact, abs=1e-9)


def test_compiled_equals_its_plain_python_body():
    rng = np.random.default_rng(3)
    for _ in range(50):
        models, u = random_set(rng, 6), random_u(rng, 6)
        copy = models.copy()
        assert interval_value(models, 0, u, best_first(u)) == pytest.approx(
            interval_value.py_func(copy, 0, u, best_first(u)), abs=1e-12
        )


def test_a_set_tells_its_sizes_and_keeps_its_pairs_apart():
    bounds = Intervals(
        np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([0.1, 0.5, 0.0]), np.array([0.4, 0.9, 1.0]),
        np.array([0.05, 1.5]),
    )  # fmt: skip
    models = IntervalModels(bounds, np.array([0.1, 0.2]), np.array([0.3, 0.4]), np.array([0.7, 0.8]))
    np.testing.assert_allclose(models.widths(), [0.3 + 0.4 + 0.05, 2.0])
    assert models.n_entries == 3
    lower, upper, other = models.row_bounds(0)
    assert (lower.tolist(), upper.tolist(), other) == ([0.1, 0.5], [0.4, 0.9], 0.05)
    lower, upper, other = models.row_bounds(1)
    assert (lower.tolist(), upper.tolist(), other) == ([0.0], [1.0], 1.0)
    one = models.restrict(np.array([1]))
    assert (one.bounds.succ.tolist(), one.bounds.unseen_upper.tolist(), one.slack.tolist()) == ([1], [1.5], [0.8])
    assert (one.r_lower.tolist(), one.r_upper.tolist()) == ([0.2], [0.4])
    paid = models.with_rewards(np.array([0.5, 0.6]))
    assert (paid.r_lower.tolist(), paid.r_upper.tolist()) == ([0.5, 0.6], [0.5, 0.6])
    plain = models.without_supports()
    assert plain.slack is plain.restrict(np.array([0])).slack is None
    assert type(models.prepare()[1]).__name__ == "GrowingSupport"
    copied = plain.prepare()[1]
    copied.lower[0] = 9.0
    assert bounds.lower[0] == 0.1  # sweeps reorder what they are given


@pytest.mark.parametrize("slack", [None, 0.2])
def test_sweep_after_sweep_values_are_those_of_states_in_decreasing_order(slack):
    """As one sweep follows another the order of the states changes, and maxima are by the order there is."""
    rng, n, mixed = np.random.default_rng(5), 8, 0
    rows = [random_set(rng, n) for _ in range(n)]
    ptr = np.concatenate([[0], np.cumsum([len(row.succ) for row in rows])])
    fields = (
        np.concatenate([getattr(row, name) for row in rows]) for name in ("succ", "lower", "upper", "unseen_upper")
    )
    bounds, reward = Intervals(ptr, *fields).copy(), rng.random(n)
    models = IntervalModels(bounds, reward, reward, None if slack is None else np.full(n, slack))
    for _ in range(20):
        u = rng.normal(size=n)
        q, order = single_sweep(np.arange(n + 1), models, u)().q, best_first(u)
        sets = bounds.copy() if slack is None else GrowingSupport(bounds.copy(), np.full(n, slack))
        value = interval_value if slack is None else support_value
        np.testing.assert_allclose(q, [reward[k] + value(sets, k, u, order) for k in range(n)], atol=1e-12)
        mixed += not np.allclose(q, [reward[k] + value(sets, k, u, np.arange(n)) for k in range(n)])
    assert mixed > 15  # the order matters
