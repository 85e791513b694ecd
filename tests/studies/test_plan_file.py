"""A results folder says which runs it is meant to hold."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from damage_kit import flipped
from equirl.lab.cli import app
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.plan_file import PLAN, plan_damage, read_plan, write_plan
from equirl.lab.studies.runs import execute
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import StudyError, parse_study
from equirl.lab.studies.summary import finished_runs
from studies_kit import SMALL, planned, specs

ONE = LocalEngine(1)
SEEDED = 'worlds = ["riverswim:n_states=5"]\nlearners = ["psrl"]\nhorizon = 300\n'


def cli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def full(tmp_path):
    store = Store(tmp_path / "results")
    run_study(planned(), store, ONE, quiet=True)
    return store


def test_a_folder_tells_its_plan_even_before_runs_are_done(full):
    for path in full.folder.glob("runs/*.run"):
        path.unlink()
    told, complaints = read_plan(full.folder)
    assert complaints == []
    assert [(run.part, run.world, run.learner, run.spec.key) for run in told] == [
        (run.part, run.world, run.learner, run.spec.key) for run in planned()
    ]


def test_a_folder_without_a_plan_is_taken_to_hold_what_is_there(full):
    (full.folder / PLAN).unlink()
    told, complaints = read_plan(full.folder)
    assert complaints == []
    assert {run.spec.key for run in told} == {spec.key for spec in specs()}
    assert len(list(finished_runs(told, full))) == len(specs())


BROKEN = [
    b"", b"{}", b"[1]", b'{"result_version": 2, "runs": [{"part": 1}]}', b"\xff", b"[" * 10**6,
    b'{"kind": "equirl-plan", "result_version": 2, "runs": [{"part": 1}]}',
    b'{"kind": "equirl-plan", "result_version": 2, "runs": 3}',
]  # fmt: skip


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_plan_is_named_and_what_is_there_is_taken_instead(full, content):
    (full.folder / PLAN).write_bytes(content)
    told, (complaint,) = read_plan(full.folder)
    assert len(told) == len(specs())
    assert complaint.startswith(f"{full.folder / PLAN} ")
    assert complaint.endswith("; the runs that are there are taken instead")


def test_every_flipped_bit_of_a_plan_is_noticed(full):
    path = full.folder / PLAN
    write_plan(planned()[:1], full)
    content = path.read_bytes()
    unnoticed = []
    for bit in range(8 * len(content)):
        path.unlink()
        path.write_bytes(flipped(content, bit))
        if plan_damage(full.folder) is None:
            unnoticed.append(bit)
    assert len(content) > 400
    assert unnoticed == []


def test_a_flipped_bit_is_told_by_whoever_reads_the_plan(full):
    path, whole = full.folder / PLAN, (full.folder / PLAN).read_bytes()
    for bit in range(0, 8 * len(whole), 997):
        path.write_bytes(flipped(whole, bit))
        told, (complaint,) = read_plan(full.folder)
        assert PLAN in complaint
        assert {run.part for run in told} == {full.folder.name}  # not those of the plan


def test_a_plan_cut_anywhere_is_noticed(full):
    content = (full.folder / PLAN).read_bytes()
    for n in range(0, len(content), 13):
        (full.folder / PLAN).write_bytes(content[:n])
        assert plan_damage(full.folder) is not None, n


@pytest.mark.parametrize(
    "change", [lambda text: f" {text}", lambda text: f"{text}\n", lambda text: text.replace(": ", ":")]
)
def test_a_plan_written_otherwise_is_not_the_one_that_was_written(full, change):
    path = full.folder / PLAN
    path.write_text(change(path.read_text()))
    assert "its checksum does not fit" in plan_damage(full.folder)


@pytest.mark.parametrize("place", ["folder", "pipe", "endless"])
def test_something_else_in_the_place_of_a_plan_is_named_and_not_waited_for(full, place):
    path = full.folder / PLAN
    path.unlink()
    make = {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "endless": lambda: path.symlink_to("/dev/zero")}
    make[place]()
    told, (complaint,) = read_plan(full.folder)
    assert len(told) == len(specs())
    assert f"{PLAN} cannot be read" in complaint
    assert run_study(planned(), full, ONE, quiet=True).complete
    assert read_plan(full.folder).complaints == []


def test_a_study_sets_a_damaged_plan_aside_and_says_so(full, tmp_path):
    path = full.folder / PLAN
    damaged = flipped(path.read_bytes(), 4000)
    path.write_bytes(damaged)
    (tmp_path / "s.toml").write_text(SMALL)
    words = (tmp_path / "s.toml", "--out", full.folder)
    assert any(PLAN in damage for damage in json.loads(cli("status", *words, "--json").stdout)["damages"])
    assert f"damaged: {path} is damaged" in cli("status", *words).stdout.replace("\n", "")
    done = cli("study", *words, "--jobs", 1, "--quiet")
    assert f"not used: {path} is damaged: its checksum does not fit; set aside as {PLAN}.damaged" in done.stderr
    assert (full.folder / f"{PLAN}.damaged").read_bytes() == damaged
    assert read_plan(full.folder).complaints == []


def test_agents_of_a_folder_with_a_damaged_plan_are_listed_with_a_word(tmp_path):
    store = Store(tmp_path / "kept")
    run_study(planned(SMALL + 'keep = ["agent"]'), store, ONE, quiet=True)
    path = store.folder / PLAN
    path.write_bytes(flipped(path.read_bytes(), 4000))
    done = cli("agents", store.folder, "--json")
    assert f"{PLAN} is damaged" in done.stderr
    assert len(json.loads(done.stdout)["learners"]) == len(specs())


def test_a_plan_of_another_version_of_results_is_told(full, monkeypatch):
    monkeypatch.setattr("equirl.lab.studies.plan_file.RESULT_VERSION", 1)
    write_plan(planned(), full)
    monkeypatch.undo()
    (complaint,) = read_plan(full.folder).complaints
    assert "is for results of version 1, and this equirl computes version" in complaint


def test_a_plan_without_a_checksum_is_refused_by_name(full):
    held = json.loads((full.folder / PLAN).read_bytes())
    del held["blake2b"]
    (full.folder / PLAN).write_text(json.dumps(held))
    told, (complaint,) = read_plan(full.folder)
    assert {run.part for run in told} == {full.folder.name}  # not those of the plan
    assert "has no checksum" in complaint
    assert "has no checksum" in plan_damage(full.folder)


def test_runs_that_cannot_be_read_are_told_where_there_is_no_plan(full):
    (full.folder / PLAN).unlink()
    full.path(specs()[0]).write_bytes(b"PK broken")
    told, (complaint,) = read_plan(full.folder)
    assert len(told) == len(specs()) - 1
    assert complaint.startswith("1 file of runs left out")
    assert full.path(specs()[0]).name in complaint


def test_given_seeds_are_those_of_simulate():
    runs = expand(parse_study(SEEDED + "seeds = [3, 8]"))
    assert [run.spec.seed for run in runs] == [3, 8]
    mdp = eq.make("riverswim", n_states=5)
    for run in runs:
        expected = eq.simulate(mdp, "psrl", 300, seed=run.spec.seed).regret
        np.testing.assert_array_equal(execute(run.spec).curves["regret"][0], expected)


def test_given_seeds_are_shared_with_the_world_where_learners_meet_the_same_randomness():
    runs = expand(parse_study(SEEDED + "seeds = [3, 8]\ncommon_random_numbers = true"))
    assert [run.spec.world_seed for run in runs] == [3, 8]


def test_a_part_may_replace_given_seeds_by_a_number_of_runs():
    text = SEEDED + 'seeds = [3, 8]\n[[parts]]\nname = "many"\nruns = 3\n[[parts]]\nname = "same"'
    runs = expand(parse_study(text))
    assert [run.part for run in runs] == ["many"] * 3 + ["same"] * 2


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [("seeds = [3]\nruns = 2", "both runs and seeds"), ("seeds = [3, 3]", "listed twice"), ("seeds = [-1]", "seeds")],
)
def test_wrong_seeds_are_named(lines, complaint):
    with pytest.raises(StudyError, match=complaint):
        expand(parse_study(SEEDED + lines))
