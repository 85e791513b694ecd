"""Results folders in which something else stands where a run's file should be, or from which files vanish."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from damage_kit import zeroed
from equirl.lab.cli import app
from equirl.lab.studies import execution
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.runs import execute
from equirl.lab.studies.store import Store, StoreError
from studies_kit import SMALL, planned, raising, specs, with_lines

ONE = LocalEngine(1)
SPEC = specs()[0]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def store(folder):
    store = Store(folder / "out")
    run_study(planned(), store, ONE, quiet=True)
    return store


def cli(command, folder, *words):
    words = [command, folder / "s.toml", "--out", folder / "out", *words]
    return CliRunner().invoke(app, [str(word) for word in words])


def a_folder(path):
    path.mkdir()
    (path / "inside").write_text("kept")


def a_socket(path):
    import socket

    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the names of sockets are short
        made.bind(path.name)
        os.chdir(here)


def a_linked_pipe(path):
    os.mkfifo(path.with_suffix(".pipe"))
    path.symlink_to(path.with_suffix(".pipe"))


PLACES = {
    "folder": a_folder,
    "pipe": os.mkfifo,
    "socket": a_socket,
    "link to a pipe": a_linked_pipe,
    "link in a circle": lambda path: path.symlink_to(path.name),
    "json": lambda path: path.write_text(json.dumps({"a": [1, 2]})),
    "json of another kind": lambda path: path.write_text(json.dumps([1, 2])),
    "deep json": lambda path: path.write_text("[" * 100_000),
    "nothing": lambda path: path.write_bytes(b""),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("what", PLACES)
def test_what_stands_in_a_runs_place_is_reported_set_aside_and_the_run_computed_again(store, folder, what):
    whole = cli("export", folder, "-o", folder / "whole.csv")
    assert whole.output.endswith("16 rows\n")
    path = store.path(SPEC)
    path.unlink()
    PLACES[what](path)
    status = cli("status", folder)
    assert (status.exit_code, "3 done, 0 missing, 0 failed, 1 damaged" in status.output) == (0, True)
    exported = cli("export", folder, "-o", folder / "part.csv")
    assert exported.exit_code == 0
    assert f"damaged, left out: {path}" in exported.output
    assert exported.output.endswith("12 rows\n")
    study = cli("study", folder, "--jobs", 1)
    assert (study.exit_code, "4 runs are done, 1 computed now" in study.output) == (0, True)
    assert f"set aside as {path.name}.damaged and computed again" in study.output
    assert os.path.lexists(f"{path}.damaged")
    cli("export", folder, "-o", folder / "again.csv")
    assert (folder / "again.csv").read_bytes() == (folder / "whole.csv").read_bytes()


@pytest.mark.parametrize("what", PLACES)
def test_what_stands_in_the_place_of_a_record_of_failure_harms_nothing(folder, what):
    store = Store(folder / "out")
    store.prepare()
    path = store.failure_path(SPEC)
    PLACES[what](path)
    status = cli("status", folder)
    assert (status.exit_code, "0 done, 3 missing, 1 failed, 0 damaged" in status.output) == (0, True)
    assert "failed: no readable record" in status.output
    run_study(planned(), store, ONE, quiet=True, run=raising)
    study = cli("study", folder, "--jobs", 1)
    assert (study.exit_code, "4 runs are done" in study.output) == (0, True)
    assert not path.exists()


def test_a_record_of_failure_can_be_written_where_a_folder_stands(folder):
    store, failing = Store(folder / "out"), specs()[2]
    store.prepare()
    a_folder(store.failure_path(failing))
    outcome = run_study(planned(), store, ONE, quiet=True, run=raising)
    assert len(outcome.report.failures) == 2
    assert store.failure(failing)["error"] == "RuntimeError: no luck today"
    assert (store.folder / "failed" / f"{failing.key}.json.damaged" / "inside").read_text() == "kept"


def test_what_was_set_aside_before_is_not_lost_when_it_happens_again(store):
    path = store.path(SPEC)
    for k in range(3):
        path.write_text(f"damage {k}")
        run_study(planned(), store, ONE, quiet=True)
    kept = [path.with_name(f"{path.name}.damaged{suffix}").read_text() for suffix in ("", "-2", "-3")]
    assert kept == ["damage 0", "damage 1", "damage 2"]


def test_zeroed_bytes_at_any_place_end_no_command(store):
    path = store.path(SPEC)
    content = path.read_bytes()
    for start in range(0, len(content), 97):
        path.write_bytes(zeroed(content, start))
        status = store.status([SPEC])
        assert len(status.done) + len(status.damaged) == 1


def test_a_runs_file_that_must_not_be_read_is_named(store, folder, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("equirl.lab.studies.run_files.open_file", refuse)
    status = cli("status", folder)
    assert (status.exit_code, status.output) == (2, f"equirl: {store.path(SPEC)}: Permission denied\n")


# --- files that vanish


def removing(spec):
    """The results so far are removed when the last run ends."""
    result = execute(spec)
    if (Path.cwd() / "out" / "runs").exists() and len(list((Path.cwd() / "out" / "runs").iterdir())) == 3:
        shutil.rmtree(Path.cwd() / "out")
    return result


def test_a_study_whose_results_were_removed_says_what_is_stored_and_ends_with_code_1(folder, monkeypatch):
    monkeypatch.chdir(folder)

    def study(*arguments, **options):
        return run_study(*arguments, **options, run=removing)

    monkeypatch.setattr(execution, "run_study", study)
    result = cli("study", folder, "--jobs", 1)
    assert result.exit_code == 1
    assert "1 run is done, 4 computed now" in result.output
    assert "3 results are not in " in result.output
    assert "the same command computes what is gone" in result.output
    monkeypatch.undo()
    again = cli("study", folder, "--jobs", 1)
    assert (again.exit_code, "4 runs are done, 3 computed now" in again.output) == (0, True)


def test_a_folder_that_goes_while_a_file_is_written_is_told_as_that(folder, monkeypatch):
    store = Store(folder / "out")
    store.prepare()

    def gone(*_):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("equirl.files.whole_files.os.replace", gone)
    with pytest.raises(StoreError, match=r"it was removed while the study ran. Give the same command again"):
        store.write(execute(SPEC))


REMOVING = """
import itertools, random, shutil, sys
dice, folder, touched, times = random.Random(10), sys.argv[4], itertools.count(), []

def remove(event, given):
    if event in ("open", "os.rename", "os.mkdir", "os.listdir", "os.scandir") and str(given[0]).startswith(folder):
        if "now" not in times and (dice.random() < 0.02 or next(touched) > 100):
            times.append("now")
            shutil.rmtree(folder, ignore_errors=True)
            times[-1] = "done"

sys.addaudithook(remove)
try:
    from equirl.lab.cli import app
    app()
finally:
    print("removed", len(times))
"""


def test_a_folder_removed_again_and_again_ends_the_study_without_a_traceback(folder):
    """Removed just before the study opens, renames, makes or lists something in it."""
    (folder / "s.toml").write_text(with_lines(runs="40"))
    words = ["study", folder / "s.toml", "--out", folder / "out", "--jobs", "1", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", REMOVING, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (1, 3), done.stdout
    assert "Traceback" not in done.stdout
    assert not done.stdout.endswith("removed 0\n")
