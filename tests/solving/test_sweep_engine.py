"""Sweeps of large blocks: each kernel against its definition, the loop by its ends, whole solutions against others."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.model.mdp import TabularMDP
from equirl.solving import chains, discounted, gain_methods, sweep_engine
from equirl.solving.chains import chain_kind, reachable_block, whole
from equirl.solving.optimal_gain import solve
from equirl.solving.sweep_engine import (
    Aim,
    CompiledEngine,
    chain_space,
    first_order,
    follow_in_order,
    follow_pairs,
    gather,
    modified_sweeps,
    sweep_in_order,
)
from equirl.solving.value_iteration import best_sweep
from equirl.worlds.world_registry import make
from oracles_solving import best_gain, dense_laws, random_mdp

WORLD = random_mdp(np.random.default_rng(3), 7, branching=4)
PART = whole(WORLD)
LAWS = dense_laws(WORLD)
U = np.random.default_rng(4).normal(size=7)


def body(function, plain):
    return function.py_func if plain else function


def first_pairs():
    return WORLD.pairs.ptr[:-1].copy()


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_a_sweep_finds_the_best_values_their_pairs_and_whether_these_changed(discount, plain):
    out, pair = np.empty(7), first_pairs()
    q = WORLD.r_mean + discount * LAWS @ U
    best = [int(a + q[a:b].argmax()) for a, b in zip(WORLD.pairs.ptr[:-1], WORLD.pairs.ptr[1:], strict=True)]
    low, high, changed = body(best_sweep, plain)(PART.model, discount, U, out, pair)
    assert (pair.tolist(), bool(changed)) == (best, best != first_pairs().tolist())
    assert out == pytest.approx(q[best])
    assert (low, high) == pytest.approx(((q[best] - U).min(), (q[best] - U).max()))
    assert not body(best_sweep, plain)(PART.model, discount, U, out, pair)[2]


def test_of_equal_pairs_the_first_is_taken():
    twins = TabularMDP.from_arrays(np.full((2, 3, 2), 0.5), np.full((2, 3), 0.25))
    pair = np.full(2, 1)
    best_sweep(whole(twins).model, 1.0, np.zeros(2), np.empty(2), pair)
    assert pair.tolist() == [0, 3]


@pytest.mark.parametrize("plain", [False, True])
def test_rows_of_a_policy_are_gathered_in_the_order_given(plain):
    chain, pairs = chain_space(PART.model), np.random.default_rng(0).permutation(first_pairs())
    body(gather, plain)(PART.model, pairs, chain)
    for i, k in enumerate(pairs):
        part, own = slice(int(chain.rows.ptr[i]), int(chain.rows.ptr[i + 1])), WORLD.rows.row(k)
        assert chain.rows.succ[part].tolist() == WORLD.rows.succ[own].tolist()
        assert chain.rows.prob[part].tolist() == WORLD.rows.prob[own].tolist()
    assert chain.reward.tolist() == WORLD.r_mean[pairs].tolist()


def gathered(pairs):
    chain = chain_space(PART.model)
    gather(PART.model, pairs, chain)
    return chain


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(("most", "enough"), [(1, 0.0), (5, 0.0), (50, 1e-3), (50, np.inf)])
def test_cheap_sweeps_are_damped_steps_of_the_policy_until_their_bracket_is_enough(most, enough, plain):
    aim, u, pairs = Aim(0.9, 0.7, 0.0, 0.0, 1), U.copy(), first_pairs()
    expected, count = U.copy(), 0
    while count < most:
        change = WORLD.r_mean[pairs] + 0.9 * LAWS[pairs] @ expected - expected
        expected += 0.7 * (change - (change.min() + change.max()) / 2)
        count += 1
        if np.ptp(change) <= enough:
            break
    assert body(follow_pairs, plain)(gathered(pairs), aim, u, np.empty(7), most, enough) == count
    assert u == pytest.approx(expected)


def looped(value, pairs, order, discount):
    """One sweep in order along one pair a state; a step from a state to itself is summed up."""
    for s in order:
        best = -np.inf
        for k in pairs[s]:
            others = LAWS[k] @ value - LAWS[k, s] * value[s]
            best = max(best, (WORLD.r_mean[k] + discount * others) / (1 - discount * LAWS[k, s]))
        value[s] = best
    return value


@pytest.mark.parametrize("plain", [False, True])
def test_a_sweep_in_order_takes_the_newest_values_and_sums_up_what_stays(plain):
    order, u, pair = np.array([3, 0, 6, 1, 5, 2, 4]), U.copy(), np.zeros(7, np.int64)
    every = [range(a, b) for a, b in zip(WORLD.pairs.ptr[:-1], WORLD.pairs.ptr[1:], strict=True)]
    body(sweep_in_order, plain)(PART.model, 0.9, order, u, pair)
    assert u == pytest.approx(looped(U.copy(), every, order, 0.9))
    assert u == pytest.approx(looped(U.copy(), [[k] for k in pair], order, 0.9))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(("width", "visits"), [(7, 14), (4, 4 * 2 + 4 * 2 + 3 * 2), (1, 14), (20, 14)])
def test_stretches_of_states_are_swept_again_each_half_in_the_one_before(width, visits, plain):
    order, u, pairs = np.array([3, 0, 6, 1, 5, 2, 4]), U.copy(), first_pairs()
    found = body(follow_in_order, plain)(gathered(pairs[order]), 0.9, order, u, width, 2, 0.0)
    expected, start = U.copy(), 0
    while True:
        for _ in range(2):
            expected = looped(expected, [[k] for k in pairs], order[start : start + width], 0.9)
        if start + width >= 7:
            break
        start += max(width // 2, 1)
    assert (found, u) == (visits, pytest.approx(expected))


def test_a_stretch_whose_changes_are_small_beside_its_first_is_left():
    order, pairs = np.arange(7), first_pairs()
    assert follow_in_order(gathered(pairs), 0.9, order, U.copy(), 7, 50, 1.0) == 7
    some = follow_in_order(gathered(pairs), 0.9, order, U.copy(), 7, 50, 0.01)
    assert 7 < some < 50 * 7


def test_the_first_order_leads_away_from_where_most_is_paid():
    river = make("riverswim", n_states=5)
    assert first_order(whole(river)).tolist() == [4, 3, 2, 1, 0]
    ends = TabularMDP.from_pairs([(0, 0, {0: 1}, 0.0), (1, 0, {0: 0.5, 2: 0.5}, 0.0), (2, 0, {2: 1}, 1.0)], 3)
    assert first_order(whole(ends)).tolist() == [2, 1, 0]  # last the state that never gets there


def test_half_the_bracket_counts_by_its_weight_and_rounding_by_the_values_meant():
    plain = Aim(0.9, 1.0, 1e-3, 0.0, 1000)
    for aim in (plain, plain._replace(weight=9.0), plain._replace(rounding=1e-5, shift=40.0)):
        engine = CompiledEngine(PART, np.zeros(7))
        n, low, high = modified_sweeps(engine, aim, evaluations=0)
        size = engine.size(aim.shift * (low + high) / 2)
        assert aim.weight * (high - low) / 2 + aim.rounding * (1 + size) <= 1e-3
        before = CompiledEngine(PART, np.zeros(7))
        _, low, high = modified_sweeps(before, aim._replace(max_sweeps=n - 1), evaluations=0)
        size = before.size(aim.shift * (low + high) / 2) + (high - low) / 2
        assert aim.weight * (high - low) / 2 + aim.rounding * (1 + size) > 1e-3


@pytest.mark.parametrize(
    ("aim", "sweeps"),
    [
        (Aim(1.0, 0.8, np.inf, 0.0, 100), 1),
        (Aim(1.0, 0.8, 0.0, 10.0, 100), 1),  # rounding is all there is
        (Aim(1.0, 0.8, 0.0, 0.0, 1), 1),
        (Aim(1.0, 0.8, 0.0, 0.0, 2), 2),
        (Aim(0.9, 1.0, 0.0, 0.0, 30), 30),
        (Aim(0.0, 1.0, 1e-9, 0.0, 30, 0.0, 1.0), 1),  # without a future the first sweep says it all
    ],
)
def test_sweeps_end_by_their_bracket_by_rounding_or_by_their_cap(aim, sweeps):
    engine = CompiledEngine(PART, np.zeros(7))
    done, low, high = modified_sweeps(engine, aim)
    assert done == sweeps
    again = best_sweep(PART.model, aim.discount, engine.u, np.empty(7), np.zeros(7, np.int64))
    assert (low, high) == pytest.approx(again[:2])


def test_without_cheap_sweeps_it_is_value_iteration():
    engine = CompiledEngine(PART, np.zeros(7))
    assert modified_sweeps(engine, Aim(0.9, 1.0, 0.0, 0.0, 4), done=1, evaluations=0)[0] == 4
    u = np.zeros(7)
    for _ in range(2):
        q = WORLD.r_mean + 0.9 * LAWS @ u
        out = np.maximum.reduceat(q, WORLD.pairs.ptr[:-1])
        u += out - u - ((out - u).min() + (out - u).max()) / 2
    assert engine.u == pytest.approx(u)


def test_sizes_are_without_sign_after_the_shift():
    engine = CompiledEngine(PART, np.array([1.0, -3, 0, 0, 0, 0, 2]))
    assert (engine.size(0.0), engine.size(2.0), engine.size(-2.0)) == (3.0, 4.0, 5.0)


@pytest.fixture
def all_are_large(monkeypatch):
    for module in (discounted, gain_methods):
        monkeypatch.setattr(module, "LARGE", 0)


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("method", ["auto", "modified", "value"])
@pytest.mark.parametrize("seed", range(5))
def test_discounted_values_are_those_of_the_loop_for_small_problems(seed, method, monkeypatch):
    mdp = random_mdp(np.random.default_rng(seed), 8)
    found = solve(mdp, discount=0.95, method=method)
    monkeypatch.undo()
    exact = solve(mdp, discount=0.95, method="policy")
    assert found.converged
    assert np.abs(found.value - exact.value).max() <= found.accuracy + exact.accuracy
    assert found.method == ("value" if method == "value" else "modified")


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("seed", range(8))
def test_gains_of_large_problems_agree_with_brute_force(seed):
    mdp = make("random", n_states=5, n_actions=2, branching=2, seed=seed)
    found = solve(mdp)
    assert found.converged
    assert abs(found.gain - best_gain(mdp)[0]) <= found.accuracy + 1e-12


@pytest.mark.usefixtures("all_are_large")
def test_a_slow_grid_is_swept_in_order(monkeypatch):
    grid, rounds = make("four-room", height=40, width=40), []
    exact = solve(grid, discount=0.999, method="policy")
    plain = sweep_engine.rounds_in_order
    monkeypatch.setattr(sweep_engine, "STRETCH", 32)
    monkeypatch.setattr(discounted, "rounds_in_order", lambda *given: (rounds.append(r) or r for r in plain(*given)))
    found = solve(grid, discount=0.999)
    assert rounds
    assert found.converged
    assert found.n_sweeps < 1000
    assert found.method == "modified"
    assert np.abs(found.value - exact.value).max() <= found.accuracy + exact.accuracy


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("rest", [1e-3, 0.6e-4])
def test_rounds_that_do_not_halve_the_bracket_end_and_the_best_is_kept(rest, monkeypatch):
    grid = make("four-room", height=12, width=12)
    out = np.zeros(grid.n_states)

    def rounds(part, discount, v):
        yield 5, 0.0, 1e-4, out
        for _ in range(100):
            yield 5, 0.0, rest, out

    monkeypatch.setattr(discounted, "rounds_in_order", rounds)
    start = discounted._Values(out, 1e9, 7, "modified")
    found = discounted._sweeps_in_order(whole(grid), 0.5, start, discounted.SolverLimits(1e-9, 10**6))
    assert found.bound == pytest.approx(min(rest, 1e-4) / 2, rel=1e-6)
    assert found.n_sweeps == 7 + 5 + 5 * sweep_engine.PATIENCE
    few = discounted._sweeps_in_order(whole(grid), 0.5, start, discounted.SolverLimits(1e-9, 60))
    assert few.n_sweeps == 7 + 5 * 3  # a fourth round might take more than 60


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize("max_sweeps", [1, 2, 51, 99, 120])
@pytest.mark.parametrize("discount", [None, 0.999])
def test_no_more_sweeps_are_made_than_allowed(max_sweeps, discount):
    grid = make("four-room", height=15, width=15)
    found = solve(grid, 1e-12, max_sweeps=max_sweeps, discount=discount)
    assert found.n_sweeps <= max_sweeps
    assert found.accuracy < np.inf


def test_the_structure_of_an_mdp_is_looked_at_once(monkeypatch):
    mdp = make("four-room")
    kind, part = chain_kind(mdp), reachable_block(mdp)
    monkeypatch.setattr(chains, "block_kind", None)
    assert (chain_kind(mdp), reachable_block(mdp) is part) == (kind, True)
    solve(mdp)
    assert mdp == make("four-room")
