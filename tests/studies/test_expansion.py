"""From a study to its runs: checkpoints, seeds, what a part takes from its study, runs that are shared."""

from dataclasses import replace

import pytest

from equirl.lab.studies.expansion import expand, label_of, unique_specs
from equirl.lab.studies.run_specs import derive_seed
from equirl.lab.studies.study_file import StudyError, parse_study
from studies_kit import planned, specs, with_lines


@pytest.mark.parametrize(
    ("checkpoints", "expected"),
    [("4", 4), ("300", 300), ("301", 300), ("[300]", [300]), ("[1, 2, 300]", [1, 2, 300]), ('"log"', "log")],
)
def test_checkpoints_are_a_number_up_to_the_horizon_or_times_that_end_there(checkpoints, expected):
    assert {str(spec.checkpoints) for spec in specs(with_lines(checkpoints=checkpoints))} == {str(expected)}


@pytest.mark.parametrize("checkpoints", ["[]", "[1, 1, 300]", "[5, 2, 300]", "[1, 2, 299]", "[1, 301]"])
def test_checkpoints_that_do_not_rise_to_the_horizon_are_refused(checkpoints):
    with pytest.raises(StudyError, match=r"checkpoints"):
        specs(with_lines(checkpoints=checkpoints))


def test_runs_are_those_of_worlds_learners_and_replicates_in_this_order():
    found = planned(with_lines(worlds='["riverswim:n_states=5", "two-room"]'))
    assert [(run.world, run.learner, run.spec.replicate) for run in found] == [
        (world, learner, k)
        for world in ("riverswim:n_states=5", "two-room")
        for learner in ("ucrl2-l", "random")
        for k in (0, 1)
    ]
    assert len({run.spec.seed for run in found}) == 8
    place = (3, "riverswim", {"n_states": 5})
    assert found[1].spec.seed == derive_seed("run", *place, "ucrl2-l", {}, 1)
    assert all(run.spec.world_seed is run.spec.renumber_seed is None for run in found)


def test_learners_share_the_chances_of_the_world_and_its_renumbering_where_asked():
    for text, names in (
        (with_lines(common_random_numbers="true"), ("world_seed",)),
        (with_lines(renumber="true"), ("renumber_seed",)),
    ):
        for name in names:
            first, second, *others = [getattr(spec, name) for spec in specs(text)]
            kind = name.removesuffix("_seed")
            place = (3, "riverswim", {"n_states": 5})
            assert [first, second] == others == [derive_seed(kind, *place, k) for k in (0, 1)]


def test_seeds_that_are_given_are_used_as_they_are_and_count_the_runs():
    text = with_lines(seeds="[7, 0]", common_random_numbers="true").replace("runs = 2\n", "")
    assert [(spec.seed, spec.world_seed) for spec in specs(text)] == [(7, 7), (0, 0)] * 2
    assert {spec.world_seed for spec in specs(with_lines(seeds="[7, 0]").replace("runs = 2\n", ""))} == {None}
    with pytest.raises(StudyError, match="both runs and seeds"):
        specs(with_lines(seeds="[7, 8]"))
    with pytest.raises(StudyError, match="a seed is listed twice"):
        specs(with_lines(seeds="[7, 7]").replace("runs = 2\n", ""))


def test_a_part_has_its_own_values_or_those_of_the_study_and_its_own_runs_replace_the_seeds():
    head = with_lines(seeds="[7, 8]", keep='["agent", "agent"]').replace("runs = 2\n", "")
    runs = planned(head + '\n[[parts]]\nname = "a"\nhorizon = 20\n[[parts]]\nname = "b"\nruns = 3\n')
    first, second = ([run.spec for run in runs if run.part == part] for part in "ab")
    assert [spec.seed for spec in first] == [7, 8] * 2
    assert (len(second), {spec.seed for spec in second} & {7, 8}) == (6, set())
    assert ({spec.horizon for spec in first}, {spec.horizon for spec in second}) == ({20}, {300})
    assert {spec.keep for spec in first} == {("agent",)}
    with pytest.raises(StudyError, match="'a' names more than one part"):
        expand(parse_study(head + '\n[[parts]]\nname = "a"\n[[parts]]\nname = "a"\n'))


def test_a_run_of_two_parts_is_computed_once_and_keeps_what_either_keeps():
    one, other = planned()[:2]
    more = replace(one, spec=replace(one.spec, keep=("agent",)))
    for runs, kept in (([one, more], ("agent",)), ([more, one], ("agent",)), ([one, one], ())):
        first, second = unique_specs([*runs, other])
        assert (first.keep, second) == (kept, other.spec)


def test_labels_are_names_with_what_is_not_at_its_default():
    assert (label_of("x", {}), label_of("x", {"a": 1, "b": "c"})) == ("x", "x:a=1,b=c")
