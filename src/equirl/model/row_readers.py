"""From what users hold (dense arrays, sparse matrices, a row per pair, a list of pairs) to pairs, rows and means."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from equirl.model.pairs import NameNumbers, Pairs, names_within, number_of, numbered, pairs_from, plain_name
from equirl.model.rows import INDEX, NORMALIZE_WITHIN, Rows, check_n_states, rows_from_triplets
from equirl.numerics.arrays import check_starts, owners, starts
from equirl.words.checking import plain_array, real_array, several, whole_array, whole_number
from equirl.words.formatting import shown

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # pair, successor, probability: one of each per entry
Numbers = NameNumbers | None  # the number of each name, where there are names


def read_arrays(transitions: Any, rewards: Any, *, normalize: bool = False) -> tuple[Pairs, Rows, np.ndarray]:
    """Pairs, rows and mean rewards from arrays by state and action."""
    if is_sparse(transitions):
        raise TypeError(
            "transitions are one sparse matrix; give a list with one (S, S) matrix per action, or use "
            "TabularMDP.from_rows for one (M, S) matrix with a row per pair"
        )
    if isinstance(transitions, Sequence) and any(is_sparse(matrix) for matrix in transitions):
        n_states, n_actions, entries = _sparse_entries(transitions)
    else:
        n_states, n_actions, entries = _dense_entries(transitions)
    pairs = Pairs.uniform(n_states, n_actions)
    rows = rows_from_triplets(pairs, *entries, normalize=normalize)
    return pairs, rows, _mean_rewards(rewards, n_states, n_actions, rows)


def read_rows(
    transitions: Any, rewards: Any, actions: Any, *, normalize: bool = False
) -> tuple[Pairs, Rows, np.ndarray]:
    """Pairs, rows and mean rewards from one row of transition probabilities per pair."""
    n_rows, n_columns, entries = _row_entries(transitions)
    pairs = _pairs_of_rows(actions, n_rows)
    if pairs.n_pairs != n_rows:
        raise ValueError(f"transitions have {n_rows} rows; actions make {pairs.n_pairs} pairs, one row each")
    if n_columns is not None and n_columns != pairs.n_states:
        raise ValueError(f"transitions have {n_columns} columns; actions make {pairs.n_states} states")
    means = real_array("rewards", rewards)
    if means.shape != (n_rows,):
        raise ValueError(f"rewards have shape {means.shape}; one mean per pair would be ({n_rows},)")
    return pairs, rows_from_triplets(pairs, *entries, normalize=normalize), means


def _row_entries(transitions: Any) -> tuple[int, int | None, Entries]:
    """The number of rows, of columns where it is known, and the entries."""
    if is_sparse(transitions):
        entries = transitions.tocoo()
        pair, succ = entries.row.astype(np.int64), entries.col.astype(np.int64)
        return *transitions.shape, (pair, succ, real_array("transitions", entries.data))
    if isinstance(transitions, tuple) and len(transitions) == 3:
        ptr, succ = whole_array("ptr", transitions[0]), whole_array("succ", transitions[1])
        prob = real_array("prob", transitions[2])
        if prob.shape != succ.shape:
            raise ValueError(f"succ has {len(succ)} entries, prob has shape {prob.shape}; they belong together")
        check_starts("ptr", ptr, max(0, len(ptr) - 1), len(succ))
        return len(ptr) - 1, None, (owners(ptr), succ, prob)
    dense = real_array("transitions", transitions)
    if dense.ndim != 2:
        raise ValueError(f"transitions have shape {dense.shape}; (M, S), one row per pair, is needed")
    pair, succ = np.nonzero(dense)
    return *dense.shape, (pair, succ, dense[pair, succ])


def _pairs_of_rows(actions: Any, n_rows: int) -> Pairs:
    if isinstance(actions, Pairs):
        return actions
    if isinstance(actions, list | tuple) and any(isinstance(entry, list | tuple | set) for entry in actions):
        return pairs_from(len(actions), actions)
    if plain_array("actions", actions).ndim > 0:
        if not len(actions):
            raise ValueError("actions is empty; how many each state has is needed")
        return Pairs.uniform(len(actions), whole_array("actions", actions, least=1))
    n_actions = whole_number("actions", actions)
    if n_rows == 0 or n_rows % n_actions:
        raise ValueError(f"transitions have {n_rows} rows, which {n_actions} actions per state do not divide")
    return Pairs.uniform(n_rows // n_actions, n_actions)


def is_sparse(matrix: Any) -> bool:
    return hasattr(matrix, "tocoo")


def _sparse_entries(matrices: Sequence[Any]) -> tuple[int, int, Entries]:
    n_states, n_actions = matrices[0].shape[0], len(matrices)
    check_n_states(n_states)
    pair, succ, prob = [], [], []
    for a, matrix in enumerate(matrices):
        if not is_sparse(matrix):
            raise TypeError(f"the matrix of action {a} is a {type(matrix).__name__}, the others are scipy.sparse")
        if matrix.shape != (n_states, n_states):
            raise ValueError(f"the matrix of action {a} has shape {matrix.shape}, not ({n_states}, {n_states})")
        entries = matrix.tocoo()
        pair.append(entries.row.astype(np.int64) * n_actions + a)
        succ.append(entries.col)
        prob.append(real_array("transitions", entries.data))
    return n_states, n_actions, (np.concatenate(pair), np.concatenate(succ), np.concatenate(prob))


def _dense_entries(transitions: Any) -> tuple[int, int, Entries]:
    dense = real_array("transitions", transitions)
    if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or 0 in dense.shape:
        raise ValueError(f"transitions have shape {dense.shape}; (S, A, S) is needed, with S and A at least 1")
    n_states, n_actions, _ = dense.shape
    flat = dense.reshape(n_states * n_actions, n_states)
    pair, succ = np.nonzero(flat)  # NaN counts as nonzero, so it reaches the check
    return n_states, n_actions, (pair, succ, flat[pair, succ])


def _mean_rewards(rewards: Any, n_states: int, n_actions: int, rows: Rows) -> np.ndarray:
    means = real_array("rewards", rewards)
    if means.shape == (n_states,):
        return np.repeat(means, n_actions)
    if means.shape == (n_states, n_actions):
        return means.ravel()
    if means.shape == (n_states, n_actions, n_states):
        pair = owners(rows.ptr)
        paid = means.reshape(-1, n_states)[pair, rows.succ]
        return np.bincount(pair, weights=paid * rows.prob, minlength=n_states * n_actions)
    raise ValueError(
        f"rewards have shape {means.shape}; ({n_states}, {n_actions}) is needed, or ({n_states},), "
        f"or ({n_states}, {n_actions}, {n_states})"
    )


def read_pairs(
    listed: Iterable[tuple[Any, Any, Mapping[Any, float], float]],
    n_states: int | None,
    state_names: tuple[Any, ...] | None = None,
    action_names: tuple[Any, ...] | None = None,
    *,
    normalize: bool = False,
) -> tuple[Pairs, Rows, np.ndarray]:
    """Pairs, rows and mean rewards from a list of pairs, in any order."""
    entries = [_entry(entry) for entry in several("pairs", listed)]
    if state_names is None:
        state_names = names_within([s for s, *_ in entries] + [x for *_, chances, _ in entries for x in chances])
    if action_names is None:
        action_names = names_within([a for _, a, *_ in entries])
        if action_names and any(isinstance(name, int | float) for name in action_names):
            raise TypeError("some actions are numbers and some are names; use one of them, or give action_names")
    n_states = whole_number("n_states", _n_states(entries, state_names) if n_states is None else n_states)
    check_n_states(n_states)
    by_pair = _by_pair(entries, n_states, numbered(state_names), numbered(action_names))
    order = sorted(by_pair)
    per_state = np.bincount(np.array([s for s, _ in order], dtype=np.int64), minlength=n_states)
    action_ids = np.array([a for _, a in order], dtype=np.int64)
    pairs = Pairs(starts(per_state), action_ids, state_names, action_names)
    by_order = [by_pair[key][0] for key in order]
    pair = np.repeat(np.arange(len(order)), [len(chances) for chances in by_order])
    succ = np.array([x for chances in by_order for x in chances], dtype=np.int64)
    prob = np.array([p for chances in by_order for p in chances.values()], dtype=float)
    rows = rows_from_triplets(pairs, pair, succ, prob, normalize=normalize)
    return pairs, rows, np.array([by_pair[key][1] for key in order])


def _n_states(entries: list[Any], names: tuple[Any, ...] | None) -> int:
    if names is not None:
        return len(names)
    numbers = [x for state, _, chances, _ in entries for x in (state, *chances)]
    if not numbers:
        raise ValueError("pairs is empty; every state needs at least one pair")
    return 1 + max(number_of("state", number, np.iinfo(INDEX).max, None) for number in numbers)


def _by_pair(
    listed: list[Any], n_states: int, states: Numbers, actions: Numbers
) -> dict[tuple[int, int], tuple[dict[int, float], float]]:
    """Probabilities by number of the next state and the mean reward, for each (state, action) by number."""
    by_pair: dict[tuple[int, int], tuple[dict[int, float], float]] = {}
    for state, action, chances, mean in listed:
        s = number_of("state", state, n_states, states)
        a = _action(action, actions, s)
        if (s, a) in by_pair:
            raise ValueError(f"pair (s={state}, a={action}) is listed twice")
        numbers: dict[int, float] = {}
        try:
            for x, p in chances.items():  # a successor may be given by number and by name
                number = number_of("state", x, n_states, states)
                numbers[number] = numbers[number] + p if number in numbers else p
        except (TypeError, ValueError) as error:
            raise type(error)(f"p(. | s={state}, a={action}) leads to an unknown state: {error}") from None
        by_pair[s, a] = numbers, mean
    return by_pair


def _entry(entry: Any) -> tuple[Any, Any, dict[Any, float], float]:
    try:
        state, action, chances, mean = entry
        chances = {x: float(p) for x, p in dict(chances).items()}
        return state, action, chances, float(mean)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{shown(entry)} in pairs is not (state, action, {{next: probability}}, mean_reward)"
        ) from None


def _action(action: Any, numbers: Numbers, state: int) -> int:
    if isinstance(action, str) or numbers is not None:
        return number_of("action", action, len(numbers or ()), numbers)
    try:
        number = operator.index(action)
    except TypeError:
        raise TypeError(f"an action is an integer or a name, not {shown(action)} (in state {state})") from None
    if number < 0:
        raise ValueError(f"pair (s={state}, a={shown(number)}) has a negative action id")
    if number > np.iinfo(INDEX).max:
        raise ValueError(f"pair (s={state}, a={shown(number)}): action ids go up to {np.iinfo(INDEX).max}")
    return number


def initial_distribution(initial: Any, pairs: Pairs, *, normalize: bool = False) -> np.ndarray:
    """The distribution of the first state."""
    n_states = pairs.n_states
    if isinstance(initial, Mapping):
        return _distribution_by_state(initial, pairs)
    names = pairs.state_names or ()
    if isinstance(initial, int) and initial == 0 and names and 0 not in names:
        initial = names[0]  # 0 is the default: the first state
    is_state = isinstance(initial, tuple) and plain_name(initial) in names
    if is_state or plain_array("initial", initial).ndim == 0:
        found = np.zeros(n_states)
        try:
            found[pairs.state_number(initial)] = 1.0
        except (TypeError, ValueError) as error:
            raise type(error)(f"initial: {error}") from None
        return found
    found = real_array("initial", initial)
    if found.shape != (n_states,):
        raise ValueError(f"the initial distribution has shape {found.shape}, not ({n_states},)")
    return found / found.sum() if normalize and abs(found.sum() - 1) <= NORMALIZE_WITHIN else found


def _distribution_by_state(chances: Mapping[Any, float], pairs: Pairs) -> np.ndarray:
    found = np.zeros(pairs.n_states)
    for state, chance in chances.items():
        try:
            found[pairs.state_number(state)] += float(chance)
        except (TypeError, ValueError) as error:
            raise type(error)(f"initial: {error}") from None
    return found
