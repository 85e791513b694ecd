"""Traces of runs, curves and what ends a run are what they were (``same_traces.json``).

``python tests/simulation/test_same_traces.py`` stores them anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import equirl as eq
from equirl.learners.contract import Stretch, pair_limits, step_limits
from equirl.simulation.curves import Curves, half_width, in_usual_order
from equirl.simulation.rollout import Rollout, walk
from equirl.simulation.simulated_runs import LiveRun, simulate, twin_for
from equirl.simulation.trace import Recorder, ValueMeasures, checkpoint_times, tally
from equirl.simulation.until import Until, Watch, until
from stored_kit import answers, check, store


def world(law="deterministic"):
    rng = np.random.default_rng(7)
    p, r = rng.random((4, 2, 4)) ** 3, 4 * rng.random((4, 2)) - 1
    p[3], r[3] = p[1][:, [2, 3, 0, 1]], r[1]
    p /= p.sum(axis=2, keepdims=True)
    return eq.TabularMDP.from_arrays(p, r, [0.5, 0.25, 0, 0.25], rescale=True, reward_law=law, concentration=2.0)


def shown(trace):
    unit, curves = trace.unit_curves, trace.curves
    found = {f"curve {name}": curves[name] for name in curves} | {f"unit {name}": unit[name] for name in unit}
    return found | {
        "t": trace.t, "starts": trace.episode_starts, "policy": trace.policy, "stopped": [trace.stopped],
        "numbers": [trace.gain, trace.unit_gain, trace.gap, trace.n_unconverged, trace.n_episodes, trace.agent.t],
        "settings": [str(sorted(trace.settings.items()))],
        "visits": trace.agent.counts.visits if hasattr(trace.agent, "counts") else [],
    }  # fmt: skip


def run(learner, law="deterministic", horizon=150, checkpoints=7, **options):
    return lambda: shown(simulate(world(law), learner, horizon, 3, checkpoints=checkpoints, **options))


def goes_on():
    """A run stretch by stretch, a learner that goes on, one that is stopped or given up."""
    mdp, found = world("bernoulli"), {}
    live = LiveRun(mdp, "q-learning", 60, 2, checkpoints=[10, 35, 60], settings={"explore": 0.3})
    sizes = []
    while live.goes_on:
        sizes.append(len(live.advance(most=9)))
    found["sizes"] = [*sizes, len(live.advance())]
    found["live"] = shown(live.trace())
    first = simulate(mdp, "ucrl2-l", 80, 1, checkpoints=4)
    found["again"] = shown(simulate(mdp, first.agent, 70, 2, checkpoints="log"))
    seen = []
    found["stopped"] = shown(
        simulate(mdp, "ucrl2-l", 300, 1, checkpoints=5, callback=lambda a: seen.append(a.t) or a.t > 60)
    )
    found["seen"] = seen
    told = []
    simulate(mdp, "ucrl2-l", 50, 1, checkpoints=5, progress=lambda done, of: told.append((done, of)))
    found["told"] = told
    given = LiveRun(mdp, "ucrl2-l", 90, 4, checkpoints=6)
    for _ in range(6):
        given.advance()
    end = given.give_up()
    found["given up"] = shown(end) if end is not None else {"none": [1]}
    calls = [
        lambda: LiveRun(mdp, "ucrl2-l", 9, 4).trace(), lambda: simulate(mdp, "random", 9, 4, measure_clustering=True),
        lambda: simulate(mdp, 3, 9), lambda: simulate(mdp, first.agent, 9, delta=0.1),
        lambda: simulate(eq.make("riverswim"), first.agent, 9),
        lambda: simulate(mdp, "ucrl2-l", 9, gain=99.0), lambda: simulate(mdp, "ucrl2-l", 9, callback=3),
        lambda: simulate(mdp, "ucrl2-l", 0),
        lambda: simulate(mdp, "ucrl2-l", 9, epsilon=0.0), lambda: simulate(mdp, "q-learning", 9, until="gap=0.1"),
        lambda: simulate(mdp, "ucrl2-l", 9, until="gap"),
        lambda: float(simulate(mdp, "ucrl2-l", 9, gain=1.0).gain), lambda: twin_for(first.agent, mdp.pairs, mdp, {}).t,
        lambda: first.nothing,
        lambda: first.misclustering_ratio, lambda: simulate(mdp, "ucrl2-l", 500, 1, until="gap=9").stopped,
    ]  # fmt: skip
    return found | {"calls": answers(calls)}


def times():
    calls = [
        lambda: checkpoint_times("log", 500), lambda: checkpoint_times(7, 100), lambda: checkpoint_times(200, 3),
        lambda: checkpoint_times([1, 5, 9], 9), lambda: checkpoint_times("lin", 9),
        lambda: checkpoint_times(0, 9), lambda: checkpoint_times(1, 9), lambda: checkpoint_times(2.5, 9),
        lambda: checkpoint_times([], 9), lambda: checkpoint_times([0, 9], 9),
        lambda: checkpoint_times([1, 1, 9], 9), lambda: checkpoint_times([1, 8], 9),
        lambda: checkpoint_times([[1, 9]], 9), lambda: checkpoint_times([1.0, 9.0], 9),
        lambda: until("gap=0.1, delta=0.2"), lambda: until({"seconds": 3}), lambda: until(None),
        lambda: until(Until(gap=1)), lambda: until(3), lambda: until("gap=0"), lambda: until({"gp": 1}),
        lambda: until({"delta": 0.1}), lambda: until("seconds=-1"), lambda: Until(gap=0.1, delta=1.0),
        lambda: Until(gap=0.1, seconds=2.0).seconds,
    ]  # fmt: skip
    marks, total, earned = np.array([2, 3, 7, -1]), np.zeros(2), np.zeros((2, 3))
    mark = tally(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]), 1, marks, 0, total, earned)
    mark = tally(np.array([1.0, 2, 3, 4, 5]), np.array([4.0, 5, 6, 7, 8]), 4, marks, mark, total, earned)
    return answers(calls) | {"tally": {"mark": [mark], "total": total, "earned": earned}}


def curves():
    t = np.array([1, 4, 10])
    one = Curves.of_run(
        t, {"regret": [1.0, 2, 4], "reward": [0.0, 1, 3], "n_classes": [1, 2, 3], "value_regret": [0.5, 1, 2]}
    )
    two = Curves.of_run(t, {"regret": [2.0, 5, 6], "reward": [1.0, 1, 2], "extra": [0, 0, 1]})
    both = Curves.stack([one, two])
    units = one.in_units((4.0, -1.0))
    calls = [
        lambda: Curves(t, {"a": np.zeros((1, 2))}), lambda: Curves(t, {"a": np.zeros(3)}),
        lambda: Curves(t, {"a": np.zeros((1, 3)), "b": np.zeros((2, 3))}), lambda: Curves.stack([]),
        lambda: Curves.stack([one, Curves.of_run(t + 1, {"regret": t})]), lambda: one["regrt"],
        lambda: both.at("regret", 11), lambda: both.quantile("regret", 1.1),
        lambda: [both.n_runs, Curves(t, {}).n_runs, "regret" in one, 3 in one, "x" in one], lambda: list(both.names),
        lambda: in_usual_order(["z", "reward", "a", "regret"]),
        lambda: [both.mean("regret"), both.half_width("regret"), both.half_width("regret", 0.5),
            both.quantile("regret", 0.25), one.half_width("regret")],
        lambda: [both.at("regret", time) for time in (0, 0.5, 1, 7, 10)], lambda: both.final("reward"),
        lambda: half_width(np.arange(58.0).reshape(29, 2)), lambda: half_width(np.arange(60.0).reshape(30, 2)),
        lambda: {name: units[name] for name in units}, lambda: one.in_units((1.0, 0.0)) is one,
        lambda: one.in_units((1.0, 2.0))["reward"],
    ]  # fmt: skip
    return answers(calls)


def rollouts():
    mdp, found = world("beta"), {}
    rollout = Rollout(mdp, np.random.SeedSequence(4))
    for turn, stretch in enumerate((
        Stretch(np.array([0, 2, 4, 6]), step_limits(5)), Stretch(np.array([1, 3, 5, 7]), pair_limits(np.full(8, 2))),
        Stretch(np.array([0, 2, 4, 6]), step_limits(50), np.linspace(0, 0.99, 7)),
    )):  # fmt: skip
        path, rewards = rollout.play(stretch, 20)
        found[f"play {turn}"] = {
            "path": path.copy(),
            "rewards": rewards,
            "state": [rollout.state],
            "left": stretch.limits.steps % 1000,
        }
    path = np.zeros(6, np.int64)
    found["walk"] = [
        *walk(
            1,
            np.linspace(0, 0.9, 6),
            rollout.dynamics,
            Stretch(np.array([0, 2, 4, 6]), pair_limits(np.full(8, 1))),
            path,
        ),
        *path,
    ]
    measures = ValueMeasures(mdp, 0.9, 0.05)
    found["gap"] = {"gap": measures.gap(np.array([0, 2, 4, 6])), "optimal": measures.optimal}
    found["along"] = measures.along(np.array([1, 2, 5, 6]), np.array([0, 3, 5, 7]))
    agent = eq.agent_for(mdp, "ucrl2-l", 1)
    recorder = Recorder(mdp, agent, np.array([3, 6]), True)
    found["recorder"] = [recorder.steps_to_mark(), recorder.end_early(), len(recorder.marks)]
    agent = eq.agent_for(mdp, "ucrl2-l", 1)
    watch = Watch(Until(gap=1e-9), agent)
    found["watch"] = [
        watch.next,
        watch.stops(0),
        Watch(None, agent).stops(0),
        Watch(Until(seconds=1e-9), agent).stops(0),
    ]
    return found


CASES = {
    "ucrl2-l": run("ucrl2-l"), "c-ucrl, measured": run("c-ucrl", "bernoulli", 200, measure_clustering=True),
    "q-learning": run("q-learning", "beta", 260, checkpoints="log"),
    "q-learning of coins": run("q-learning", "bernoulli", world_seed=5),
    "discounted": run("ucrl2-l", "beta", discount=0.9, epsilon=0.05),
    "c-q-learning": run("c-q-learning-c-sigma", "beta"),
    "psrl": run("psrl", "bernoulli", gain=1.5), "random": run("random"), "imed-rl": run("imed-rl", horizon=80),
    "c-psrl": run("c-psrl", "beta", 120, measure_clustering=True),
    "until a gap": run("psrl", horizon=400, until={"gap": 2.0}),
    "until a certified gap": run("ucrl2-l", horizon=400, until={"gap": 5.0, "delta": 0.3}),
    "goes on": goes_on, "times": times, "curves": curves, "rollouts": rollouts,
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_traces_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
