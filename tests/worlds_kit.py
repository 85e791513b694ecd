"""What the tests of worlds ask of laws and graphs."""

import numpy as np
import pytest


def profile(mdp, pair):
    return np.sort(mdp.rows.prob[mdp.rows.ptr[pair] : mdp.rows.ptr[pair + 1]])[::-1]


def profiles(mdp, decimals=9):
    return {tuple(profile(mdp, k).round(decimals)) for k in range(mdp.n_pairs)}


def close(law):
    return pytest.approx(law, abs=1e-12)


def is_communicating(mdp):
    """Every state reaches every state, by closing the graph of possible moves."""
    reach = np.eye(mdp.n_states, dtype=bool)
    reach[np.repeat(mdp.pairs.state, np.diff(mdp.rows.ptr)), mdp.rows.succ] = True
    for _ in range(mdp.n_states.bit_length()):
        reach = reach @ reach
    return reach.all()
