import math
from dataclasses import replace

import numpy as np
import pytest

from equirl.lab.plots.canvas import LEARNER_STYLES, OTHER_STYLES, line_styles, save_all
from equirl.lab.plots.curve_figures import foot, plot_curves
from equirl.lab.plots.study_figures import theory_bounds
from equirl.lab.studies.runs import RunResult
from equirl.lab.studies.summary import SUMMARY_COLUMNS, compare_groups, final_rows, find, summarise
from equirl.simulation.curves import Curves
from equirl.worlds.world_registry import make
from studies_kit import planned, with_lines


def groups_of(values, **changes):
    """Groups of a study with two learners whose regret at T is given: {learner: one value per run}."""
    runs = len(next(iter(values.values())))
    text = with_lines(runs=str(runs), checkpoints="2", **changes)
    pairs = []
    for run in planned(text):
        last = values[run.learner][run.spec.replicate]
        curve = np.array([last / 2, last])
        facts = {"gain": 0.5, "n_episodes": 3, "n_unconverged": 0}
        curves = Curves.of_run(np.array([150, 300]), {"regret": curve, "reward": -curve})
        pairs.append((run, RunResult(run.spec, curves, facts, {})))
    return summarise(pairs)


def test_runs_are_grouped_by_learner_in_the_order_of_the_study():
    groups = groups_of({"ucrl2-l": [10.0, 20.0], "random": [30.0, 50.0]})
    assert [(group.learner, group.n_runs, group.horizon) for group in groups] == [
        ("ucrl2-l", 2, 300),
        ("random", 2, 300),
    ]
    assert find(groups, "small", "random").curves.mean("regret").tolist() == [20.0, 40.0]


def test_a_group_that_is_not_there_is_named():
    with pytest.raises(KeyError, match="no finished run of 'c-ucrl' in part 'small'"):
        find(groups_of({"ucrl2-l": [1.0], "random": [1.0]}), "small", "c-ucrl")


def test_the_summary_has_mean_interval_median_and_quantiles():
    values = np.arange(41.0)
    row = dict(zip(SUMMARY_COLUMNS, final_rows(groups_of({"ucrl2-l": values, "random": values}))[0], strict=True))
    assert (row["mean"], row["q50"], row["q25"], row["q95"]) == (20.0, 20.0, 10.0, 38.0)
    assert row["ci95_high"] - row["mean"] == pytest.approx(1.959964 * values.std(ddof=1) / math.sqrt(41), rel=1e-6)


def test_a_paired_comparison_is_sharper_when_runs_share_the_worlds_randomness():
    noise = np.random.default_rng(1).normal(0, 10, 20)
    values = {"ucrl2-l": 50 + noise, "random": 51 + noise + np.linspace(-0.1, 0.1, 20)}
    paired = compare_groups(*groups_of(values, common_random_numbers="true"))
    apart = compare_groups(*groups_of(values))
    assert (paired.paired, apart.paired) == (True, False)
    assert paired.difference == pytest.approx(apart.difference)
    assert paired.decided
    assert not apart.decided
    assert (paired.share_below, paired.n_runs) == (1.0, 20)


def test_a_paired_comparison_uses_the_replicates_both_have():
    first, second = groups_of({"ucrl2-l": [1.0, 2.0, 3.0], "random": [2.0, 3.0, 4.0]}, common_random_numbers="true")
    later = Curves(second.curves.t, {"regret": second.curves["regret"][1:]})
    found = compare_groups(first, replace(second, replicates=(1, 2), curves=later))
    assert (found.n_runs, found.difference) == (2, -1.0)


def test_figures_state_the_runs_the_interval_and_the_definition_of_regret():
    groups = groups_of({"ucrl2-l": [10.0, 12.0], "random": [30.0, 31.0]})
    text = foot(groups, "regret", "bars")
    assert "mean of 2 runs, bars: 95 % confidence interval of the mean" in text
    assert "R(T) = T g^*" in text
    assert plot_curves(groups, spread="bars").get_supxlabel() == text


def test_a_figure_of_one_run_claims_no_interval():
    groups = groups_of({"ucrl2-l": [10.0], "random": [30.0]})
    assert foot(groups, "regret", "band").startswith("mean of 1 run\n")
    assert plot_curves(groups).axes[0].collections[:] == []


def test_a_figure_has_a_curve_for_every_learner_and_bound():
    groups = groups_of({"ucrl2-l": [10.0, 12.0], "random": [30.0, 31.0]})
    bounds = theory_bounds(make("riverswim", n_states=5))
    axes = plot_curves(groups, log=True, bounds=bounds).axes[0]
    names = axes.get_legend_handles_labels()[1]
    assert names == ["ucrl2-l", "random", "Theorem 1, C-UCRL(C,σ)", "UCRL2's bound"]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert all(line.get_ydata()[-1] > 31 for line in axes.lines[2:])


@pytest.mark.parametrize("width", [10, 25, 45])
def test_the_names_of_the_curves_fit_the_figure(width):
    groups = 2 * groups_of({"ucrl2-l": [10.0, 12.0], "random": [30.0, 31.0]})
    figure = plot_curves(groups, labels=[k * width for k in "abcd"])
    assert figure.legends[0].get_window_extent().width <= figure.bbox.width


def test_a_measure_that_no_run_has_is_named():
    with pytest.raises(ValueError, match="no finished run has the measure 'misclustering_ratio'"):
        plot_curves(groups_of({"ucrl2-l": [1.0], "random": [1.0]}), "misclustering_ratio")


def test_styles_differ_in_colour_and_in_dashes_or_marker():
    styles = [*LEARNER_STYLES.values(), *OTHER_STYLES]
    assert len({style.color for style in styles[:7]}) == 7
    assert len({(style.dashes, style.marker) for style in styles}) == len(styles)


def test_a_learner_without_a_style_of_its_own_is_told_from_all_that_have_one():
    named = [lab(style.color) for style in LEARNER_STYLES.values()]
    others = [lab(style.color) for style in OTHER_STYLES]
    for k, colour in enumerate(others):
        assert min(np.linalg.norm(colour - other) for other in [*named, *others[:k]]) > 30


def lab(colour):
    """A colour in CIELAB, where distances are those that eyes see."""
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    mixed = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    x, y, z = np.cbrt(mixed / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_more_learners_than_styles_still_get_one():
    assert len(line_styles(["x"] * 9)) == 9


def test_a_figure_saved_twice_is_the_same_file(tmp_path):
    values = {"ucrl2-l": [10.0, 12.0], "random": [30.0, 31.0]}
    files = [save_all(plot_curves(groups_of(values)), tmp_path / name, ("pdf", "svg")) for name in ("a", "b")]
    assert [path.name for path in files[0]] == ["a.pdf", "a.svg"]
    assert [one.read_bytes() == other.read_bytes() for one, other in zip(*files, strict=True)] == [True] * 2
