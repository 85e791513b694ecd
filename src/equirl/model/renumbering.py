"""The same pairs and rows with states and actions numbered otherwise, or the reachable states alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from equirl.model.pairs import Name, Pairs
from equirl.model.rows import Rows, rows_from_triplets
from equirl.numerics.arrays import owners, starts, take_rows
from equirl.words.checking import plain_array, several


class Renumbering(NamedTuple):
    """Where old states and pairs go; ``-1`` for those left out."""

    pairs: Pairs  # the new pairs
    state: np.ndarray  # (old S,) new number of each old state
    source: np.ndarray  # (new M,) the old pair at each new place


def permutation(pairs: Pairs, states: Any = None, actions: Any = None) -> Renumbering:
    """Other numbers for the same states and actions."""
    new_state = _permutation("states", states, pairs.n_states)
    action_names = pairs.action_names
    actions = None if actions is None else several("actions", actions)
    if actions and np.ndim(actions[0]):
        new_action, action_names = _actions_by_state(pairs, actions), None  # an id means something else in each state
    else:
        new_id = _permutation("actions", actions, pairs.n_action_ids)
        new_action, action_names = new_id[pairs.action], _moved(action_names, new_id)
    source = np.lexsort((new_action, new_state[pairs.state]))
    per_state = np.empty(pairs.n_states, np.int64)
    per_state[new_state] = np.diff(pairs.ptr)
    new_pairs = Pairs(starts(per_state), new_action[source], _moved(pairs.state_names, new_state), action_names)
    return Renumbering(new_pairs, new_state, source)


def restriction(pairs: Pairs, keep: np.ndarray) -> Renumbering:
    """Only some of the states, in their order; a name recalls the old number where none was given."""
    kept = np.flatnonzero(keep)
    new_state = np.full(pairs.n_states, -1)
    new_state[kept] = np.arange(len(kept))
    source = np.flatnonzero(keep[pairs.state])
    names = tuple(pairs.state_names[s] for s in kept) if pairs.state_names else tuple(map(str, kept.tolist()))
    ptr = starts(np.diff(pairs.ptr)[kept])
    return Renumbering(Pairs(ptr, pairs.action[source], names, pairs.action_names), new_state, source)


def renumber_rows(rows: Rows, way: Renumbering) -> Rows:
    """The rows of the kept pairs, at their new places."""
    ptr, entry = take_rows(rows.ptr, way.source)
    return rows_from_triplets(way.pairs, owners(ptr), way.state[rows.succ[entry]], rows.prob[entry])


def by_state(values: np.ndarray, way: Renumbering) -> np.ndarray:
    """Values of the old states as values of the new ones."""
    out = np.empty((way.pairs.n_states, *values.shape[1:]), values.dtype)
    out[way.state[way.state >= 0]] = values[way.state >= 0]
    return out


def random_numbers(pairs: Pairs, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Random new numbers of the states, and of the actions of each state among themselves."""
    order = np.lexsort((rng.random(pairs.n_pairs), pairs.state))
    return rng.permutation(pairs.n_states), np.split(pairs.action[order], pairs.ptr[1:-1])


def _actions_by_state(pairs: Pairs, actions: Sequence[Any]) -> np.ndarray:
    actions = [several(f"actions of {pairs.call(s)}", ids) for s, ids in enumerate(actions)]
    sizes = [len(ids) for ids in actions]
    if len(sizes) != pairs.n_states:
        raise ValueError(f"actions has {len(sizes)} rows, one per state would be {pairs.n_states}")
    wrong = np.flatnonzero(np.diff(pairs.ptr) != sizes)
    if not len(wrong):
        new = np.concatenate([np.asarray(ids) for ids in actions])
        wrong = pairs.state[new[np.lexsort((new, pairs.state))] != pairs.action]
    if len(wrong):
        s = int(wrong[0])
        ids = pairs.action[pairs.ptr[s] : pairs.ptr[s + 1]].tolist()
        raise ValueError(f"actions of {pairs.call(s)} must be a permutation of its ids {ids}, not {list(actions[s])}")
    return new


def _permutation(what: str, order: Any, size: int) -> np.ndarray:
    if order is None:
        return np.arange(size)
    order = plain_array(what, order)
    whole = np.issubdtype(order.dtype, np.integer)
    if not whole or order.shape != (size,) or not np.array_equal(np.sort(order), np.arange(size)):
        found = order.tolist() if order.size <= 20 else f"{order.dtype} of shape {order.shape}"
        raise ValueError(f"{what} must be a permutation of 0 .. {size - 1}, not {found}")
    return order


def _moved(names: tuple[Name, ...] | None, place: np.ndarray) -> tuple[Name, ...] | None:
    if names is None:
        return None
    new = list(names)
    for old, name in enumerate(names[: len(place)]):
        new[place[old]] = name
    return tuple(new)
