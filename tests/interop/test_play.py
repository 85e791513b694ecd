"""Playing simulators and environments: as act and observe would, with ends and time limits as Gymnasium has them."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import equirl as eq
from equirl.interop import GymSimulator

RIVER = eq.make("ergodic-riverswim", n_states=5)


class Corridor(gymnasium.Env):
    """Cells 0 .. 3; the last one ends the episode."""

    def __init__(self, ends=True):
        self.observation_space, self.action_space = spaces.Discrete(5), spaces.Discrete(2)
        self.cell, self.ends = 0, ends

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def step(self, action):
        self.cell = min(self.cell + 1, 3) if action == 1 else max(self.cell - 1, 0)
        return self.cell, float(self.cell == 3), self.ends and self.cell == 3, False, {}


class Clock(gymnasium.Env):
    """Dict observations and MultiDiscrete actions; the second action counts."""

    def __init__(self):
        self.observation_space = spaces.Dict({"hour": spaces.Discrete(3), "day": spaces.Discrete(2)})
        self.action_space = spaces.MultiDiscrete([2, 2])
        self.t = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._show(), {}

    def _show(self):
        return {"hour": self.t % 3, "day": self.t // 3 % 2}

    def step(self, action):
        self.t += int(action[1])
        return self._show(), 2.0 * action[0] - 1.0, False, False, {}


def lift(floor, action, rng):
    floor = min(floor + 1, 3) if action == "up" and rng.random() < 0.8 else max(floor - 1, 0)
    return floor, 10.0 * (floor == 3)


def simulator():
    return eq.Simulator(lift, states=4, actions=["up", "down"], reward_range=(0, 10))


# --- it is the learner


@pytest.mark.parametrize("name", ["c-psrl", "ucrl2-l", "q-learning", "imed-rl", "random"])
def test_play_is_act_and_observe(name):
    trace = eq.play(eq.TabularEnv(RIVER), name, 600, seed=7)
    world, own = np.random.SeedSequence(7).spawn(2)
    agent, env = eq.make_agent(name, 5, 2, seed=own), eq.TabularEnv(RIVER)
    state, _ = env.reset(seed=int(world.generate_state(1)[0]))
    total = 0.0
    for _ in range(600):
        action = agent.act(state)
        following, reward, *_ = env.step(action)
        agent.observe(state, action, reward, following)
        total, state = total + reward, following
    np.testing.assert_array_equal(trace.agent.counts.visits, agent.counts.visits)
    assert trace.reward[-1] == pytest.approx(total)
    assert trace.agent.t == agent.t == 601


def test_a_run_is_a_function_of_its_seed():
    one, same, other = (eq.play(simulator(), "psrl", 300, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.reward, same.reward)
    assert not np.array_equal(one.agent.counts.visits, other.agent.counts.visits)


def test_a_learner_is_copied_and_goes_on():
    first = eq.play(simulator(), "psrl", 300, seed=1)
    again = eq.play(simulator(), first.agent, 200, seed=2)
    assert first.agent.t == 301
    assert again.agent.t == 501
    assert again.t[-1] == 200
    assert (again.episode_starts >= 1).all()


# --- ends and limits


def test_a_terminated_step_leads_to_the_first_state_of_the_next_episode():
    agent = eq.play(Corridor(), "random", 2000, seed=0).agent
    seen = agent.counts.snapshot()
    pair = agent.pairs.index(2, 1)
    assert seen.succ[seen.ptr[pair] : seen.ptr[pair + 1]].tolist() == [0]
    assert agent.counts.visits[agent.pairs.ptr[3] : agent.pairs.ptr[4]].sum() == 0


def test_after_a_time_limit_the_jump_is_not_learned():
    limited = gymnasium.wrappers.TimeLimit(Corridor(ends=False), 3)
    trace = eq.play(limited, "random", 3000, seed=0)
    seen, pairs = trace.agent.counts.snapshot(), trace.agent.pairs
    for s in range(4):
        for a, expected in ((0, max(s - 1, 0)), (1, min(s + 1, 3))):
            k = pairs.index(s, a)
            if seen.visits[k]:
                assert seen.succ[seen.ptr[k] : seen.ptr[k + 1]].tolist() == [expected]
    assert trace.restarts[-1] == 1000


def test_a_step_function_may_end_the_process_without_a_state():
    def step(state, action):
        return ("b", 0.0) if state == "a" else (None, 1.0, True)

    trace = eq.play(eq.Simulator(step, ["a", "b"], 1, start="a"), "ucrl2-l", 100)
    assert trace.reward[-1] == 50
    assert trace.restarts[-1] == 50


# --- names, units, spaces


def test_policies_are_told_in_the_users_own_states_and_units():
    trace = eq.play(Clock(), "c-psrl", 800, seed=0, reward_range=(-1, 1))
    table = trace.agent.beliefs.policy_table()
    assert set(table["state"]) == {(d, h) for d in range(2) for h in range(3)}
    played = [action for action, visits in zip(table["action"], table["visits"], strict=True) if visits > 50]
    assert {action[0] for action in played} == {1}
    assert max(table["mean_reward"]) == pytest.approx(1.0)
    assert trace.reward[-1] > 500


def test_blackjack_is_played_through_an_encoder():
    env = gymnasium.make("Blackjack-v1")
    met = eq.Encoder.from_play(env, 2000)
    wide = GymSimulator(env, reward_range=(-1, 1))
    assert wide.pairs.n_states == 704
    assert met.n < 704
    trace = eq.play(wide, "ucrl2-l", 500, seed=0)
    assert (21, 10, 0) in trace.agent.beliefs.policy_table()["state"]


def test_actions_that_differ_by_state_are_respected():
    def step(state, action):
        assert action in {"low": ["fill"], "high": ["sell", "hold"]}[state]
        return {"fill": "high", "sell": "low", "hold": "high"}[action], float(action == "sell")

    sim = eq.Simulator(step, ["low", "high"], {"low": ["fill"], "high": ["sell", "hold"]}, start=lambda rng: "low")
    trace = eq.play(sim, "c-psrl", 400, seed=0)
    assert trace.reward[-1] > 150
    assert trace.agent.beliefs.policy_table()["action"] == ["fill", "sell"]


def test_our_own_environments_keep_their_action_sets():
    shop = eq.TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 1.0}, 1.0), (1, 3, {1: 1.0}, 0.5)])
    assert eq.play(eq.TabularEnv(shop), "psrl", 100).agent.pairs == shop.pairs


# --- curves, progress, checkpoints, stopping


def test_curves_progress_and_saving_happen_at_the_checkpoints(tmp_path):
    told = []
    path = tmp_path / "agent.npz"
    trace = eq.play(
        simulator(),
        "c-psrl",
        100,
        checkpoints=[10, 50, 100],
        save=path,
        progress=lambda done, n: told.append((done, n)),
    )
    assert told == [(10, 100), (50, 100), (100, 100)]
    assert trace.t.tolist() == [10, 50, 100]
    assert (np.diff(trace.reward) >= 0).all()
    assert "n_classes" in trace.curves
    assert "regret" not in trace.curves
    assert "T=100" in repr(trace)
    assert eq.load_agent(path).t == 101
    eq.play(simulator(), eq.load_agent(path), 10)


def test_seconds_are_those_since_the_start(monkeypatch):
    clock = count(100.0, 2.5)  # read at the start and at each checkpoint
    monkeypatch.setattr("equirl.interop.play.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    trace = eq.play(simulator(), "c-psrl", 100, checkpoints=[10, 50, 100])
    assert trace.seconds.tolist() == [2.5, 5.0, 7.5]


def test_a_callback_is_called_once_where_an_episode_begins():
    heard = []
    trace = eq.play(simulator(), "c-psrl", 500, callback=lambda agent: heard.append(agent.t))
    assert heard == trace.episode_starts.tolist() == trace.agent.episode_starts
    assert 1 < len(heard) < 500


def test_a_callback_stops_a_run_and_its_exception_keeps_the_trace():
    trace = eq.play(simulator(), "c-psrl", 5000, callback=lambda agent: agent.t > 200)
    assert 200 <= trace.t[-1] < 400
    assert trace.stopped == "the callback said so"

    def broken(agent):
        if agent.t > 200:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        eq.play(simulator(), "c-psrl", 5000, callback=broken)
    assert caught.value.trace.t[-1] == trace.t[-1]
    assert caught.value.trace.agent.t == trace.t[-1] + 1


def test_a_run_stops_when_the_policy_is_good_enough():
    trace = eq.play(simulator(), "c-psrl", 20_000, until={"gap": 0.2})
    assert trace.t[-1] < 20_000
    assert trace.gap <= 0.2
    assert trace.policy.tolist() == [0, 0, 0, 0]


# --- several


def test_learners_are_compared_in_environments_of_their_own():
    made = []

    def make():
        made.append(simulator())
        return made[-1]

    done = []
    learners = {"draws": "psrl", "chance": "random"}
    table = eq.play_many(make, learners, 400, seeds=range(3), progress=lambda k, n: done.append((k, n)))
    assert len(made) == 6
    assert done[-1] == (6, 6)
    assert table.final("reward")["draws"].mean() > table.final("reward")["chance"].mean()
    assert "reward" in repr(table)
    alone = eq.play(simulator(), "psrl", 400, seed=np.random.SeedSequence(1))
    assert table.final("reward")["draws"][1] == alone.reward[-1]


def test_a_learner_given_to_an_environment_brings_its_range_of_rewards():
    agent = eq.play(Clock(), "psrl", 20, reward_range=(-1.1, 2.3)).agent
    assert eq.play(Clock(), agent, 20).agent.reward_map == agent.reward_map
    with pytest.raises(ValueError, match="another reward_range"):
        eq.play(Clock(), agent, 20, reward_range=(-1.1, 2.4))


def test_a_trace_without_regret_is_drawn_by_its_rewards():
    figure = eq.play(simulator(), "psrl", 20).plot()
    assert figure.axes[0].get_ylabel() == "reward"


# --- mistakes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eq.play("FrozenLake-v1", "psrl", 10), "env must be a Gymnasium environment or a Simulator, not 'Fro"),
        (lambda: eq.play(lift, "psrl", 10), r"equirl.Simulator\(step, states, actions\) makes one"),
        (lambda: eq.play(simulator(), "psrl", 10, reward_range=(0, 1)), "a Simulator has its own"),
        (lambda: eq.play(simulator(), "optimal", 10), "'optimal' needs the true MDP"),
        (lambda: eq.play(simulator(), "psrl", 0), "steps must be at least 1"),
        (lambda: eq.play(simulator(), "psrl", 10, rate=3), "unknown setting 'rate'"),
        (lambda: eq.play(simulator(), eq.make_agent("psrl", 3, 2), 10), "made for other states or actions"),
        (lambda: eq.play(simulator(), eq.make_agent("psrl", 4, 2), 10), "another reward_range"),
        (lambda: eq.play(Clock(), "psrl", 10), r"the reward of .* is -1.0, outside \[0, 1\]; .* reward_range"),
        (lambda: eq.play(eq.Simulator(lambda s, a: 3, 2, 1), "psrl", 5), r"step\(0, 0\) returned 3, not \(next_state"),
        (
            lambda: eq.play(eq.Simulator(lambda s, a: (7, 0), 2, 1), "psrl", 5),
            r"step\(0, 0\) leads to 7: state 7 is out",
        ),
        (lambda: eq.Simulator(3, 2, 1), "step must be a function"),
        (lambda: eq.play_many("Lake", ["psrl"], 10), "env must be a Gymnasium environment or a Simulator, not 'Lake'"),
        (lambda: eq.play_many(lambda: simulator(), ["psrl"], 10, jobs=2), "env cannot be sent to 2 processes"),
        (lambda: eq.play(simulator(), "q-learning", 10, until="gap=0.1"), "'q-learning' cannot tell how good"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
