import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.estimation.pooling import Spare
from equirl.model.mdp import TabularMDP
from equirl.model.rows import Rows
from equirl.planning.exact_model import ExactModel
from equirl.planning.l1_ball import ConfidenceSet
from equirl.planning.optimistic_planning import (
    Choices,
    Stop,
    choose,
    extended_value_iteration,
    gain_bounds,
    iterate_threaded,
    make_work,
    single_sweep,
)
from equirl.solving.optimal_gain import solve
from oracles import plain_evi
from oracles_best_laws import l1_maximum


def ball(p, radius, u):
    """max q.u over the L1 ball, through one sweep in which every state has one pair with the law p."""
    n, support = len(p), np.flatnonzero(p)
    rows = Rows(np.arange(n + 1) * len(support), np.tile(support, n).astype(np.int32), np.tile(p[support], n))
    models = ConfidenceSet(rows, np.full(n, radius), np.zeros(n), np.zeros(n))
    return one_sweep(models, u)[0]


def one_sweep(models, u):
    """q after one sweep in which state s has the one pair s."""
    n = len(u)
    work = make_work(u.copy(), models.r_upper)
    solver, rows = models.prepare()
    solver.sweep(Choices(np.arange(n), np.arange(1, n + 1)), rows, work, Stop(1.0, 0.0, 1, 0), u.max(), 0.0)
    return work.q


def test_the_inner_maximum_is_certified_by_a_law_and_a_multiplier_on_a_thousand_cases():
    rng = np.random.default_rng(0)
    for case in range(1000):
        n = int(rng.integers(1, 9))
        p = rng.dirichlet(np.full(n, 0.5)) * (rng.random(n) < 0.7)
        p = p / p.sum() if p.sum() > 0 else np.eye(n)[0]
        u = rng.normal(size=n) if case % 3 else rng.integers(0, 3, n).astype(float)
        radius = float(rng.choice([0.0, 2.0, 3.0, *rng.random(5) * 2]))
        low, high = l1_maximum(p, min(radius, 2.0), u)
        assert low - 1e-12 <= ball(p, radius, u) <= high + 1e-12


def test_long_rows_are_sorted_only_as_far_as_needed_and_rightly():
    rng = np.random.default_rng(1)
    for n in (50, 400):
        p, u = rng.dirichlet(np.ones(n)), rng.normal(size=n)
        for radius in (0.1, 0.9, 1.7):
            order, left, value = np.argsort(u), radius / 2, p @ u + radius / 2 * u.max()
            for x in order:
                part = min(left, p[x])
                value, left = value - part * u[x], left - part
            assert ball(p, radius, u) == pytest.approx(value, abs=1e-12)


@given(st.integers(0, 10**6))
def test_spare_masses_go_to_the_best_unobserved_states(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    mass = np.sort(rng.dirichlet(np.ones(n)))[::-1]
    seen = rng.permutation(n)[: rng.integers(1, n)]
    u, radius = rng.normal(size=n), float(rng.random() * 2)
    law = np.zeros(n)
    law[seen] = mass[: len(seen)]
    unseen = [x for x in np.argsort(-u) if x not in seen]
    law[unseen] = mass[len(seen) :]
    k = len(seen)
    rows = Rows(np.arange(n + 1) * k, np.tile(seen, n).astype(np.int32), np.tile(mass[:k], n))
    spare = Spare(np.arange(n + 1) * (n - k), np.tile(mass[k:], n)) if k < n else None
    models = ConfidenceSet(rows, np.full(n, radius), np.zeros(n), np.zeros(n), spare)
    low, high = l1_maximum(law, radius, u)
    assert low - 1e-12 <= one_sweep(models, u).min() <= one_sweep(models, u).max() <= high + 1e-12


def random_models(rng, n_states, n_actions, scale=1.0):
    """A random MDP and a confidence set around it that holds it."""
    laws = rng.dirichlet(np.full(n_states, 0.3), size=(n_states, n_actions))
    laws[laws < 0.02] = 0
    laws /= laws.sum(-1, keepdims=True)
    mdp = TabularMDP.from_arrays(laws, rng.random((n_states, n_actions)))
    radius = scale * rng.random(mdp.n_pairs)
    upper = np.minimum(1, mdp.r_mean + scale * 0.2 * rng.random(mdp.n_pairs))
    lower = np.maximum(0, mdp.r_mean - scale * 0.2 * rng.random(mdp.n_pairs))
    return mdp, laws.reshape(-1, n_states), ConfidenceSet(mdp.rows, radius, lower, upper)


@pytest.mark.parametrize("seed", range(12))
def test_sparse_planning_agrees_with_dense_planning(seed):
    rng = np.random.default_rng(seed)
    mdp, laws, models = random_models(rng, int(rng.integers(1, 9)), int(rng.integers(1, 4)))
    q, gain, bias, n_sweeps = plain_evi(mdp.pairs.ptr, laws, models.p_radius, models.r_upper, 1e-4)
    plan = extended_value_iteration(mdp.pairs.ptr, models, 1e-4)
    assert plan.n_sweeps == n_sweeps
    assert plan.gain == pytest.approx(gain, abs=1e-9)
    np.testing.assert_allclose(plan.bias, bias, atol=1e-9)
    for s, k in enumerate(plan.policy):
        assert q[k] == pytest.approx(q[mdp.pairs.ptr[s] : mdp.pairs.ptr[s + 1]].max())


@pytest.mark.parametrize("seed", range(10))
def test_without_radii_planning_is_value_iteration(seed):
    mdp, _, models = random_models(np.random.default_rng(seed), 6, 3, scale=0.0)
    plan = extended_value_iteration(mdp.pairs.ptr, models, 1e-9)
    assert plan.gain == pytest.approx(solve(mdp).gain, abs=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_the_planned_gain_is_optimistic_where_the_truth_is_plausible(seed):
    mdp, _, models = random_models(np.random.default_rng(seed), 5, 2)
    accuracy = 0.01
    assert extended_value_iteration(mdp.pairs.ptr, models, accuracy).gain >= solve(mdp).gain - accuracy / 2


def test_a_free_law_leads_to_the_best_state():
    rows = Rows(np.array([0, 0, 1]), np.array([1], np.int32), np.array([1.0]))
    models = ConfidenceSet(rows, np.array([2.0, 0.0]), np.zeros(2), np.array([0.0, 1.0]))
    plan = extended_value_iteration(np.array([0, 1, 2]), models, 1e-9)
    assert plan.gain == pytest.approx(1.0)


def test_the_cap_on_sweeps_is_an_outcome():
    mdp = TabularMDP.from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], [[0.0], [1.0]])  # period two: never settles
    models = ConfidenceSet(mdp.rows, np.zeros(2), mdp.r_mean, mdp.r_mean)
    plan = extended_value_iteration(mdp.pairs.ptr, models, 1e-3, max_sweeps=500)
    assert not plan.converged
    assert plan.n_sweeps == 500
    assert plan.span == pytest.approx(1.0)


def test_planning_in_pieces_is_planning_at_once(monkeypatch):
    mdp, _, models = random_models(np.random.default_rng(3), 7, 2, scale=0.2)
    whole = extended_value_iteration(mdp.pairs.ptr, models, 1e-6)
    monkeypatch.setattr("equirl.planning.optimistic_planning.LOOKUPS_AT_ONCE", 1)
    pieces = extended_value_iteration(mdp.pairs.ptr, models, 1e-6)
    assert whole.n_sweeps == pieces.n_sweeps
    np.testing.assert_allclose(whole.bias, pieces.bias, atol=1e-12)
    assert whole.gain == pytest.approx(pieces.gain, abs=1e-12)


@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_one_sweep_is_the_optimistic_operator_of_every_pair_and_leaves_u_alone(discount):
    rng = np.random.default_rng(5)
    mdp, _, models = random_models(rng, 6, 3, scale=0.3)
    u = rng.random(6) + 1.0
    before = u.copy()
    sweep = single_sweep(mdp.pairs.ptr, models, u, discount)
    for _ in range(2):  # each from u
        work = sweep()
        for k in range(18):
            row, law = models.rows.row(k), np.zeros(6)
            law[models.rows.succ[row]] = models.rows.prob[row]
            low, high = l1_maximum(law, min(models.p_radius[k], 2.0), u)
            assert discount * low - 1e-9 <= work.q[k] - models.r_upper[k] <= discount * high + 1e-9
        np.testing.assert_array_equal(work.out, work.q.reshape(6, 3).max(axis=1))
    np.testing.assert_array_equal(u, before)


def test_ties_between_actions_fall_where_the_coin_says():
    q, out = np.array([1.0, 1.0 - 1e-14, 0.5, 2.0]), np.empty(2, np.int64)
    ptr = np.array([0, 3, 4])
    for coin, pair in ((0.0, 0), (0.49, 0), (0.5, 1), (0.999, 1)):
        choose(ptr, q, 1e-12, np.full(2, coin), out)
        assert out.tolist() == [pair, 3]


@pytest.mark.parametrize("seed", range(10))
def test_a_warm_start_certifies_the_same(seed):
    mdp, _, models = random_models(np.random.default_rng(seed), 8, 2)
    cold = extended_value_iteration(mdp.pairs.ptr, models, 1e-3)
    warm = extended_value_iteration(mdp.pairs.ptr, models, 1e-3, start=cold.bias)
    assert warm.n_sweeps == 1
    assert abs(warm.gain - cold.gain) <= 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_cheap_sweeps_along_a_policy_certify_the_same(seed):
    rng = np.random.default_rng(seed)
    mdp, _, models = random_models(rng, 12, 3, scale=float(rng.random()))
    plain = extended_value_iteration(mdp.pairs.ptr, models, 1e-5)
    fast = extended_value_iteration(mdp.pairs.ptr, models, 1e-5, policy_sweeps=30)
    assert fast.converged
    assert abs(fast.gain - plain.gain) <= 1e-5
    assert fast.n_sweeps <= plain.n_sweeps


def test_cheap_sweeps_that_do_not_help_are_given_up():
    mdp = TabularMDP.from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], [[0.0], [1.0]])
    models = ConfidenceSet(mdp.rows, np.zeros(2), mdp.r_mean, mdp.r_mean)
    plan = extended_value_iteration(mdp.pairs.ptr, models, 1e-3, policy_sweeps=30, max_sweeps=500)
    assert not plan.converged
    assert plan.n_sweeps == 500


@pytest.mark.parametrize("policy_sweeps", [0, 10])
@pytest.mark.parametrize("threads", [2, 3, 50])
def test_threads_share_the_work_and_change_no_bit(threads, policy_sweeps):
    mdp, _, models = random_models(np.random.default_rng(threads), 17, 3, scale=0.3)
    alone = extended_value_iteration(mdp.pairs.ptr, models, 1e-6, policy_sweeps=policy_sweeps)
    shared = extended_value_iteration(mdp.pairs.ptr, models, 1e-6, policy_sweeps=policy_sweeps, threads=threads)
    assert (alone.gain, alone.span, alone.n_sweeps) == (shared.gain, shared.span, shared.n_sweeps)
    np.testing.assert_array_equal(alone.bias, shared.bias)
    np.testing.assert_array_equal(alone.policy, shared.policy)


def test_whole_rounds_of_a_cycle_are_counted_and_not_swept_by_threads_either():
    mdp = TabularMDP.from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], [[0.0], [1.0]])
    models = ConfidenceSet(mdp.rows, np.zeros(2), mdp.r_mean, mdp.r_mean)
    (solver, rows), ptr, swept = models.prepare(), np.arange(3), []
    counted = solver._replace(sweep=lambda *call: swept.append(1) or solver.sweep(*call))
    for threads, run in ((1, solver.iterate), (2, lambda *call: iterate_threaded(counted, *call, 2))):
        work = make_work(np.zeros(2), mdp.r_mean)
        found = run(Choices(ptr[:-1].copy(), ptr[1:].copy()), rows, work, Stop(1.0, 1e-3, 10**6, 0))
        assert (found, work.u.tolist()) == ((10**6, 0.0, 1.0), [0.0, 1.0]), threads
    assert len(swept) < 200  # two a sweep


@pytest.mark.parametrize("seed", range(10))
def test_bounds_on_a_policy_hold_its_gain_in_every_plausible_model(seed):
    rng = np.random.default_rng(seed)
    mdp, laws, models = random_models(rng, 5, 2, scale=0.4)
    policy = mdp.pairs.ptr[:-1] + rng.integers(0, 2, 5)
    low, high = gain_bounds(models, policy, 1e-3)
    for _ in range(20):  # models drawn inside the set
        other = rng.dirichlet(np.ones(5), size=10)
        weight = np.minimum(1, models.p_radius / np.maximum(1e-9, np.abs(other - laws).sum(1)))[:, None]
        inside = laws + weight * rng.random((10, 1)) * (other - laws)
        means = models.r_lower + rng.random(10) * (models.r_upper - models.r_lower)
        P, r = inside[policy], means[policy]
        law = np.linalg.lstsq(np.vstack([P.T - np.eye(5), np.ones(5)]), np.append(np.zeros(5), 1), rcond=None)[0]
        assert low - 1e-9 <= law @ r <= high + 1e-9


def problem(mdp, models):
    """Kernels and arrays for a whole iteration."""
    solver, rows = models.prepare()
    ptr = mdp.pairs.ptr
    return solver, Choices(ptr[:-1].copy(), ptr[1:].copy()), rows, make_work(np.zeros(4), models.r_upper)


def test_compiled_planning_equals_its_plain_python_body():
    mdp, _, models = random_models(np.random.default_rng(5), 4, 2)
    results = []
    for plain in (False, True):
        solver, choices, rows, work = problem(mdp, models)
        run = solver.iterate.py_func if plain else solver.iterate
        outcome = run(choices, rows, work, Stop(1.0, 1e-4, 1000, 0))
        results.append((*outcome, *work.u, *work.out, *work.q))
    assert results[0] == pytest.approx(results[1], abs=1e-12)


def test_u_does_not_drift_however_long_planning_takes():
    mdp, _, models = random_models(np.random.default_rng(6), 4, 2, scale=0.1)
    solver, choices, rows, work = problem(mdp, models)
    n, *_ = solver.iterate(choices, rows, work, Stop(1.0, -1.0, 3000, 0))
    assert n == 3000
    assert np.abs(work.u).max() < 100


def a_ring(n_states):
    """A ring of states with one reward: values that run in a circle."""
    laws = np.roll(np.eye(n_states), 1, axis=1)[:, None]
    mdp = TabularMDP.from_arrays(laws, np.eye(n_states)[:, :1])
    return mdp, ExactModel(mdp.rows, np.zeros(n_states), mdp.r_mean, mdp.pairs.state, 0.0)


@pytest.mark.parametrize("n_states", [2, 3, 5, 11])
@pytest.mark.parametrize("max_sweeps", [1, 7, 30, 99, 100, 101, 250])
def test_rounds_of_a_circle_that_are_not_done_leave_what_they_would_have(n_states, max_sweeps, monkeypatch):
    mdp, models = a_ring(n_states)
    skipping = extended_value_iteration(mdp.pairs.ptr, models, 1e-3, max_sweeps=max_sweeps)
    monkeypatch.setattr("equirl.planning.optimistic_planning.LOOKUPS_AT_ONCE", 1)  # one sweep a call: no circle
    stepping = extended_value_iteration(mdp.pairs.ptr, models, 1e-3, max_sweeps=max_sweeps)
    assert skipping.n_sweeps == stepping.n_sweeps == max_sweeps
    np.testing.assert_array_equal(skipping.bias, stepping.bias)
    assert (skipping.gain, skipping.span) == (stepping.gain, stepping.span)


@pytest.mark.parametrize("policy_sweeps", [0, 1])
def test_a_circle_is_counted_and_not_done(policy_sweeps):
    mdp, models = a_ring(5)
    solver, rows = models.prepare()
    ptr = np.array(mdp.pairs.ptr)
    work = make_work(np.zeros(5), models.r_upper)
    n, low, high = solver.iterate(Choices(ptr[:-1], ptr[1:]), rows, work, Stop(1.0, 1e-3, 10**15, policy_sweeps))
    assert (n, low, high) == (10**15, 0.0, 1.0)


def test_a_model_without_radius_is_planned_in_as_a_ball_of_radius_zero():
    mdp, _, models = random_models(np.random.default_rng(7), 6, 3)
    sure = models._replace(p_radius=np.zeros(mdp.n_pairs))
    none = np.zeros(mdp.n_pairs)
    exact = ExactModel(models.rows, none, models.r_upper, mdp.pairs.state.copy(), 0.0)
    one, other = (extended_value_iteration(mdp.pairs.ptr, each, 1e-9) for each in (sure, exact))
    assert one.gain == pytest.approx(other.gain, abs=1e-9)
    np.testing.assert_array_equal(one.policy, other.policy)


def test_mass_left_to_chance_and_staying_put_count_as_if_they_were_written_out():
    rng = np.random.default_rng(8)
    mdp, laws, models = random_models(rng, 5, 2)
    rest, stay = rng.random(mdp.n_pairs) * 0.5, 0.3
    state = mdp.pairs.state.copy()
    row = np.repeat(np.arange(mdp.n_pairs), np.diff(models.rows.ptr))
    less = models.rows._replace(prob=models.rows.prob * (1 - rest[row]))
    exact = ExactModel(less, rest, models.r_upper, state, stay)
    whole = laws * (1 - rest[:, None]) + rest[:, None] / 5
    whole = (1 - stay) * whole + stay * np.eye(5)[state]
    everywhere = np.tile(np.arange(5), mdp.n_pairs).astype(np.int32)
    full = Rows(np.arange(mdp.n_pairs + 1) * 5, everywhere, whole.ravel())
    dense = ExactModel(full, np.zeros(mdp.n_pairs), models.r_upper, state, 0.0)
    one, other = (extended_value_iteration(mdp.pairs.ptr, each, 1e-9) for each in (exact, dense))
    assert one.gain == pytest.approx(other.gain, abs=1e-9)
    np.testing.assert_allclose(one.bias, other.bias, atol=1e-6)


def test_the_rewards_of_an_exact_model_are_bounded_by_themselves():
    rows = Rows(np.array([0, 1]), np.array([0], np.int32), np.ones(1))
    model = ExactModel(rows, np.zeros(1), np.array([0.25]), np.zeros(1, np.int64), 0.0)
    assert (model.r_lower.tolist(), model.r_upper.tolist(), model.n_entries) == ([0.25], [0.25], 1)
