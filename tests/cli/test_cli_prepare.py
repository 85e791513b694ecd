import inspect
import json

import pytest
from typer.testing import CliRunner

from equirl.lab.cli import app, learner_commands
from equirl.lab.studies import rehearsals
from equirl.learners import AGENTS
from equirl.learners.catalogue import RECOMMENDED
from equirl.numerics import preparing


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, ["prepare", *words], env={"COLUMNS": "160"})


@pytest.fixture
def tasks(monkeypatch):
    """What would be compiled; three kernels each time."""
    found = []
    monkeypatch.setattr(rehearsals, "prepare", lambda task, report: found.append(task) or 3)
    return found


def test_the_recommended_learner_is_prepared_and_logs(run, tasks):
    assert inspect.signature(learner_commands.prepare).parameters["learners"].default == RECOMMENDED
    result = run()
    assert result.exit_code == 0, result.output
    assert result.stdout == "6 inner loops compiled\n"
    assert [task.words for task in tasks] == [(RECOMMENDED,), ()]


def test_learners_are_named_by_commas_or_all(run, tasks):
    assert json.loads(run("c-ucrl, psrl", "--json").stdout) == {"folder": None, "inner_loops": 6}
    assert run("all").exit_code == 0
    assert [tasks[0].words, tasks[2].words] == [("c-ucrl", "psrl"), tuple(AGENTS)]


def test_a_folder_for_other_machines(run, tmp_path, monkeypatch):
    asked = []

    def shipped_to(into, cpu, tasks):
        asked.append((into, cpu, [task.words for task in tasks]))
        (into / "v3").mkdir()
        (into / "v3" / "one.nbc").touch()
        return into / "v3"

    monkeypatch.setattr(preparing, "shipped_to", shipped_to)
    result = run("psrl", "--cpu", "x86-64-v3", "--into", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert asked == [(tmp_path, "x86-64-v3", [("psrl",), ()])]
    assert "1 inner loops in" in result.stdout
    assert f"EQUIRL_KERNELS={tmp_path}" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cpu", "generic"], "--cpu generic is for a folder that other machines read: name it with --into"),
        (["c-psrll"], "c-psrl"),
        (["--cpu", "vax", "--into", "kernels"], "vax"),
    ],
)
def test_what_is_wrong_is_said(run, tasks, words, said):
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert tasks == []
