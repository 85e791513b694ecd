"""Walking in an MDP: each draw leads where the cumulated probabilities say, and limits stay the learner's."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners.contract import Stretch, pair_limits, step_limits
from equirl.model.dynamics import cumulate_rows, dynamics_of
from equirl.simulation.rollout import Rollout, walk

WORLD = eq.make("random", n_states=7, n_actions=2, branching=5, seed=3)


@pytest.mark.parametrize("plain", [False, True])
def test_a_draw_leads_to_the_first_successor_whose_cumulated_probability_exceeds_it(plain):
    rows, cumulative = WORLD.rows, np.empty(len(WORLD.rows.prob))
    (cumulate_rows.py_func if plain else cumulate_rows)(rows.ptr, rows.prob, cumulative)
    world, policy = dynamics_of(WORLD), np.array(WORLD.pairs.ptr[:-1]) + 1
    run = walk.py_func if plain else walk
    for k in policy:
        own = slice(rows.ptr[k], rows.ptr[k + 1])
        np.testing.assert_allclose(cumulative[own], np.cumsum(rows.prob[own]))
        for draw in (0.0, *cumulative[own][:-1], *(cumulative[own] - 1e-9), 0.999999999):
            path = np.zeros(1, np.int64)
            state = int(WORLD.pairs.state[k])
            steps, after = run(state, np.array([draw]), world, Stretch(policy, step_limits()), path)
            place = int((cumulative[own] <= draw).sum())
            assert (steps, path[0], after) == (1, k, rows.succ[own][min(place, len(rows.succ[own]) - 1)])


def test_a_stretch_is_played_up_to_its_limits_which_stay_as_they_are():
    rollout = Rollout(WORLD, np.random.SeedSequence(0))
    limits = pair_limits(np.full(WORLD.n_pairs, 3))
    path, rewards = rollout.play(Stretch(np.array(WORLD.pairs.ptr[:-1]), limits), 1000)
    visits = np.bincount(path, minlength=WORLD.n_pairs)
    assert visits.max() == 3
    assert len(path) == len(rewards)
    assert limits.pair_left.tolist() == [3] * WORLD.n_pairs
    assert visits[WORLD.pairs.ptr[rollout.state]] == 3  # the pair that would be played next


def test_whatever_the_pieces_a_walk_is_the_same():
    policy = Stretch(np.array(WORLD.pairs.ptr[:-1]), step_limits())
    whole, pieces = (Rollout(WORLD, np.random.SeedSequence(4)) for _ in range(2))
    first = whole.play(policy, 100)[0].copy()
    parts = [pieces.play(policy, n)[0].copy() for n in (1, 30, 69)]
    np.testing.assert_array_equal(np.concatenate(parts), first)
    assert pieces.state == whole.state


def test_as_many_steps_are_played_as_there_are_coins():
    rollout = Rollout(WORLD, np.random.SeedSequence(0))
    path, _ = rollout.play(Stretch(np.zeros(0, np.int64), step_limits(), np.array([0.2, 0.7, 0.2])), 100)
    assert WORLD.pairs.action[path].tolist() == [0, 1, 0]


def test_no_walk_starts_where_the_initial_law_has_no_mass():
    mdp = eq.TabularMDP.from_arrays(np.eye(4)[:, None], np.zeros((4, 1)), initial=[0.0, 0.5, 0.5, 0.0])
    starts = {Rollout(mdp, np.random.SeedSequence(seed)).state for seed in range(60)}
    assert starts == {1, 2}
