"""Learning: steps per second of each learner, against the same learner in plain Python and against another library."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from equirl.interop.gym import TabularEnv
from equirl.lab.benchmarks.measurement import (
    Finding,
    Measure,
    Sizes,
    Skipped,
    in_new_process,
    power,
    seconds_of,
    side_by_side,
)
from equirl.learners import agent_for
from equirl.model import TabularMDP
from equirl.simulation import simulate
from equirl.solving import solve
from equirl.worlds import make

if TYPE_CHECKING:
    from equirl.keeping.journal import JournalledAgent
    from equirl.learners import Learner

WORLD, N_STATES = "ergodic-riverswim", 25
PLACE = f"Ergodic RiverSwim, S = {N_STATES}"
MEASURED = ("ucrl2", "ucrl2-l", "c-ucrl-c-sigma", "c-ucrl-c", "c-ucrl", "q-learning")
UNCOMPILED = ("ucrl2-l", "c-ucrl-c-sigma")
GROWING = "c-ucrl"  # the learner whose growth with T is shown


def measure_learning(sizes: Sizes) -> Iterator[Finding]:
    mdp = make(WORLD, n_states=N_STATES)
    gain = solve(mdp).unit_gain
    long, short = sizes.horizon, sizes.loop_steps
    for name in MEASURED:
        own, chosen = sizes.chosen(name), sizes.settings_note(name)
        times = side_by_side({
            "long": partial(simulate, mdp, name, long, gain=gain, **own),
            "short": partial(simulate, mdp, name, short, gain=gain, **own),
            "loop": partial(step_by_step, mdp, name, short, **own),
        }, sizes.seconds)  # fmt: skip
        note = f"{PLACE}, T = {long}{chosen}"
        yield Measure(f"{name}, whole run", long / times["long"] / 1e6, "million steps/s", note)
        ratio, note = times["loop"] / times["short"], f"{PLACE}, T = {short}{chosen}"
        yield Measure(f"{name}: loop of act and observe against simulate", ratio, "times", note)
    yield from _against_uncompiled(mdp, gain, sizes)
    yield from _against_statisticalrl(mdp, gain, sizes)
    yield _growth(mdp, gain, sizes)


def step_by_step(mdp: TabularMDP, name: str, steps: int, **settings: Any) -> None:
    drive(agent_for(mdp, name, **settings), mdp, steps)


def drive(agent: Learner | JournalledAgent, mdp: TabularMDP, steps: int) -> None:
    """Play a learner, or one with a journal, in a Gymnasium loop."""
    env = TabularEnv(mdp)
    state, _ = env.reset(seed=0)
    for _ in range(steps):
        action = agent.act_id(state)
        following, reward, _, _, _ = env.step(action)
        agent.observe(state, action, reward, following)
        state = following


def timed_run(name: str, steps: int, **settings: Any) -> float:
    """Seconds of one run, for a process in which nothing is compiled."""
    mdp = make(WORLD, n_states=N_STATES)
    start = time.perf_counter()
    simulate(mdp, name, steps, gain=1.0, **settings)
    return time.perf_counter() - start


def _against_uncompiled(mdp: TabularMDP, gain: float, sizes: Sizes) -> Iterator[Finding]:
    for name in UNCOMPILED:
        code = (
            "from math import inf; from equirl.lab.benchmarks.learning_speed import timed_run; "
            f"print(timed_run({name!r}, {sizes.plain_steps}, **{sizes.chosen(name)!r}))"
        )
        plain = float(in_new_process(code, NUMBA_DISABLE_JIT="1").printed)
        run = partial(simulate, mdp, name, sizes.plain_steps, gain=gain, **sizes.chosen(name))
        ours = seconds_of(run, sizes.seconds / 5)
        note = f"T = {sizes.plain_steps}{sizes.settings_note(name)}, the same program with every kernel interpreted"
        yield Measure(f"{name}: plain bodies against compiled", plain / ours, "times", note)


def _against_statisticalrl(mdp: TabularMDP, gain: float, sizes: Sizes) -> Iterator[Finding]:
    name = "statisticalrl's UCRL2 against ours"
    try:
        from statisticalrl_learners.MDPs_discrete.UCRL2 import UCRL2  # type: ignore[import-not-found]
    except ImportError:
        yield Skipped(name, "statisticalrl-learners is not installed")
        return
    env, agent = TabularEnv(mdp), UCRL2(mdp.n_states, mdp.pairs.n_actions, delta=0.05)
    state, _ = env.reset(seed=0)
    steps, start = 0, time.perf_counter()
    agent.reset(state)
    while time.perf_counter() < start + sizes.seconds:
        action = agent.play(state)
        following, reward, _, _, _ = env.step(action)
        agent.update(state, action, reward, following)
        state, steps = following, steps + 1
    theirs = time.perf_counter() - start
    run = partial(simulate, mdp, "ucrl2", steps, gain=gain, **sizes.chosen("ucrl2"))
    ours = seconds_of(run, sizes.seconds / 5)
    note = f"the first {steps} steps{sizes.settings_note('ucrl2')}; it plans to accuracy 1/t, ours to 1/sqrt(t)"
    yield Measure(name, theirs / ours, "times", note)


def _growth(mdp: TabularMDP, gain: float, sizes: Sizes) -> Measure:
    run = partial(simulate, mdp, GROWING, gain=gain, **sizes.chosen(GROWING))
    times = [seconds_of(partial(run, T), sizes.seconds / 3) for T in sizes.growth_horizons]
    note = f"{GROWING}{sizes.settings_note(GROWING)}, T = {sizes.growth_horizons[0]} to {sizes.growth_horizons[-1]}"
    return Measure("growth of a run with T", power(sizes.growth_horizons, times), "power", note)
