import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from equirl.lab.cli import app
from equirl.lab.leaderboard import board_page
from equirl.lab.leaderboard.board_page import draw_boards, markdown, overview, write_page
from equirl.lab.leaderboard.expectations import advise, check_expectations, lock_ins, overall
from equirl.lab.leaderboard.leaderboard_study import (
    BASES,
    BOTH,
    CLASSES,
    ENTRANTS,
    ERGODIC_ONLY,
    NOTHING,
    given_to,
    is_oblivious,
    leaderboard_study,
    raised,
)
from equirl.lab.leaderboard.standings import boards, least_regret, n_locked_in, ratio_of_means
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.runs import RunFailure, RunResult
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import summarise
from equirl.learners.learner_registry import AGENTS
from equirl.simulation.curves import Curves
from equirl.solving.chains import chain_kind
from equirl.worlds.world_registry import load_world

LEARNERS = ["ucrl2-l", "psrl", "c-psrl", "c-psrl-c", "c-psrl-c-sigma"]
WORLDS = ["river-25", "cycle-20", "random-20", "planted-40"]
REGRET = {"ucrl2-l": 1000.0, "psrl": 300.0, "c-psrl": 100.0, "c-psrl-c": 80.0, "c-psrl-c-sigma": 50.0}


def plan(runs=3, worlds=WORLDS, learners=LEARNERS):
    return expand(leaderboard_study(runs, learners, worlds))


def stand_in(run, regret, late=0.0):
    """A run whose regret is there after a quarter of the time; ``late`` more comes in the last quarter."""
    T = run.spec.horizon
    t = np.linspace(0, T, 41)[1:].astype(np.int64)
    last = regret[run.learner] * (1 + 0.01 * run.spec.replicate)
    curve = np.interp(t, [0, T / 4, 3 * T / 4, T], [0, last, last, last + late])
    facts = {"gain": 0.5, "n_episodes": 10, "n_unconverged": 0}
    return RunResult(
        run.spec, Curves.of_run(t, {"regret": curve, "pseudo_regret": curve}), facts, {"seconds": T * 2e-6}
    )


def stand(runs=3, worlds=WORLDS, regret=REGRET, **late):
    planned = plan(runs, worlds)
    results = [(run, stand_in(run, regret, late.get(run.part.replace("-", "_"), 0.0))) for run in planned]
    return boards(summarise(results), planned)


# The study


def test_the_leaderboard_has_at_least_fourteen_worlds_and_twenty_runs_renumbered():
    study = leaderboard_study()
    assert len(study.parts) >= 14
    assert study.runs == 20
    assert study.renumber
    assert all(100_000 <= part.horizon <= 500_000 for part in study.parts)


def test_every_world_and_learner_of_the_leaderboard_is_there():
    planned = expand(leaderboard_study(1))
    assert {run.spec.learner for run in planned} <= set(AGENTS)
    assert len({run.spec.key for run in planned}) == len(planned)


def test_every_replicate_is_renumbered_on_its_own():
    seeds = {(run.part, run.spec.replicate): run.spec.renumber_seed for run in plan(3)}
    assert len(set(seeds.values())) == len(seeds)


def test_a_learner_more_leaves_the_runs_of_others_alone():
    few, many = ({run.spec.key for run in plan(learners=names)} for names in (["psrl"], ["psrl", "ucrl2-l"]))
    assert few < many


@pytest.mark.parametrize(
    ("learners", "worlds", "message"),
    [(["psrll"], None, "did you mean 'psrl'"), (None, ["cycle-2"], "did you mean 'cycle-20'")],
)
def test_a_wrong_name_is_answered_with_the_nearest(learners, worlds, message):
    with pytest.raises(ValueError, match=message):
        leaderboard_study(1, learners, worlds)


def test_learners_for_ergodic_worlds_sit_out_the_others(monkeypatch):
    monkeypatch.setattr("equirl.lab.leaderboard.leaderboard_study.ERGODIC_ONLY", ("psrl",))
    study = leaderboard_study(1, ["psrl", "ucrl2-l"], ["ergodic-river-25", "river-25"])
    assert [len(part.learners) for part in study.parts] == [2, 1]
    with pytest.raises(ValueError, match="for ergodic worlds alone"):
        leaderboard_study(1, ["psrl"], ["river-25"])


def test_the_index_learner_is_asked_only_where_the_world_is_ergodic():
    for part in leaderboard_study().parts:
        names = {entry.learner for entry in part.learners}
        assert not names & set(ERGODIC_ONLY) or chain_kind(load_world(part.worlds[0].world)) == "ergodic"


def test_the_catalogue_says_who_plays():
    study = leaderboard_study()
    assert [entry.learner for entry in study.learners] == ENTRANTS
    assert not {"random", "optimal", "c-ucrl-published", "mbie", "c-mbie", "q-learning"} & set(ENTRANTS)


def test_the_base_of_c_psrl_is_the_one_with_its_rewards_and_reachability_and_the_published_one_plays_too():
    assert BASES["c-psrl"] == "psrl"
    assert "psrl-published" in ENTRANTS


def test_what_learners_are_given_follows_from_their_parts():
    assert [given_to(name) for name in LEARNERS] == [NOTHING, NOTHING, NOTHING, CLASSES, BOTH]
    assert all(given_to(name) == NOTHING for name in (*BASES, *BASES.values()))


def test_every_learner_that_is_named_is_registered():
    assert {*ERGODIC_ONLY, *BASES, *BASES.values(), *ENTRANTS} <= set(AGENTS)


def test_oblivious_is_who_is_given_nothing_and_looks_for_no_classes():
    assert all(is_oblivious(name) for name in (*BASES.values(), "ucrl2-l-vm", "random"))
    assert not any(is_oblivious(name) for name in (*BASES, "c-psrl-c", "c-ucrl-published"))


# Standings


def test_ranks_count_among_learners_given_the_same():
    board = stand()[0]
    assert [(row.learner, row.given, row.rank) for row in board.standings] == [
        ("c-psrl", NOTHING, 1),
        ("psrl", NOTHING, 2),
        ("ucrl2-l", NOTHING, 3),
        ("c-psrl-c", CLASSES, 1),
        ("c-psrl-c-sigma", BOTH, 1),
    ]
    assert [round(row.relative, 6) for row in board.standings] == [1, 3, 10, 0.8, 0.5]


def two_runs(first, second, learners=("c-psrl", "psrl")):
    """A world with two runs of each of two learners, which have these regrets."""
    planned = plan(2, ["cycle-20"], learners)
    regrets = dict(zip(learners, (first, second), strict=True))
    results = [(run, stand_in(run, {run.learner: regrets[run.learner][run.spec.replicate]})) for run in planned]
    return boards(summarise(results), planned)


def matrix_cells(found):
    matrix = next(part.table for part in overview(found, [], [], {}) if part.name == "matrix")
    return dict(zip(matrix.head[1:], matrix.rows[0][1:], strict=True)), matrix.html()


def test_a_relative_regret_is_the_plain_ratio_and_grey_where_two_runs_do_not_decide_it():
    """Half the best one's interval is 546 here: both means count as that in geometric means."""
    found = two_runs([80.0, 166.0 / 1.01], [423.0, 623.0 / 1.01])
    best, other = found[0].standings
    assert (best.mean, other.mean) == (123.0, 523.0)
    assert (best.relative, best.undecided, best.counted_relative) == (1.0, False, 1.0)
    assert (other.relative, other.undecided, other.counted_relative) == (523 / 123, True, 1.0)
    cells, html = matrix_cells(found)
    assert cells["c-psrl"] == {"text": "1", "back": "rgba(27,110,60,0.00)", "best": True, "undecided": False}
    assert cells["psrl"] == {"text": "4.3", "back": "", "best": False, "undecided": True}
    assert '<td class="num undecided">4.3</td>' in html
    assert "grey is undecided" in board_page.ABOUT_MATRIX


def test_a_relative_regret_that_two_runs_decide_has_its_colour():
    found = two_runs([123.0, 123.0 / 1.01], [523.0, 524.0 / 1.01])
    assert not found[0].standings[1].undecided
    cells, html = matrix_cells(found)
    assert cells["psrl"]["back"].startswith("rgba(163,50,26")
    assert "undecided" not in html


def test_what_a_single_run_shows_is_undecided():
    planned = plan(1, ["cycle-20"], ["psrl", "c-psrl"])
    found = boards(summarise([(run, stand_in(run, REGRET)) for run in planned]), planned)
    assert [(row.relative, row.undecided) for row in found[0].standings] == [(1.0, False), (3.0, True)]


@pytest.mark.parametrize("best", [0.0, -5.0])
def test_where_the_best_mean_is_not_above_zero_there_is_no_ratio(best):
    found = two_runs([best, best / 1.01], [523.0, 524.0 / 1.01])
    cells, _ = matrix_cells(found)
    assert [cells[name]["text"] for name in ("c-psrl", "psrl")] == ["1", "–"]
    assert cells["c-psrl"]["best"]
    assert found[0].standings[1].counted_relative == pytest.approx(523.5)


def test_worlds_are_told_apart_by_their_structure():
    assert {board.name: board.structure for board in stand()} == {
        "river-25": "structured",
        "cycle-20": "structured",
        "random-20": "no structure",
        "planted-40": "a little structure",
    }


def test_a_run_is_locked_in_when_its_last_quarter_costs_more_than_half_of_the_gain():
    group = stand(worlds=["cycle-20"])[0].standings[0].group  # g* = 0.5, T = 100,000: the limit is 6,250
    for late, count in ((6_200.0, 0), (6_300.0, 3)):
        curve = group.curves["regret"].copy()
        curve[:, 30:] += np.linspace(0, late, 10)
        assert n_locked_in(replace(group, curves=Curves(group.curves.t, {"regret": curve}))) == count


def test_seconds_are_per_million_steps():
    assert stand()[0].standings[0].seconds_per_million == pytest.approx(2.0)


def test_fiellers_interval_covers_the_ratio_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        found = ratio_of_means(rng.normal(3, 1, 20), rng.normal(5, 2, 20))
        hits += found.low <= 0.6 <= found.high
    assert hits / 2000 == pytest.approx(0.955, abs=0.015)  # each interval has its own quantile: a little wide


def test_the_ratio_to_a_mean_that_may_be_zero_has_no_bounds():
    found = ratio_of_means(np.array([1.0, 2.0]), np.array([-1.0, 1.5]))
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert not np.isfinite(ratio_of_means(np.array([1.0]), np.array([2.0])).low)  # one run each


# What should hold


def test_in_a_structured_world_a_third_of_the_regret_holds_and_two_thirds_fail():
    for regret, verdict in ((100.0, "holds"), (200.0, "fails"), (151.0, "undecided")):
        found = check_expectations(stand(worlds=["river-25"], regret={**REGRET, "c-psrl": regret}))
        assert [item.verdict for item in found] == [verdict]


def test_without_structure_a_learner_may_not_be_worse_than_its_base():
    for regret, verdict in ((300.0, "holds"), (310.0, "holds"), (340.0, "fails")):
        found = check_expectations(stand(worlds=["random-20"], regret={**REGRET, "c-psrl": regret}))
        assert [item.verdict for item in found] == [verdict]
        assert found[0].statement == "without structure c-psrl has at most 1.05 times the regret of psrl"


def test_a_world_with_a_little_structure_is_under_neither_rule():
    assert check_expectations(stand(worlds=["planted-40"])) == []


def test_advice_takes_the_least_geometric_mean():
    found = {item.when: item.take for item in advise(stand())}
    assert found["nothing known, any world"] == "c-psrl"
    assert found["classes and profiles known"] == "c-psrl-c-sigma"
    assert overall(stand(), NOTHING) == pytest.approx({"c-psrl": 1, "psrl": 3, "ucrl2-l": 10})


def test_lock_ins_are_told_in_words():
    words = lock_ins(stand(worlds=["cycle-20", "random-20"], cycle_20=10_000.0))
    assert "psrl locked in: cycle-20 (3 of 3)." in words
    assert lock_ins(stand(worlds=["random-20"]))[0].startswith("No run locked in of c-psrl (3 runs)")


# The page


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("leaderboard")
    found = stand(worlds=["random-20", "cycle-20"], cycle_20=10_000.0)
    figures = draw_boards(found[:1], out / "figures", with_bounds=True)
    return write_page(found, figures, out, "equirl leaderboard --runs 3", {"psrl in cycle-20: no luck": 2})


def test_the_page_needs_nothing_outside_itself(report):
    text = report.read_text()
    links = re.findall(r'(?:src|href)="([^"]{0,40})', text)
    assert all(link.startswith(("data:image/", "#")) for link in links)
    assert set(re.findall(r'href="#([\w-]+)"', text)) <= set(re.findall(r'id="([\w-]+)"', text))
    assert text.count("data:image/svg+xml") == 2


def test_the_page_tells_failures_in_words(report):
    text = report.read_text()
    assert "2 runs raised an error: psrl in cycle-20: no luck." in text
    assert "psrl locked in: cycle-20 (3 of 3)." in text
    assert "Provisional: some results rest on 3 runs" in text


def test_exported_tables_hold_no_seconds(report):
    tables = sorted((report.parent / "tables").glob("*.csv"))
    assert [path.stem for path in tables] == ["advice", "bases", "expectations", "standings"]
    assert not any("seconds" in path.read_text() for path in tables)
    rows = list(csv.DictReader((report.parent / "tables" / "standings.csv").read_text().splitlines()))
    assert len(rows) == 10
    assert {row["locked_in"] for row in rows if row["name"] == "cycle-20"} == {"1.0"}


def test_the_best_given_nothing_is_bold_in_markdown(report):
    text = (report.parent / "leaderboard.md").read_text()
    assert text == markdown(stand(worlds=["random-20", "cycle-20"], cycle_20=10_000.0))
    assert "**101 ± 2.5**" in text


def test_runs_that_raised_are_counted_by_learner_world_and_error(tmp_path):
    planned, store = plan(2, ["cycle-20"], ["psrl"]), Store(tmp_path)
    for run in planned:
        store.write_failure(RunFailure(run.spec, "ValueError: no luck", "..."))
    assert raised(planned, store) == {"psrl in cycle-20: ValueError: no luck": 2}


def test_the_command_computes_and_writes_the_page(tmp_path, monkeypatch):
    short = leaderboard_study(1, ["psrl", "c-psrl-c-sigma"], ["cycle-20"])
    short = short.model_copy(update={"parts": [short.parts[0].model_copy(update={"horizon": 300})]})
    monkeypatch.setattr("equirl.lab.leaderboard.leaderboard_study.leaderboard_study", lambda *_: short)
    done = CliRunner().invoke(app, ["leaderboard", "--runs", "1", "--jobs", "1", "-q", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "leaderboard.html").exists()
    again = CliRunner().invoke(app, ["leaderboard", "--runs", "1", "--jobs", "1", "-q", "--out", str(tmp_path)])
    assert "0 computed now" in again.output


@pytest.mark.parametrize(
    ("regret", "least"), [([7.0], 1.0), ([7.0, 7.0, 7.0], 1.0), ([5.0, 6.0], 6.353), ([0.0, 1.0, 2.0, 3.0], 2.054)]
)
def test_the_least_regret_that_counts_is_one_or_half_the_interval_of_the_mean(regret, least):
    """By Student: 12.706 standard errors of two runs, 3.182 of four; one run has no interval."""
    assert least_regret(np.array(regret)) == pytest.approx(least, abs=0.01)
