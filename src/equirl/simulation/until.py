"""What ends a run before its horizon: a policy that is good enough, or a budget of time that is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from equirl.learners.contract import Learner
from equirl.words.checking import inside, unknown_name
from equirl.words.formatting import parse_value, shown

FIRST_LOOK, LOOK_AGAIN = 100, 1.3  # steps before the first look, and the factor between looks


@dataclass(frozen=True)
class Until:
    """What ends a run early: whichever comes first.

    Parameters
    ----------
    gap : float, optional
        Stop when, with probability 1 - ``delta``, no policy earns more per step by this than the one recommended; in
        the units of the rewards. Certified for optimistic learners, by draws from the posterior for posterior
        sampling.
    delta : float
        The risk. For an optimistic learner not below its own ``delta``.
    seconds : float, optional
        Stop when the run has taken this long.

    Examples
    --------
    >>> until("gap=0.01,seconds=60")
    Until(gap=0.01, delta=0.05, seconds=60)
    """

    gap: float | None = None
    delta: float = 0.05
    seconds: float | None = None

    def __post_init__(self) -> None:
        inside("delta", self.delta)
        for name in ("gap", "seconds"):
            if getattr(self, name) is not None:
                inside(name, getattr(self, name), 0, math.inf)
        if self.gap is None and self.seconds is None:
            raise ValueError("until needs a gap or seconds, such as until='gap=0.01'")


def until(value: Any) -> Until | None:
    """What ends a run early, from what a user gives."""
    if value is None or isinstance(value, Until):
        return value
    if isinstance(value, str):
        parts = [part.partition("=") for part in value.split(",")]
        if not all(equals for _, equals, _ in parts):
            raise ValueError(f"until must be key=value, such as gap=0.01, not {shown(value)}")
        value = {key.strip(): parse_value(number.strip()) for key, _, number in parts}
    if not isinstance(value, Mapping):
        raise TypeError(f"until must be a dict or a text such as 'gap=0.01', not {shown(value)}")
    known = [field.name for field in fields(Until)]
    for key in value:
        if key not in known:
            raise ValueError(unknown_name("key of until", key, known))
    return Until(**value)


class Watch:
    def __init__(self, rule: Until | None, learner: Learner) -> None:
        self.rule, self.learner = rule, learner
        self.begin, self.next = time.perf_counter(), learner.t + FIRST_LOOK
        self.reason, self.gap, self.policy = "", math.nan, np.zeros(0, np.int64)
        if rule is not None and rule.gap is not None and not learner.beliefs.has_gap:
            raise ValueError(
                f"{learner.name!r} cannot tell how good its policy is; until gap=... is for optimistic learners and "
                "posterior sampling"
            )

    def stops(self, state: int) -> bool:
        """Whether the run, now in ``state``, may stop; the reason is then in ``reason``."""
        rule, learner = self.rule, self.learner
        if rule is None:
            return False
        if rule.seconds is not None and time.perf_counter() - self.begin >= rule.seconds:
            self.reason = f"{rule.seconds:g} seconds are spent"
        if rule.gap is not None and learner.t >= self.next:
            self.next = max(learner.t + FIRST_LOOK, int(LOOK_AGAIN * learner.t))
            found = learner.beliefs.policy_gap(state, rule.delta)
            if found is None:
                raise ValueError(f"{learner!r} cannot tell how good its policy is at risk {rule.delta:g}")
            self.gap, self.policy = learner.reward_map[0] * found.gap, found.policy
            if self.gap <= rule.gap:
                how = "certified" if found.certified else "by its posterior"
                self.reason = f"no policy earns more by {rule.gap:g}, {how} with probability {1 - rule.delta:g}"
        return bool(self.reason)
