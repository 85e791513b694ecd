"""A results folder says which runs it is meant to hold."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.studies.engines import LocalEngine
from equirl.studies.execution import run_study
from equirl.studies.expansion import expand
from equirl.studies.export import finished_runs
from equirl.studies.plan_file import PLAN, read_plan
from equirl.studies.runs import execute
from equirl.studies.store import Store
from equirl.studies.study_file import StudyError, parse_study
from studies_kit import planned, specs

ONE = LocalEngine(1)
SEEDED = 'worlds = ["riverswim:n_states=5"]\nlearners = ["psrl"]\nhorizon = 300\n'


@pytest.fixture
def full(tmp_path):
    store = Store(tmp_path / "results")
    run_study(planned(), store, ONE, quiet=True)
    return store


def test_a_folder_tells_its_plan_even_before_runs_are_done(full):
    for path in full.folder.glob("runs/*.npz"):
        path.unlink()
    told = read_plan(full.folder)
    assert [(run.part, run.world, run.learner, run.spec.key) for run in told] == [
        (run.part, run.world, run.learner, run.spec.key) for run in planned()
    ]


def test_a_folder_without_a_plan_is_taken_to_hold_what_is_there(full):
    (full.folder / PLAN).unlink()
    told = read_plan(full.folder)
    assert {run.spec.key for run in told} == {spec.key for spec in specs()}
    assert len(list(finished_runs(told, full))) == len(specs())


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"result_version": 2, "runs": [{"part": 1}]}', b"\xff"])
def test_a_broken_plan_is_no_plan(full, content):
    (full.folder / PLAN).write_bytes(content)
    assert len(read_plan(full.folder)) == len(specs())


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
