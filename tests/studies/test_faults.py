"""Studies killed and commands interrupted at random moments; tests/fault_runs.py holds what is done."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[1] / "fault_runs.py"


def faults(kind, folder, n, last, seconds=1200):
    words = [sys.executable, FAULTS, kind, folder, str(n), str(last)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr
    print(kind, done.stdout)
    return json.loads(done.stdout)


def check_kills(found, n):
    assert found["kills"] == n
    harm = {key: found[key] for key in ("other ends", "damaged", "lost", "tables that differ")}
    assert not any(harm.values()), found


def test_a_study_killed_at_random_moments_resumes_to_the_same_table(tmp_path):
    check_kills(faults("kills", tmp_path, 8, 1), 8)


def test_a_command_interrupted_at_a_random_moment_ends_with_code_130_and_no_traceback(tmp_path):
    found = faults("interrupts", tmp_path, 6, 0)
    assert found["ends"]["code 130"] == found["ends"]["interrupted"] == 6, found
    assert not found["odd"]


@pytest.mark.fuzz
@pytest.mark.parametrize(("n", "jobs"), [(1000, 1), (40, 2)])
def test_a_study_killed_very_often_resumes_to_the_same_table(tmp_path, n, jobs):
    check_kills(faults("kills", tmp_path, n, jobs, 3600), n)


@pytest.mark.fuzz
def test_commands_interrupted_very_often_end_with_code_130_and_no_traceback(tmp_path):
    found = faults("interrupts", tmp_path, 200, 0, 3600)
    assert found["ends"]["code 130"] == found["ends"]["interrupted"] == 200, found


@pytest.mark.fuzz
def test_commands_interrupted_while_they_start_end_as_a_shell_calls_130(tmp_path):
    """Before the first lines of equirl have run, Python itself ends by the signal, with a traceback of its own."""
    found = faults("starts", tmp_path, 50, 0, 3600)
    assert set(found["ends"]) <= {"interrupted", "ended before", "tracebacks", "code 130", "code -2"}, found
    assert all(code == "code -2" and "KeyboardInterrupt" in said for *_, code, said in found["odd"]), found
    assert not [said for *_, said in found["odd"] if "equirl/interop" in said or "equirl/lab/cli" in said], found
