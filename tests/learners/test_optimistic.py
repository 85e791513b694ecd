"""The optimistic learner: how its episodes begin, when it clusters, and what it answers, each by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.pooling import estimate
from equirl.learners.beliefs import greedy_actions, plan_values, shown_plan
from equirl.learners.contract import UNLIMITED, pair_limits
from equirl.learners.optimistic import CLUSTERING_WORK, ESTIMATE_WORK, SWEEP_WORK
from equirl.model import Pairs
from equirl.model.rows import Rows
from equirl.planning.optimistic_planning import Plan, gain_bounds, value_bounds

RIVER = eq.make("ergodic-riverswim", n_states=4)
M, RANGE = RIVER.n_pairs, (-1.0, 3.0)


def fed(name="ucrl2-l", n=400, **settings):
    """A learner that observed steps of the river and never decided, with rewards on a scale of its own."""
    agent, rng = eq.make_agent(name, 4, 2, reward_range=RANGE, seed=1, **settings), np.random.default_rng(0)
    laws, means = RIVER.to_arrays()
    for _ in range(n):
        s, a = int(rng.integers(4)), int(rng.integers(2))
        agent.observe(s, a, -1.0 + 4.0 * means[s, a], int(rng.choice(4, p=laws[s, a])))
    return agent


class Noted:
    """A part that notes what it is asked."""

    def __init__(self, answer, effort=math.inf):
        self.answer, self.calls, self.effort = answer, [], effort

    def __call__(self, *call):
        self.calls.append(call)
        return self.answer

    plan = limits = __call__


def test_an_episode_begins_with_a_plan_for_all_that_was_seen_and_limits_for_the_work():
    agent = fed()
    plan = Plan(np.array([0, 2, 4, 6]), 0.5, np.arange(4.0), 3, 0.1, False)
    planner, stopping = Noted(plan), Noted(pair_limits(np.full(M, 9)))
    agent.parts = agent.parts._replace(planner=planner, stopping=stopping)
    for last in (None, plan):
        agent.limits = None
        assert agent.decide(2).policy is plan.policy
        ptr, models, accuracy, _, before = planner.calls[-1]
        assert before is last
        assert (ptr.tolist(), accuracy) == (list(range(0, 9, 2)), pytest.approx(1 / math.sqrt(401)))
        seen, groups, work = stopping.calls[-1]
        assert seen.tolist() == agent.counts.visits.tolist()
        assert groups.n_groups == M
        assert work == SWEEP_WORK * 3 * models.n_entries + ESTIMATE_WORK * len(agent.counts.snapshot().succ)
    assert (agent.episode_starts, agent.n_unconverged) == ([401, 401], 2)
    assert agent.episode.start == 401
    assert agent.decide(1).limits is agent.limits
    assert len(planner.calls) == 2  # the episode goes on


@pytest.mark.parametrize(("effort", "rest"), [(math.inf, 0), (1000.0, None), (1e-300, UNLIMITED)])
def test_clustering_rests_in_proportion_to_what_it_took(effort, rest):
    agent = fed("c-ucrl", effort=effort)
    seen = agent.counts.snapshot()
    agent.act_id(0)
    rest = int(CLUSTERING_WORK * len(seen.succ) / effort) if rest is None else rest
    assert agent.cluster_from == 401 + rest
    kept = agent.episode.groups
    agent.limits = None
    agent.t = agent.cluster_from - 1 if rest else agent.t
    agent.decide(0)
    assert (agent.episode.groups is kept) == (rest > 0)
    if 0 < rest < UNLIMITED:
        agent.t, agent.limits = agent.cluster_from, None
        agent.decide(0)
        assert agent.episode.groups is not kept


def test_groups_inside_given_classes_are_formed_in_every_episode():
    agent = fed("c-ucrl-c", classes=eq.equivalence_classes(RIVER), pooling="balanced", effort=1.0)
    agent.act_id(0)
    kept, agent.limits = agent.episode.groups, None
    agent.decide(0)
    assert (agent.episode.groups is kept, agent.cluster_from) == (False, 1)


def test_gains_and_values_are_bounded_in_the_units_of_the_rewards():
    agent = fed(n=20_000)
    agent.act_id(0)
    beliefs, accuracy = agent.beliefs, 1 / math.sqrt(20_001)
    own = gain_bounds(beliefs.models, beliefs.episode.plan.policy, accuracy)
    assert beliefs.gain_bounds() == pytest.approx(tuple(4.0 * end - 1.0 for end in own))
    pairs = np.array([1, 3, 5, 7])
    told = gain_bounds(beliefs.models, pairs, accuracy)
    assert beliefs.gain_bounds([1, 1, 1, 1]) == pytest.approx(tuple(4.0 * end - 1.0 for end in told))
    low, high = value_bounds(beliefs.models, pairs, 0.2 * accuracy, 0.8)
    found = beliefs.value_bounds([1, 1, 1, 1], 0.8)
    np.testing.assert_allclose(found, [4.0 * low - 5.0, 4.0 * high - 5.0])
    assert (found[0] < found[1]).all()
    for wrong in (1.0, -0.1):
        with pytest.raises(ValueError, match="discount"):
            beliefs.value_bounds([1, 1, 1, 1], wrong)


def test_the_gap_is_the_optimistic_optimum_less_the_gain_that_is_certain_at_the_risk_of_the_sets():
    agent = fed(n=20_000, delta=0.1)
    assert agent.beliefs.policy_gap(0, 0.5) is None  # nothing is decided yet
    agent.act_id(0)
    plan = agent.episode.plan
    low, _ = gain_bounds(agent.beliefs.models, plan.policy, 1 / math.sqrt(20_001))
    for delta in (0.1, 0.5):
        found = agent.beliefs.policy_gap(0, delta)
        assert found.gap == pytest.approx(min(1.0, plan.gain + plan.span / 2) - low)
        assert (found.policy.tolist(), found.certified) == (plan.policy.tolist(), True)
    assert agent.beliefs.policy_gap(0, 0.09) is None
    later = fed("mbie", 200)
    later.act_id(0)
    assert later.beliefs.policy_gap(0, 0.5) is None


def test_of_a_pair_the_estimates_are_believed_between_their_bounds():
    agent = fed(n=60)
    for k in range(M):
        belief = agent.beliefs.pair_belief(k)
        seen = agent.counts.snapshot()
        row = slice(seen.ptr[k], seen.ptr[k + 1])
        assert dict(zip(belief.succ.tolist(), belief.prob.tolist(), strict=True)) == pytest.approx(
            dict(zip(seen.succ[row].tolist(), (seen.count[row] / seen.visits[k]).tolist(), strict=True))
        )
        assert belief.samples == seen.visits[k]
        assert belief.mean == pytest.approx(seen.r_sum[k] / seen.visits[k])
        assert belief.r_lower <= belief.mean <= belief.r_upper
        assert belief.bounds_by == "confidence sets, risk 0.05"
    nothing = eq.make_agent("ucrl2-l", 4, 2).beliefs.pair_belief(0)
    assert math.isnan(nothing.mean)
    told = eq.make_agent("ucrl2-l", 4, 2, rewards="known", mean_rewards=np.full(8, 0.25)).beliefs.pair_belief(0)
    assert (told.mean, told.r_lower, told.r_upper) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_values_of_actions_are_those_of_the_pair_played_once_and_then_the_plan(discount):
    agent = fed(n=2000)
    agent.act_id(0)
    plan, models = agent.episode.plan._replace(bias=np.array([0.0, 1.0, 3.0, 2.0]), gain=0.4), agent.beliefs.models
    exact = models._replace(p_radius=np.zeros(M))
    laws = np.zeros((M, 4))
    for k in range(M):
        laws[k, exact.rows.succ[exact.rows.row(k)]] = exact.rows.prob[exact.rows.row(k)]
    q = exact.r_upper + discount * laws @ plan.bias
    for s in range(4):
        own = q[2 * s : 2 * s + 2]
        expected = own - plan.bias[s] if discount == 1.0 else 0.2 * own + 0.8 * 0.4
        np.testing.assert_allclose(plan_values(exact, plan, agent.pairs, s, discount), expected)


def test_a_plan_is_shown_in_actions_and_in_the_units_of_the_rewards():
    shown = shown_plan(Plan(np.array([0, 3, 4, 7]), 0.5, np.array([0.0, 0.25, 0.5, 1.0]), 3, 0.125, True), fed())
    assert (shown.policy.tolist(), shown.policy_pair.tolist()) == ([0, 1, 0, 1], [0, 3, 4, 7])
    assert (shown.gain, shown.bias.tolist(), shown.span) == (1.0, [0.0, 1.0, 2.0, 4.0], 0.5)
    assert (shown.n_sweeps, shown.converged) == (3, True)


@pytest.mark.parametrize("seed", range(5))
def test_the_greedy_policy_is_the_best_of_the_estimates_and_shuns_what_was_never_tried(seed):
    rng, agent = np.random.default_rng(seed), eq.make_agent("ucrl2-l", 4, 2)
    tried = [k for k in range(M) if k % 2 == 0 or rng.random() < 0.5]
    for k in tried:
        for _ in range(6):
            agent.observe(k // 2, k % 2, float(rng.random()), int(rng.integers(4)))
    known = estimate(agent.counts.snapshot())
    laws, means = np.eye(4)[agent.pairs.state], np.zeros(M)
    for k in tried:
        laws[k] = 0.0
        laws[k, known.rows.succ[known.rows.row(k)]] = known.rows.prob[known.rows.row(k)]
        means[k] = known.r_hat[k]
    world = eq.TabularMDP.from_arrays(laws.reshape(4, 2, 4), means.reshape(4, 2))
    policy = greedy_actions(agent.pairs, known)
    assert policy.tolist() == agent.beliefs.greedy_policy().tolist()
    assert eq.Policy(world, policy).gain == pytest.approx(eq.solve(world, multichain=True).gain, abs=1e-5)


def test_rows_that_are_told_of_pairs_without_samples_are_not_believed():
    """As of classes with profiles given, of which nothing was seen: the way to a good state is not taken for one."""
    rows = Rows(np.arange(5), np.array([1, 0, 1, 0], np.int32), np.array([0.0, 1.0, 1.0, 0.0]))
    nothing = estimate(eq.make_agent("ucrl2-l", 2, 2).counts.snapshot())
    known = nothing._replace(rows=rows, samples=np.array([0, 5, 5, 0]), r_hat=np.array([0.5, 0.1, 0.9, 0.5]))
    assert greedy_actions(Pairs.uniform(2, 2), known).tolist() == [1, 0]
    spare = known._replace(rows=rows._replace(prob=np.array([0.0, 0.6, 0.5, 0.0])))  # masses below one
    assert greedy_actions(Pairs.uniform(2, 2), spare).tolist() == [1, 0]
