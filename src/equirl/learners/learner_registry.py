"""Learners by name. A new one is a row here, or a file with its parts and a row here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equirl.core.naming import unknown_name
from equirl.core.seeding import Seed, seed_sequence
from equirl.estimation.pooling import tie_groups
from equirl.learners.baselines import FixedLearner
from equirl.learners.beliefs import Knowledge
from equirl.learners.optimistic import OptimisticLearner
from equirl.learners.settings import Settings
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Pairs
from equirl.model.transition_rows import check_entries
from equirl.structure.partition import Partition
from equirl.structure.profiles import Profiles, profile_l1

Agent = OptimisticLearner | FixedLearner

_PLANNING = ("delta", "action_ties", "effort", "warm_start", "max_sweeps", "threads")
_CLUSTERING = ("balance", "ties", "merge_rule", "priority", "stopping")
_ESTIMATING = (*_PLANNING, *_CLUSTERING, "radius", "nearest_by")


@dataclass(frozen=True)
class Recipe:
    """A learner: what it is, the settings that define it, and those a user may set."""

    description: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    open: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Keywords a user may set."""
        return (*self.open, "rewards") if self.open else ()


_ESTIMATED = {"structure": "estimated", "rewards": "per_pair", "stopping": "either"}

AGENTS: dict[str, Recipe] = {
    "ucrl2": Recipe("UCRL2 (Jaksch et al. 2010)", {"bounds": "jaksch"}, _PLANNING),
    "ucrl2-l": Recipe("UCRL2 with Laplace bounds; knows nothing of classes", {}, _PLANNING),
    "c-ucrl-c-sigma": Recipe(
        "C-UCRL(C,sigma): told the classes and the profiles",
        {"structure": "profiles", "rewards": "per_class", "stopping": "class"},
        (*_PLANNING, "stopping"),
    ),
    "c-ucrl-c": Recipe(
        "C-UCRL(C): told the classes, estimates the profiles",
        {"structure": "classes", "rewards": "per_class", "stopping": "either"},
        (*_PLANNING, *_CLUSTERING, "pooling"),
    ),
    "c-ucrl": Recipe(
        "C-UCRL: told nothing, estimates classes and profiles", _ESTIMATED, _ESTIMATING
    ),
    "c-ucrl-published": Recipe(
        "C-UCRL with the unstated choices of the published program",
        {
            **_ESTIMATED, "rewards": "per_class", "merge_rule": "balanced", "ties": "index",
            "action_ties": "first", "stopping": "class", "priority": "index",
        },
        _ESTIMATING,
    ),
    "random": Recipe("plays uniformly at random"),
    "optimal": Recipe("plays an optimal policy of the true MDP"),
}  # fmt: skip


def make_settings(name: str, **settings: Any) -> Settings | None:
    """The validated settings of a learner; None for the baselines, which have none.

    >>> make_settings("c-ucrl", balance=2.0).stopping
    'either'
    """
    recipe = _recipe(name)
    settings = {key: value.item() if isinstance(value, np.generic) else value for key, value in settings.items()}
    for key in settings:
        if key not in recipe.keys:
            if not recipe.keys:
                raise TypeError(f"learner {name!r} has no settings; {key!r} was given")
            raise TypeError(f"for {name!r}: " + unknown_name("setting", key, recipe.keys))
    if not recipe.open:
        return None
    return Settings(**{**recipe.defaults, **settings})


def make_agent(
    name: str,
    n_states: int,
    n_actions: int | Sequence[int] | np.ndarray,
    seed: Seed = 0,
    *,
    classes: Partition | Sequence[int] | np.ndarray | None = None,
    profiles: Profiles | None = None,
    mean_rewards: Sequence[float] | np.ndarray | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    **settings: Any,
) -> Agent:
    """A learner to drive step by step with ``act`` and ``observe``, or to hand to ``simulate``.

    ``n_actions``: an integer, or one per state. ``classes``, ``profiles`` (``equirl.profiles(mdp)``) and
    ``mean_rewards`` (one per pair) where the learner is told them. ``reward_range``: the least and the largest reward
    that ``observe`` may be given; ``mean_rewards`` are on the same scale.

    >>> agent = make_agent("ucrl2-l", n_states=3, n_actions=2, seed=0)
    >>> action = agent.act(0)
    >>> agent.observe(0, action, 0.5, 1)
    >>> agent.t
    2
    """
    if name == "optimal":
        raise ValueError("'optimal' needs the true MDP: use simulate(mdp, 'optimal', ...) or agent_for(mdp, 'optimal')")
    pairs = Pairs.uniform(n_states, n_actions)
    if classes is not None and not isinstance(classes, Partition):
        classes = Partition.from_labels(np.asarray(classes))
    scale, shift = _reward_map(reward_range)
    means = None if mean_rewards is None else (np.asarray(mean_rewards, dtype=float) - shift) / scale
    return _build(name, pairs, Knowledge(classes, profiles, None, means), seed, settings, (scale, shift))


def _reward_map(reward_range: tuple[float, float]) -> tuple[float, float]:
    """(scale, shift) that take [0, 1] to the range."""
    try:
        low, high = map(float, reward_range)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"reward_range must be (low, high), two finite numbers with low < high, not {reward_range!r}")
    return high - low, low


def agent_for(mdp: TabularMDP, name: str, seed: Seed = 0, **settings: Any) -> Agent:
    """A learner for ``mdp`` that is told what it is entitled to: classes, profiles or means of the MDP itself."""
    from equirl.solving.optimal_gain import solve
    from equirl.structure.equivalence import equivalence_classes, profiles

    check_mdp(mdp)
    _recipe(name)
    if name == "optimal":
        make_settings(name, **settings)
        return FixedLearner(name, mdp.pairs, seed_sequence("seed", seed), solve(mdp).policy_pair)
    chosen = make_settings(name, **settings)
    structure = chosen.structure if chosen else "none"
    told = Knowledge(
        equivalence_classes(mdp) if structure in ("profiles", "classes") else None,
        profiles(mdp) if structure == "profiles" else None,
        None,
        mdp.r_mean if chosen and chosen.rewards == "known" else None,
    )
    return _build(name, mdp.pairs, told, seed, settings, (1.0, 0.0))


def _build(
    name: str,
    pairs: Pairs,
    told: Knowledge,
    seed: Seed,
    settings: dict[str, Any],
    reward_map: tuple[float, float],
) -> Agent:
    chosen = make_settings(name, **settings)
    if chosen is None:
        if any(part is not None for part in told):
            raise ValueError(f"{name!r} makes no use of classes, profiles or mean_rewards; leave them out")
        return FixedLearner(name, pairs, seed_sequence("seed", seed), reward_map=reward_map)
    check_told(name, chosen, told, pairs)
    if told.profiles is not None and told.classes is not None:
        told = told._replace(tie=tie_groups(told.profiles, told.classes.label))
    return OptimisticLearner(name, pairs, chosen, told, seed_sequence("seed", seed), reward_map)


def check_told(name: str, settings: Settings, told: Knowledge, pairs: Pairs) -> None:
    """An error where a learner is told too little, too much, or something of another problem."""
    wanted = {
        "classes": settings.structure in ("profiles", "classes"),
        "profiles": settings.structure == "profiles",
        "mean_rewards": settings.rewards == "known",
    }
    for what, needed in wanted.items():
        given = getattr(told, what) is not None
        if needed and not given:
            raise ValueError(f"{name!r} with these settings must be told {what}: give {what}=...")
        if given and not needed:
            raise ValueError(f"{name!r} with these settings makes no use of {what}; leave it out")
    if told.classes is not None and len(told.classes.label) != pairs.n_pairs:
        raise ValueError(f"the classes label {len(told.classes.label)} pairs, the problem has {pairs.n_pairs}")
    if told.profiles is not None:
        _check_profiles(told.profiles, pairs)
        if told.classes is not None:
            _check_alike(told.profiles, told.classes, pairs)
    if told.mean_rewards is not None:
        means = told.mean_rewards
        if means.shape != (pairs.n_pairs,):
            raise ValueError(f"mean_rewards has shape {means.shape}, not ({pairs.n_pairs},)")
        bad = np.flatnonzero(~((means >= 0) & (means <= 1)))
        if len(bad):
            raise ValueError(f"the mean reward of ({pairs.describe(int(bad[0]))}) is NaN or outside reward_range")


def _check_profiles(profiles: Profiles, pairs: Pairs) -> None:
    if not isinstance(profiles, Profiles):
        raise TypeError(f"profiles must be what equirl.profiles(mdp) returns, not {profiles!r}")
    ptr, succ, prob = profiles
    if len(ptr) != pairs.n_pairs + 1:
        raise ValueError(f"the profiles describe {len(ptr) - 1} pairs, the problem has {pairs.n_pairs}")
    if ptr[0] != 0 or not ptr[-1] == len(succ) == len(prob) or (np.diff(ptr) < 1).any():
        raise ValueError("the profiles are not whole: ptr must rise from 0 to the number of states they list")
    row = np.repeat(np.arange(pairs.n_pairs), np.diff(ptr))
    check_entries(pairs, row, succ, prob)
    total = np.bincount(row, weights=prob)
    bad = np.flatnonzero(np.abs(total - 1) > 1e-8)
    if len(bad):
        raise ValueError(f"the profile of ({pairs.describe(int(bad[0]))}) sums to {total[bad[0]]:.10g}, not 1")
    same_row = row[1:] == row[:-1]
    bad = np.flatnonzero(same_row & (np.diff(prob) > 1e-9))
    if len(bad):
        raise ValueError(f"the profile of ({pairs.describe(int(row[bad[0]]))}) is not in decreasing order")
    place = np.sort(row * pairs.n_states + succ)
    bad = np.flatnonzero(place[1:] == place[:-1])
    if len(bad):
        raise ValueError(f"the profile of ({pairs.describe(int(place[bad[0]] // pairs.n_states))}) names a state twice")


def _check_alike(profiles: Profiles, classes: Partition, pairs: Pairs) -> None:
    """An error where two pairs of one class have different profiles: pooled, they would be neither's."""
    first = np.full(classes.n_classes, -1)
    for k, c in enumerate(classes.label.tolist()):
        if first[c] < 0:
            first[c] = k
        elif profile_l1(profiles.ptr, profiles.prob, int(first[c]), k) > 1e-6:
            one, two = pairs.describe(int(first[c])), pairs.describe(k)
            raise ValueError(f"({one}) and ({two}) are in one class, but their profiles differ")


def _recipe(name: str) -> Recipe:
    if not isinstance(name, str) or name not in AGENTS:
        raise ValueError(unknown_name("learner", name, AGENTS))
    return AGENTS[name]
