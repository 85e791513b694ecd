"""Rivers: a line of states from the left bank to the right; swimming right is slow, and the large reward lies there.

Actions are right = 0 and left = 1. Right at the right end pays ``large_reward``, left at the left end ``small_reward``,
all else nothing; a learner that settles for the small reward never finds the large one. The swimmer starts at the
left end. Whatever probability is not sent left or right stays.
"""

from __future__ import annotations

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.pairs import MOST_STATES, Pairs
from equirl.model.rows import rows_from_triplets
from equirl.words.checking import between, choice, whole_number

RIGHT, LEFT = 0, 1
ARRANGEMENTS = ("halves", "alternating")


def riverswim(
    n_states: int = 25,
    forward: float = 0.4,
    back: float = 0.05,
    first_forward: float = 0.4,
    last_back: float = 0.05,
    left: float = 1.0,
    small_reward: float = 0.005,
    large_reward: float = 1.0,
) -> TabularMDP:
    """RiverSwim: swimming right is slow, swimming left is sure.

    Parameters
    ----------
    n_states : int, default 25
        The length of the river, at least 2.
    forward, back : float
        Probabilities that right moves +1 and -1.
    first_forward, last_back : float
        The same at the two ends: of +1 at the left end, of -1 at the right end.
    left : float, default 1
        Probability that left moves -1.
    small_reward, large_reward : float
        What left pays at the left end, and right at the right end.
    """
    up, down = _right(n_states, forward, back, first_forward, last_back)
    moves = np.zeros((2, 2, len(up)))
    moves[RIGHT] = up, down
    moves[LEFT, 1] = between("left", left)
    return _river(moves, small_reward, large_reward)


def ergodic_riverswim(
    n_states: int = 25,
    forward: float = 0.4,
    back: float = 0.05,
    first_forward: float = 0.4,
    last_back: float = 0.05,
    slip: float = 0.1,
    first_slip: float = 0.1,
    last_left: float = 1.0,
    small_reward: float = 0.005,
    large_reward: float = 1.0,
) -> TabularMDP:
    """RiverSwim in which left, too, may move +1: every policy reaches every state.

    Parameters
    ----------
    n_states : int, default 25
        The length of the river, at least 2.
    forward, back : float
        Probabilities that right moves +1 and -1.
    first_forward, last_back : float
        The same at the two ends: of +1 at the left end, of -1 at the right end.
    slip : float, default 0.1
        Probability that left moves +1; otherwise it moves -1.
    first_slip : float, default 0.1
        The same at the left end, where left otherwise stays.
    last_left : float, default 1
        Probability that left moves -1 at the right end.
    small_reward, large_reward : float
        What left pays at the left end, and right at the right end.
    """
    up, down = _right(n_states, forward, back, first_forward, last_back)
    slips = np.full(len(up), between("slip", slip))
    falls = 1 - slips
    slips[0], slips[-1] = between("first_slip", first_slip), 0.0
    falls[-1] = between("last_left", last_left)
    return _river(np.array([[up, down], [slips, falls]]), small_reward, large_reward)


def two_kinds_river(
    n_states: int = 20,
    arrangement: str = "halves",
    calm: float = 0.6,
    rough: float = 0.4,
    back: float = 0.05,
    small_reward: float = 0.1,
    large_reward: float = 1.0,
) -> TabularMDP:
    """A river with two kinds of water, calm and rough; left is sure.

    Parameters
    ----------
    n_states : int, default 20
        The length of the river, at least 2.
    arrangement : {"halves", "alternating"}
        The left half is calm (with the middle state), or every other state from the left end on.
    calm, rough : float
        Probabilities that right moves +1 in calm and in rough water.
    back : float
        Probability that right moves -1.
    small_reward, large_reward : float
        What left pays at the left end, and right at the right end.
    """
    n_states = whole_number("n_states", n_states, least=2, most=MOST_STATES)
    place = np.arange(n_states)
    halves = choice("arrangement", arrangement, ARRANGEMENTS) == "halves"
    is_calm = 2 * place < n_states if halves else place % 2 == 0
    for name, value in (("calm", calm), ("rough", rough)):
        _mass(**{name: between(name, value), "back": between("back", back)})
    moves = np.zeros((2, 2, n_states))
    moves[RIGHT, 0], moves[RIGHT, 1] = np.where(is_calm, calm, rough), back
    moves[LEFT, 1] = 1.0
    return _river(moves, small_reward, large_reward)


def _right(
    n_states: int, forward: float, back: float, first_forward: float, last_back: float
) -> tuple[np.ndarray, np.ndarray]:
    """Masses (S,) that the action right sends to the right and to the left."""
    n_states = whole_number("n_states", n_states, least=2, most=MOST_STATES)
    _mass(forward=between("forward", forward), back=between("back", back))
    up, down = np.full(n_states, float(forward)), np.full(n_states, float(back))
    up[0], down[-1] = between("first_forward", first_forward), between("last_back", last_back)
    return up, down


def _river(moves: np.ndarray, small_reward: float, large_reward: float) -> TabularMDP:
    """A river from the masses (2 actions, to the right and to the left, S); at an end nothing leaves the river."""
    n_states = moves.shape[-1]
    moves[:, 0, -1] = moves[:, 1, 0] = 0.0
    prob = np.stack([moves[:, 1], 1 - moves.sum(axis=1), moves[:, 0]])  # (-1 / stay / +1, 2, S)
    step, action, state = np.indices(prob.shape)
    succ = np.clip(state + step - 1, 0, n_states - 1)
    pairs = Pairs.uniform(n_states, 2)
    rows = rows_from_triplets(pairs, (2 * state + action).ravel(), succ.ravel(), np.maximum(prob, 0.0).ravel())
    means = np.zeros((n_states, 2))
    means[-1, RIGHT] = between("large_reward", large_reward)
    means[0, LEFT] = between("small_reward", small_reward)
    named = Pairs(pairs.ptr, pairs.action, action_names=("right", "left"))
    return TabularMDP(named, rows, means.ravel(), np.eye(1, n_states)[0])


def _mass(**parts: float) -> None:
    """Refuse probabilities that together exceed 1."""
    if sum(parts.values()) > 1 + 1e-12:
        raise ValueError(f"{' + '.join(parts)} is {sum(parts.values()):g}, more than 1")
