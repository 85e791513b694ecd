"""Learners under a discount: what they reduce to, how near they come, and how that is measured."""

import math

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.variance_radius import variance_mean_radius
from equirl.learners import make_settings
from equirl.learners.contract import Stretch, step_limits
from equirl.simulation.rollout import Rollout
from equirl.simulation.trace import ValueMeasures
from equirl.structure.partition import Partition

RIVER = eq.make("riverswim", n_states=5, reward_law="bernoulli")
SINGLE = {"classes": Partition.singletons(10), "profiles": eq.profiles(RIVER)}
DISCOUNTED = ["mbie", "c-mbie", "c-mbie-c", "c-mbie-c-sigma", "q-learning", "c-q-learning-c-sigma"]
POSTERIOR = ("psrl", "c-psrl", "c-psrl-c", "c-psrl-c-sigma")
FAMILY = [*((name, {}) for name in DISCOUNTED), *((name, {"discount": 0.9}) for name in POSTERIOR)]


def assert_same_run(one, other):
    runs = [eq.simulate(RIVER, agent, 3000, seed=4, checkpoints=30) for agent in (one, other)]
    np.testing.assert_array_equal(runs[0].reward, runs[1].reward)
    np.testing.assert_array_equal(runs[0].sample_complexity, runs[1].sample_complexity)


def test_singleton_classes_make_mbie_with_both_given_the_same_as_mbie():
    assert_same_run(
        eq.make_agent("c-mbie-c-sigma", 5, 2, seed=1, stopping="pair", **SINGLE), eq.make_agent("mbie", 5, 2, seed=1)
    )


def test_singleton_classes_make_mbie_with_classes_given_the_same_as_mbie():
    given = eq.make_agent("c-mbie-c", 5, 2, seed=1, classes=SINGLE["classes"])
    assert_same_run(given, eq.make_agent("mbie", 5, 2, seed=1))


def test_singleton_classes_in_balanced_groups_make_it_the_same_as_mbie_at_a_third_of_delta():
    given = eq.make_agent("c-mbie-c", 5, 2, seed=1, classes=SINGLE["classes"], pooling="balanced")
    assert_same_run(given, eq.make_agent("mbie", 5, 2, seed=1, delta=0.05 / 3))


def test_singleton_classes_make_shared_steps_the_same_as_q_learning():
    assert_same_run(
        eq.make_agent("c-q-learning-c-sigma", 5, 2, seed=1, **SINGLE), eq.make_agent("q-learning", 5, 2, seed=1)
    )


def plain_q_learning(world, path, discount, step_size, classes=None, own_rewards=False):
    """{pair: value} after a path of (pair, reward, successor), as the definition reads."""
    table, pairs = eq.profiles(world), world.pairs
    q, taught, rewards = dict.fromkeys(range(pairs.n_pairs), 1.0), [0] * pairs.n_pairs, {}
    for pair, reward, successor in path:
        rewards.setdefault(pair, []).append(reward)
        place = table.succ[table.ptr[pair] : table.ptr[pair + 1]].tolist().index(successor)
        for k in [pair] if classes is None else np.flatnonzero(classes.label == classes.label[pair]).tolist():
            if own_rewards and k not in rewards:
                continue
            x = int(table.succ[table.ptr[k] + place]) if classes is not None else successor
            best = max(q[j] for j in range(pairs.ptr[x], pairs.ptr[x + 1]))
            gain = np.mean(rewards[k]) if own_rewards else reward
            taught[k] += 1
            q[k] += step_size(taught[k]) * ((1 - discount) * gain + discount * best - q[k])
    return q


STEP_SIZES = {"rescaled": lambda n: 1 / (1 + 0.1 * n), "power": lambda n: n**-0.6}


@pytest.mark.parametrize("steps", STEP_SIZES)
@pytest.mark.parametrize("how", ["alone", "per_class", "per_pair"])
def test_values_are_those_of_a_plain_reading_of_q_learning(how, steps):
    world = eq.make("two-kinds-river", n_states=5)
    settings = {"discount": 0.9, "steps": steps, "rate": 0.6}
    classes = None if how == "alone" else eq.equivalence_classes(world, rewards=how == "per_class")
    if how == "alone":
        agent = eq.agent_for(world, "q-learning", **settings)
    else:
        agent = eq.agent_for(world, "c-q-learning-c-sigma", classes=classes, rewards=how, **settings)
    rng, state, path = np.random.default_rng(3), 0, []
    for _ in range(300):
        action = int(rng.integers(2))
        law = world.transition_probabilities(state, action)
        following = int(rng.choice(list(law), p=list(law.values())))
        reward = float(rng.random() < 0.3 + 0.4 * world.mean_reward(state, action))
        agent.observe(state, action, reward, following)
        path.append((world.pairs.index(state, action), reward, following))
        state = following
    plain = plain_q_learning(world, path, 0.9, STEP_SIZES[steps], classes, how == "per_pair")
    np.testing.assert_allclose(agent.q, list(plain.values()), rtol=1e-9)


def test_a_step_teaches_a_whole_class_what_each_pair_would_have_learned():
    world = eq.make("riverswim", n_states=6)
    agent = eq.agent_for(world, "c-q-learning-c-sigma", discount=0.5, steps="power", rate=1.0)
    pair, other = world.pairs.index(2, 0), world.pairs.index(3, 0)  # right in two inner states: forward is one up
    agent.q[:] = np.linspace(0.0, 1.0, 12)
    before = agent.q.copy()
    agent.observe(2, 0, 0.0, 3)
    for k, x in ((pair, 3), (other, 4)):
        assert agent.q[k] == pytest.approx(0.5 * before[world.pairs.ptr[x] : world.pairs.ptr[x + 1]].max())
    left = world.pairs.index(3, 1)
    assert agent.q[left] == before[left]


@pytest.mark.parametrize(("name", "settings"), FAMILY)
def test_every_learner_is_near_optimal_from_a_fixed_time_on(name, settings):
    world, horizon = eq.make("riverswim", n_states=3), 40_000
    explores = 0.05 if "q-learning" in name else 0.0  # of its steps for ever
    for seed in range(3):
        trace = eq.simulate(world, name, horizon, seed=seed, checkpoints=10, epsilon=0.1, **settings)
        late = trace.sample_complexity[-1] - trace.sample_complexity[-4]
        assert late <= (explores + 0.02) * 0.3 * horizon, (name, seed)


@pytest.mark.parametrize(("name", "settings"), FAMILY)
def test_the_curves_are_those_of_their_definition(name, settings):
    trace = eq.simulate(RIVER, name, 400, seed=2, checkpoints=400, epsilon=0.03, **settings)
    steps = np.diff(trace.sample_complexity, prepend=0.0)
    assert set(steps.tolist()) <= {0.0, 1.0}
    gaps = np.diff(trace.value_regret, prepend=0.0)
    assert gaps.min() >= -1e-12
    np.testing.assert_array_equal(steps == 1.0, gaps > 0.03)


def test_gaps_are_the_difference_of_exact_values():
    discount = 0.9
    measures = ValueMeasures(RIVER, discount, 0.01)
    P, R = RIVER.to_arrays()
    best = np.zeros(5)
    for _ in range(2000):
        best = (R + discount * P @ best).max(1)
    policy = np.array([0, 1, 0, 0, 1])
    chain, reward = P[np.arange(5), policy], R[np.arange(5), policy]
    value = np.linalg.solve(np.eye(5) - discount * chain, reward)
    np.testing.assert_allclose(measures.gap(RIVER.pairs.ptr[:-1] + policy), (1 - discount) * (best - value), atol=1e-7)


def test_without_a_discount_there_are_no_such_curves():
    trace = eq.simulate(RIVER, "psrl", 200, seed=0)
    assert "sample_complexity" not in trace.curves
    assert trace.agent.criterion.discount == 1.0


@pytest.mark.parametrize(("name", "settings"), FAMILY)
def test_saved_and_loaded_it_goes_on_as_if_never_stopped(name, settings, tmp_path):
    agent = eq.simulate(RIVER, name, 150, seed=3, **settings).agent
    agent.save(tmp_path / "agent.npz")
    twin = eq.load_agent(tmp_path / "agent.npz")
    one, other = (eq.simulate(RIVER, learner, 300, seed=5, checkpoints=60) for learner in (agent, twin))
    np.testing.assert_array_equal(one.reward, other.reward)


def test_optimistic_values_stay_above_the_true_ones():
    """On the event that the truth is plausible, the optimistic plan promises at least the optimal value."""
    discount, world = 0.9, eq.make("riverswim", n_states=4)
    optimal = eq.solve(world, discount=discount).value
    violations = 0
    for seed in range(20):

        def look(agent):
            nonlocal violations
            plan = agent.beliefs.plan
            upper = plan.bias + (plan.gain + plan.span / 2) / (1 - discount)
            violations += bool((upper + 1e-9 < optimal).any())

        eq.simulate(world, "mbie", 3000, seed=seed, discount=discount, callback=look)
    assert violations == 0


@pytest.mark.parametrize("discount", [0, -0.1, 1.5, float("nan"), "high"])
def test_a_discount_that_is_none_is_named(discount):
    with pytest.raises((ValueError, TypeError), match="discount"):
        make_settings("psrl", discount=discount)


def test_the_policy_of_a_one_step_stretch_is_measured_where_it_stands():
    rollout = Rollout(RIVER, np.random.SeedSequence(0))
    path, _ = rollout.play(Stretch(RIVER.pairs.ptr[:-1].copy(), step_limits(1)), 10)
    assert len(path) == 1


# --- mean rewards


def test_sharing_means_needs_bounds_by_variance():
    assert make_settings("c-ucrl", rewards="shared", reward_bound="variance").rewards == "shared"
    for name in ("c-ucrl", "ucrl2-b", "c-kl-ucrl-c"):
        with pytest.raises(ValueError, match="needs reward_bound='variance'"):
            make_settings(name, rewards="shared")


@pytest.mark.parametrize(("name", "rewards"), [("c-mbie", "shared"), ("c-mbie", "per_pair"), ("c-mbie-c", "per_class")])
def test_bounds_on_means_are_those_of_their_definition(name, rewards):
    world = eq.make("planted", n_states=6, n_actions=3, n_classes=3, reward_law="bernoulli")
    agent = eq.simulate(world, name, 3000, seed=1, rewards=rewards).agent
    _, seen, groups, estimates, models, _ = agent.episode
    level, n = math.log(0.05 / (3 * 18)), estimates.r_samples
    pooled = rewards == "per_class"
    for k in range(18):
        mates = np.flatnonzero(groups.label == groups.label[k]) if pooled else np.array([k])
        paid, squares = seen.r_sum[mates].sum(), seen.r_squares[mates].sum()
        own = variance_mean_radius([squares / n[k] - (paid / n[k]) ** 2], [n[k]], level)[0] if n[k] else 1.0
        mean = paid / n[k] if n[k] else 0.0
        assert models.r_lower[k] == pytest.approx(max(0.0, mean - own))
        if rewards == "shared":
            assert models.r_upper[k] <= min(1.0, mean + own) + 1e-12
        else:
            assert models.r_upper[k] == pytest.approx(min(1.0, mean + own))


def test_a_learner_handed_the_classes_of_a_problem_gets_those_of_laws_where_prices_split_them():
    rental = eq.make("car-rental", max_cars=4, max_move=2)
    for name in ("c-mbie-c", "c-mbie-c-sigma"):
        agent = eq.agent_for(rental, name)
        assert agent.settings.rewards == "shared"
        assert agent.given.classes == eq.equivalence_classes(rental, rewards=False)
        assert eq.agent_for(rental, name, rewards="per_class").given.classes == eq.equivalence_classes(rental)
        assert eq.agent_for(eq.make("four-room"), name).settings.rewards == "per_class"
    learner = eq.agent_for(rental, "c-q-learning-c-sigma")
    assert learner.settings.rewards == "per_pair"
    assert learner.given.classes == eq.equivalence_classes(rental, rewards=False)


def test_started_from_counts_shared_steps_leave_what_was_never_played_at_its_optimistic_value():
    world = eq.make("two-kinds-river", n_states=5)
    seen = eq.simulate(world, "random", 8, seed=1).agent.counts.snapshot()
    agents = [
        eq.agent_for(
            world, "c-q-learning-c-sigma", rewards=rewards, classes=eq.equivalence_classes(world, rewards=False)
        )
        for rewards in ("per_pair", "per_class")
    ]
    for agent in agents:
        agent.start_from(seen)
    unplayed = seen.visits == 0
    assert unplayed.any()
    assert (agents[0].q[unplayed] == 1.0).all()
    assert (agents[0].n[unplayed] == 0).all()
    assert (agents[1].q[unplayed] < 1.0).any()


@pytest.mark.parametrize(("runs", "horizon"), [(2, 10_000), pytest.param(5, 30_000, marks=pytest.mark.long)])
def test_classes_save_half_of_the_steps_and_without_structure_nothing_is_lost(runs, horizon):
    """A few runs each; the study `discounted` has twenty, in more and larger worlds. The ratios are 0.32 to 0.5."""

    def steps(world, name, horizon, **settings):
        return np.mean([
            eq.simulate(world, name, horizon, seed=seed, **settings).sample_complexity[-1] for seed in range(runs)
        ])  # fmt: skip

    planted, rooms, plain = eq.make("planted"), eq.make("four-room"), eq.make("random", n_states=12, seed=5)
    noisy = eq.make("random", n_states=12, seed=5, reward_law="bernoulli")
    assert steps(planted, "c-mbie", 100_000) <= 0.5 * steps(planted, "mbie", 100_000)
    assert steps(plain, "c-mbie", 100_000) <= 1.05 * steps(plain, "mbie", 100_000)
    assert steps(noisy, "c-mbie", 100_000) <= 1.05 * steps(noisy, "mbie", 100_000)
    under = {"discount": 0.95}
    assert steps(rooms, "c-psrl", horizon, **under) <= 0.5 * steps(rooms, "psrl", horizon, **under)
    assert steps(plain, "c-psrl", horizon, **under) <= 1.05 * steps(plain, "psrl", horizon, **under)
