"""To and from other libraries: QuantEcon's ``DiscreteDP`` and the (A, S, S) arrays of the MDP toolboxes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from equirl.core.checking import real_array
from equirl.model.mdp import TabularMDP, check_mdp, rescale_rewards
from equirl.model.pairs import Pairs
from equirl.model.transition_rows import Rows, initial_law, is_sparse, rows_from_triplets


def to_quantecon(mdp: TabularMDP, discount: float = 1.0) -> Any:
    """The MDP as a QuantEcon ``DiscreteDP`` in its sparse form by state-action pair.

    With ``discount=1`` QuantEcon keeps its infinite-horizon solvers closed; give a discount to use them.
    """
    check_mdp(mdp)
    try:
        from quantecon.markov import DiscreteDP
    except ImportError as error:
        raise ImportError("to_quantecon needs QuantEcon: pip install quantecon") from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*disabled with beta=1")
        return DiscreteDP(
            mdp.r_mean.copy(), _matrix(mdp.rows, mdp.n_states), discount, mdp.pairs.state, mdp.pairs.action
        )


def from_quantecon(ddp: Any, initial: Any = 0, *, rescale: bool = False, **extras: Any) -> TabularMDP:
    """An MDP from a ``DiscreteDP`` of any form; a reward of minus infinity marks an action that is not allowed.

    ``rescale=True`` maps rewards onto [0, 1] and keeps the map. Further keywords: ``reward_law``, ``concentration``,
    ``name``. The discount is dropped.
    """
    allowed = ~np.isneginf(ddp.R)
    if ddp.s_indices is None:
        state, action = np.nonzero(allowed)
    else:
        state, action = ddp.s_indices[allowed], ddp.a_indices[allowed]
    means, laws = ddp.R[allowed], ddp.Q[allowed]
    n_states = int(ddp.num_states)
    pairs = Pairs(np.concatenate([[0], np.cumsum(np.bincount(state, minlength=n_states))]), action)
    if is_sparse(laws):
        entries = laws.tocoo()
        pair, succ, prob = entries.row, entries.col, entries.data
    else:
        pair, succ = np.nonzero(laws)
        prob = laws[pair, succ]
    means, reward_map = _rewards(means, rescale)
    rows = rows_from_triplets(pairs, pair, succ, np.asarray(prob, dtype=float))
    return TabularMDP(pairs, rows, means, initial_law(initial, pairs), reward_map=reward_map, **extras)


def to_toolbox(mdp: TabularMDP, *, sparse: bool = False) -> tuple[Any, np.ndarray]:
    """Transitions (A, S, S) and rewards (S, A), as the MDP toolboxes take them; needs actions 0 .. A-1 in every state.

    ``sparse=True`` gives a list with one scipy.sparse matrix per action instead of a dense array of S * A * S numbers.

    >>> from equirl.worlds.world_registry import make
    >>> transitions, rewards = to_toolbox(make("riverswim", n_states=6))
    >>> transitions.shape, rewards.shape
    ((2, 6, 6), (6, 2))
    """
    check_mdp(mdp)
    if not sparse:
        transitions, rewards = mdp.to_arrays()
        return np.ascontiguousarray(transitions.transpose(1, 0, 2)), rewards
    if not mdp.pairs.is_uniform:
        raise ValueError("states differ in their actions; the toolboxes need actions 0 .. A-1 in every state")
    matrix = _matrix(mdp.rows, mdp.n_states)
    by_action = [matrix[a :: mdp.n_actions] for a in range(mdp.n_actions)]
    return by_action, mdp.r_mean.reshape(mdp.n_states, mdp.n_actions).copy()


def from_toolbox(
    transitions: Any, rewards: Any, initial: Any = 0, *, rescale: bool = False, **extras: Any
) -> TabularMDP:
    """An MDP from toolbox arrays: transitions (A, S, S), dense or one matrix per action; rewards in any of their forms.

    Rewards: (S,), (S, A), or by transition as (A, S, S) or one matrix per action. ``rescale=True`` maps the mean
    rewards onto [0, 1] and keeps the map. Keywords as for ``TabularMDP.from_arrays``.

    >>> from equirl.worlds.world_registry import make
    >>> river = make("riverswim", n_states=6)
    >>> np.array_equal(from_toolbox(*to_toolbox(river)).rows.prob, river.rows.prob)
    True
    """
    by_action = isinstance(transitions, Sequence) and any(is_sparse(matrix) for matrix in transitions)
    if not by_action:
        transitions = real_array("transitions", transitions)
        if transitions.ndim != 3 or transitions.shape[1] != transitions.shape[2]:
            raise ValueError(f"transitions have shape {transitions.shape}; (A, S, S) is needed")
    means = _toolbox_means(transitions, rewards)
    means, reward_map = _rewards(means, rescale)
    laws = list(transitions) if by_action else transitions.transpose(1, 0, 2)
    return TabularMDP.from_arrays(laws, means, initial, reward_map=reward_map, **extras)


def _toolbox_means(transitions: Any, rewards: Any) -> np.ndarray:
    """Rewards by transition averaged to (S, A); others as they are."""
    each = list(rewards) if isinstance(rewards, Sequence) else []
    if not any(is_sparse(matrix) for matrix in each):
        dense = real_array("rewards", rewards)
        if dense.ndim != 3:
            return dense
        each = list(dense)
    if len(each) != len(transitions):
        raise ValueError(f"there are rewards of {len(each)} actions and transitions of {len(transitions)}")
    columns = [_row_sums(law, paid) for law, paid in zip(transitions, each, strict=True)]
    return np.stack(columns, axis=1)


def _row_sums(law: Any, paid: Any) -> np.ndarray:
    """(S,) sum of law * paid over each row, either of them sparse."""
    if law.shape != paid.shape:
        raise ValueError(f"a reward matrix has shape {paid.shape}, its transitions {law.shape}")
    product = law.multiply(paid) if is_sparse(law) else paid.multiply(law) if is_sparse(paid) else law * paid
    return np.asarray(product.sum(axis=1), dtype=float).ravel()


def _rewards(means: Any, rescale: bool) -> tuple[np.ndarray, tuple[float, float]]:
    return rescale_rewards(means) if rescale else (real_array("rewards", means), (1.0, 0.0))


def _matrix(rows: Rows, n_states: int) -> Any:
    """(M, S) scipy.sparse matrix of the rows, sharing nothing with them."""
    from scipy.sparse import csr_matrix

    shape = len(rows.ptr) - 1, n_states
    return csr_matrix((rows.prob.copy(), rows.succ.copy(), rows.ptr.copy()), shape=shape)
