"""Rewards: the distributions they are drawn from, and the affine map that brings any rewards into [0, 1].

The reward of a pair with mean m is m itself ("deterministic"), 1 with probability m and else 0 ("bernoulli"), or drawn
from Beta(m k, (1 - m) k) with concentration k ("beta"); at m = 0 or 1 all three pay m.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equirl.words.checking import real_array, real_number
from equirl.words.formatting import shown

REWARD_DISTRIBUTIONS = ("deterministic", "bernoulli", "beta")


def draw_rewards(law: str, means: np.ndarray, concentration: float, rng: np.random.Generator) -> np.ndarray:
    """One reward per mean, by the inverse distribution function of one uniform number each."""
    if law == "deterministic":
        return means
    uniform = rng.random(len(means))
    if law == "bernoulli":
        return (uniform < means).astype(float)
    from equirl.numerics.beta_quantile import beta_quantiles

    rewards = means.copy()
    beta_quantiles(rewards, concentration, uniform)
    return rewards


def unit_map(rewards: np.ndarray) -> tuple[float, float]:
    """(scale, shift): the affine map of [0, 1] onto the range of some rewards."""
    low, high = float(rewards.min()), float(rewards.max())
    scale = high - low or 1.0
    if not math.isfinite(scale):
        raise ValueError(f"rewards from {low:g} to {high:g} are too far apart to be mapped onto [0, 1]")
    return scale, low


def rescale_rewards(rewards: Any) -> tuple[np.ndarray, tuple[float, float]]:
    """Map rewards affinely onto [0, 1].

    Parameters
    ----------
    rewards : array_like of float
        At least one, all finite, of any shape.

    Returns
    -------
    mapped : ndarray of float
        The rewards in [0, 1], of the same shape.
    reward_map : tuple of float
        (scale, shift), with original = scale * mapped + shift; a maker of :class:`equirl.TabularMDP` takes it as
        ``reward_map``.

    Examples
    --------
    >>> rescale_rewards([-1.0, 0.0, 3.0])
    (array([0.  , 0.25, 1.  ]), (4.0, -1.0))
    """
    values = real_array("rewards", rewards)
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError("rewards must be finite numbers, at least one")
    scale, shift = unit_map(values)
    return (values - shift) / scale, (scale, shift)


def reward_map_of(reward_range: tuple[float, float]) -> tuple[float, float]:
    """(scale, shift) that take [0, 1] to the range of rewards that a user gives."""
    try:
        low, high = (real_number("reward_range", limit) for limit in reward_range)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite(high - low) and low < high):
        raise ValueError(
            f"reward_range must be (low, high), two finite numbers with low < high, not {shown(reward_range)}"
        )
    return high - low, low


def original_rewards(rewards: Any, reward_map: tuple[float, float]) -> np.ndarray:
    """Rewards in [0, 1] as the user has them: scale * reward + shift, to 12 digits of the largest.

    So a reward that was 0 is 0 again, not 1.8e-15.
    """
    scale, shift = reward_map
    values = np.asarray(rewards, float)
    if (scale, shift) == (1.0, 0.0):
        return values
    largest = max(abs(shift), abs(scale + shift), np.finfo(float).tiny)
    decimals = 11 - math.floor(math.log10(largest))
    found: np.ndarray = scale * values + shift
    return np.round(found, decimals) + 0.0 if abs(decimals) < 300 else found


def original_gain(gain: float, reward_map: tuple[float, float]) -> float:
    """scale * g + shift: what a step earns, for the reward map (scale, shift)."""
    scale, shift = reward_map
    return scale * gain + shift


def original_values(value: np.ndarray, discount: float, reward_map: tuple[float, float]) -> np.ndarray:
    """scale * v + shift / (1 - discount): discounted values, for the reward map (scale, shift)."""
    scale, shift = reward_map
    return scale * value + shift / (1 - discount)
