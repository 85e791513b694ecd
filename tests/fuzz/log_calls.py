"""Calls about logs, simulators and encoders, each with arguments that make sense; logs and worlds by parts too."""

from __future__ import annotations

from functools import cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy, just, sampled_from
from public_calls import (
    FLAG,
    FOLDER,
    LABELS,
    LEARNER_WORDS,
    MDP_WORDS,
    PAIR_WORDS,
    PATHS,
    RISK,
    SEED,
    Call,
    of,
    optional,
    river,
)

import equirl as eq
from equirl.interop import GymSimulator
from equirl.logs import Learned, LogClasses

ROWS = [("low", "wait", 0.0, "low"), ("low", "fill", 1.0, "high"), ("high", "wait", 0.5, "low")] * 3
NUMBERED = [(0, 0, -2.0, 1, False), (1, 1, 3.0, 0, True), (0, 1, 0.0, 2, False), (2, 7, 1.0, 0, True)]
COLUMNS = {"state": ["a", "b"], "action": [0, 1], "reward": [0.0, 1.0], "next_state": ["b", "a"]}
FILE = FOLDER / "log.csv"


@cache
def counts() -> eq.Log:
    return eq.from_log(ROWS)


@cache
def drawn() -> LogClasses:
    return counts().classes(draws=2)


@cache
def learned() -> Learned:
    return eq.learn(counts(), draws=2)


def a_file() -> str:
    """A log in a file, in the folder of the child that asks."""
    FOLDER.mkdir(exist_ok=True)
    FILE.write_text("state,action,reward,next_state\na,0,0.5,b\nb,1,1,a\n")
    return str(FILE)


def whole(log: eq.Log) -> None:
    """All that can be had from a log at once."""
    log.table().to_markdown(), log.limitations(), repr(log), log.mdp(), log.mean_reward


def read(**given: Any) -> None:
    whole(eq.from_log(**given))


read.__name__ = "from_log"


def one_row(state: Any, action: Any, reward: Any, next_state: Any, terminated: Any) -> None:
    whole(eq.from_log([(0, 0, 0.0, 1, False), (state, action, reward, next_state, terminated), (1, 0, 1.0, 0, False)]))


def by_columns(**columns: Any) -> None:
    whole(eq.from_log({role: values for role, values in columns.items() if values is not None}))


def cells(**cells: Any) -> None:
    """A log of two rows by column, whose second row is whatever."""
    first = {"state": 0, "action": 0, "reward": 0.5, "next_state": 1, "terminated": False, "weight": 1, "time": 0}
    whole(eq.from_log({role: [first[role], cell] for role, cell in cells.items()}, restart=0))


def classes(**given: Any) -> None:
    log = given.pop("log")
    found = (log if isinstance(log, eq.Log) else eq.from_log(log)).classes(**given)
    repr(found), repr(found.table()), repr(found.class_table())


classes.__name__ = "Log.classes"


def next_steps(log: Any, **given: Any) -> None:
    repr((log if isinstance(log, eq.Log) else eq.from_log(log)).next_steps(**given))


def fitted(X: Any, states: Any, **settings: Any) -> None:
    found = eq.LogPolicy(**settings)
    repr(found), found.fit(X).predict(states)


fitted.__name__ = "LogPolicy"


def checked(**given: Any) -> None:
    found = eq.check_structure(**given)
    repr(found), repr(found.table())


checked.__name__ = "check_structure"


def policy(**given: Any) -> None:
    found = eq.learn(**given)
    repr(found), repr(found.table()), found.regret, found._repr_html_()


policy.__name__ = "learn"


def goes_on(name: str, state: Any, action: Any, reward: Any, next_state: Any) -> None:
    """A learner that goes on from the log."""
    agent = counts().agent(name)
    agent.act("low")
    agent.observe(state, action, reward, next_state)


def climb(state: Any, action: Any, rng: np.random.Generator) -> tuple[int, float]:
    state = min(state + 1, 2) if action == 0 and rng.random() < 0.8 else 0
    return state, float(state == 2)


def simulator() -> eq.Simulator:
    return eq.Simulator(climb, 3, 2)


def lake() -> Any:
    return gymnasium.make("FrozenLake-v1")


def made(**given: Any) -> None:
    world = eq.Simulator(**given)
    repr(world), eq.play(world, "random", 3)


made.__name__ = "Simulator"


def one_step(start: Any, after: Any, reward: Any, terminated: Any, reward_range: Any) -> None:
    """A simulator whose function answers with whatever."""
    world = eq.Simulator(lambda s, a: (after, reward, terminated), ["a", "b"], 2, start, reward_range=reward_range)
    eq.play(world, "psrl", 3)


def one_answer(answer: Any) -> None:
    eq.play(eq.Simulator(lambda s, a: answer, 2, 2), "random", 2)


class Environment:
    """What looks like an environment of Gymnasium, and shows whatever."""

    def __init__(self, space: Any, actions: Any, begin: Any, answer: Any) -> None:
        self.observation_space, self.action_space, self.begin, self.answer = space, actions, begin, answer

    @property
    def unwrapped(self) -> Any:
        return self

    def reset(self, seed: Any = None) -> Any:
        return self.begin

    def step(self, action: Any) -> Any:
        return self.answer


def strange_environment(space: Any, actions: Any, begin: Any, answer: Any) -> None:
    eq.play(Environment(space, actions, begin, answer), "random", 2)


def shown_by(observation: Any, reward: Any, terminated: Any, truncated: Any) -> None:
    answer = (observation, reward, terminated, truncated, {})
    eq.play(Environment(spaces.Discrete(2), spaces.Discrete(2), (0, {}), answer), "psrl", 2)


SPACES: SearchStrategy = sampled_from([
    spaces.Discrete(3), spaces.Discrete(3, start=-1), spaces.MultiDiscrete([2, 2]), spaces.MultiBinary(2),
    spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), spaces.Dict({"a": spaces.Discrete(2)}), spaces.Tuple([]),
    spaces.Box(0, 1), spaces.MultiDiscrete([10**6, 10**6, 10**6, 10**6]), spaces.Tuple([spaces.Text(3)]),
])  # fmt: skip
ENCODERS = [
    eq.Encoder(spaces.Discrete(3)),
    eq.Encoder(spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)])),
    eq.Encoder(spaces.Dict({"a": spaces.Discrete(2), "b": spaces.MultiBinary(1)})),
    eq.Encoder.of(["a", (1, 2), 3]),
]
LOG = st.deferred(lambda: sampled_from([counts(), ROWS, NUMBERED, COLUMNS]))
WORLD = st.deferred(lambda: sampled_from([simulator(), lake(), eq.TabularEnv(river()), GymSimulator(lake())]))
NAMED = st.one_of(st.integers(0, 2), st.tuples(sampled_from(["low", "high"]), just("wait")))
MODELS, REWARD_RANGE = sampled_from(["c-psrl", "psrl", "ucrl2-l", "q-learning"]), optional((0, 1), (-5.0, 9.0))
UNTIL = optional("gap=0.1", {"seconds": 0.001}, "gap=0.1,delta=0.5")
LOG_WORDS = (
    "log",
    "row",
    "column",
    "reward",
    "state",
    "action",
    "next_state",
    "weight",
    "terminated",
    "table",
    "names",
)
WORLD_WORDS = ("env", "start gives", "leads to", "returned", "the reward of", "state", "action", "value", "space")

LOG_CALLS: dict[str, Call] = {
    "from_log": Call(
        read,
        {
            "table": st.one_of(LOG.filter(lambda log: not isinstance(log, eq.Log)), st.builds(a_file)),
            "columns": optional({}, {"state": "state"}, {"weight": "w"}),
            "actions": sampled_from(["seen", "all", 9, ["fill", "wait"], {"low": ["fill", "wait"], "high": ["wait"]}]),
            "reward_range": REWARD_RANGE,
            "restart": optional(0, "low"),
            "costs": FLAG,
        },
        LOG_WORDS,
    ),
    "from_log row": Call(
        one_row,
        {
            "state": sampled_from([0, 1, "a", (1, 2)]),
            "action": sampled_from([0, 3, "up"]),
            "reward": sampled_from([0.5, -7, 10**9]),
            "next_state": sampled_from([0, 1, (1, 2)]),
            "terminated": sampled_from([False, True, None, "yes"]),
        },
        LOG_WORDS,
    ),
    "from_log cells": Call(
        cells,
        {
            "state": sampled_from([1, "a"]),
            "action": sampled_from([0, "up"]),
            "reward": sampled_from([0.5, 4]),
            "next_state": sampled_from([0, None]),
            "terminated": FLAG,
            "weight": sampled_from([0, 1, 3, 2.0]),
            "time": sampled_from([-1, 1]),
        },
        LOG_WORDS,
    ),
    "from_log columns": Call(
        by_columns,
        {
            "state": sampled_from([[0, 1], np.array([0, 1]), np.array([[0, 1], [1, 1]]), ["a", "b"]]),
            "action": sampled_from([[0, 1], np.array(["a", "b"]), [0, 0]]),
            "reward": sampled_from([[0.0, 1.0], np.array([3, 4])]),
            "next_state": sampled_from([[1, 0], np.array([[0, 1], [1, 1]]), ["b", "a"]]),
            "terminated": optional([False, False], np.array([0, 1]), ["no", "yes"]),
            "weight": optional([1, 2], [0, 1]),
            "time": optional([2, 1], ["2026-01-02", "2026-01-01"]),
        },
        LOG_WORDS,
    ),
    "Log.classes": Call(
        classes,
        {
            "log": LOG,
            "method": sampled_from(["posterior", "tests"]),
            "rewards": just(False),
            "draws": st.integers(1, 3),
            "seed": SEED,
        },
        (*LOG_WORDS, "posterior"),
    ),
    "Log.classes tests": Call(
        classes,
        {"log": LOG, "method": just("tests"), "rewards": FLAG, "delta": RISK, "balance": sampled_from([1.5, 4.0])},
        (*LOG_WORDS, "posterior", *LEARNER_WORDS),
    ),
    "learn": Call(
        policy,
        {
            "log": LOG,
            "draws": st.integers(1, 3),
            "discount": optional(0.5, 0.95),
            "delta": RISK,
            "seed": SEED,
            "local": sampled_from([0.5, 1.0]),
        },
        (*LOG_WORDS, *LEARNER_WORDS),
    ),
    "LogPolicy": Call(
        fitted,
        {
            "X": LOG,
            "states": just([]),
            "actions": sampled_from(["seen", "all"]),
            "costs": FLAG,
            "draws": st.integers(1, 2),
            "discount": optional(0.5),
            "seed": SEED,
        },
        (*LOG_WORDS, *LEARNER_WORDS),
    ),
    "check_structure": Call(
        checked,
        {
            "problem": st.one_of(LOG, st.builds(river)),
            "classes": st.one_of(just([0, 0, 0]), LABELS, just(lambda state, action: action)),
            "profiles": st.none(),
            "order": optional([["low"]] * 3, lambda state, action: [state]),
            "rewards": FLAG,
            "delta": RISK,
            "tolerance": sampled_from([0.0, 0.1]),
        },
        (*LOG_WORDS, *LEARNER_WORDS, *MDP_WORDS, "problem"),
    ),
    "Log.next_steps": Call(
        next_steps,
        {
            "log": LOG,
            "steps": st.integers(1, 20),
            "policy": optional(["wait", "wait"], [0, 0]),
            "learner": MODELS,
            "discount": optional(0.9),
            "draws": st.integers(1, 2),
            "seed": SEED,
        },
        (*LOG_WORDS, *LEARNER_WORDS, "policy"),
    ),
    "Log.agent": Call(
        of(counts, "agent"),
        {
            "name": MODELS,
            "seed": SEED,
            "classes": optional([0, 0, 0], lambda state, action: action),
            "profiles": st.none(),
            "order": optional([["low"], ["low"], ["low"]]),
            "mean_rewards": optional([0.5] * 3),
        },
        LEARNER_WORDS,
    ),
    "Log.agent step": Call(
        goes_on,
        {
            "name": MODELS,
            "state": just("low"),
            "action": sampled_from(["wait", "fill", 0]),
            "reward": st.floats(0, 1),
            "next_state": sampled_from(["low", "high"]),
        },
        LEARNER_WORDS,
    ),
    "Log.mdp": Call(of(counts, "mdp"), {"name": sampled_from(["", "x"])}, MDP_WORDS),
    "LogClasses.alike": Call(of(drawn, "alike"), {"pair": NAMED, "other": NAMED}, PAIR_WORDS),
    "Learned.table": Call(
        lambda name: learned().table()[name], {"name": sampled_from(["action", "state"])}, ("column",)
    ),
    "Table.head": Call(lambda n: repr(counts().table().head(n)), {"n": st.integers(0, 5)}),
    "Table.is_numeric": Call(
        lambda name: counts().table().is_numeric(name), {"name": sampled_from(["visits", "state"])}, ("column",)
    ),
    "Table.to_csv": Call(lambda path: counts().table().to_csv(path), {"path": PATHS}),
    "Encoder": Call(eq.Encoder, {"space": SPACES}, ("values", "finite")),
    "Encoder.of": Call(
        eq.Encoder.of,
        {"values": sampled_from([["a", "b"], [(0, 1), (1, 1)], [{"a": 1}, {"a": 2}], range(3)])},
        ("stand for",),
    ),
    "Encoder.from_play": Call(
        eq.Encoder.from_play,
        {"env": st.builds(lake), "steps": st.integers(1, 20), "seed": SEED},
        WORLD_WORDS,
    ),
    "Encoder.encode": Call(
        ENCODERS[0].encode,
        {"value": sampled_from([0, 2, np.int64(1), np.array(1)])},
    ),
    "Encoder.encode parts": Call(ENCODERS[1].encode, {"value": sampled_from([(0, 1), [1, 1], np.array([0, 1])])}),
    "Encoder.encode dict": Call(ENCODERS[2].encode, {"value": sampled_from([{"a": 1, "b": [0]}, {"b": [1], "a": 0}])}),
    "Encoder.encode listed": Call(ENCODERS[3].encode, {"value": sampled_from(["a", (1, 2), [1, 2], 3])}),
    "Encoder.decode": Call(ENCODERS[2].decode, {"number": st.integers(0, 3)}),
    "Simulator": Call(
        made,
        {
            "step": just(climb),
            "states": sampled_from([3, range(3), [0, 1, 2]]),
            "actions": sampled_from([2, [2, 1, 1], [[0], [1], [0, 1]], {0: [0], 1: [0], 2: [0]}]),
            "start": sampled_from([0, 2, lambda rng: int(rng.integers(3))]),
            "reward_range": sampled_from([(0, 1), (-5.0, 9.0)]),
        },
        WORLD_WORDS,
    ),
    "Simulator step": Call(
        one_step,
        {
            "start": sampled_from(["a", "b"]),
            "after": sampled_from(["a", "b"]),
            "reward": st.floats(0, 1),
            "terminated": FLAG,
            "reward_range": sampled_from([(0, 1), (-5.0, 9.0)]),
        },
        WORLD_WORDS,
    ),
    "Simulator answer": Call(one_answer, {"answer": sampled_from([(1, 0.5), (0, 1), (1, 1.0, True)])}, WORLD_WORDS),
    "GymSimulator": Call(
        GymSimulator,
        {
            "env": st.builds(lake),
            "encoder": optional(eq.Encoder(spaces.Discrete(16)), eq.Encoder.of(range(16))),
            "reward_range": sampled_from([(0, 1), (-5.0, 9.0)]),
        },
        WORLD_WORDS,
    ),
    "GymSimulator spaces": Call(
        strange_environment,
        {
            "space": SPACES,
            "actions": SPACES,
            "begin": sampled_from([(0, {}), ((0, 1), {}), ({"a": 0}, {})]),
            "answer": sampled_from([(1, 0.5, False, False, {}), ((1, 1), 1.0, True, False, {})]),
        },
        WORLD_WORDS,
    ),
    "GymSimulator answer": Call(
        shown_by,
        {
            "observation": sampled_from([0, 1, np.int64(1), np.array(0)]),
            "reward": sampled_from([0.5, np.float64(1), 0]),
            "terminated": FLAG,
            "truncated": FLAG,
        },
        WORLD_WORDS,
    ),
    "play": Call(
        eq.play,
        {
            "env": WORLD,
            "agent": sampled_from(["c-psrl", "ucrl2-l", "random", "q-learning"]),
            "steps": st.integers(1, 20),
            "seed": SEED,
            "reward_range": st.none(),
            "checkpoints": sampled_from([3, "log", [1]]),
            "callback": optional(lambda agent: None),
            "progress": optional(lambda done, steps: None),
            "save": optional(FOLDER / "played.npz"),
        },
        (*LEARNER_WORDS, *WORLD_WORDS),
    ),
    "play settings": Call(
        eq.play,
        {
            "env": st.builds(lambda: eq.TabularEnv(river())),
            "agent": sampled_from(["psrl", "c-ucrl-c", "ucrl2-l"]),
            "steps": st.integers(1, 150),
            "reward_range": REWARD_RANGE,
            "until": UNTIL,
            "classes": st.none() | LABELS,
            "profiles": st.none(),
            "mean_rewards": optional([0.5] * 8),
        },
        (*LEARNER_WORDS, *WORLD_WORDS, "delta", "gap", "seconds", "risk"),
    ),
    "play_many": Call(
        eq.play_many,
        {
            "env": sampled_from([simulator, lambda: eq.TabularEnv(river()), simulator()]),
            "learners": sampled_from([["random"], ["random", ("ucrl2-l", {"delta": 0.1})], {"a": "psrl"}]),
            "steps": st.integers(1, 20),
            "seeds": sampled_from([range(2), [5]]),
            "reward_range": st.none(),
            "checkpoints": sampled_from([2, "log"]),
            "common_random_numbers": FLAG,
            "progress": sampled_from([False, lambda done, total: None]),
        },
        (*LEARNER_WORDS, *WORLD_WORDS, "seed"),
    ),
}
