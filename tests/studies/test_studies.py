from dataclasses import replace

import numpy as np
import pytest

from equirl.lab.studies.expansion import expand, unique_specs
from equirl.lab.studies.run_specs import derive_seed, settings_of
from equirl.lab.studies.runs import build_world, execute
from equirl.lab.studies.study_file import StudyError, StudyFile, load_study, parse_study
from equirl.worlds.world_registry import make
from studies_kit import SMALL, planned, specs, with_lines


def seeds(text):
    return {(run.world, run.learner, run.spec.replicate): run.spec.seed for run in planned(text)}


def test_every_world_meets_every_learner_as_often_as_runs_says():
    text = with_lines(worlds='["riverswim:n_states=5", "two-room"]')
    assert [(run.world, run.learner, run.spec.replicate) for run in planned(text)] == [
        (world, learner, k)
        for world in ("riverswim:n_states=5", "two-room")
        for learner in ("ucrl2-l", "random")
        for k in (0, 1)
    ]


def test_a_seed_is_the_same_in_every_version():
    assert derive_seed("run", 3, "riverswim", {"n_states": 5}, "ucrl2-l", {}, 0) == 2256007446869076863


def test_adding_a_learner_leaves_other_seeds_alone():
    more = seeds(with_lines(learners='["c-ucrl", "ucrl2-l", "random"]'))
    assert seeds(SMALL).items() <= more.items()


def test_a_longer_horizon_keeps_seeds_and_changes_keys():
    longer = planned(with_lines(horizon="600"))
    assert [run.spec.seed for run in longer] == [run.spec.seed for run in planned()]
    assert not {run.spec.key for run in longer} & {run.spec.key for run in planned()}


def test_a_longer_run_begins_as_the_shorter_one():
    short, long = execute(specs()[0]), execute(specs(with_lines(horizon="600", checkpoints="8"))[0])
    np.testing.assert_array_equal(long.curves.t[:4], short.curves.t)
    np.testing.assert_array_equal(long.curves["regret"][:, :4], short.curves["regret"])


def test_the_study_seed_changes_every_seed():
    assert not set(seeds(SMALL).values()) & set(seeds(with_lines(seed="4")).values())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('learners = [{ learner = "c-ucrl", settings = { delta = 0.05, balance = 4 } }]', 'learners = ["c-ucrl"]'),
        (
            'worlds = [{ world = "riverswim", params = { n_states = 5, preset = "figures", forward = 0.4 } }]',
            'worlds = ["riverswim:n_states=5"]',
        ),
        ('worlds = ["riverswim:large_reward=1"]', 'worlds = ["riverswim"]'),
    ],
)
def test_a_value_spelled_out_at_its_default_changes_nothing(first, second):
    one, other = (planned(with_lines(**dict([line.split(" = ", 1)]))) for line in (first, second))
    assert [run.spec.key for run in one] == [run.spec.key for run in other]


def test_a_setting_changes_seed_and_key():
    text = with_lines(learners='["c-ucrl", { learner = "c-ucrl", settings = { balance = 8.0 } }]', runs="1")
    plain, other = planned(text)
    assert (other.learner, plain.spec.seed != other.spec.seed) == ("c-ucrl:balance=8.0", True)


def test_common_random_numbers_share_the_worlds_seed_across_learners():
    text = with_lines(common_random_numbers="true")
    by_replicate = {}
    for run in planned(text):
        by_replicate.setdefault(run.spec.replicate, set()).add(run.spec.world_seed)
    assert [len(found) for found in by_replicate.values()] == [1, 1]
    assert by_replicate[0] != by_replicate[1]


def test_renumbered_replicates_differ_from_each_other_and_not_between_learners():
    found = planned(with_lines(renumber="true"))
    numbers = {(run.learner, run.spec.replicate): run.spec.renumber_seed for run in found}
    assert numbers["ucrl2-l", 0] == numbers["random", 0] != numbers["ucrl2-l", 1]
    worlds = [build_world(run.spec)[0] for run in found[:2]]
    assert worlds[0] != worlds[1]
    assert [execute(run.spec).facts["gain"] for run in found[:2]] == [execute(specs()[0]).facts["gain"]] * 2


def test_renumbering_keeps_seeds_and_changes_keys_only_where_asked():
    plain, off, on = (planned(text) for text in (SMALL, with_lines(renumber="false"), with_lines(renumber="true")))
    assert [run.spec.key for run in plain] == [run.spec.key for run in off]
    assert "renumber_seed" not in plain[0].spec.identity()
    assert [run.spec.seed for run in plain] == [run.spec.seed for run in on]
    assert not {run.spec.key for run in plain} & {run.spec.key for run in on}


def test_parts_override_the_top_and_share_runs():
    text = SMALL + '[[parts]]\nname = "a"\n[[parts]]\nname = "b"\nhorizon = 600\n[[parts]]\nname = "c"\nruns = 3\n'
    runs = planned(text)
    assert {(run.part, run.spec.horizon) for run in runs} == {("a", 300), ("b", 600), ("c", 300)}
    assert len(runs) == 14
    assert len(unique_specs(runs)) == 10


def test_a_saved_world_is_known_by_its_content(tmp_path):
    for name in ("one.npz", "same.npz"):
        make("riverswim", n_states=5).save(tmp_path / name)
    make("riverswim", n_states=6).save(tmp_path / "other.npz")
    keys = []
    for name in ("one", "same", "other"):
        study = parse_study(with_lines(worlds=f'[{{ file = "{name}.npz" }}]', learners='["random"]', runs="1"))
        keys.append(expand(study, tmp_path)[0].spec.key)
    assert keys[0] == keys[1] != keys[2]


def test_a_saved_world_is_played(tmp_path):
    make("riverswim", n_states=5).save(tmp_path / "river.npz")
    study = parse_study(with_lines(worlds='[{ file = "river.npz" }]'))
    saved, registered = expand(study, tmp_path)[0].spec, specs()[0]
    played = execute(replace(saved, seed=registered.seed))
    np.testing.assert_array_equal(played.curves["regret"], execute(registered).curves["regret"])


def test_a_saved_world_that_changed_is_refused(tmp_path):
    make("riverswim", n_states=5).save(tmp_path / "river.npz")
    spec = expand(parse_study(with_lines(worlds='[{ file = "river.npz" }]')), tmp_path)[0].spec
    make("riverswim", n_states=6).save(tmp_path / "river.npz")
    with pytest.raises(ValueError, match=r"river\.npz changed since the study was read"):
        execute(spec)


def test_a_run_is_a_function_of_its_spec():
    first, again = execute(specs()[0]), execute(specs()[0])
    assert first.curves.names == again.curves.names
    assert all(np.array_equal(first.curves[name], again.curves[name]) for name in first.curves)


def test_the_measure_of_clustering_adds_its_curves():
    result = execute(specs(with_lines(measures='["clustering"]'))[0])
    assert result.curves["misclustering_ratio"].shape == (1, 4)


def test_a_study_without_a_name_takes_its_files(tmp_path):
    path = tmp_path / "rivers.toml"
    path.write_text(with_lines(name='"x"').replace('name = "x"', ""))
    assert load_study(path).name == "rivers"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            with_lines(horizn="1"),
            r"line 8: unknown key 'horizn'; did you mean 'horizon'\? \(horizon: the number of steps",
        ),
        (with_lines(runs="0"), r"line 7: runs must be at least 1, not 0 \(runs: the number of independent runs"),
        (with_lines(horizon='"long"'), r"horizon cannot be 'long'.*the number of steps"),
        (with_lines(worlds="[]"), r"worlds is empty"),
        (with_lines(learners="[{ settings = {} }]"), r"line \d: the key 'learner' is missing"),
        (with_lines(learners='[{ learner = "ucrl2-l", lable = "x" }]'), r"unknown key 'lable'; did you mean 'label'\?"),
        (with_lines(checkpoints='"often"'), r"checkpoints cannot be 'often' \(checkpoints: where curves"),
        (with_lines(measures='["speed"]'), r"measures cannot be 'speed'"),
        (SMALL + "[[parts]]\nruns = 3", r"the key 'name' is missing"),
        (SMALL + '[[parts]]\nname = "a"\nruns = 0', r"line 11: runs must be at least 1"),
        ("runs = 1 2", r"study is not valid TOML: .*line 1"),
    ],
)
def test_a_mistake_in_the_file_names_the_key_its_place_and_its_meaning(text, message):
    with pytest.raises(StudyError, match=message):
        parse_study(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learners": '["cucrl"]'}, r"unknown learner 'cucrl'; did you mean 'c-ucrl'\?"),
        ({"learners": '[{learner = "c-ucrl", settings = {threads = 2}}]'}, "threads has no place in a study"),
        ({"learners": '[{ learner = "c-ucrl", settings = { delta = 2.0 } }]'}, r"learner 'c-ucrl': delta must lie"),
        ({"learners": '["random", "random"]'}, r"'random' names more than one learner"),
        ({"worlds": '["riversim"]'}, r"unknown world 'riversim'; did you mean 'riverswim'\?"),
        ({"worlds": '["riverswim:n_state=5"]'}, r"did you mean 'n_states'\?"),
        ({"worlds": '["riverswim:n_states=1"]'}, r"world 'riverswim:n_states=1': n_states must be at least"),
        ({"worlds": '[{ file = "nowhere.npz" }]'}, r"the saved world .*nowhere.npz is not there"),
        ({"worlds": '[{ label = "x" }]'}, r"a world needs either 'world'"),
        ({"checkpoints": "[10, 5, 300]"}, r"checkpoints must be increasing times that end at the horizon, 300"),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_before_any_run(changes, message):
    with pytest.raises(StudyError, match=message):
        planned(with_lines(**changes))


@pytest.mark.parametrize(
    ("last", "place"),
    [
        ('learners = ["random",\n  "cucrl"]', "study, line 9: unknown learner 'cucrl'"),
        ("worlds = [ 'riversim' ]", "study, line 8: world 'riversim'"),
        ('learners = ["random",\n  { learner = "c-ucrl", settings = { x = 1 } }]', "study, line 9: learner 'c-ucrl'"),
    ],
)
def test_an_unknown_name_is_told_with_its_line(last, place):
    key = last.split(" ")[0]
    text = "\n".join(["# a study", *(line for line in SMALL.strip().splitlines() if not line.startswith(key)), last])
    with pytest.raises(StudyError, match=rf"^{place}"):
        planned(text)


def test_a_name_is_looked_for_in_its_own_part_first(tmp_path):
    parts = '[[parts]]\nname = "a"\nlearners = ["c-ucrl"]\n[[parts]]\nname = "b"\n'
    (tmp_path / "s.toml").write_text(SMALL + parts + 'learners = [{ learner = "c-ucrl", settings = { x = 1 } }]')
    with pytest.raises(StudyError, match=r"s\.toml, line 14: learner 'c-ucrl': "):
        expand(load_study(tmp_path / "s.toml"))
    (tmp_path / "s.toml").write_text(with_lines(worlds='["riversim"]') + "\n" + parts)
    with pytest.raises(StudyError, match=r"s\.toml, line 7: world 'riversim'"):
        expand(load_study(tmp_path / "s.toml"))


def test_a_study_made_without_a_file_names_no_line():
    study = StudyFile.model_validate({"horizon": 5, "worlds": ["riverswim"], "learners": ["nobody"]})
    with pytest.raises(StudyError, match=r"^unknown learner 'nobody'"):
        expand(study)


def test_a_missing_horizon_is_named_with_its_meaning():
    text = "\n".join(line for line in SMALL.splitlines() if not line.startswith("horizon"))
    with pytest.raises(StudyError, match=r"the key 'horizon' is missing \(horizon: the number of steps"):
        planned(text)


def test_a_setting_that_the_world_would_choose_is_kept_where_it_is_stated():
    assert settings_of("c-ucrl-c", {})[0] == {}
    assert settings_of("c-ucrl-c", {"rewards": "per_class"})[0] == {"rewards": "per_class"}
    assert settings_of("c-ucrl-c", {"balance": 4.0})[0] == {}


def test_a_tolerance_is_a_setting_of_a_study():
    near = '[{ learner = "c-ucrl-c", settings = { tolerance = 0.3 } }]'
    spec = planned(with_lines(learners=near))[0].spec
    assert spec.settings == {"tolerance": 0.3}
    exact = planned(with_lines(learners='["c-ucrl-c"]'))[0].spec
    assert execute(spec).curves["n_classes"][0, 0] < execute(exact).curves["n_classes"][0, 0]
    for old, new in (("c-ucrl-c", "ucrl2-l"), ("0.3", '"exact"'), ("0.3", "-1")):
        with pytest.raises(StudyError, match="tolerance"):
            planned(with_lines(learners=near.replace(old, new)))
