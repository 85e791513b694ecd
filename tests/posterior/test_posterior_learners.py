"""Posterior sampling as a learner: reductions to simpler models, renumbering, saving, damaged files."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from equirl.estimation.given_knowledge import Given, checked
from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.keeping.saving import KIND, VERSION, load_agent
from equirl.learners.learner_registry import agent_for
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs
from equirl.numerics.random_draws import draw_state
from equirl.posterior.row_priors import ClassRows, DirichletRows, GivenClassRows, GivenProfileRows
from equirl.simulation.simulated_runs import simulate
from equirl.solving.optimal_gain import solve
from equirl.structure.partition import Partition
from equirl.structure.similarity import profiles
from equirl.worlds.world_registry import make
from oracles_posterior import snapshot

NAMES = ("psrl", "psrl-published", "c-psrl", "c-psrl-c", "c-psrl-c-sigma")
WORLD = make("ergodic-riverswim", n_states=5)


def drawn_rows(prior, counts, S, draws, given, seed=1):
    """(draws, M, S) rows drawn from a prior given counts."""
    sampler = prior.row_sampler(Pairs.uniform(S, 1), given)
    rng, seen = draw_state(np.random.SeedSequence(seed)), snapshot(counts)
    out = np.zeros((draws, len(counts), S))
    for i, k in itertools.product(range(draws), range(len(counts))):
        if k == 0:
            rows, _ = sampler.draw(seen, rng)
        held = slice(rows.ptr[k], rows.ptr[k + 1])
        out[i, k] = rows.rest[k] / S
        out[i, k, rows.succ[held]] += rows.prob[held]
    return out


COUNTS = [[4, 2], [1], [3, 2, 1], [], []]  # five states, one action each; no pair was tried so often as to be closed


def alone(gamma, S=5):
    """The mean rows of pairs with a class of their own each: n_i / (n + gamma), and the rest alike."""
    out = np.empty((len(COUNTS), S))
    for k, row in enumerate(COUNTS):
        out[k] = gamma / (sum(row) + gamma) / (S - len(row))
        out[k, : len(row)] = np.array(row) / (sum(row) + gamma)
    return out


@cache
def rows_alone(how):
    singletons = Partition.singletons(5)
    if how == "forced":
        return drawn_rows(ClassRows(alpha=1e12, gamma=0.7, hope=0.0), COUNTS, 5, 6000, Given())
    return drawn_rows(
        GivenClassRows(gamma=0.7, hope=0.0),
        COUNTS,
        5,
        6000,
        Given(singletons),
        seed=2,
    )


@pytest.mark.parametrize("how", ["forced", "given"])
def test_pairs_alone_in_their_classes_have_the_rows_of_their_own_counts(how):
    draws = rows_alone(how)
    error = draws.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - alone(0.7)) < 4.5 * error).all()


def test_classes_forced_to_singletons_and_singletons_given_draw_the_same_law():
    for k, x in itertools.product(range(5), range(5)):
        assert stats.ks_2samp(rows_alone("forced")[:, k, x], rows_alone("given")[:, k, x]).pvalue > 1e-4


def full_support():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=(3, 1))
    return TabularMDP.from_arrays(p, np.zeros((3, 1)))


def test_given_singletons_and_profiles_rows_have_the_law_of_psrl():
    mdp, counts = full_support(), [[6, 2, 1], [1], []]
    known = checked("", ("classes", "profiles"), Given(Partition.singletons(3), profiles(mdp)), mdp.pairs)
    told = drawn_rows(GivenProfileRows(prior=1.5), counts, 3, 5000, known)
    plain = drawn_rows(DirichletRows(prior=1.5), counts, 3, 5000, Given(), seed=2)
    for k, row in enumerate(counts):
        a = np.array([*row, *[0] * (3 - len(row))]) + 0.5
        for x, draws in itertools.product(range(3), (told, plain)):
            assert stats.kstest(draws[:, k, x], stats.beta(a[x], a.sum() - a[x]).cdf).pvalue > 1e-4
    np.testing.assert_allclose(told.mean(axis=0), plain.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(told.var(axis=0), plain.var(axis=0), atol=0.01)


@pytest.mark.parametrize("prior", [ClassRows(), DirichletRows()], ids=["c-psrl", "psrl"])
def test_endless_data_give_the_true_rows(prior):
    counts = [[7 * 10**8, 3 * 10**8], [5 * 10**8, 5 * 10**8], [10**9]]
    draws = drawn_rows(prior, counts, 3, 20, Given())
    assert np.abs(draws - np.array([[0.7, 0.3, 0], [0.5, 0.5, 0], [1, 0, 0]])).max() < 1e-3


def regrets(worlds, name, horizon, seeds, gain):
    return [
        simulate(world, name, horizon, seed=seed, gain=gain).regret[-1]
        for world, seed in zip(worlds, seeds, strict=True)
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [20, pytest.param(60, marks=pytest.mark.long)])
def test_renumbering_leaves_the_law_of_regret_as_it_is(name, n):
    gain = solve(WORLD).gain
    as_written = regrets([WORLD] * n, name, 1500, range(n), gain)
    renumbered = regrets([WORLD.shuffled(k) for k in range(n)], name, 1500, range(n, 2 * n), gain)
    error = math.hypot(np.std(as_written), np.std(renumbered)) / math.sqrt(n)
    assert abs(np.mean(as_written) - np.mean(renumbered)) < 3.3 * error
    assert stats.ks_2samp(as_written, renumbered).pvalue > 1e-3


def drive(agent, n_steps, rng, state):
    """Act and observe; now and then the process ends and starts in state 0."""
    actions = []
    for _ in range(n_steps):
        action = agent.act_id(state)
        law = WORLD.transition_probabilities(state, action)
        successor, ends = int(rng.choice(list(law), p=list(law.values()))), rng.random() < 0.02
        if ends and 0 not in law:
            ends = False  # outside the known profile
        agent.observe(state, action, float(rng.random() < WORLD.mean_reward(state, action)), successor, terminated=ends)
        actions.append(action)
        state = 0 if ends else successor
    return actions, state


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_steps", [0, 1, 7, 101, 340, 341])
def test_saved_anywhere_a_learner_goes_on_bit_by_bit(name, n_steps, tmp_path):
    agent = agent_for(WORLD, name, 3)
    _, state = drive(agent, n_steps, np.random.default_rng(1), 0)
    agent.save(tmp_path / "agent.npz")
    twin = load_agent(tmp_path / "agent.npz")
    one, other = (drive(a, 500, np.random.default_rng(2), state) for a in (agent, twin))
    assert one == other
    assert agent.rng.tolist() == twin.rng.tolist()
    assert agent.episode_starts == twin.episode_starts
    agent.save(tmp_path / "one.npz")
    twin.save(tmp_path / "two.npz")
    (arrays, meta), (twins, twin_meta) = (load_npz(tmp_path / f"{x}.npz", KIND, VERSION) for x in ("one", "two"))
    assert meta == twin_meta
    assert arrays.keys() == twins.keys()
    assert all((arrays[key] == twins[key]).all() for key in arrays)


@pytest.mark.parametrize("name", NAMES)
def test_saved_with_a_termination_pending_a_learner_goes_on_bit_by_bit(name, tmp_path):
    agent = agent_for(WORLD, name, 3)
    _, state = drive(agent, 150, np.random.default_rng(1), 0)
    state = 0 if agent.pending else state
    agent.act_id(state)
    agent.observe(0, 0, 1.0, 0, terminated=True)
    agent.save(tmp_path / "agent.npz")
    twin = load_agent(tmp_path / "agent.npz")
    assert twin.pending == agent.pending == (0, 1.0)
    assert drive(agent, 300, np.random.default_rng(2), 0) == drive(twin, 300, np.random.default_rng(2), 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", [{}, {"effort": 10.0}, {"episodes": "tsde"}, {"episodes": "doubling"}])
def test_whole_stretches_and_single_steps_decide_alike(name, settings):
    trace = simulate(WORLD, name, 1200, seed=4, checkpoints=np.arange(1, 1201), **settings)
    world, own = np.random.SeedSequence(4).spawn(2)
    agent = agent_for(WORLD, name, own, **settings)
    moves, state, paid = np.random.default_rng(world.spawn(3)[1]).random(1200), 0, []
    for draw in moves:
        action = agent.act_id(state)
        law = sorted(WORLD.transition_probabilities(state, action).items())
        successor = law[int(np.searchsorted(np.cumsum([p for _, p in law])[:-1], draw, side="right"))][0]
        paid.append(WORLD.mean_reward(state, action))
        agent.observe(state, action, paid[-1], successor)
        state = successor
    np.testing.assert_array_equal(np.cumsum(paid), trace.reward)
    assert agent.rng[0] == trace.agent.rng[0]
    assert agent.episode_starts == trace.episode_starts.tolist()


DAMAGE = {
    "class_position": [(-2, "range"), (10**6, "range")],
    "class_label": [(-2, "range"), (10**6, "range")],
    "reward_table": [(10**6, "tables"), (-5, "tables")],
    "policy": [(10**6, "policy")],
    "then_succ": [(10**6, "then_succ")],
}


@pytest.mark.parametrize(("name", "value", "culprit"), [(n, *row) for n, rows in DAMAGE.items() for row in rows])
def test_a_damaged_array_is_refused(name, value, culprit, tmp_path):
    agent = agent_for(WORLD, "c-psrl", 3)
    drive(agent, 200, np.random.default_rng(1), 0)
    agent.save(tmp_path / "agent.npz")
    arrays, meta = load_npz(tmp_path / "agent.npz", KIND, VERSION)
    arrays[f"own_{name}"] = arrays[f"own_{name}"].copy()
    arrays[f"own_{name}"][0] = value
    save_npz(tmp_path / "bad.npz", KIND, VERSION, arrays, meta)
    with pytest.raises(DamagedFile, match=culprit):
        load_agent(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", ["class_position", "class_label", "class_hyper", "reward_table", "rng"])
def test_an_array_of_another_length_is_refused(name, tmp_path):
    agent = agent_for(WORLD, "c-psrl", 3)
    drive(agent, 200, np.random.default_rng(1), 0)
    agent.save(tmp_path / "agent.npz")
    arrays, meta = load_npz(tmp_path / "agent.npz", KIND, VERSION)
    arrays[f"own_{name}"] = np.append(arrays[f"own_{name}"], arrays[f"own_{name}"][:1])
    save_npz(tmp_path / "bad.npz", KIND, VERSION, arrays, meta)
    with pytest.raises(DamagedFile):
        load_agent(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_goes_on_alike_and_apart(name):
    agent = agent_for(WORLD, name, 3)
    _, state = drive(agent, 120, np.random.default_rng(1), 0)
    twin = agent.copy()
    before = agent.counts.snapshot()
    ahead = drive(twin, 200, np.random.default_rng(2), state)
    for one, other in zip(before, agent.counts.snapshot(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert drive(agent, 200, np.random.default_rng(2), state) == ahead
