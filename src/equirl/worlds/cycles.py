"""Deterministic cycles: the shortest problem in which everything is periodic."""

from __future__ import annotations

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.pairs import MOST_STATES, Pairs
from equirl.model.transition_rows import rows_from_triplets
from equirl.words.checking import between, whole_number

GO, STAY = 0, 1


def cycle(n_states: int = 20, reward: float = 1.0, stay_reward: float = 0.0) -> TabularMDP:
    """A cycle: go leads to the next state, stay stays; going on from the last state pays.

    The optimal policy goes round, with period ``n_states`` and gain ``reward / n_states``. All pairs have the same
    transition probabilities up to the names of successors: one class, rewards aside.

    Parameters
    ----------
    n_states : int, default 20
        The length of the cycle, at least 2.
    reward : float, default 1
        What going on from the last state to the first pays.
    stay_reward : float, default 0
        What staying in the first state pays: above ``reward / n_states`` it is best to stay there.

    Returns
    -------
    TabularMDP

    Examples
    --------
    >>> cycle(4).law(3, "go"), cycle(4).mean_reward(3, "go")
    ({0: 1.0}, 1.0)
    """
    n_states = whole_number("n_states", n_states, least=2, most=MOST_STATES)
    state = np.arange(n_states)
    pairs = Pairs.uniform(n_states, 2)
    succ = np.column_stack([(state + 1) % n_states, state]).ravel()
    rows = rows_from_triplets(pairs, np.arange(2 * n_states), succ, np.ones(2 * n_states))
    means = np.zeros((n_states, 2))
    means[-1, GO], means[0, STAY] = between("reward", reward), between("stay_reward", stay_reward)
    named = Pairs(pairs.ptr, pairs.action, action_names=("go", "stay"))
    return TabularMDP(named, rows, means.ravel(), np.eye(1, n_states)[0])
