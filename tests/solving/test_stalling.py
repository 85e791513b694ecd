"""Problems on which sweeps stall: slow chains, sticky chains, rivers and grids too long to cross a step per sweep."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from equirl.model.mdp import TabularMDP
from equirl.solving import gain_methods, optimal_gain, renewal
from equirl.solving.chains import approach, whole
from equirl.solving.gain_methods import directed_policy_iteration
from equirl.solving.multichain import NoConstantGain
from equirl.solving.optimal_gain import UncertifiedGain, certified_solution, solve
from equirl.solving.policies import Policy
from equirl.solving.renewal import TooMuchFill, factor, fill, fill_reducing_order
from equirl.solving.value_iteration import SolverLimits
from equirl.worlds.world_registry import make
from oracles_solving import cycle, policies, restarting_chain, sticky_pair, sticky_rooms, two_ends


@pytest.mark.parametrize("rare", [1e-5, 1e-9, 1e-12, 1e-100])
def test_two_states_left_once_in_ages_have_the_gain_of_their_balance(rare: float) -> None:
    answer = solve(sticky_pair(rare))
    assert answer.gain == pytest.approx(1 / 3, abs=1e-8)
    assert answer.converged
    assert certified_solution(sticky_pair(rare)).gain == answer.gain


@pytest.mark.parametrize("method", ["auto", "policy"])
@pytest.mark.parametrize("rare", [1e-6, 1e-13, 1e-20])
def test_rooms_crossed_once_in_ages_have_the_gain_of_the_best_policy(rare: float, method: str) -> None:
    mdp = sticky_rooms(np.random.default_rng(5), 3, rare)
    best = max(Policy(mdp, mdp.pairs.action[pair]).gain for pair in policies(mdp))
    answer = solve(mdp, method=method)
    assert abs(answer.gain - best) <= max(answer.accuracy, 1e-14)
    assert answer.converged
    assert Policy(mdp, answer.policy).gain == pytest.approx(best, abs=1e-8)


def test_a_bracket_from_differences_holds_where_the_bias_has_no_digits_left() -> None:
    mdp = sticky_rooms(np.random.default_rng(6), 4, 1e-14)
    part = whole(mdp)
    answer = gain_methods.elimination_policy_iteration(part, part.pair_ptr[:-1].copy(), SolverLimits(1e-12, 100))
    best = max(Policy(mdp, mdp.pairs.action[pair]).gain for pair in policies(mdp))
    assert answer is not None
    assert answer.low - 1e-15 <= best <= answer.high + 1e-15
    assert answer.high - answer.low < 1e-12


def test_a_chain_that_restarts_from_everywhere_is_solved_exactly() -> None:
    n, restart = 4000, 1e-5
    answer = solve(restarting_chain(n, restart))
    go = 1 - restart
    fast = sum(go**s for s in range(n - 1)) / go ** (n - 1) + 1  # renewal: mean time between two payments
    assert answer.converged
    assert answer.n_sweeps < 5000
    assert answer.gain == pytest.approx(1 / fast, rel=1e-9)


def test_a_long_river_is_solved() -> None:
    answer = solve(make("riverswim", n_states=10**5))
    assert answer.gain == pytest.approx(0.875, abs=1e-8)
    assert answer.converged
    assert answer.n_sweeps < 1000


def test_a_bias_of_millions_does_not_blur_the_gain() -> None:
    n = 4000  # against the stream: the way out takes n^2 steps, and 4 eps n^2 is more than the accuracy
    walk = [(s, 0, {s + 1: 0.5, max(s - 1, 0): 0.5}, 0.0) for s in range(n - 1)]
    answer = solve(TabularMDP.from_pairs([*walk, (n - 1, 0, {n - 1: 1.0}, 1.0)], n))
    assert answer.span > 1e7
    assert answer.converged
    assert abs(answer.gain - 1) <= answer.accuracy


@pytest.mark.parametrize("world", ["riverswim", "four-room", "two-room", "random", "planted", "grid"])
def test_large_problems_are_solved_as_small_ones_are(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make(world)
    small = solve(mdp)
    monkeypatch.setattr(gain_methods, "LARGE", 0)
    monkeypatch.setattr(gain_methods, "LARGE_SWEEPS", 5)
    monkeypatch.setattr(gain_methods, "FIRST_SWEEPS", 10)
    large = solve(mdp)
    assert large.converged
    assert abs(large.gain - small.gain) <= small.accuracy + large.accuracy


def test_policy_iteration_towards_the_goal_of_a_grid_takes_few_policies() -> None:
    part = whole(make("four-room", height=60, width=60))
    answer = directed_policy_iteration(part, np.zeros(part.n_states), SolverLimits(1e-8, 10**5))
    assert answer is not None
    assert answer.accuracy < 1e-10
    assert answer.n_sweeps < 2000
    assert abs((answer.low + answer.high) / 2 - solve(make("four-room", height=60, width=60)).gain) < 1e-10


def test_no_policy_heads_for_a_state_out_of_reach() -> None:
    part = whole(two_ends())
    assert approach(part, np.array([False, True, False])) is None
    assert directed_policy_iteration(part, np.zeros(3), SolverLimits(1e-8, 10)) is None


# Factors and what they cost


def test_the_fill_counted_is_the_fill_of_elimination() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(2, 15))
        system = sparse.csc_array(np.where(rng.random((n, n)) < 0.2, -0.01, 0.0) + np.eye(n))
        place = fill_reducing_order(system)
        full = np.zeros((n, n), bool)
        full[np.ix_(place, place)] = (system + system.T).toarray() != 0
        for k in range(n):
            later = np.flatnonzero(full[k + 1 :, k]) + k + 1
            full[np.ix_(later, later)] = True
        assert fill(system, place)[0] == np.tril(full, -1).sum()


@pytest.mark.parametrize("trans", ["N", "T"])
def test_ordered_factors_solve_what_plain_ones_solve(trans: str) -> None:
    chain = whole(make("four-room")).matrix()[::4]
    free = np.full(chain.shape[0], 0.9)
    right = np.random.default_rng(0).random(len(free))
    one, two = factor(chain, free).solve(right, trans), factor(chain, free, ordered=True).solve(right, trans)
    np.testing.assert_allclose(one, two, rtol=1e-10)


def test_factors_that_fill_too_much_are_refused_and_value_iteration_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make("four-room", height=30, width=30)
    monkeypatch.setattr(renewal, "MOST_WORK", 10.0)
    with pytest.raises(TooMuchFill, match="LU factors of a chain of"):
        factor(whole(mdp).matrix()[::4], np.ones(mdp.n_states), ordered=True)
    monkeypatch.setattr(gain_methods, "LARGE", 0)
    monkeypatch.setattr(gain_methods, "MOST_DENSE", 0)
    answer = solve(mdp)
    assert (answer.method, answer.converged) == ("value", True)


# The gain to measure regret against


def test_a_gain_that_is_not_certain_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def few_sweeps(mdp: TabularMDP) -> optimal_gain.Solution:
        return solve(mdp, method="value", max_sweeps=3)

    assert certified_solution(cycle(4)).gain == pytest.approx(0.25)
    monkeypatch.setattr(optimal_gain, "solve", few_sweeps)
    with pytest.raises(
        UncertifiedGain, match=r"too little to report regret; pass the gain if you know it \(gain=...\)"
    ):
        certified_solution(make("four-room"))


def test_a_gain_that_depends_on_the_start_is_not_certified() -> None:
    with pytest.raises(NoConstantGain, match=r"solve\(mdp, multichain=True\)"):
        certified_solution(two_ends())


# Compiled and plain


def test_the_kernels_of_elimination_agree_with_their_plain_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = sticky_rooms(np.random.default_rng(7), 3, 1e-13)
    compiled = solve(mdp)
    for name in ("_change", "_advantage", "_bracket", "_greedy"):
        monkeypatch.setattr(gain_methods, name, getattr(gain_methods, name).py_func)
    monkeypatch.setattr(renewal, "_count_fill", renewal._count_fill.py_func)
    plain = solve(mdp)
    assert plain.gain == pytest.approx(compiled.gain, abs=1e-14)
    assert plain.policy.tolist() == compiled.policy.tolist()
