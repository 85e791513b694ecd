import math

import numpy as np
import pytest

from equirl.estimation.kl_radius import filippi_constant, filippi_radius, mixture_constant, mixture_radius


def divergence(p_hat, law):
    """KL(p_hat || law) along the first axis of p_hat."""
    ratio = np.where(p_hat > 0, p_hat / law, 1.0)
    return (p_hat * np.log(ratio)).sum(axis=-1)


def test_constants_worked_out_by_hand():
    # S = 3, t = 1000, d = 0.01: B = 1 + log(6 * 6.907755) + 4.605170 = 9.329618, B + L = 9.474383
    assert filippi_constant(3, 1000.0, math.log(0.01)) == pytest.approx(35.4465, abs=1e-3)
    # n = 100, S = 3, d = 0.01: 4.605170 + 2 (1 + log 51) = 14.468821
    assert mixture_constant(100.0, 3, math.log(0.01)) == pytest.approx(14.468821, abs=1e-5)


def test_the_level_is_the_published_one():
    S, A, t, delta = 6, 2, 5000, 0.05
    B, L = math.log(2 * math.e * S**2 * A * math.log(t) / delta), 1 / math.log(t)
    published = S * (B + math.log(B + L) * (1 + 1 / (B + L)))
    assert filippi_constant(S, t, math.log(delta / (S * A))) == pytest.approx(published)


def test_no_samples_leave_the_law_free_and_one_state_leaves_nothing_to_learn():
    for radius in (filippi_radius([0, 10], 4, 100, -3.0), mixture_radius([0, 10], 4, -3.0)):
        assert radius[0] == math.inf
        assert 0 < radius[1] < math.inf
    assert filippi_radius([0, 10], 1, 100, -3.0).tolist() == [0, 0]
    assert mixture_radius([0, 10], 1, -3.0).tolist() == [0, 0]


def test_the_first_steps_and_a_hundred_thousand_states_are_finite():
    for t in (1, 2, 3, 10**9):
        assert np.isfinite(filippi_constant(10**5, float(t), math.log(0.05) - math.log(4e5)))
    assert np.isfinite(mixture_radius([1, 10**9], 10**5, math.log(0.05) - math.log(4e5))).all()


def test_radii_fall_with_n():
    n = np.geomspace(1, 1e9, 100)
    assert (np.diff(filippi_radius(n, 10, 1e6, -9.0)) < 0).all()
    assert (np.diff(mixture_radius(n, 10, -9.0)) < 0).all()


@pytest.mark.parametrize("law", [[0.5, 0.5], [0.2, 0.3, 0.5], [0.97, 0.01, 0.02]])
def test_both_balls_hold_the_law_for_all_n_together(law):
    law, delta, runs, horizon = np.array(law), 0.2, 400, 1000
    rng, n, S = np.random.default_rng(0), np.arange(1, 1001), len(law)
    filippi, mixture = filippi_radius(n, S, horizon, math.log(delta)), mixture_radius(n, S, math.log(delta))
    violated = np.zeros(2)
    for _ in range(runs):
        p_hat = np.cumsum(np.eye(S)[rng.choice(S, horizon, p=law)], axis=0) / n[:, None]
        d = divergence(p_hat, law)
        violated += (d > filippi).any(), (d > mixture).any()
    assert (violated / runs <= delta).all()
    assert (mixture < filippi).all()


def test_compiled_equals_its_plain_python_body():
    assert filippi_constant(5, 100.0, -4.0) == pytest.approx(filippi_constant.py_func(5, 100.0, -4.0), rel=1e-14)
    assert mixture_constant(7.5, 5, -4.0) == pytest.approx(mixture_constant.py_func(7.5, 5, -4.0), rel=1e-14)
