"""An agent's state in one file, without pickle; restored, it goes on as if never stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from equirl.estimation.given_knowledge import Given, checked
from equirl.files.archives import described, load_npz, npz_bytes
from equirl.files.whole_files import DamagedFile, write_aside
from equirl.learners.contract import UNLIMITED, Learner, State, prefixed
from equirl.learners.learner_registry import AGENTS
from equirl.learners.recipes import Blueprint, needs_of_parts
from equirl.model.pairs import Pairs, names_from_json
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles
from equirl.words.checking import between, checked_path, flag, real_number, whole_number

KIND, VERSION = "equirl-agent", 7
ROUNDING = 1e-9  # relative, of sums of rewards
LARGEST = np.finfo(np.float64).max  # a number that is finite


def save_agent(agent: Learner, path: str | os.PathLike[str]) -> None:
    write_aside(path, agent_bytes(agent))


def agent_bytes(agent: Learner, about: Mapping[str, Any] | None = None) -> bytes:
    """The content of an agent's file, for another process to write it."""
    arrays, meta = _contents(agent)
    return npz_bytes(KIND, VERSION, arrays, meta | {"about": dict(about or {})})


def fingerprint(agent: Learner) -> str:
    """A hash of all that an agent's file would hold: two agents that go on alike have the same."""
    arrays, meta = _contents(agent)
    listing = {name: described(array) for name, array in arrays.items()}
    return hashlib.sha256(json.dumps([meta, listing], sort_keys=True).encode()).hexdigest()[:16]


def _contents(agent: Learner) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    pairs, given, own = agent.pairs, agent.given, agent.state()
    arrays = {
        "pair_ptr": pairs.ptr, "action": pairs.action, "episode_starts": np.array(agent.episode_starts, np.int64),
    }  # fmt: skip
    if given.classes is not None:
        arrays["classes"] = given.classes.label
    if given.reward_classes is not None:
        arrays["reward_classes"] = given.reward_classes.label
    if given.profiles is not None:
        arrays |= prefixed("profile", given.profiles)
    if given.mean_rewards is not None:
        arrays["mean_rewards"] = given.mean_rewards
    meta: dict[str, Any] = {
        "name": agent.name, "t": agent.t, "n_unconverged": agent.n_unconverged, "settings": agent.settings.as_dict(),
        "state_names": pairs.state_names, "action_names": pairs.action_names, "reward_map": agent.reward_map,
        "pending": agent.pending, "values": own.values, "tolerance": given.tolerance, "stated": given.refutable,
    }  # fmt: skip
    return arrays | {f"own_{name}": array for name, array in own.arrays.items()}, meta


def load_agent(path: str | os.PathLike[str]) -> Learner:
    """Load an agent saved with ``agent.save(path)``; it goes on as if never stopped.

    Parameters
    ----------
    path : path
        The file; one that is damaged, foreign, of an older format, or of an agent that is not registered is refused
        (:class:`equirl.files.DamagedFile`).
    """
    arrays, meta = load_npz(checked_path("path", path), KIND, VERSION)
    try:
        return _restore(arrays, meta)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as error:
        raise DamagedFile(f"{path} does not hold a valid learner: {error}") from error


def _restore(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Learner:
    names = {key: names_from_json(meta[key]) for key in ("state_names", "action_names")}
    pairs = Pairs(arrays["pair_ptr"], arrays["action"], **names)
    name = meta["name"]
    if name not in AGENTS:
        raise ValueError(f"unknown learner {name!r}; register it (equirl.register_learner) before loading")
    profiles = Profiles(*(arrays[f"profile_{f}"] for f in Profiles._fields)) if "profile_ptr" in arrays else None
    classes, finer = (
        Partition.from_labels(arrays[name]) if name in arrays else None for name in ("classes", "reward_classes")
    )
    recipe = AGENTS[name]
    settings = recipe.settings(name, meta["settings"])
    missing = settings.as_dict().keys() - meta["settings"].keys()
    if missing:
        raise ValueError(f"it does not say {', '.join(sorted(missing))}")
    tolerance, refutable = real_number("tolerance", meta["tolerance"]), flag("stated", meta["stated"])
    given = Given(classes, profiles, arrays.get("mean_rewards"), tolerance, refutable=refutable, reward_classes=finer)
    given = checked(name, needs_of_parts(settings), given, pairs)
    check_course(meta, arrays["episode_starts"], pairs)
    scale, shift = meta["reward_map"]
    agent = recipe.build(Blueprint(name, pairs, settings, given, reward_map=(scale, shift)))

    own = {name.removeprefix("own_"): array for name, array in arrays.items() if name.startswith("own_")}
    check_plan(meta["values"], meta["t"], pairs.n_pairs)
    check_arrays(own, pairs, meta["values"])
    check_sums(own, meta["t"])
    agent.restore(State(own, meta["values"]))
    agent.t, agent.n_unconverged = meta["t"], meta["n_unconverged"]
    agent.episode_starts = arrays["episode_starts"].tolist()
    if meta["pending"] is not None:
        pair, reward = meta["pending"]
        agent.pending = pair, reward
    return agent


# --- whether the state makes sense: what no agent can have come to is refused before it plays on


def check_course(meta: Mapping[str, Any], episode_starts: np.ndarray, pairs: Pairs) -> None:
    """Refuse a time, episodes, a scale of rewards or a pending step that no agent can have."""
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
    """Refuse a plan under way that no plan can be."""
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
    for when in ("now", "then", "underway"):
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


def check_arrays(arrays: dict[str, np.ndarray], pairs: Pairs, values: dict[str, Any]) -> None:
    """Refuse arrays that do not fit together: compiled loops trust what they are given."""
    S, M = pairs.n_states, pairs.n_pairs
    n_classes = values["episode"]["n_classes"] if "episode" in values else 0
    _check_range(arrays, "policy", S, np.int64, pairs.ptr[:-1], pairs.ptr[1:] - 1)
    _check_range(arrays, "bias", S, np.float64, 0, LARGEST)
    _check_range(arrays, "label", M, np.int64, 0, n_classes - 1)
    if "limits_label" in arrays:
        groups = arrays["limits_group_left"]
        _check_range(arrays, "limits_label", M if len(arrays["limits_label"]) else 0, np.int64, 0, len(groups) - 1)
        lengths = {"pair_left": len(arrays["limits_label"]), "group_left": len(groups), "grace": 2, "steps": 1}
        for name, length in lengths.items():
            _check_range(arrays, f"limits_{name}", length, np.int64, -np.inf, np.inf)
    for when in ("now", "then", "underway"):
        if f"{when}_ptr" in arrays:
            _check_counts(arrays, when, S, M)


def _check_counts(arrays: dict[str, np.ndarray], when: str, S: int, M: int) -> None:
    _check_range(arrays, f"{when}_visits", M, np.int64, 0, np.inf)
    for name in ("r_sum", "r_squares"):
        _check_range(arrays, f"{when}_{name}", M, np.float64, 0, LARGEST)
    _check_range(arrays, f"{when}_ptr", M + 1, np.int64, 0, np.inf)
    ptr, visits = arrays[f"{when}_ptr"], arrays[f"{when}_visits"]
    _check_range(arrays, f"{when}_succ", ptr[-1], np.int32, 0, S - 1)
    _check_range(arrays, f"{when}_count", ptr[-1], np.int64, 1, np.inf)
    if arrays[f"{when}_count"].sum(dtype=float) > UNLIMITED:
        raise ValueError(f"the counts of successors are beyond any that can be ({when})")
    total = np.concatenate([[0], np.cumsum(arrays[f"{when}_count"])])
    if ptr[0] != 0 or (np.diff(ptr) < 0).any() or (np.diff(total[ptr]) != visits).any():
        raise ValueError(f"the visits and counts of successors disagree ({when})")


def _check_range(arrays: dict[str, np.ndarray], name: str, length: int, dtype: Any, low: Any, high: Any) -> None:
    if name not in arrays:
        return
    array = arrays[name]
    if array.dtype != dtype or array.shape != (length,) or not ((array >= low) & (array <= high)).all():
        raise ValueError(f"{name} does not fit the states and actions of the learner")
