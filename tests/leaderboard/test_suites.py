"""Suites of the leaderboard: the zoo's split, learners against their bases, the page and the command."""

import csv
import hashlib
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from equirl.lab.cli import app
from equirl.lab.cli.shell_completion import SHIPPED
from equirl.lab.leaderboard.base_comparison import compare_with_bases, summaries, where_it_hurts
from equirl.lab.leaderboard.board_page import write_page
from equirl.lab.leaderboard.leaderboard_study import SUITES, leaderboard_study
from equirl.lab.leaderboard.standings import boards
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.runs import RunResult
from equirl.lab.studies.summary import summarise
from equirl.simulation.curves import Curves
from equirl.worlds import ZOO

PROBLEMS = ["gate", "milk", "boiler"]
GAINS = {"gate": 0.85, "boiler": 0.994, "milk": 0.70}


def stand(regret, late=0.0, problems=PROBLEMS, runs=4):
    """The boards of runs whose regrets spread by a few per cent; ``late`` is what the last quarter costs psrl."""
    study = leaderboard_study(runs, None, problems, "zoo")
    planned, results = expand(study), []
    for run in planned:
        T = run.spec.horizon
        t = np.linspace(0, T, 41)[1:].astype(np.int64)
        last = regret[run.part][run.learner] * (1 + 0.02 * run.spec.replicate)
        end = last + (late if run.learner == "psrl" else 0.0)
        curve = np.interp(t, [0, T / 4, 3 * T / 4, T], [0, last, last, end])
        curves = {"regret": curve * (-1) ** run.spec.replicate, "pseudo_regret": curve}  # noise takes nothing away
        facts = {"gain": GAINS[run.part], "n_episodes": 10, "n_unconverged": 0}
        results.append((run, RunResult(run.spec, Curves.of_run(t, curves), facts, {"seconds": 0.1})))
    return boards(summarise(results), planned, parts=study.parts)


REGRET = {
    "gate": {"c-psrl": 100.0, "psrl": 200.0},
    "boiler": {"c-psrl": 320.0, "psrl": 200.0},
    "milk": {"c-psrl": 50.0, "psrl": 400.0},
}


# The study


def test_the_zoo_is_split_by_the_hash_of_the_name():
    for part in leaderboard_study(suite="zoo").parts:
        last = hashlib.sha256(part.worlds[0].world.encode()).hexdigest()[-1]
        assert part.group == ("aside" if int(last, 16) % 2 else "shown"), part.name


def test_the_split_is_even_enough_and_runs_are_short():
    study = leaderboard_study(suite="zoo")
    aside = sum(part.group == "aside" for part in study.parts)
    assert len(study.parts) == len(ZOO) >= 47
    assert 0.4 < aside / len(study.parts) < 0.6
    assert all(10_000 <= part.horizon <= 100_000 for part in study.parts)
    assert (study.runs, study.renumber) == (20, True)


def test_the_learners_of_a_suite_are_those_of_its_file_unless_others_are_named():
    assert [entry.learner for entry in leaderboard_study(suite="zoo").learners] == ["c-psrl", "psrl"]
    chosen = leaderboard_study(1, ["ucrl2-l", "psrl"], ["gate"], "zoo")
    assert [entry.learner for entry in chosen.learners] == ["ucrl2-l", "psrl"]


@pytest.mark.parametrize(
    ("suite", "worlds", "message"),
    [("zo", None, "did you mean 'zoo'"), ("zoo", ["gat"], "unknown world of the zoo 'gat'; did you mean 'gate'")],
)
def test_a_wrong_suite_or_problem_is_answered_with_the_nearest(suite, worlds, message):
    with pytest.raises(ValueError, match=message):
        leaderboard_study(1, None, worlds, suite)


def test_every_suite_is_a_study_of_its_own_name():
    assert set(SUITES) <= set(SHIPPED)
    assert all(leaderboard_study(suite=name).name == name for name in SUITES)


# Learners against their bases


def test_ratios_are_those_of_the_means_and_tails_those_of_the_runs():
    item = compare_with_bases(stand(REGRET))[0]
    assert (item.board.name, item.own.learner, item.base.learner) == ("gate", "c-psrl", "psrl")
    assert item.ratio.value == pytest.approx(0.5)
    assert item.ratio.low < 0.5 < item.ratio.high
    assert item.own.pseudo_regret.max() == pytest.approx(106)


def test_it_hurts_where_the_ratio_is_large_for_sure_or_on_average():
    for own, hurts in ((220.0, False), (250.0, True), (270.0, True)):
        regret = {**REGRET, "gate": {"c-psrl": own, "psrl": 200.0}}
        assert compare_with_bases(stand(regret))[0].hurts == hurts
    wide = compare_with_bases(stand({**REGRET, "gate": {"c-psrl": 250.0, "psrl": 200.0}}, runs=1))[0]
    assert math.isinf(wide.ratio.low)
    assert not wide.hurts


def test_where_it_hurts_is_told_in_words():
    assert where_it_hurts(compare_with_bases(stand(REGRET))) == [
        "c-psrl in boiler (aside): 330 against 206 of psrl, 1.6 times (1.51 to 1.69)."
    ]


def test_the_worst_is_told_first():
    regret = {**REGRET, "gate": {"c-psrl": 900.0, "psrl": 200.0}, "milk": {"c-psrl": 800.0, "psrl": 400.0}}
    told = where_it_hurts(compare_with_bases(stand(regret)))
    assert [line.split()[2] for line in told] == ["gate", "milk", "boiler"]


def test_means_are_geometric_over_all_and_by_group():
    found = {item.group: item for item in summaries(compare_with_bases(stand(REGRET)))}
    assert list(found) == ["all", "shown", "aside"]
    assert found["all"].geometric_mean == pytest.approx((0.5 * 1.6 * 0.125) ** (1 / 3))
    assert found["shown"].geometric_mean == pytest.approx(0.5)
    assert found["aside"].geometric_mean == pytest.approx((1.6 * 0.125) ** 0.5)


def test_lock_ins_are_counted_against_uniform_play():
    for late, count in ((40.0, 0), (80.0, 4)):  # boiler: half of (0.994 - 0.984) 50,000 / 4 is 60
        item = compare_with_bases(stand(REGRET, late))[-1]
        assert item.locked_in(item.base) == count
        assert item.locked_in(item.own) == 0


def test_regrets_that_are_noise_do_not_hurt():
    noise = {**REGRET, "gate": {"c-psrl": 0.8, "psrl": 0.1}}
    item = compare_with_bases(stand(noise))[0]
    assert item.relative == 1.0


# The page and the command


def test_the_page_of_the_zoo_has_ratios_tails_and_groups(tmp_path):
    path = write_page(stand(REGRET), {}, tmp_path, "equirl leaderboard --suite zoo", {}, "zoo")
    assert path.name == "zoo.html"
    text = path.read_text()
    assert "c-psrl in boiler (aside): 330 against 206" in text
    assert SUITES["zoo"].title in text
    assert (tmp_path / "zoo.md").exists()
    rows = list(csv.DictReader((tmp_path / "tables" / "bases.csv").read_text().splitlines()))
    assert [(row["world"], row["group"], row["hurts"]) for row in rows] == [
        ("gate", "shown", "False"),
        ("milk", "aside", "False"),
        ("boiler", "aside", "True"),
    ]


def test_the_page_says_so_where_no_base_played(tmp_path):
    found = stand(REGRET)
    alone = [board.__class__(**{**vars(board), "standings": board.standings[:1]}) for board in found]
    assert "No learner played beside its base." in write_page(alone, {}, tmp_path, "", {}, "zoo").read_text()


def test_the_command_plays_the_zoo_and_resumes(tmp_path, monkeypatch):
    short = leaderboard_study(1, None, ["thermostat"], "zoo")
    short = short.model_copy(update={"parts": [short.parts[0].model_copy(update={"horizon": 300})]})
    asked = []
    monkeypatch.setattr(
        "equirl.lab.leaderboard.leaderboard_study.leaderboard_study", lambda *given: asked.append(given) or short
    )
    monkeypatch.chdir(tmp_path)
    words = ["leaderboard", "--suite", "zoo", "--runs", "1", "--jobs", "1", "-q"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert asked == [(1, None, None, "zoo")]
    assert "equirl leaderboard --runs 1 --suite zoo" in (tmp_path / "results" / "zoo" / "zoo.html").read_text()
    assert "0 computed now" in CliRunner().invoke(app, words).output


def test_status_knows_the_zoo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["status", "zoo"])
    assert done.exit_code == 0, done.output
    assert "2640 missing" in done.output
