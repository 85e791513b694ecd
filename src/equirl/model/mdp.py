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
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.model.pairs import Name, Pairs, action_labels, checked_names, names_from_json, state_labels
from equirl.model.reachability import reached_along
from equirl.model.renumbering import (
    Renumbering,
    by_state,
    permutation,
    random_numbers,
    renumber_rows,
    restriction,
)
from equirl.model.reward_distributions import REWARD_DISTRIBUTIONS, original_rewards, rescale_rewards
from equirl.model.row_readers import initial_distribution, read_arrays, read_pairs, read_rows
from equirl.model.rows import ROW_TOLERANCE, Rows, checked_rows
from equirl.numerics.arrays import Frozen, frozen, owners
from equirl.numerics.seeding import seed_sequence
from equirl.words.answer_units import ByName, InUnits, UnitReward
from equirl.words.checking import checked_path, choice, discount_below_one, flag, real_array, several, unknown_name
from equirl.words.formatting import number, shown
from equirl.words.tables import Table, card

EXTRAS = ("state_names", "action_names", "reward_law", "concentration", "picture", "reward_map", "name", "discount")
FORMAT = "equirl-mdp", 1
MDP = TypeVar("MDP", bound="TabularMDP")
CARD_PAIRS, CARD_SUCCESSORS = 20, 4  # shown in a notebook


class Picture(NamedTuple):
    """A map to draw the states on."""

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
    discount : float, optional
        In [0, 1): the discount that the problem came with, kept to be used as ``solve(mdp, discount=mdp.discount)``.
        Nothing uses it unasked, and equality does not depend on it.

    Examples
    --------
    >>> mdp = TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 0.5, 1: 0.5}, 1.0), (1, 7, {0: 1.0}, 0.2)], 2)
    >>> mdp
    TabularMDP(S=2, M=3, successors=4, deterministic rewards in [0, 1])
    >>> mdp.transition_probabilities(1, 0)
    {0: 0.5, 1: 0.5}
    """

    pairs: Pairs
    rows: Rows
    r_mean: UnitReward[np.ndarray]  # (M,) in [0, 1]
    initial: np.ndarray  # (S,) distribution of the first state
    reward_law: str = "deterministic"
    concentration: float = 4.0  # of beta rewards: Beta(mean k, (1 - mean) k)
    picture: Picture | None = None
    reward_map: tuple[float, float] = (1.0, 0.0)  # scale, shift: original reward = scale * reward + shift
    name: str = ""
    discount: float | None = None  # what the problem came with, used where a caller passes it

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", checked_rows(self.pairs, self.rows))
        for field in ("r_mean", "initial"):
            object.__setattr__(self, field, frozen(field, getattr(self, field), float))
        object.__setattr__(self, "concentration", *_floats("concentration", [self.concentration], 1))
        object.__setattr__(self, "reward_map", _floats("reward_map", self.reward_map, 2))
        object.__setattr__(self, "picture", checked_picture(self.picture))
        if self.discount is not None:
            object.__setattr__(self, "discount", discount_below_one(self.discount))
        _check_fields(self)

    @classmethod
    def from_arrays(
        cls,
        transitions: Any,
        rewards: Any,
        initial: Any = 0,
        *,
        normalize: bool = False,
        rescale: bool = False,
        **extras: Any,
    ) -> Self:
        """An MDP from arrays by state and action.

        Parameters
        ----------
        transitions : array_like, shape (S, A, S), or list of scipy.sparse matrices (S, S), one per action
            ``transitions[s, a, x]``, or ``transitions[a][s, x]``, is the probability of x after action a in state s.
        rewards : array_like, shape (S, A), (S,) or (S, A, S)
            Mean rewards in [0, 1] by pair, by state, or by transition (then averaged over the successors).
        initial : int, str, tuple, dict or array_like, shape (S,), default 0
            The first state, by number or name, or its distribution: an array, or ``{state: probability}``.
        normalize : bool, default False
            Divide each row of probabilities by its sum, which must be within 0.001 of 1; for numbers rounded to
            float32 or to a few digits. By default a sum further than 1e-8 from 1 is an error.
        rescale : bool, default False
            Take rewards in any unit and map their means onto [0, 1]; ``reward_map`` leads back.
        **extras
            ``state_names``, ``action_names`` (sequences of str or tuples, of states also numbers), ``reward_law``
            ("deterministic", "bernoulli" or "beta"), ``concentration``, ``picture``, ``reward_map``, ``name``,
            ``discount``: as for the class.

        Raises
        ------
        TypeError, ValueError
            If something does not fit; the message names the state and action.

        Examples
        --------
        >>> from equirl import TabularMDP
        >>> TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]]).n_pairs
        2
        """
        names, extras = split_extras(extras)
        pairs, rows, means = read_arrays(transitions, rewards, normalize=flag("normalize", normalize))
        return _made(cls, (replace(pairs, **names), rows, means), initial, normalize, rescale, extras)

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[Any, Any, Mapping[Any, float], float]],
        n_states: int | None = None,
        initial: Any = 0,
        *,
        normalize: bool = False,
        rescale: bool = False,
        **extras: Any,
    ) -> Self:
        """An MDP from a list of its pairs; actions may differ by state, and keep their ids.

        Parameters
        ----------
        pairs : iterable of (state, action, {next: probability}, mean_reward)
            Every pair once, in any order. States and actions are numbers, or names: those that ``extras`` list, or
            any strings and tuples, which are then numbered as they first appear.
        n_states : int, optional
            The number of states; by default as many as are named, or the largest number and one.
        initial, normalize, rescale, **extras
            As for :meth:`from_arrays`.

        Examples
        --------
        >>> from equirl import TabularMDP
        >>> lamp = [("off", "press", {"on": 0.9, "off": 0.1}, 0.0), ("on", "wait", {"on": 1.0}, 1.0)]
        >>> TabularMDP.from_pairs(lamp, initial="off").transition_probabilities("off", "press")
        {'off': 0.1, 'on': 0.9}
        """
        names, extras = split_extras(extras)
        tables = read_pairs(pairs, n_states, **names, normalize=flag("normalize", normalize))
        return _made(cls, tables, initial, normalize, rescale, extras)

    @classmethod
    def from_costs(
        cls,
        problem: Any,
        costs: Any = None,
        initial: Any = 0,
        *,
        n_states: int | None = None,
        normalize: bool = False,
        **extras: Any,
    ) -> Self:
        """An MDP from what its pairs cost, in any unit: rewards are minus the costs.

        Parameters
        ----------
        problem : iterable of (state, action, {next: probability}, mean_cost), or transitions
            Pairs as for :meth:`from_pairs`, with costs in place of rewards; or transition probabilities as for
            :meth:`from_arrays`.
        costs : array_like, shape (S, A), (S,) or (S, A, S), optional
            With transitions: the mean costs, in the place of rewards.
        n_states, initial, normalize, **extras
            As for :meth:`from_pairs`.

        Returns
        -------
        TabularMDP
            With rewards in [0, 1]; ``reward_map`` leads back to minus the costs.

        Examples
        --------
        >>> from equirl import TabularMDP, solve
        >>> pump = [("ok", "run", {"ok": 0.9, "broken": 0.1}, 0.0), ("broken", "repair", {"ok": 1.0}, 500.0)]
        >>> round(solve(TabularMDP.from_costs(pump)).gain, 2)  # euros a step
        -45.45
        >>> round(solve(TabularMDP.from_costs([[[0.9, 0.1]], [[1.0, 0.0]]], [[0.0], [500.0]])).gain, 2)
        -45.45
        """
        if costs is not None:
            if n_states is not None:
                raise TypeError("n_states goes with a list of pairs; arrays have as many states as they have rows")
            return cls.from_arrays(
                problem, -real_array("costs", costs), initial, normalize=normalize, rescale=True, **extras
            )
        negated = [_minus_cost(entry) for entry in several("pairs", problem)]
        return cls.from_pairs(negated, n_states, initial, normalize=normalize, rescale=True, **extras)

    @classmethod
    def from_rows(
        cls,
        transitions: Any,
        rewards: Any,
        actions: Any,
        initial: Any = 0,
        *,
        normalize: bool = False,
        rescale: bool = False,
        **extras: Any,
    ) -> Self:
        """An MDP from one row of transition probabilities per pair, such as one scipy.sparse matrix (M, S).

        Parameters
        ----------
        transitions : scipy.sparse matrix or array_like, shape (M, S), or tuple (ptr, succ, prob)
            Transition probabilities; pairs are numbered by state, then action. As a tuple of arrays: the successors
            of pair k are ``succ[ptr[k]:ptr[k + 1]]``, in any order, with their probabilities in ``prob``.
        rewards : array_like, shape (M,)
            Mean rewards in [0, 1] by pair.
        actions : int, array_like of int, shape (S,), list of lists, or Pairs
            How many actions each state has: one number for all, or one per state. Or the actions that each state
            allows, by id or name, a list per state; or ``Pairs``.
        initial, normalize, rescale, **extras
            As for :meth:`from_arrays`.

        Examples
        --------
        >>> from equirl import TabularMDP
        >>> from scipy.sparse import csr_array
        >>> matrix = csr_array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])  # two actions in state 0, one in state 1
        >>> TabularMDP.from_rows(matrix, [0.0, 0.2, 1.0], actions=[2, 1]).transition_probabilities(0, 1)
        {0: 1.0}
        """
        names, extras = split_extras(extras)
        pairs, rows, means = read_rows(transitions, rewards, actions, normalize=flag("normalize", normalize))
        return _made(cls, (replace(pairs, **names), rows, means), initial, normalize, rescale, extras)

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return self.pairs.n_states

    @property
    def state_names(self) -> ByName[tuple[Name, ...]]:
        """What the states are called; their numbers where they have no names."""
        return tuple(state_labels(self.pairs))

    @property
    def action_names(self) -> ByName[tuple[Name, ...]]:
        """What the actions 0, 1, ... are called; their numbers where they have no names."""
        return tuple(action_labels(self.pairs, range(self.pairs.n_action_ids)))

    @property
    def n_pairs(self) -> int:
        """M, the number of state-action pairs."""
        return self.pairs.n_pairs

    @property
    def n_actions(self) -> int:
        """The largest number of actions in one state."""
        return self.pairs.n_actions

    def transition_probabilities(self, state: object, action: object) -> ByName[dict[Any, float]]:
        """Transition probabilities p(. | state, action) by next state: by name where the state is given by name."""
        part = self.rows.row(self.pairs.index(state, action))
        after: list[Any] = self.rows.succ[part].tolist()
        if self.pairs.is_state_name(state):
            after = state_labels(self.pairs, after)
        return dict(zip(after, self.rows.prob[part].tolist(), strict=True))

    @property
    def rewards(self) -> InUnits[np.ndarray]:
        """(M,) mean rewards by pair, in the user's units; ``r_mean`` has them in [0, 1]."""
        return original_rewards(self.r_mean, self.reward_map)

    def mean_reward(self, state: object, action: object) -> InUnits[float]:
        """The mean reward mu(state, action) in the user's units; both are given by number or name."""
        return float(original_rewards(self.r_mean[self.pairs.index(state, action)], self.reward_map))

    def to_arrays(self) -> InUnits[tuple[np.ndarray, np.ndarray]]:
        """Dense transitions (S, A, S) and rewards (S, A) in the user's units, for small MDPs and other libraries.

        An error unless every state has the actions 0 .. A-1.
        """
        S, A = self.n_states, self.n_actions
        if not self.pairs.is_uniform:
            raise ValueError("states differ in their actions; dense arrays need actions 0 .. A-1 in every state")
        dense = np.zeros((self.n_pairs, S))
        dense[owners(self.rows.ptr), self.rows.succ] = self.rows.prob
        return dense.reshape(S, A, S), self.rewards.reshape(S, A).copy()

    def permute(self, states: Any = None, actions: Any = None) -> TabularMDP:
        """The same MDP with states and actions numbered otherwise.

        Parameters
        ----------
        states : array_like of int, shape (S,), optional
            State s becomes ``states[s]``.
        actions : array_like of int, or one list per state, optional
            Action a becomes ``actions[a]``. Or, for each state, the new ids of its actions (its ids among
            themselves); action names, which would then mean something else in each state, are dropped.

        Examples
        --------
        >>> mdp = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
        >>> mdp.permute(states=[1, 0]).transition_probabilities(1, 0)
        {0: 0.5, 1: 0.5}
        """
        return self._renumbered(permutation(self.pairs, states, actions))

    def shuffled(self, seed: int | np.random.Generator) -> TabularMDP:
        """The same MDP with states, and actions state by state, renumbered at random."""
        rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_sequence("seed", seed))
        return self.permute(*random_numbers(self.pairs, rng))

    def reachable(self) -> np.ndarray:
        """(S,) which states can be reached from the first one under some actions."""
        return self._reachable.copy()

    @cached_property
    def _reachable(self) -> np.ndarray:
        return reached_along(self.initial > 0, self.rows.ptr[self.pairs.ptr], self.rows.succ)

    def restrict_to_reachable(self) -> TabularMDP:
        """The MDP of the reachable states alone, each named by its old name or number.

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

    def relabelled(self, reward_law: str, concentration: float, name: str) -> Self:
        """The same MDP under another reward distribution and title, all checked before: no array is looked at."""
        twin = object.__new__(type(self))
        twin.__dict__.update(vars(self), reward_law=reward_law, concentration=concentration, name=name)
        return twin

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as ``.npz`` (no pickle), written aside and renamed."""
        _save(self, checked_path("path", path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what :meth:`save` saved; ``equirl.files.DamagedFile`` where it is damaged or something else."""
        return _load(cls, checked_path("path", path))

    def __eq__(self, other: object) -> bool:
        """Same pairs, probabilities, rewards, first states, names, picture, to the last bit; not title nor discount."""
        if not isinstance(other, TabularMDP):
            return NotImplemented
        return (
            self.pairs == other.pairs
            and all(map(np.array_equal, self.rows, other.rows))
            and np.array_equal(self.r_mean, other.r_mean)
            and np.array_equal(self.initial, other.initial)
            and (self.reward_law, self.reward_map) == (other.reward_law, other.reward_map)
            and (self.reward_law != "beta" or self.concentration == other.concentration)
            and same_picture(self.picture, other.picture)
        )

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        return _card(self)

    def __repr__(self) -> str:
        title = f"{self.name!r}, " if self.name else ""
        low, high = original_rewards([self.r_mean.min(), self.r_mean.max()], self.reward_map)
        discount = "" if self.discount is None else f", discount {self.discount:g}"
        return (
            f"TabularMDP({title}S={self.n_states}, M={self.n_pairs}, successors={len(self.rows.succ)}, "
            f"{self.reward_law} rewards in [{low:g}, {high:g}]{discount})"
        )


def check_mdp(mdp: Any) -> None:
    """An error where this is no MDP; the name of a world is met with the way to make it."""
    if not isinstance(mdp, TabularMDP):
        remedy = f"; equirl.load_world({mdp!r}) makes one of a world's name or a file" if isinstance(mdp, str) else ""
        raise TypeError(f"mdp must be a TabularMDP, not {shown(mdp)}{remedy}")


def split_extras(extras: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords of the makers, as names of states and actions and the rest."""
    for key in extras:
        if key not in EXTRAS:
            raise TypeError(unknown_name("keyword", key, EXTRAS))
    names = {
        key: checked_names(key.removesuffix("_names"), several(key, extras[key]))
        for key in EXTRAS[:2]
        if extras.get(key) is not None
    }
    return names, {key: value for key, value in extras.items() if key not in EXTRAS[:2]}


def _made(
    make: type[MDP],
    tables: tuple[Pairs, Rows, np.ndarray],
    initial: Any,
    normalize: bool,
    rescale: bool,
    extras: dict[str, Any],
) -> MDP:
    """The MDP of these pairs, rows and means; ``initial`` is a state or a distribution."""
    pairs, rows, means = tables
    if flag("rescale", rescale):
        if "reward_map" in extras:
            raise TypeError("rescale=True finds the reward_map itself; leave one of them out")
        means, extras["reward_map"] = rescale_rewards(means)
    return make(pairs, rows, means, initial_distribution(initial, pairs, normalize=normalize), **extras)


def _minus_cost(entry: Any) -> tuple[Any, Any, Any, float]:
    try:
        state, action, chances, cost = entry
        return state, action, chances, -float(cost)
    except (TypeError, ValueError):
        raise ValueError(f"{shown(entry)} in pairs is not (state, action, {{next: probability}}, mean_cost)") from None


def _floats(name: str, values: Any, n: int) -> tuple[float, ...]:
    try:
        floats = tuple(map(float, values))
    except (TypeError, ValueError, OverflowError):
        floats = ()
    if len(floats) != n:
        raise TypeError(f"{name} must be {n} number{'s' * (n > 1)}, not {shown(values)}")
    return floats


def _check_fields(mdp: TabularMDP) -> None:
    """Refuse an MDP whose rewards, initial distribution, title or picture make no sense."""
    _check_means(mdp)
    _check_initial(mdp)
    choice("reward_law", mdp.reward_law, REWARD_DISTRIBUTIONS)
    if not isinstance(mdp.name, str):
        raise TypeError(f"name must be a str, not {shown(mdp.name)}")
    if not 0 < mdp.concentration < np.inf:
        raise ValueError(f"concentration must be a positive, finite number, not {mdp.concentration!r}")
    scale, shift = mdp.reward_map
    if not (0 < scale < np.inf and np.isfinite(shift)):
        raise ValueError(f"reward_map must be (scale, shift) with a positive scale, not {mdp.reward_map}")
    if mdp.picture is not None and mdp.picture.cell.shape != (mdp.n_states, 2):
        raise ValueError(f"the picture places {len(mdp.picture.cell)} states, the MDP has {mdp.n_states}")


def _check_means(mdp: TabularMDP) -> None:
    M, pairs = mdp.n_pairs, mdp.pairs
    if mdp.r_mean.shape != (M,):
        raise ValueError(f"r_mean has shape {mdp.r_mean.shape}; one mean reward per pair would be ({M},)")
    bad = np.flatnonzero(~((mdp.r_mean >= 0) & (mdp.r_mean <= 1)))
    if len(bad):
        k = int(bad[0])
        raise ValueError(
            f"the mean reward of ({pairs.describe(k)}) is {mdp.r_mean[k]:g}, outside [0, 1]; "
            "equirl.rescale_rewards maps rewards onto [0, 1], as does rescale=True"
        )


def _check_initial(mdp: TabularMDP) -> None:
    S = mdp.n_states
    if mdp.initial.shape != (S,):
        raise ValueError(f"the initial distribution has shape {mdp.initial.shape}, not ({S},)")
    bad = np.flatnonzero(~(np.isfinite(mdp.initial) & (mdp.initial >= 0)))
    if len(bad):
        raise ValueError(
            f"the initial distribution gives {mdp.pairs.call(int(bad[0]))} the probability {mdp.initial[bad[0]]}"
        )
    if abs(mdp.initial.sum() - 1) > ROW_TOLERANCE:
        raise ValueError(f"the initial distribution sums to {mdp.initial.sum():.10g}, not 1")


def checked_picture(picture: Any) -> Picture | None:
    if picture is None:
        return None
    if not isinstance(picture, Picture):
        raise TypeError(f"picture must be a Picture, not {shown(picture)}")
    rows, cell = tuple(several("picture.rows", picture.rows)), frozen("picture.cell", picture.cell, np.int64)
    if not all(isinstance(row, str) for row in rows):
        raise TypeError(f"picture.rows must be rows of text, not {shown(picture.rows)}")
    if cell.ndim != 2 or cell.shape[1] != 2:
        raise ValueError(f"picture.cell has shape {cell.shape}; a row and a column per state would be (S, 2)")
    i, j = cell.T
    width = np.array([*map(len, rows), 0])  # 0: of a row that is not there
    out = np.flatnonzero((i < 0) | (j < 0) | (j >= width[np.clip(i, 0, len(rows))]))
    if len(out):
        s = int(out[0])
        raise ValueError(f"picture.cell places state {s} at {i[s]},{j[s]}, outside the {len(rows)} rows of the map")
    return Picture(rows, cell)


def same_picture(one: Picture | None, two: Picture | None) -> bool:
    if one is None or two is None:
        return one is two
    return one.rows == two.rows and np.array_equal(one.cell, two.cell)


def _save(mdp: TabularMDP, path: str | os.PathLike[str]) -> None:
    arrays = {
        "pair_ptr": mdp.pairs.ptr, "action": mdp.pairs.action, "succ_ptr": mdp.rows.ptr,
        "succ": mdp.rows.succ, "prob": mdp.rows.prob, "r_mean": mdp.r_mean, "initial": mdp.initial,
    }  # fmt: skip
    meta: dict[str, Any] = {
        "state_names": mdp.pairs.state_names, "action_names": mdp.pairs.action_names, "name": mdp.name,
        "reward_law": mdp.reward_law, "concentration": mdp.concentration, "reward_map": mdp.reward_map,
    }  # fmt: skip
    if mdp.discount is not None:
        meta["discount"] = mdp.discount
    if mdp.picture is not None:
        meta["picture"] = mdp.picture.rows
        arrays["cell"] = mdp.picture.cell
    save_npz(path, *FORMAT, arrays, meta)


def _load(make: type[MDP], path: str | os.PathLike[str]) -> MDP:
    arrays, meta = load_npz(path, *FORMAT)
    try:
        names = {k: names_from_json(meta[k]) for k in ("state_names", "action_names")}
        pairs = Pairs(arrays["pair_ptr"], arrays["action"], **names)
        rows = Rows(arrays["succ_ptr"], arrays["succ"], arrays["prob"])
        picture = Picture(tuple(meta["picture"]), arrays["cell"]) if "picture" in meta else None
        scale, shift = meta["reward_map"]
        return make(
            pairs, rows, arrays["r_mean"], arrays["initial"], meta["reward_law"], meta["concentration"],
            picture, (scale, shift), meta["name"], meta.get("discount"),
        )  # fmt: skip
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as error:
        raise DamagedFile(f"{path} does not hold a valid MDP: {error}") from error


def _card(mdp: TabularMDP) -> str:
    """The problem as HTML; rewards in the user's units."""
    means = original_rewards(mdp.r_mean, mdp.reward_map)
    low, high = float(means.min()), float(means.max())
    facts = {
        "states": f"{mdp.n_states:,}", "pairs": f"{mdp.n_pairs:,}", "successors": f"{len(mdp.rows.succ):,}",
        "rewards": f"{mdp.reward_law}, means from {number(low, 6)} to {number(high, 6)}", "discount": mdp.discount,
    }  # fmt: skip
    n = min(CARD_PAIRS, mdp.n_pairs)
    first = Table({
        "state": state_labels(mdp.pairs, mdp.pairs.state[:n].tolist()),
        "action": action_labels(mdp.pairs, mdp.pairs.action[:n].tolist()),
        "mean_reward": means[:n],
        "leads_to": [_leads_to(mdp, k) for k in range(n)],
    })  # fmt: skip
    heading = "Pairs" if n == mdp.n_pairs else f"The first {n} of {mdp.n_pairs:,} pairs"
    return card(f"TabularMDP {mdp.name}".strip(), facts, {heading: first})


def _leads_to(mdp: TabularMDP, pair: int) -> str:
    row = mdp.rows.row(pair)
    likely = sorted(zip(mdp.rows.prob[row].tolist(), mdp.rows.succ[row].tolist(), strict=True), reverse=True)
    names = state_labels(mdp.pairs, [x for _, x in likely[:CARD_SUCCESSORS]])
    text = ", ".join(f"{name} {number(p)}" for name, (p, _) in zip(names, likely, strict=False))
    return text + (", ..." if len(likely) > CARD_SUCCESSORS else "")
