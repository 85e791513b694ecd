"""Tests leave the tree as it is; tests/conftest.py sees to that, tried here on a small tree of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")


def run_in_tree(root, body, *options):
    """Run pytest in a tree with one test and the rules of ours."""
    (root / "tests").mkdir()
    shutil.copy(CONFTEST, root / "tests")
    (root / "tests" / "test_one.py").write_text(f"def test_one(tmp_path):\n    {body}\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "tests"]
    return subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["one process", "workers"])
def test_a_run_whose_tests_write_into_the_tree_fails_and_names_the_files(tmp_path, options):
    body = "import os; os.makedirs('results/new'); open('machine.csv', 'w').close(); open('results/new/a', 'w').close()"
    done = run_in_tree(tmp_path, body, *options)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    told = [line for line in done.stdout.splitlines() if line.startswith("written into the tree")]
    assert [line.split(": ")[1].split(";")[0] for line in told] == ["machine.csv", "results/new/a"]


def test_a_run_whose_tests_write_elsewhere_passes(tmp_path):
    body = "(tmp_path / 'machine.csv').write_text(''); import os; os.makedirs('.cache'); open('.cache/a', 'w').close()"
    done = run_in_tree(tmp_path, body, "--basetemp", str(tmp_path / ".temporary"))
    assert done.returncode == 0, done.stdout
    assert "written into the tree" not in done.stdout
