"""A run driven stretch by stretch is the run that simulate plays."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.simulation.simulated_runs import LiveRun


@pytest.mark.parametrize("learner", ["c-psrl", "ucrl2-l", "imed-rl", "random", "mbie"])
def test_a_run_that_is_watched_has_the_numbers_of_simulate(learner):
    mdp = eq.make("ergodic-riverswim", n_states=5, reward_law="bernoulli")
    expected = eq.simulate(mdp, learner, 600, seed=4, checkpoints=20)
    run = LiveRun(mdp, learner, 600, seed=4, checkpoints=20)
    played = np.zeros(mdp.n_pairs, np.int64)
    while run.goes_on:
        np.add.at(played, run.advance(), 1)
        so_far = run.curves()
        np.testing.assert_array_equal(so_far["regret"][0], expected.regret[: len(so_far.t)])
    trace = run.trace()
    assert trace.curves.names == expected.curves.names
    for name in trace.curves:
        np.testing.assert_array_equal(trace.curves[name], expected.curves[name])
    assert played.sum() == run.steps == 600
    assert len(run.advance()) == 0


def test_a_run_under_way_has_no_trace_yet():
    run = LiveRun(eq.make("riverswim", n_states=5), "ucrl2-l", 500)
    assert run.curves().t.tolist() == []
    run.advance()
    with pytest.raises(ValueError, match="the run is at step"):
        run.trace()
