"""Studies that keep learners: beside their runs, the same however computed, damaged ones noticed and made again."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.files.whole_files import DamagedFile
from equirl.lab.cli import app
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.expansion import unique_specs
from equirl.lab.studies.plan_file import read_plan
from equirl.lab.studies.runs import build_world, execute
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import StudyError, parse_study
from equirl.lab.studies.summary import export
from studies_kit import SMALL, interrupted, planned, specs, with_lines

KEPT = with_lines(keep='["agent"]')
ONE = LocalEngine(1)


def cli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def store(tmp_path):
    """The results of a study that keeps learners."""
    store = Store(tmp_path / "results")
    run_study(planned(KEPT), store, ONE, quiet=True)
    return store


def test_keeping_learners_changes_no_key_and_no_number(tmp_path, store):
    assert [spec.key for spec in specs(KEPT)] == [spec.key for spec in specs()]
    assert [spec.identity() for spec in specs(KEPT)] == [spec.identity() for spec in specs()]
    plain = Store(tmp_path / "plain")
    run_study(planned(), plain, ONE, quiet=True)
    assert not (plain.folder / "agents").exists()
    tables = [export(planned(), kept, tmp_path / f"{k}.csv")[0].read_bytes() for k, kept in enumerate((store, plain))]
    assert tables[0] == tables[1]


def test_every_run_has_the_learner_that_it_left(store):
    for spec in specs(KEPT):
        agent, mdp = store.agent(spec), build_world(spec)[0]
        own = eq.simulate(mdp, spec.learner, spec.horizon, spec.seed).agent
        assert (agent.name, agent.t) == (spec.learner, spec.horizon + 1)
        on, expected = (eq.simulate(mdp, learner, 100, seed=9) for learner in (agent, own))
        np.testing.assert_array_equal(on.reward, expected.reward)
    assert eq.load_agent(store.agent_path(specs()[0])).t == 301


def test_learners_are_kept_in_the_units_of_the_world(tmp_path):
    text = with_lines(worlds='["toymaker"]', learners='["psrl"]', runs="1", keep='["agent"]')
    store, (spec,) = Store(tmp_path), specs(text)
    run_study(planned(text), store, ONE, quiet=True)
    assert store.agent(spec).reward_map == eq.make("toymaker").reward_map != (1.0, 0.0)


def test_two_processes_keep_the_same_learners_as_one(tmp_path, store):
    other = Store(tmp_path / "two")
    run_study(planned(KEPT), other, LocalEngine(2), quiet=True)
    for spec in specs(KEPT):
        one, two = store.agent(spec).state(), other.agent(spec).state()
        assert one.values == two.values
        assert all(np.array_equal(one.arrays[name], two.arrays[name]) for name in one.arrays)


def test_a_study_done_without_learners_is_computed_again_for_them(tmp_path):
    store = Store(tmp_path)
    run_study(planned(), store, ONE, quiet=True)
    assert len(store.status(specs(KEPT)).missing) == 4
    outcome = run_study(planned(KEPT), store, ONE, quiet=True)
    assert (outcome.report.n_computed, outcome.n_stored, outcome.n_lost) == (4, 4, 0)
    assert run_study(planned(), store, ONE, quiet=True).report.n_computed == 0  # nor are they lost when not asked for
    assert store.agent(specs()[0]).t == 301


def test_an_interrupted_study_goes_on_with_what_is_missing(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_study(planned(KEPT), store, ONE, quiet=True, run=interrupted)
    done = len(store.status(specs(KEPT)).done)
    outcome = run_study(planned(KEPT), store, ONE, quiet=True)
    assert (outcome.report.n_computed, outcome.n_stored) == (4 - done, 4)
    assert all(store.agent(spec).t == 301 for spec in specs(KEPT))


def test_a_kill_between_the_two_files_costs_the_run_alone(tmp_path, monkeypatch):
    store = Store(tmp_path)
    result = execute(specs(KEPT)[0])

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("equirl.lab.studies.store.pack_run", killed)
    with pytest.raises(KeyboardInterrupt):
        store.write(result)
    monkeypatch.undo()
    assert store.agent_path(result.spec).is_file()
    assert store.status(specs(KEPT)[:1]).missing == specs(KEPT)[:1]
    assert run_study(planned(KEPT), store, ONE, quiet=True).n_stored == 4


def cut(path, _):
    path.write_bytes(path.read_bytes()[:200])


def flip(path, _):
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(255 - byte for byte in content[middle : middle + 64])  # one may be padding
    path.write_bytes(bytes(content))


def swap(path, other):
    path.write_bytes(other.read_bytes())


def folder(path, _):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut, flip, swap, folder])
def test_a_damaged_learner_is_told_set_aside_and_made_again(store, damage):
    spec, other = specs(KEPT)[:2]
    path = store.agent_path(spec)
    expected = store.agent(spec).state()
    damage(path, store.agent_path(other))
    state = store.status(specs(KEPT))
    assert [(found, str(path) in reason) for found, reason in state.damaged] == [(spec, True)]
    with pytest.raises(DamagedFile):
        store.agent(spec)
    assert store.read(spec).curves["regret"].shape == (1, 4)  # the run itself can be read all the same
    outcome = run_study(planned(KEPT), store, ONE, quiet=True)
    assert (outcome.report.n_computed, outcome.n_stored) == (1, 4)
    assert store.agent(spec).state().values == expected.values
    assert path.with_name(f"{path.name}.damaged").exists()
    assert not list((store.folder / "runs").glob("*.damaged"))


def test_a_learner_that_was_removed_is_made_again(store):
    store.agent_path(specs()[2]).unlink()
    assert len(store.status(specs(KEPT)).missing) == 1
    assert run_study(planned(KEPT), store, ONE, quiet=True).report.n_computed == 1


def test_a_learner_that_was_not_kept_is_named_with_the_remedy(tmp_path):
    store = Store(tmp_path)
    run_study(planned(), store, ONE, quiet=True)
    with pytest.raises(FileNotFoundError, match=r"keep = \[\"agent\"\] in the study, or give --keep-agents"):
        store.agent(specs()[0])


def test_parts_that_share_a_run_keep_its_learner_where_one_asks():
    text = SMALL + '[[parts]]\nname = "a"\nkeep = ["agent"]\n[[parts]]\nname = "b"\n'
    assert all(spec.keeps_agent for spec in unique_specs(planned(text)))
    backwards = SMALL + '[[parts]]\nname = "a"\n[[parts]]\nname = "b"\nkeep = ["agent"]\n'
    assert all(spec.keeps_agent for spec in unique_specs(planned(backwards)))


def test_something_else_cannot_be_kept():
    with pytest.raises(StudyError, match=r"study, line 8: keep cannot be 'agents'; it should be 'agent' \(keep: what"):
        parse_study(with_lines(keep='["agents"]'))


def test_the_plan_of_a_results_folder_says_what_is_kept(store):
    assert read_plan(store.folder).runs == planned(KEPT)


def test_the_flag_keeps_them_and_agents_lists_them(tmp_path):
    (tmp_path / "s.toml").write_text(SMALL + '[[parts]]\nname = "a"\nkeep = []\n')
    words = (tmp_path / "s.toml", "--out", tmp_path / "out")
    assert cli("study", *words, "--jobs", 1, "--keep-agents").exit_code == 0
    listed = json.loads(cli("agents", tmp_path / "out", "--json").stdout)["learners"]
    assert [(row["part"], row["learner"], row["replicate"]) for row in listed] == [
        ("a", "ucrl2-l", 0), ("a", "ucrl2-l", 1), ("a", "random", 0), ("a", "random", 1),
    ]  # fmt: skip
    assert eq.load_agent(listed[0]["file"]).name == "ucrl2-l"
    assert "4 learners" in cli("agents", tmp_path / "out").stdout
    (tmp_path / "out" / "agents").rename(tmp_path / "moved")
    assert json.loads(cli("status", *words, "--json").stdout)["missing"] == 0
    assert json.loads(cli("status", *words, "--keep-agents", "--json").stdout)["missing"] == 4
