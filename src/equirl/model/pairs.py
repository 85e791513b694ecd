"""Pairs (s, a): which actions each state allows, and how pairs are numbered (by state, then action)."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equirl.core.checking import whole_number
from equirl.core.naming import unknown_name

MOST_STATES = int(np.iinfo(np.int32).max)  # successors are stored as int32


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of a problem. Pair ``k`` of state ``s`` lies in ``ptr[s]:ptr[s + 1]``; ``action[k]`` is its action id.

    >>> pairs = Pairs.uniform(3, 2)
    >>> pairs.n_pairs, pairs.index(2, 1)
    (6, 5)
    """

    ptr: np.ndarray  # (S + 1,) int64
    action: np.ndarray  # (M,) int64, increasing inside a state
    state_names: tuple[str, ...] | None = None  # (S,)
    action_names: tuple[str, ...] | None = None  # (largest action id + 1,) or more

    def __post_init__(self) -> None:
        for field in ("ptr", "action"):
            object.__setattr__(self, field, frozen(field, getattr(self, field), np.int64))
        _check(self)

    @classmethod
    def uniform(cls, n_states: int, n_actions: int | Sequence[int] | np.ndarray) -> Pairs:
        """Actions 0, 1, ... in each state: as many as ``n_actions`` says, for all states or one by one."""
        n_states = whole_number("n_states", n_states, most=MOST_STATES)
        per_state = np.asarray(n_actions)
        if per_state.ndim == 0:
            per_state = np.full(n_states, whole_number("n_actions", n_actions))
        if per_state.shape != (n_states,):
            raise ValueError(f"n_actions has shape {per_state.shape}; one number per state would be ({n_states},)")
        if not np.issubdtype(per_state.dtype, np.integer):
            raise TypeError(f"n_actions must hold integers, not {per_state.dtype}")
        if per_state.min() < 1:
            raise ValueError(f"state {int(per_state.argmin())} has no action; every state needs at least one")
        ptr = np.concatenate([[0], np.cumsum(per_state, dtype=np.int64)])
        return cls(ptr, np.arange(ptr[-1], dtype=np.int64) - np.repeat(ptr[:-1], per_state))

    @property
    def n_states(self) -> int:
        return len(self.ptr) - 1

    @property
    def n_pairs(self) -> int:
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
        state = np.repeat(np.arange(self.n_states), np.diff(self.ptr))
        state.setflags(write=False)
        return state

    def state_number(self, state: object) -> int:
        """The number of a state given by number or name; an error names a state that is not there."""
        return number_of("state", state, self.n_states, self._state_numbers)

    def action_number(self, action: object) -> int:
        """The id of an action given by id or name, allowed somewhere or not."""
        return number_of("action", action, self.n_action_ids, self._action_numbers)

    def index(self, state: object, action: object) -> int:
        """The number of the pair (state, action), both by number or name."""
        s, a = self.state_number(state), self.action_number(action)
        first, last = int(self.ptr[s]), int(self.ptr[s + 1])
        k = first + int(np.searchsorted(self.action[first:last], a))
        if k == last or self.action[k] != a:
            raise ValueError(f"action {action!r} is not allowed in state {state!r} (allowed: {self.allowed(s)})")
        return k

    def allowed(self, state: int) -> str:
        """The actions of a state in words, for messages: ids, or names."""
        ids = self.action[self.ptr[state] : self.ptr[state + 1]].tolist()
        return ", ".join(repr(self.action_names[a]) if self.action_names else str(a) for a in ids)

    def describe(self, pair: int) -> str:
        """A pair in words, for messages: ``s=3, a=1``, or its names."""
        s, a = int(self.state[pair]), int(self.action[pair])
        s_text = repr(self.state_names[s]) if self.state_names else str(s)
        a_text = repr(self.action_names[a]) if self.action_names else str(a)
        return f"s={s_text}, a={a_text}"

    @cached_property
    def _state_numbers(self) -> dict[str, int] | None:
        return numbered(self.state_names)

    @cached_property
    def _action_numbers(self) -> dict[str, int] | None:
        return numbered(self.action_names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        same_names = self.state_names == other.state_names and self.action_names == other.action_names
        return same_names and np.array_equal(self.ptr, other.ptr) and np.array_equal(self.action, other.action)

    __hash__ = None  # type: ignore[assignment]


def frozen(name: str, array: Any, dtype: Any) -> np.ndarray:
    """The array as a read-only one of that type; copied unless it is one, so that no caller's array is locked.

    >>> frozen("ptr", [0, 2], np.int64).flags.writeable
    False
    """
    found = np.asarray(array)
    if not np.can_cast(found.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} must hold {np.dtype(dtype).name}, not {found.dtype}")
    if found.flags.writeable or found.dtype != dtype or not found.flags.c_contiguous:
        found = np.array(found, dtype=dtype, order="C")
        found.setflags(write=False)
    return found


def numbered(names: Sequence[str] | None) -> dict[str, int] | None:
    """The number of each name."""
    return None if names is None else {name: k for k, name in enumerate(names)}


def number_of(kind: str, value: object, limit: int, numbers: Mapping[str, int] | None) -> int:
    """The number of a state or action given by number or name; an error says what is wrong with it."""
    if isinstance(value, str):
        if numbers is None:
            raise ValueError(f"{kind} {value!r} is a name, but the problem names no {kind}s; give a number")
        if value not in numbers:
            raise ValueError(unknown_name(kind, value, numbers))
        return numbers[value]
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        if isinstance(value, np.ndarray) and value.size == 1 and np.issubdtype(value.dtype, np.integer):
            number = int(value.item())
        else:
            raise TypeError(f"a {kind} is an integer or a name, not {value!r}") from None
    if not 0 <= number < limit:
        raise ValueError(f"{kind} {number} is out of range: there are {limit} {kind}s, 0 to {limit - 1}")
    return number


def _check(pairs: Pairs) -> None:
    ptr, action = pairs.ptr, pairs.action
    if ptr.ndim != 1 or action.ndim != 1 or len(ptr) < 2:
        raise ValueError(f"pairs need ptr (S + 1,) and action (M,), not {ptr.shape} and {action.shape}")
    if ptr[0] != 0 or ptr[-1] != len(action):
        raise ValueError(f"ptr runs from {ptr[0]} to {ptr[-1]}, not from 0 to the {len(action)} pairs")
    empty = np.flatnonzero(np.diff(ptr) < 1)
    if len(empty):
        raise ValueError(f"state {int(empty[0])} has no action; every state needs at least one")
    falls = np.flatnonzero((np.diff(action) <= 0) & (np.diff(pairs.state) == 0))
    if len(falls) or action.min() < 0:
        k = int(falls[0]) + 1 if len(falls) else int(action.argmin())
        raise ValueError(f"action ids of state {int(pairs.state[k])} must increase from 0 or more; found {action[k]}")
    _check_names("state", pairs.state_names, pairs.n_states, pairs.n_states)
    _check_names("action", pairs.action_names, pairs.n_action_ids, np.inf)


def _check_names(kind: str, names: tuple[str, ...] | None, least: int, most: float) -> None:
    if names is None:
        return
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{kind} names must be a tuple of str")
    if not least <= len(names) <= most:
        raise ValueError(f"{len(names)} {kind} names for {least} {kind}s")
    if len(set(names)) < len(names):
        raise ValueError(f"two {kind}s are named {Counter(names).most_common(1)[0][0]!r}")
