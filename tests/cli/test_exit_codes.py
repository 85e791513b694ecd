"""Exit codes as docs/commands.md lists them: a full disk is 3, whichever command writes, and Ctrl-C is 130."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.lab.cli import app
from equirl.lab.cli.console import code_of

LOG = "state,action,reward,next_state\n" + "a,go,0,b\nb,go,1,a\na,stay,0,a\n" * 3
STUDY = """
name = "small"
runs = 1
horizon = 40
checkpoints = 2
worlds = ["riverswim:n_states=3"]
learners = ["random"]
"""
PLAY = ["run", "riverswim:n_states=3", "random", "--horizon", "40", "--runs", "1"]
WRITING = {  # what writes, and the words that make it; {} is an empty folder with a log, a study and its results
    "run --save": [*PLAY, "--save", "{}/kept"],
    "run --save --until": [*PLAY, "--save", "{}/kept", "--until", "seconds=60"],
    "run --csv": [*PLAY, "--csv", "{}/curves.csv"],
    "run --plot": [*PLAY, "--plot", "{}/curves.png"],
    "run --animate": [*PLAY, "--animate", "{}/film.gif"],
    "solve --plot": ["solve", "riverswim:n_states=3", "--plot", "{}/policy.png"],
    "classes --plot": ["classes", "riverswim:n_states=3", "--plot", "{}/classes.png"],
    "classes of a log --plot": ["classes", "{}/log.csv", "--plot", "{}/classes.png"],
    "learn --csv": ["learn", "{}/log.csv", "--draws", "2", "--steps", "0", "--csv", "{}/policy.csv"],
    "learn --save": ["learn", "{}/log.csv", "--draws", "2", "--steps", "0", "--save", "{}/agent.npz"],
    "study": ["study", "{}/small.toml", "--out", "{}/new", "--jobs", "1", "--quiet"],
    "export to CSV": ["export", "{}/small.toml", "--out", "{}/results", "--table", "{}/table.csv"],
    "export to Parquet": ["export", "{}/small.toml", "--out", "{}/results", "--table", "{}/table.parquet"],
    "paper": ["paper", "--runs", "1", "--out", "{}/paper", "--jobs", "1", "--quiet"],
    "leaderboard": [
        "leaderboard", "--runs", "1", "--learners", "random", "--worlds", "river-25", "--out", "{}/board",
        "--jobs", "1", "--quiet",
    ],
    "bench --markdown": ["bench", "--quick", "--only", "start", "--markdown", "{}/speed.md"],
}  # fmt: skip


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A folder with a log, a study and its results."""
    folder = tmp_path_factory.mktemp("computed")
    (folder / "log.csv").write_text(LOG)
    (folder / "small.toml").write_text(STUDY)
    words = ["study", str(folder / "small.toml"), "--out", str(folder / "results"), "--jobs", "1", "--quiet"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return folder


def full(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def full_disk(monkeypatch):
    """A disk on which nothing more can be kept."""
    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.parametrize("command", WRITING)
def test_a_full_disk_ends_a_command_with_code_3_and_one_line(command, computed, full_disk, monkeypatch):
    monkeypatch.setattr("equirl.lab.benchmarks.suite.run_benchmarks", lambda *_: iter(()))
    before = sorted(computed.rglob("*"))
    done = CliRunner().invoke(app, [word.format(computed) for word in WRITING[command]])
    assert done.exit_code == 3, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("equirl: ")]
    assert "No space left on device" in line or "the disk is full" in line
    assert "free some space and give the same command again" in line
    assert [path for path in sorted(computed.rglob("*")) if path.is_file() and path not in before] == []


@pytest.mark.parametrize("command", ["paper", "leaderboard", "study", "study --figures"])
def test_a_disk_that_fills_up_after_the_runs_is_code_3_too(command, computed, full_disk, monkeypatch):
    monkeypatch.setattr("equirl.lab.cli.study_commands._compute_runs", lambda *_, **__: (True, {}))
    words = WRITING[command.split()[0]] + command.split()[1:]
    if "--figures" in words:
        monkeypatch.setattr("equirl.lab.cli.study_commands._summary_of", lambda *_: [])
    done = CliRunner().invoke(app, [word.format(computed).replace("/new", "/results") for word in words])
    assert done.exit_code == 3, done.output
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.EDQUOT, 3), (errno.EFBIG, 3), (errno.EROFS, 3), (errno.EIO, 3), (errno.ENOENT, 2), (errno.EISDIR, 2)],
)
def test_what_the_system_cannot_keep_is_3_and_a_wrong_path_2(number, code):
    assert code_of(OSError(number, os.strerror(number), "curves.csv")) == code


@pytest.mark.parametrize("option", ["--csv", "--plot", "--animate", "--save"])
def test_a_place_that_must_not_be_written_is_a_mistake_told_before_the_runs(option, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    file = tmp_path / {"--csv": "a.csv", "--plot": "a.png", "--animate": "a.gif", "--save": "kept"}[option]
    done = CliRunner().invoke(app, [*PLAY, option, str(file)])
    assert done.exit_code == 2, done.output
    assert "Permission denied" in done.stderr
    assert done.stdout == ""


def test_a_film_that_ffmpeg_cannot_write_is_code_3(tmp_path, monkeypatch):
    (tmp_path / "ffmpeg").write_text("#!/bin/sh\ncat >/dev/null\necho 'No space left on device' >&2\nexit 1\n")
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    done = CliRunner().invoke(app, [*PLAY, "--animate", str(tmp_path / "film.mp4")])
    assert done.exit_code == 3, done.output
    assert "film.mp4: ffmpeg could not write the film: No space left on device" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", ["worlds", "worlds --json", "--help", "completion bash"])
def test_output_that_cannot_be_written_is_code_3_and_one_line(words):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "equirl", *words.split()],
            env=buffered,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert done.stderr.startswith("equirl: No space left on device")


def test_a_run_that_could_not_be_kept_is_kept_once_there_is_room(tmp_path):
    words = [*PLAY, "--save", str(tmp_path / "kept")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert CliRunner().invoke(app, words).exit_code == 3
    assert CliRunner().invoke(app, words).exit_code == 0
    assert eq.load_agent(tmp_path / "kept" / "random" / "seed-0" / "agent.npz").t == 41
