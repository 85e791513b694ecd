"""Structure as users state it: classes as labels or a function, and which successors correspond."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from equirl.model.names import action_labels, state_labels
from equirl.model.pairs import Pairs
from equirl.numerics.arrays import starts
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles
from equirl.words.checking import plain_array, several
from equirl.words.formatting import shown

Classes = Partition | Sequence[int] | np.ndarray | Callable[[Any, Any], Any] | None
Order = Sequence[Sequence[Any]] | Callable[[Any, Any], Iterable[Any]] | None


def partition_of(classes: Classes, pairs: Pairs) -> Partition | None:
    """Classes as a Partition: from any labels, or from a function of state and action that gives a label."""
    if classes is None or isinstance(classes, Partition):
        return classes
    if callable(classes):
        known: dict[Any, int] = {}
        labels = []
        for state, action in _named(pairs):
            label = _asked("classes", classes, state, action)
            try:
                labels.append(known.setdefault(label, len(known)))
            except TypeError as error:
                raise TypeError(f"classes({shown(state)}, {shown(action)}) gives no label: {error}") from error
        return Partition.from_labels(labels)
    return Partition.from_labels(plain_array("classes", classes))


def profiles_of(profiles: Profiles | None, order: Order, pairs: Pairs) -> Profiles | None:
    """The profiles given, or those of a stated order: its probabilities are not known, and are NaN.

    ``order`` is a function of state and action, or a list with an entry per pair; either way a pair's successors, by
    number or name, such that the i-th of one pair corresponds to the i-th of every pair of its class.
    """
    if order is None:
        return profiles
    if profiles is not None:
        raise ValueError("profiles and order both say which successors correspond; give one of them")
    if callable(order):
        asked = [(f"order({shown(s)}, {shown(a)})", _asked("order", order, s, a)) for s, a in _named(pairs)]
    else:
        lists = several("order", order)
        if len(lists) != pairs.n_pairs:
            raise ValueError(f"order has {len(lists)} lists of successors, the problem has {pairs.n_pairs} pairs")
        asked = [(f"order of ({pairs.describe(k)})", states) for k, states in enumerate(lists)]
    numbers = [_successors(who, states, pairs) for who, states in asked]
    succ = np.array([x for row in numbers for x in row], np.int32)
    return Profiles(starts([len(row) for row in numbers]), succ, np.full(len(succ), np.nan))


def _asked(name: str, function: Callable[[Any, Any], Any], state: Any, action: Any) -> Any:
    """What the user's function of state and action says."""
    try:
        return function(state, action)
    except TypeError as error:
        raise TypeError(f"{name}({shown(state)}, {shown(action)}) failed: {error}; it is a function of both") from error


def _successors(who: str, states: Any, pairs: Pairs) -> list[int]:
    """The numbers of the states that a pair's order lists."""
    if isinstance(states, str) or not isinstance(states, Iterable):
        raise TypeError(f"{who} must be a list of states, not {shown(states)}")
    listed = list(states)
    if not listed:
        raise ValueError(f"{who} lists no state; every pair leads somewhere")
    numbers = []
    for state in listed:
        try:
            numbers.append(pairs.state_number(state))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{who} lists {shown(state)}: {error}") from None
    if len(set(numbers)) < len(numbers):
        twice = next(state for state, x in zip(listed, numbers, strict=True) if numbers.count(x) > 1)
        raise ValueError(f"{who} lists {shown(twice)} twice")
    return numbers


def _named(pairs: Pairs) -> Iterable[tuple[Any, Any]]:
    """(state, action) of every pair, by name where there are names."""
    states, actions = state_labels(pairs, pairs.state.tolist()), action_labels(pairs, pairs.action.tolist())
    return zip(states, actions, strict=True)
