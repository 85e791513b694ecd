"""A learner's state in one file, without pickle; restored, it goes on as if never stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from equirl.estimation.given_knowledge import NOTHING, Given, checked
from equirl.files.archives import described, load_npz, npz_bytes
from equirl.files.whole_files import DamagedFile, write_aside
from equirl.learners.contract import UNLIMITED, Learner, State, prefixed
from equirl.learners.learner_registry import AGENTS
from equirl.learners.past_settings import with_past
from equirl.learners.recipes import Blueprint, needs_of_parts
from equirl.learners.state_checks import check_course, check_plan, check_sums
from equirl.model.names import names_from_json
from equirl.model.pairs import Pairs
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles
from equirl.words.checking import checked_path

KIND, VERSION = "equirl-agent", 3
READABLE = (1, 2, VERSION)
LARGEST = np.finfo(np.float64).max  # a number that is finite


def save_agent(agent: Learner, path: str | os.PathLike[str]) -> None:
    """Save a learner: its state, its settings, what it was given, its generators."""
    write_aside(path, agent_bytes(agent))


def agent_bytes(agent: Learner, about: Mapping[str, Any] | None = None) -> bytes:
    """The content of a learner's file, for another process to write it."""
    arrays, meta = _contents(agent)
    return npz_bytes(KIND, VERSION, arrays, meta | {"about": dict(about or {})})


def fingerprint(agent: Learner) -> str:
    """A hash of all that a learner's file would hold: two learners that go on alike have the same."""
    arrays, meta = _contents(agent)
    listing = {name: described(array) for name, array in arrays.items()}
    return hashlib.sha256(json.dumps([meta, listing], sort_keys=True).encode()).hexdigest()[:16]


def _contents(agent: Learner) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and values of a learner's file."""
    pairs, given, own = agent.pairs, agent.given, agent.state()
    arrays = {
        "pair_ptr": pairs.ptr, "action": pairs.action, "episode_starts": np.array(agent.episode_starts, np.int64),
    }  # fmt: skip
    if given.classes is not None:
        arrays["classes"] = given.classes.label
    if given.profiles is not None:
        arrays |= prefixed("profile", given.profiles)
    if given.mean_rewards is not None:
        arrays["mean_rewards"] = given.mean_rewards
    meta: dict[str, Any] = {
        "name": agent.name, "t": agent.t, "n_unconverged": agent.n_unconverged, "settings": agent.settings.as_dict(),
        "state_names": pairs.state_names, "action_names": pairs.action_names, "reward_map": agent.reward_map,
        "pending": agent.pending, "values": own.values, "tolerance": given.tolerance, "stated": given.stated,
    }  # fmt: skip
    return arrays | {f"own_{name}": array for name, array in own.arrays.items()}, meta


def load_agent(path: str | os.PathLike[str]) -> Learner:
    """Load a learner saved with ``agent.save(path)``.

    Parameters
    ----------
    path : path
        The file. Files of the two formats before this one load too.

    Returns
    -------
    Learner
        It goes on as if never stopped.

    Raises
    ------
    DamagedFile
        The file is damaged, foreign, or of a learner that is not registered.
    """
    arrays, meta = load_npz(checked_path("path", path), KIND, *READABLE)
    try:
        if "values" not in meta:
            arrays, meta = _from_version_1(arrays, meta)
        arrays, meta = _from_version_2(arrays, meta)
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
    classes = Partition.from_labels(arrays["classes"]) if "classes" in arrays else None
    recipe = AGENTS[name]
    settings = recipe.settings(name, meta["settings"])
    tolerance, stated = float(meta.get("tolerance", NOTHING.tolerance)), bool(meta.get("stated", False))
    given = Given(classes, profiles, arrays.get("mean_rewards"), tolerance, stated=stated)
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


def _from_version_1(
    arrays: dict[str, np.ndarray], meta: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A file of the first format as one of this: settings that a learner did not use are left out, limits renamed."""
    outer = ("pair_ptr", "action", "episode_starts", "classes", "mean_rewards")
    kept = {name: array for name, array in arrays.items() if name in outer or name.startswith("profile_")}
    own = {name: array for name, array in arrays.items() if name not in kept}
    if "budget_pair_left" in own:
        limits = own["label"], own.pop("budget_pair_left"), own.pop("budget_class_left"), own.pop("budget_grace")
        names = ("label", "pair_left", "group_left", "grace")
        own |= {f"limits_{name}": array for name, array in zip(names, limits, strict=True)}
        own["limits_steps"] = np.array([UNLIMITED], np.int64)
    keys = AGENTS[meta["name"]].keys if meta["name"] in AGENTS else ()
    settings = {key: value for key, value in meta.get("settings", {}).items() if key in keys}
    values = {key: meta[key] for key in ("tie_rng", "priority_rng", "episode", "coins") if key in meta}
    return {**kept, **{f"own_{name}": array for name, array in own.items()}}, meta | {
        "settings": settings, "values": values
    }  # fmt: skip


def _from_version_2(
    arrays: dict[str, np.ndarray], meta: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A file of the second format as one of this; one of this as it is.

    Squares of rewards were not kept. Rewards in [0, 1] are at least their squares, so their sums are safe instead; the
    settings that use them are as they were before there was a choice.
    """
    squares = {f"own_{when}_r_squares": f"own_{when}_r_sum" for when in ("now", "then")}
    missing = {new: arrays[old].copy() for new, old in squares.items() if old in arrays and new not in arrays}
    keys = AGENTS[meta["name"]].keys if meta["name"] in AGENTS else ()
    return arrays | missing, meta | {"settings": with_past(meta["settings"], keys)}


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
    for when in ("now", "then"):
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
