import csv
import re
from dataclasses import replace

import numpy as np
import pytest

from equirl.lab.paper.claims import Margin, check_claims
from equirl.lab.paper.paper_study import draw_counts, map_rows, paper_runs, room_rows
from equirl.lab.paper.published import (
    AT_QUARTER,
    CLUSTERING,
    DEFAULT,
    KNOWN_ALL,
    MAPS,
    PROGRAMMED,
    PUBLISHED,
    REGRET,
    UCRL2L,
)
from equirl.lab.paper.report import draw_maps, write_report
from equirl.lab.studies.runs import RunResult
from equirl.lab.studies.summary import summarise
from equirl.simulation.curves import Curves


def stand_in(run, scale=1.0):
    """A run that ends where the published figure does, with a little noise."""
    t = np.linspace(0, run.spec.horizon, 41)[1:].astype(np.int64)
    figure = next((row for row in REGRET if row.part == run.part), REGRET[0])
    last = {UCRL2L: figure.ucrl2l, PUBLISHED: figure.c_ucrl, PROGRAMMED: figure.c_ucrl}
    last |= {KNOWN_ALL: figure.known_all, DEFAULT: figure.ucrl2l / 4}
    top = last.get(run.learner, figure.known_all)
    quarter = AT_QUARTER.get(run.learner, 0.6 * top) if run.part == "ergodic-25" else 0.6 * top
    T, factor = run.spec.horizon, scale * (1 + 0.001 * run.spec.replicate)
    curves = {"regret": factor * np.interp(t, [0, T / 40, T / 4, T], [0, figure.gain * T / 40, quarter, top])}
    if run.spec.measures:
        row = next(row for row in CLUSTERING if row.part == run.part)
        curves["misclustering_ratio"] = np.linspace(row.ratio_peak, row.ratio_last, 40)
        curves["misclustering_bias"] = np.linspace(row.bias_peak, row.bias_last, 40)
        curves["misclustering_bias_by_state"] = 2 * row.n_states * curves["misclustering_bias"]
    facts = {"gain": figure.gain, "n_episodes": 10, "n_unconverged": 0}
    return RunResult(run.spec, Curves.of_run(t, curves), facts, {})


def groups(runs=3, scale=1.0):
    return summarise([(run, stand_in(run, scale)) for run in paper_runs(runs)])


def verdicts(found, words):
    return {claim.verdict for claim in found if words in claim.statement}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    return write_report(groups(), draw_maps(out / "figures", MAPS[:1]), out, "equirl paper --runs 3")


def test_the_papers_study_has_four_regret_figures_and_two_of_clustering():
    runs = paper_runs()
    assert len(runs) == 100 * (4 * 6 + 2 * 2)
    assert {(run.part, run.spec.horizon) for run in runs} == {
        *((figure.part, figure.horizon) for figure in REGRET),
        *((row.part, 1_000_000) for row in CLUSTERING),
    }


def test_the_learners_stand_side_by_side_in_every_regret_figure():
    names = ["ucrl2-l", "c-ucrl-published", "c-ucrl-published", "c-ucrl", "c-ucrl-c", "c-ucrl-c-sigma"]
    for figure in REGRET:
        assert [run.spec.learner for run in paper_runs(1) if run.part == figure.part] == names


def test_more_runs_leave_the_first_ones_as_they_were():
    few, many = ({run.spec.key for run in paper_runs(runs)} for runs in (2, 3))
    assert few < many


def test_results_on_the_published_curves_reproduce_them():
    found = check_claims(groups())
    assert verdicts(found, "within 15 %") == verdicts(found, "within 35 %") == {"reproduced"}
    assert verdicts(found, "within a factor of 2") == {"reproduced"}
    assert verdicts(found, "C-UCRL (our defaults) has less regret than UCRL2-L") == {"turned round"}


def test_results_far_from_the_published_curves_do_not_reproduce_them():
    found = check_claims(groups(scale=2.5))
    assert (
        verdicts(found, "regret of UCRL2-L at")
        == verdicts(found, "regret of C-UCRL (as") - {"reported"}
        == {"not reproduced"}
    )


def test_the_bias_is_told_on_three_scales_and_the_nearest_is_named():
    about = [claim for claim in check_claims(groups()) if "bias" in claim.statement]
    assert {claim.verdict for claim in about} == {"reported"}
    assert "0.0145 as defined, 0.00029 divided by M = 50, 0.0145 pooled by state" in about[0].measured
    assert "as defined" in about[0].note


def test_a_difference_that_chance_explains_is_undecided():
    found = groups()
    noisy = [replace(g, curves=Curves(g.curves.t, {"regret": _spread(g)})) for g in found if g.part == "grid"]
    claims = [claim for claim in check_claims(noisy) if "has less regret" in claim.statement]
    assert {claim.verdict for claim in claims} == {"undecided"}


def _spread(group):
    runs = group.curves["regret"]
    return runs * np.linspace(-4, 6, len(runs))[:, None]


def test_claims_about_runs_that_are_not_there_say_so():
    found = check_claims([group for group in groups() if group.part != "grid"])
    assert [claim.verdict for claim in found if claim.subject.startswith("Four-room")] == ["no data"]


def test_claims_about_the_published_learner_say_that_it_rests_on_unstated_choices():
    for learner, words in ((PUBLISHED, "choices the paper does not state"), (PROGRAMMED, "two more unstated choices")):
        about = [claim for claim in check_claims(groups()) if learner in claim.statement]
        assert len(about) > 8
        assert all(words in claim.note for claim in about)


@pytest.mark.parametrize(
    ("margin", "near", "far"),
    [(Margin(0.15), (86, 114), (84, 116)), (Margin(factor=2), (51, 199), (49, 201))],
)
def test_a_margin_holds_on_both_sides(margin, near, far):
    assert [margin.holds(value, 100) for value in (*near, *far)] == [True, True, False, False]


def test_the_class_counts_of_appendix_f():
    assert [(row.n_pairs, row.n_classes, row.verdict) for row in map_rows()] == [
        (84, 6, "reproduced"),
        (800, 6, "reproduced"),
        (736, 7, "consistent"),
        (10_000, 7, "consistent"),
    ]


def test_random_maps_have_never_more_than_seven_classes():
    assert max(c for _, counts in draw_counts() for c in counts) == 7


def test_classes_of_rooms_do_not_grow_with_the_map():
    assert {row.n_classes for row in room_rows() if not row.title.endswith("5x5")} == {6}


def test_the_report_needs_nothing_outside_itself(report):
    text = report.read_text()
    links = re.findall(r'(?:src|href)="([^"]{0,40})', text)
    assert links
    assert all(link.startswith(("data:image/", "#")) for link in links)
    assert "url(" not in text


def test_every_entry_of_the_contents_leads_somewhere(report):
    text = report.read_text()
    targets = set(re.findall(r'href="#(\w+)"', text))
    assert len(targets) == 6
    assert targets <= set(re.findall(r'id="(\w+)"', text))


def test_the_report_of_few_runs_says_that_its_verdicts_are_provisional(report, tmp_path):
    assert "Provisional: some results rest on 3 runs" in report.read_text()
    assert "Provisional" not in write_report(groups(100), {}, tmp_path, "equirl paper").read_text()


def test_the_report_says_how_to_make_it_again(report):
    assert "<pre>equirl paper --runs 3</pre>" in report.read_text()


def test_tables_of_the_report_are_files_as_well(report):
    with open(report.parent / "tables" / "claims.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(check_claims(groups()))
    assert rows[0]["verdict"] == "reproduced"
