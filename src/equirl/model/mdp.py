"""Finite Markov decision processes, sparse and immutable.

An MDP has S states; in state s some actions are allowed; playing a in s pays a reward of mean mu(s, a) in [0, 1] and
leads to x with probability p(x | s, a). A *pair* is (s, a) with a allowed in s; pairs are numbered by state, then
action, and M is their number. Probabilities are kept as sparse rows by pair, so memory is O(M + successors), never
S * A * S.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equirl.model.mdp_checks import check_fields, checked_floats
from equirl.model.mdp_files import load_mdp, save_mdp
from equirl.model.mdp_makers import MdpMakers
from equirl.model.pairs import Pairs
from equirl.model.picture import Picture, checked_picture, same_picture
from equirl.model.reachability import reached
from equirl.model.renumbering import Renumbering, by_state, permutation, random_numbers, renumber_rows, restriction
from equirl.model.transition_rows import Rows, checked_rows
from equirl.numerics.arrays import Frozen, frozen, owners
from equirl.numerics.seeding import seed_sequence
from equirl.words.checking import checked_discount, checked_path
from equirl.words.formatting import shown


@dataclass(frozen=True, eq=False, repr=False)
class TabularMDP(MdpMakers, Frozen):
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
    discount: float | None = None  # what the problem came with, used where a caller passes it

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", checked_rows(self.pairs, self.rows))
        for field in ("r_mean", "initial"):
            object.__setattr__(self, field, frozen(field, getattr(self, field), float))
        object.__setattr__(self, "concentration", *checked_floats("concentration", [self.concentration], 1))
        object.__setattr__(self, "reward_map", checked_floats("reward_map", self.reward_map, 2))
        object.__setattr__(self, "picture", checked_picture(self.picture))
        if self.discount is not None:
            object.__setattr__(self, "discount", checked_discount(self.discount))
        check_fields(self)

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
        save_mdp(self, checked_path("path", path))

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
        return load_mdp(cls, checked_path("path", path))

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
        from equirl.model.mdp_card import mdp_card

        return mdp_card(self)

    def __repr__(self) -> str:
        title = f"{self.name!r}, " if self.name else ""
        low, high = self.r_mean.min(), self.r_mean.max()
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
