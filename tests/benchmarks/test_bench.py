"""The benchmarks run and their figures are figures; how large they are is no test."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from equirl.lab.benchmarks import clustering_speed, learning_speed, planning_speed, process_costs
from equirl.lab.benchmarks.clustering_speed import plain_approx_equivalence
from equirl.lab.benchmarks.measurement import SIZES, Measure, Sizes, Skipped, in_new_process, power, side_by_side
from equirl.lab.benchmarks.suite import (
    BEGIN,
    END,
    SUBJECTS,
    as_markdown,
    put_markdown,
    report_of,
    run_benchmarks,
    with_settings,
)
from equirl.lab.cli import app
from equirl.numerics import THREAD_VARIABLES
from equirl.planning.optimistic_planning import single_sweep
from equirl.structure.partition import Partition

TINY = Sizes(
    seconds=0.01, sweep_states=40, dense_states=20, growth_states=(20, 60), horizon=300, loop_steps=30, plain_steps=5,
    growth_horizons=(50, 500), oracle_pairs=30, growth_pairs=(30, 100), large=((5, "ucrl2-l", (("delta", 0.1),)),),
    large_horizon=20, starts=1, log_rows=200, log_side=5, solve_states=81, average_states=30, class_pairs=324,
    far_states=50,
)  # fmt: skip
FINDINGS = [Measure("a sweep", 0.25, "ms", "S = 3", "planning"), Skipped("theirs", "it is not installed", "learning")]


@pytest.mark.parametrize("subject", ["planning", "solving", "learning", "journal", "clustering", "logs", "scale"])
def test_every_figure_is_finite_and_positive_but_for_powers(subject):
    measures = [found for found in run_benchmarks(TINY, [subject]) if isinstance(found, Measure)]
    assert measures
    for found in measures:
        assert found.subject == subject
        assert math.isfinite(found.value)
        assert found.value > 0 or found.unit == "power"


def test_starting_is_measured_cold_and_warm(monkeypatch):
    monkeypatch.setattr(process_costs, "LEARN", "import equirl")
    found = {measure.name: measure.value for measure in process_costs.measure_startup(TINY)}
    assert found["learning with a cold cache"] > 0
    assert found["learning with a warm cache"] > 0


def test_memory_is_the_peak_of_the_process_and_not_what_is_held_at_its_end():
    code = "held = bytearray(300 * 2**20); del held"
    assert float(in_new_process(process_costs.PEAK.format(code)).printed) > 300


def test_every_memory_case_is_code_that_compiles():
    cases = process_costs.memory_cases(SIZES["full"])
    assert all(compile(code, "case", "exec") for code in cases.values())


def test_an_unknown_subject_is_answered_with_the_nearest_right_one():
    with pytest.raises(ValueError, match="planning"):
        list(run_benchmarks(TINY, ["planing"]))


def test_a_failing_process_is_an_error_with_its_last_line():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        in_new_process("1 / 0")


def test_cases_take_turns():
    order = []
    side_by_side({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds=0.0)
    assert order == ["a", "b"] * 4  # one turn to warm up, three to measure


def test_the_power_of_a_quadratic_is_two():
    assert power([1, 2, 4], [3, 12, 48]) == pytest.approx(2)


def test_the_dense_sweep_computes_what_ours_does():
    mdp = planning_speed.random_mdp(30)
    models, u = planning_speed.balls(mdp), np.random.default_rng(3).random(30)
    out = single_sweep(mdp.pairs.ptr, models, u)().out
    laws = np.array(
        [[mdp.transition_probabilities(s, a).get(x, 0.0) for x in range(30)] for s in range(30) for a in range(4)]
    )
    assert planning_speed.dense_sweep(laws, models.p_radius, models.r_upper, u) == pytest.approx(out)


def test_the_plain_sweep_is_value_iteration():
    mdp, u = planning_speed.random_mdp(10), np.arange(10.0)
    laws = [[mdp.transition_probabilities(s, a) for a in range(4)] for s in range(10)]
    expected = [
        max(mdp.mean_reward(s, a) + sum(p * u[x] for x, p in laws[s][a].items()) for a in range(4)) for s in range(10)
    ]
    assert planning_speed.value_sweep(mdp)(u) == pytest.approx(expected)


def test_counts_in_the_grid_are_profiles_of_the_visits():
    problem = clustering_speed.count_in_grid(100)
    for first, last in zip(problem.ptr[:-1], problem.ptr[1:], strict=True):
        row = problem.counts[first:last]
        assert row.sum() == clustering_speed.VISITS
        assert (np.diff(row) <= 0).all()


@pytest.mark.parametrize("n_pairs", [30, 100])
def test_the_line_by_line_version_finds_the_same_classes(n_pairs):
    problem = clustering_speed.count_in_grid(n_pairs)
    plain = plain_approx_equivalence(*problem)
    assert Partition.from_labels(plain) == clustering_speed.cluster(problem).partition


def test_without_the_other_library_its_figure_is_skipped(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "statisticalrl_learners.MDPs_discrete.UCRL2", None)
    found = list(learning_speed._against_statisticalrl(learning_speed.make("riverswim"), 1.0, TINY))
    assert [type(one) for one in found] == [Skipped]


def test_json_holds_measures_sizes_and_machine():
    report = json.loads(json.dumps(report_of(FINDINGS, TINY), allow_nan=False))
    assert report["measures"] == [FINDINGS[0]._asdict()]
    assert report["skipped"] == [FINDINGS[1]._asdict()]
    assert report["sizes"]["dense_states"] == 20
    assert report["machine"]["cores"] >= 1


def test_the_table_has_a_row_per_measure_and_says_what_is_missing():
    table = as_markdown(FINDINGS)
    assert "| planning | a sweep | 0.25 ms | S = 3 |" in table
    assert "- theirs: it is not installed" in table


def test_the_table_takes_its_marked_place_and_leaves_the_rest(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"above\n\n{BEGIN}\nold\n{END}\n\nbelow\n")
    put_markdown(page, "new\n")
    assert page.read_text() == f"above\n\n{BEGIN}\nnew\n{END}\n\nbelow\n"


def test_a_page_without_a_place_for_the_table_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("precious\n")
    with pytest.raises(ValueError, match="no place for the table"):
        put_markdown(page, "new\n")
    assert page.read_text() == "precious\n"


def test_the_command_prints_json_and_writes_the_table(tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "quick", TINY)
    arguments = ["bench", "--quick", "--only", "clustering"]
    done = CliRunner().invoke(app, [*arguments, "--json", "--markdown", str(tmp_path / "b.md")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["measures"]
    assert "ApproxEquivalence" in done.stderr
    assert "ApproxEquivalence" in (tmp_path / "b.md").read_text()


@pytest.mark.parametrize("subject", ["learning", "journal", "scale"])
def test_settings_chosen_for_a_learner_reach_its_measurements(subject):
    sizes = with_settings(TINY, ["ucrl2-l.delta=0.2"])
    measures = [found for found in run_benchmarks(sizes, [subject]) if isinstance(found, Measure)]
    told = [found for found in measures if "delta=0.2" in found.note]
    assert told
    assert all(found.name.startswith("ucrl2-l") for found in told)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ucrl2l.delta=0.2", "unknown learner 'ucrl2l'; did you mean 'ucrl2-l'"),
        ("psrl.scan=3", "'psrl' does not play here"),
        ("c-psrl.scam=3", "for 'c-psrl': unknown setting 'scam'; did you mean 'scan'"),
        ("ucrl2-l.delta=7", "for 'ucrl2-l': delta must lie"),
    ],
)
def test_a_setting_that_cannot_be_measured_is_named(text, message):
    result = CliRunner().invoke(app, ["bench", "--quick", "--only", "learning", "--set", text])
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_quick_and_full_together_are_refused():
    done = CliRunner().invoke(app, ["bench", "--quick", "--full"])
    assert done.exit_code == 2


def test_processes_of_a_benchmark_use_one_thread():
    code = (
        f"import os; os.environ.pop({THREAD_VARIABLES[0]!r}, None); import equirl.lab.benchmarks as b; b.pin_threads()"
    )
    assert in_new_process(f"{code}; print(os.environ.get({THREAD_VARIABLES[0]!r}))").printed == "1"


def test_the_subjects_named_in_the_help_are_all_there_are():
    text = CliRunner().invoke(app, ["bench", "--help"], env={"COLUMNS": "200"}).output
    assert all(name in text for name in SUBJECTS)
