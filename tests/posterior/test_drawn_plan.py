"""What was seen, drawn again without a prior; plans in drawn MDPs, and what policies earn in them."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.model import Pairs
from equirl.model.rows import Rows
from equirl.numerics.random_draws import draw_state
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Plan, Stop
from equirl.posterior.bootstrap import resampled_rows
from equirl.posterior.drawn_plan import (
    _reach,
    gain_in,
    losses,
    mean_model,
    plan_from,
    worth_in,
)

ROWS = [(0, 0, 1.0, 1)] * 6 + [(0, 0, 0.0, 2)] * 2 + [(1, 0, 0.0, 0)] * 5 + [(1, 1, 1.0, 1)] * 3
LOG = eq.from_log(ROWS, actions=2, reward_range=(0, 1))


def drawn_model():
    """A drawn MDP in which every pair goes to state 2, but for a tenth of it."""
    M = LOG.pairs.n_pairs
    rows = Rows(np.arange(M + 1), np.full(M, 2, np.int32), np.full(M, 0.9))
    return ExactModel(rows, np.full(M, 0.1), np.full(M, 0.4), np.array(LOG.pairs.state), 0.5)


def test_rows_are_drawn_around_what_was_seen_and_never_elsewhere():
    policy, rng = np.array([0, 2, 4]), np.random.default_rng(0)  # the third was never played
    found = [resampled_rows(LOG.seen, policy, drawn_model(), rng) for _ in range(2000)]
    assert all(sorted(one.rows.succ[:2].tolist()) == [1, 2] for one in found)
    to_one = np.array([one.rows.prob[list(one.rows.succ[:2]).index(1)] for one in found])
    assert to_one.mean() == pytest.approx(0.75, abs=0.02)
    assert to_one.std() == pytest.approx(np.sqrt(0.75 * 0.25 / 9), rel=0.1)  # Dirichlet(6, 2)
    reward = np.array([one.reward for one in found])
    assert reward[:, 0].mean() == pytest.approx(0.75, abs=0.02)
    assert (reward[:, 1] == 0.0).all()  # always seen to pay nothing
    one = found[0]
    assert one.rows.ptr.tolist() == [0, 2, 3, 4]
    assert (one.rows.succ[2], one.rows.prob[2], one.rest[1]) == (0, 1.0, 0.0)
    assert (one.rows.succ[3], one.rows.prob[3], one.rest[2], one.reward[2]) == (2, 0.9, 0.1, 0.4)  # as in the MDP drawn


def test_what_was_always_paid_is_what_is_paid():
    log = eq.from_log([(0, 0, 0.3, 0)] * 4 + [(1, 0, 0.2, 0), (1, 0, 0.6, 0)], actions=1, reward_range=(0, 1))
    rows = Rows(np.arange(3), np.zeros(2, np.int32), np.ones(2))
    model = ExactModel(rows, np.zeros(2), np.zeros(2), np.array(log.pairs.state), 0.5)
    rng = np.random.default_rng(0)
    rewards = np.array([resampled_rows(log.seen, np.arange(2), model, rng).reward for _ in range(50)])
    np.testing.assert_allclose(rewards[:, 0], 0.3)
    assert rewards[:, 1].std() > 0.1


# --- planning in a drawn MDP


def drawn(seed, n_states=4, n_actions=2, rest=0.0, stay=0.25):
    """A drawn MDP, and its transition probabilities written out without staying put."""
    rng = np.random.default_rng(seed)
    M = n_states * n_actions
    laws = rng.dirichlet(np.ones(n_states), M)
    left = rest * rng.random(M)
    rows = Rows(np.arange(M + 1) * n_states, np.tile(np.arange(n_states, dtype=np.int32), M), None)
    model = ExactModel(
        rows._replace(prob=(laws * (1 - left[:, None])).ravel()), left, rng.random(M),
        np.repeat(np.arange(n_states), n_actions), stay,
    )  # fmt: skip
    return model, laws * (1 - left[:, None]) + left[:, None] / n_states


def long_run(chain):
    return np.linalg.matrix_power((chain + np.eye(len(chain))) / 2, 2000)


@pytest.mark.parametrize("rest", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_what_a_policy_earns_in_a_drawn_mdp_is_what_its_chain_earns(seed, rest):
    model, laws = drawn(seed, rest=rest)
    policy, start = np.array([0, 3, 4, 7]), np.array([0.0, 0.5, 0.0, 0.5])
    chain, reward = laws[policy], model.reward[policy]
    assert gain_in(model, policy, start) == pytest.approx(start @ long_run(chain) @ reward)
    assert worth_in(model, policy, start, 1.0) == gain_in(model, policy, start)
    values = np.linalg.solve(np.eye(4) - 0.8 * chain, reward)
    assert worth_in(model, policy, start, 0.8) == pytest.approx(start @ values)


def test_where_only_some_pairs_leave_mass_to_chance_the_others_do_not():
    rows = Rows(np.array([0, 1, 3]), np.array([1, 0, 0], np.int32), np.array([1.0, 0.3, 0.3]))  # a state twice
    model = ExactModel(rows, np.array([0.0, 0.4]), np.array([0.0, 1.0]), np.array([0, 1]), 0.0)
    chain = np.array([[0.0, 1.0], [0.8, 0.2]])
    assert gain_in(model, np.array([0, 1]), np.array([1.0, 0.0])) == pytest.approx((long_run(chain) @ [0.0, 1.0])[0])


def test_the_mean_of_drawn_mdps_keeps_what_was_never_played_where_it_is():
    pairs, played = Pairs.uniform(4, 2), np.array([1, 1, 0, 1, 1, 0, 1, 1], bool)
    models = [drawn(seed)[0] for seed in range(3)]
    mean = mean_model(pairs, played, models)
    found = np.zeros((8, 4))
    for k in range(8):
        found[k, mean.rows.succ[mean.rows.row(k)]] = mean.rows.prob[mean.rows.row(k)]
    expected = np.mean([drawn(seed)[1] for seed in range(3)], axis=0)
    expected[[2, 5]] = np.eye(4)[[1, 2]]
    np.testing.assert_allclose(found, expected)
    assert np.diff(mean.rows.ptr).tolist() == [4, 4, 1, 4, 4, 1, 4, 4]
    np.testing.assert_allclose(mean.reward, np.where(played, np.mean([m.reward for m in models], axis=0), 0.0))
    assert (mean.stay, mean.rest.tolist(), mean.state.tolist()) == (0.25, [0.0] * 8, pairs.state.tolist())


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_a_pair_played_once_loses_what_the_best_of_its_state_is_worth_more(discount):
    model, laws = drawn(1)
    plan = Plan(np.array([0, 2, 4, 6]), 0.0, np.array([0.0, 2.0, 1.0, 0.5]), 1, 0.0, True)
    once = 0.75 * laws + 0.25 * np.eye(4)[model.state]
    q = (model.reward + discount * once @ plan.bias).reshape(4, 2)
    for a in (0, 1):
        found = losses(model, plan, np.arange(0, 9, 2), 2 * np.arange(4) + a, discount)
        np.testing.assert_allclose(found, q.max(axis=1) - q[:, a], atol=1e-12)


def pieces():
    """States 0 and 1 reach each other, 2 and 3 reach all; two actions each."""
    P = np.zeros((4, 2, 4))
    P[0, 0, 1] = P[0, 1, 0] = P[1, 0, 0] = P[1, 1, 1] = 1.0
    P[2, 0, 3] = P[2, 1, 0] = P[3, 0, 2] = P[3, 1, 1] = 1.0
    reward = np.array([0.0, 0.3, 0.9, 0.2, 0.0, 0.1, 0.0, 0.0])
    flat = P.reshape(8, 4)
    rows = Rows(np.arange(9), flat.argmax(axis=1).astype(np.int32), np.ones(8))
    return ExactModel(rows, np.zeros(8), reward, np.repeat(np.arange(4), 2), 0.5)


@pytest.mark.parametrize("plain", [False, True])
def test_states_are_listed_as_they_are_reached(plain):
    run, model, ptr = _reach.py_func if plain else _reach, pieces(), np.arange(0, 9, 2)
    for state, order in ((0, [0, 1]), (1, [1, 0]), (2, [2, 3, 0, 1]), (3, [3, 2, 1, 0])):
        found, inside = np.zeros(4, bool), np.empty(5, np.int64)
        assert run(state, ptr, model, found, inside) == len(order)
        assert inside[: len(order)].tolist() == order
        assert np.flatnonzero(found).tolist() == sorted(order)
    somewhere = model._replace(rest=np.array([0, 0, 0, 0.1, 0, 0, 0, 0]))
    assert run(0, ptr, somewhere, np.zeros(4, bool), np.empty(5, np.int64)) == 4  # all states, by chance


def test_a_plan_is_for_what_can_be_reached_and_greedy_elsewhere():
    model, ptr, stop = pieces(), np.arange(0, 9, 2), Stop(1.0, 1e-9, 1000, 5)
    random = draw_state(np.random.SeedSequence(0))
    for state in (0, 1):
        plan = plan_from(state, ptr, model, np.array([1.0, 2.0, 50.0, 3.0]), stop, random)
        assert plan.gain == pytest.approx(0.45, abs=1e-8)  # to and fro
        assert plan.policy[:2].tolist() == [0, 2]
        assert plan.bias[1] - plan.bias[0] == pytest.approx(0.9)  # half of the steps stay put
        # elsewhere values are those given, less their least inside, and the better pair by them is played
        assert (plan.bias[2] - plan.bias.min(), plan.bias[3] - plan.bias.min()) == pytest.approx((49.0, 2.0))
        assert plan.policy[2:].tolist() == [4, 6]
        assert plan.bias.min() == 0.0
    everything = plan_from(2, ptr, model, np.zeros(4), stop, random)
    assert everything.gain == pytest.approx(0.45, abs=1e-8)
    assert everything.policy[:2].tolist() == [0, 2]


def test_with_a_discount_everything_is_planned_in_at_once():
    model, stop = pieces()._replace(stay=0.0), Stop(0.5, 1e-9, 1000, 5)
    plan = plan_from(0, np.arange(0, 9, 2), model, np.zeros(4), stop, draw_state(np.random.SeedSequence(0)))
    values = plan.bias + plan.gain / 0.5
    best = np.zeros(4)
    for _ in range(100):
        q = model.reward + 0.5 * best[model.rows.succ]
        best = q.reshape(4, 2).max(axis=1)
    np.testing.assert_allclose(values, best, atol=1e-7)
    assert plan.policy.tolist() == (2 * np.arange(4) + q.reshape(4, 2).argmax(axis=1)).tolist()
