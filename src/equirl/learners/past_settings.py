"""Settings that learners have had since, and what they did before: files from then say nothing of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

BEFORE = {
    "reward_bound": "laplace", "reward_noise": "coin", "apart": 0.0, "unseen": math.inf, "beside": math.inf,
    "outward": 0.0, "steps": "power",
}  # fmt: skip


def with_past(then: Mapping[str, Any], now: Iterable[str]) -> dict[str, Any]:
    """Settings from a file, with those that came later as they were before there was a choice.

    Examples
    --------
    >>> with_past({"delta": 0.1}, ["delta", "reward_bound"])
    {'reward_bound': 'laplace', 'delta': 0.1}
    """
    return {name: BEFORE[name] for name in now if name in BEFORE} | dict(then)
