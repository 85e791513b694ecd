"""Pairs (s, a): which actions each state allows, and how pairs are numbered (by state, then action)."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equirl.numerics.arrays import Frozen, frozen, owners, sealed, starts
from equirl.words.checking import plain_array, several, unknown_name, whole_array, whole_number
from equirl.words.formatting import shown
from equirl.words.tables import Table

MOST_STATES = int(np.iinfo(np.int32).max)  # successors are stored as int32
MOST_PAIRS = MOST_STATES
MOST_BITS = 1024  # of a number that is a name, as of a float: Python refuses to spell out much longer ones
Name = str | int | float | tuple[Any, ...]


class NameNumbers(dict[Name, int]):
    """The number of each name, in their order."""

    def __init__(self, names: Iterable[Name]) -> None:
        super().__init__((name, k) for k, name in enumerate(names))
        self.are_numbers = any(isinstance(name, int | float) for name in self)  # then a number is always a name

    def find(self, value: Any) -> int | None:
        """The number of a name; None where there is no such name."""
        try:
            return self.get(plain_name(value))
        except TypeError:  # it holds something that cannot be looked up
            return None


def plain_name(value: Any) -> Any:
    """A value as a name: NumPy's scalars as Python's, arrays and lists as tuples, True and False as 1 and 0."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain_name(part) for part in value)
    return int(value) if isinstance(value, bool) else value


def checked_names(kind: str, values: Iterable[Any]) -> tuple[Name, ...]:
    """Names, all different; numbers that name actions become text."""
    names = tuple(plain_name(value) for value in values)
    if kind == "action":
        names = tuple(str(name) if isinstance(name, int | float) else name for name in names)
    check_names(kind, names)
    return names


def check_names(kind: str, names: Any) -> None:
    if not isinstance(names, tuple):
        raise TypeError(f"{kind} names must be a tuple of str, numbers or tuples, not {shown(names)}")
    if set(map(type, names)) != {str}:
        for name in names:
            if not is_name(name):
                raise TypeError(f"{kind} names must be strings, numbers or tuples of them, not {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"two {kind}s are named {shown(Counter(names).most_common(1)[0][0])}")


def is_name(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(is_name, value))
    if isinstance(value, int):
        return value.bit_length() <= MOST_BITS
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def names_from_json(values: Any) -> tuple[Name, ...] | None:
    """Names as a file holds them: JSON has lists in place of tuples."""
    return tuple(map(plain_name, values)) if values else None


def names_within(values: Iterable[Any]) -> tuple[Name, ...] | None:
    """The different values as they first appear, where there is a string or tuple among them; None for numbers."""
    names = [plain_name(value) for value in values]
    return tuple(dict.fromkeys(names)) if any(isinstance(name, str | tuple) for name in names) else None


@dataclass(frozen=True, eq=False)
class Pairs(Frozen):
    """The state-action pairs of a problem, numbered by state, then action.

    Parameters
    ----------
    ptr : ndarray of int64, shape (S + 1,)
        The pairs of state s are ``ptr[s]:ptr[s + 1]``.
    action : ndarray of int64, shape (M,)
        The action id of each pair, increasing inside a state.
    state_names : tuple of str, int, float or tuple, shape (S,), optional
        Names that may stand for the numbers of the states. Where some are numbers, a number given is always a name.
    action_names : tuple of str or tuple, optional
        Names of the action ids 0, 1, ..., at least up to the largest in use.

    Examples
    --------
    >>> pairs = Pairs.uniform(3, 2)
    >>> pairs.n_pairs, pairs.index(2, 1)
    (6, 5)
    """

    ptr: np.ndarray  # (S + 1,) int64
    action: np.ndarray  # (M,) int64, increasing inside a state
    state_names: tuple[Name, ...] | None = None  # (S,)
    action_names: tuple[Name, ...] | None = None  # (largest action id + 1,) or more

    def __post_init__(self) -> None:
        for field in ("ptr", "action"):
            object.__setattr__(self, field, frozen(field, getattr(self, field), np.int64))
        _check(self)

    @classmethod
    def uniform(cls, n_states: int, n_actions: int | Sequence[int] | np.ndarray) -> Pairs:
        """Actions 0, 1, ... in each state.

        Parameters
        ----------
        n_states : int
            The number of states.
        n_actions : int or array_like of int, shape (S,)
            How many actions each state has: one number for all, or one per state.

        Examples
        --------
        >>> Pairs.uniform(2, [1, 3]).action
        array([0, 0, 1, 2])
        """
        n_states = whole_number("n_states", n_states, most=MOST_STATES)
        if plain_array("n_actions", n_actions).ndim == 0:
            per_state = np.full(n_states, whole_number("n_actions", n_actions, most=MOST_PAIRS))
        else:
            per_state = whole_array("n_actions", n_actions, least=1)
        if per_state.shape != (n_states,):
            raise ValueError(f"n_actions has shape {per_state.shape}; one number per state would be ({n_states},)")
        if (total := per_state.sum(dtype=float)) > MOST_PAIRS:  # as a float: integers could overflow
            raise ValueError(f"n_actions is too large: {n_states} states would have {total:g} pairs, of {MOST_PAIRS}")
        ptr = starts(per_state)
        return cls(ptr, np.arange(ptr[-1], dtype=np.int64) - np.repeat(ptr[:-1], per_state))

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return len(self.ptr) - 1

    @property
    def n_pairs(self) -> int:
        """M, the number of pairs."""
        return len(self.action)

    @cached_property
    def n_actions(self) -> int:
        """The largest number of actions in one state."""
        return int(np.diff(self.ptr).max())

    @cached_property
    def n_action_ids(self) -> int:
        """The largest action id, plus one."""
        return int(self.action.max()) + 1

    @cached_property
    def is_uniform(self) -> bool:
        """Whether every state has the actions 0 .. A-1."""
        return self.n_actions == self.n_action_ids and self.n_pairs == self.n_states * self.n_actions

    @cached_property
    def state(self) -> np.ndarray:
        """(M,) the state of each pair."""
        return sealed(owners(self.ptr))

    def state_number(self, state: object) -> int:
        """The number of a state, given by number or name; an error where there is no such state."""
        return number_of("state", state, self.n_states, self._state_numbers)

    def is_state_name(self, state: object) -> bool:
        """Whether a state is given by its name, not by its number."""
        numbers = self._state_numbers
        return numbers is not None and (numbers.are_numbers or not isinstance(state, int | np.integer))

    def action_number(self, action: object) -> int:
        """The id of an action, given by id or name, allowed somewhere or not."""
        return number_of("action", action, self.n_action_ids, self._action_numbers)

    def index(self, state: object, action: object) -> int:
        """The number of a pair, its state and action given by number or name; an error where it is not allowed."""
        s, a = self.state_number(state), self.action_number(action)
        k = self.find(s, a)
        if k < 0:
            raise ValueError(f"action {action!r} is not allowed in state {state!r} (allowed: {self.allowed(s)})")
        return k

    def find(self, state: int, action: int) -> int:
        """The pair of a state's number and an action's id; -1 where the state does not allow it."""
        first, last = int(self.ptr[state]), int(self.ptr[state + 1])
        k = first + int(np.searchsorted(self.action[first:last], action))
        return k if k < last and self.action[k] == action else -1

    def allowed(self, state: int) -> str:
        """The actions of a state in words, for messages: ids, or names where there are any."""
        s = self.state_number(state)
        ids = self.action[self.ptr[s] : self.ptr[s + 1]].tolist()
        return ", ".join(repr(self.action_names[a]) if self.action_names else str(a) for a in ids)

    def call(self, state: int) -> str:
        """A state in words, for messages: ``state 3``, or its name."""
        named = self.state_names is not None and state < len(self.state_names)
        return f"state {self.state_names[state]!r}" if named else f"state {state}"  # type: ignore[index]

    def describe(self, pair: int) -> str:
        """A pair in words, for messages: ``s=3, a=1``, or the names."""
        k = whole_number("pair", pair, least=0, most=self.n_pairs - 1)
        s, a = int(self.state[k]), int(self.action[k])
        s_text = repr(self.state_names[s]) if self.state_names else str(s)
        a_text = repr(self.action_names[a]) if self.action_names else str(a)
        return f"s={s_text}, a={a_text}"

    @cached_property
    def _state_numbers(self) -> NameNumbers | None:
        return numbered(self.state_names)

    @cached_property
    def _action_numbers(self) -> NameNumbers | None:
        return numbered(self.action_names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        same_names = self.state_names == other.state_names and self.action_names == other.action_names
        return same_names and np.array_equal(self.ptr, other.ptr) and np.array_equal(self.action, other.action)

    __hash__ = None  # type: ignore[assignment]


def numbered(names: Sequence[Name] | None) -> NameNumbers | None:
    return None if names is None else NameNumbers(names)


def number_of(kind: str, value: object, limit: int, numbers: NameNumbers | None) -> int:
    """The number of a state or action given by number or name; an error says what is wrong with it."""
    if numbers is not None and (numbers.are_numbers or not isinstance(value, int)):
        found = numbers.find(value)
        if found is not None:
            return found
        if isinstance(value, str | tuple) or numbers.are_numbers:
            raise ValueError(unknown_name(kind, value, map(str, numbers)))
    if isinstance(value, str | tuple):
        raise ValueError(f"{kind} {shown(value)} is a name, but the problem names no {kind}s; give a number")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        if isinstance(value, np.ndarray) and value.size == 1 and np.issubdtype(value.dtype, np.integer):
            number = int(value.item())
        else:
            article = "an" if kind[0] in "aeiou" else "a"
            raise TypeError(f"{article} {kind} is an integer or a name, not {shown(value)}") from None
    if not 0 <= number < limit:
        raise ValueError(f"{kind} {shown(number)} is out of range: there are {limit} {kind}s, 0 to {limit - 1}")
    return number


def pair_number(pairs: Pairs, pair: Any) -> int:
    """The number of a pair given by its number or as (state, action)."""
    if isinstance(pair, tuple) and len(pair) == 2:
        return pairs.index(*pair)
    try:
        number = operator.index(pair)
    except TypeError:
        raise TypeError(f"a pair is its number or (state, action), not {shown(pair)}") from None
    if not 0 <= number < pairs.n_pairs:
        raise ValueError(f"there is no pair {shown(number)}: pairs are 0 to {pairs.n_pairs - 1}")
    return number


def state_labels(pairs: Pairs, states: Iterable[int] | None = None) -> list[Name]:
    """What to call states in a table."""
    names = pairs.state_names or range(pairs.n_states)
    return list(names) if states is None else [names[s] for s in states]


def action_labels(pairs: Pairs, actions: Iterable[int]) -> list[Name]:
    """What to call actions in a table."""
    names = pairs.action_names
    return [int(a) if names is None else names[a] for a in actions]


def policy_table(pairs: Pairs, policy: np.ndarray, columns: Mapping[str, Any]) -> Table:
    """A row per state: its name, that of its action (an id per state), and the ``columns``."""
    return Table({"state": state_labels(pairs), "action": action_labels(pairs, policy.tolist()), **columns})


def named_policy(pairs: Pairs, policy: np.ndarray) -> dict[Name, Name]:
    """``{state: action}`` of an action id per state, by name where there are names."""
    return dict(zip(state_labels(pairs), action_labels(pairs, policy.tolist()), strict=True))


def _check(pairs: Pairs) -> None:
    ptr, action = pairs.ptr, pairs.action
    if ptr.ndim != 1 or action.ndim != 1 or len(ptr) < 2:
        raise ValueError(f"pairs need ptr (S + 1,) and action (M,), not {ptr.shape} and {action.shape}")
    if ptr[0] != 0 or ptr[-1] != len(action):
        raise ValueError(f"ptr runs from {ptr[0]} to {ptr[-1]}, not from 0 to the {len(action)} pairs")
    empty = np.flatnonzero(ptr[1:] <= ptr[:-1])  # differences could overflow
    if len(empty):
        raise ValueError(f"{pairs.call(int(empty[0]))} has no action; every state needs at least one")
    falls = np.flatnonzero((np.diff(action) <= 0) & (np.diff(pairs.state) == 0))
    if len(falls) or action.min() < 0:
        k = int(falls[0]) + 1 if len(falls) else int(action.argmin())
        raise ValueError(
            f"action ids of {pairs.call(int(pairs.state[k]))} must increase from 0 or more; found {action[k]}"
        )
    _check_number_of_names("state", pairs.state_names, pairs.n_states, pairs.n_states)
    _check_number_of_names("action", pairs.action_names, pairs.n_action_ids, np.inf)


def _check_number_of_names(kind: str, names: tuple[Name, ...] | None, least: int, most: float) -> None:
    if names is None:
        return
    check_names(kind, names)
    if not least <= len(names) <= most:
        raise ValueError(f"{len(names)} {kind} names for {least} {kind}s")


SETS = (list, tuple, set, frozenset, range, np.ndarray)


def pairs_from(states: Any, actions: Any) -> Pairs:
    """The pairs of a problem from its states and actions, as users give them: how many, by name, by state."""
    try:
        names = checked_names("state", states) if _is_several(states) else None
    except (TypeError, ValueError) as error:
        raise type(error)(f"n_states: {error}") from None
    n_states = whole_number("n_states", states, most=MOST_STATES) if names is None else len(names)
    if isinstance(actions, Mapping):
        sets = _by_state(actions, n_states, names)
    else:
        listed = several("n_actions", actions) if _is_several(actions) else None
        if listed is None or not any(isinstance(entry, (str, *SETS)) for entry in listed):
            plain = Pairs.uniform(n_states, actions)
            return Pairs(plain.ptr, plain.action, names)
        if all(isinstance(entry, str) for entry in listed):
            sets = [listed] * int(n_states)
        else:
            sets = [
                _action_set(entry, s if names is None or s >= len(names) else names[s])
                for s, entry in enumerate(listed)
            ]
    if len(sets) != n_states:
        raise ValueError(f"n_actions lists the actions of {len(sets)} states; there are {n_states}")
    return _from_sets(sets, names)


def _is_several(values: Any) -> bool:
    return isinstance(values, SETS) and (not isinstance(values, np.ndarray) or values.ndim > 0)


def _by_state(actions: Mapping[Any, Any], n_states: int, names: Any) -> list[Any]:
    numbers = numbered(names)
    sets: list[Any] = [None] * int(n_states)
    for state, allowed in actions.items():
        try:
            s = number_of("state", state, int(n_states), numbers)
        except (TypeError, ValueError) as error:
            raise type(error)(f"n_actions: {error}") from None
        sets[s] = _action_set(allowed, state)
    for s, allowed in enumerate(sets):
        if allowed is None:
            raise ValueError(f"n_actions lists no actions of state {s if names is None else names[s]!r}")
    return sets


def _action_set(entry: Any, state: Any) -> list[Any]:
    if not isinstance(entry, SETS):
        raise TypeError(f"the actions of state {shown(state)} must be a list of ids or names, not {entry!r}")
    return several("actions", entry)


def _from_sets(sets: list[Any], state_names: Any) -> Pairs:
    listed = [action for allowed in sets for action in allowed]
    names = None
    if any(isinstance(action, str | tuple) for action in listed):
        names = checked_names("action", dict.fromkeys(listed))
    numbers = numbered(names)
    ids = []
    for s, allowed in enumerate(sets):
        own = sorted(number_of("action", action, np.iinfo(np.int32).max, numbers) for action in allowed)
        if len(set(own)) < len(own):
            state = s if state_names is None else state_names[s]
            raise ValueError(f"the actions of state {state!r} hold one twice: {list(allowed)}")
        ids.append(own)
    flat = np.array([action for own in ids for action in own], np.int64)
    return Pairs(starts([len(own) for own in ids]), flat, state_names, names)
