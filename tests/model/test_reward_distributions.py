"""Rewards: how they are drawn, and the affine map between [0, 1] and the units of a user."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from equirl.model.reward_distributions import draw_rewards, original_rewards, rescale_rewards, reward_map_of, unit_map

MEANS = np.array([0.0, 0.3, 0.7, 1.0])


def test_each_law_is_the_inverse_distribution_function_of_one_uniform_number():
    assert draw_rewards("deterministic", MEANS, 2.0, None) is MEANS
    uniform = np.random.default_rng(5).random(4)
    found = draw_rewards("bernoulli", MEANS, 2.0, np.random.default_rng(5))
    assert found.tolist() == [float(u < m) for u, m in zip(uniform, MEANS, strict=True)]
    found = draw_rewards("beta", MEANS, 2.0, np.random.default_rng(5))
    assert (found[0], found[3]) == (0.0, 1.0)
    np.testing.assert_allclose(found[1:3], stats.beta.ppf(uniform[1:3], [0.6, 1.4], [1.4, 0.6]), rtol=1e-10)
    assert MEANS.tolist() == [0.0, 0.3, 0.7, 1.0]


def test_the_range_of_rewards_is_mapped_onto_the_unit_interval():
    mapped, (scale, shift) = rescale_rewards([[-2.0, 0.0], [6.0, 2.0]])
    assert (mapped.tolist(), scale, shift) == ([[0.0, 0.25], [1.0, 0.5]], 8.0, -2.0)
    mapped, reward_map = rescale_rewards([3.0, 3.0])
    assert (mapped.tolist(), reward_map) == ([0.0, 0.0], (1.0, 3.0))
    for wrong in ([], [np.nan, 1.0], [np.inf]):
        with pytest.raises(ValueError, match="rewards must be finite numbers, at least one"):
            rescale_rewards(wrong)
    with pytest.raises(ValueError, match=r"rewards from -1e\+308 to 1e\+308 are too far apart"):
        unit_map(np.array([-1e308, 1e308]))


def test_a_range_is_two_finite_numbers_the_first_the_smaller():
    assert reward_map_of((-1.0, 3.0)) == (4.0, -1.0)
    for wrong in ((1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (-1e308, 1e308), (1.0,), "ab", 3, (0.0, "x")):
        with pytest.raises(ValueError, match=r"reward_range must be \(low, high\), two finite numbers with low < high"):
            reward_map_of(wrong)


@pytest.mark.parametrize(
    ("reward_map", "values", "expected"),
    [
        ((1.0, 0.0), [1 / 3], [1 / 3]),
        ((3.0, -1.0), [1 / 3], [0.0]),  # not 5e-17
        ((3.0, -1.0), [0.123456789012345], [-0.62962963296]),  # 11 decimals: the largest is 2
        ((1e6, 0.0), [0.1234567890123456789], [123456.789012]),  # 5 decimals
        ((1.0, -5.0), [0.25], [-4.75]),
        ((1e-320, 0.0), [0.5], [5e-321]),
    ],
)
def test_rewards_come_back_with_twelve_digits_of_the_largest(reward_map, values, expected):
    found = original_rewards(values, reward_map)
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert not np.signbit(found[found == 0]).any()
