"""From what users hold (dense arrays, one sparse matrix per action, lists of pairs) to sparse rows by pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from equirl.pairs import Pairs

INDEX = np.int32  # states are numbered with this type
ROW_TOLERANCE = 1e-8


class Rows(NamedTuple):
    """Sparse rows: successors of pair k, sorted and distinct, in ``succ[ptr[k]:ptr[k + 1]]``."""

    ptr: np.ndarray  # (M + 1,) int64
    succ: np.ndarray  # (nnz,) int32
    prob: np.ndarray  # (nnz,) float64, positive


def check_n_states(n_states: int) -> None:
    limit = np.iinfo(INDEX).max
    if n_states > limit:
        raise ValueError(f"{n_states} states are too many: states are numbered with {np.dtype(INDEX)}, up to {limit}")


def rows_from_triplets(pairs: Pairs, pair: np.ndarray, succ: np.ndarray, prob: np.ndarray) -> Rows:
    """Rows from entries (pair, successor, probability) in any order; duplicates are summed, zeros dropped.

    Every entry is checked, and every row must sum to 1 within 1e-8: the error names the pair. O(n log n).
    """
    S, M = pairs.n_states, pairs.n_pairs
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
    key = pair.astype(np.int64) * S + succ
    key, where = np.unique(key, return_inverse=True)
    mass = np.bincount(where, weights=prob, minlength=len(key))
    key, mass = key[mass > 0], mass[mass > 0]
    row = key // S
    total = np.bincount(row, weights=mass, minlength=M)
    bad = np.flatnonzero(np.abs(total - 1) > ROW_TOLERANCE)
    if len(bad):
        k = int(bad[0])
        raise ValueError(f"p(. | {pairs.describe(k)}) sums to {total[k]:.10g}, not 1")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=M))])
    return Rows(ptr, (key % S).astype(INDEX), mass)


def read_arrays(transitions: Any, rewards: Any) -> tuple[Pairs, Rows, np.ndarray]:
    """Pairs, rows and mean rewards from a dense (S, A, S) array or one sparse (S, S) matrix per action.

    Rewards: (S, A); (S,) for a reward by state; (S, A, S) by transition, averaged over the law.
    """
    if isinstance(transitions, Sequence) and any(_is_sparse(matrix) for matrix in transitions):
        n_states, n_actions, entries = _sparse_entries(transitions)
    else:
        n_states, n_actions, entries = _dense_entries(transitions)
    check_n_states(n_states)
    pairs = Pairs.uniform(n_states, n_actions)
    rows = rows_from_triplets(pairs, *entries)
    return pairs, rows, _mean_rewards(rewards, n_states, n_actions, rows)


def _is_sparse(matrix: Any) -> bool:
    return hasattr(matrix, "tocoo")


def _sparse_entries(matrices: Sequence[Any]) -> tuple[int, int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    n_states, n_actions = matrices[0].shape[0], len(matrices)
    pair, succ, prob = [], [], []
    for a, matrix in enumerate(matrices):
        if not _is_sparse(matrix):
            raise TypeError(f"the matrix of action {a} is a {type(matrix).__name__}, the others are scipy.sparse")
        if matrix.shape != (n_states, n_states):
            raise ValueError(f"the matrix of action {a} has shape {matrix.shape}, not ({n_states}, {n_states})")
        entries = matrix.tocoo()
        pair.append(entries.row.astype(np.int64) * n_actions + a)
        succ.append(entries.col)
        prob.append(entries.data.astype(float))
    return n_states, n_actions, (np.concatenate(pair), np.concatenate(succ), np.concatenate(prob))


def _dense_entries(transitions: Any) -> tuple[int, int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    dense = np.asarray(transitions, dtype=float)
    if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or 0 in dense.shape:
        raise ValueError(f"transitions have shape {dense.shape}; (S, A, S) is needed, with S and A at least 1")
    n_states, n_actions, _ = dense.shape
    flat = dense.reshape(n_states * n_actions, n_states)
    pair, succ = np.nonzero(flat)  # NaN counts as nonzero, so it reaches the check
    return n_states, n_actions, (pair, succ, flat[pair, succ])


def _mean_rewards(rewards: Any, n_states: int, n_actions: int, rows: Rows) -> np.ndarray:
    means = np.asarray(rewards, dtype=float)
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
    listed: Iterable[tuple[int, int, Mapping[int, float], float]],
    n_states: int,
    state_names: tuple[str, ...] | None = None,
    action_names: tuple[str, ...] | None = None,
) -> tuple[Pairs, Rows, np.ndarray]:
    """Pairs, rows and mean rewards from (state, action, {next: probability}, mean_reward), in any order."""
    check_n_states(n_states)
    by_pair: dict[tuple[int, int], tuple[Mapping[int, float], float]] = {}
    for entry in listed:
        try:
            state, action, law, mean = entry
            s, a = int(state), int(action)
            law = dict(law)
        except (TypeError, ValueError):
            raise ValueError(f"{entry!r} is not (state, action, {{next: probability}}, mean_reward)") from None
        if not 0 <= s < n_states:
            raise ValueError(f"pair (s={s}, a={a}) names unknown state {s}: states are 0 to {n_states - 1}")
        if a < 0:
            raise ValueError(f"pair (s={s}, a={a}) has a negative action id")
        if (s, a) in by_pair:
            raise ValueError(f"pair (s={s}, a={a}) is listed twice")
        by_pair[s, a] = law, mean
    order = sorted(by_pair)
    per_state = np.bincount(np.array([s for s, _ in order], dtype=np.int64), minlength=n_states)
    if per_state.min() < 1:
        raise ValueError(f"state {int(per_state.argmin())} has no action; every state needs at least one")
    pairs = Pairs(
        np.concatenate([[0], np.cumsum(per_state)]),
        np.array([a for _, a in order], dtype=np.int64),
        state_names,
        action_names,
    )
    sizes = [len(by_pair[key][0]) for key in order]
    pair = np.repeat(np.arange(len(order)), sizes)
    succ = np.array([x for key in order for x in by_pair[key][0]], dtype=np.int64)
    prob = np.array([p for key in order for p in by_pair[key][0].values()], dtype=float)
    return pairs, rows_from_triplets(pairs, pair, succ, prob), np.array([by_pair[k][1] for k in order], dtype=float)
