"""``--set learner.key=value``: as if the study's file said so; mistakes name the learner, the key and the nearest."""

import json

import pytest
from typer.testing import CliRunner

from equirl.lab.cli import app
from equirl.lab.leaderboard.leaderboard_study import leaderboard_study
from equirl.lab.studies.expansion import expand, with_settings
from equirl.lab.studies.run_specs import read_settings
from equirl.lab.studies.study_file import parse_study
from studies_kit import SMALL, planned, with_lines

TWO = with_lines(learners='["c-psrl", "ucrl2-l"]', runs="1")


def cli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_setting_chosen_is_the_setting_of_the_file():
    chosen = expand(with_settings(parse_study(TWO), ["c-psrl.scan=500", "ucrl2-l.delta=0.01"]))
    entries = '{ learner = "c-psrl", settings = { scan = 500 } }, { learner = "ucrl2-l", settings = { delta = 0.01 } }'
    assert chosen == planned(with_lines(learners=f"[{entries}]", runs="1"))
    assert [run.spec.key for run in chosen] != [run.spec.key for run in planned(TWO)]


def test_a_default_chosen_changes_nothing():
    chosen = expand(with_settings(parse_study(TWO), ["ucrl2-l.delta=0.05"]))
    assert [run.spec.key for run in chosen] == [run.spec.key for run in planned(TWO)]


def test_a_setting_reaches_every_part_and_every_entry_of_its_learner():
    entry = '{ learner = "c-ucrl", settings = { balance = 2.0 }, label = "two" }'
    text = SMALL + f'[[parts]]\nname = "a"\n[[parts]]\nname = "b"\nlearners = ["random", "c-ucrl", {entry}]\n'
    study = with_settings(parse_study(text), ["c-ucrl.delta=0.1", "ucrl2-l.delta=0.2"])
    found = {(run.part, run.learner): dict(run.spec.settings) for run in expand(study)}
    assert found == {
        ("a", "ucrl2-l:delta=0.2"): {"delta": 0.2},
        ("a", "random"): {},
        ("b", "random"): {},
        ("b", "c-ucrl:delta=0.1"): {"delta": 0.1},
        ("b", "two"): {"balance": 2.0, "delta": 0.1},
    }


def test_a_setting_without_a_learner_is_for_all_and_the_last_one_counts():
    chosen = read_settings(["delta=0.1", "c-ucrl.delta=0.2", "c-ucrl.warm_start=true"], ["ucrl2-l", "c-ucrl"])
    assert chosen == {"ucrl2-l": {"delta": 0.1}, "c-ucrl": {"delta": 0.2, "warm_start": True}}
    assert read_settings(["c-ucrl-c.tolerance=0.1"], ["c-ucrl-c"]) == {"c-ucrl-c": {"tolerance": 0.1}}


MISTAKES = [
    ("c-prsl.scan=1", "unknown learner 'c-prsl'; did you mean 'c-psrl'?"),
    ("c-psrl.scam=1", "for 'c-psrl': unknown setting 'scam'; did you mean 'scan'?"),
    ("kl-ucrl.delta=0.1", "'kl-ucrl' does not play here; these do: c-psrl, ucrl2-l"),
    ("delta=0.1", "for 'c-psrl': unknown setting 'delta'"),
    ("ucrl2-l.delta=7", "for 'ucrl2-l'"),
    ("ucrl2-l.delta", "--set takes key=value, not 'ucrl2-l.delta'; for one learner alone, learner.key=value"),
    ("ucrl2-l.=3", "--set takes key=value"),
    ("=3", "--set takes key=value"),
    ("ucrl2-l.threads=2", "threads has no place in a study"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
@pytest.mark.parametrize("command", ["study", "status", "export", "leaderboard", "run"])
def test_a_mistake_is_named_by_every_command(tmp_path, command, text, message):
    (tmp_path / "s.toml").write_text(TWO)
    words = {
        "run": ["riverswim:n_states=4", "c-psrl,ucrl2-l", "--horizon", 10, "--runs", 1],
        "leaderboard": ["--learners", "c-psrl,ucrl2-l", "--worlds", "cycle-20", "--out", tmp_path / "out"],
        "export": [tmp_path / "s.toml", "-o", tmp_path / "t.csv", "--out", tmp_path / "out"],
    }.get(command, [tmp_path / "s.toml", "--out", tmp_path / "out"])
    if command == "run" and text in ("ucrl2-l.threads=2", "ucrl2-l.delta=7"):
        message = "" if "threads" in text else "delta must lie"  # a single run may have threads
    result = cli(command, *words, "--set", text)
    assert message in result.stderr
    assert result.exit_code == (0 if not message else 2)
    assert not (tmp_path / "out").exists()


def test_a_learner_without_settings_says_so():
    with pytest.raises(ValueError, match=r"--set random.x=1: learner 'random' has no settings"):
        read_settings(["random.x=1"], ["random"])


def test_run_gives_each_learner_its_own(tmp_path):
    words = ("run", "riverswim:n_states=4", "c-ucrl,ucrl2-l,random", "--horizon", 50, "--runs", 1, "--json")
    held = json.loads(cli(*words, "--set", "c-ucrl.balance=inf", "--set", "ucrl2-l.delta=0.2").stdout)
    assert list(held["regret"]) == ["c-ucrl balance=inf", "ucrl2-l delta=0.2", "random"]


def test_study_status_and_export_look_at_the_same_runs(tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    usual = (tmp_path / "s.toml", "--out", tmp_path / "out", "--json")
    chosen = ("--set", "ucrl2-l.delta=0.2")
    assert json.loads(cli("study", *usual, *chosen, "--jobs", 1).stdout)["done"] == 4
    assert json.loads(cli("status", *usual, *chosen).stdout)["done"] == 4
    assert json.loads(cli("status", *usual).stdout)["done"] == 2
    assert json.loads(cli("export", *usual, *chosen, "-o", tmp_path / "t.csv").stdout)["rows"] == 16


def test_the_leaderboard_takes_settings(tmp_path):
    study = leaderboard_study(1, ["ucrl2-l", "c-psrl"], ["cycle-20"])
    runs = expand(with_settings(study, ["ucrl2-l.delta=0.2"]))
    assert [dict(run.spec.settings) for run in runs] == [{"delta": 0.2}, {}]
    words = ("leaderboard", "--runs", 1, "--learners", "random,ucrl2-l", "--worlds", "cycle-20", "--jobs", 1)
    result = cli(*words, "--out", tmp_path / "out", "--set", "ucrl2-l.delta=0.2", "--quiet")
    assert result.exit_code == 0, result.output
    assert "--set ucrl2-l.delta=0.2" in (tmp_path / "out" / "leaderboard.html").read_text()
