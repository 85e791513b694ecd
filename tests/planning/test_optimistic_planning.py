"""The pieces of planning in a set of models: what is asked of its kernels, and each small kernel by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.planning import optimistic_planning
from equirl.planning.l1_ball import ConfidenceSet
from equirl.planning.optimistic_planning import (
    CHEAP_UNTIL,
    LONGEST_CYCLE,
    Choices,
    Solver,
    Stop,
    _parts,
    choose,
    copy_into,
    cycle_length,
    extended_value_iteration,
    first_best,
    follow,
    gain_bounds,
    is_met,
    largest,
    make_work,
    sort_by_u,
    value_bounds,
)
from equirl.worlds.world_registry import make

PTR = np.array([0, 2, 3])


class Scripted:
    """A set of models whose kernels note what they are asked and answer as they are told: sweeps, bracket, u'."""

    r_upper = np.array([0.5, 0.25, 1.0])
    n_entries = 7

    def __init__(self, *answers, follow=None):
        self.answers, self.stops, self.starts, self.follow = list(answers), [], [], follow

    def prepare(self):
        return Solver(self.iterate, None, self.follow), None

    def iterate(self, choices, rows, work, stop):
        assert (choices.first.tolist(), choices.last.tolist()) == ([0, 2], [2, 3])
        self.stops.append(stop)
        self.starts.append(work.u.tolist())
        n, low, high, work.out[:] = self.answers.pop(0)
        work.q[:] = [1.0, 1.0 + 1e-13, 3.0]
        return n or stop.max_sweeps, low, high


def test_pieces_go_on_from_where_the_last_ended_until_the_accuracy_or_the_cap(monkeypatch):
    monkeypatch.setattr(optimistic_planning, "LOOKUPS_AT_ONCE", 45)  # 4 sweeps of 7 entries and 3 pairs
    models = Scripted((None, 0.0, 1.0, [3.0, 5.0]), (3, 0.25, 0.5, [2.0, 1.0]))
    plan = extended_value_iteration(PTR, models, 0.25)
    assert models.stops == [Stop(1.0, 0.25, 4, 0)] * 2
    assert models.starts == [[0.0, 0.0], [0.0, 2.0]]
    assert (plan.n_sweeps, plan.gain, plan.span, plan.converged) == (7, 0.375, 0.25, True)
    assert plan.bias.tolist() == [0.0, 2.0]
    models = Scripted((None, 0.0, 1.0, [3.0, 5.0]), (None, 0.0, 1.0, [3.0, 5.0]))
    plan = extended_value_iteration(PTR, models, 0.25, max_sweeps=6)
    assert [stop.max_sweeps for stop in models.stops] == [4, 2]
    assert (plan.n_sweeps, plan.converged) == (6, False)
    assert extended_value_iteration(PTR, Scripted((None, 0.0, 1.0, [3.0, 5.0])), 0.25, max_sweeps=4).n_sweeps == 4


@pytest.mark.parametrize(
    ("lookups", "cheap", "at_once"), [(10_000, 5, 200), (200, 5, 10), (10**9, 5, CHEAP_UNTIL), (9, 0, 1)]
)
def test_fewer_sweeps_are_asked_for_at_once_where_cheap_ones_come_between(lookups, cheap, at_once, monkeypatch):
    monkeypatch.setattr(optimistic_planning, "LOOKUPS_AT_ONCE", lookups)
    models = Scripted((1, 0.0, 0.0, [0.0, 0.0]))
    extended_value_iteration(PTR, models, 0.25, policy_sweeps=cheap, discount=0.5)
    assert models.stops == [Stop(0.5, 0.25, at_once, cheap)]


def test_cheap_sweeps_are_given_up_after_some_patience():
    models = Scripted(*[(n, 0.0, 1.0, [0.0, 0.0]) for n in (CHEAP_UNTIL - 1, 1, 1)], (1, 0.0, 0.0, [0.0, 0.0]))
    extended_value_iteration(PTR, models, 0.25, policy_sweeps=5)
    assert [stop.policy_sweeps for stop in models.stops] == [5, 5, 0, 0]


def test_a_start_is_moved_to_minimum_zero_and_left_alone_and_the_gain_is_that_of_the_bias():
    start = np.array([3.0, 5.0])
    models = Scripted((1, 0.25, 0.5, [0.0, 0.0]))
    plan = extended_value_iteration(PTR, models, 0.25, start=start, discount=0.9)
    assert (start.tolist(), models.starts, plan.bias.tolist()) == ([3.0, 5.0], [[0.0, 2.0]], [0.0, 2.0])
    assert plan.gain == pytest.approx(0.375)


def test_of_actions_within_rounding_of_the_best_the_coin_chooses():
    for coin, expected in ((None, [0, 2]), (np.array([0.7, 0.7]), [1, 2]), (np.array([0.2, 0.9]), [0, 2])):
        models = Scripted((1, 0.0, 0.0, [0.0, 0.0]))
        assert extended_value_iteration(PTR, models, 0.25, coin=coin).policy.tolist() == expected


@pytest.mark.parametrize(("threads", "offered", "shared"), [(1, True, False), (2, True, True), (2, False, False)])
def test_threads_share_sweeps_only_where_the_set_offers_it(threads, offered, shared, monkeypatch):
    asked = []
    monkeypatch.setattr(
        optimistic_planning, "iterate_threaded", lambda *call: asked.append(call[-1]) or (1, 0.0, 0.0)
    )  # fmt: skip
    models = Scripted((1, 0.0, 0.0, [0.0, 0.0]), follow=print if offered else None)
    extended_value_iteration(PTR, models, 0.25, threads=threads)
    assert (asked, len(models.stops)) == (([2], 0) if shared else ([], 1))


def test_states_are_shared_in_runs_of_about_equally_many_successors():
    rng = np.random.default_rng(0)
    for threads in (2, 3, 5, 40):
        sizes = rng.integers(1, 9, 30)
        ptr, first = np.concatenate([[0], np.cumsum(sizes)]), np.arange(0, 30, 2)
        work = make_work(np.arange(15.0), np.zeros(30))
        parts = _parts(Choices(first, first + 2), ptr, work, threads)
        assert np.concatenate([choices.first for choices, _ in parts]).tolist() == first.tolist()
        assert np.concatenate([choices.last for choices, _ in parts]).tolist() == (first + 2).tolist()
        assert np.concatenate([own.own for _, own in parts]).tolist() == work.u.tolist()
        assert all(np.shares_memory(own.out, work.out) and own.u is work.u for _, own in parts)
        loads = [int((sizes[c.first] + sizes[c.first + 1] + 2).sum()) for c, _ in parts]
        assert len(parts) <= threads
        assert max(loads) <= sum(loads) / threads + 18  # at most one state more than its share


def test_the_arrays_of_sweeps_have_room_for_earlier_values_within_reason():
    small, large = make_work(np.zeros(4), np.array([0.5, 0.2])), make_work(np.zeros(10**6), np.zeros(1))
    assert (small.met.shape, large.met.shape) == ((LONGEST_CYCLE, 6), (2, 10**6 + 2))
    assert np.isnan(small.met[:, 4]).all()
    assert (small.u is small.own, small.by_u.tolist(), small.reward.tolist()) == (True, [0, 1, 2, 3], [0.5, 0.2])
    assert (len(small.out), len(small.q), len(small.best), len(small.after)) == (4, 2, 4, 4)


@pytest.mark.parametrize("plain", [False, True])
def test_values_that_came_up_before_are_known_with_the_sweep_in_which_they_did(plain):
    run = cycle_length.py_func if plain else cycle_length
    work = make_work(np.array([1.0, 2.0]), np.zeros(2))
    assert run(work, 3, 0.5) == 0
    assert run(work, 7, 0.25) == 0  # another span
    work.u[1] = 2.5
    assert run(work, 8, 0.5) == 0  # other values
    work.u[1] = 2.0
    assert run(work, 9, 0.5) == 6
    work.u[:] = 0.0
    assert run(work, 3 + LONGEST_CYCLE, 1.0) == 0  # takes the place of the first
    work.u[:] = [1.0, 2.0]
    assert run(work, 40, 0.5) == 0
    assert run(work, 41, 0.25) == 34


@pytest.mark.parametrize("plain", [False, True])
def test_small_kernels_do_what_they_say(plain):
    def of(kernel):
        return kernel.py_func if plain else kernel

    work = make_work(np.array([1.0, 2.0, 3.0]), np.zeros(6))
    work.met[1, :3] = [1.0, 2.0, 3.0]
    assert of(is_met)(work, 1)
    for s in range(3):
        work.met[0, :3] = [1.0, 2.0, 3.0]
        work.met[0, s] += 0.5
        assert not of(is_met)(work, 0)
    assert [of(largest)(np.array(u)) for u in ([-3.0, -1.0, -2.0], [5.0], [1.0, 0.0])] == [-1.0, 5.0, 1.0]
    work.q[:] = [0.0, 1.0, 5.0, 5.0, 2.0, 1.0]
    of(first_best)(Choices(np.array([0, 2, 4]), np.array([2, 4, 6])), work)
    assert (work.best.tolist(), work.after.tolist()) == ([1, 2, 4], [2, 3, 5])
    out = np.zeros(3)
    of(copy_into)(work.u, out)
    assert out.tolist() == [1.0, 2.0, 3.0]
    rng = np.random.default_rng(2)
    for n in (1, 2, 7):
        u, by_u = rng.permutation(n).astype(float), rng.permutation(n)
        of(sort_by_u)(u, by_u)
        assert u[by_u].tolist() == sorted(u, reverse=True)
    tied = np.array([3, 1, 0, 2])
    of(sort_by_u)(np.zeros(4), tied)
    assert tied.tolist() == [3, 1, 0, 2]  # equal values stay as they are
    for coin, pair in ((0.0, 0), (0.34, 1), (0.67, 3), (0.99, 3)):
        chosen = np.empty(1, np.int64)
        of(choose)(np.array([0, 4]), np.array([1.0, 0.5, 0.4, 0.5]), 0.5, np.array([coin]), chosen)
        assert chosen[0] == pair


def test_cheap_sweeps_follow_the_best_pairs_until_they_are_twice_as_accurate():
    work, asked = make_work(np.zeros(2), np.zeros(3)), []
    work.q[:] = [0.0, 1.0, 2.0]
    spans = [1.0, 0.2, 0.1, 0.05]

    def cheap(choices, models, work, stop, u_max, shift):
        asked.append((choices.first.tolist(), choices.last.tolist(), u_max, shift))
        span = spans.pop(0)
        work.out[:] = [span, 10 + span]
        return 0.0, span, span, 10 + span

    stop = Stop(1.0, 0.2, 100, 9)
    assert follow.py_func(cheap, Choices(PTR[:-1], PTR[1:]), None, work, stop, -1.0, 7.0) == (0.1, 10.1)
    assert asked == [([1, 2], [2, 3], 7.0, -1.0), ([1, 2], [2, 3], 11.0, 1.0), ([1, 2], [2, 3], 10.2, 0.2)]
    assert work.u.tolist() == [0.1, 10.1]


@pytest.mark.parametrize("max_sweeps", [1, 3, 10**4])
def test_bounds_on_values_hold_those_of_the_estimate_and_are_those_of_it_alone_without_radii(max_sweeps):
    mdp = make("random", n_states=5, n_actions=2, branching=3, seed=3)
    laws, means = mdp.to_arrays()
    policy = mdp.pairs.ptr[:-1] + np.array([0, 1, 0, 1, 1])
    P, r = laws.reshape(10, 5)[policy], means.ravel()[policy]
    exact = np.linalg.solve(np.eye(5) - 0.8 * P, r)
    gain = np.linalg.matrix_power((P + np.eye(5)) / 2, 4000)[0] @ r
    for radius in (0.0, 0.2):
        models = ConfidenceSet(mdp.rows, np.full(10, radius), mdp.r_mean - radius / 4, mdp.r_mean + radius / 4)
        low, high = value_bounds(models, policy, 1e-9, 0.8, max_sweeps)
        assert (low <= exact + 1e-9).all()
        assert (high >= exact - 1e-9).all()
        assert (low >= 0).all()
        assert (high <= 5 + 1e-9).all()
        least, most = gain_bounds(models, policy, 1e-9, max_sweeps)
        assert 0 <= least <= gain + 1e-9
        assert gain - 1e-9 <= most <= 1
        if max_sweeps == 10**4 and radius == 0.0:
            np.testing.assert_allclose([low, high], [exact, exact], atol=1e-7)
            assert (least, most) == pytest.approx((gain, gain), abs=1e-8)
        elif max_sweeps == 10**4:
            assert (high - low > 0.1).all()
