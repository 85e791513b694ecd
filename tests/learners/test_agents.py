import json
import math
import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest

from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.keeping.saving import KIND, VERSION, load_agent
from equirl.learners.catalogue import FAMILIES, ROWS
from equirl.learners.contract import InUse
from equirl.learners.learner_registry import AGENTS, agent_for, make_agent, make_settings
from equirl.learners.optimistic import CLUSTERING_WORK
from equirl.learners.recipes import needs_of_parts
from equirl.model.mdp import TabularMDP
from equirl.simulation.simulated_runs import simulate
from equirl.solving.optimal_gain import solve
from equirl.solving.policies import Policy
from equirl.structure.partition import Partition
from equirl.structure.similarity import profiles
from equirl.worlds.world_registry import make

PACKAGE = list(ROWS)
LEARNERS = [name for name in PACKAGE if name not in ("random", "optimal")]
WORLD = make("ergodic-riverswim", n_states=6)


@cache
def row(state, action):
    """Of a pair of WORLD: successors in order, cumulated probabilities but the last, mean reward."""
    law = sorted(WORLD.transition_probabilities(state, action).items())
    return [s for s, _ in law], list(accumulate(p for _, p in law[:-1])), WORLD.mean_reward(state, action)


def drive(agent, draws, state=0):
    """A hand-written loop over act and observe in WORLD: the actions taken, the rewards, and where it ended."""
    actions, rewards = [], []
    for draw in draws:
        action = agent.act_id(state)
        successors, cumulative, reward = row(state, action)
        successor = successors[bisect_right(cumulative, draw)]
        agent.observe(state, action, reward, successor)
        actions.append(action)
        rewards.append(reward)
        state = successor
    return actions, rewards, state


VARIANTS = [
    *((name, {}) for name in PACKAGE),
    ("c-ucrl", {"effort": 1e3}),
    ("c-ucrl", {"warm_start": True}),
    ("c-ucrl", {"ties": "optimistic"}),
    ("ucrl2-l", {"effort": 10.0, "threads": 2}),
]


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_step_by_step_a_learner_decides_as_in_simulate(name, settings):
    trace = simulate(WORLD, name, 3000, seed=4, checkpoints=np.arange(1, 3001), **settings)
    agent = agent_for(WORLD, name, np.random.SeedSequence(4).spawn(2)[1], **settings)
    world = np.random.SeedSequence(4).spawn(2)[0]
    _, rewards, _ = drive(agent, np.random.default_rng(world.spawn(3)[1]).random(3000).tolist())
    np.testing.assert_array_equal(np.cumsum(rewards), trace.reward)
    assert agent.episode_starts == trace.episode_starts.tolist()
    for mine, other in zip(agent.counts.snapshot(), trace.agent.counts.snapshot(), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("name", PACKAGE)
def test_a_saved_and_restored_learner_goes_on_identically(name, tmp_path):
    agent = agent_for(WORLD, name, 3)
    before, after = np.random.default_rng(1).random((2, 700)).tolist()
    *_, state = drive(agent, before)
    agent.save(tmp_path / "agent.npz")
    twin = load_agent(tmp_path / "agent.npz")
    assert drive(agent, after, state) == drive(twin, after, state)
    assert agent.episode_starts == twin.episode_starts


def test_a_restored_learner_thinks_what_it_thought(tmp_path):
    agent = agent_for(WORLD, "c-ucrl", 3)
    drive(agent, np.random.default_rng(1).random(500).tolist())
    agent.save(tmp_path / "agent.npz")
    twin = load_agent(tmp_path / "agent.npz")
    assert twin.beliefs.partition == agent.beliefs.partition
    assert twin.beliefs.gain_bounds() == agent.beliefs.gain_bounds()
    mine, other = ((*models.rows, *models[1:4]) for models in (agent.beliefs.models, twin.beliefs.models))
    for one, two in zip(mine, other, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_damaged_file_is_not_a_learner(tmp_path):
    agent = agent_for(WORLD, "c-ucrl", 3)
    drive(agent, np.random.default_rng(1).random(50).tolist())
    agent.save(tmp_path / "agent.npz")
    content = (tmp_path / "agent.npz").read_bytes()
    (tmp_path / "agent.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DamagedFile, match=r"agent\.npz"):
        load_agent(tmp_path / "agent.npz")
    WORLD.save(tmp_path / "world.npz")
    with pytest.raises(DamagedFile, match="equirl-agent"):
        load_agent(tmp_path / "world.npz")


def assert_same_decisions(one, other, n_steps=4000):
    first, second = (simulate(WORLD, agent, n_steps, seed=7) for agent in (one, other))
    assert first.episode_starts.tolist() == second.episode_starts.tolist()
    np.testing.assert_array_equal(first.reward, second.reward)


def test_known_singletons_make_c_ucrl_c_sigma_the_same_as_ucrl2_l():
    singletons = Partition.singletons(WORLD.n_pairs)
    told = {"classes": singletons, "profiles": profiles(WORLD)}
    assert_same_decisions(
        make_agent("c-ucrl-c-sigma", 6, 2, seed=1, stopping="pair", **told), make_agent("ucrl2-l", 6, 2, seed=1)
    )


def test_known_singletons_make_c_ucrl_c_pooled_by_class_the_same_as_ucrl2_l():
    agent = make_agent("c-ucrl-c", 6, 2, seed=1, pooling="class", classes=Partition.singletons(12))
    assert_same_decisions(agent, make_agent("ucrl2-l", 6, 2, seed=1))


def test_known_singletons_make_balanced_c_ucrl_c_the_same_as_ucrl2_l_at_a_third_of_delta():
    agent = make_agent("c-ucrl-c", 6, 2, seed=1, classes=Partition.singletons(12), pooling="balanced")
    assert_same_decisions(agent, make_agent("ucrl2-l", 6, 2, seed=1, delta=0.05 / 3))


def test_forced_singletons_make_c_ucrl_the_same_as_ucrl2_l_at_a_third_of_delta(monkeypatch):
    monkeypatch.setattr("equirl.learners.structures.merge_pairs", lambda visits, *_: (np.arange(len(visits)), 0))
    assert_same_decisions(make_agent("c-ucrl", 6, 2, seed=1), make_agent("ucrl2-l", 6, 2, seed=1, delta=0.05 / 3))


def test_an_unknown_learner_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'c-ucrl'"):
        make_agent("cucrl", 3, 2)


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"delta": "small"}, "delta"),
        ({"balance": 1.0}, "balance"),
        ({"balance": math.nan}, "balance"),
        ({"ties": "suport"}, "support"),
        ({"rewards": "none"}, "rewards"),
        ({"stopping": "never"}, "stopping"),
        ({"max_sweeps": 0}, "max_sweeps"),
        ({"warm_start": 1}, "warm_start"),
    ],
)
def test_a_bad_setting_is_named(settings, culprit):
    with pytest.raises((ValueError, TypeError), match=culprit):
        make_agent("c-ucrl", 3, 2, **settings)


def test_a_setting_the_learner_does_not_have_is_refused():
    with pytest.raises(TypeError, match="balance"):
        make_agent("ucrl2-l", 3, 2, balance=2.0)
    with pytest.raises(TypeError, match="did you mean 'delta'"):
        make_agent("ucrl2-l", 3, 2, dleta=0.1)


@pytest.mark.parametrize(
    ("step", "culprit"),
    [
        ((3, 0, 0.5, 0), "state 3"),
        ((-1, 0, 0.5, 0), "state -1"),
        ((0, 2, 0.5, 0), "action 2"),
        ((0, 0, 0.5, 9), "state 9"),
        ((0, 0, 1.5, 1), "1.5"),
        ((0, 0, -0.1, 1), "-0.1"),
        ((0, 0, math.nan, 1), "nan"),
        ((0, 0, None, 1), "None"),
        ((0.5, 0, 0.5, 1), "0.5"),
        (("left", 0, 0.5, 1), "left"),
    ],
)
def test_a_bad_step_is_named_and_leaves_the_learner_as_it_was(step, culprit):
    agent = make_agent("c-ucrl", 3, 2, seed=0)
    agent.act_id(0)
    agent.observe(0, 0, 0.5, 1)
    left = agent.limits.pair_left.copy()
    before = agent.counts.snapshot()
    with pytest.raises((ValueError, TypeError), match=culprit):
        agent.observe(*step)
    assert agent.t == 2
    np.testing.assert_array_equal(agent.limits.pair_left, left)
    for mine, other in zip(before, agent.counts.snapshot(), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("reward", [math.nan, 1.5, -0.1])
def test_a_baseline_refuses_a_bad_reward_too(reward):
    agent = make_agent("random", 3, 2)
    with pytest.raises(ValueError, match=str(reward)):
        agent.observe(0, 0, reward, 1)
    assert agent.t == 1
    assert agent.counts.visits.sum() == 0


def test_what_a_learner_must_be_told_is_asked_for():
    with pytest.raises(ValueError, match="must be given classes"):
        make_agent("c-ucrl-c", 3, 2)
    with pytest.raises(ValueError, match="makes no use of classes"):
        make_agent("ucrl2-l", 3, 2, classes=[0] * 6)
    with pytest.raises(ValueError, match="label 5 pairs, the problem has 6"):
        make_agent("c-ucrl-c", 3, 2, classes=[0] * 5)
    with pytest.raises(ValueError, match="must be given mean_rewards"):
        make_agent("ucrl2-l", 3, 2, rewards="known")
    with pytest.raises(ValueError, match="outside"):
        make_agent("ucrl2-l", 1, 1, rewards="known", mean_rewards=[2.0])


def test_known_rewards_are_taken_as_given():
    agent = agent_for(WORLD, "c-ucrl", 0, rewards="known")
    agent.act_id(0)
    np.testing.assert_array_equal(agent.beliefs.models.r_upper, WORLD.r_mean)
    np.testing.assert_array_equal(agent.beliefs.models.r_lower, WORLD.r_mean)


def test_rewards_on_another_scale_are_mapped():
    agent = make_agent("ucrl2-l", 2, 1, reward_range=(-10, 10))
    agent.act_id(0)
    agent.observe(0, 0, 5, 1)
    assert agent.counts.r_sum[0] == 0.75
    with pytest.raises(ValueError, match=r"outside \[-10, 10\]"):
        agent.observe(0, 0, 11, 1)


def test_an_end_of_episode_is_learned_as_a_move_to_where_the_next_one_starts():
    agent = make_agent("ucrl2-l", 3, 1, seed=0)
    agent.act_id(1)
    agent.observe(1, 0, 1.0, 2, terminated=True)
    assert agent.counts.visits.sum() == 0
    with pytest.raises(ValueError, match="call act"):
        agent.observe(1, 0, 1.0, 2)
    agent.act_id(0)
    seen = agent.counts.snapshot()
    assert seen.succ.tolist() == [0]
    assert seen.visits.tolist() == [0, 1, 0]


def test_a_truncation_is_never_learned_as_a_transition():
    agent = make_agent("ucrl2-l", 3, 1, seed=0)
    agent.act_id(1)
    agent.observe(1, 0, 0.0, 2)
    agent.act_id(0)  # the loop was cut and starts anew in state 0
    agent.observe(0, 0, 0.0, 1)
    seen = agent.counts.snapshot()
    assert seen.visits.tolist() == [1, 1, 0]
    assert seen.succ.tolist() == [1, 2]


def test_named_states_and_actions_are_understood():
    world = make("two-room", height=5, width=5)
    agent = agent_for(world, "c-ucrl", 0)
    assert world.pairs.state_names
    assert world.pairs.action_names
    name = world.pairs.state_names[0]
    action = world.pairs.action_names[agent.act_id(name)]
    agent.observe(name, action, 0.0, name)
    assert agent.t == 2


def test_before_its_first_decision_a_learner_has_no_thoughts():
    agent = make_agent("ucrl2-l", 2, 2)
    with pytest.raises(ValueError, match="call act"):
        _ = agent.beliefs.plan


def test_without_optimism_a_trained_learner_plays_well():
    agent = simulate(WORLD, "c-ucrl", 60_000, seed=0).agent
    greedy = agent.beliefs.greedy_policy()
    assert Policy(WORLD, greedy).gain > 0.999 * solve(WORLD).gain
    low, high = agent.beliefs.gain_bounds()
    assert low <= solve(WORLD).gain <= high
    assert high - low < 1


@pytest.mark.parametrize("name", LEARNERS)
def test_one_state_and_one_action_are_enough(name):
    one = TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.5)], 1)
    possible, needs = {"classes": [0], "profiles": profiles(one)}, needs_of_parts(make_settings(name))
    agent = make_agent(name, 1, 1, **{what: possible[what] for what in needs})
    for _ in range(20):
        assert agent.act_id(0) == 0
        agent.observe(0, 0, 0.5, 0)
    assert agent.counts.visits.tolist() == [20]
    assert agent.n_unconverged == 0


def test_actions_may_differ_by_state():
    agent = make_agent("c-ucrl", 3, [1, 2, 3], seed=0)
    assert agent.pairs.n_pairs == 6
    assert agent.act_id(0) == 0
    with pytest.raises(ValueError, match="action 2 is not allowed in state 1"):
        agent.observe(1, 2, 0.0, 0)


def test_a_copy_is_independent():
    agent = make_agent("ucrl2-l", 3, 2)
    agent.act_id(0)
    twin = agent.copy()
    twin.observe(0, 0, 0.0, 1)
    assert agent.t == 1
    assert agent.counts.visits.sum() == 0


def test_effort_bounds_how_often_a_learner_plans():
    often, seldom = (
        sum(simulate(WORLD, "c-ucrl", 20_000, seed=seed, effort=effort).n_episodes for seed in range(4))
        for effort in (math.inf, 0.2)
    )
    assert seldom < 0.5 * often  # 0.22 to 0.31 over twelve seeds


def test_effort_makes_clustering_rest_in_proportion_to_its_work():
    clustered = {}  # when the next may come -> the episode that clustered

    def note(agent):
        clustered.setdefault(agent.cluster_from, agent.episode)

    simulate(WORLD, "c-ucrl", 20_000, seed=0, effort=2.0, callback=note)
    assert len(clustered) > 2
    earliest = 1
    for next_from, episode in clustered.items():
        assert episode.start >= earliest
        assert next_from == episode.start + int(CLUSTERING_WORK * len(episode.seen.succ) / 2.0)
        earliest = next_from


def test_a_warm_start_plans_to_the_same_accuracy_in_fewer_sweeps():
    sweeps = {}
    for warm in (False, True):
        plans = []
        for seed in range(3):
            simulate(
                WORLD, "ucrl2-l", 20_000, seed=seed, warm_start=warm,
                callback=lambda agent, p=plans: p.append(agent.beliefs.plan),
            )  # fmt: skip
        assert all(plan.converged for plan in plans)
        sweeps[warm] = np.mean([plan.n_sweeps for plan in plans])
    assert sweeps[True] < 0.5 * sweeps[False]  # 0.25 to 0.30 over twelve seeds


def test_a_step_the_known_profiles_rule_out_is_refused_and_leaves_the_learner_as_it_was():
    agent = agent_for(WORLD, "c-ucrl-c-sigma", 0)
    with pytest.raises(ValueError, match="cannot lead to state 4"):
        agent.observe(0, agent.act_id(0), 0.0, 4)
    assert agent.t == 1
    assert agent.act_id(0) in (0, 1)
    agent.observe(0, 0, 0.0, 1, terminated=True)
    with pytest.raises(ValueError, match="cannot lead to state 5"):
        agent.act_id(5)
    assert agent.pending == (0, 0.0)


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        (lambda table: table._replace(prob=table.prob * 0.5), r"sums to 0\.5"),
        (lambda table: table._replace(succ=np.zeros_like(table.succ)), "names a state twice"),
        (lambda table: table._replace(prob=backwards(table)), "not in decreasing order"),
    ],
)
def test_profiles_that_are_none_are_refused(change, culprit):
    classes = Partition.singletons(WORLD.n_pairs)
    with pytest.raises(ValueError, match=culprit):
        make_agent("c-ucrl-c-sigma", 6, 2, classes=classes, profiles=change(profiles(WORLD)))


def backwards(table):
    return np.concatenate([table.prob[a:b][::-1] for a, b in pairwise(table.ptr)])


def test_classes_whose_pairs_have_different_profiles_are_refused():
    with pytest.raises(ValueError, match="in one class, but their profiles differ"):
        make_agent("c-ucrl-c-sigma", 6, 2, classes=[0] * 12, profiles=profiles(WORLD))


def test_baselines_too_learn_an_end_of_episode_as_a_move_to_the_next_start():
    agent = make_agent("random", 3, 1)
    agent.observe(0, 0, 0.0, 2, terminated=True)
    agent.act_id(1)
    assert agent.counts.snapshot().succ.tolist() == [1]


def test_without_optimism_unplaced_mass_goes_to_the_successors_seen():
    river = make("riverswim", n_states=12)
    agent = simulate(river, "c-ucrl", 30_000, seed=1, ties="optimistic", balance=1e9).agent
    rows = agent.beliefs.models.rows
    placed = np.bincount(np.repeat(np.arange(24), np.diff(rows.ptr)), weights=rows.prob, minlength=24)
    assert (placed[agent.counts.visits > 0] < 0.999).any()
    assert Policy(river, agent.beliefs.greedy_policy()).gain > 0.9 * solve(river).gain


def test_however_small_the_effort_a_learner_plays():
    trace = simulate(WORLD, "ucrl2-l", 1000, effort=1e-300)
    assert trace.n_episodes == 2  # the first plan, with nothing seen, cost nothing


def test_known_means_are_given_in_the_units_of_the_rewards():
    agent = make_agent("ucrl2-l", 1, 2, rewards="known", mean_rewards=[-30.0, 50.0], reward_range=(-50.0, 150.0))
    np.testing.assert_allclose(agent.given.mean_rewards, [0.1, 0.5])


def test_nearest_by_means_needs_means_to_compare():
    with pytest.raises(ValueError, match="needs rewards='per_class'"):
        make_settings("c-ucrl-published", nearest_by="law_and_mean", rewards="per_pair")


HERE = Path(__file__).parent
SAVED = sorted(HERE.glob("format7/*.npz"))  # saved some time ago, with the actions that followed


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_file_saved_long_ago_loads_and_its_learner_goes_on_as_it_would_have(path):
    river = make("riverswim", n_states=5, reward_law="bernoulli")
    after = json.loads(path.with_suffix(".json").read_text())
    agent, rng, state, actions = load_agent(path), np.random.default_rng(9), after["state"], []
    for _ in after["actions"]:
        actions.append(agent.act_id(state))
        law = river.transition_probabilities(state, actions[-1])
        following = int(rng.choice(list(law), p=list(law.values())))
        agent.observe(state, actions[-1], float(rng.random() < river.mean_reward(state, actions[-1])), following)
        state = following
    assert actions == after["actions"]


@pytest.mark.parametrize("older", [1, 2, 3, 4, 5, 6])
def test_a_learner_of_an_older_format_is_refused_by_its_number(older, tmp_path):
    arrays, meta = load_npz(SAVED[0], KIND, VERSION)
    path = save_npz(tmp_path / "agent.npz", KIND, older, arrays, meta)
    with pytest.raises(DamagedFile, match=f"has format version {older}; this equirl reads version {VERSION}"):
        load_agent(path)


def test_a_file_that_leaves_a_setting_out_is_refused(tmp_path):
    arrays, meta = load_npz(HERE / "format7" / "c-ucrl.npz", KIND, VERSION)
    fewer = {name: value for name, value in meta["settings"].items() if name != "balance"}
    path = save_npz(tmp_path / "agent.npz", KIND, VERSION, arrays, meta | {"settings": fewer})
    with pytest.raises(DamagedFile, match="it does not say balance"):
        load_agent(path)


def test_a_learner_in_two_threads_is_refused():
    agent = make_agent("ucrl2-l", 3, 2)
    with InUse(agent), pytest.raises(RuntimeError, match="in use by another thread"):
        agent.act_id(0)
    assert agent.act_id(0) in (0, 1)


def test_the_place_of_a_learner_in_the_grid_follows_from_its_parts():
    for family in FAMILIES:
        for column, name in family.learners().items():
            assert ROWS[name].column == column
    assert AGENTS["c-ucrl-published"].column == "looks for classes"


def test_the_grid_of_the_docs_is_that_of_the_catalogue():
    text = (Path(__file__).parents[2] / "docs" / "learners.md").read_text()
    shown = [re.findall(r"`([^`]+)`", line) for line in text.splitlines() if line.startswith("|")]
    families = [list(family.learners().values()) for family in FAMILIES if len(family.learners()) > 1]
    assert [row for row in families if row not in shown] == []
