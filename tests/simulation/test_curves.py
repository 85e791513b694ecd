import math

import numpy as np
import pytest
from scipy import stats

from equirl.simulation.curves import Curves, half_width, in_usual_order

T = np.array([150, 300])


def run(last, **others):
    return Curves.of_run(T, {"regret": np.array([last / 2, last]), **others})


@pytest.mark.parametrize(("n", "quantile"), [(5, stats.t.ppf(0.975, 4)), (29, stats.t.ppf(0.975, 28)), (30, 1.959964)])
def test_the_interval_of_a_mean_uses_students_quantiles_below_thirty_runs(n, quantile):
    samples = np.random.default_rng(0).normal(size=n)
    assert half_width(samples) == pytest.approx(quantile * samples.std(ddof=1) / math.sqrt(n), rel=1e-6)


def test_a_single_run_has_no_interval():
    assert np.isnan(run(3.0).half_width("regret")).all()


def test_runs_are_stacked_in_the_order_given():
    curves = Curves.stack([run(last) for last in (10.0, 30.0, 20.0)])
    assert curves.n_runs == 3
    assert curves.final("regret").tolist() == [10.0, 30.0, 20.0]
    assert curves.mean("regret").tolist() == [10.0, 20.0]
    assert curves.quantile("regret", 0.5).tolist() == [10.0, 20.0]


def test_a_curve_is_linear_between_checkpoints_and_zero_at_the_start():
    assert [float(run(10.0).at("regret", t)[0]) for t in (0, 75, 225, 300)] == [0.0, 2.5, 7.5, 10.0]


def test_a_stack_has_the_curves_that_all_runs_have():
    assert Curves.stack([run(1.0, span=T), run(2.0)]).names == ("regret",)


def test_whole_numbers_stay_whole():
    assert Curves.stack([run(1.0, n_classes=T), run(2.0, n_classes=T)])["n_classes"].dtype == T.dtype


def test_runs_with_other_checkpoints_are_not_stacked():
    other = Curves.of_run(np.array([100, 300]), {"regret": np.zeros(2)})
    with pytest.raises(ValueError, match="different checkpoints"):
        Curves.stack([run(1.0), other])


def test_a_wrong_name_is_answered_with_the_nearest():
    curves = run(1.0)
    assert ("regret" in curves, "regrt" in curves) == (True, False)
    with pytest.raises(KeyError, match="unknown curve 'regrt'; did you mean 'regret'"):
        curves.mean("regrt")


@pytest.mark.parametrize("rows", [np.zeros(2), np.zeros((1, 3)), np.zeros((2, 2))])
def test_a_curve_of_another_shape_is_named(rows):
    with pytest.raises(ValueError, match="the curve 'span' has shape"):
        Curves(T, {"regret": np.zeros((1, 2)), "span": rows})


def test_the_level_of_an_interval_is_that_asked_for():
    samples = np.random.default_rng(0).normal(size=(40, 2))
    curves = Curves(T, {"regret": samples})
    expected = 1.644854 * samples.std(axis=0, ddof=1) / math.sqrt(40)
    np.testing.assert_allclose(curves.half_width("regret", level=0.9), expected, rtol=1e-6)
    two = half_width(np.array([1.0, 3.0]))
    assert two == pytest.approx(stats.t.ppf(0.975, 1) * math.sqrt(2) / math.sqrt(2))


def test_units_scale_regrets_and_shift_rewards_by_the_step():
    curves = run(4.0, reward=np.array([1.0, 2.0]), value_regret=np.array([0.5, 1.0]), span=np.array([7.0, 7.0]))
    euros = curves.in_units((10.0, -0.5))
    assert euros["regret"].tolist() == [[20.0, 40.0]]
    assert euros["value_regret"].tolist() == [[5.0, 10.0]]
    assert euros["reward"].tolist() == [[10.0 - 75.0, 20.0 - 150.0]]
    assert euros["span"].tolist() == [[7.0, 7.0]]
    assert curves.in_units((1.0, 0.0)) is curves
    assert run(4.0).in_units((1.0, 2.0)).names == ("regret",)
    assert curves.in_units((1.0, 2.0))["reward"].tolist() == [[301.0, 602.0]]
    assert curves.in_units((2.0, 0.0))["reward"].tolist() == [[2.0, 4.0]]


def test_usual_curves_come_first_and_others_by_name():
    assert in_usual_order(["span", "reward", "alpha", "regret"]) == ["regret", "reward", "alpha", "span"]


def test_no_runs_are_no_curves_and_times_outside_are_named():
    with pytest.raises(ValueError, match="there are no curves to stack"):
        Curves.stack([])
    assert Curves(T, {}).n_runs == 0
    for time in (-1, 301):
        with pytest.raises(ValueError, match="time"):
            run(1.0).at("regret", time)
    with pytest.raises(ValueError, match="q must"):
        run(1.0).quantile("regret", 1.5)
    assert 3 not in run(1.0)
