"""From what users hold (dense arrays, one sparse matrix per action, lists of pairs) to sparse rows by pair."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from equirl.core.checking import real_array, several, whole_number
from equirl.model.pairs import Pairs, frozen, number_of, numbered

INDEX = np.int32  # states are numbered with this type
ROW_TOLERANCE = 1e-8

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # pair, successor, probability: one of each per entry


class Rows(NamedTuple):
    """Sparse rows: successors of pair k, sorted and distinct, in ``succ[ptr[k]:ptr[k + 1]]``."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) int32
    prob: np.ndarray  # (nnz,) float64, positive


def check_n_states(n_states: int) -> None:
    """Refuse more states than the index type can number.

    >>> check_n_states(2**31)
    Traceback (most recent call last):
    ValueError: 2147483648 states are too many: states are numbered with int32, up to 2147483647
    """
    limit = np.iinfo(INDEX).max
    if n_states > limit:
        raise ValueError(f"{n_states} states are too many: states are numbered with {np.dtype(INDEX)}, up to {limit}")


def rows_from_triplets(pairs: Pairs, pair: np.ndarray, succ: np.ndarray, prob: np.ndarray) -> Rows:
    """Rows from entries (pair, successor, probability) in any order; duplicates are summed, zeros dropped.

    Every entry is checked, and every row must sum to 1 within 1e-8: the error names the pair. O(n log n).
    """
    S, M = pairs.n_states, pairs.n_pairs
    check_entries(pairs, pair, succ, prob)
    key = pair.astype(np.int64) * S + succ
    key, where = np.unique(key, return_inverse=True)
    mass = np.bincount(where, weights=prob, minlength=len(key))
    key, mass = key[mass > 0], mass[mass > 0]
    row = key // S
    ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=M))])
    _check_sums(pairs, row, mass)
    return Rows(ptr, (key % S).astype(INDEX), mass)


def checked_rows(pairs: Pairs, rows: Rows) -> Rows:
    """The rows, read-only and of the right types, after a check of all that :class:`Rows` promises. O(nnz)."""
    ptr = frozen("rows.ptr", rows.ptr, np.int64)
    succ, prob = frozen("rows.succ", rows.succ, INDEX), frozen("rows.prob", rows.prob, float)
    sizes = np.diff(ptr) if ptr.ndim == 1 else np.zeros(0, np.int64)
    if len(sizes) != pairs.n_pairs or succ.ndim != 1 or succ.shape != prob.shape:
        raise ValueError(f"rows of shapes {ptr.shape}, {succ.shape}, {prob.shape} do not match {pairs.n_pairs} pairs")
    if ptr[0] != 0 or ptr[-1] != len(succ) or sizes.min() < 0:
        raise ValueError(f"rows.ptr must run from 0 to {len(succ)} without falling")
    row = np.repeat(np.arange(pairs.n_pairs), sizes)
    check_entries(pairs, row, succ, prob)
    bad = np.flatnonzero((np.diff(row) == 0) & (np.diff(succ) <= 0))
    if len(bad):
        raise ValueError(f"the successors of ({pairs.describe(int(row[bad[0]]))}) are not increasing")
    bad = np.flatnonzero(prob == 0)
    if len(bad):
        raise ValueError(f"p({succ[bad[0]]} | {pairs.describe(int(row[bad[0]]))}) is 0; store positive ones only")
    _check_sums(pairs, row, prob)
    return Rows(ptr, succ, prob)


def check_entries(pairs: Pairs, pair: np.ndarray, succ: np.ndarray, prob: np.ndarray) -> None:
    """Refuse an entry that is no probability, or whose successor is not there; the error names its pair."""
    S = pairs.n_states
    bad = np.flatnonzero(~np.isfinite(prob) | (prob < 0))
    if len(bad):
        k = bad[0]
        raise ValueError(f"p({int(succ[k])} | {pairs.describe(int(pair[k]))}) is {prob[k]}, not a probability")
    bad = np.flatnonzero((succ < 0) | (succ >= S))
    if len(bad):
        k = bad[0]
        raise ValueError(
            f"p(. | {pairs.describe(int(pair[k]))}) leads to unknown state {int(succ[k])}: states are 0 to {S - 1}"
        )


def _check_sums(pairs: Pairs, row: np.ndarray, prob: np.ndarray) -> None:
    total = np.bincount(row, weights=prob, minlength=pairs.n_pairs)
    bad = np.flatnonzero(np.abs(total - 1) > ROW_TOLERANCE)
    if len(bad):
        k = int(bad[0])
        raise ValueError(f"p(. | {pairs.describe(k)}) sums to {total[k]:.10g}, not 1")


def read_arrays(transitions: Any, rewards: Any) -> tuple[Pairs, Rows, np.ndarray]:
    """Pairs, rows and mean rewards from a dense (S, A, S) array or one sparse (S, S) matrix per action.

    Rewards: (S, A); (S,) for a reward by state; (S, A, S) by transition, averaged over the law.
    """
    if is_sparse(transitions):
        raise TypeError("transitions are one sparse matrix; give a list with one (S, S) matrix per action")
    if isinstance(transitions, Sequence) and any(is_sparse(matrix) for matrix in transitions):
        n_states, n_actions, entries = _sparse_entries(transitions)
    else:
        n_states, n_actions, entries = _dense_entries(transitions)
    pairs = Pairs.uniform(n_states, n_actions)
    rows = rows_from_triplets(pairs, *entries)
    return pairs, rows, _mean_rewards(rewards, n_states, n_actions, rows)


def is_sparse(matrix: Any) -> bool:
    """Whether this is a scipy.sparse matrix or array."""
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
        prob.append(entries.data.astype(float))
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
        pair = np.repeat(np.arange(n_states * n_actions), np.diff(rows.ptr))
        paid = means.reshape(-1, n_states)[pair, rows.succ]
        return np.bincount(pair, weights=paid * rows.prob, minlength=n_states * n_actions)
    raise ValueError(
        f"rewards have shape {means.shape}; ({n_states}, {n_actions}) is needed, or ({n_states},), "
        f"or ({n_states}, {n_actions}, {n_states})"
    )


def read_pairs(
    listed: Iterable[tuple[Any, Any, Mapping[Any, float], float]],
    n_states: int,
    state_names: tuple[str, ...] | None = None,
    action_names: tuple[str, ...] | None = None,
) -> tuple[Pairs, Rows, np.ndarray]:
    """Pairs, rows and mean rewards from (state, action, {next: probability}, mean_reward), in any order.

    States and actions are numbers, or names where names are given.
    """
    n_states = whole_number("n_states", n_states)
    check_n_states(n_states)
    state_numbers, action_numbers = numbered(state_names), numbered(action_names)
    by_pair: dict[tuple[int, int], tuple[dict[int, float], float]] = {}
    for entry in several("pairs", listed):
        state, action, law, mean = _entry(entry)
        s = number_of("state", state, n_states, state_numbers)
        a = _action(action, action_numbers, s)
        if (s, a) in by_pair:
            raise ValueError(f"pair (s={state}, a={action}) is listed twice")
        try:
            numbers: dict[int, float] = {}
            for x, p in law.items():  # a successor may be given by number and by name
                number = number_of("state", x, n_states, state_numbers)
                numbers[number] = numbers[number] + p if number in numbers else p
        except (TypeError, ValueError) as error:
            raise type(error)(f"p(. | s={state}, a={action}) leads to an unknown state: {error}") from None
        by_pair[s, a] = numbers, mean
    order = sorted(by_pair)
    per_state = np.bincount(np.array([s for s, _ in order], dtype=np.int64), minlength=n_states)
    action_ids = np.array([a for _, a in order], dtype=np.int64)
    pairs = Pairs(np.concatenate([[0], np.cumsum(per_state)]), action_ids, state_names, action_names)
    laws = [by_pair[key][0] for key in order]
    pair = np.repeat(np.arange(len(order)), [len(law) for law in laws])
    succ = np.array([x for law in laws for x in law], dtype=np.int64)
    prob = np.array([p for law in laws for p in law.values()], dtype=float)
    return pairs, rows_from_triplets(pairs, pair, succ, prob), np.array([by_pair[key][1] for key in order])


def _entry(entry: Any) -> tuple[Any, Any, dict[Any, float], float]:
    try:
        state, action, law, mean = entry
        law = {x: float(p) for x, p in dict(law).items()}
        return state, action, law, float(mean)
    except (TypeError, ValueError):
        raise ValueError(f"{entry!r} in pairs is not (state, action, {{next: probability}}, mean_reward)") from None


def _action(action: Any, numbers: Mapping[str, int] | None, state: int) -> int:
    if isinstance(action, str) or numbers is not None:
        return number_of("action", action, len(numbers or ()), numbers)
    try:
        number = operator.index(action)
    except TypeError:
        raise TypeError(f"an action is an integer or a name, not {action!r} (in state {state})") from None
    if number < 0:
        raise ValueError(f"pair (s={state}, a={number}) has a negative action id")
    if number > np.iinfo(INDEX).max:
        raise ValueError(f"pair (s={state}, a={number}): action ids go up to {np.iinfo(INDEX).max}")
    return number


def initial_law(initial: Any, pairs: Pairs) -> np.ndarray:
    """A law over states from a state (number or name) or a vector of length S."""
    n_states = pairs.n_states
    if np.ndim(initial) == 0:
        law = np.zeros(n_states)
        law[pairs.state_number(initial)] = 1.0
        return law
    law = real_array("initial", initial)
    if law.shape != (n_states,):
        raise ValueError(f"the initial law has shape {law.shape}, not ({n_states},)")
    return law
