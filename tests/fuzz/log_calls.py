"""Calls about logs, simulators and encoders, each with arguments that make sense; part of ``public_calls.CALLS``."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces
from hypothesis import strategies as st
from hypothesis.strategies import just, sampled_from

import equirl as eq

STEPS = [("a", 0, 0.0, "b"), ("b", 0, 1.0, "a"), ("b", 1, 0.5, "b")]
COLUMNS = {"state": [0, 1], "action": ["x", "y"], "reward": [1.0, -3.0], "next_state": [1, 0]}
FLAG, SEED = st.booleans(), st.integers(0, 5)
LOG = sampled_from([STEPS, COLUMNS])
LOG_WORDS = (
    "log", "row", "state", "action", "reward", "next_state", "terminated", "weight", "column", "columns", "table",
    "actions", "name", "names", "time",
)  # fmt: skip
PLAY_WORDS = ("learner", "setting", "settings", "classes", "step", "state", "env", "reward", "a seed", "labels", "pair")


def column(role: str, values: Any) -> Any:
    """A log in which one column is whatever."""
    ends = {"terminated": [False, False], "weight": [1, 2], "time": [0, 1]}
    extra = {role: ends[role]} if role in ends else {}
    return eq.from_log({**COLUMNS, **extra, role: values}, restart=0)


def one_row(row: Any) -> Any:
    return eq.from_log([*STEPS, row])


def lift(floor: int, action: int) -> tuple[int, float]:
    return min(max(floor + 2 * action - 1, 0), 2), float(floor == 2)


def one_play(step: Any, states: Any, actions: Any, start: Any, reward_range: Any) -> Any:
    return eq.play(eq.Simulator(step, states, actions, start, reward_range=reward_range), "ucrl2-l", 5)


def encoded(values: Any, value: Any, number: Any) -> None:
    encoder = eq.Encoder.of(values)
    encoder.encode(value)
    encoder.decode(number)


def arguments_of_calls() -> dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]]:
    """(function, arguments, words) by name."""
    calls: dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]] = {
        "from_log": (
            eq.from_log,
            {
                "table": LOG,
                "columns": st.none() | just({"state": "state"}),
                "actions": sampled_from(["seen", "all", 2]),
                "reward_range": st.none() | just((-5, 5)),
                "restart": st.none(),
                "costs": FLAG,
            },
            LOG_WORDS,
        ),
        "from_log row": (one_row, {"row": sampled_from([*STEPS])}, LOG_WORDS),
        "classes_of": (
            eq.classes_of,
            {
                "log": LOG,
                "method": sampled_from(["posterior", "tests"]),
                "rewards": FLAG,
                "draws": st.integers(1, 3),
                "seed": SEED,
            },
            LOG_WORDS,
        ),
        "learn": (
            eq.learn,
            {"log": LOG, "draws": st.integers(1, 3), "delta": sampled_from([0.05]), "seed": SEED},
            LOG_WORDS,
        ),
        "next_steps": (
            eq.next_steps,
            {
                "log": LOG,
                "steps": st.integers(1, 5),
                "learner": sampled_from(["psrl", "c-ucrl"]),
                "draws": just(1),
                "seed": SEED,
            },
            (*LOG_WORDS, *PLAY_WORDS),
        ),
        "Simulator": (
            one_play,
            {
                "step": just(lift),
                "states": just(3),
                "actions": just(2),
                "start": sampled_from([0, 2]),
                "reward_range": just((0, 1)),
            },
            (*PLAY_WORDS, "start", "n_states", "n_actions", "action", "actions"),
        ),
        "play": (
            eq.play,
            {
                "env": st.builds(lambda: eq.TabularEnv("riverswim:n_states=4")),
                "agent": sampled_from(["psrl", "random", "c-ucrl"]),
                "steps": st.integers(1, 9),
                "seed": SEED,
                "reward_range": st.none() | just((0, 2)),
                "checkpoints": sampled_from([2, "log"]),
                "callback": st.none() | just(repr),
                "progress": st.none() | just(max),
                "save": st.none(),
                "until": st.none() | just({"gap": 0.5}),
            },
            PLAY_WORDS,
        ),
        "play_many": (
            eq.play_many,
            {
                "make_env": just(lambda: eq.TabularEnv("riverswim:n_states=4")),
                "learners": sampled_from([["random"], {"a": "psrl"}]),
                "steps": st.integers(1, 9),
                "seeds": sampled_from([range(2), [5]]),
                "reward_range": st.none(),
                "checkpoints": sampled_from([2, "log"]),
                "common_random_numbers": FLAG,
                "on_run": st.none() | just(max),
            },
            PLAY_WORDS,
        ),
        "GymSimulator": (
            eq.GymSimulator,
            {
                "env": st.builds(lambda: gymnasium.make("Blackjack-v1")),
                "encoder": st.none(),
                "reward_range": just((-1, 1)),
            },
            PLAY_WORDS,
        ),
        "Encoder": (eq.Encoder, {"space": sampled_from([spaces.Discrete(3), spaces.MultiBinary(2)])}, ("finite",)),
        "Encoder.of": (
            encoded,
            {"values": just(["a", "b"]), "value": sampled_from(["a", "b"]), "number": sampled_from([0, 1])},
            ("values", "state", "name"),
        ),
    }
    for role in ("state", "action", "reward", "next_state", "terminated", "weight", "time"):
        sensible = just([0, 1]) if role != "terminated" else just([False, True])
        calls[f"from_log {role}"] = (
            lambda values, role=role: column(role, values), {"values": sensible}, LOG_WORDS
        )  # fmt: skip
    return calls
