"""Finite Markov decision processes, sparse and immutable.

An MDP has S states; in state s some actions are allowed; playing a in s pays a reward of mean mu(s, a) in [0, 1] and
leads to x with probability p(x | s, a). A *pair* is (s, a) with a allowed in s; pairs are numbered by state, then
action, and M is their number. Probabilities are kept as sparse rows by pair, so memory is O(M + successors), never
S * A * S.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from equirl.core.arrays import Frozen, frozen, owners
from equirl.core.checking import choice, flag, several
from equirl.core.files import DamagedFile, load_npz, save_npz
from equirl.core.naming import unknown_name
from equirl.core.seeding import seed_sequence
from equirl.model.pairs import Pairs
from equirl.model.reachability import reached
from equirl.model.renumbering import Renumbering, by_state, permutation, random_numbers, renumber_rows, restriction
from equirl.model.reward_laws import REWARD_LAWS
from equirl.model.transition_rows import (
    ROW_TOLERANCE,
    Rows,
    checked_rows,
    initial_law,
    read_arrays,
    read_pairs,
    read_rows,
)

FORMAT = "equirl-mdp", 1


class Picture(NamedTuple):
    """A map to draw the states on.

    Parameters
    ----------
    rows : tuple of str
        The map: ``#`` wall, ``S`` start, ``G`` goal.
    cell : ndarray of int, shape (S, 2)
        Row and column of each state.
    """

    rows: tuple[str, ...]
    cell: np.ndarray  # (S, 2) int: row and column of each state


@dataclass(frozen=True, eq=False, repr=False)
class TabularMDP(Frozen):
    """A finite MDP, sparse and immutable.

    Make one with :meth:`from_arrays`, :meth:`from_pairs`, :meth:`from_rows`, :func:`equirl.make` or
    :func:`equirl.from_gymnasium`. The arrays are copies, read-only, and stay so after ``copy`` and ``pickle``.

    Parameters
    ----------
    pairs : Pairs
        Which actions each state allows.
    rows : Rows
        Transition probabilities, one sparse row per pair.
    r_mean : ndarray of float, shape (M,)
        Mean rewards in [0, 1].
    initial : ndarray of float, shape (S,)
        Distribution of the first state.
    reward_law : {"deterministic", "bernoulli", "beta"}
        How rewards are drawn around their means.
    concentration : float, default 4
        k of beta rewards, Beta(mean k, (1 - mean) k).
    picture : Picture, optional
        A map to draw the states on.
    reward_map : tuple of float, default (1, 0)
        (scale, shift): original reward = scale * reward + shift.
    name : str
        A title.

    Examples
    --------
    >>> mdp = TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 0.5, 1: 0.5}, 1.0), (1, 7, {0: 1.0}, 0.2)], 2)
    >>> mdp
    TabularMDP(S=2, M=3, successors=4, deterministic rewards in [0, 1])
    >>> mdp.law(1, 0)
    {0: 0.5, 1: 0.5}
    """

    pairs: Pairs
    rows: Rows
    r_mean: np.ndarray  # (M,) in [0, 1]
    initial: np.ndarray  # (S,) distribution of the first state
    reward_law: str = "deterministic"
    concentration: float = 4.0  # of beta rewards: Beta(mean k, (1 - mean) k)
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
            if not isinstance(self.picture, Picture):
                raise TypeError(f"picture must be a Picture, not {self.picture!r}")
            cell = frozen("picture.cell", self.picture.cell, np.int64)
            object.__setattr__(self, "picture", Picture(tuple(self.picture.rows), cell))
        _check(self)

    @classmethod
    def from_arrays(
        cls, transitions: Any, rewards: Any, initial: Any = 0, *, normalize: bool = False, **extras: Any
    ) -> TabularMDP:
        """An MDP from arrays by state and action.

        Parameters
        ----------
        transitions : array_like, shape (S, A, S), or list of scipy.sparse matrices (S, S), one per action
            ``transitions[s, a, x]``, or ``transitions[a][s, x]``, is the probability of x after action a in state s.
        rewards : array_like, shape (S, A), (S,) or (S, A, S)
            Mean rewards in [0, 1] by pair, by state, or by transition (then averaged over the successors).
        initial : int, str or array_like, shape (S,), default 0
            The first state, by number or name, or its distribution.
        normalize : bool, default False
            Divide each row of probabilities by its sum, which must be within 0.001 of 1; for numbers rounded to
            float32 or to a few digits. By default a sum further than 1e-8 from 1 is an error.
        **extras
            ``state_names``, ``action_names`` (sequences of str), ``reward_law`` ("deterministic", "bernoulli" or
            "beta"), ``concentration``, ``picture``, ``reward_map``, ``name``: as for the class.

        Returns
        -------
        TabularMDP

        Raises
        ------
        TypeError, ValueError
            If something does not fit; the message names the state and action.

        Examples
        --------
        >>> TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]]).n_pairs
        2
        """
        names, extras = _extras(extras)
        pairs, rows, means = read_arrays(transitions, rewards, normalize=flag("normalize", normalize))
        pairs = replace(pairs, **names)
        return cls(pairs, rows, means, initial_law(initial, pairs, normalize=normalize), **extras)

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[Any, Any, Mapping[Any, float], float]],
        n_states: int,
        initial: Any = 0,
        *,
        normalize: bool = False,
        **extras: Any,
    ) -> TabularMDP:
        """An MDP from a list of its pairs; actions may differ by state, and keep their ids.

        Parameters
        ----------
        pairs : iterable of (state, action, {next: probability}, mean_reward)
            Every pair once, in any order. States and actions are numbers, or names where ``extras`` name them.
        n_states : int
            The number of states.
        initial : int, str or array_like, shape (S,), default 0
            The first state, by number or name, or its distribution.
        normalize : bool, default False
            Divide probabilities by their sum, as in :meth:`from_arrays`.
        **extras
            As for :meth:`from_arrays`.

        Returns
        -------
        TabularMDP

        Examples
        --------
        >>> lamp = [("off", "press", {"on": 0.9, "off": 0.1}, 0.0), ("on", "wait", {"on": 1.0}, 1.0)]
        >>> TabularMDP.from_pairs(lamp, 2, state_names=["off", "on"], action_names=["press", "wait"]).law("off", 0)
        {0: 0.1, 1: 0.9}
        """
        names, extras = _extras(extras)
        found, rows, means = read_pairs(pairs, n_states, **names, normalize=flag("normalize", normalize))
        return cls(found, rows, means, initial_law(initial, found, normalize=normalize), **extras)

    @classmethod
    def from_rows(
        cls, transitions: Any, rewards: Any, actions: Any, initial: Any = 0, *, normalize: bool = False, **extras: Any
    ) -> TabularMDP:
        """An MDP from one row of transition probabilities per pair, such as one scipy.sparse matrix (M, S).

        Parameters
        ----------
        transitions : scipy.sparse matrix or array_like, shape (M, S), or tuple (ptr, succ, prob)
            Transition probabilities; pairs are numbered by state, then action. As a tuple of arrays: the successors
            of pair k are ``succ[ptr[k]:ptr[k + 1]]``, in any order, with their probabilities in ``prob``.
        rewards : array_like, shape (M,)
            Mean rewards in [0, 1] by pair.
        actions : int, array_like of int, shape (S,), or Pairs
            How many actions each state has: one number for all, or one per state. ``Pairs`` where actions have ids
            other than 0, 1, ...
        initial : int, str or array_like, shape (S,), default 0
            The first state, by number or name, or its distribution.
        normalize : bool, default False
            Divide rows by their sums, as in :meth:`from_arrays`.
        **extras
            As for :meth:`from_arrays`.

        Returns
        -------
        TabularMDP

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> matrix = csr_array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])  # two actions in state 0, one in state 1
        >>> TabularMDP.from_rows(matrix, [0.0, 0.2, 1.0], actions=[2, 1]).law(0, 1)
        {0: 1.0}
        """
        names, extras = _extras(extras)
        pairs, rows, means = read_rows(transitions, rewards, actions, normalize=flag("normalize", normalize))
        pairs = replace(pairs, **names)
        return cls(pairs, rows, means, initial_law(initial, pairs, normalize=normalize), **extras)

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return self.pairs.n_states

    @property
    def n_pairs(self) -> int:
        """M, the number of state-action pairs."""
        return self.pairs.n_pairs

    @property
    def n_actions(self) -> int:
        """The largest number of actions in one state."""
        return self.pairs.n_actions

    def law(self, state: object, action: object) -> dict[int, float]:
        """Transition probabilities p(. | state, action).

        Parameters
        ----------
        state, action : int or str
            By number or name.

        Returns
        -------
        dict of int to float
            The probability of each next state.
        """
        k = self.pairs.index(state, action)
        part = slice(self.rows.ptr[k], self.rows.ptr[k + 1])
        return dict(zip(self.rows.succ[part].tolist(), self.rows.prob[part].tolist(), strict=True))

    def mean_reward(self, state: object, action: object) -> float:
        """The mean reward mu(state, action).

        Parameters
        ----------
        state, action : int or str
            By number or name.

        Returns
        -------
        float
        """
        return float(self.r_mean[self.pairs.index(state, action)])

    def to_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Dense arrays, of S * A * S numbers: for small MDPs and other libraries.

        Returns
        -------
        transitions : ndarray of float, shape (S, A, S)
        rewards : ndarray of float, shape (S, A)

        Raises
        ------
        ValueError
            Unless every state has the actions 0 .. A-1.
        """
        S, A = self.n_states, self.n_actions
        if not self.pairs.is_uniform:
            raise ValueError("states differ in their actions; dense arrays need actions 0 .. A-1 in every state")
        dense = np.zeros((self.n_pairs, S))
        dense[owners(self.rows.ptr), self.rows.succ] = self.rows.prob
        return dense.reshape(S, A, S), self.r_mean.reshape(S, A).copy()

    def permute(self, states: Any = None, actions: Any = None) -> TabularMDP:
        """The same MDP with states and actions numbered otherwise.

        Parameters
        ----------
        states : array_like of int, shape (S,), optional
            State s becomes ``states[s]``.
        actions : array_like of int, or one list per state, optional
            Action a becomes ``actions[a]``. Or, for each state, the new ids of its actions (its ids among
            themselves); action names, which would then mean something else in each state, are dropped.

        Returns
        -------
        TabularMDP

        Examples
        --------
        >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
        >>> mdp.permute(states=[1, 0]).law(1, 0)
        {0: 0.5, 1: 0.5}
        """
        return self._renumbered(permutation(self.pairs, states, actions))

    def shuffled(self, seed: int | np.random.Generator) -> TabularMDP:
        """The same MDP with states, and actions state by state, renumbered at random.

        Parameters
        ----------
        seed : int, numpy.random.SeedSequence or numpy.random.Generator
            Where the numbers come from.

        Returns
        -------
        TabularMDP
        """
        rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_sequence("seed", seed))
        return self.permute(*random_numbers(self.pairs, rng))

    def reachable(self) -> np.ndarray:
        """Which states can be reached from the first one under some actions.

        Returns
        -------
        ndarray of bool, shape (S,)
        """
        return reached(self.initial > 0, self.pairs.state[owners(self.rows.ptr)], self.rows.succ)

    def restrict_to_reachable(self) -> TabularMDP:
        """The MDP of the reachable states alone, each named by its old name or number.

        Returns
        -------
        TabularMDP

        Examples
        --------
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
        """Save as ``.npz`` (no pickle), written aside and renamed.

        Parameters
        ----------
        path : str or path
            Where the file goes.
        """
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
        """Load what :meth:`save` saved.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        TabularMDP

        Raises
        ------
        equirl.DamagedFile
            If the file is damaged, or holds something else.
        """
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
        """Same pairs, probabilities, rewards, first states, names and picture, to the last bit (the title aside)."""
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
    """An error where this is no MDP; the name of a world is met with the way to make it.

    Parameters
    ----------
    mdp : object
        What was given.
    """
    if not isinstance(mdp, TabularMDP):
        remedy = f"; equirl.load_world({mdp!r}) makes one of a world's name or a file" if isinstance(mdp, str) else ""
        raise TypeError(f"mdp must be a TabularMDP, not {mdp!r}{remedy}")


def _extras(extras: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords of the makers, as names of states and actions and the rest."""
    known = ("state_names", "action_names", "reward_law", "concentration", "picture", "reward_map", "name")
    for key in extras:
        if key not in known:
            raise TypeError(unknown_name("keyword", key, known))
    names = {key: tuple(map(str, several(key, extras[key]))) for key in known[:2] if extras.get(key) is not None}
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
        raise ValueError(f"r_mean has shape {mdp.r_mean.shape}; one mean reward per pair would be ({M},)")
    bad = np.flatnonzero(~((mdp.r_mean >= 0) & (mdp.r_mean <= 1)))
    if len(bad):
        k = int(bad[0])
        raise ValueError(
            f"the mean reward of ({pairs.describe(k)}) is {mdp.r_mean[k]:g}, outside [0, 1]; "
            "equirl.rescale_rewards maps rewards onto [0, 1]"
        )
    if mdp.initial.shape != (S,):
        raise ValueError(f"the initial distribution has shape {mdp.initial.shape}, not ({S},)")
    bad = np.flatnonzero(~(np.isfinite(mdp.initial) & (mdp.initial >= 0)))
    if len(bad):
        raise ValueError(f"the initial distribution gives state {bad[0]} the probability {mdp.initial[bad[0]]}")
    if abs(mdp.initial.sum() - 1) > ROW_TOLERANCE:
        raise ValueError(f"the initial distribution sums to {mdp.initial.sum():.10g}, not 1")
    choice("reward_law", mdp.reward_law, REWARD_LAWS)
    if not isinstance(mdp.name, str):
        raise TypeError(f"name must be a str, not {mdp.name!r}")
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
