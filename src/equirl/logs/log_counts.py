"""From the rows of a log to counts: where episodes go on, which pairs there are, how often each transition was seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.logs.log_columns import LogColumns
from equirl.logs.log_roles import Origin
from equirl.model.action_sets import pairs_from
from equirl.model.names import checked_names, plain_name
from equirl.model.pairs import Pairs
from equirl.model.reward_laws import reward_map_of
from equirl.numerics.arrays import starts
from equirl.words.checking import choice
from equirl.words.formatting import shown

ACTIONS = ("seen", "all")
LARGEST_ID = 10**6  # whole numbers up to this are action ids as they are
MOST_COMBINATIONS = 10**9  # of states and actions: a byte for each while pairs are listed
DIRECT = 10**7  # combinations of states and action ids up to which pairs are looked up in a table


def count(pairs: Pairs, pair: np.ndarray, successor: np.ndarray, reward: np.ndarray, weight: np.ndarray) -> Snapshot:
    """Counts of transitions, successors in the order of the empirical profile. O(n log n)."""
    M, S = pairs.n_pairs, pairs.n_states
    key = pair * S + successor
    if (weight == 1).all():
        different, n = np.unique(key, return_counts=True)
    else:
        different, place = np.unique(key, return_inverse=True)
        n = np.zeros(len(different), np.int64)
        np.add.at(n, place, weight)
    owner, succ = different // S, different % S
    order = np.lexsort((-succ, -n, owner))
    owner, succ, n = owner[order], succ[order], n[order].astype(np.int64)
    ptr = starts(np.bincount(owner, minlength=M))
    total = starts(n)
    visits = total[ptr[1:]] - total[ptr[:-1]]
    paid = np.clip(reward, 0.0, 1.0)
    r_sum, r_squares = (np.bincount(pair, weights=of * weight, minlength=M) for of in (paid, paid * paid))
    return Snapshot(ptr, succ.astype(np.int32), n, visits, r_sum, r_squares)


def successors(rows: LogColumns, restart: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The state after each row, whether it is known, and the rows with which episodes begin."""
    ends, successor = rows.terminated, rows.successor.copy()
    begins = np.concatenate([[True], ends[:-1]])
    counted = np.ones(len(ends), bool)
    if not ends.any():
        return successor, counted, np.arange(len(ends)) == 0
    if restart is not None:
        wanted = plain_name(restart)
        place = [k for k, name in enumerate(rows.states) if name == wanted or str(name) == wanted]
        if not place:
            raise ValueError(f"restart is {shown(restart)}, which is no state of the log")
        successor[ends] = place[0]
        return successor, counted, begins
    if rows.weight is not None:
        raise ValueError(
            "rows with weights have no order; restart=... says where episodes begin after a terminated row"
        )
    following = np.append(rows.state[1:], -1)
    successor[ends] = following[ends]
    counted[-1] = not ends[-1]
    successor[-1] = max(successor[-1], 0)
    return successor, counted, begins


def pairs_of(rows: LogColumns, keep: np.ndarray, actions: Any) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """The pairs, the number of each state named and the id of each action named; states never met are left out."""
    met = np.zeros(len(rows.states), bool)
    met[rows.state], met[rows.successor[keep]] = True, True
    names = [name for name, there in zip(rows.states, met.tolist(), strict=True) if there]
    number = np.cumsum(met) - 1
    if isinstance(actions, str):
        choice("actions", actions, ACTIONS)
        plain = all(isinstance(name, int) and 0 <= name <= LARGEST_ID for name in rows.actions)
        ids = np.array(rows.actions if plain else range(len(rows.actions)), np.int64)
        if len(names) * len(ids) > MOST_COMBINATIONS:
            raise ValueError(
                f"{rows.origin.where} has {len(names):,} states and {len(ids):,} actions, too many to combine; is "
                f"{rows.origin.columns['action']!r} the column of actions? (columns=, --column action=NAME)"
            )
        table = np.zeros((len(names), len(ids)), bool)
        table[number[rows.state], rows.action] = True
        table[~table.any(axis=1) | (actions == "all")] = True
        ptr, flat = starts(table.sum(axis=1)), ids[np.nonzero(table)[1]]
        pairs = Pairs(ptr, flat, _state_names(names), None if plain else checked_names("action", rows.actions))
        return pairs, number, ids
    try:
        pairs = pairs_from(names, actions)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("n_actions", "actions")) from None
    pairs = Pairs(pairs.ptr, pairs.action, _state_names(names), pairs.action_names)
    return pairs, number, np.array([pairs.action_number(name) for name in rows.actions], np.int64)


def _state_names(names: list[Any]) -> tuple[Any, ...] | None:
    """None where the names are the numbers 0, 1, ... themselves."""
    return None if names == list(range(len(names))) else checked_names("state", names)


def pair_numbers(pairs: Pairs, state: np.ndarray, action: np.ndarray, rows: LogColumns) -> np.ndarray:
    """The pair of each row, by looking up state and action together."""
    width = pairs.n_action_ids
    key = pairs.state * width + pairs.action
    wanted = state * width + np.minimum(action, width - 1)
    if pairs.n_states * width <= DIRECT:
        table = np.zeros(pairs.n_states * width, np.int64)
        table[key] = np.arange(len(key))
        place = table[wanted]
    else:
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    bad = np.flatnonzero((key[place] != wanted) | (action >= width))
    if len(bad):
        k = int(bad[0])
        name, played = rows.states[rows.state[k]], rows.actions[rows.action[k]]
        where = f"{rows.origin.prefix}row {rows.origin.row(k)}"
        raise ValueError(f"{where} plays {played!r} in state {name!r}, which actions= does not allow there")
    return place


def range_of(reward: np.ndarray, given: tuple[float, float] | None, origin: Origin) -> tuple[float, float]:
    """(scale, shift) of the rewards: [0, 1] where they lie inside, else their range, or the one given."""
    low, high = float(reward.min()), float(reward.max())
    if given is None:
        return (1.0, 0.0) if low >= 0 and high <= 1 else reward_map_of((low, high if high > low else low + 1.0))
    scale, shift = reward_map_of(given)
    outside = np.flatnonzero((reward < shift - 1e-9 * scale) | (reward > shift + scale * (1 + 1e-9)))
    if len(outside):
        k = int(outside[0])
        what = f"{origin.cell('reward', k)} is {reward[k]:g}"
        raise ValueError(f"{what}, outside reward_range [{given[0]:g}, {given[1]:g}]")
    return scale, shift
