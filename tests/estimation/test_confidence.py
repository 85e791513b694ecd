import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.estimation.confidence import (
    hoeffding_radius,
    jaksch_mean_radius,
    jaksch_transition_radius,
    log_events,
    share_weighted,
    weissman_radius,
)
from oracles import beta, beta_mean


def test_radii_worked_out_by_hand():
    # n = 10, S = 3, d = 0.05: sqrt(2 * 1.1 * log(sqrt(11) * 6 / 0.05) / 10) and sqrt(1.1 * log(sqrt(11) / 0.05) / 20)
    assert weissman_radius([10], 3, math.log(0.05))[0] == pytest.approx(1.1476135, abs=1e-6)
    assert hoeffding_radius([10], math.log(0.05))[0] == pytest.approx(0.4803201, abs=1e-6)
    # UCRL2: sqrt(14 * 3 * log(2 * 2 * 100 / 0.05) / 10) and sqrt(7 * log(2 * 6 * 100 / 0.05) / 20)
    assert jaksch_transition_radius(np.array([10]), 3, 2, 100, math.log(0.05))[0] == pytest.approx(6.1437958, abs=1e-6)
    assert jaksch_mean_radius(np.array([10]), 6, 100, math.log(0.05))[0] == pytest.approx(1.8788383, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(1e-12, 0.5))
def test_radii_equal_the_formulas_written_out(n, S, d):
    assert weissman_radius([n], S, math.log(d))[0] == pytest.approx(beta(n, S, d))
    assert hoeffding_radius([n], math.log(d))[0] == pytest.approx(beta_mean(n, d))


def test_no_samples_leave_law_and_mean_free():
    assert weissman_radius([0], 25, math.log(0.05))[0] == 2
    assert hoeffding_radius([0], math.log(0.05))[0] == 1


def test_one_state_leaves_nothing_to_learn():
    assert weissman_radius([0, 1, 100], 1, math.log(0.05)).tolist() == [0, 0, 0]


def test_a_hundred_thousand_states_do_not_overflow():
    assert log_events(10**5) == pytest.approx(10**5 * math.log(2))
    assert np.isfinite(weissman_radius([1, 10**9], 10**5, math.log(0.05) - math.log(4e5))).all()


def test_radii_fall_as_the_square_root_of_n():
    n = np.array([10**4, 10**8])
    for radius in (weissman_radius(n, 1000, -10.0), hoeffding_radius(n, -1000.0)):
        slope = math.log(radius[1] / radius[0]) / math.log(n[1] / n[0])
        assert slope == pytest.approx(-0.5, abs=0.01)


def test_the_radius_of_theory_weighs_members_by_their_visits():
    radius = share_weighted(np.array([1.0, 0.5, 2.0]), np.array([1, 3, 0]), np.array([0, 0, 1]), 2)
    assert radius.tolist() == [0.625, 0.625, 2.0]
