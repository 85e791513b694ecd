"""Vectors of environments: one learner, every step of each learned, whatever way episodes begin anew."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import equirl as eq


class Steps(gymnasium.Env):
    """0 to 1 to 2, where it ends, or is cut off; the start is drawn from 3 and 0."""

    def __init__(self, ends="terminated"):
        self.observation_space, self.action_space, self.ends = spaces.Discrete(4), spaces.Discrete(1), ends

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 3 if self.np_random.random() < 0.5 else 0
        return self.state, {}

    def step(self, action):
        before, self.state = self.state, {3: 1, 0: 1, 1: 2}[self.state]
        over = self.state == 2
        return self.state, before / 10, over and self.ends == "terminated", over and self.ends != "terminated", {}


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("ends", ["terminated", "truncated"])
def test_what_is_learned_is_what_the_environments_do(mode, ends):
    env = SyncVectorEnv([lambda: Steps(ends) for _ in range(3)], autoreset_mode=mode)
    trace = eq.play(env, "ucrl2-l", 200, seed=1, checkpoints=4)
    seen = trace.agent.counts.snapshot()
    rows = {s: dict(zip(seen.succ[a:b].tolist(), seen.count[a:b].tolist(), strict=True)) for s, (a, b) in
            enumerate(zip(seen.ptr[:-1], seen.ptr[1:], strict=True))}  # fmt: skip
    assert seen.visits.sum() == 200
    assert set(rows[0]) == set(rows[3]) == {1}
    assert set(rows[1]) == ({0, 3} if ends == "terminated" else {2})  # to where the next begins, or to the last state
    assert rows[2] == {}
    assert trace.reward[-1] == pytest.approx(seen.r_sum.sum())
    assert trace.reward[-1] == pytest.approx(0.3 * rows[3][1] + 0.1 * sum(rows[1].values()))
    assert trace.restarts[-1] == sum(rows[1].values())
    assert trace.t.tolist() == [50, 100, 150, 200]


def test_a_vector_of_one_teaches_what_the_environment_itself_does():
    one = eq.play(SyncVectorEnv([Steps]), "psrl", 40, seed=3)
    assert one.agent.counts.visits.sum() == 40
    assert one.agent.pairs.n_states == 4


def test_batches_of_tuples_and_dicts_are_taken_apart():
    class Both(Steps):
        def __init__(self):
            super().__init__()
            self.observation_space = spaces.Dict({"a": spaces.Discrete(4), "b": spaces.Tuple([spaces.Discrete(2)])})

        def reset(self, **given):
            state, info = super().reset(**given)
            return {"a": state, "b": (1,)}, info

        def step(self, action):
            state, *rest = super().step(action)
            return ({"a": state, "b": (0,)}, *rest)

    trace = eq.play(SyncVectorEnv([Both, Both]), "psrl", 20)
    names = trace.agent.pairs.state_names
    met = {names[s] for s in trace.agent.pairs.state[trace.agent.counts.visits > 0]}
    assert met <= {(0, (1,)), (3, (1,)), (1, (0,))}


def test_a_random_agent_draws_for_each_environment():
    class Wide(Steps):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Discrete(50)

    actions = []

    class Noted(SyncVectorEnv):
        def step(self, given):
            actions.append(np.array(given))
            return super().step(given)

    eq.play(Noted([Wide, Wide]), "random", 60)
    assert np.mean([a[0] == a[1] for a in actions]) < 0.5


def test_a_policy_is_evaluated_in_one_environment():
    with pytest.raises(TypeError, match="env must be one environment, not a vector of 2"):
        eq.evaluate([0, 0, 0, 0], SyncVectorEnv([Steps, Steps]), 10)


def test_a_callback_and_rules_end_it():
    env = SyncVectorEnv([Steps, Steps])
    assert eq.play(env, "psrl", 100, callback=lambda agent: agent.t > 10).stopped == "the callback said so"
    assert eq.play(env, "psrl", 5_000, until="gap=9e9").t[-1] < 5_000
