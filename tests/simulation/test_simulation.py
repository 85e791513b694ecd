import numpy as np
import pytest

from equirl.lab.studies.compare import simulate_many
from equirl.learners.contract import Stretch, step_limits
from equirl.learners.learner_registry import make_agent
from equirl.model.mdp import TabularMDP
from equirl.model.reward_distributions import draw_rewards
from equirl.simulation.rollout import Rollout, walk
from equirl.simulation.simulated_runs import simulate
from equirl.simulation.trace import checkpoint_times
from equirl.solving.optimal_gain import solve
from equirl.theory import n_episodes_bound
from equirl.worlds.world_registry import make

RIVER = make("riverswim", n_states=6)


def same_trace(one, other):
    for curve in ("t", "regret", "pseudo_regret", "reward", "n_classes", "episode_starts"):
        np.testing.assert_array_equal(getattr(one, curve), getattr(other, curve))


def test_a_run_is_a_function_of_its_seed():
    same_trace(simulate(RIVER, "c-ucrl", 2000, seed=3), simulate(RIVER, "c-ucrl", 2000, seed=3))
    other = simulate(RIVER, "c-ucrl", 2000, seed=4)
    assert not np.array_equal(simulate(RIVER, "c-ucrl", 2000, seed=3).reward, other.reward)


def test_a_longer_run_begins_as_the_shorter_one():
    short = simulate(RIVER, "c-ucrl", 1000, seed=3, checkpoints=10)
    long = simulate(RIVER, "c-ucrl", 5000, seed=3, checkpoints=50)
    np.testing.assert_array_equal(short.reward, long.reward[:10])
    np.testing.assert_array_equal(short.regret, long.regret[:10])


def test_how_often_a_run_is_looked_at_changes_nothing(monkeypatch):
    fine = simulate(RIVER, "ucrl2-l", 3000, seed=3, checkpoints=3000)
    coarse = simulate(RIVER, "ucrl2-l", 3000, seed=3, checkpoints=3)
    np.testing.assert_array_equal(fine.regret[[999, 1999, 2999]], coarse.regret)


def test_regret_counts_received_rewards_and_pseudo_regret_means():
    world = make("riverswim", n_states=6, reward_law="bernoulli")
    trace = simulate(world, "ucrl2-l", 5000, seed=0, checkpoints=np.arange(1, 5001))
    gain = solve(world).gain
    np.testing.assert_allclose(trace.regret, trace.t * gain - trace.reward)
    assert set(np.diff(trace.reward)) <= {0.0, 1.0}
    steps = np.diff(trace.pseudo_regret)
    assert {round(gain - x, 9) for x in steps} <= {0.0, 0.005, 1.0}


@pytest.mark.parametrize("law", ["deterministic", "bernoulli", "beta"])
def test_rewards_have_the_means_and_spread_of_their_law(law):
    world = Rollout(make("two-kinds-river", n_states=4, reward_law=law), np.random.SeedSequence(0))
    pair = int(np.flatnonzero(world.mdp.r_mean == 0.1)[0])
    mdp = world.mdp
    paid = draw_rewards(law, mdp.r_mean[np.full(40_000, pair)], mdp.concentration, np.random.default_rng(0))
    spread = {"deterministic": 0.0, "bernoulli": 0.09, "beta": 0.09 / (world.mdp.concentration + 1)}[law]
    assert paid.mean() == pytest.approx(0.1, abs=4 * np.sqrt(spread / 40_000) + 1e-12)
    assert paid.var() == pytest.approx(spread, rel=0.1)
    assert paid.min() >= 0
    assert paid.max() <= 1


def test_moves_follow_the_law_of_the_pair():
    world = make("riverswim", n_states=6)
    trace = simulate(world, "random", 60_000, seed=1)
    seen = trace.agent.counts.snapshot()
    k = world.pairs.index(2, 0)
    share = dict(zip(seen.succ[seen.ptr[k] : seen.ptr[k + 1]], seen.count[seen.ptr[k] : seen.ptr[k + 1]], strict=True))
    n = seen.visits[k]
    for x, p in world.transition_probabilities(2, 0).items():
        assert share[x] / n == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n))


def test_the_initial_state_follows_the_initial_law():
    law = np.array([0.2, 0.0, 0.5, 0.3])
    P = np.tile(np.eye(4)[:, None], (1, 1, 1))
    mdp = TabularMDP.from_arrays(P, np.zeros((4, 1)), initial=law)
    starts = [Rollout(mdp, np.random.SeedSequence(seed)).state for seed in range(2000)]
    np.testing.assert_allclose(np.bincount(starts, minlength=4) / 2000, law, atol=0.05)


def test_the_optimal_baseline_has_no_regret_beyond_chance_and_random_has_much():
    optimal, random = (simulate(RIVER, name, 20_000, seed=0).regret[-1] for name in ("optimal", "random"))
    assert abs(optimal) < 500
    assert random > 10_000


def test_a_given_learner_is_copied_never_changed():
    agent = make_agent("ucrl2-l", 6, 2, seed=5)
    first, second = simulate(RIVER, agent, 500, seed=1), simulate(RIVER, agent, 500, seed=1)
    assert agent.t == 1
    same_trace(first, second)


def test_a_run_can_be_continued_from_its_learner():
    agent = simulate(RIVER, "ucrl2-l", 500, seed=1).agent
    assert simulate(RIVER, agent, 500, seed=2).agent.t == 1001


def test_learners_share_the_world_where_asked():
    runs = [simulate(RIVER, "random", 400, seed=s, world_seed=9, checkpoints=400).reward for s in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    policy = Stretch(RIVER.pairs.ptr[:-1].copy(), step_limits())
    first, second = (Rollout(RIVER, np.random.SeedSequence(9)).play(policy, 100)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_callback_hears_every_episode():
    heard = []
    trace = simulate(RIVER, "ucrl2-l", 2000, seed=0, callback=lambda agent: heard.append(agent.episode_starts[-1]))
    assert heard == trace.episode_starts.tolist()


def test_clustering_is_measured_on_request():
    trace = simulate(RIVER, "c-ucrl", 3000, seed=0, measure_clustering=True, checkpoints=20)
    assert trace.misclustering_ratio.shape == trace.misclustering_bias.shape == (20,)
    assert (trace.misclustering_ratio >= 0).all()
    assert (trace.misclustering_ratio <= 1).all()
    assert simulate(RIVER, "c-ucrl", 100, seed=0).misclustering_ratio is None
    with pytest.raises(ValueError, match="forms no classes"):
        simulate(RIVER, "random", 100, measure_clustering=True)


@pytest.mark.parametrize("seed", range(5))
def test_episodes_stay_below_the_count_of_lemma_4(seed):
    world = make("ergodic-riverswim", n_states=12)
    trace = simulate(world, "c-ucrl-c-sigma", 20_000, seed=seed)
    for n, start in enumerate(trace.episode_starts, start=1):
        if start >= 6:
            assert n <= n_episodes_bound(6, start)


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": -5}, "horizon"),
        ({"horizon": 10.5}, "horizon"),
        ({"horizon": 10, "checkpoints": 0}, "checkpoints"),
        ({"horizon": 10, "checkpoints": "often"}, "often"),
        ({"horizon": 10, "checkpoints": [1, 5]}, "end at the horizon"),
        ({"horizon": 10, "checkpoints": [5, 5, 10]}, "increase"),
        ({"horizon": 10, "delta": 2.0}, "delta"),
        ({"horizon": 10, "agent": "ucrl"}, "ucrl2"),
        ({"horizon": 10, "agent": 3}, "agent"),
        ({"horizon": 10, "agent": make_agent("ucrl2-l", 5, 2)}, "other states or actions"),
        ({"horizon": 10, "agent": make_agent("ucrl2-l", 6, 2), "delta": 0.1}, "delta"),
    ],
)
def test_bad_arguments_are_named(arguments, culprit):
    arguments = {"agent": "ucrl2-l", **arguments}
    with pytest.raises((ValueError, TypeError), match=culprit):
        simulate(RIVER, **arguments)


def test_checkpoints_are_even_or_logarithmic_and_end_at_the_horizon():
    assert checkpoint_times(4, 10).tolist() == [2, 5, 7, 10]
    assert checkpoint_times(200, 3).tolist() == [1, 2, 3]
    log = checkpoint_times("log", 10**6)
    assert log[0] == 1
    assert log[-1] == 10**6
    assert (np.diff(log) > 0).all()


def test_compiled_walks_equal_their_plain_python_body():
    def play(run):
        agent, rollout = make_agent("ucrl2-l", 6, 2, seed=0), Rollout(RIVER, np.random.SeedSequence(1))
        stretch, path = agent.decide(rollout.state), np.zeros(64, np.int64)
        draw = np.random.default_rng(2).random(64)
        outcome = run(rollout.state, draw, rollout.dynamics, stretch, path)
        return outcome, path.tolist(), stretch.limits.pair_left.tolist()

    assert play(walk) == play(walk.py_func)


def test_many_runs_give_the_same_table_for_any_number_of_jobs():
    one = simulate_many(RIVER, ["ucrl2-l", ("c-ucrl", {"balance": 2.0})], 500, seeds=range(3))
    two = simulate_many(RIVER, ["ucrl2-l", ("c-ucrl", {"balance": 2.0})], 500, seeds=range(3), jobs=2)
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, two[name])
    assert list(one.final()) == ["ucrl2-l", "c-ucrl balance=2.0"]


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ({"learners": []}, "learners is empty"),
        ({"learners": "ucrl2-l"}, "must be a list"),
        ({"seeds": []}, "seeds is empty"),
        ({"jobs": 0}, "jobs"),
        ({"learners": ["ucrl2-l", "ucrl2-l"]}, "listed twice"),
        ({"learners": [("c-ucrl", {"balance": 0})]}, "balance"),
    ],
)
def test_a_bad_comparison_is_named(arguments, culprit):
    with pytest.raises((ValueError, TypeError), match=culprit):
        simulate_many(RIVER, **{"learners": ["ucrl2-l"], "horizon": 10, **arguments})


def test_playing_at_random_is_the_same_step_by_step_where_the_table_must_grow():
    world = make("random", n_states=12, n_actions=2, branching=9, seed=0)
    long = simulate(world, "random", 3000, seed=1)
    first, second = simulate(world, "random", 1000, seed=1), simulate(world, "random", 3000, seed=1, checkpoints=3)
    np.testing.assert_array_equal(long.agent.counts.visits, second.agent.counts.visits)
    assert first.reward[-1] == second.reward[0]
    assert np.diff(long.agent.counts.snapshot().ptr).max() > 4
    drawn = np.random.default_rng(np.random.SeedSequence(1).spawn(2)[1].spawn(1)[0])
    drawn.random(3000)
    assert long.agent.rng.random() == drawn.random()


def test_a_pending_end_of_episode_is_learned_where_the_world_starts():
    agent = make_agent("ucrl2-l", 6, 2)
    agent.observe(5, agent.act_id(5), 1.0, 5, terminated=True)
    after = simulate(RIVER, agent, 10).agent
    assert after.pending is None
    assert after.counts.visits.sum() == 11
    assert agent.pending is not None


def test_the_trace_of_a_continued_learner_counts_from_its_own_start():
    first = simulate(RIVER, "ucrl2-l", 1000, seed=0)
    heard = []
    second = simulate(RIVER, first.agent, 1000, seed=1, callback=lambda agent: heard.append(agent.t - 1000))
    assert second.n_episodes == second.agent.n_episodes - first.n_episodes
    assert second.episode_starts.tolist() == heard
    assert second.episode_starts[0] >= 1


def test_a_learner_on_another_scale_of_rewards_is_refused():
    with pytest.raises(ValueError, match="reward_range"):
        simulate(RIVER, make_agent("ucrl2-l", 6, 2, reward_range=(-10, 10)), 10)


def test_narrow_and_unsigned_numbers_are_numbers():
    assert simulate(RIVER, "ucrl2-l", np.int16(32767), checkpoints=2).t[-1] == 32767
    with pytest.raises(ValueError, match="increase"):
        simulate(RIVER, "ucrl2-l", 10, checkpoints=np.array([5, 3, 10], np.uint64))


def test_rare_successors_are_drawn_however_many_pairs_stand_before():
    listed = [(s, 0, {0: 1.0}, 0.0) for s in range(20_000)] + [(20_000, 0, {0: 1e-13, 1: 1 - 1e-13}, 0.0)]
    world = Rollout(TabularMDP.from_pairs(listed, 20_001), np.random.SeedSequence(0))
    assert world.dynamics.rows.prob[-2] == 1e-13


def test_regret_is_not_reported_against_a_gain_that_is_not_certified(monkeypatch):
    from equirl.solving import optimal_gain
    from equirl.solving.optimal_gain import UncertifiedGain

    def refuse(mdp):
        raise UncertifiedGain("the gain is not certified; pass gain=")

    monkeypatch.setattr(optimal_gain, "certified_solution", refuse)
    with pytest.raises(UncertifiedGain, match="pass gain="):
        simulate(RIVER, "random", 100)
    assert simulate(RIVER, "random", 100, gain=0.5).t[-1] == 100


def test_a_learner_of_unit_rewards_or_of_the_worlds_own_scale_plays_in_it():
    world = TabularMDP.from_arrays(np.full((2, 1, 2), 0.5), np.array([[0.0], [1.0]]), reward_map=(20.0, -5.0))
    for scale in ((0, 1), (-5, 15)):
        agent = make_agent("ucrl2-l", 2, 1, reward_range=scale)
        trace = simulate(world, agent, 50)
        assert trace.unit_curves["reward"][0, -1] == pytest.approx(25, abs=15)
        assert trace.reward[-1] == pytest.approx(20 * trace.unit_curves["reward"][0, -1] - 5 * 50)
        assert trace.agent.reward_map == (20.0, -5.0)
        assert (trace.gain, trace.unit_gain) == pytest.approx((5.0, 0.5))
        assert trace.regret[-1] == pytest.approx(50 * 5.0 - trace.reward[-1])
        assert agent.reward_map == (scale[1] - scale[0], scale[0])  # as it was
    with pytest.raises(ValueError, match="has another reward_range than"):
        simulate(world, make_agent("ucrl2-l", 2, 1, reward_range=(1, 2)), 50)


def test_a_learner_that_miscounts_its_steps_is_named():
    agent = make_agent("ucrl2-l", 6, 2)

    class Forgetful(type(agent)):
        def record(self, path, rewards, final):
            super().record(path, rewards, final)
            self.t -= 1

    agent.__class__ = Forgetful
    with pytest.raises(RuntimeError, match=r"'ucrl2-l' recorded \d+ steps and went from t = 1 to"):
        simulate(RIVER, agent, 10)
