"""Colosseum's suite beside what is published: its measure, the page's section, the table and what came of it."""

import numpy as np
import pytest

import equirl.lab.yardsticks.colosseum_yardstick as yardstick
from equirl.lab.leaderboard.board_page import overview
from equirl.lab.leaderboard.leaderboard_study import SUITES, leaderboard_study
from equirl.lab.leaderboard.published_suite import (
    AVERAGES,
    PUBLISHED,
    normalised_regret,
    published_cells,
    published_section,
    spread_of_gains,
)
from equirl.lab.leaderboard.standings import boards
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.runs import RunResult
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import summarise
from equirl.simulation.curves import Curves
from equirl.words.tables import Table
from equirl.worlds import load_world

RIVERS = ["river-swim-1", "river-swim-2"]


def results(study, regret):
    """Runs of the study whose regret at the end is as given, by world and learner, one per cent apart."""
    found = []
    for run in expand(study):
        T = run.spec.horizon
        t = np.array([T // 2, T])
        last = regret[run.part][run.learner] * (1 + 0.01 * run.spec.replicate)
        facts = {"gain": 0.9, "n_episodes": 1, "n_unconverged": 0}
        curves = dict.fromkeys(("regret", "pseudo_regret"), last * t / T)
        found.append((run, RunResult(run.spec, Curves.of_run(t, curves), facts, {"seconds": 0.1})))
    return found


REGRET = {name: {"c-psrl": 4400.0, "psrl": 44000.0} for name in RIVERS}


@pytest.fixture
def played():
    study = leaderboard_study(2, None, RIVERS, "colosseum")
    return boards(summarise(results(study, REGRET)), expand(study))


def test_the_suite_is_the_one_that_is_published():
    study = leaderboard_study(suite="colosseum")
    assert "colosseum" in SUITES
    assert [part.name for part in study.parts] == list(PUBLISHED)
    assert {part.horizon for part in study.parts} == {500_000}
    assert (study.runs, study.renumber) == (20, True)


def test_published_averages_are_those_of_the_table():
    for k, name in enumerate(AVERAGES):
        column = [(known.psrl, known.q_learning, known.ucrl2)[k] for known in PUBLISHED.values()]
        assert len(column) == 20
        assert np.mean(column) == pytest.approx(AVERAGES[name], abs=0.006)  # of two decimals


def test_the_worst_policy_is_as_bad_as_can_be():
    river = load_world("colosseum/river-swim:size=4")
    assert spread_of_gains(river) == pytest.approx(0.9 - 0.02)  # to and fro pays the least
    sea = load_world("colosseum/deep-sea:size=4,optimal=1.0,suboptimal=0.1,other=0.0")
    assert spread_of_gains(sea) == pytest.approx((1 - 0.1) / 4)  # one step to the left somewhere


def test_regret_is_divided_by_what_the_worst_policy_would_lose(played):
    board = played[0]
    mean, half = normalised_regret(board, board.find("c-psrl"))
    assert mean == pytest.approx(4400 * 1.005 / (500_000 * 0.88))
    assert half == pytest.approx(12.706 * 0.01 * 4400 / 2 / (500_000 * 0.88), rel=1e-3)


def test_seeds_that_ran_out_of_time_are_said():
    assert published_cells("simple-grid-2") == ["0.45 (0)", "0.01", "0.01 (13)"]
    assert PUBLISHED["simple-grid-2"].best == 0.01


def test_the_page_of_the_suite_begins_with_what_is_published(played):
    first, *others = overview(played, [], [], {})
    assert first.name == "published"
    assert [row[0] for row in first.table.rows[:2]] == RIVERS
    assert first.table.rows[0][1:4] == ["0.00", "0.16", "0.00"]
    assert first.table.rows[1][4:] == ["0.0101 ± 0.00064", "0.101 ± 0.0064"]
    assert first.table.rows[-1][1:4] == ["0.69", "0.38", "0.28"]
    assert "published" not in [part.name for part in others]


def test_other_suites_have_no_such_section():
    study = leaderboard_study(1, None, ["gate"], "zoo")
    runs = results(study, {"gate": {"c-psrl": 1.0, "psrl": 2.0}})
    assert published_section(boards(summarise(runs), expand(study))) == []


def test_a_table_is_made_of_the_runs_that_are_done(tmp_path, monkeypatch):
    study = leaderboard_study(3, yardstick.LEARNERS, RIVERS, "colosseum")
    monkeypatch.setattr(yardstick, "leaderboard_study", lambda suite, learners: study)
    store = Store(tmp_path)
    store.prepare()
    for run, result in results(study, REGRET):
        if run.part == "river-swim-1" and (run.learner, run.spec.replicate) != ("psrl", 2) and run.spec.replicate != 1:
            store.write(result)
    first, second = yardstick.measure_suite(tmp_path).rows()
    assert (first["world"], first["n_states"], first["diameter"]) == ("river-swim-1", 25, pytest.approx(24 / 0.9))
    assert (first["c-psrl"], first["c-psrl runs"]) == (pytest.approx(0.0101), 2)
    assert first["c-psrl half"] > 0
    assert (first["psrl"], first["psrl half"], first["psrl runs"]) == (pytest.approx(0.1), None, 1)
    assert [second[key] for key in ("c-psrl", "c-psrl half", "c-psrl runs")] == [None, None, 0]


def stored(c_psrl, psrl):
    columns = {"world": RIVERS, "n_states": [25, 90], "diameter": [26.7, 91.8]}
    for name, values in (("c-psrl", c_psrl), ("psrl", psrl)):
        columns |= {name: values, f"{name} half": [None, 0.001], f"{name} runs": [1, 5]}
    return Table(columns)


def test_the_tables_say_what_came_of_it():
    text = yardstick.colosseum_tables(stored([0.001, 0.01], [0.2, 0.4]))
    assert "| river-swim-1 | 25 | 26.6666 | 26.7 |" in text
    assert "| river-swim-2 | 0.01 | 0.34 | 0.02 | 0.01 ± 0.001 | 0.4 ± 0.001 | 5 + 5 |" in text
    assert "| *average* | 0.69 | 0.38 | 0.28 | 0.0055 | 0.3 |" in text
    assert "The average of `c-psrl` is 0.0055, at most 0.05. No published learner has less regret" in text
    assert text.endswith("By their intervals `c-psrl` has less than the other in `river-swim-2`.")
    assert "By their" not in yardstick.colosseum_tables(stored([0.001, 0.01], [0.2, 0.0115]))
    swapped = yardstick.colosseum_tables(stored([0.2, 0.4], [0.001, 0.01]))
    assert swapped.endswith("By their intervals `psrl` has less than the other in `river-swim-2`.")


def test_a_world_that_is_lost_is_named():
    text = yardstick.colosseum_tables(stored([0.12, 0.0149], [None, 0.4]))
    assert "above 0.05" in text
    assert "A published learner has less regret in `river-swim-1` (0.12; 0.00)." in text
    assert "0.4 (of 1)" in text
    assert "not been played" in yardstick.colosseum_tables(stored([None, None], [None, None]))
