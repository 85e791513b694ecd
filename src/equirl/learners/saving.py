"""A learner's state in one file, without pickle; restored, it goes on as if never stopped."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from equirl.core.files import DamagedFile, load_npz, save_npz
from equirl.estimation.counts import Counts, Snapshot
from equirl.estimation.pooling import tie_groups
from equirl.learners.baselines import FixedLearner
from equirl.learners.beliefs import Grouping, Knowledge, estimate_models
from equirl.learners.learner_registry import AGENTS, Agent, check_told
from equirl.learners.optimistic import Episode, OptimisticLearner
from equirl.learners.settings import Settings
from equirl.learners.stopping import Budget
from equirl.model.pairs import Pairs
from equirl.planning.extended_value_iteration import Plan
from equirl.structure.partition import Partition
from equirl.structure.profiles import Profiles

FORMAT = "equirl-agent", 1


def save_agent(agent: Agent, path: str | os.PathLike[str]) -> None:
    """Save a learner: counts, the episode under way, settings, what it was told, its generators."""
    pairs = agent.pairs
    arrays: dict[str, np.ndarray] = {
        "pair_ptr": pairs.ptr, "action": pairs.action, **_prefixed("now", agent.counts.snapshot()),
        "episode_starts": np.array(agent.episode_starts, np.int64),
    }  # fmt: skip
    meta: dict[str, Any] = {
        "name": agent.name, "t": agent.t, "n_unconverged": agent.n_unconverged,
        "state_names": pairs.state_names, "action_names": pairs.action_names, "reward_map": agent.reward_map,
        "pending": agent.pending,
    }  # fmt: skip
    if isinstance(agent, FixedLearner):
        meta["coins"] = agent.coins.bit_generator.state
        if agent.policy is not None:
            arrays["policy"] = agent.policy
    else:
        _add_optimistic(agent, arrays, meta)
    save_npz(path, *FORMAT, arrays, meta)


def load_agent(path: str | os.PathLike[str]) -> Agent:
    """Load a learner saved with ``agent.save(path)``; a damaged or foreign file gives a clear error."""
    arrays, meta = load_npz(path, *FORMAT)
    try:
        return _restore(arrays, meta)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedFile(f"{path} does not hold a valid learner: {error}") from error


def _add_optimistic(agent: OptimisticLearner, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    told = agent.told
    meta |= {
        "settings": agent.settings.as_dict(),
        "tie_rng": agent.tie_rng.bit_generator.state, "priority_rng": agent.priority_rng.bit_generator.state,
    }  # fmt: skip
    if told.classes is not None:
        arrays["classes"] = told.classes.label
    if told.profiles is not None:
        arrays |= _prefixed("profile", told.profiles)
    if told.mean_rewards is not None:
        arrays["mean_rewards"] = told.mean_rewards
    if agent.episode is not None:
        episode, plan = agent.episode, agent.episode.plan
        meta["episode"] = {
            "start": episode.start, "n_classes": episode.groups.n_classes, "gain": plan.gain,
            "n_sweeps": plan.n_sweeps, "span": plan.span, "converged": plan.converged,
        }  # fmt: skip
        arrays |= _prefixed("then", episode.seen) | {
            "label": episode.groups.label, "policy": plan.policy, "bias": plan.bias,
            **_prefixed("budget", episode.budget),
        }  # fmt: skip


def _restore(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Agent:
    names = {key: tuple(meta[key]) if meta[key] else None for key in ("state_names", "action_names")}
    pairs = Pairs(arrays["pair_ptr"], arrays["action"], **names)
    if meta["name"] not in AGENTS:
        raise ValueError(f"unknown learner {meta['name']!r}")
    _check_arrays(arrays, pairs, meta["episode"]["n_classes"] if "episode" in meta else 0)
    unused = np.random.SeedSequence(0)
    agent: Agent
    if "settings" in meta:
        agent = _restore_optimistic(arrays, meta, pairs, unused)
    else:
        scale, shift = meta["reward_map"]
        agent = FixedLearner(meta["name"], pairs, unused, arrays.get("policy"), (scale, shift))
        agent.coins.bit_generator.state = meta["coins"]
    agent.counts = Counts.restore(_snapshot("now", arrays))
    agent.t, agent.n_unconverged = meta["t"], meta["n_unconverged"]
    agent.episode_starts = arrays["episode_starts"].tolist()
    if meta["pending"] is not None:
        pair, reward = meta["pending"]
        agent.pending = range(pairs.n_pairs)[pair], reward
    return agent


def _restore_optimistic(
    arrays: dict[str, np.ndarray], meta: dict[str, Any], pairs: Pairs, unused: np.random.SeedSequence
) -> OptimisticLearner:
    profiles = Profiles(*(arrays[f"profile_{f}"] for f in Profiles._fields)) if "profile_ptr" in arrays else None
    classes = Partition.from_labels(arrays["classes"]) if "classes" in arrays else None
    settings, told = Settings(**meta["settings"]), Knowledge(classes, profiles, None, arrays.get("mean_rewards"))
    check_told(meta["name"], settings, told, pairs)
    if profiles is not None and classes is not None:
        told = told._replace(tie=tie_groups(profiles, classes.label))
    scale, shift = meta["reward_map"]
    agent = OptimisticLearner(meta["name"], pairs, settings, told, unused, (scale, shift))
    agent.tie_rng.bit_generator.state = meta["tie_rng"]
    agent.priority_rng.bit_generator.state = meta["priority_rng"]
    if "episode" in meta:
        told_then, seen = meta["episode"], _snapshot("then", arrays)
        groups = Grouping(arrays["label"], told_then["n_classes"])
        estimates, models = estimate_models(settings, told, pairs, seen, groups, told_then["start"])
        plan = Plan(
            arrays["policy"], told_then["gain"], arrays["bias"], told_then["n_sweeps"], told_then["span"],
            told_then["converged"],
        )  # fmt: skip
        budget = Budget(*(arrays[f"budget_{name}"] for name in Budget._fields))
        agent.episode = Episode(told_then["start"], seen, groups, estimates, models, plan, budget)
    return agent


def _prefixed(prefix: str, values: Any) -> dict[str, np.ndarray]:
    return {f"{prefix}_{name}": array for name, array in values._asdict().items()}


def _snapshot(prefix: str, arrays: dict[str, np.ndarray]) -> Snapshot:
    return Snapshot(*(arrays[f"{prefix}_{name}"] for name in Snapshot._fields))


def _check_arrays(arrays: dict[str, np.ndarray], pairs: Pairs, n_classes: int) -> None:
    """Refuse arrays that do not fit together: compiled loops trust what they are given."""
    S, M = pairs.n_states, pairs.n_pairs
    _check_range(arrays, "policy", S, np.int64, pairs.ptr[:-1], pairs.ptr[1:] - 1)
    _check_range(arrays, "bias", S, np.float64, 0, np.inf)
    _check_range(arrays, "label", M, np.int64, 0, n_classes - 1)
    for name, length in (("pair_left", M), ("class_left", n_classes), ("grace", 2)):
        _check_range(arrays, f"budget_{name}", length, np.int64, -np.inf, np.inf)
    for when in ("now", "then"):
        if f"{when}_ptr" not in arrays:
            continue
        _check_range(arrays, f"{when}_visits", M, np.int64, 0, np.inf)
        _check_range(arrays, f"{when}_r_sum", M, np.float64, 0, np.inf)
        _check_range(arrays, f"{when}_ptr", M + 1, np.int64, 0, np.inf)
        seen = _snapshot(when, arrays)
        _check_range(arrays, f"{when}_succ", seen.ptr[-1], np.int32, 0, S - 1)
        _check_range(arrays, f"{when}_count", seen.ptr[-1], np.int64, 1, np.inf)
        total = np.concatenate([[0], np.cumsum(seen.count)])
        if seen.ptr[0] != 0 or (np.diff(seen.ptr) < 0).any() or (np.diff(total[seen.ptr]) != seen.visits).any():
            raise ValueError(f"the visits and counts of successors disagree ({when})")


def _check_range(arrays: dict[str, np.ndarray], name: str, length: int, dtype: Any, low: Any, high: Any) -> None:
    if name not in arrays:
        return
    array = arrays[name]
    if array.dtype != dtype or array.shape != (length,) or not ((array >= low) & (array <= high)).all():
        raise ValueError(f"{name} does not fit the states and actions of the learner")
