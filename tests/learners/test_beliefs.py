"""What learners tell people: actions rather than pair numbers, names, the units of the rewards; at any moment."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners.beliefs import Beliefs
from outside_learners import OUTSIDE

RANGE = (-100.0, 20.0)


def fed(name, n=300, **settings):
    """A learner that observed and never decided."""
    agent = eq.make_agent(name, ["cold", "warm", "hot"], ["wait", "heat"], reward_range=RANGE, **settings)
    rng = np.random.default_rng(0)
    for k in range(n):
        state, action = k % 3, k // 3 % 2
        after = min(2, state + 1) if action == 1 and rng.random() < 0.8 else max(0, state - 1)
        agent.observe(state, action, -90.0 + 10 * after, after)
    return agent


@pytest.mark.parametrize("name", ["c-ucrl", "ucrl2-l", "c-psrl", "psrl"])
def test_classes_are_there_after_observing_alone(name):
    agent = fed(name)
    before = agent.counts.snapshot()
    part = agent.beliefs.partition
    assert part.n_pairs == 6
    assert agent.n_episodes == 0
    assert agent.beliefs.partition == part  # asking changes nothing
    np.testing.assert_array_equal(agent.counts.snapshot().visits, before.visits)
    twin = fed(name)
    assert agent.act_id("cold") == twin.act_id("cold")


@pytest.mark.parametrize("name", ["c-ucrl", "ucrl2-b", "kl-ucrl", "ucrl3"])
def test_bounds_on_the_gain_are_in_the_units_of_the_rewards(name):
    agent = fed(name, 30_000)
    agent.act_id("cold")
    low, high = agent.beliefs.gain_bounds()
    assert RANGE[0] <= low <= high <= RANGE[1]
    assert low < -70 < high  # a reward of -90 to -70 is never certified elsewhere
    policy = agent.beliefs.greedy_policy()
    assert agent.beliefs.gain_bounds(policy)[0] <= agent.beliefs.gain_bounds(policy)[1]
    plain = eq.make_agent(name, 3, 2)
    plain.act_id(0)
    assert plain.beliefs.gain_bounds() == (0.0, 1.0)


@pytest.mark.parametrize("name", ["c-ucrl", "c-psrl"])
def test_a_plan_has_actions_and_pairs_and_units(name):
    agent = fed(name)
    with pytest.raises(ValueError, match="call act"):
        _ = agent.beliefs.plan
    action = agent.act_id("warm")
    plan = agent.beliefs.plan
    assert plan.policy[1] == action
    np.testing.assert_array_equal(agent.pairs.action[plan.policy_pair], plan.policy)
    assert RANGE[0] <= plan.gain <= RANGE[1] + plan.span
    assert plan.bias.min() == 0


@pytest.mark.parametrize("name", ["c-ucrl", "c-psrl", "imed-rl", "q-learning"])
def test_a_policy_is_a_table_with_names_and_units(name):
    table = fed(name).beliefs.policy_table()
    assert table["state"] == ["cold", "warm", "hot"]
    assert set(table["action"]) <= {"wait", "heat"}
    assert min(table["visits"]) > 0
    assert all(-90 <= mean <= -70 for mean in table["mean_reward"])


def test_a_learner_without_a_policy_says_so():
    with pytest.raises(ValueError, match="'random' has no policy to show"):
        eq.make_agent("random", 2, 2).beliefs.policy_table()


def test_classes_may_be_stated_as_a_function_of_state_and_action():
    stated = [0, 1, 0, 1, 0, 2]
    told = eq.make_agent("c-ucrl-c", 3, 2, classes=stated)
    asked = eq.make_agent("c-ucrl-c", 3, 2, classes=lambda s, a: "top" if (s, a) == (2, 1) else a)
    assert asked.given.classes == told.given.classes
    seen = []
    eq.make_agent("c-ucrl-c", ["low", "high"], ["up", "down"], classes=lambda s, a: seen.append((s, a)) or 0)
    assert seen == [("low", "up"), ("low", "down"), ("high", "up"), ("high", "down")]
    river = eq.make("riverswim", n_states=4)
    assert eq.agent_for(river, "c-ucrl-c", classes=lambda s, a: (s > 0, a)).given.classes.n_classes == 4


UNANSWERED = {
    "partition": (lambda beliefs: beliefs.partition, "forms no classes"),
    "plan": (lambda beliefs: beliefs.plan, "makes no plans"),
    "greedy_policy": (lambda beliefs: beliefs.greedy_policy(), "has no policy to show"),
    "gain_bounds": (lambda beliefs: beliefs.gain_bounds(), "has no set of plausible models to bound a gain by"),
    "value_bounds": (lambda beliefs: beliefs.value_bounds([0, 0], 0.5), "has no set of plausible models to bound val"),
    "estimates": (lambda beliefs: beliefs.estimates, "plans with no estimates"),
    "models": (lambda beliefs: beliefs.models, "has no set of plausible models$"),
}


@pytest.mark.parametrize("question", UNANSWERED)
@pytest.mark.parametrize("name", ["random", "q-learning", "imed-rl", OUTSIDE[2]])
def test_a_question_that_an_agent_does_not_answer_is_an_error_that_names_it(name, question):
    beliefs = eq.make_agent(name, 2, 2).beliefs
    ask, message = UNANSWERED[question]
    if question == "greedy_policy" and beliefs.has_policy:
        assert ask(beliefs).shape == (2,)
        return
    with pytest.raises(ValueError, match=f"'{name}' {message}"):
        ask(beliefs)


def test_the_beliefs_of_an_agent_that_says_nothing_are_empty():
    beliefs = Beliefs(eq.make_agent("random", 2, 2))
    assert (beliefs.forms_classes, beliefs.has_policy, beliefs.has_gap) == (False, False, False)
    assert beliefs.classes() is beliefs.counts is beliefs.uncertainty() is None
    assert beliefs.pair_belief(0) is beliefs.action_values(0) is beliefs.policy_gap(0, 0.5) is None
    assert beliefs.own_columns(np.arange(2)) == beliefs.measures() == {}
    assert beliefs.alike_by() == ""
    assert beliefs.alike_to(1).tolist() == [0, 1, 0, 0]


def test_frequencies_are_believed_with_trivial_bounds_and_nothing_before_the_first_step():
    agent = eq.make_agent("q-learning", 3, 1, reward_range=(0, 2))
    before = agent.beliefs.pair_belief(0)
    assert (len(before.succ), before.samples, before.unseen_upper) == (0, 0, 1.0)
    assert np.isnan(before.mean)
    for reward, after in ((2.0, 1), (0.0, 2), (1.0, 2), (2.0, 2)):
        agent.observe(0, 0, reward, after)
    belief = agent.beliefs.pair_belief(0)
    assert dict(zip(belief.succ.tolist(), belief.prob.tolist(), strict=True)) == {1: 0.25, 2: 0.75}
    assert (belief.lower.tolist(), belief.upper.tolist(), belief.unseen_upper) == ([0, 0], [1, 1], 1.0)
    assert (belief.mean, belief.r_lower, belief.r_upper, belief.samples) == (0.625, 0.0, 1.0, 4)
    columns = agent.beliefs.own_columns(np.arange(2))
    assert columns["visits"].tolist() == [4, 0]
    assert columns["mean_reward"][0] == 1.25
    assert np.isnan(columns["mean_reward"][1])
