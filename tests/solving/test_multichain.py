from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.model.mdp import TabularMDP
from equirl.solving import chains
from equirl.solving.chains import end_components, whole
from equirl.solving.optimal_gain import solve
from equirl.solving.policies import Policy
from equirl.worlds.world_registry import make
from oracles_solving import best_gain, dense_laws, limit_matrix, random_mdp, two_ends

seeds = st.integers(0, 10**6)


@given(seeds)
def test_gains_from_each_state_agree_with_brute_force_over_policies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, int(rng.integers(1, 6)), branching=int(rng.integers(1, 4)))
    truth, part, answer = best_gain(mdp), mdp.reachable(), solve(mdp, multichain=True)
    np.testing.assert_allclose(answer.gain_by_state[part], truth[part], atol=2e-8)
    assert answer.gain == pytest.approx(mdp.initial @ truth, abs=2e-8)
    assert answer.converged
    played = limit_matrix(dense_laws(mdp)[answer.policy_pair]) @ mdp.r_mean[answer.policy_pair]
    np.testing.assert_allclose(played[part], truth[part], atol=1e-7)


def test_a_start_that_chooses_between_ends_takes_the_better() -> None:
    answer = solve(two_ends(0.3, 0.8), multichain=True)
    assert answer.gain_by_state.tolist() == [0.8, 0.3, 0.8]
    assert (answer.gain, answer.policy[0], answer.kind) == (0.8, 1, "multichain")
    assert np.isnan(answer.bias).all()


def test_a_component_is_left_by_its_best_door() -> None:
    hall = [(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 1.0}, 0.0), (1, 1, {2: 0.9, 3: 0.1}, 0.0), (0, 1, {3: 1.0}, 0.0)]
    mdp = TabularMDP.from_pairs([*hall, (2, 0, {2: 1.0}, 1.0), (3, 0, {3: 1.0}, 0.1)], 4)
    answer = solve(mdp, multichain=True)
    np.testing.assert_allclose(answer.gain_by_state, [0.91, 0.91, 1.0, 0.1])
    assert Policy(mdp, answer.policy).gain == pytest.approx(0.91)


def test_where_the_gain_is_constant_the_answer_is_the_same() -> None:
    mdp = make("riverswim", n_states=6)
    one, two = solve(mdp), solve(mdp, multichain=True)
    assert one.gain == two.gain
    assert (two.gain_by_state == one.gain).all()
    np.testing.assert_array_equal(one.bias, two.bias)


def test_a_lake_with_many_ends_is_solved_from_the_start() -> None:
    n = 400  # a walk between two absorbing ends, with a place to rest at every step
    walk = [(s, 0, {s - 1: 0.5, s + 1: 0.5}, 0.0) for s in range(1, n)]
    rest = [(s, 1, {s: 1.0}, 0.25) for s in range(1, n)]
    mdp = TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.0), *walk, *rest, (n, 0, {n: 1.0}, 1.0)], n + 1, initial=n // 8)
    answer = solve(mdp, multichain=True)
    assert answer.gain == pytest.approx(_rest_or_walk(n, n // 8), abs=1e-9)


def _rest_or_walk(n: int, start: int) -> float:
    """Optimal stopping of a fair walk on 0..n paid 0.25 inside, 1 at n, 0 at 0: the least concave majorant."""
    at_one, slope = 0.25, (1 - 0.25) / (n - 1)
    return at_one + slope * (start - 1)


def test_a_long_chain_of_places_to_rest_is_taken_apart_in_no_time() -> None:
    n = 50_000  # the last one may be fallen out of, so each stands alone: one round per state, searched naively
    rest = [(s, 0, {s: 1.0}, 0.5) for s in range(n)]
    move = [(s, 1, {max(s - 1, 0): 0.5, s + 1: 0.5}, 0.0) for s in range(n)]
    label, stays = end_components(whole(TabularMDP.from_pairs([*rest, *move, (n, 0, {n: 1.0}, 0.0)], n + 1)))
    assert label.tolist() == list(range(n + 1))
    assert stays.sum() == n + 1


def test_the_kernels_agree_with_their_plain_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    parts = [whole(random_mdp(rng, 12, branching=2)) for _ in range(20)]
    compiled = [end_components(part) for part in parts]
    for name in ("_take_apart", "_bottom", "_remove"):
        monkeypatch.setattr(chains, name, getattr(chains, name).py_func)
    for part, (label, stays) in zip(parts, compiled, strict=True):
        plain = end_components(part)
        np.testing.assert_array_equal(plain[0], label)
        np.testing.assert_array_equal(plain[1], stays)
