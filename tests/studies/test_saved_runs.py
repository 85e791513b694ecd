"""What runs leave in a folder: learners that go on, tables with names, curves, all in the user's units."""

import csv
import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.lab.cli import app
from equirl.lab.studies.saved_agents import saved_runs

RIVER = eq.make("riverswim", n_states=4)
PUMP = [("ok", "run", {"ok": 0.9, "broken": 0.1}, 0.0), ("broken", "repair", {"ok": 1.0}, 500.0)]
FILES = {"agent.npz", "policy.csv", "classes.csv", "trace.csv", "run.json"}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_run_leaves_its_learner_tables_and_curves(tmp_path, jobs):
    learners = ["c-psrl", ("ucrl2-l", {"delta": 0.1}), "random"]
    table = eq.simulate_many(RIVER, learners, 200, range(2), jobs=jobs, save=tmp_path / "new" / "kept")
    kept = tmp_path / "new" / "kept"
    assert names(kept) == {"c-psrl", "ucrl2-l_delta=0.1", "random"}
    assert names(kept / "c-psrl") == {"seed-0", "seed-1"}
    assert names(kept / "c-psrl" / "seed-1") == FILES
    assert names(kept / "random" / "seed-0") == {"agent.npz", "trace.csv", "run.json"}  # no policy, no classes
    curve = [float(row["regret"]) for row in rows(kept / "c-psrl" / "seed-1" / "trace.csv")]
    assert curve == table.curves["c-psrl"]["regret"][1].tolist()
    trace = eq.simulate(RIVER, "c-psrl", 200, seed=1)
    back = eq.load_agent(kept / "c-psrl" / "seed-1" / "agent.npz")
    assert back.t == 201
    assert back.beliefs.policy_table().rows() == trace.agent.beliefs.policy_table().rows()
    classes = rows(kept / "c-psrl" / "seed-1" / "classes.csv")
    assert [int(row["class"]) for row in classes] == trace.agent.beliefs.partition.label.tolist()
    assert classes[0]["action"] == "right"


def test_a_saved_learner_goes_on_as_the_one_of_the_trace(tmp_path):
    eq.simulate_many(RIVER, ["c-psrl"], 300, [5], save=tmp_path)
    path = tmp_path / "c-psrl" / "seed-5" / "agent.npz"
    there = eq.simulate(RIVER, eq.simulate(RIVER, "c-psrl", 300, seed=5).agent, 200, seed=1)
    saved = eq.simulate(RIVER, eq.load_agent(path), 200, seed=1)
    np.testing.assert_array_equal(there.reward, saved.reward)
    many = eq.simulate_many(RIVER, {"on": eq.load_agent(path)}, 200, [1], checkpoints=200)
    np.testing.assert_array_equal(many.curves["on"]["reward"][0], saved.reward)
    result = cli("run", "riverswim:n_states=4", path, "--horizon", 200, "--seed", 1, "--runs", 1, "--json")
    assert json.loads(result.stdout)["regret"] == {str(path): [pytest.approx(saved.regret[-1])]}


def test_learners_that_go_on_cross_to_other_processes(tmp_path):
    agent = eq.simulate(RIVER, "c-psrl", 100).agent
    one, two = (eq.simulate_many(RIVER, [agent], 100, range(2), jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one["regret"], two["regret"])


def test_what_is_saved_is_in_the_units_of_the_problem(tmp_path):
    pump = eq.TabularMDP.from_costs(PUMP)
    pump.save(tmp_path / "pump.npz")
    words = ("run", tmp_path / "pump.npz", "psrl", "--horizon", 200, "--runs", 1)
    result = cli(*words, "--save", tmp_path / "kept", "--csv", tmp_path / "c.csv", "--json")
    assert result.exit_code == 0, result.output
    place = tmp_path / "kept" / "psrl" / "seed-0"
    policy = {row["state"]: float(row["mean_reward"]) for row in rows(place / "policy.csv")}
    assert policy == {"ok": 0.0, "broken": -500.0}
    last, listed = rows(place / "trace.csv")[-1], rows(tmp_path / "c.csv")[-1]
    visits = {row["state"]: int(row["visits"]) for row in rows(place / "policy.csv")}
    assert float(last["reward"]) == pytest.approx(-500 * visits["broken"])
    assert last["regret"] == listed["regret"]
    assert json.loads(result.stdout)["regret"]["psrl"] == [float(last["regret"])]
    back = eq.load_agent(place / "agent.npz")
    back.act_id("broken")
    back.observe("broken", "repair", -500.0, "ok")
    assert eq.simulate(pump, back, 10).t[-1] == 10


def test_the_same_run_again_replaces_itself_and_leaves_the_rest_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    words = ("run", "riverswim:n_states=4", "random", "--horizon", 50, "--runs", 1, "--save", tmp_path)
    assert cli(*words).exit_code == 0
    before = (tmp_path / "random" / "seed-0" / "trace.csv").read_bytes()
    assert cli(*words, "--seed", 3).exit_code == 0
    assert cli(*words).exit_code == 0
    assert (tmp_path / "random" / "seed-0" / "trace.csv").read_bytes() == before
    assert names(tmp_path) == {"notes.txt", "random"}
    assert saved_runs(tmp_path)["seed"] == [0, 3]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("riverswim:n_states=5",), "world, problem"),
        (("riverswim:n_states=4", "--horizon", 60), "horizon"),
        (("riverswim:n_states=4", "--common-random-numbers"), "world_seed"),
    ],
)
def test_another_run_in_its_place_is_never_overwritten(tmp_path, words, reason):
    usual = ("random", "--runs", 1, "--save", tmp_path)
    assert cli("run", "riverswim:n_states=4", *usual, "--horizon", 50).exit_code == 0
    before = (tmp_path / "random" / "seed-0" / "run.json").read_bytes()
    horizon = () if "--horizon" in words else ("--horizon", 50)
    result = cli("run", words[0], *usual, *words[1:], *horizon)
    assert result.exit_code == 2
    assert f"holds another run (by its {reason}); choose another folder" in result.stderr
    assert (tmp_path / "random" / "seed-0" / "run.json").read_bytes() == before


def test_a_folder_that_cannot_be_one_is_named_before_anything_is_computed(tmp_path):
    (tmp_path / "file").write_text("")
    result = cli("run", "riverswim:n_states=4", "random", "--horizon", 10**12, "--save", tmp_path / "file")
    assert (result.exit_code, "Not a directory" in result.stderr) == (2, True)
    (tmp_path / "kept" / "random" / "seed-0").mkdir(parents=True)
    (tmp_path / "kept" / "random" / "seed-0" / "agent.npz").write_text("precious")
    result = cli("run", "riverswim:n_states=4", "random", "--horizon", 10**12, "--save", tmp_path / "kept")
    assert (result.exit_code, "holds files of an unknown run" in result.stderr) == (2, True)


def test_runs_that_stop_early_are_saved_too(tmp_path):
    words = ("run", "riverswim:n_states=4", "psrl", "--horizon", 20_000, "--runs", 2, "--until", "gap=0.5")
    told = json.loads(cli(*words, "--save", tmp_path, "--json").stdout)
    table = saved_runs(tmp_path)
    assert table["steps"] == [run["steps"] for run in told["runs"]]
    assert table["regret"] == [pytest.approx(run["regret"]) for run in told["runs"]]


@pytest.mark.parametrize("label", ["a/b", "..", "x" * 200, "\x1b", "a,b", "c:d", " ", "é", "-"])
def test_any_label_has_a_folder_of_its_own_inside(tmp_path, label):
    eq.simulate_many(RIVER, {label: "random", "plain": "random"}, 10, [0], save=tmp_path / "kept")
    assert sorted(saved_runs(tmp_path / "kept")["learner"]) == sorted([label, "plain"])
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_agents_lists_a_folder_and_shows_a_learner(tmp_path):
    assert (
        cli("run", "riverswim:n_states=4", "c-psrl", "--horizon", 100, "--runs", 2, "--save", tmp_path).exit_code == 0
    )
    assert "2 learners" in cli("agents", tmp_path).stdout
    path = tmp_path / "c-psrl" / "seed-0" / "agent.npz"
    shown = cli("agents", path).stdout
    assert "100 in" in shown
    assert "right" in shown
    held = json.loads(cli("agents", path, "--json").stdout)
    assert (held["learner"], held["steps"], len(held["policy"]), len(held["classes"])) == ("c-psrl", 100, 4, 8)


@pytest.mark.parametrize(("name", "message"), [("empty", "holds no learners"), ("no.npz", "No such file")])
def test_agents_says_where_there_is_none(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    result = cli("agents", tmp_path / name)
    assert (result.exit_code, message in result.stderr) == (2, True)


@pytest.mark.parametrize("how", ["text", "pipe"])
def test_a_damaged_record_of_a_run_is_told_and_left_out(tmp_path, how):
    eq.simulate_many(RIVER, ["psrl", "random"], 50, [0], jobs=1, save=tmp_path)
    path = tmp_path / "psrl" / "seed-0" / "run.json"
    path.unlink()
    os.mkfifo(path) if how == "pipe" else path.write_text("{")
    result = cli("agents", tmp_path, "--json")
    assert [row["learner"] for row in json.loads(result.stdout)["learners"]] == ["random"]
    assert f"{path} is damaged, left out" in result.stderr


def test_a_damaged_learner_is_named(tmp_path):
    (tmp_path / "agent.npz").write_bytes(b"PK nonsense")
    for words in (("agents", tmp_path / "agent.npz"), ("run", "riverswim", tmp_path / "agent.npz")):
        result = cli(*words)
        assert (result.exit_code, "cannot be read as an equirl file" in result.stderr) == (2, True)


def test_a_learner_of_another_problem_is_refused(tmp_path):
    eq.make_agent("psrl", 3, 2).save(tmp_path / "agent.npz")
    result = cli("run", "riverswim:n_states=4", tmp_path / "agent.npz", "--runs", 1, "--horizon", 10)
    assert (result.exit_code, "was made for other states or actions" in result.stderr) == (2, True)
