"""The ways to make an MDP from what users hold: arrays by state and action, a list of pairs, a row per pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from equirl.model.names import checked_names
from equirl.model.pairs import Pairs
from equirl.model.reward_laws import rescale_rewards
from equirl.model.row_readers import initial_law, read_arrays, read_pairs, read_rows
from equirl.model.transition_rows import Rows
from equirl.words.checking import flag, several, unknown_name
from equirl.words.formatting import shown

EXTRAS = ("state_names", "action_names", "reward_law", "concentration", "picture", "reward_map", "name", "discount")


class MdpMakers:
    """What :class:`equirl.model.mdp.TabularMDP` is made with; it inherits these methods."""

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

        Returns
        -------
        TabularMDP

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
        names, extras = _split_extras(extras)
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
        initial : int, str, tuple, dict or array_like, shape (S,), default 0
            The first state, by number or name, or its distribution, as in :meth:`from_arrays`.
        normalize : bool, default False
            Divide probabilities by their sum, as in :meth:`from_arrays`.
        rescale : bool, default False
            Take rewards in any unit, as in :meth:`from_arrays`.
        **extras
            As for :meth:`from_arrays`.

        Returns
        -------
        TabularMDP

        Examples
        --------
        >>> from equirl import TabularMDP
        >>> lamp = [("off", "press", {"on": 0.9, "off": 0.1}, 0.0), ("on", "wait", {"on": 1.0}, 1.0)]
        >>> TabularMDP.from_pairs(lamp, initial="off").law("off", "press")
        {0: 0.1, 1: 0.9}
        """
        names, extras = _split_extras(extras)
        tables = read_pairs(pairs, n_states, **names, normalize=flag("normalize", normalize))
        return _made(cls, tables, initial, normalize, rescale, extras)

    @classmethod
    def from_costs(
        cls,
        pairs: Iterable[tuple[Any, Any, Mapping[Any, float], float]],
        n_states: int | None = None,
        initial: Any = 0,
        *,
        normalize: bool = False,
        **extras: Any,
    ) -> Self:
        """An MDP from a list of its pairs and what they cost, in any unit: rewards are minus the costs.

        Parameters
        ----------
        pairs : iterable of (state, action, {next: probability}, mean_cost)
            As for :meth:`from_pairs`, with costs in place of rewards.
        n_states : int, optional
            As for :meth:`from_pairs`.
        initial : int, str, tuple, dict or array_like, shape (S,), default 0
            The first state or its distribution, as in :meth:`from_arrays`.
        normalize : bool, default False
            Divide probabilities by their sum, as in :meth:`from_arrays`.
        **extras
            As for :meth:`from_arrays`.

        Returns
        -------
        TabularMDP
            With rewards in [0, 1]; ``reward_map`` leads back to minus the costs.

        Examples
        --------
        >>> from equirl import TabularMDP, solve
        >>> pump = [("ok", "run", {"ok": 0.9, "broken": 0.1}, 0.0), ("broken", "repair", {"ok": 1.0}, 500.0)]
        >>> round(solve(TabularMDP.from_costs(pump)).original_gain, 2)  # euros a step
        -45.45
        """
        negated = [_minus_cost(entry) for entry in several("pairs", pairs)]
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
        initial : int, str, tuple, dict or array_like, shape (S,), default 0
            The first state, by number or name, or its distribution, as in :meth:`from_arrays`.
        normalize : bool, default False
            Divide rows by their sums, as in :meth:`from_arrays`.
        rescale : bool, default False
            Take rewards in any unit, as in :meth:`from_arrays`.
        **extras
            As for :meth:`from_arrays`.

        Returns
        -------
        TabularMDP

        Examples
        --------
        >>> from equirl import TabularMDP
        >>> from scipy.sparse import csr_array
        >>> matrix = csr_array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])  # two actions in state 0, one in state 1
        >>> TabularMDP.from_rows(matrix, [0.0, 0.2, 1.0], actions=[2, 1]).law(0, 1)
        {0: 1.0}
        """
        names, extras = _split_extras(extras)
        pairs, rows, means = read_rows(transitions, rewards, actions, normalize=flag("normalize", normalize))
        return _made(cls, (replace(pairs, **names), rows, means), initial, normalize, rescale, extras)


def _split_extras(extras: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
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
    make: Any,
    tables: tuple[Pairs, Rows, np.ndarray],
    initial: Any,
    normalize: bool,
    rescale: bool,
    extras: dict[str, Any],
) -> Any:
    """The MDP of these pairs, rows and means; ``initial`` is a state or a distribution."""
    pairs, rows, means = tables
    if flag("rescale", rescale):
        if "reward_map" in extras:
            raise TypeError("rescale=True finds the reward_map itself; leave one of them out")
        means, extras["reward_map"] = rescale_rewards(means)
    return make(pairs, rows, means, initial_law(initial, pairs, normalize=normalize), **extras)


def _minus_cost(entry: Any) -> tuple[Any, Any, Any, float]:
    try:
        state, action, law, cost = entry
        return state, action, law, -float(cost)
    except (TypeError, ValueError):
        raise ValueError(f"{shown(entry)} in pairs is not (state, action, {{next: probability}}, mean_cost)") from None
