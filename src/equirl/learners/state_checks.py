"""Whether a learner's saved state makes sense: what no learner can have come to is refused before it plays on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equirl.model.pairs import Pairs
from equirl.words.checking import between, flag, real_number, whole_number

ROUNDING = 1e-9  # relative, of sums of rewards


def check_course(meta: Mapping[str, Any], episode_starts: np.ndarray, pairs: Pairs) -> None:
    """Refuse a time, episodes, a scale of rewards or a pending step that no learner can have."""
    t = whole_number("t", meta["t"])
    whole_number("n_unconverged", meta["n_unconverged"], least=0, most=max(t, len(episode_starts)))
    starts = episode_starts
    if starts.ndim != 1 or starts.dtype != np.int64 or not _increasing(starts, 1, t):
        raise ValueError("episode_starts must be times in increasing order up to t")
    scale, shift = (real_number("reward_map", number) for number in meta["reward_map"])
    if not (np.isfinite(shift) and 0 < scale < np.inf):
        raise ValueError(f"reward_map must be a positive scale and a shift, not {scale}, {shift}")
    if meta["pending"] is not None:
        pair, reward = meta["pending"]
        whole_number("the pending pair", pair, least=0, most=pairs.n_pairs - 1)
        between("the pending reward", reward)


def check_plan(values: Mapping[str, Any], t: int, n_pairs: int) -> None:
    """Refuse what is told of the plan under way where no plan can be so."""
    if "episode" in values:
        episode = values["episode"]
        whole_number("the start of the episode", episode["start"], most=t)
        whole_number("n_classes", episode["n_classes"], most=n_pairs)
        _check_outcome(*(episode[name] for name in ("gain", "n_sweeps", "span", "converged")))
    if "plan" in values:
        _check_outcome(*values["plan"])


def _check_outcome(gain: Any, n_sweeps: Any, span: Any, converged: Any) -> None:
    if not np.isfinite(real_number("gain", gain)) or not real_number("span", span) >= 0:
        raise ValueError(f"a plan of gain {gain} and span {span} is none")
    whole_number("n_sweeps", n_sweeps, least=0)
    flag("converged", converged)


def check_sums(arrays: Mapping[str, np.ndarray], t: int) -> None:
    """Refuse counts of more steps than were played, and rewards that those steps cannot have paid."""
    for when in ("now", "then"):
        if f"{when}_visits" not in arrays:
            continue
        visits, r_sum, r_squares = (arrays[f"{when}_{name}"] for name in ("visits", "r_sum", "r_squares"))
        if visits.sum(dtype=float) > t - 1:
            raise ValueError(f"{visits.sum(dtype=float):.0f} steps are counted ({when}), but {t - 1} were played")
        if not (r_sum <= visits * (1 + ROUNDING) + ROUNDING).all():
            raise ValueError(f"rewards add up to more than the visits can have paid ({when})")
        slack = ROUNDING * (visits + 1)
        if not (r_squares <= r_sum + slack).all() or not (r_squares * visits >= r_sum**2 - slack * visits).all():
            raise ValueError(f"squares of rewards do not fit their sums ({when})")
    if "now_visits" in arrays and "then_visits" in arrays and (arrays["then_visits"] > arrays["now_visits"]).any():
        raise ValueError("a pair had more visits when the episode began than now")


def _increasing(times: np.ndarray, first: int, last: int) -> bool:
    return len(times) == 0 or bool(times[0] >= first and times[-1] <= last and (np.diff(times) >= 0).all())
