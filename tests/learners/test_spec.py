"""Statements of docs/definitions.md that no other test asks for, each checked against a line-by-line reading."""

import copy
import math

import numpy as np
import pytest

from equirl.learners.learner_registry import agent_for, make_agent, make_settings
from equirl.model.mdp import TabularMDP
from equirl.model.renumbering import permutation, random_numbers
from equirl.model.rows import Rows
from equirl.planning.l1_ball import ConfidenceSet
from equirl.planning.optimistic_planning import extended_value_iteration
from equirl.simulation.simulated_runs import simulate
from equirl.structure.partition import Partition
from equirl.structure.similarity import profiles
from equirl.theory import azuma_width, n_episodes_bound, proposition1_samples, theorem1_bound, ucrl2_bound
from equirl.worlds.world_registry import make
from oracles_learners import Oracle, best_values

LEARNERS = ["ucrl2", "ucrl2-l", "c-ucrl-c-sigma", "c-ucrl-c", "c-ucrl", "c-ucrl-published"]  # of the paper


def irregular():
    """Different numbers of actions, sure and uncertain moves, equal profiles, ties inside a profile, equal means."""
    return TabularMDP.from_pairs(
        [
            (0, 0, {0: 0.2, 1: 0.8}, 0.1),
            (0, 2, {0: 1.0}, 0.3),
            (1, 1, {0: 0.25, 1: 0.25, 2: 0.5}, 0.1),
            (2, 0, {1: 0.2, 2: 0.8}, 0.1),
            (2, 1, {3: 0.5, 2: 0.25, 0: 0.25}, 0.1),
            (2, 4, {0: 1.0}, 0.3),
            (3, 0, {3: 0.8, 2: 0.2}, 0.9),
            (3, 1, {0: 0.8, 2: 0.2}, 0.1),
        ],
        4,
    )


def follow(mdp, name, n_steps, seed, **settings):
    """Drive a learner and an oracle through the same steps, comparing them at every episode; the episode starts."""
    agent = agent_for(mdp, name, seed, **settings)
    oracle = Oracle(mdp, name, agent.settings, agent.given.classes, agent.given.profiles)
    rng, state, then, label = np.random.default_rng(seed), 0, None, None
    for t in range(1, n_steps + 1):
        random = copy.deepcopy(agent.priority_rng)
        goes_on = then is not None and oracle.may_play(agent.beliefs.plan.policy_pair[state], label, then)
        action = agent.act_id(state)
        assert (agent.episode_starts[-1] != t) == goes_on
        if not goes_on:
            M = mdp.n_pairs
            label = oracle.groups(
                random.permutation(M) if getattr(agent.settings, "priority", "random") == "random" else range(M)
            )
            then = oracle.tally.visits.copy()
            compare(agent, oracle, label)
        k = mdp.pairs.index(state, action)
        assert k == agent.beliefs.plan.policy_pair[state]
        law = mdp.transition_probabilities(state, action)
        successor = int(rng.choice(list(law), p=list(law.values())))
        reward = float(rng.random() < mdp.r_mean[k])
        agent.observe(state, action, reward, successor)
        oracle.record(k, reward, successor)
        state = successor
    return agent.episode_starts


def compare(agent, oracle, label):
    assert agent.beliefs.partition == type(agent.beliefs.partition).from_labels(label)
    M, C, models = len(label), len(set(label)), agent.beliefs.models
    members = [[j for j in range(M) if label[j] == label[k]] for k in range(M)]
    laws, spare = zip(*(oracle.law(k, members[k]) for k in range(M)), strict=True)
    radius = [oracle.law_radius(k, members[k], C) for k in range(M)]
    lower, upper = zip(*(oracle.mean_bounds(k, members[k], C) for k in range(M)), strict=True)
    for k in range(M):
        part = models.rows.row(k)
        found = dict(zip(models.rows.succ[part].tolist(), models.rows.prob[part].tolist(), strict=True))
        assert {x: p for x, p in found.items() if p} == pytest.approx({x: p for x, p in laws[k].items() if p})
        if models.spare is not None:
            own = slice(models.spare.ptr[k], models.spare.ptr[k + 1])
            assert models.spare.mass[own] == pytest.approx(list(spare[k]))
    np.testing.assert_allclose(np.minimum(models.p_radius, 2), np.minimum(radius, 2), rtol=1e-12)
    np.testing.assert_allclose(models.r_lower, lower, atol=1e-12)
    np.testing.assert_allclose(models.r_upper, upper, atol=1e-12)

    q, gain, bias, n_sweeps = best_values(oracle, laws, spare, models.p_radius, upper, 1 / math.sqrt(oracle.t))
    plan = agent.beliefs.plan
    assert plan.converged
    assert plan.n_sweeps == n_sweeps
    assert plan.gain == pytest.approx(gain, abs=1e-9)
    np.testing.assert_allclose(plan.bias, bias, atol=1e-9)
    for s, k in enumerate(plan.policy_pair):
        own = q[agent.pairs.ptr[s] : agent.pairs.ptr[s + 1]]
        tied = agent.pairs.ptr[s] + np.flatnonzero(own >= own.max() - 1e-11 * (1 + bias.max()))
        assert k in (tied if agent.settings.action_ties == "random" else tied[:1])


VARIANTS = [
    *((name, {}) for name in LEARNERS),
    *((name, {"rewards": "known"}) for name in LEARNERS),
    *((name, {"rewards": "per_pair"}) for name in ("c-ucrl-c-sigma", "c-ucrl-c", "c-ucrl-published")),
    *((name, {"rewards": "per_class"}) for name in ("ucrl2", "ucrl2-l", "c-ucrl")),
    ("c-ucrl-c", {"pooling": "class"}),
    ("c-ucrl-c", {"pooling": "class", "rewards": "per_pair"}),
    ("c-ucrl", {"radius": "theory"}),
    ("c-ucrl", {"radius": "theory", "rewards": "per_class"}),
    ("c-ucrl", {"merge_rule": "nearest", "balance": 1.5}),
    ("c-ucrl", {"balance": math.inf}),
    ("c-ucrl", {"ties": "optimistic"}),
    ("c-ucrl-c", {"ties": "index"}),
    ("c-ucrl-published", {"ties": "quicksort"}),
    ("c-ucrl-published", {"nearest_by": "law_and_mean"}),
    ("c-ucrl-published", {"nearest_by": "law_and_mean", "ties": "quicksort"}),
    ("c-ucrl", {"stopping": "class"}),
    ("c-ucrl", {"stopping": "pair"}),
    ("c-ucrl-c-sigma", {"stopping": "either"}),
    ("c-ucrl", {"delta": 0.9}),
]


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_a_learner_believes_plans_and_replans_as_written(name, settings):
    starts = follow(irregular(), name, 400, 5, **settings)
    assert len(starts) > 8


def test_defaults_are_those_of_the_tables():
    common = {"delta": 0.05, "action_ties": "random", "warm_start": False, "max_sweeps": 10**5, "threads": 1}
    common |= {"effort": math.inf, "discount": 1.0}
    own, thrifty, laplace = {"rewards": "per_pair"}, {"effort": 1e5}, {"reward_bound": "laplace"}
    clustering = {**laplace, "balance": 4.0, "merge_rule": "balanced", "priority": "random", "ties": "support"}
    wanted = {
        "ucrl2": own,
        "ucrl2-l": own | laplace,
        "c-ucrl-c-sigma": {**laplace, "rewards": "auto", "stopping": "auto"},
        "c-ucrl-c": {**clustering, **thrifty, "rewards": "auto", "stopping": "either", "pooling": "auto"},
        "c-ucrl": {**clustering, **thrifty, **own, "radius": "pooled", "stopping": "either"},
        "c-ucrl-published": {
            **clustering, "rewards": "per_class", "stopping": "class", "ties": "index", "action_ties": "first",
            "priority": "index", "radius": "pooled", "nearest_by": "law",
        },
    }  # fmt: skip
    for name, settings in wanted.items():
        assert make_settings(name).as_dict() == {**common, **settings}


def test_the_published_setting_is_c_ucrl_with_its_choices():
    choices = {
        "rewards": "per_class", "merge_rule": "balanced", "ties": "index", "action_ties": "first", "stopping": "class",
        "priority": "index", "effort": math.inf,
    }  # fmt: skip
    published = make_settings("c-ucrl-published").as_dict()
    assert make_settings("c-ucrl", **choices).as_dict() == {k: v for k, v in published.items() if k != "nearest_by"}


REDUCED = [
    make("riverswim", n_states=5, reward_law="bernoulli"),
    make("four-room", height=5, width=5, reward_law="bernoulli"),
    make("four-room", height=5, width=5, walls_are_states=True),
    irregular(),
]


def assert_same_decisions(mdp, seed, one, other):
    runs = [simulate(mdp, agent, 2000, seed=seed) for agent in (one, other)]
    assert runs[0].episode_starts.tolist() == runs[1].episode_starts.tolist()
    np.testing.assert_array_equal(runs[0].agent.counts.snapshot().count, runs[1].agent.counts.snapshot().count)


def plain_agent(mdp, name, seed, **told):
    """A learner told what it is given, not what the MDP entitles it to."""
    agent = make_agent(name, mdp.n_states, np.diff(mdp.pairs.ptr), seed, **told)
    agent.pairs = mdp.pairs  # the same pairs, under the world's own action ids
    return agent


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("mdp", REDUCED, ids=["river", "grid", "walls", "irregular"])
def test_known_singletons_reduce_to_ucrl2_l_in_any_world(mdp, seed):
    alone = Partition.singletons(mdp.n_pairs)
    blind = plain_agent(mdp, "ucrl2-l", seed)
    assert_same_decisions(
        mdp, seed, plain_agent(mdp, "c-ucrl-c-sigma", seed, classes=alone, profiles=profiles(mdp)), blind
    )
    for settings in ({}, {"pooling": "class"}):
        assert_same_decisions(mdp, seed, plain_agent(mdp, "c-ucrl-c", seed, classes=alone, **settings), blind)
    careful = plain_agent(mdp, "ucrl2-l", seed, delta=0.05 / 3)
    balanced = plain_agent(mdp, "c-ucrl-c", seed, classes=alone, pooling="balanced")
    assert_same_decisions(mdp, seed, balanced, careful)


class Fixed:
    """A generator that gives one permutation and one row of coins."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def permutation(self, n):
        return self.values

    def random(self, n):
        return self.values


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "settings"),
    [*((name, {}) for name in LEARNERS if name != "c-ucrl-published"), ("c-ucrl", {"ties": "optimistic"})],
)
def test_renumbered_experience_gives_renumbered_beliefs_and_the_same_plan(name, settings, seed):
    rng = np.random.default_rng(seed)
    mdp = make("four-room", height=5, width=5) if seed else irregular()
    numbers = random_numbers(mdp.pairs, rng)
    way = permutation(mdp.pairs, *numbers)
    one, other = agent_for(mdp, name, 0, **settings), agent_for(mdp.permute(*numbers), name, 0, **settings)
    place = np.argsort(way.source)
    for k in rng.integers(mdp.n_pairs, size=40 * mdp.n_pairs):
        law = mdp.transition_probabilities(int(mdp.pairs.state[k]), int(mdp.pairs.action[k]))
        x, reward = int(rng.choice(list(law), p=list(law.values()))), float(rng.random() < mdp.r_mean[k])
        one.record_step(int(k), reward, x)
        other.record_step(int(place[k]), reward, int(way.state[x]))
    priority = rng.permutation(mdp.n_pairs)
    one.priority_rng, other.priority_rng = Fixed(priority), Fixed(priority[way.source])
    one.act_id(0)
    other.act_id(0)

    assert Partition.from_labels(other.beliefs.partition.label[place]) == one.beliefs.partition
    np.testing.assert_array_equal(other.beliefs.models.p_radius[place], one.beliefs.models.p_radius)
    np.testing.assert_allclose(other.beliefs.models.r_upper[place], one.beliefs.models.r_upper, atol=1e-12)
    mine, others = one.beliefs.models.rows, other.beliefs.models.rows
    for k, j in enumerate(place):
        own = mine.row(k)
        law = dict(zip(mine.succ[own], mine.prob[own], strict=True))
        part = others.row(j)
        assert {int(way.state[x]): p for x, p in law.items()} == pytest.approx(
            dict(zip(others.succ[part].tolist(), others.prob[part].tolist(), strict=True))
        )
    assert other.beliefs.plan.gain == pytest.approx(one.beliefs.plan.gain, abs=1e-9)
    np.testing.assert_allclose(other.beliefs.plan.bias[way.state], one.beliefs.plan.bias, atol=1e-9)


def test_actions_tie_within_a_millionth_of_a_millionth_and_no_further():
    def last_of_two(gap):
        rows = Rows(np.array([0, 1, 2]), np.zeros(2, np.int32), np.ones(2))
        models = ConfidenceSet(rows, np.zeros(2), np.zeros(2), np.array([0.5, 0.5 - gap]))
        return extended_value_iteration(np.array([0, 2]), models, 0.1, coin=np.array([0.99])).policy[0]

    assert last_of_two(0.9e-12) == 1
    assert last_of_two(3e-12) == 0


def test_planning_that_hits_its_cap_is_recorded_in_the_trace():
    river = make("riverswim", n_states=6)
    trace = simulate(river, "ucrl2-l", 500, seed=0, max_sweeps=2)
    assert 0 < trace.n_unconverged <= trace.n_episodes
    assert not trace.agent.beliefs.plan.converged
    assert trace.agent.beliefs.plan.n_sweeps == 2
    assert trace.agent.beliefs.plan.span > 1 / math.sqrt(trace.episode_starts[-1])


def rooms(height, width):
    """The four rooms of SPEC section 8 as a map, cell by cell."""
    row, column = height // 2, width // 2
    doors = [(row, column // 2), (row, (3 * column) // 2), (row // 2, column), ((3 * row) // 2, column)]
    cells = {
        (y, x): "#" if (y in (0, row, height - 1) or x in (0, column, width - 1)) and (y, x) not in doors else "."
        for y in range(height)
        for x in range(width)
    }
    floor = sorted(cell for cell, mark in cells.items() if mark == ".")
    cells[floor[0]], cells[floor[-1]] = "S", "G"
    return tuple("".join(cells[y, x] for x in range(width)) for y in range(height))


@pytest.mark.parametrize(("height", "width"), [(5, 5), (6, 5), (6, 6), (7, 7), (8, 11), (9, 10), (17, 17)])
def test_four_rooms_of_even_and_odd_sizes_have_their_doors_where_written(height, width):
    mdp = make("four-room", height=height, width=width)
    assert mdp.picture.rows == rooms(height, width)
    assert mdp.reachable().all()


def test_bounds_of_theory_have_their_hand_computed_values():
    D, S, C, A, T, delta = 7.0, 5, 3, 2, 1000, 0.1
    root = math.sqrt(C * T * (S + math.log(2 * C * math.sqrt(T + 1) / delta)))
    assert n_episodes_bound(C, T) == pytest.approx(C * math.log(8 * T / C) / math.log(2))
    assert theorem1_bound(D, S, C, T, delta) == pytest.approx(18 * D * root + D * n_episodes_bound(C, T))
    assert ucrl2_bound(D, S, A, T, delta) == pytest.approx(34 * D * S * math.sqrt(A * T * math.log(T / delta)))
    assert azuma_width(T, delta, 2.0) == pytest.approx(2 * math.sqrt(2 * 1001 * math.log(math.sqrt(1001) / delta)))
    for bound in (lambda T: theorem1_bound(D, S, C, T), lambda T: n_episodes_bound(C, T)):
        with pytest.raises(ValueError, match="T >= C"):
            bound(2)


def test_clustering_is_measured_against_laws_unless_rewards_are_pooled():
    """One law, two means: merging the two is an error only where means are compared."""
    mdp = TabularMDP.from_pairs([(0, 0, {0: 0.5, 1: 0.5}, 0.4), (1, 0, {0: 0.5, 1: 0.5}, 0.6)], 2)
    runs = [
        simulate(mdp, "c-ucrl", 300, seed=0, measure_clustering=True, checkpoints=3, rewards=rewards)
        for rewards in ("per_pair", "per_class")
    ]
    assert [run.n_classes[1] for run in runs] == [1, 1]
    assert [run.misclustering_ratio[1] for run in runs] == [0.0, 0.5]


def test_proposition_1_answers_however_close_two_classes_are():
    n = proposition1_samples(1e-9, 25, 50)
    assert n > 10**18
