"""What a saved run says it is, which folders it may take, and what is read of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import equirl as eq
from equirl.lab.studies import saved_agents
from equirl.lab.studies.saved_agents import (
    SavedRun,
    _folder_name,
    check_folder,
    plan_saved,
    problem_hash,
    save_run,
    saved_runs,
    unreadable_runs,
)

RIVER = eq.make("riverswim", n_states=4)


@pytest.mark.parametrize("shared", [False, True])
def test_a_run_is_planned_for_every_label_and_seed_with_all_that_its_numbers_depend_on(shared):
    agent = eq.simulate(RIVER, "random", 30).agent
    named = {"one": ("psrl", {"delta": 0.1}), "on": (agent, {})}
    plans = plan_saved(RIVER, named, iter([4, 0]), 50, shared, "gap=0.1")
    assert list(plans) == [("one", 4), ("one", 0), ("on", 4), ("on", 0)]
    for (label, seed), run in plans.items():
        assert (run.label, run.seed, run.horizon, run.until) == (label, seed, 50, "gap=0.1")
        assert run.world_seed == (seed if shared else None)
        assert (run.world, run.problem) == (RIVER.name, problem_hash(RIVER))
    assert (plans["one", 4].learner, plans["one", 4].settings) == ("psrl", {"delta": 0.1})
    assert plans["on", 4].learner.startswith("random from step 31, ")
    assert plan_saved(RIVER, {"r": ("random", {})}, [1], 9)["r", 1].world_seed is None


def test_a_problem_is_known_by_its_numbers_and_not_by_its_name():
    same = replace(RIVER, name="another")
    assert problem_hash(same) == problem_hash(RIVER) != problem_hash(eq.make("riverswim", n_states=5))
    assert problem_hash(replace(RIVER, reward_map=(2.0, 0.0))) != problem_hash(RIVER)
    assert len(problem_hash(RIVER)) == 16


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("c-psrl", "c-psrl"), ("ucrl2-l delta=0.1", "ucrl2-l_delta=0.1"), ("a" * 60, "a" * 60),
    ],
)  # fmt: skip
def test_a_plain_label_is_the_name_of_its_folder(label, name):
    assert _folder_name(label) == name


@pytest.mark.parametrize("label", ["a" * 61, "../up", "a/b", "ends.", "ends ", "", ".hidden", "-x", "ü" * 70, "a:b"])
def test_any_other_label_has_a_name_with_its_hash_that_no_other_label_has(label):
    name = _folder_name(label)
    assert name != label
    assert "/" not in name
    assert not name.startswith((".", "-"))
    assert len(name) <= 60 + 7
    assert name[-6:] == saved_agents.hashlib.sha256(label.encode()).hexdigest()[:6]


def test_a_place_is_free_for_the_same_run_and_no_other(tmp_path):
    trace, (run,) = eq.simulate(RIVER, "psrl", 40), plan_saved(RIVER, {"psrl": ("psrl", {})}, [0], 40).values()
    assert check_folder(tmp_path, [run]) == tmp_path
    place = save_run(tmp_path, run, trace)
    assert place == run.folder_in(tmp_path) == tmp_path / "psrl" / "seed-0"
    assert {path.name for path in place.iterdir()} == set(saved_agents.FILES)
    check_folder(tmp_path, [run])
    with pytest.raises(ValueError, match=r"seed-0 holds another run \(by its horizon, until\); choose another folder"):
        check_folder(tmp_path, [replace(run, horizon=41, until="gap=1")])
    check_folder(tmp_path, [replace(run, seed=1)])
    (place / "run.json").unlink()
    with pytest.raises(ValueError, match="seed-0 holds files of an unknown run; choose another folder, or remove it"):
        check_folder(tmp_path, [run])
    for name in saved_agents.FILES[:-1]:
        (place / name).unlink()
    (place / "notes.txt").write_text("mine")
    check_folder(tmp_path, [run])


def test_how_a_run_ended_is_told(tmp_path):
    trace, run = eq.simulate(RIVER, "psrl", 40), SavedRun("w", "p", "psrl", "psrl", seed=3, horizon=40)
    told = json.loads((save_run(tmp_path, run, trace) / "run.json").read_text())
    assert told["run"] == run.plain()
    assert told["ended"] == {
        "steps": 40, "stopped": "", "n_episodes": trace.n_episodes, "regret": trace.regret[-1],
        "reward": trace.reward[-1],
    }  # fmt: skip
    assert told["kind"] == "equirl-saved-run"


RECORD = {
    "kind": "equirl-saved-run",
    "run": {"seed": 2, "label": "b", "world": "w"},
    "ended": {"steps": 9, "regret": 1.5},
}


def keep(folder, label, seed, record):
    place = folder / label / f"seed-{seed}"
    place.mkdir(parents=True)
    (place / "run.json").write_text(record if isinstance(record, str) else json.dumps(record))


def test_runs_are_listed_by_label_and_seed(tmp_path):
    for label, seed in (("b", 10), ("b", 2), ("a", 3)):
        keep(tmp_path, label, seed, {**RECORD, "run": {"seed": seed, "label": label, "world": "w"}})
    found = saved_runs(tmp_path)
    assert (found["learner"], found["seed"], found["world"]) == (["a", "b", "b"], [3, 2, 10], ["w"] * 3)
    assert (found["steps"], found["regret"]) == ([9] * 3, [1.5] * 3)
    assert found["file"][0] == str(tmp_path / "a" / "seed-3" / "agent.npz")
    assert unreadable_runs(tmp_path) == []


@pytest.mark.parametrize(
    "record",
    [
        "", "[]", "{}", "[" * 100_000, {**RECORD, "kind": "other"}, {**RECORD, "run": []}, {**RECORD, "ended": 3},
        {**RECORD, "run": {"label": "b"}}, {**RECORD, "run": {"seed": "x"}},
    ],
)  # fmt: skip
def test_a_record_that_says_nothing_is_left_out_and_told(tmp_path, record):
    keep(tmp_path, "b", 1, record)
    keep(tmp_path, "b", 2, RECORD)
    assert saved_runs(tmp_path)["seed"] == [2]
    assert unreadable_runs(tmp_path) == [tmp_path / "b" / "seed-1" / "run.json"]
