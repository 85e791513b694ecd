"""``--json`` on every command: stdout is JSON and nothing else, whatever is said goes to stderr."""

import json

import pytest
import typer
from typer.testing import CliRunner

from equirl.lab.benchmarks.measurement import SIZES, Sizes
from equirl.lab.cli import app
from studies_kit import SMALL

COMMANDS = typer.main.get_command(app).commands
RIVER = "riverswim:n_states=4"
LOG = "state,action,reward,next_state\na,go,1,b\nb,go,0,a\n"
SHORT = ("--horizon", "50", "--runs", "2")
# By command: its words, and a key that its JSON must have. A command that is not here fails the first test.
CALLS = {
    "worlds": [((), "riverswim")],
    "agents": [((), "c-psrl"), (("saved",), "learners"), (("saved/random/seed-0/agent.npz",), "learner")],
    "classes": [((RIVER, "--plot", "c.png"), "n_classes"), (("log.csv",), "classes")],
    "solve": [((RIVER, "--plot", "s.png"), "gain"), ((RIVER, "--discount", "0.9"), "value_from_start")],
    "run": [
        ((RIVER, "random", *SHORT, "--csv", "c.csv", "--plot", "p.png", "--save", "kept"), "regret"),
        ((RIVER, "psrl", *SHORT, "--until", "gap=0.5", "--save", "until"), "runs"),
    ],
    "learn": [(("log.csv", "--draws", "2", "--steps", "3", "--csv", "p.csv", "--save", "p.npz"), "policy")],
    "study": [(("s.toml", "--jobs", "1", "--figures", "--keep-agents"), "summary")],
    "status": [(("s.toml",), "places")],
    "export": [(("s.toml", "-o", "t.csv"), "rows")],
    "paper": [(("--runs", "1", "--jobs", "1", "--quiet"), "report")],
    "leaderboard": [(("--runs", "1", "--jobs", "1", "--learners", "random", "--worlds", "cycle-20"), "page")],
    "yardsticks": [((), "page")],
    "explore": [(("--no-open",), "address")],
    "bench": [(("--quick", "--only", "clustering"), "measures")],
    "prepare": [(("random",), "inner_loops")],
    "completion": [(("bash",), "script")],
}


def invoke(*words):
    return CliRunner().invoke(app, list(words))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a study, a log and saved learners; what takes long is made short."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SMALL)
    (tmp_path / "log.csv").write_text(LOG)
    tiny = Sizes(seconds=0.01, oracle_pairs=30, growth_pairs=(30, 100))
    monkeypatch.setitem(SIZES, "quick", tiny)
    monkeypatch.setattr("equirl.lab.paper.paper_study.paper_runs", lambda runs: [])
    monkeypatch.setattr("equirl.lab.paper.report.draw_paper", lambda groups, folder: {})
    monkeypatch.setattr(
        "equirl.lab.paper.report.write_report", lambda groups, figures, out, command: out / "report.html"
    )

    def serve(first_view, host, port, *, browser, say, on_ready):
        if on_ready is not None:
            on_ready("http://127.0.0.1:1/")
        say("http://127.0.0.1:1/")

    monkeypatch.setattr("equirl.lab.explore.explore_server.explore", serve)
    return tmp_path


def test_every_command_is_among_them():
    assert set(CALLS) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_flag(name):
    (option,) = [parameter for parameter in COMMANDS[name].params if "--json" in parameter.opts]
    assert option.is_flag


@pytest.mark.parametrize(("name", "words", "key"), [(name, *call) for name in CALLS for call in CALLS[name]])
def test_stdout_is_json_and_nothing_else(name, words, key):
    if words and words[0].startswith("saved"):
        assert invoke("run", RIVER, "random", *SHORT, "--save", "saved").exit_code == 0
    result = invoke(name, *words, "--json")
    assert result.exit_code == 0, result.output
    held = json.loads(result.stdout)
    assert key in held


def test_a_study_tells_its_summary_failures_and_messages(folder):
    result = invoke("study", "s.toml", "--jobs", "1", "--json")
    held = json.loads(result.stdout)
    assert (held["done"], held["computed"], held["failed"]) == (4, 4, 0)
    assert {row["learner"] for row in held["summary"]} == {"ucrl2-l", "random"}
    assert "4 runs are done" in result.stderr
    held = json.loads(invoke("status", "s.toml", "--json").stdout)
    assert [held[key] for key in ("done", "missing", "failed", "damaged")] == [4, 0, 0, 0]


def test_without_the_flag_nothing_is_json(folder):
    assert "4 runs are done" in invoke("study", "s.toml", "--jobs", "1").stdout
