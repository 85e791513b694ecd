"""Pairs (s, a): which actions each state allows, and how pairs are numbered (by state, then action)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equirl.naming import unknown_name


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
    action_names: tuple[str, ...] | None = None  # (largest action id + 1,)

    @classmethod
    def uniform(cls, n_states: int, n_actions: int | Sequence[int]) -> Pairs:
        """Actions 0, 1, ... in each state: as many as ``n_actions`` says, for all states or one by one."""
        n_states = _positive_int("n_states", n_states)
        per_state = np.asarray(n_actions)
        if per_state.ndim == 0:
            per_state = np.full(n_states, _positive_int("n_actions", n_actions))
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
    def state(self) -> np.ndarray:
        """(M,) the state of each pair."""
        return np.repeat(np.arange(self.n_states), np.diff(self.ptr))

    def state_number(self, state: object) -> int:
        """The number of a state given by number or name; an error names a state that is not there."""
        return _number("state", state, self.n_states, self.state_names)

    def index(self, state: object, action: object) -> int:
        """The number of the pair (state, action), both by number or name."""
        s = self.state_number(state)
        limit = int(self.action.max()) + 1
        a = _number("action", action, limit, self.action_names)
        first, last = int(self.ptr[s]), int(self.ptr[s + 1])
        k = first + int(np.searchsorted(self.action[first:last], a))
        if k == last or self.action[k] != a:
            allowed = ", ".join(map(str, self.action[first:last]))
            raise ValueError(f"action {action!r} is not allowed in state {state!r} (allowed: {allowed})")
        return k

    def describe(self, pair: int) -> str:
        """A pair in words, for messages: ``s=3, a=1``, or its names."""
        s, a = int(self.state[pair]), int(self.action[pair])
        s_text = repr(self.state_names[s]) if self.state_names else str(s)
        a_text = repr(self.action_names[a]) if self.action_names else str(a)
        return f"s={s_text}, a={a_text}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        same_names = self.state_names == other.state_names and self.action_names == other.action_names
        return same_names and np.array_equal(self.ptr, other.ptr) and np.array_equal(self.action, other.action)

    __hash__ = None  # type: ignore[assignment]


def _positive_int(name: str, value: object) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")
    return number


def _number(kind: str, value: object, limit: int, names: tuple[str, ...] | None) -> int:
    if isinstance(value, str):
        if names is None:
            raise ValueError(f"{kind} {value!r} is a name, but the problem names no {kind}s; give a number")
        if value not in names:
            raise ValueError(unknown_name(kind, value, names))
        return names.index(value)
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
