"""Planners: what they ask of planning, and what follows where growing supports do not end."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from equirl.learners import planners
from equirl.learners.planners import MOST_THREADS, POLICY_SWEEPS, OptimisticPlanner, SupportPlanner, discount_up_to_one
from equirl.planning.optimistic_planning import Plan

PTR = np.array([0, 2, 4, 6])
LAST = Plan(np.array([0, 2, 4]), 0.5, np.array([0.0, 1.0, 2.0]), 7, 0.1, True)


@pytest.fixture
def asked(monkeypatch):
    """What planning is asked for; it answers with the plans given, or with one that has converged."""
    calls, plans = [], []

    def plan(ptr, models, accuracy, **options):
        calls.append({"models": models, "accuracy": accuracy, **options})
        return plans.pop(0) if plans else LAST

    monkeypatch.setattr(planners, "extended_value_iteration", plan)
    return calls, plans


def run(planner, models="models", last=LAST):
    rng = np.random.default_rng(3)
    return planner.plan(PTR, models, 0.25, rng, last)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("ties", ["random", "first"])
def test_coins_and_a_warm_start_are_handed_on_where_they_are_set(asked, warm, ties):
    planner = OptimisticPlanner(action_ties=ties, warm_start=warm, max_sweeps=9, threads=2, discount=0.75)
    assert run(planner) is LAST
    (call,) = asked[0]
    assert (call["models"], call["accuracy"], call["max_sweeps"]) == ("models", 0.25, 9)
    assert (call["threads"], call["discount"]) == (2, 0.75)
    assert call["policy_sweeps"] == (POLICY_SWEEPS if warm else 0)
    assert call["start"] is (LAST.bias if warm else None)
    if ties == "random":
        assert call["coin"].tolist() == np.random.default_rng(3).random(3).tolist()
    else:
        assert call["coin"] is None
    run(planner, last=None)
    assert asked[0][-1]["start"] is None


@pytest.mark.parametrize(("support", "most", "first"), [(100, 10**5, 100), (100, 30, 30), (30, 30, 30)])
def test_supports_are_given_up_after_some_sweeps_that_do_not_end(asked, support, most, first):
    calls, plans = asked
    models = SimpleNamespace(without_supports=lambda: "without")
    planner = SupportPlanner(support_sweeps=support, max_sweeps=most, warm_start=False)
    assert run(planner, models) is LAST
    assert [call["max_sweeps"] for call in calls] == [first]
    assert (calls[0]["models"], calls[0]["start"]) == (models, None)
    calls.clear()
    stuck = LAST._replace(converged=False, n_sweeps=11, bias=np.array([0.0, 5.0, 9.0]))
    plans.extend([stuck, LAST])
    found = run(planner, models)
    assert [call["max_sweeps"] for call in calls] == [first, most]
    assert (calls[1]["models"], calls[1]["policy_sweeps"]) == ("without", POLICY_SWEEPS)
    assert calls[1]["start"] is stuck.bias
    assert found == LAST._replace(n_sweeps=11 + 7)


@pytest.mark.parametrize(
    "setting",
    [
        {"discount": 1.1}, {"discount": 0.0}, {"action_ties": "last"}, {"warm_start": 1}, {"max_sweeps": 0},
        {"threads": 0}, {"threads": MOST_THREADS + 1}, {"support_sweeps": 0},
    ],
)  # fmt: skip
def test_settings_that_are_none_are_named(setting):
    (name,) = setting
    with pytest.raises((TypeError, ValueError), match=name):
        SupportPlanner(**setting)
    assert OptimisticPlanner(threads=MOST_THREADS).threads == MOST_THREADS


def test_a_discount_may_be_one_and_no_more():
    assert [discount_up_to_one(value) for value in (1.0, 1, 0.5)] == [1.0, 1.0, 0.5]
    for wrong in (1 + 1e-12, 0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="discount"):
            discount_up_to_one(wrong)
