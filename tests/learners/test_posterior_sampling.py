"""Posterior sampling: MDPs it is restored with, how its episodes begin, and what it believes by drawing."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import equirl as eq
from equirl.learners import posterior_sampling
from equirl.learners.contract import pair_limits
from equirl.learners.parts import DrawnProblem
from equirl.learners.posterior_sampling import LEAST_DRAWS, DrawnPlanner, PosteriorLearner, checked_model
from equirl.numerics.portions import finished
from equirl.planning.optimistic_planning import Plan, Stop
from equirl.posterior.drawn_plan import POLICY_SWEEPS, gain_in, mean_model

RIVER = eq.make("riverswim", n_states=4)
M = RIVER.n_pairs


@pytest.fixture(scope="module")
def agent():
    learner = eq.simulate(RIVER, "psrl", 200, seed=0).agent
    assert isinstance(learner, PosteriorLearner)
    return learner


def with_value(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


def rows_with(**change):
    return lambda model: model._replace(
        rows=model.rows._replace(**{name: make(getattr(model.rows, name)) for name, make in change.items()})
    )


def field_with(name, make):
    return lambda model: model._replace(**{name: make(getattr(model, name))})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rows_with(ptr=lambda ptr: ptr[:-1]), "the ptr drawn does not fit the pairs"),
        (rows_with(prob=lambda prob: prob[:-1]), "the prob drawn does not fit the pairs"),
        (field_with("rest", lambda rest: rest[1:]), "the rest drawn does not fit the pairs"),
        (field_with("reward", lambda reward: reward[1:]), "the reward drawn does not fit the pairs"),
        (field_with("state", lambda state: state[1:]), "the state drawn does not fit the pairs"),
        (field_with("state", lambda state: state[::-1]), "the rows drawn do not fit the pairs"),
        (rows_with(ptr=lambda ptr: with_value(ptr, 0, 1)), "the rows drawn do not fit the pairs"),
        (rows_with(ptr=lambda ptr: with_value(ptr, -1, ptr[-1] - 1)), "the rows drawn do not fit the pairs"),
        (rows_with(ptr=lambda ptr: with_value(ptr, 1, ptr[2] + 1)), "the rows drawn do not fit the pairs"),
        (rows_with(succ=lambda succ: with_value(succ, 0, -1)), "a successor drawn is out of range"),
        (rows_with(succ=lambda succ: with_value(succ, 0, 4)), "a successor drawn is out of range"),
        (rows_with(prob=lambda prob: with_value(prob, 0, -1e-6)), "the prob drawn is not between 0 and 1"),
        (rows_with(prob=lambda prob: with_value(prob, 0, 1 + 1e-6)), "the prob drawn is not between 0 and 1"),
        (field_with("rest", lambda rest: with_value(rest, 2, np.nan)), "the rest drawn is not between 0 and 1"),
        (field_with("reward", lambda reward: with_value(reward, 2, 1.5)), "the reward drawn is not between 0 and 1"),
    ],
)
def test_a_drawn_mdp_that_does_not_fit_is_refused(agent, change, message):
    with pytest.raises(ValueError, match=message):
        checked_model(change(agent.model), RIVER.pairs)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model,
        rows_with(succ=lambda succ: with_value(succ, 0, 3)),
        rows_with(prob=lambda prob: with_value(prob, 0, 0.0)),
        rows_with(prob=lambda prob: with_value(prob, 0, 1 + 1e-10)),
    ],
)
def test_a_drawn_mdp_at_the_ends_of_its_ranges_is_taken(agent, change):
    model = change(agent.model)
    assert checked_model(model, RIVER.pairs) is model


@pytest.mark.parametrize("wrong", [np.zeros(1, np.int64), np.zeros(2, np.uint64)])
def test_a_generator_that_is_not_whole_is_refused(agent, wrong):
    state = agent.state()
    with pytest.raises(ValueError, match="the generator's state is not whole"):
        eq.agent_for(RIVER, "psrl").restore(state._replace(arrays=state.arrays | {"rng": wrong}))


def test_beliefs_of_an_agent_that_has_not_decided_have_no_plan_and_no_values():
    beliefs = eq.agent_for(RIVER, "psrl").beliefs
    assert beliefs.action_values(0) is None
    with pytest.raises(ValueError, match=r"has not decided anything yet; call act\(state\) first"):
        _ = beliefs.plan
    assert eq.agent_for(RIVER, "psrl", discount=0.9).beliefs.policy_gap(0, 0.1) is None


def test_how_surely_pairs_are_alike_is_given_or_the_share_of_draws_that_say_so():
    alone, given, drawn = (
        eq.simulate(RIVER, name, 300, seed=0).agent.beliefs for name in ("psrl", "c-psrl-c", "c-psrl")
    )
    assert (alone.alike_by(), given.alike_by(), drawn.alike_by()) == ("", "given", "drawn")
    assert alone.alike_to(2).tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    label = given.agent.given.classes.label
    assert given.alike_to(2).tolist() == (label == label[2]).tolist()
    chance = drawn.alike_to(2)
    assert chance[2] == 1.0
    assert ((chance > 0) & (chance < 1)).any()


# --- episodes


@pytest.mark.parametrize(("n_entries", "sweeps"), [(1, 1000), (1000, 1000), (1001, 999), (9000, 111), (10**6, 20)])
def test_a_plan_makes_as_many_sweeps_as_its_lookups_allow_and_at_least_twenty(n_entries, sweeps, monkeypatch):
    asked = []
    monkeypatch.setattr(posterior_sampling, "plan_from", lambda *call: asked.append(call))
    model = SimpleNamespace(n_entries=n_entries)
    finished(DrawnPlanner(accuracy=0.5).portions(DrawnProblem(3, "ptr", model, 0.1, "bias"), "rng", False))
    assert asked == [(3, "ptr", model, "bias", Stop(1.0, 0.05, sweeps, POLICY_SWEEPS), "rng")]


class Noted:
    """A part that notes what it is asked."""

    def __init__(self, answer):
        self.answer, self.calls, self.staying, self.discount = answer, [], 0.25, 1.0

    def __call__(self, *call):
        self.calls.append(call)
        return self.answer

    limits = __call__

    def portions(self, *call, **more):
        yield 1
        return self(*call)


def test_an_episode_begins_with_a_draw_a_plan_from_the_last_values_and_limits_for_the_work():
    agent = eq.agent_for(RIVER, "psrl", seed=2)
    plan = Plan(np.array([0, 2, 4, 6]), 0.5, np.arange(4.0), 3, 0.1, False)
    planner, lengths = Noted(plan), Noted(pair_limits(np.full(M, 9)))
    agent.parts = agent.parts._replace(planner=planner, lengths=lengths)
    for t, last, bias in ((1, 0, [0.0] * 4), (6, 5, [0.0, 1.0, 2.0, 3.0])):
        agent.t = t
        agent.limits = None
        stretch = agent.decide(2)
        state, _, model, accuracy, start, _ = planner.calls[-1][0]
        assert (state, start.tolist(), accuracy) == (2, bias, agent.criterion.accuracy(t))
        assert model is agent.model
        assert model.stay == 0.25
        assert len(model.rows.succ) == len(model.rows.prob) == model.rows.ptr[-1]
        visits, now, before, work = lengths.calls[-1]
        assert (visits.tolist(), now, before) == ([0] * M, t, last)
        assert work == 3 * model.n_entries  # nothing was seen, so drawing took no look-ups
        assert stretch.policy is plan.policy
    assert (agent.episode_starts, agent.n_unconverged) == ([1, 6], 2)
    agent.limits = pair_limits(np.full(M, 9))
    assert agent.decide(1).limits is agent.limits
    assert len(planner.calls) == 2  # the episode goes on


def law_of(model, pair):
    law = np.full(4, model.rest[pair] / 4)
    np.add.at(law, model.rows.succ[model.rows.row(pair)], model.rows.prob[model.rows.row(pair)])
    return law


def test_beliefs_of_a_pair_are_the_mean_and_the_middle_of_draws(agent, monkeypatch):
    drawn, draw = [], PosteriorLearner.draw_model

    def kept(self, seen):
        drawn.append(draw(self, seen))
        return drawn[-1]

    monkeypatch.setattr(PosteriorLearner, "draw_model", kept)
    for pair in (1, 5):
        drawn.clear()
        found = agent.beliefs.pair_belief(pair)
        assert len(drawn) == LEAST_DRAWS
        laws = np.array([law_of(model, pair) for model, _ in drawn])
        np.testing.assert_allclose(found.prob, laws.mean(axis=0)[found.succ])
        assert (np.diff(found.prob) <= 0).all()
        np.testing.assert_allclose(found.lower, np.quantile(laws, 0.05, axis=0)[found.succ])
        np.testing.assert_allclose(found.upper, np.quantile(laws, 0.95, axis=0)[found.succ])
        assert found.unseen_upper == pytest.approx(np.quantile([model.rest[pair] / 4 for model, _ in drawn], 0.95))
        means = [model.reward[pair] for model, _ in drawn]
        assert (found.mean, found.r_lower, found.r_upper) == pytest.approx(
            (np.mean(means), *np.quantile(means, [0.05, 0.95]))
        )
        assert found.samples == agent.counts.visits[pair]


def best_gain(model, state):
    """The best gain in a drawn MDP and the policy that has it, over all policies."""
    policies = [np.array(choice) for choice in itertools.product(*((2 * s, 2 * s + 1) for s in range(4)))]
    return max((gain_in(model, policy, np.eye(4)[state]), tuple(policy)) for policy in policies)


@pytest.mark.parametrize(("delta", "draws"), [(0.3, LEAST_DRAWS), (0.04, 50)])
def test_the_gap_of_the_recommended_policy_is_a_quantile_of_what_it_loses_in_drawn_mdps(
    agent, delta, draws, monkeypatch
):
    drawn, draw = [], PosteriorLearner.draw_model

    def kept(self, seen):
        drawn.append(draw(self, seen)[0])
        return drawn[-1], 0

    stops, plan_from = [], posterior_sampling.plan_from
    monkeypatch.setattr(PosteriorLearner, "draw_model", kept)
    monkeypatch.setattr(posterior_sampling, "plan_from", lambda *call: stops.append(call[4]) or plan_from(*call))
    found = agent.beliefs.policy_gap(1, delta)
    assert len(drawn) == draws
    assert len(stops) == draws + 1
    accuracy = agent.criterion.accuracy(agent.t) / 10  # ten times that of play
    assert set(stops) == {Stop(1.0, accuracy, posterior_sampling.MOST_SWEEPS, posterior_sampling.POLICY_SWEEPS)}
    recommended, here = np.array(found.policy), np.eye(4)[1]
    mean = mean_model(RIVER.pairs, agent.counts.visits > 0, drawn)
    assert gain_in(mean, recommended, here) == pytest.approx(best_gain(mean, 1)[0], abs=5e-3)
    lost = sorted(best_gain(model, 1)[0] - gain_in(model, recommended, here) for model in drawn)
    place = math.ceil((1 - delta) * (draws - 1) - 1e-9)
    assert found.gap == pytest.approx(lost[place], abs=5e-3)
    assert not found.certified


@pytest.mark.parametrize("horizon", [1, 3, 400])
def test_classes_are_counted_as_they_are_formed(horizon):
    beliefs = eq.simulate(RIVER, "c-psrl", horizon, seed=2).agent.beliefs
    assert beliefs.measures()["n_classes"] == beliefs.classes().partition.n_classes
