"""Shell completion: the scripts are printed, bash loads them, and Tab finds worlds, learners, settings and files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.lab.cli import app
from equirl.lab.cli.shell_completion import (
    SHIPPED,
    complete_file,
    complete_learners,
    complete_problem,
    complete_setting,
    complete_study,
    complete_world,
)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell):
    result = CliRunner().invoke(app, ["completion", shell])
    assert result.exit_code == 0
    assert "_EQUIRL_COMPLETE" in result.stdout
    assert f"complete_{'fish' if shell == 'bash' else shell}" in result.stdout


def test_another_shell_is_refused_with_those_there_are():
    result = CliRunner().invoke(app, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert "fish" in result.stderr


def test_worlds_and_their_parameters_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complete_world("four") == ["four-room"]
    assert set(complete_world("")) == set(eq.WORLDS)
    assert complete_world("riverswim:n_s") == ["riverswim:n_states="]
    assert "riverswim:n_states=5,forward=" in complete_world("riverswim:n_states=5,")
    assert "riverswim:n_states=5,n_states=" not in complete_world("riverswim:n_states=5,")
    assert complete_world("nowhere:x") == []


def test_learners_are_completed_one_after_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complete_learners("c-psrl-c-") == ["c-psrl-c-sigma"]
    assert complete_learners("ucrl2-l,rand") == ["ucrl2-l,random"]
    assert "random,random" not in complete_learners("random,")


def test_settings_are_completed_learner_by_learner():
    assert complete_setting("c-psrl.sc") == ["c-psrl.scan="]
    assert complete_setting("rando") == ["random."]
    assert complete_setting("c-psrl.scan=1") == complete_setting("nobody.x") == []


def test_files_of_the_right_kind_and_folders_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("river.npz", "rivers.toml", "river.csv", "river.md", ".hidden.npz"):
        Path(name).touch()
    Path("rivers").mkdir()
    Path("rivers/deep.npz").touch()
    assert complete_file("riv", ".npz") == ["river.npz", "rivers/"]
    assert complete_file("rivers/", ".npz") == ["rivers/deep.npz"]
    assert complete_file("", ".npz") == ["river.npz", "rivers/"]
    assert complete_file("nowhere/x", ".npz") == []
    assert complete_study("rivers.") == ["rivers.toml"]
    assert set(SHIPPED) <= set(complete_study(""))
    assert complete_problem("river.") == ["river.npz", "river.csv"]


def test_the_studies_completed_are_those_that_are_shipped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in SHIPPED:
        assert CliRunner().invoke(app, ["status", name]).exit_code == 0


@pytest.fixture
def bash(tmp_path):
    """Bash with the completion of an ``equirl`` on its path; called with a line, it gives the words it offers."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash here")
    program = tmp_path / "bin" / "equirl"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom equirl.lab.cli import app\nsys.argv[0] = 'equirl'\napp()\n"
    )
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])

    def ask(code):
        script = f'set -e\neval "$(equirl completion bash)"\n{code}'
        env = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [shell, "--norc", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return ask


def offered(line):
    words = " ".join(f"'{word}'" for word in line.split(" "))
    ask = f"COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({words})"
    return f"compopt() {{ :; }}\n{ask}\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n" + (
        "_equirl_completion equirl\nprintf '%s\\n' \"${COMPREPLY[@]}\""
    )


def test_bash_loads_the_script(bash):
    assert bash("complete -p equirl") == ["complete -o default -F _equirl_completion equirl"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("equirl cla", ["classes"]),
        ("equirl solve four", ["four-room"]),
        ("equirl run riverswim:n_st", ["n_states="]),  # bash has cut the word at the colon
        ("equirl run riverswim c-psrl,ucrl2-l-", ["c-psrl,ucrl2-l-vm"]),
        ("equirl run riverswim --set c-psrl.sc", ["c-psrl.scan="]),
        ("equirl study discou", ["discounted"]),
        ("equirl run --comm", ["--common-random-numbers"]),
    ],
)
def test_tab_in_bash_offers_what_fits(bash, line, words):
    assert bash(offered(line)) == words
