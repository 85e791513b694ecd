"""Text from outside (labels, names, world files, arguments): no markup, no formula, nothing a terminal obeys."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import equirl as eq
from equirl.lab import cli
from equirl.lab.cli import app
from equirl.lab.plots import draw_classes, draw_policy, save_figure
from equirl.lab.studies import progress
from equirl.model.mdp import TabularMDP
from equirl.words.formatting import printable, shown
from studies_kit import planned, with_lines

MARKUP, ESCAPE, FORMULA = "[/bold]", "\x1b]0;owned\x07\x1b[31m", "$\\frac{1}{$"
HOSTILE = f"{MARKUP}{ESCAPE}{FORMULA}\u202e\x9b31m"


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, list(words))


@pytest.fixture
def hostile_world(tmp_path):
    P, R = [[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]], [[0.0, 0.5], [1.0, 0.25]]
    names = {"state_names": [HOSTILE, "b"], "action_names": ["left", HOSTILE]}
    path = tmp_path / "world.npz"
    TabularMDP.from_arrays(P, R, name=HOSTILE, **names).save(path)
    return path


def is_harmless(text):
    return all(c.isprintable() or c == "\n" for c in text)


@pytest.mark.parametrize(
    "words", [("classes",), ("solve",), ("solve", "--discount", "0.9"), ("run", "random", "--horizon", "9")]
)
def test_names_in_a_world_file_reach_the_terminal_spelled_out(run, hostile_world, words):
    result = run(words[0], str(hostile_world), *words[1:])
    assert result.exit_code == 0, result.output
    assert is_harmless(result.output)
    assert MARKUP in result.output


def test_json_keeps_names_and_is_harmless_too(run, tmp_path):
    path = tmp_path / "\x9b31m.npz"
    eq.make("riverswim", n_states=4).save(path)
    result = run("solve", str(path), "--json")
    assert is_harmless(result.stdout)
    assert json.loads(result.stdout)["world"] == str(path)


@pytest.mark.parametrize(
    "words", [(HOSTILE,), ("run", HOSTILE), ("run", "riverswim", HOSTILE), ("run", "riverswim", "random", HOSTILE),
              ("classes", "riverswim", "--tolerance", HOSTILE), ("study", HOSTILE), (f"--{HOSTILE}",)]
)  # fmt: skip
def test_what_is_said_of_a_wrong_argument_repeats_no_control_character(run, words):
    result = run(*words)
    assert result.exit_code == 2
    assert is_harmless(result.output)


def test_commands_speak_through_one_door():
    folder = Path(cli.__file__).parent
    others = [path for path in folder.glob("*.py") if path.name not in ("console.py", "__init__.py")]
    assert not [path.name for path in others if "typer.echo(" in path.read_text()]


LABELLED = f"""[{{ learner = "random", label = {json.dumps(MARKUP + FORMULA + chr(27))} }}, "optimal"]"""


@pytest.mark.parametrize("terminal", [True, False])
def test_a_study_with_markup_and_formulas_in_its_labels_ends_well(tmp_path, monkeypatch, terminal):
    monkeypatch.chdir(tmp_path)
    shown_on = io.StringIO()

    class Screen(Console):
        def __init__(self, **options):
            super().__init__(**options | {"stderr": False}, file=shown_on, force_terminal=terminal, color_system=None)

    monkeypatch.setattr(progress, "console", lambda: Screen(stderr=True, markup=False, highlight=False, emoji=False))
    worlds = f"[{{ world = 'riverswim', params = {{ n_states = 4 }}, label = {json.dumps(HOSTILE)} }}]"
    Path("s.toml").write_text(with_lines(learners=LABELLED, worlds=worlds, horizon="20"))
    result = CliRunner().invoke(app, ["study", "s.toml", "--jobs", "1", "--figures"])
    assert result.exit_code == 0, result.output
    assert is_harmless(result.output)
    assert "\x1b]0" not in shown_on.getvalue()
    assert (MARKUP in shown_on.getvalue()) == terminal


@pytest.mark.parametrize("name", ["../../escaped", "..", ".", "a/b", "a\\b", "\x1b[31m", " ", "x" * 300])
def test_a_study_s_name_cannot_lead_out_of_its_folder(tmp_path, monkeypatch, name):
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    Path("s.toml").write_text(with_lines(name=json.dumps(name)))
    result = CliRunner().invoke(app, ["study", "s.toml", "--quiet"])
    assert result.exit_code == 2
    assert "s.toml, line 7: name cannot be" in result.output
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "s.toml"]


def test_a_file_whose_own_name_is_no_name_of_a_study_asks_for_one(tmp_path):
    path = tmp_path / "\x1b.toml"
    path.write_text(with_lines().replace('name = "small"\n', ""))
    result = CliRunner().invoke(app, ["status", str(path)])
    assert result.exit_code == 2
    assert "give one: name =" in result.output


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ('"a(b["', "1", r"unknown key 'a(b['"),
        ("x", "[" * 5000, "nested too deeply"),
        ("seed", "9" * 5000, "not valid TOML: Exceeds the limit"),
        ("runs", "true", "runs cannot be True; it should be a valid integer"),
        ("runs", '"3"', "runs cannot be '3'; it should be a valid integer"),
        ("runs", "9" * 40, "runs must be at most 1000000"),
        ("horizon", "9" * 40, "horizon must be at most 9223372036854775807"),
        ("renumber", "1", "renumber cannot be 1; it should be a valid boolean"),
        ("worlds", '[{ file = "\\u0000" }]', "file holds a null character"),
    ],
)
def test_a_strange_study_file_is_named_with_its_key(tmp_path, key, value, message):
    path = tmp_path / "s.toml"
    path.write_text(with_lines(**{key: value}))
    result = CliRunner().invoke(app, ["status", str(path)])
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_figures_show_dollars_and_brackets_as_they_are(tmp_path, hostile_world, ending):
    mdp = TabularMDP.load(hostile_world)
    for k, figure in enumerate((draw_classes(mdp, eq.equivalence_classes(mdp)), draw_policy(mdp, [0, 1], FORMULA))):
        assert save_figure(figure, tmp_path / f"{k}.{ending}").stat().st_size > 0


def test_comparisons_and_traces_with_hostile_labels_are_drawn(tmp_path):
    river = eq.make("riverswim", n_states=4)
    table = eq.simulate_many(river, {FORMULA: "random", HOSTILE: "optimal", "_hidden": "ucrl2-l"}, 20, seeds=[0, 1])
    figure = table.plot()
    save_figure(figure, tmp_path / "table.svg")
    assert [text.get_text() for text in figure.legends[0].get_texts()][2] == " _hidden"
    trace = replace(eq.simulate(river, "random", 20), agent_name=HOSTILE)
    save_figure(trace.plot(), tmp_path / "trace.png")


def test_printable_text_keeps_what_a_person_reads():
    assert printable("Straße – 日本 😀 $x$ [b]") == "Straße – 日本 😀 $x$ [b]"
    assert printable("a\x1b\udcffb\n") == "a\\x1b\\udcffb\\n"
    assert printable("a\nb", keep="\n") == "a\nb"


def test_a_value_is_shown_however_large():
    assert shown([10**5000]) == "<list>"
    assert shown(-(10**5000)).startswith("an integer of ")
    assert shown("x" * 10**6).endswith(" ...")


def test_progress_of_a_study_counts_each_learner(capsys):
    runs = planned(with_lines(learners=LABELLED))
    with progress.progress_shown(runs, [run.spec for run in runs]) as listener:
        listener.note(HOSTILE)
    assert is_harmless(capsys.readouterr().err)
