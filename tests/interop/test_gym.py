import copy

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from scipy import stats

from equirl.interop import register_worlds
from equirl.interop.gym import TabularEnv
from equirl.interop.gym_tables import from_gymnasium
from equirl.model.mdp import TabularMDP
from equirl.worlds.world_registry import WORLDS, make

UNEVEN = TabularMDP.from_pairs(
    [(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 0.5, 1: 0.5}, 1.0), (1, 3, {0: 1.0}, 0.2)], 2, reward_law="bernoulli"
)


class Toy(gymnasium.Env):
    """A user's environment: a table, and steps drawn from it (or from another table that is the truth)."""

    def __init__(self, table, truth=None, initial=(1.0, 0.0)):
        self.P, self.truth = table, truth or table
        self.observation_space, self.action_space = spaces.Discrete(len(table)), spaces.Discrete(len(table[0]))
        self.initial = np.array(initial)
        self.initial_state_distrib = self.initial

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = int(self.np_random.choice(len(self.initial), p=self.initial))
        return self.s, {}

    def step(self, action):
        outcomes = self.truth[self.s][action]
        _, self.s, reward, ends = outcomes[self.np_random.choice(len(outcomes), p=[o[0] for o in outcomes])]
        return self.s, reward, ends, False, {}


def two_states(p=0.5, reward=1.0, ends=False):
    return {0: {0: [(p, 1, reward, False), (1 - p, 0, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, ends)]}}


# Our worlds in Gymnasium


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_every_world_passes_the_checks_of_gymnasium(world):
    check_env(gymnasium.make(f"equirl/{world.title}-v0").unwrapped)


def test_registered_worlds_take_parameters_and_have_no_time_limit():
    env = gymnasium.make("equirl/RiverSwim-v0", n_states=7, reward_law="bernoulli")
    assert env.observation_space == spaces.Discrete(7)
    assert env.spec.max_episode_steps is None
    assert env.unwrapped.mdp.reward_law == "bernoulli"


def test_registering_twice_is_harmless():
    register_worlds()
    assert "equirl/ErgodicRiverSwim-v0" in gymnasium.registry


def rollout(env, seed, steps=200):
    seen = [env.reset(seed=seed)[0]]
    for k in range(steps):
        state, reward, *_ = env.step(k % 3 % 2)
        seen += [state, reward]
    return seen


def test_the_same_seed_replays_the_same_steps_and_another_does_not():
    env = TabularEnv("ergodic-riverswim", n_states=6, reward_law="beta")
    assert rollout(env, 3) == rollout(copy.deepcopy(env), 3)
    assert rollout(env, 3) != rollout(env, 4)


def test_states_follow_the_law_of_the_pair():
    env = TabularEnv("riverswim", n_states=6)
    env.reset(seed=0)
    seen = np.zeros(6)
    for _ in range(4000):
        env.reset(options={"state": 2})
        seen[env.step(0)[0]] += 1
    assert seen / 4000 == pytest.approx([0, 0.05, 0.55, 0.4, 0, 0], abs=0.04)


@pytest.mark.parametrize("law", ["deterministic", "bernoulli", "beta"])
def test_rewards_have_the_mean_of_the_pair_under_every_law(law):
    mdp = TabularMDP.from_arrays([[[1.0]]], [[0.3]], reward_law=law, concentration=2.0)
    env = TabularEnv(mdp)
    env.reset(seed=1)
    rewards = np.array([env.step(0)[1] for _ in range(4000)])
    assert rewards.mean() == pytest.approx(0.3, abs=0.04)
    assert rewards.std() == pytest.approx({"deterministic": 0, "bernoulli": 0.458, "beta": 0.265}[law], abs=0.03)


@pytest.mark.parametrize("law", ["bernoulli", "beta"])
def test_rewards_are_drawn_by_the_one_function_of_the_model(law):
    mdp = TabularMDP.from_arrays([[[1.0]]], [[0.3]], reward_law=law, concentration=2.0)
    env, rng = TabularEnv(mdp), np.random.default_rng(7)
    env.reset(seed=1)
    env.np_random = rng
    rewards = [env.step(0)[1] for _ in range(5)]
    uniform = np.random.default_rng(7).random((5, 2))[:, 0]  # the other one moves
    expected = stats.beta(0.6, 1.4).ppf(uniform) if law == "beta" else uniform < 0.3
    assert rewards == pytest.approx(np.asarray(expected, float))


def test_the_first_state_follows_the_initial_law():
    env = TabularEnv(TabularMDP.from_arrays([[[1.0, 0.0]], [[0.0, 1.0]]], [[0.0], [0.0]], initial=[0.25, 0.75]))
    env.reset(seed=0)
    assert np.mean([env.reset()[0] for _ in range(4000)]) == pytest.approx(0.75, abs=0.04)


def test_the_action_mask_marks_the_actions_of_the_state():
    env = TabularEnv(UNEVEN)
    assert env.action_space == spaces.Discrete(4)
    assert env.reset(seed=0)[1]["action_mask"].tolist() == [1, 0, 0, 0]
    assert env.step(0)[4]["action_mask"].tolist() == [1, 0, 0, 1]


def test_an_action_that_is_not_allowed_is_an_error():
    env = TabularEnv(UNEVEN)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action 3 is not allowed in state 0 \(allowed: 0\)"):
        env.step(3)


def test_stepping_before_reset_is_an_error():
    with pytest.raises(gymnasium.error.ResetNeeded):
        TabularEnv("riverswim").step(0)


def test_an_unknown_render_mode_is_an_error():
    with pytest.raises(ValueError, match="unknown render mode 'human'"):
        TabularEnv("riverswim", render_mode="human")


def test_parameters_beside_an_mdp_are_an_error():
    with pytest.raises(TypeError, match=r"n_states.* go with the name of a world"):
        TabularEnv(UNEVEN, n_states=3)


def test_a_grid_is_drawn_with_the_state_on_its_map():
    env = TabularEnv("grid:map=S.G", render_mode="ansi")
    env.reset(options={"state": 1})
    assert env.render() == "S@G\n"


def test_other_worlds_are_drawn_in_words():
    env = TabularEnv("riverswim", render_mode="ansi")
    env.reset(options={"state": 4})
    assert env.render() == "state 4 of 25\n"


# Tables of Gymnasium as MDPs


def test_frozen_lake_restarts_from_the_start_by_default():
    mdp = from_gymnasium(gymnasium.make("FrozenLake-v1"), drop_unreachable=False)
    assert (mdp.n_states, mdp.n_pairs, mdp.name) == (16, 64, "FrozenLake-v1")
    assert mdp.transition_probabilities(14, 2) == pytest.approx({0: 1 / 3, 10: 1 / 3, 14: 1 / 3})
    assert mdp.mean_reward(14, 2) == pytest.approx(1 / 3)
    assert mdp.transition_probabilities(5, 0) == {0: 1.0}
    assert mdp.reward_map == (1.0, 0.0)


def test_duplicate_outcomes_are_merged():
    assert from_gymnasium(gymnasium.make("FrozenLake-v1"), drop_unreachable=False).transition_probabilities(
        0, 0
    ) == pytest.approx({0: 2 / 3, 4: 1 / 3})


@pytest.mark.parametrize("on_terminal", ["restart", "absorb"])
def test_the_laws_of_the_large_slippery_lake_have_three_profiles(on_terminal):
    mdp = from_gymnasium(gymnasium.make("FrozenLake8x8-v1"), on_terminal, drop_unreachable=False)
    rows = [mdp.rows.prob[mdp.rows.ptr[k] : mdp.rows.ptr[k + 1]] for k in range(mdp.n_pairs)]
    assert len({tuple(np.sort(row).round(9)) for row in rows}) == 3


def test_absorbing_ends_are_never_left_and_pay_nothing():
    mdp = from_gymnasium(gymnasium.make("FrozenLake-v1"), "absorb")
    for s in (5, 7, 11, 12, 15):
        assert [mdp.transition_probabilities(s, a) for a in range(4)] == [{s: 1.0}] * 4
        assert mdp.mean_reward(s, 0) == 0
    assert mdp.transition_probabilities(14, 2) == pytest.approx({10: 1 / 3, 14: 1 / 3, 15: 1 / 3})


def test_an_end_may_be_asked_to_be_an_error():
    with pytest.raises(ValueError, match=r"\(s=1, a=0\) ends the episode in state 5; on_terminal='restart' or"):
        from_gymnasium(gymnasium.make("FrozenLake-v1"), "error")
    assert from_gymnasium(Toy(two_states()), "error").n_states == 2


def test_unreachable_states_can_be_dropped_and_are_then_named_by_their_numbers():
    lake = gymnasium.make("FrozenLake-v1")
    dropped = from_gymnasium(lake, drop_unreachable=True)
    assert dropped.n_states == 11
    assert "5" not in dropped.pairs.state_names
    assert dropped.mean_reward("14", 2) == pytest.approx(1 / 3)


def test_unreachable_states_are_kept_with_a_warning_unless_one_says_what_to_do():
    lake = gymnasium.make("FrozenLake-v1")
    with pytest.warns(UserWarning, match=r"5 of the 16 states cannot be reached.*drop_unreachable=True"):
        kept = from_gymnasium(lake)
    assert kept == from_gymnasium(lake, drop_unreachable=False)
    assert kept.reachable().sum() == 11


def test_an_environment_whose_states_can_all_be_reached_gives_no_warning():
    assert from_gymnasium(Toy(two_states())).reachable().all()


def test_rounded_probabilities_of_a_table_can_be_normalized():
    third = float(np.float32(1 / 3))
    table = {s: {0: [(third, x, 0, False) for x in range(3)]} for s in range(3)}
    with pytest.raises(ValueError, match=r"sums to 1\.00000003, not 1; .* normalize=True"):
        from_gymnasium(Toy(table, initial=[1.0, 0.0, 0.0]))
    mdp = from_gymnasium(Toy(table, initial=[1.0, 0.0, 0.0]), normalize=True)
    assert mdp.transition_probabilities(0, 0) == {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}


def test_the_rewards_of_the_cliff_are_mapped_and_the_map_is_kept():
    mdp = from_gymnasium(gymnasium.make("CliffWalking-v1"), drop_unreachable=False)
    scale, shift = mdp.reward_map
    assert (scale, shift) == (99.0, -100.0)
    assert (mdp.mean_reward(36, 1), mdp.mean_reward(36, 0)) == (-100, -1)
    assert mdp.transition_probabilities(35, 2) == {36: 1.0}


def test_nothing_is_paid_after_an_absorbing_end_in_the_units_of_the_environment():
    mdp = from_gymnasium(gymnasium.make("CliffWalking-v1"), "absorb", drop_unreachable=False)
    assert mdp.mean_reward(47, 0) == 0


@pytest.mark.parametrize("rainy", [False, True])
def test_the_taxi_restarts_in_its_300_initial_states(rainy):
    mdp = from_gymnasium(gymnasium.make("Taxi-v4", is_rainy=rainy), drop_unreachable=False)
    assert mdp.n_pairs == 3000
    assert mdp.reward_map == (30.0, -10.0)
    assert np.count_nonzero(mdp.initial) == 300
    assert len(mdp.transition_probabilities(16, 5)) == 300
    assert mdp.mean_reward(16, 5) == 20.0


def test_an_end_that_is_also_entered_without_ending_cannot_absorb():
    table = {0: {0: [(0.5, 1, 0, True), (0.5, 1, 0, False)]}, 1: {0: [(1.0, 0, 0, False)]}}
    with pytest.raises(ValueError, match=r"state 1 ends .* but not on that from \(s=0, a=0\)"):
        from_gymnasium(Toy(table), "absorb")


def test_the_actions_of_a_table_may_differ_by_state():
    table = {0: {0: [(1.0, 1, 0, False)], 2: [(1.0, 0, 1, False)]}, 1: {1: [(1.0, 0, 0, False)]}}
    assert from_gymnasium(Toy(table)).pairs.action.tolist() == [0, 2, 1]


def test_an_environment_of_equirl_gives_back_its_mdp():
    assert from_gymnasium(gymnasium.make("equirl/FourRoom-v0")) == make("four-room")


def test_the_table_of_an_equirl_environment_is_its_mdp():
    env = TabularEnv(UNEVEN)
    toy = Toy(env.P, initial=env.initial_state_distrib)
    toy.observation_space = env.observation_space
    assert from_gymnasium(toy, reward_law="bernoulli") == UNEVEN


def test_an_initial_law_that_the_environment_does_not_tell_can_be_given():
    toy = Toy(two_states())
    toy.initial_state_distrib = None
    with pytest.raises(ValueError, match=r"Toy does not give the distribution of its first state .* initial="):
        from_gymnasium(toy)
    assert from_gymnasium(toy, initial=1).initial.tolist() == [0.0, 1.0]


def without_last(table):
    return {0: table[0], 2: table[1]}


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (lambda: gymnasium.make("Blackjack-v1"), "BlackjackEnv has no transition table"),
        (lambda: gymnasium.make("CartPole-v1"), "CartPoleEnv has no transition table"),
        (lambda: Toy(np.zeros((2, 2, 2)), truth={}), r"Toy has no transition table.*from_arrays"),
        (lambda: gymnasium.make("Taxi-v4", fickle_passenger=True), "hides state .* fickle_passenger=False"),
        (lambda: Toy(without_last(two_states())), "the table has 2 states but no state 1"),
        (lambda: Toy({0: {0: [(1.0, 0, 0)]}, 1: {0: []}}), r"P\[0\]\[0\] holds \(1.0, 0, 0\), not"),
        (lambda: Toy({0: {0: [(0.9, 0, 0, False)]}}, initial=[1.0]), r"p\(\. \| s=0, a=0\) sums to 0.9, not 1"),
        (lambda: Toy({0: {0: [(1.0, 4, 0, False)]}}, initial=[1.0]), "s=0, a=0.* leads to unknown state 4"),
        (lambda: Toy({0: {0: [(1.0, 0, np.nan, False)]}}, initial=[1.0]), r"reward of \(s=0, a=0\) .* is nan"),
        (lambda: Toy({0: {0: [(1.5, 0, 0, True), (-0.5, 0, 0, True)]}}, initial=[1.0]), "is -0.5, not a prob"),
        (lambda: Toy(two_states(), initial=[1.0, 0.0, 0.0]), r"initial distribution has shape \(3,\)"),
    ],
)
def test_an_environment_that_cannot_be_read_is_named(env, message):
    with pytest.raises(ValueError, match=message):
        from_gymnasium(env())


def test_a_table_of_another_size_than_the_space_is_named():
    toy = Toy(two_states())
    toy.observation_space = spaces.Discrete(3)
    with pytest.raises(ValueError, match="the table of Toy has 2 states, its observation space 3"):
        from_gymnasium(toy)


def test_a_wrong_word_for_on_terminal_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'restart'"):
        from_gymnasium(Toy(two_states()), "restar")


# The table against rollouts


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_the_tables_of_gymnasium_agree_with_rollouts(name):
    env = gymnasium.make(name)
    read = from_gymnasium(env, check=True, drop_unreachable=False)
    assert read == from_gymnasium(env, drop_unreachable=False)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (two_states(p=0.4), r"next state 1 of \(s=0, a=0\): probability 0.5 in the table, frequency 0.(39|40)"),
        (two_states(reward=0.9), r"no outcome of \(s=0, a=0\) with next state 1, reward 0.9"),
        (two_states(ends=True), r"no outcome of \(s=1, a=0\) .* terminated=True"),
    ],
)
def test_a_table_that_rollouts_contradict_is_refused(truth, message):
    with pytest.raises(ValueError, match=message):
        from_gymnasium(Toy(two_states(), truth), check=True)


def test_an_initial_law_that_rollouts_contradict_is_refused():
    with pytest.raises(ValueError, match="initial state 0"):
        from_gymnasium(Toy(two_states(ends=True), initial=[0.5, 0.5]), initial=1, check=True)


def test_a_wrapper_that_changes_rewards_is_noticed():
    wrapped = gymnasium.wrappers.TransformReward(Toy(two_states()), lambda reward: reward - 1)
    with pytest.raises(ValueError, match="lists no outcome"):
        from_gymnasium(wrapped, check=True)


def test_a_wrapper_that_changes_observations_is_noticed():
    space = spaces.Box(0, 1, (1,))
    wrapped = gymnasium.wrappers.TransformObservation(Toy(two_states()), lambda s: np.array([s / 2]), space)
    with pytest.raises(ValueError, match="which is no state of its table"):
        from_gymnasium(wrapped, check=True)


def test_an_environment_of_ours_gives_back_its_mdp_with_another_start():
    back = from_gymnasium(TabularEnv(make("four-room", reward_law="bernoulli")), initial=3)
    assert back.initial[3] == 1
    assert back.reward_law == "bernoulli"
    assert back.picture is not None


def test_a_start_that_also_ends_episodes_cannot_be_absorbing():
    class Loop(gymnasium.Env):
        observation_space, action_space = spaces.Discrete(2), spaces.Discrete(1)
        P = {0: {0: [(1.0, 1, 0.5, False)]}, 1: {0: [(1.0, 0, 1.0, True)]}}  # noqa: RUF012

    with pytest.raises(ValueError, match="starts them"):
        from_gymnasium(Loop(), initial=0, on_terminal="absorb")
