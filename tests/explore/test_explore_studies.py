"""A results folder on the page: progress, tables and curves, while runs land."""

from __future__ import annotations

import base64
import math
import shutil

import numpy as np
import pytest

from equirl.lab.explore import results_watch
from equirl.lab.explore.study_service import StudyService
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import parse_study
from equirl.lab.studies.summary import final_rows, finished_runs, summarise

TEXT = """
name = "two"
runs = 3
horizon = 300
worlds = ["riverswim:n_states=5", "four-room"]
learners = ["psrl", "random"]
"""


@pytest.fixture(autouse=True)
def all_is_read_at_once(monkeypatch):
    """However slow the machine is: between two messages a service reads for a while only."""
    monkeypatch.setattr(results_watch, "READ", math.inf)


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    planned = expand(parse_study(TEXT))
    run_study(planned, Store(folder), LocalEngine(1), quiet=True)
    return folder, planned


@pytest.fixture
def folder(computed, tmp_path):
    return shutil.copytree(computed[0], tmp_path / "two")


def opened(folder):
    service = StudyService({"results": folder})
    return service, next(service.handle({"do": "study"}))


def test_tables_and_curves_are_those_of_the_study(computed):
    folder, planned = computed
    service, told = opened(folder)
    assert (told["done"], told["total"], told["failed"]) == (12, 12, 0)
    groups = summarise(finished_runs(planned, Store(folder)))
    rows = {(row[1], row[2]): row for row in final_rows(groups)}
    for place in told["places"]:
        assert {row["learner"] for row in place["rows"]} == {"psrl", "random"}
        for row in place["rows"]:
            expected = rows[place["world"], row["learner"]]
            assert (row["mean"], row["low"], row["high"]) == expected[5:8]
    curves = next(service.handle({"do": "look", "part": "two", "world": "four-room", "measure": "regret"}))
    for learner in curves["learners"]:
        group = next(g for g in groups if (g.world, g.learner) == ("four-room", learner["label"]))
        np.testing.assert_array_equal(learner["mean"], group.curves.mean("regret"))
        np.testing.assert_array_equal(learner["half"], group.curves.half_width("regret"))


def test_runs_that_land_are_shown_when_they_do(folder):
    files = sorted((folder / "runs").glob("*.run"))
    held = [(path, path.read_bytes()) for path in files[:5]]
    for path, _ in held:
        path.unlink()
    service, told = opened(folder)
    assert (told["done"], told["total"]) == (7, 12)
    assert list(service.tick()) == []
    list(service.handle({"do": "look", "part": "two", "world": "four-room"}))
    for path, content in held[:2]:
        path.write_bytes(content)
    told, curves = service.tick()
    assert told["done"] == 9
    assert curves["kind"] == "curves"
    held[0][0].unlink()
    assert next(service.tick())["done"] == 8


def test_a_damaged_run_counts_as_missing(folder):
    next((folder / "runs").glob("*.run")).write_bytes(b"PK broken")
    assert opened(folder)[1]["done"] == 11


def test_a_damaged_plan_is_told_and_runs_that_land_are_still_shown(folder):
    path = folder / "plan.json"
    path.write_bytes(path.read_bytes().replace(b"psrl", b"prsl", 1))
    first = next((folder / "runs").glob("*.run"))
    content = first.read_bytes()
    first.unlink()
    service, told = opened(folder)
    (complaint,) = told["complaints"]
    assert "plan.json is damaged: its checksum does not fit" in complaint
    assert (told["done"], told["total"]) == (11, 11)
    assert list(service.tick()) == []
    first.write_bytes(content)
    assert next(service.tick())["total"] == 12


def test_a_whole_plan_is_no_cause_for_complaint(computed):
    assert opened(computed[0])[1]["complaints"] == []


def test_failed_runs_are_counted(folder):
    path = next((folder / "runs").glob("*.run"))
    (folder / "failed" / f"{path.stem}.json").write_text("{}")
    path.unlink()
    told = opened(folder)[1]
    assert (told["done"], told["failed"]) == (11, 1)


def test_a_study_that_has_just_begun_has_places_and_no_rows(folder):
    for path in (folder / "runs").glob("*.run"):
        path.unlink()
    service, told = opened(folder)
    assert [place["rows"] for place in told["places"]] == [[], []]
    assert next(service.handle({"do": "look", "part": "two", "world": "four-room"}))["learners"] == []


def test_curves_come_once_the_last_run_is_read_however_long_that_takes(computed, monkeypatch):
    monkeypatch.setattr(results_watch, "READ", -1.0)  # one run between two messages
    service, told = opened(computed[0])
    next(service.handle({"do": "look", "part": "two", "world": "four-room"}))
    while told["reading"]:
        assert service.pause() == 0.0
        told, *rest = service.tick()
    (curves,) = rest
    assert told["done"] == 12
    assert [learner["runs"] for learner in curves["learners"]] == [3, 3]
    assert list(service.tick()) == []


def test_what_is_taken_away_while_runs_are_still_read_holds_all_of_them(computed, monkeypatch):
    take = {"do": "take", "what": "csv", "part": "two", "world": "four-room"}
    whole = next(opened(computed[0])[0].handle(take))
    monkeypatch.setattr(results_watch, "READ", -1.0)  # one run between two messages
    service, told = opened(computed[0])
    assert told["reading"]
    assert next(service.handle(take)) == whole


@pytest.mark.parametrize("what", ["svg", "png", "csv"])
def test_figures_and_tables_of_a_study_can_be_taken_away(computed, what):
    service, _ = opened(computed[0])
    file = next(service.handle({"do": "take", "what": what, "part": "two", "world": "four-room", "log": True}))
    assert file["name"] == f"two-four-room.{what}"
    assert len(base64.b64decode(file["base64"])) > 100


def test_a_part_that_is_none_is_named(computed):
    service, _ = opened(computed[0])
    with pytest.raises(ValueError, match="unknown part"):
        list(service.handle({"do": "take", "what": "csv", "part": "../..", "world": "x"}))
    with pytest.raises(ValueError, match="no results folder was given"):
        list(StudyService({}).handle({"do": "study"}))
