"""Bounds on regret and samples: numbers worked out from the printed formulas, and where they do not hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equirl.theory import azuma_width, n_episodes_bound, proposition1_samples, theorem1_bound, ucrl2_bound


def test_theorem_1_is_its_formula():
    log_term = math.log(2 * 3 * math.sqrt(401) / 0.1)
    expected = 18 * 7 * math.sqrt(3 * 400 * (5 + log_term)) + 7 * 3 * math.log2(8 * 400 / 3)
    assert theorem1_bound(D=7, S=5, C=3, T=400, delta=0.1) == pytest.approx(expected)
    found = theorem1_bound(7, 5, 3, [3, 400], 0.1)
    assert found.shape == (2,)
    assert found[1] == pytest.approx(expected)


def test_the_bound_of_ucrl2_is_its_formula():
    assert ucrl2_bound(D=7, S=5, A=3, T=400, delta=0.1) == pytest.approx(34 * 7 * 5 * math.sqrt(1200 * math.log(4000)))
    assert ucrl2_bound(1, 1, 1, 1, 0.5) == pytest.approx(34 * math.sqrt(math.log(2)))


def test_episodes_are_bounded_from_as_many_steps_on_as_there_are_classes():
    assert n_episodes_bound(4, 4) == 12.0
    np.testing.assert_allclose(n_episodes_bound(4, np.array([4, 8, 64])), [12, 16, 28])
    with pytest.raises(ValueError, match="T must be at least 4"):
        n_episodes_bound(4, [8, 3])


def test_azumas_width_is_its_formula():
    assert azuma_width(99, delta=0.1, c=3.0) == pytest.approx(3 * math.sqrt(200 * math.log(10 / 0.1)))
    assert azuma_width(99, delta=0.1) == pytest.approx(azuma_width(99, delta=0.1, c=2.0) / 2)


@pytest.mark.parametrize("n_states", [2, 3, 20])
@pytest.mark.parametrize("separation", [1.5, 0.2, 1e-6])
def test_samples_are_the_fewest_at_which_four_radii_fit_into_the_separation(separation, n_states):
    def radius(n):
        events = math.log(max(1, 2**n_states - 2))
        return math.sqrt(2 * (1 + 1 / n) * (0.5 * math.log(n + 1) + events + math.log(12 / 0.1)) / n)

    n = proposition1_samples(separation, n_states, 12, delta=0.1)
    assert 4 * radius(n) <= separation * (1 + 1e-9)
    assert 4 * radius(n - 1) > separation * (1 - 1e-9)
    assert proposition1_samples(separation, 1, 12) == 1  # one state: there is nothing to find


def test_a_separation_too_small_for_any_number_of_samples_is_refused():
    with pytest.raises(ValueError, match="separation 1e-200 is too small"):
        proposition1_samples(1e-200, 3, 12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theorem1_bound(0.9, 5, 3, 400), lambda: theorem1_bound(7, 0, 3, 400),
        lambda: theorem1_bound(7, 5, 3, 2),
        lambda: theorem1_bound(7, 5, 3, 400, 1.0), lambda: ucrl2_bound(0.9, 5, 3, 400), lambda: ucrl2_bound(7, 5, 0, 4),
        lambda: ucrl2_bound(7, 5, 3, 0.5), lambda: azuma_width(0.5), lambda: azuma_width(9, c=0.0),
        lambda: azuma_width(9, delta=0.0), lambda: proposition1_samples(0.0, 3, 12), lambda: n_episodes_bound(0, 4),
    ],
)  # fmt: skip
def test_numbers_for_which_a_bound_does_not_hold_are_refused(call):
    with pytest.raises(ValueError, match=r"^(D|S|A|C|T|c|delta|separation) must"):
        call()
    assert theorem1_bound(1, 5, 3, 3) > 0
