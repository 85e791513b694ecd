"""What Q-learning keeps, and which saved states it refuses, each for its own reason."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.counts import Counts
from equirl.learners import RefutedStructure, make_settings
from equirl.learners.imed import ImedLearner
from equirl.learners.q_learning import QLearner, choose_by_value
from equirl.simulation.simulated_runs import LiveRun
from equirl.simulation.trace import ValueMeasures

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
    agent.act_id(1)
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
        assert twin.act_id(chosen[0]) == RIVER.pairs.action[chosen[1]]


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
        make_settings("q-learning", **setting)
    assert make_settings("q-learning", rate=0.5).rate == 0.5


def test_it_explores_at_random_as_often_as_it_says_and_else_takes_the_best():
    agent, best = eq.agent_for(RIVER, "q-learning", explore=1.0), 0
    agent.q[:] = np.tile([0.2, 0.8], S)
    for _ in range(400):
        best += agent.act_id(2) == 1
        agent.chosen = None
    assert 150 < best < 250
    agent = eq.agent_for(RIVER, "q-learning", explore=0.0)
    agent.q[:] = np.tile([0.2, 0.8], S)
    for _ in range(20):
        assert agent.act_id(2) == 1
        agent.chosen = None
    agent.q[:] = 0.5
    seen = set()
    for _ in range(40):
        seen.add(agent.act_id(2))
        agent.chosen = None
    assert seen == {0, 1}  # of equals any


def test_asked_again_it_keeps_to_what_it_decided_and_in_another_state_decides_anew():
    agent = eq.agent_for(RIVER, "q-learning", explore=1.0)
    first = agent.act_id(1)
    assert {agent.act_id(1) for _ in range(20)} == {first}
    agent.act_id(3)
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


# --- its own loop: whole blocks of steps, as they would be decided and recorded one by one

LEARNED = {
    "q-learning": ("q-learning", {}),
    "power": ("q-learning", {"steps": "power", "rate": 0.6, "explore": 0.3}),
    "per_class": ("c-q-learning-c-sigma", {"rewards": "per_class"}),
    "per_pair": ("c-q-learning-c-sigma", {"rewards": "per_pair"}),
}


def everything(run):
    """All that a run leaves: the agent's state, the world's, and the curves of rewards."""
    arrays, values = run.agent.state()
    rollout = run._rollout
    world = rollout.state, rollout._draw.tolist(), rollout._pay.bit_generator.state, rollout._moves.bit_generator.state
    curves = run.trace().curves
    return {name: array.tolist() for name, array in arrays.items()}, values, world, run.agent.t, [
        curves[name].tolist() for name in ("reward", "pseudo_regret", "n_classes")
    ]  # fmt: skip


def played(mdp, agent, settings, monkeypatch, loop=True, most=10**6):
    with monkeypatch.context() as patch:
        patch.setattr(QLearner, "own_loop", loop)
        run, sizes = LiveRun(mdp, agent, 300, seed=2, checkpoints=7, settings=settings), []
        while run.goes_on:
            sizes.append(len(run.advance(most=most)))
        return run, sizes


@pytest.mark.parametrize("law", ["deterministic", "bernoulli", "beta"])
@pytest.mark.parametrize("how", LEARNED)
def test_its_own_loop_leaves_everything_as_steps_one_by_one_do(how, law, monkeypatch):
    mdp, (name, settings) = eq.make("ergodic-riverswim", n_states=5, reward_law=law), LEARNED[how]
    step_by_step, ones = played(mdp, name, settings, monkeypatch, loop=False)
    assert ones == [1] * 300
    in_blocks, sizes = played(mdp, name, settings, monkeypatch)
    assert max(sizes) > 10
    assert everything(in_blocks) == everything(step_by_step)


def test_in_whatever_pieces_it_is_played_the_run_is_the_same(monkeypatch):
    runs = [played(ERGODIC, "q-learning", {}, monkeypatch, most=most) for most in (1, 3, 10**6)]
    assert [max(sizes) for _, sizes in runs][:2] == [1, 3]
    first, *others = [(everything(run), run.trace().value_regret.tolist()) for run, _ in runs]
    assert others == [first, first]


@pytest.mark.parametrize("state", [0, 2])
def test_what_was_decided_before_is_played_first_and_only_in_its_state(state, monkeypatch):
    agent = eq.agent_for(RIVER, "q-learning", explore=1.0, seed=3)
    agent.act(state)
    runs = [played(RIVER, agent, {}, monkeypatch, loop) for loop in (True, False)]
    assert everything(runs[0][0]) == everything(runs[1][0])
    first, _ = played(RIVER, agent, {}, monkeypatch, most=1)
    assert (first.agent.counts.visits[agent.chosen[1]] > 0) or state


def chain(rare):
    """Three states in a ring with one action; from 1 it leads back to 0 now and then, where ``rare``."""
    p = np.array([[0.5, 0.5, 0.0], [rare, 0.5, 0.5 - rare], [0.5, 0.0, 0.5]])
    return eq.TabularMDP.from_arrays(p[:, None], np.array([[0.2], [0.4], [0.9]]))


def test_a_successor_outside_the_given_profiles_stops_it_where_it_stops_single_steps(monkeypatch):
    world, told = chain(0.01), chain(0.0)
    given = {"classes": eq.equivalence_classes(told), "profiles": eq.profiles(told)}
    found = []
    for loop in (True, False):
        monkeypatch.setattr(QLearner, "own_loop", loop)
        with pytest.raises(ValueError, match="s=1, a=0") as caught:
            eq.simulate(world, "c-q-learning-c-sigma", 2000, seed=4, **given)
        trace = caught.value.trace
        assert trace.t[-1] == trace.agent.t - 1 > 20
        arrays, values = trace.agent.state()
        found.append((trace.t.tolist(), trace.reward.tolist(), arrays["q"].tolist(), values["rng"]))
    assert found[0] == found[1]


def test_given_classes_are_tested_at_the_same_steps(monkeypatch):
    world, found = eq.make("random", n_states=4, n_actions=2, branching=3, seed=1), []
    order = eq.profiles(world)._replace(prob=np.full(len(world.rows.prob), np.nan))
    for loop in (True, False):
        monkeypatch.setattr(QLearner, "own_loop", loop)
        with pytest.warns(RefutedStructure) as told:
            trace = eq.simulate(world, "c-q-learning-c-sigma", 2000, seed=1, classes=np.zeros(8, int), profiles=order)
        found.append(([str(one.message) for one in told], trace.agent.q.tolist()))
    assert found[0] == found[1]
    assert found[0][0]


def test_a_choice_uses_a_coin_for_ties_one_for_chance_and_a_third_where_chance_decides():
    q, ptr = np.array([0.5, 0.9, 0.9, 0.1, 0.9]), np.array([0, 5])
    for coins, explore, expected in [
        ([0.0, 0.3], 0.3, (1, 2)), ([0.32, 0.3], 0.3, (1, 2)), ([0.34, 0.3], 0.3, (2, 2)), ([0.99, 0.3], 0.3, (4, 2)),
        ([0.0, 0.29, 0.0], 0.3, (0, 3)), ([0.0, 0.29, 0.65], 0.3, (3, 3)), ([0.0, 0.29, 0.99], 0.3, (4, 3)),
    ]:  # fmt: skip
        for run in (choose_by_value, choose_by_value.py_func):
            assert run(0, q, ptr, explore, np.array(coins), 0) == expected
            assert run(0, q, ptr, explore, np.array([0.7, *coins]), 1) == (expected[0], expected[1] + 1)


def test_its_policy_is_judged_at_checkpoints_and_whenever_time_has_grown_by_a_twentieth():
    marks, horizon = np.array([3, 50, 130, 400]), 400
    run = LiveRun(ERGODIC, "q-learning", horizon, seed=2, checkpoints=marks)
    judge, pairs = ValueMeasures(ERGODIC, 0.95, 0.01), ERGODIC.pairs
    policy, look, total, expected, looks = pairs.ptr[:-1].copy(), 1, np.zeros(2), [], 0
    for t in range(1, horizon + 1):
        gap = judge.gap(policy)[pairs.state[run.advance(most=1)[0]]]
        total += gap > 0.01, gap
        if t in marks:
            expected.append(total.copy())
        if t in marks or t == look:
            policy, look, looks = run.agent.best_pairs(), max(t + 1, int(1.05 * t)), looks + 1
    trace = run.trace()
    np.testing.assert_allclose(np.transpose([trace.sample_complexity, trace.value_regret]), expected)
    assert 60 < looks < 120
    assert trace.value_regret[-1] > 0


def test_a_learner_without_a_loop_of_its_own_plays_nothing_in_it():
    agent = eq.agent_for(RIVER, "ucrl2-l")
    assert not agent.own_loop
    assert agent.play_steps(None, 2, None, None, None) == (0, 2)
    assert agent.t == 1
