"""MDPs that a posterior-sampling agent is restored with: what does not fit the pairs is refused by its name."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners.posterior_sampling import PosteriorLearner, checked_model

RIVER = eq.make("riverswim", n_states=4)


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
