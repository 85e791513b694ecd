"""Finite Markov decision processes, sparse and immutable.

An MDP has S states; in state s some actions are allowed; playing a in s pays a reward of mean mu(s, a) in [0, 1] and
leads to x with probability p(x | s, a). A *pair* is (s, a) with a allowed in s; pairs are numbered by state, then
action, and M is their number. Laws are kept as sparse rows by pair, so memory is O(M + successors), never S * A * S.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from equirl.core.checking import real_array
from equirl.core.files import DamagedFile, load_npz, save_npz
from equirl.core.naming import unknown_name
from equirl.core.seeding import seed_sequence
from equirl.model.pairs import Pairs, frozen
from equirl.model.reachability import reached
from equirl.model.renumbering import Renumbering, by_state, permutation, random_numbers, renumber_rows, restriction
from equirl.model.transition_rows import ROW_TOLERANCE, Rows, checked_rows, initial_law, read_arrays, read_pairs

REWARD_LAWS = ("deterministic", "bernoulli", "beta")
FORMAT = "equirl-mdp", 1


class Picture(NamedTuple):
    """A map to draw the states on: text rows (``#`` wall, ``S`` start, ``G`` goal) and the cell of each state."""

    rows: tuple[str, ...]
    cell: np.ndarray  # (S, 2) int: row and column of each state


@dataclass(frozen=True, eq=False, repr=False)
class TabularMDP:
    """A finite MDP. Make one with :meth:`from_arrays`, :meth:`from_pairs`, ``equirl.make`` or ``from_gymnasium``.

    >>> mdp = TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 0.5, 1: 0.5}, 1.0), (1, 7, {0: 1.0}, 0.2)], 2)
    >>> mdp
    TabularMDP(S=2, M=3, successors=4, deterministic rewards in [0, 1])
    >>> mdp.law(1, 0)
    {0: 0.5, 1: 0.5}
    """

    pairs: Pairs
    rows: Rows
    r_mean: np.ndarray  # (M,) in [0, 1]
    initial: np.ndarray  # (S,) law of the first state
    reward_law: str = "deterministic"
    concentration: float = 4.0  # of a beta reward law: Beta(mean k, (1 - mean) k)
    picture: Picture | None = None
    reward_map: tuple[float, float] = (1.0, 0.0)  # scale, shift: original reward = scale * reward + shift
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", checked_rows(self.pairs, self.rows))
        for field in ("r_mean", "initial"):
            object.__setattr__(self, field, frozen(field, getattr(self, field), float))
        object.__setattr__(self, "concentration", *_floats("concentration", [self.concentration], 1))
        object.__setattr__(self, "reward_map", _floats("reward_map", self.reward_map, 2))
        if self.picture is not None:
            cell = frozen("picture.cell", self.picture.cell, np.int64)
            object.__setattr__(self, "picture", Picture(tuple(self.picture.rows), cell))
        _check(self)

    @classmethod
    def from_arrays(cls, transitions: Any, rewards: Any, initial: Any = 0, **extras: Any) -> TabularMDP:
        """An MDP from arrays: (S, A, S) transitions or one scipy.sparse (S, S) matrix per action; (S, A) rewards.

        ``initial`` is a state or a law of length S. Further keywords: ``state_names``, ``action_names``,
        ``reward_law`` ("deterministic", "bernoulli" or "beta"), ``concentration``, ``name``.

        >>> TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]]).n_pairs
        2
        """
        names, extras = _extras(extras)
        pairs, rows, means = read_arrays(transitions, rewards)
        return cls._assemble(replace(pairs, **names), rows, means, initial, extras)

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[Any, Any, Mapping[Any, float], float]],
        n_states: int,
        initial: Any = 0,
        **extras: Any,
    ) -> TabularMDP:
        """An MDP from (state, action, {next: probability}, mean_reward); actions may differ by state, and keep ids.

        Keywords as for :meth:`from_arrays`; where they name states or actions, ``pairs`` may use the names.
        """
        names, extras = _extras(extras)
        return cls._assemble(*read_pairs(pairs, n_states, **names), initial, extras)

    @classmethod
    def _assemble(cls, pairs: Pairs, rows: Rows, means: np.ndarray, initial: Any, extras: dict[str, Any]) -> TabularMDP:
        return cls(pairs, rows, means, initial_law(initial, pairs), **extras)

    @property
    def n_states(self) -> int:
        return self.pairs.n_states

    @property
    def n_pairs(self) -> int:
        return self.pairs.n_pairs

    @property
    def n_actions(self) -> int:
        """The largest number of actions in one state."""
        return self.pairs.n_actions

    def law(self, state: object, action: object) -> dict[int, float]:
        """p(. | state, action) as {next state: probability}."""
        k = self.pairs.index(state, action)
        part = slice(self.rows.ptr[k], self.rows.ptr[k + 1])
        return dict(zip(self.rows.succ[part].tolist(), self.rows.prob[part].tolist(), strict=True))

    def mean_reward(self, state: object, action: object) -> float:
        """mu(state, action)."""
        return float(self.r_mean[self.pairs.index(state, action)])

    def to_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Dense (S, A, S) transitions and (S, A) rewards; only where every state has actions 0 .. A-1.

        Costs S * A * S numbers: for small MDPs and other libraries.
        """
        S, A = self.n_states, self.n_actions
        if not self.pairs.is_uniform:
            raise ValueError("states differ in their actions; dense arrays need actions 0 .. A-1 in every state")
        dense = np.zeros((self.n_pairs, S))
        dense[np.repeat(np.arange(self.n_pairs), np.diff(self.rows.ptr)), self.rows.succ] = self.rows.prob
        return dense.reshape(S, A, S), self.r_mean.reshape(S, A).copy()

    def permute(self, states: Any = None, actions: Any = None) -> TabularMDP:
        """The same MDP with state s renumbered ``states[s]`` and action a ``actions[a]``.

        ``actions`` may also list, for each state, the new ids of its actions (its ids among themselves); action
        names, which would then mean something else in each state, are dropped.

        >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
        >>> mdp.permute(states=[1, 0]).law(1, 0)
        {0: 0.5, 1: 0.5}
        """
        return self._renumbered(permutation(self.pairs, states, actions))

    def shuffled(self, seed: int | np.random.Generator) -> TabularMDP:
        """The same MDP with states, and actions state by state, renumbered at random."""
        rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_sequence("seed", seed))
        return self.permute(*random_numbers(self.pairs, rng))

    def reachable(self) -> np.ndarray:
        """(S,) which states can be reached from the initial law under some actions."""
        return reached(self.initial > 0, np.repeat(self.pairs.state, np.diff(self.rows.ptr)), self.rows.succ)

    def restrict_to_reachable(self) -> TabularMDP:
        """The MDP of the reachable states alone, each named by its old name or number.

        >>> TabularMDP.from_pairs([(0, 0, {0: 1}, 0), (1, 0, {0: 1}, 0)], 2).restrict_to_reachable().n_states
        1
        """
        return self._renumbered(restriction(self.pairs, self.reachable()))

    def _renumbered(self, way: Renumbering) -> TabularMDP:
        picture = self.picture and Picture(self.picture.rows, by_state(self.picture.cell, way))
        return replace(
            self, pairs=way.pairs, rows=renumber_rows(self.rows, way), r_mean=self.r_mean[way.source],
            initial=by_state(self.initial, way), picture=picture,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as ``.npz`` (no pickle), written aside and renamed."""
        arrays = {
            "pair_ptr": self.pairs.ptr, "action": self.pairs.action, "succ_ptr": self.rows.ptr,
            "succ": self.rows.succ, "prob": self.rows.prob, "r_mean": self.r_mean, "initial": self.initial,
        }  # fmt: skip
        meta: dict[str, Any] = {
            "state_names": self.pairs.state_names, "action_names": self.pairs.action_names, "name": self.name,
            "reward_law": self.reward_law, "concentration": self.concentration, "reward_map": self.reward_map,
        }  # fmt: skip
        if self.picture is not None:
            meta["picture"] = self.picture.rows
            arrays["cell"] = self.picture.cell
        save_npz(path, *FORMAT, arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TabularMDP:
        """Load what :meth:`save` saved; a damaged or foreign file gives a clear error."""
        arrays, meta = load_npz(path, *FORMAT)
        try:
            names = {k: tuple(meta[k]) if meta[k] else None for k in ("state_names", "action_names")}
            pairs = Pairs(arrays["pair_ptr"], arrays["action"], **names)
            rows = Rows(arrays["succ_ptr"], arrays["succ"], arrays["prob"])
            picture = Picture(tuple(meta["picture"]), arrays["cell"]) if "picture" in meta else None
            scale, shift = meta["reward_map"]
            return cls(
                pairs, rows, arrays["r_mean"], arrays["initial"], meta["reward_law"], meta["concentration"],
                picture, (scale, shift), meta["name"],
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DamagedFile(f"{path} does not hold a valid MDP: {error}") from error

    def __eq__(self, other: object) -> bool:
        """Same pairs, laws, rewards, initial law, names and picture, to the last bit (the title aside)."""
        if not isinstance(other, TabularMDP):
            return NotImplemented
        return (
            self.pairs == other.pairs
            and all(map(np.array_equal, self.rows, other.rows))
            and np.array_equal(self.r_mean, other.r_mean)
            and np.array_equal(self.initial, other.initial)
            and (self.reward_law, self.reward_map) == (other.reward_law, other.reward_map)
            and (self.reward_law != "beta" or self.concentration == other.concentration)
            and _same_picture(self.picture, other.picture)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        title = f"{self.name!r}, " if self.name else ""
        low, high = self.r_mean.min(), self.r_mean.max()
        return (
            f"TabularMDP({title}S={self.n_states}, M={self.n_pairs}, successors={len(self.rows.succ)}, "
            f"{self.reward_law} rewards in [{low:g}, {high:g}])"
        )


def check_mdp(mdp: Any) -> None:
    """An error where this is no MDP; the name of a world is met with the way to make it."""
    if not isinstance(mdp, TabularMDP):
        remedy = f"; equirl.load_world({mdp!r}) makes one of a world's name or a file" if isinstance(mdp, str) else ""
        raise TypeError(f"mdp must be a TabularMDP, not {mdp!r}{remedy}")


def rescale_rewards(rewards: Any) -> tuple[np.ndarray, tuple[float, float]]:
    """Map rewards affinely onto [0, 1]; returns them with (scale, shift): original = scale * mapped + shift.

    >>> rescale_rewards([-1.0, 0.0, 3.0])
    (array([0.  , 0.25, 1.  ]), (4.0, -1.0))
    """
    values = real_array("rewards", rewards)
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError("rewards must be finite numbers, at least one")
    low, high = float(values.min()), float(values.max())
    scale = high - low or 1.0
    return (values - low) / scale, (scale, low)


def _extras(extras: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords of the makers, as names of states and actions and the rest."""
    known = ("state_names", "action_names", "reward_law", "concentration", "picture", "reward_map", "name")
    for key in extras:
        if key not in known:
            raise TypeError(unknown_name("keyword", key, known))
    names = {key: tuple(map(str, extras[key])) for key in known[:2] if extras.get(key) is not None}
    return names, {key: value for key, value in extras.items() if key not in known[:2]}


def _floats(name: str, values: Any, n: int) -> tuple[float, ...]:
    try:
        floats = tuple(map(float, values))
    except (TypeError, ValueError):
        floats = ()
    if len(floats) != n:
        raise TypeError(f"{name} must be {n} number{'s' * (n > 1)}, not {values!r}")
    return floats


def _check(mdp: TabularMDP) -> None:
    S, M, pairs = mdp.n_states, mdp.n_pairs, mdp.pairs
    if mdp.r_mean.shape != (M,):
        raise ValueError(f"there are {M} pairs and {mdp.r_mean.size} mean rewards")
    bad = np.flatnonzero(~((mdp.r_mean >= 0) & (mdp.r_mean <= 1)))
    if len(bad):
        k = int(bad[0])
        raise ValueError(
            f"the mean reward of ({pairs.describe(k)}) is {mdp.r_mean[k]:g}, outside [0, 1]; "
            "equirl.rescale_rewards maps rewards onto [0, 1]"
        )
    if mdp.initial.shape != (S,):
        raise ValueError(f"the initial law has shape {mdp.initial.shape}, not ({S},)")
    bad = np.flatnonzero(~(np.isfinite(mdp.initial) & (mdp.initial >= 0)))
    if len(bad):
        raise ValueError(f"the initial law gives state {bad[0]} the probability {mdp.initial[bad[0]]}")
    if abs(mdp.initial.sum() - 1) > ROW_TOLERANCE:
        raise ValueError(f"the initial law sums to {mdp.initial.sum():.10g}, not 1")
    if mdp.reward_law not in REWARD_LAWS:
        raise ValueError(unknown_name("reward law", mdp.reward_law, REWARD_LAWS))
    if not 0 < mdp.concentration < np.inf:
        raise ValueError(f"concentration must be a positive, finite number, not {mdp.concentration!r}")
    scale, shift = mdp.reward_map
    if not (0 < scale < np.inf and np.isfinite(shift)):
        raise ValueError(f"reward_map must be (scale, shift) with a positive scale, not {mdp.reward_map}")
    if mdp.picture is not None and mdp.picture.cell.shape != (S, 2):
        raise ValueError(f"the picture places {len(mdp.picture.cell)} states, the MDP has {S}")


def _same_picture(one: Picture | None, two: Picture | None) -> bool:
    if one is None or two is None:
        return one is two
    return one.rows == two.rows and np.array_equal(one.cell, two.cell)
