"""What a run writes down: gaps of policies, totals at checkpoints, and when the checkpoints are."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.simulation import trace as traces
from equirl.simulation.trace import Recorder, ValueMeasures, checkpoint_times, tally
from equirl.solving.policies import chain_of_pairs

RIVER = eq.make("riverswim", n_states=4, reward_law="bernoulli")
FIRST = np.array(RIVER.pairs.ptr[:-1])


def test_policies_played_again_are_not_evaluated_again_as_long_as_they_are_remembered(monkeypatch):
    measures, evaluated = ValueMeasures(RIVER, 0.9, 0.01), []

    def note(mdp, pair):
        evaluated.append(mdp.pairs.action[pair].tolist())
        return chain_of_pairs(mdp, pair)

    monkeypatch.setattr(traces, "chain_of_pairs", note)
    monkeypatch.setattr(traces, "REMEMBERED", 2)
    one, two, three = FIRST, FIRST + 1, FIRST + np.array([0, 1, 0, 1])
    for policy in (one, two, one, three, three, two, one):
        measures.gap(policy)
    assert evaluated == [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]  # the one met first is forgotten


def test_a_step_counts_where_its_gap_is_larger_than_epsilon_not_where_it_is_equal():
    policy, path = FIRST + 1, np.array([1, 5, 7, 1])
    gap = ValueMeasures(RIVER, 0.9, 0.0).gap(policy)
    measures = ValueMeasures(RIVER, 0.9, float(gap[2]))
    counted, gaps = measures.along(policy, path)
    np.testing.assert_array_equal(gaps, gap[[0, 2, 3, 0]])
    np.testing.assert_array_equal(counted, gaps > gap[2])
    assert counted[1] == 0.0 < gaps[1]
    assert (gap > 0).all()


@pytest.mark.parametrize("plain", [False, True])
def test_totals_are_noted_at_every_mark_that_a_path_passes(plain):
    rng = np.random.default_rng(0)
    marks, total, earned = np.array([1, 2, 5, 6, 9, -1]), np.zeros(2), np.zeros((2, 5))
    rewards, means = rng.random(9), rng.random(9)
    run = tally.py_func if plain else tally
    at = run(rewards[:4], means[:4], 1, marks, 0, total, earned)
    assert at == 2
    at = run(rewards[4:5], means[4:5], 5, marks, at, total, earned)
    assert at == 3
    assert run(rewards[5:], means[5:], 6, marks, at, total, earned) == 5
    for mine, values in zip(earned, (rewards, means), strict=True):
        np.testing.assert_allclose(mine, np.cumsum(values)[marks[:-1] - 1])
    np.testing.assert_allclose(total, [rewards.sum(), means.sum()])


def test_a_curve_that_a_trace_lacks_is_named_with_those_it_has():
    trace = eq.simulate(RIVER, "ucrl2-l", 20, checkpoints=2)
    assert trace.misclustering_bias is None
    with pytest.raises(AttributeError, match="the trace of 'ucrl2-l' has no 'value_regret'; its curves: regret, "):
        _ = trace.value_regret
    assert not hasattr(trace, "__array_interface__")
    assert (trace.n_unconverged, trace.stopped, trace.policy.tolist()) == (0, "", [])
    assert np.isnan(trace.gap)


def test_plans_that_hit_their_cap_are_counted_from_the_start_of_the_run():
    first = eq.simulate(RIVER, "ucrl2-l", 300, seed=0, max_sweeps=1)
    assert first.n_unconverged == first.agent.n_unconverged > 0
    second = eq.simulate(RIVER, first.agent, 300, seed=1)
    assert second.n_unconverged == second.agent.n_unconverged - first.n_unconverged


@pytest.mark.parametrize("steps", [1, 4, 5, 7])
def test_a_run_that_ends_early_has_its_last_step_as_last_checkpoint(steps):
    agent = eq.make_agent("random", 4, 2)
    recorder = Recorder(RIVER, agent, np.array([4, 8, 12]), measure_clustering=False)
    path, rewards = np.arange(steps) % 8, np.linspace(0, 1, steps)
    agent.record(path, rewards, 0)
    recorder.add(1, FIRST, path, rewards)
    assert recorder.end_early()
    assert recorder.end_early()
    curves = recorder.curves(agent.criterion, 0.5)
    assert curves.t.tolist() == ([steps] if steps <= 4 else [4, steps])
    assert curves["reward"][0, -1] == pytest.approx(rewards.sum())
    assert curves["pseudo_regret"][0, -1] == pytest.approx(0.5 * steps - RIVER.r_mean[path].sum())
    assert curves["n_classes"].tolist() == [[8] * len(curves.t)]


def test_a_run_that_ends_before_its_first_step_has_nothing_to_tell():
    recorder = Recorder(RIVER, eq.make_agent("random", 4, 2), np.array([4]), measure_clustering=False)
    assert not recorder.end_early()
    assert recorder.curves(eq.make_agent("random", 4, 2).criterion, 0.5).t.tolist() == []


@pytest.mark.parametrize(
    ("checkpoints", "message"),
    [
        ("linear", "checkpoints are a number, 'log', or a list of times, not 'linear'"),
        (0, "checkpoints must be a number of at least 1, not 0"),
        (2.5, "checkpoints must be a number of at least 1, not 2.5"),
        ([], "checkpoints must be a list of integer times"),
        ([[5, 10]], "checkpoints must be a list of integer times"),
        ([5.0, 10.0], "checkpoints must be a list of integer times"),
        ([0, 10], "checkpoints must increase from at least 1 and end at the horizon 10"),
        ([5, 5, 10], "checkpoints must increase"),
        ([5, 9], "checkpoints must increase"),
        ([5, 11], "checkpoints must increase"),
    ],
)
def test_checkpoints_that_are_none_are_named(checkpoints, message):
    with pytest.raises(ValueError, match=message):
        checkpoint_times(checkpoints, 10)


def test_checkpoints_are_as_even_as_whole_numbers_can_be_at_any_horizon():
    assert checkpoint_times([1, 4, 10], 10).tolist() == [1, 4, 10]
    assert checkpoint_times(1, 7).tolist() == [7]
    assert checkpoint_times(3, 2).tolist() == [1, 2]
    for n, horizon in ((7, 100), (200, 2**62 + 3), (3, 10)):
        expected = [k * horizon // n for k in range(1, n + 1)]
        assert np.abs(checkpoint_times(n, horizon) - np.array(expected)).max() <= 1
        assert checkpoint_times(n, horizon)[-1] == horizon
    log = checkpoint_times("log", 1000)
    np.testing.assert_array_equal(log[:5], [1, 2, 3, 4, 5])
    assert (log[-1], len(log)) == (1000, len(set(np.rint(1000 ** (np.arange(200) / 199)).tolist())))
