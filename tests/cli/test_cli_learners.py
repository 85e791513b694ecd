import pytest
from typer.testing import CliRunner

from equirl.cli import app
from equirl.learners.learner_registry import AGENTS


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, list(words), env={"COLUMNS": "160"})


def test_agents_lists_every_learner_with_its_settings(run):
    result = run("agents")
    assert result.exit_code == 0, result.output
    assert all(name in result.stdout for name in AGENTS)
    assert "delta=0.05" in result.stdout


def test_run_prints_the_mean_with_half_its_interval(run):
    result = run("run", "riverswim:n_states=5", "random,optimal", "--horizon", "200", "--runs", "3")
    assert result.exit_code == 0, result.output
    assert "mean regret" in result.stdout
    assert "±95 %" in result.stdout


def test_a_single_run_has_no_interval(run):
    words = run("run", "riverswim:n_states=5", "random", "--horizon", "200", "--runs", "1").stdout.split()
    assert words[words.index("random") + 3] == "-"


def test_settings_are_read_as_values(run):
    words = "run", "riverswim:n_states=5", "c-ucrl", "--horizon", "50", "--runs", "1"
    assert run(*words, "--set", "balance=inf", "--set", "warm_start=true").exit_code == 0
    assert "--set takes key=value, not 'balance'" in run(*words, "--set", "balance").stderr


def test_run_takes_the_recommended_learner_where_none_is_named():
    import inspect

    from equirl.cli.learner_commands import run
    from equirl.learners.catalogue import RECOMMENDED

    assert inspect.signature(run).parameters["agent"].default == RECOMMENDED
    result = CliRunner().invoke(app, ["run", "riverswim:n_states=4", "--horizon", "300", "--runs", "2"])
    assert result.exit_code == 0
    assert RECOMMENDED in result.stdout
