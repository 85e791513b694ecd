"""States and action sets as users say them: how many, by name, the same everywhere or different from state to state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equirl.model.names import checked_names
from equirl.model.pairs import MOST_STATES, Pairs, number_of, numbered
from equirl.numerics.arrays import starts
from equirl.words.checking import several, whole_number

SETS = (list, tuple, set, frozenset, range, np.ndarray)


def pairs_from(states: Any, actions: Any) -> Pairs:
    """The pairs of a problem from its states and actions.

    Examples
    --------
    >>> pairs_from(2, [[0, 3], [1]]).action
    array([0, 3, 1])
    >>> pairs_from(["low", "high"], {"low": ["up"], "high": ["up", "down"]}).describe(1)
    "s='high', a='up'"
    """
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
            sets = [_action_set(entry, s) for s, entry in enumerate(listed)]
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
        sets[s] = _action_set(allowed, s)
    for s, allowed in enumerate(sets):
        if allowed is None:
            raise ValueError(f"n_actions lists no actions of state {s if names is None else names[s]!r}")
    return sets


def _action_set(entry: Any, state: int) -> list[Any]:
    if not isinstance(entry, SETS):
        raise TypeError(f"the actions of state {state} must be a list of ids or names, not {entry!r}")
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
            raise ValueError(f"the actions of state {s} hold one twice: {list(allowed)}")
        ids.append(own)
    flat = np.array([action for own in ids for action in own], np.int64)
    return Pairs(starts([len(own) for own in ids]), flat, state_names, names)
