"""Learners from outside the package: registered with one call each, they work wherever a learner's name does."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import equirl as eq
from equirl.learners import make_settings
from equirl.learners.learner_registry import AGENTS
from outside_learners import OUTSIDE

RIVER = eq.make("riverswim", n_states=5, reward_law="bernoulli")
FOLDER = Path(__file__).parent.parent


def drive(agent, steps, seed=3, state=0):
    """Act and observe in the river; the actions taken and the state reached."""
    rng, actions = np.random.default_rng(seed), []
    for _ in range(steps):
        action = agent.act_id(state)
        law = RIVER.transition_probabilities(state, action)
        following = int(rng.choice(list(law), p=list(law.values())))
        agent.observe(state, action, float(rng.random() < RIVER.mean_reward(state, action)), following)
        actions.append(action)
        state = following
    return actions, state


@pytest.mark.parametrize("name", OUTSIDE)
def test_it_is_simulated_and_learns(name):
    traces, by_chance = ([eq.simulate(RIVER, one, 4000, seed=s) for s in range(3)] for one in (name, "random"))
    earned, chance = (sum(trace.reward[-1] for trace in some) for some in (traces, by_chance))
    assert earned > 20 * chance  # 80 times and more over twelve seeds
    np.testing.assert_array_equal(traces[0].reward, eq.simulate(RIVER, name, 4000, seed=0).reward)


@pytest.mark.parametrize("name", OUTSIDE)
def test_simulating_equals_acting_and_observing(name):
    """The steps of a run, fed one by one to a twin, give the same decisions."""
    agent, steps = eq.agent_for(RIVER, name, seed=7), []

    class Spy:
        """Writes down what the run commits."""

        def __init__(self, learner):
            self.record = learner.record

        def __call__(self, path, rewards, final):
            ends = [*RIVER.pairs.state[path[1:]], final]
            steps.extend(zip(path.tolist(), rewards.tolist(), map(int, ends), strict=True))
            self.record(path, rewards, final)

    from equirl.simulation.rollout import Rollout

    rollout = Rollout(RIVER, np.random.SeedSequence(5))
    commit = Spy(agent)
    while agent.t <= 500:
        path, rewards = rollout.play(agent.decide(rollout.state), 501 - agent.t)
        commit(path.copy(), rewards, rollout.state)
    twin = eq.agent_for(RIVER, name, seed=7)
    for pair, reward, following in steps:
        state, action = int(RIVER.pairs.state[pair]), int(RIVER.pairs.action[pair])
        assert twin.act_id(state) == action
        twin.observe(state, action, reward, following)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("steps", [0, 137])
def test_saved_and_loaded_it_goes_on_as_if_never_stopped(name, steps, tmp_path):
    agent = eq.agent_for(RIVER, name, seed=2)
    _, state = drive(agent, steps)
    agent.save(tmp_path / "agent.npz")
    twin = eq.load_agent(tmp_path / "agent.npz")
    assert drive(agent, 200, seed=4, state=state) == drive(twin, 200, seed=4, state=state)


@pytest.mark.parametrize("name", OUTSIDE)
def test_its_settings_are_those_of_its_parts(name):
    key, value = {"toy-contaminated": ("trust", 0.9), "toy-drawing": ("strength", 0.5), "toy-steps": ("explore", 0.0)}[
        name
    ]
    assert make_settings(name, **{key: value}).as_dict()[key] == value
    with pytest.raises(TypeError, match=f"unknown setting 'nonsense'.*{key}"):
        make_settings(name, nonsense=1)


def test_its_own_measures_are_curves_of_the_trace():
    trace = eq.simulate(RIVER, "toy-drawing", 2000, seed=0, checkpoints=10)
    assert trace.pairs_tried[-1] == 10
    assert "pairs_tried" not in eq.simulate(RIVER, "toy-steps", 200, seed=0).curves
    with pytest.raises(AttributeError, match="has no 'pairs_tried'"):
        _ = eq.simulate(RIVER, "toy-steps", 200, seed=0).pairs_tried


def test_it_imports_what_the_package_and_its_folders_export():
    tree = ast.parse((FOLDER / "outside_learners.py").read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module.startswith("equirl")]
    assert {node.module for node in found} == {"equirl.learners", "equirl.numerics", "equirl.planning"}
    for node in found:
        assert {one.name for one in node.names} <= set(importlib.import_module(node.module).__all__)


def test_a_whole_learner_needs_names_of_the_package_alone():
    page = (FOLDER.parent / "docs" / "own-learner.md").read_text()
    code = next(block for block in page.split("```python\n") if "class Sampler" in block).split("```")[0]
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports if "equirl" in ast.unparse(node)] == ["import equirl as eq"]


def test_it_takes_part_in_a_study_with_processes_and_is_listed(tmp_path):
    study = tmp_path / "toys.toml"
    names = ", ".join(f'"{name}"' for name in OUTSIDE)
    study.write_text(
        f'horizon = 400\nruns = 2\nworlds = ["riverswim:n_states=5"]\nlearners = [{names}]\ncheckpoints = 4\n'
    )
    places = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": places, "EQUIRL_LEARNERS": "outside_learners", "COLUMNS": "200"}
    command = [sys.executable, "-c", "from equirl.lab.cli import app; app()"]

    def run(*words):
        return subprocess.run([*command, *words], env=environment, capture_output=True, text=True, check=False)

    done = run("study", str(study), "--out", str(tmp_path / "out"), "--jobs", "2", "--quiet")
    assert done.returncode == 0, done.stderr
    assert run("export", str(study), "--out", str(tmp_path / "out"), "-o", str(tmp_path / "t.csv")).returncode == 0
    table = (tmp_path / "t.csv").read_text()
    assert all(table.count(name) == 8 for name in OUTSIDE)
    assert "pairs_tried" in table.splitlines()[0]
    listed = run("agents").stdout
    assert all(name in listed for name in OUTSIDE)


def test_processes_of_a_script_import_the_module_that_registered_it():
    table = eq.simulate_many(RIVER, list(OUTSIDE), horizon=300, seeds=range(2), jobs=2)
    alone = eq.simulate_many(RIVER, list(OUTSIDE), horizon=300, seeds=range(2))
    np.testing.assert_array_equal(table["regret"], alone["regret"])


def test_a_name_that_is_taken_and_a_recipe_that_is_none_are_refused():
    with pytest.raises(ValueError, match="'ucrl2-l' in the package already"):
        eq.register_learner("ucrl2-l", AGENTS["toy-steps"])
    with pytest.raises(TypeError, match="recipe must be a Recipe"):
        eq.register_learner("mine", object())


def test_two_parts_cannot_share_a_setting():
    from outside_learners import Chance, StepByStep

    with pytest.raises(ValueError, match="two parts of a recipe have a setting 'explore'"):
        eq.Recipe("twice", StepByStep, (Chance(), Chance()))
