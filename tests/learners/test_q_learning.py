"""What Q-learning keeps, and which saved states it refuses, each for its own reason."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.counts import Counts
from equirl.learners.imed import ImedLearner
from equirl.learners.q_learning import QLearner

RIVER = eq.make("riverswim", n_states=4)
M, S = RIVER.n_pairs, RIVER.n_states


def restored(agent, arrays=(), **values):
    """A new agent, restored from the state of another with some of it replaced."""
    twin, state = eq.agent_for(RIVER, agent.name), agent.state()
    twin.restore(state._replace(arrays=state.arrays | dict(arrays), values=state.values | values))
    return twin


@pytest.fixture(scope="module")
def learned():
    agent = eq.simulate(RIVER, "q-learning", 60, seed=1).agent
    assert isinstance(agent, QLearner)
    agent.act(1)
    return agent


def changed(array, place, value):
    other = array.copy()
    other[place] = value
    return other


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("q", lambda q: q[:-1]), ("q", lambda q: q.astype(np.float32)), ("q", lambda q: changed(q, 3, np.nan)),
        ("taught", lambda n: n[:-1]), ("taught", lambda n: n.astype(np.int32)), ("taught", lambda n: changed(n, 2, -1)),
        ("taught", lambda n: changed(n, 2, 61)),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused(learned, name, wrong):
    array = learned.state().arrays[name]
    with pytest.raises(ValueError, match="the values do not fit the agent"):
        restored(learned, {name: wrong(array)})


@pytest.mark.parametrize(
    "wrong",
    [
        lambda policy: policy[:-1], lambda policy: policy.astype(np.int32),
        lambda policy: changed(policy, 2, 3), lambda policy: changed(policy, 2, 6),
    ],
)  # fmt: skip
def test_a_policy_that_does_not_fit_is_refused(learned, wrong):
    with pytest.raises(ValueError, match="the policy does not fit the agent"):
        restored(learned, {"greedy": wrong(learned.policy)})


@pytest.mark.parametrize("name", ["q-learning", "imed-rl"])
@pytest.mark.parametrize("chosen", [(-1, 0), (S, 0), (S, M), (1, 1), (1, 4), (0, 2), (S - 1, M)])
def test_a_pair_decided_that_is_none_of_its_state_is_refused(name, chosen):
    agent = eq.simulate(RIVER, name, 60, seed=1).agent
    with pytest.raises(ValueError, match="the pair decided is not one of its state"):
        restored(agent, chosen=chosen)


@pytest.mark.parametrize("name", ["q-learning", "imed-rl"])
@pytest.mark.parametrize("chosen", [None, (0, 0), (0, 1), (S - 1, M - 2), (S - 1, M - 1)])
def test_a_pair_decided_is_played_after_loading(name, chosen):
    twin = restored(eq.simulate(RIVER, name, 60, seed=1).agent, chosen=chosen)
    assert twin.chosen == chosen
    if chosen is not None:
        assert twin.act(chosen[0]) == RIVER.pairs.action[chosen[1]]


def test_the_most_that_a_value_may_have_been_taught_is_every_step(learned):
    taught = changed(learned.n, 0, 60)
    assert restored(learned, {"taught": taught}).n[0] == 60


@pytest.mark.parametrize("wrong", [lambda bias: bias[:-1], lambda bias: changed(bias, 0, np.inf)])
def test_a_bias_that_does_not_fit_is_refused(wrong):
    agent = eq.simulate(RIVER, "imed-rl", 60, seed=1).agent
    assert isinstance(agent, ImedLearner)
    with pytest.raises(ValueError, match="the bias does not fit the agent"):
        restored(agent, {"index_bias": wrong(agent.bias)})


@pytest.mark.parametrize(("settings", "power"), [({}, 0.0), ({"steps": "power"}, 0.7), ({"rate": 0.9}, 0.0)])
def test_the_rate_counts_only_where_steps_fall_as_a_power(settings, power):
    assert eq.agent_for(RIVER, "q-learning", **settings).part.power == power


@pytest.mark.parametrize("setting", [{"rate": 0.49}, {"rate": 1.01}, {"explore": 1.1}, {"discount": 1.0}])
def test_a_setting_out_of_its_range_is_named(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=name):
        eq.make_settings("q-learning", **setting)
    assert eq.make_settings("q-learning", rate=0.5).rate == 0.5


def test_it_explores_at_random_as_often_as_it_says_and_else_takes_the_best():
    agent, best = eq.agent_for(RIVER, "q-learning", explore=1.0), 0
    agent.q[:] = np.tile([0.2, 0.8], S)
    for _ in range(400):
        best += agent.act(2) == 1
        agent.chosen = None
    assert 150 < best < 250
    agent = eq.agent_for(RIVER, "q-learning", explore=0.0)
    agent.q[:] = np.tile([0.2, 0.8], S)
    for _ in range(20):
        assert agent.act(2) == 1
        agent.chosen = None
    agent.q[:] = 0.5
    seen = set()
    for _ in range(40):
        seen.add(agent.act(2))
        agent.chosen = None
    assert seen == {0, 1}  # of equals any


def test_asked_again_it_keeps_to_what_it_decided_and_in_another_state_decides_anew():
    agent = eq.agent_for(RIVER, "q-learning", explore=1.0)
    first = agent.act(1)
    assert {agent.act(1) for _ in range(20)} == {first}
    agent.act(3)
    assert agent.chosen[0] == 3


ERGODIC = eq.make("ergodic-riverswim", n_states=5, reward_law="bernoulli")


def known(world, rewards):
    """Labels and orders of successors as they are told: by laws alone where rewards are kept by pair."""
    label, table = eq.equivalence_classes(world, rewards=rewards == "per_class").label, eq.profiles(world)
    return label, [table.succ[table.ptr[k] : table.ptr[k + 1]].tolist() for k in range(world.n_pairs)]


@pytest.mark.parametrize("settings", [{}, {"steps": "power", "rate": 0.6}, {"discount": 0.5}])
@pytest.mark.parametrize("rewards", ["none", "per_class", "per_pair"])
def test_a_step_teaches_its_pair_or_every_pair_of_its_class_with_the_successor_in_the_same_place(rewards, settings):
    world, rng = ERGODIC, np.random.default_rng(3)
    if rewards == "none":
        agent = eq.agent_for(world, "q-learning", **settings)
        label, order = np.arange(world.n_pairs), None
    else:
        agent = eq.agent_for(world, "c-q-learning-c-sigma", rewards=rewards, **settings)
        label, order = known(world, rewards)
    discount, rate = settings.get("discount", 0.95), settings.get("rate")
    q, n, paid, visits = np.ones(world.n_pairs), *np.zeros((3, world.n_pairs))
    for _ in range(200):
        pair = int(rng.integers(world.n_pairs))
        x, reward = int(rng.choice(world.rows.succ[world.rows.row(pair)])), float(rng.random() < 0.4)
        agent.record_step(pair, reward, x)
        paid[pair] += reward
        visits[pair] += 1
        for k in np.flatnonzero(label == label[pair]):
            if rewards == "per_pair" and not visits[k]:
                continue
            y = order[k][order[pair].index(x)] if order else x
            mean = paid[k] / visits[k] if rewards == "per_pair" else reward
            n[k] += 1
            step = n[k] ** -rate if rate else 1 / (1 + (1 - discount) * n[k])
            q[k] += step * ((1 - discount) * mean + discount * q[2 * y : 2 * y + 2].max() - q[k])
        np.testing.assert_allclose(agent.q, q, atol=1e-12)
        assert agent.n.tolist() == n.tolist()
        assert agent.policy[pair // 2] == 2 * (pair // 2) + agent.q[2 * (pair // 2) :][:2].argmax()


@pytest.mark.parametrize("river", ["riverswim", "ergodic-riverswim"])
@pytest.mark.parametrize("rewards", ["none", "per_class", "per_pair"])
def test_started_from_counts_the_values_are_those_of_replaying_them_for_ever(rewards, river):
    world = eq.make(river, n_states=4, reward_law="bernoulli")
    seen = eq.simulate(world, "random", 4000, seed=1).agent.counts.snapshot()
    label, order = np.arange(M), None
    if rewards == "none":
        agent = eq.agent_for(world, "q-learning", discount=0.8)
    else:
        agent = eq.agent_for(world, "c-q-learning-c-sigma", discount=0.8, rewards=rewards)
        label, order = known(world, rewards)
    agent.start_from(seen)
    q = np.ones(M)
    for _ in range(400):
        best, new = q.reshape(S, 2).max(1), np.zeros(M)
        for k in range(M):
            mates = np.flatnonzero(label == label[k])
            total = sum(seen.visits[j] for j in mates)
            for j in mates:
                for i in range(seen.ptr[j], seen.ptr[j + 1]):
                    x = order[k][order[j].index(seen.succ[i])] if order else seen.succ[i]
                    new[k] += 0.8 * best[x] * seen.count[i] / total
            paying = [k] if rewards == "per_pair" else mates
            new[k] += 0.2 * sum(seen.r_sum[j] for j in paying) / sum(seen.visits[j] for j in paying)
        q = new
    np.testing.assert_allclose(agent.q, q, atol=1e-8)
    assert agent.t == 4001
    np.testing.assert_array_equal(agent.n, [seen.visits[label == label[k]].sum() for k in range(M)])
    assert agent.policy.tolist() == [2 * s + int(agent.q[2 * s + 1] > agent.q[2 * s]) for s in range(S)]


@pytest.mark.parametrize("rewards", ["none", "per_class", "per_pair"])
def test_started_from_few_counts_values_stay_at_the_optimistic_end_where_nothing_was_seen(rewards):
    counts = Counts(ERGODIC.n_pairs)
    counts.record(2, 0.0, 1)
    name, settings = ("q-learning", {}) if rewards == "none" else ("c-q-learning-c-sigma", {"rewards": rewards})
    agent = eq.agent_for(ERGODIC, name, **settings)
    agent.start_from(counts.snapshot())
    label, _ = known(ERGODIC, rewards)
    taught = label == label[2] if rewards == "per_class" else np.arange(ERGODIC.n_pairs) == 2
    assert taught.sum() >= 1 + (rewards == "per_class")
    assert agent.n.tolist() == taught.astype(int).tolist()
    np.testing.assert_allclose(agent.q, np.where(taught, 0.95, 1.0), atol=1e-9)


def test_a_path_teaches_what_its_steps_one_by_one_do():
    river = eq.make("riverswim", n_states=5)
    one, other = (eq.agent_for(river, "q-learning", seed=0) for _ in range(2))
    rng, states = np.random.default_rng(1), [0, 1, 2, 3, 2, 1, 1, 0]
    path = np.array([river.pairs.find(s, int(rng.integers(2))) for s in states[:-1]])
    rewards = rng.random(len(path))
    one.record(path, rewards, states[-1])
    for k, paid, after in zip(path.tolist(), rewards.tolist(), states[1:], strict=True):
        other.record_step(k, paid, after)
    np.testing.assert_array_equal(one.q, other.q)
    assert (one.q != 1).sum() > 3
