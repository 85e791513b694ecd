import json
import re

import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.lab.cli import app
from equirl.learners.learner_registry import AGENTS


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, list(words), env={"COLUMNS": "160"})


def test_agents_lists_every_learner_with_its_settings(run):
    result = run("agents")
    assert result.exit_code == 0, result.output
    assert all(name in result.stdout for name in AGENTS)
    assert "delta=0.05" in result.stdout


def test_agents_shows_the_grid_of_families_by_what_they_are_given(run):
    lines = [re.split(r"\s{2,}", line.strip()) for line in run("agents").stdout.splitlines()]
    assert ["nothing", "looks for classes", "given classes", "given classes and profiles"] in lines
    assert ["ucrl2-l", "c-ucrl", "c-ucrl-c", "c-ucrl-c-sigma"] in lines
    assert ["imed-rl", "c-imed-rl-c-sigma"] in lines


def test_run_prints_the_mean_with_half_its_interval(run):
    result = run("run", "riverswim:n_states=5", "random,optimal", "--horizon", "200", "--runs", "3")
    assert result.exit_code == 0, result.output
    assert "mean regret" in result.stdout
    assert "±95 %" in result.stdout


def test_run_makes_the_folders_of_its_files(run, tmp_path):
    files = {"--plot": "a/b/r.png", "--csv": "c/d/r.csv", "--animate": "e/f/r.gif", "--save": "g/h"}
    words = [word for option, name in files.items() for word in (option, str(tmp_path / name))]
    result = run("run", "riverswim:n_states=4", "random", "--horizon", "60", "--runs", "2", *words)
    assert result.exit_code == 0, result.output
    assert all((tmp_path / name).exists() for name in files.values())
    assert "written" not in result.stdout  # what is said of files goes to stderr


def test_a_single_run_has_no_interval(run):
    words = run("run", "riverswim:n_states=5", "random", "--horizon", "200", "--runs", "1").stdout.split()
    assert words[words.index("random") + 3] == "-"


def test_settings_are_read_as_values(run):
    words = "run", "riverswim:n_states=5", "c-ucrl", "--horizon", "50", "--runs", "1"
    assert run(*words, "--set", "balance=inf", "--set", "warm_start=true").exit_code == 0
    assert "--set takes key=value, not 'balance'" in run(*words, "--set", "balance").stderr


def test_run_takes_the_recommended_learner_where_none_is_named():
    import inspect

    from equirl.lab.cli.learner_commands import run
    from equirl.learners.catalogue import RECOMMENDED

    assert inspect.signature(run).parameters["agent"].default == RECOMMENDED
    result = CliRunner().invoke(app, ["run", "riverswim:n_states=4", "--horizon", "300", "--runs", "2"])
    assert result.exit_code == 0
    assert RECOMMENDED in result.stdout


def test_run_until_says_when_runs_stopped_and_how_good_their_policies_are(run):
    words = "run", "ergodic-riverswim:n_states=4", "c-psrl", "--runs", "2", "--horizon", "20000", "--until", "gap=0.05"
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "2 of 2" in result.stdout
    told = json.loads(run(*words, "--json").stdout)
    assert [entry["seed"] for entry in told["runs"]] == [0, 1]
    assert all(entry["steps"] < 20_000 and entry["gap"] <= 0.05 for entry in told["runs"])
    assert "leave --plot" in run(*words, "--jobs", "2").stderr
    assert "unknown key of until 'gab'" in run(*words[:-1], "gab=1").stderr


def test_the_true_gap_of_an_optimal_policy_is_no_dust_below_zero(run):
    words = "run", "riverswim:n_states=6", "c-psrl", "--runs", "2", "--horizon", "500", "--until", "gap=0.05"
    assert all(entry["true_gap"] >= 0.0 for entry in json.loads(run(*words, "--json").stdout)["runs"])


def test_regret_is_in_the_units_of_the_rewards(run, tmp_path):
    P, R = eq.make("riverswim", n_states=4).to_arrays()
    eq.TabularMDP.from_arrays(P, 500 * R, rescale=True).save(tmp_path / "euros.npz")
    eq.TabularMDP.from_arrays(P, (R - R.min()) / (R.max() - R.min())).save(tmp_path / "units.npz")
    told = []
    for name in ("euros", "units"):
        result = run("run", str(tmp_path / f"{name}.npz"), "random", "--horizon", "300", "--runs", "2", "--json")
        told.append(json.loads(result.stdout))
    assert told[0]["regret"]["random"] == pytest.approx(
        [500 * (R.max() - R.min()) * r for r in told[1]["regret"]["random"]]
    )


def test_solve_answers_in_the_units_of_the_rewards(run, tmp_path):
    pump = [("ok", "run", {"ok": 0.9, "broken": 0.1}, 0.0), ("broken", "repair", {"ok": 1.0}, 500.0)]
    eq.TabularMDP.from_costs(pump).save(tmp_path / "pump.npz")
    result = run("solve", str(tmp_path / "pump.npz"))
    assert "-45.45" in result.stdout
    assert "with rewards in [0, 1]" in result.stdout
    told = json.loads(run("solve", str(tmp_path / "pump.npz"), "--json").stdout)
    assert told["gain"] == pytest.approx(-500 / 11)
    assert told["unit_gain"] == pytest.approx(10 / 11)
    assert told["table"][1]["action"] == "repair"
    told = json.loads(run("solve", str(tmp_path / "pump.npz"), "--json", "--discount", "0.5").stdout)
    assert told["table"][1]["value"] < -500
    told = json.loads(run("classes", str(tmp_path / "pump.npz"), "--json").stdout)
    assert told["table"][0]["state"] == "ok"
