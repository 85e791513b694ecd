"""What was seen, drawn again: unbiased, without a prior, and only where something was seen."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.model.rows import Rows
from equirl.planning.exact_model import ExactModel
from equirl.posterior.drawn_plan import resampled_rows

ROWS = [(0, 0, 1.0, 1)] * 6 + [(0, 0, 0.0, 2)] * 2 + [(1, 0, 0.0, 0)] * 5 + [(1, 1, 1.0, 1)] * 3
LOG = eq.from_log(ROWS, actions=2, reward_range=(0, 1))


def drawn_model():
    """A drawn MDP in which every pair goes to state 2, but for a tenth of it."""
    M = LOG.pairs.n_pairs
    rows = Rows(np.arange(M + 1), np.full(M, 2, np.int32), np.full(M, 0.9))
    return ExactModel(rows, np.full(M, 0.1), np.full(M, 0.4), np.array(LOG.pairs.state), 0.5)


def test_rows_are_drawn_around_what_was_seen_and_never_elsewhere():
    policy, rng = np.array([0, 2, 4]), np.random.default_rng(0)  # the third was never played
    found = [resampled_rows(LOG.seen, policy, drawn_model(), rng) for _ in range(2000)]
    assert all(sorted(one.rows.succ[:2].tolist()) == [1, 2] for one in found)
    to_one = np.array([one.rows.prob[list(one.rows.succ[:2]).index(1)] for one in found])
    assert to_one.mean() == pytest.approx(0.75, abs=0.02)
    assert to_one.std() == pytest.approx(np.sqrt(0.75 * 0.25 / 9), rel=0.1)  # Dirichlet(6, 2)
    reward = np.array([one.reward for one in found])
    assert reward[:, 0].mean() == pytest.approx(0.75, abs=0.02)
    assert (reward[:, 1] == 0.0).all()  # always seen to pay nothing
    one = found[0]
    assert one.rows.ptr.tolist() == [0, 2, 3, 4]
    assert (one.rows.succ[2], one.rows.prob[2], one.rest[1]) == (0, 1.0, 0.0)
    assert (one.rows.succ[3], one.rows.prob[3], one.rest[2], one.reward[2]) == (2, 0.9, 0.1, 0.4)  # as in the MDP drawn


def test_what_was_always_paid_is_what_is_paid():
    log = eq.from_log([(0, 0, 0.3, 0)] * 4 + [(1, 0, 0.2, 0), (1, 0, 0.6, 0)], actions=1, reward_range=(0, 1))
    rows = Rows(np.arange(3), np.zeros(2, np.int32), np.ones(2))
    model = ExactModel(rows, np.zeros(2), np.zeros(2), np.array(log.pairs.state), 0.5)
    rng = np.random.default_rng(0)
    rewards = np.array([resampled_rows(log.seen, np.arange(2), model, rng).reward for _ in range(50)])
    np.testing.assert_allclose(rewards[:, 0], 0.3)
    assert rewards[:, 1].std() > 0.1
