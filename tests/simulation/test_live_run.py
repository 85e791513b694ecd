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


def test_a_run_that_fails_hangs_what_it_has_recorded_on_its_exception_and_one_without_steps_nothing():
    river = eq.make("riverswim", n_states=4)
    for patience in (0, 60):

        def broken(agent, patience=patience):
            if agent.t > patience:
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError) as caught:
            eq.simulate(river, "ucrl2-l", 5000, seed=1, callback=broken)
        if patience == 0:
            assert not hasattr(caught.value, "trace")
            continue
        trace = caught.value.trace
        assert patience <= trace.t[-1] == trace.agent.t - 1 < 5000
        (note,) = caught.value.__notes__
        assert note == f"the run up to step {trace.t[-1]} is kept in the attribute 'trace' of this exception"
        whole = eq.simulate(river, "ucrl2-l", int(trace.t[-1]), seed=1)
        assert trace.reward[-1] == whole.reward[-1]


def test_a_run_given_up_ends_where_it_is():
    run = LiveRun(eq.make("riverswim", n_states=4), "ucrl2-l", 5000, seed=1)
    assert run.give_up() is None
    assert not run.goes_on
    run = LiveRun(eq.make("riverswim", n_states=4), "ucrl2-l", 5000, seed=1)
    assert len(run.policy) == 0
    path = run.advance()
    assert len(run.policy) == 4
    assert run.give_up().t[-1] == len(path) == run.steps < 5000


def test_where_the_callback_says_so_the_run_ends_before_the_episode():
    told = []

    def third(agent):
        told.append(agent.t)
        return len(told) == 3

    trace = eq.simulate(eq.make("riverswim", n_states=4), "ucrl2-l", 5000, seed=1, callback=third)
    assert trace.stopped == "the callback said so"
    assert trace.t[-1] == told[-1] - 1
