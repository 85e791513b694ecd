"""Rewards as learners take them: numbers in [0, 1], mapped from the user's scale, or an error that names them."""

from __future__ import annotations

from typing import Any

from equirl.model.pairs import Pairs
from equirl.words.formatting import shown


def unit_reward(reward: Any, reward_map: tuple[float, float], pairs: Pairs, pair: int) -> float:
    """A reward of ``pair`` on the scale [shift, shift + scale] as a number in [0, 1].

    >>> unit_reward(5, (20.0, -10.0), Pairs.uniform(1, 1), 0)
    0.75
    """
    scale, shift = reward_map
    try:
        if isinstance(reward, str):
            raise TypeError  # "0.5" is no number, though float() would read it
        value = (float(reward) - shift) / scale
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"the reward of ({pairs.describe(pair)}) is {shown(reward)}, not a number") from None
    if not -1e-12 <= value <= 1 + 1e-12:  # NaN fails too
        raise ValueError(
            f"the reward of ({pairs.describe(pair)}) is {shown(reward)}, outside [{shift:g}, {shift + scale:g}]; "
            "give reward_range=(low, high) for rewards on another scale"
        )
    return min(max(value, 0.0), 1.0)
