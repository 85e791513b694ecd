"""The studies that come with the package can be run as they are."""

from __future__ import annotations

from collections import Counter

import pytest
from typer.testing import CliRunner

from equirl.lab.cli import app
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.study_file import shipped_study


@pytest.mark.parametrize("name", ["discounted", "ready"])
def test_a_shipped_study_plays_every_kind_of_run_at_least_twenty_times(name):
    kinds = Counter((run.part, run.world, run.learner) for run in expand(shipped_study(name)))
    assert min(kinds.values()) == 20


def test_the_study_of_ready_problems_has_each_of_them():
    played = {entry.world.partition(":")[0] for part in shipped_study("ready").parts for entry in part.worlds}
    assert played == {
        "access-control", "admission", "delivery", "pendulum", "machines", "sites", "lost-sales", "perishable",
        "car-rental", "toymaker", "taxicab",
    }  # fmt: skip


def test_a_folder_of_the_same_name_does_not_hide_a_shipped_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ready").mkdir()
    done = CliRunner().invoke(app, ["status", "ready"])
    assert done.exit_code == 0, done.output
    assert "1200" in done.output
