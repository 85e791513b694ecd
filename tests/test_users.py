"""What users do: odd arguments, scripts of their own, files of unknown origin, type checkers. Each is met, or told."""

from __future__ import annotations

import ast
import errno
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.files import whole_files as files
from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.interop import from_quantecon
from equirl.keeping.saving import KIND, VERSION
from equirl.lab.cli import app
from equirl.lab.plots.sheets import policy_text
from equirl.lab.studies import compare
from equirl.learners import make_settings
from equirl.solving import value_iteration
from equirl.structure import misclustering_ratio, separation
from equirl.theory import proposition1_samples

RIVER = eq.make("riverswim", n_states=5)
LIFT = eq.TabularMDP.from_pairs(
    [
        ("low", "go", {"high": 1.0}, 0.2),
        ("high", "go", {"low": 0.5, "high": 0.5}, 1.0),
        ("high", "wait", {"high": 1.0}, 0.0),
    ],
    n_states=2,
    state_names=["low", "high"],
    action_names=["go", "wait"],
)


# --- seeds and settings


def test_the_same_seed_sequence_gives_the_same_run_twice():
    seed = np.random.SeedSequence(5)
    one, other = (eq.simulate(RIVER, "c-ucrl", 400, seed=seed, world_seed=seed) for _ in range(2))
    np.testing.assert_array_equal(one.reward, other.reward)
    assert seed.n_children_spawned == 0


@pytest.mark.parametrize("seed", [None, -1, 1.5, "7", [1, 2]], ids=repr)
def test_a_seed_that_is_none_is_named(seed):
    with pytest.raises((TypeError, ValueError), match=r"^seed must be"):
        eq.simulate(RIVER, "random", 10, seed=seed)


@pytest.mark.parametrize("seed", [-1, 1.5, "7"])
def test_a_seed_of_the_world_that_is_none_is_named(seed):
    with pytest.raises((TypeError, ValueError), match=r"^world_seed must be"):
        eq.simulate(RIVER, "random", 10, world_seed=seed)


def test_numbers_of_numpy_are_settings_as_good_as_plain_ones(tmp_path):
    settings = {"delta": np.float32(0.25), "balance": np.int64(3), "warm_start": np.True_, "max_sweeps": np.int32(900)}
    agent = eq.make_agent("c-ucrl", 3, 2, **settings)
    agent.save(tmp_path / "agent.npz")
    plain = {"delta": 0.25, "balance": 3, "warm_start": True, "max_sweeps": 900}
    assert eq.load_agent(tmp_path / "agent.npz").settings == make_settings("c-ucrl", **plain)


def test_mean_rewards_are_on_the_scale_of_the_rewards():
    problem = {"n_states": 3, "n_actions": 2, "rewards": "known"}
    units = eq.make_agent("ucrl2-l", mean_rewards=[0, 0.5, 1, 0, 0, 0], **problem)
    euros = eq.make_agent("ucrl2-l", mean_rewards=[-10, 5, 20, -10, -10, -10], reward_range=(-10, 20), **problem)
    np.testing.assert_array_equal(euros.given.mean_rewards, units.given.mean_rewards)


# --- what is not what it should be


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eq.simulate("riverswim", "c-ucrl", 10), r"not 'riverswim'; equirl.load_world\('riverswim'\)"),
        (lambda: eq.solve(None), "mdp must be a TabularMDP, not None"),
        (lambda: eq.equivalence_classes(3), "mdp must be a TabularMDP, not 3"),
        (lambda: eq.TabularEnv(3), "mdp must be a TabularMDP, not 3"),
        (lambda: eq.from_gymnasium("FrozenLake-v1"), r"gymnasium.make\('FrozenLake-v1'\) makes one"),
        (lambda: eq.simulate(RIVER, "c-ucrl", 10, gain=np.nan), "gain must be between 0 and 1, not nan"),
        (lambda: eq.make_agent(["c-ucrl"], 3, 2), r"unknown learner \['c-ucrl'\]"),
        (lambda: eq.make_agent("random", 3, 2, classes=[0] * 6), "'random' .* makes no use of classes"),
        (lambda: eq.make_agent("c-ucrl", 3, 2, reward_range=3), "reward_range must be .* not 3"),
        (lambda: eq.make_agent("c-ucrl", 3, 2, reward_range=("a", "b")), "reward_range must be .* not"),
        (lambda: eq.make("grid", map=""), "the map is empty"),
        (lambda: eq.make("grid", map=5), "map must be a list, not 5"),
        (lambda: eq.make("grid", map=[1, 2]), "map must be rows of text; row 0 is 1"),
        (lambda: eq.make_agent("ucrl2-l", 4, 2**62), "n_actions must be at most 2147483647, not 4611686018427387904"),
        (lambda: eq.make_agent("ucrl2-l", 4, [2**62] * 4), "n_actions is too large: 4 states would have"),
        (lambda: from_quantecon(3), "ddp must be a DiscreteDP of QuantEcon, not 3"),
        (lambda: proposition1_samples(1e-300, 4, 8), "separation 1e-300 is too small"),
        (lambda: eq.TabularMDP.from_arrays("abc", [[0.0]]), "transitions must be an array of numbers"),
        (lambda: eq.TabularMDP.from_arrays([[[1.0]]], [["a"]]), "rewards must be an array of numbers"),
        (lambda: eq.TabularMDP.from_arrays([[[1.0 + 0j]]], [[0.0]]), "transitions must be .* complex"),
        (lambda: eq.TabularMDP.from_arrays([[[1.0]]], [[0.0]], reward_map=3), "reward_map must be 2 numbers, not 3"),
        (lambda: eq.TabularMDP.from_arrays([[[1.0]]], [[0.0]], initial=["a"]), "initial must be an array of numbers"),
        (lambda: eq.TabularMDP.from_pairs([(0, 10**30, {0: 1}, 0)], 1), "action ids go up to"),
        (
            lambda: LIFT.transition_probabilities("low", "wait"),
            r"'wait' is not allowed in state 'low' \(allowed: 'go'\)",
        ),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_with_a_remedy(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": 3}, r"seeds must be a list or range .* range\(n\)"),
        ({"seeds": [0.5]}, "a seed must be an integer, not 0.5"),
        ({"seeds": [4, 4]}, "seed 4 is listed twice"),
        ({"learners": None}, "learners must be a list"),
        ({"learners": [("c-ucrl", 0.1)]}, r"name or \(name, settings\), not \('c-ucrl', 0.1\)"),
        ({"learners": [RIVER]}, r"name or \(name, settings\), not TabularMDP"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        eq.simulate_many(**{"mdp": RIVER, "learners": ["random"], "horizon": 10, **arguments})


def test_profiles_that_lead_outside_the_problem_are_refused():
    wider = eq.profiles(eq.make("random", n_states=6, n_actions=1, branching=2))  # six pairs as well
    with pytest.raises(ValueError, match="leads to unknown state"):
        eq.make_agent("c-ucrl-c-sigma", 3, 2, classes=[0] * 6, profiles=wider)


def test_a_baseline_says_that_it_forms_no_classes():
    with pytest.raises(ValueError, match="'random' forms no classes"):
        _ = eq.make_agent("random", 3, 2).beliefs.partition


@pytest.mark.parametrize("kind", ["f4", ">f8", "F", "read-only"])
def test_arrays_of_any_make_are_taken_and_left_as_they_are(kind):
    P, R = np.array([[[0.5, 0.5]], [[1.0, 0.0]]]), np.array([[0.25], [1.0]])
    given = np.asfortranarray(P) if kind == "F" else P.astype(kind) if kind != "read-only" else P.copy()
    given.setflags(write=kind != "read-only")
    assert eq.TabularMDP.from_arrays(given, R) == eq.TabularMDP.from_arrays(P, R)
    assert given.flags.writeable == (kind != "read-only")


# --- names


def test_a_policy_may_be_given_by_the_names_of_its_actions():
    assert eq.Policy(LIFT, ["go", "wait"]).gain == eq.Policy(LIFT, [0, 1]).gain == 0


def test_a_policy_of_named_actions_is_shown_by_name():
    assert policy_text(LIFT, [0, 1]) == "low: go\nhigh: wait"


# --- results


def test_two_traces_can_be_compared_without_an_error():
    one, other = (eq.simulate(RIVER, "random", 10) for _ in range(2))
    assert one != other


def test_a_wrong_column_is_answered_with_the_nearest():
    table = eq.simulate_many(RIVER, ["random"], 10, seeds=range(2))
    with pytest.raises(KeyError, match="did you mean 'regret'"):
        table.final("regrt")
    with pytest.raises(ValueError, match="did you mean 'regret'"):
        table.plot("regrt")


def test_a_trace_draws_the_clustering_it_measured_and_says_when_it_did_not():
    assert eq.simulate(RIVER, "c-ucrl", 50, measure_clustering=True).plot("misclustering_ratio").axes
    with pytest.raises(ValueError, match="measure_clustering=True"):
        eq.simulate(RIVER, "c-ucrl", 50).plot("misclustering_ratio")


def test_progress_is_told_run_by_run(monkeypatch):
    ran, run = [], compare._run
    monkeypatch.setattr(compare, "_run", lambda *call: ran.append(call) or run(*call))
    told = []
    eq.simulate_many(RIVER, ["random"], 10, seeds=range(3), progress=lambda done, total: told.append((len(ran), done)))
    assert told == [(1, 1), (2, 2), (3, 3)]


def test_value_iteration_in_parts_is_value_iteration(monkeypatch):
    whole = eq.solve(RIVER, method="value")
    monkeypatch.setattr(value_iteration, "LEAST_PER_CALL", 7)
    monkeypatch.setattr(value_iteration, "SUCCESSORS_PER_CALL", 1)
    parts = eq.solve(RIVER, method="value")
    assert whole.n_sweeps == parts.n_sweeps > 14
    np.testing.assert_array_equal(whole.bias, parts.bias)


# --- files


@pytest.mark.parametrize("name", ["c-ucrl", "c-ucrl-c-sigma", "optimal"])
def test_a_learner_whose_arrays_do_not_fit_together_is_not_loaded(name, tmp_path):
    eq.simulate(RIVER, name, 200).agent.save(tmp_path / "agent.npz")
    arrays, meta = load_npz(tmp_path / "agent.npz", KIND, VERSION)
    wrong = {key: value for key, value in arrays.items() if key != "episode_starts"}
    assert len(wrong) >= 8
    for key, value in wrong.items():
        save_npz(tmp_path / "cut.npz", KIND, VERSION, arrays | {key: value[:-1]}, meta)
        with pytest.raises(DamagedFile):
            eq.load_agent(tmp_path / "cut.npz")


@pytest.mark.parametrize("key", ["policy", "label", "now_succ", "then_count"])
def test_a_learner_whose_numbers_are_out_of_range_is_not_loaded(key, tmp_path):
    eq.simulate(RIVER, "c-ucrl", 200).agent.save(tmp_path / "agent.npz")
    arrays, meta = load_npz(tmp_path / "agent.npz", KIND, VERSION)
    arrays[f"own_{key}"][0] += 1000
    save_npz(tmp_path / "odd.npz", KIND, VERSION, arrays, meta)
    with pytest.raises(DamagedFile, match=f"{key} does not fit|counts of successors disagree"):
        eq.load_agent(tmp_path / "odd.npz")


@pytest.mark.parametrize("content", [b"hello", b"", b"\x93NUMPY\x01\x00"])
def test_a_file_of_something_else_is_not_called_a_pickle(content, tmp_path):
    (tmp_path / "odd.npz").write_bytes(content)
    with pytest.raises(DamagedFile, match=r"odd\.npz is not an equirl file: it is no \.npz archive"):
        eq.TabularMDP.load(tmp_path / "odd.npz")


def test_a_disk_that_is_full_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device", "aside")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        RIVER.save(tmp_path / "river.npz")
    assert caught.value.filename == str(tmp_path / "river.npz")


# --- commands


def test_a_place_that_cannot_be_written_is_told_before_the_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "simulate_many", lambda *_, **__: pytest.fail("runs were started"))
    done = CliRunner().invoke(app, ["run", "riverswim", "random", "--csv", str(tmp_path)])
    assert done.exit_code == 2
    assert f"{tmp_path}: Is a directory" in done.output


def test_output_to_a_file_has_the_table_alone():
    done = CliRunner().invoke(app, ["run", "riverswim:n_states=5", "random", "--horizon", "50", "--runs", "1"])
    assert done.exit_code == 0
    assert done.stdout.split("\n")[0].strip() == "riverswim:n_states=5, T=50"


# --- scripts

SCRIPT = """
import equirl as eq
print("script")
table = eq.simulate_many(eq.make("riverswim", n_states=5), ["random"], horizon=50, seeds=range(3), jobs=2)
print(len(table), __name__, __spec__)
"""


@pytest.mark.parametrize("way", ["file", "stdin", "-c"])
def test_a_script_needs_no_guard_to_use_several_processes(way, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    words = {"file": [str(tmp_path / "script.py")], "stdin": ["-"], "-c": ["-c", SCRIPT]}[way]
    text = SCRIPT if way == "stdin" else ""
    done = subprocess.run([sys.executable, *words], input=text, capture_output=True, text=True, check=False)
    assert done.stdout == "script\n150 __main__ None\n", done.stderr


def test_every_public_name_is_public_to_type_checkers():
    tree = ast.parse(Path(eq.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    shown = {alias.asname for node in checked.body for alias in node.names if alias.asname == alias.name}
    assert shown == set(eq.__all__) - {"__version__"}


USES = """
import equirl as eq, gymnasium, sys
mdp = eq.make("riverswim", n_states=5)
for name in eq.AGENTS:
    forms = "q-learning" not in name and "imed" not in name
    agent = eq.simulate(mdp, name, 300, measure_clustering=name.startswith("c-") and forms).agent
    for method in ("gain_bounds", "greedy_policy"):
        if name not in ("random", "optimal") and hasattr(agent, method):
            getattr(agent, method)()
    action = agent.act(0)
    agent.observe(0, action, 0.0, next(iter(mdp.transition_probabilities(0, action))))
for settings in ({"ties": "optimistic"}, {"warm_start": True}, {"rewards": "known"}, {"radius": "theory"}):
    eq.simulate(mdp.shuffled(1), "c-ucrl", 300, **settings)
eq.simulate(mdp, "c-ucrl-c", 300, pooling="class")
for module in [m for name, m in sys.modules.items() if name.startswith("equirl")]:
    for name, value in vars(module).items():
        if not isinstance(value, type) and len(getattr(value, "signatures", ())) > 1:
            print(module.__name__, name, len(value.signatures))
"""


def test_no_kernel_is_compiled_twice_for_arrays_that_differ_in_their_flags_alone():
    done = subprocess.run([sys.executable, "-c", USES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_a_learner_walks_through_a_time_limit():
    env = gymnasium.make("equirl/RiverSwim-v0", n_states=4, max_episode_steps=7)
    agent = eq.make_agent("c-ucrl", n_states=4, n_actions=2)
    state, _ = env.reset(seed=0)
    for _ in range(70):
        action = agent.act(state)
        following, reward, terminated, truncated, _ = env.step(action)
        agent.observe(state, action, reward, following, terminated=terminated)
        state = env.reset()[0] if truncated else following
    assert agent.t == 71


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (lambda m: eq.solve(m, accuracy="a"), "accuracy must be a number, not 'a'"),
        (lambda m: eq.equivalence_classes(m, tolerance="x"), "tolerance must be a number or 'auto', not 'x'"),
        (lambda m: separation(m, tolerance=None), "tolerance must be a number"),
        (lambda m: eq.diameter(m, max_states="q"), "max_states must be an integer"),
        (lambda m: eq.diameter(3), "mdp must be a TabularMDP, not 3"),
        (lambda m: eq.profiles(None), "mdp must be a TabularMDP"),
        (lambda m: eq.chain_kind("riverswim"), "load_world"),
        (lambda m: eq.Policy([], [0]).gain, "mdp must be a TabularMDP"),
        (lambda m: misclustering_ratio([0, 1], [0, 1]), "partition must be a Partition"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_named(call, culprit):
    with pytest.raises(TypeError, match=culprit):
        call(eq.make("riverswim", n_states=5))
