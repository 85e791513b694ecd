"""To and from other libraries: QuantEcon's ``DiscreteDP`` and the (A, S, S) arrays of the MDP toolboxes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Pairs
from equirl.model.reward_distributions import rescale_rewards
from equirl.model.row_readers import is_sparse
from equirl.model.rows import Rows
from equirl.numerics.arrays import starts
from equirl.words.checking import between, flag, real_array
from equirl.words.formatting import shown


def to_quantecon(mdp: TabularMDP, discount: float | None = None) -> Any:
    """The MDP as a QuantEcon ``DiscreteDP`` in its sparse form by state-action pair, rewards in the user's units.

    Parameters
    ----------
    mdp : TabularMDP
        The MDP.
    discount : float, optional
        By default the problem's own, ``mdp.discount``, or 1 where it has none. With 1 QuantEcon keeps its
        infinite-horizon solvers closed; give a smaller one to use them.
    """
    check_mdp(mdp)
    own = 1.0 if mdp.discount is None else mdp.discount
    discount = own if discount is None else between("discount", discount)
    try:
        from quantecon.markov import DiscreteDP
    except ImportError as error:
        raise ImportError("to_quantecon needs QuantEcon: pip install quantecon") from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*disabled with beta=1")
        return DiscreteDP(
            mdp.rewards.copy(), _matrix(mdp.rows, mdp.n_states), discount, mdp.pairs.state, mdp.pairs.action
        )


def from_quantecon(
    ddp: Any, initial: Any = 0, *, rescale: bool = False, normalize: bool = False, **extras: Any
) -> TabularMDP:
    """An MDP from a QuantEcon ``DiscreteDP`` of any form.

    Parameters
    ----------
    ddp : quantecon.markov.DiscreteDP
        A reward of minus infinity marks an action that is not allowed. Its discount is kept as
        ``mdp.discount``, for ``solve(mdp, discount=mdp.discount)``; one of 1 as None.
    initial : int or array_like, shape (S,), default 0
        The first state or its distribution.
    rescale : bool, default False
        Map rewards onto [0, 1], and keep the map.
    normalize : bool, default False
        Divide rows of probabilities by their sums, as in ``TabularMDP.from_arrays``.
    **extras
        ``reward_law``, ``concentration``, ``name``.
    """
    if not any(kind.__name__ == "DiscreteDP" for kind in type(ddp).__mro__):
        raise TypeError(f"ddp must be a DiscreteDP of QuantEcon, not {shown(ddp)}")
    allowed = ~np.isneginf(ddp.R)
    if ddp.s_indices is None:
        state, action = np.nonzero(allowed)
    else:
        state, action = ddp.s_indices[allowed], ddp.a_indices[allowed]
    means, rows = ddp.R[allowed], ddp.Q[allowed]
    n_states = int(ddp.num_states)
    pairs = Pairs(starts(np.bincount(state, minlength=n_states)), action)
    means, reward_map = _rewards(means, rescale)
    known: dict[str, Any] = {"reward_map": reward_map, "discount": None if ddp.beta == 1 else float(ddp.beta)}
    return TabularMDP.from_rows(rows, means, pairs, initial, normalize=normalize, **known, **extras)


def to_toolbox(mdp: TabularMDP, *, sparse: bool = False) -> tuple[Any, np.ndarray]:
    """The MDP as the MDP toolboxes take it, rewards in the user's units.

    Parameters
    ----------
    mdp : TabularMDP
        Every state must have the actions 0 .. A-1.
    sparse : bool, default False
        Whether to give one scipy.sparse matrix per action instead of a dense array of S * A * S numbers.

    Returns
    -------
    transitions : ndarray, shape (A, S, S), or list of scipy.sparse matrices (S, S)
    rewards : ndarray, shape (S, A)

    Examples
    --------
    >>> from equirl.worlds.world_registry import make
    >>> transitions, rewards = to_toolbox(make("riverswim", n_states=6))
    >>> transitions.shape, rewards.shape
    ((2, 6, 6), (6, 2))
    """
    check_mdp(mdp)
    if not flag("sparse", sparse):
        transitions, rewards = mdp.to_arrays()
        return np.ascontiguousarray(transitions.transpose(1, 0, 2)), rewards
    if not mdp.pairs.is_uniform:
        raise ValueError("states differ in their actions; the toolboxes need actions 0 .. A-1 in every state")
    matrix = _matrix(mdp.rows, mdp.n_states)
    by_action = [matrix[a :: mdp.n_actions] for a in range(mdp.n_actions)]
    return by_action, mdp.rewards.reshape(mdp.n_states, mdp.n_actions).copy()


def from_toolbox(
    transitions: Any, rewards: Any, initial: Any = 0, *, rescale: bool = False, **extras: Any
) -> TabularMDP:
    """An MDP from the arrays of the MDP toolboxes.

    Parameters
    ----------
    transitions : array_like, shape (A, S, S), or list of matrices (S, S), one per action
        Transition probabilities.
    rewards : array_like, shape (S,), (S, A) or (A, S, S), or list of matrices (S, S)
        Rewards by state, by pair, or by transition (then averaged over the successors).
    initial : int or array_like, shape (S,), default 0
        The first state or its distribution.
    rescale : bool, default False
        Map the mean rewards onto [0, 1], and keep the map.
    **extras
        As for ``TabularMDP.from_arrays``, ``normalize`` included.

    Examples
    --------
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
    arrays = list(transitions) if by_action else transitions.transpose(1, 0, 2)
    return TabularMDP.from_arrays(arrays, means, initial, reward_map=reward_map, **extras)


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
    columns = [_row_sums(probs, paid) for probs, paid in zip(transitions, each, strict=True)]
    return np.stack(columns, axis=1)


def _row_sums(probs: Any, paid: Any) -> np.ndarray:
    """(S,) sum of probs * paid over each row, either of them sparse."""
    if probs.shape != paid.shape:
        raise ValueError(f"a reward matrix has shape {paid.shape}, its transitions {probs.shape}")
    product = probs.multiply(paid) if is_sparse(probs) else paid.multiply(probs) if is_sparse(paid) else probs * paid
    return np.asarray(product.sum(axis=1), dtype=float).ravel()


def _rewards(means: Any, rescale: bool) -> tuple[np.ndarray, tuple[float, float]]:
    return rescale_rewards(means) if flag("rescale", rescale) else (real_array("rewards", means), (1.0, 0.0))


def _matrix(rows: Rows, n_states: int) -> Any:
    """(M, S) scipy.sparse matrix of the rows, sharing nothing with them."""
    from scipy.sparse import csr_matrix

    shape = len(rows.ptr) - 1, n_states
    return csr_matrix((rows.prob.copy(), rows.succ.copy(), rows.ptr.copy()), shape=shape)
