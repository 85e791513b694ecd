"""Evidence against what a user gave: in a sentence, in a table, and when it is looked for."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.refutation import OUTSIDE, REST, REWARDS, SUCCESSORS, Refutation
from equirl.learners.refuted_structure import (
    FIRST,
    RISK,
    RefutedStructure,
    StructureWatch,
    evidence_table,
    prepared_test,
    sentence,
)
from equirl.model.pairs import Pairs

PAIRS = Pairs(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), ("low", "high"), ("wait", "go"))
OF_REST = Refutation(0, SUCCESSORS, 1, REST, 1200, 1, 0.5, 12.345, 5.5)
OF_MATE = OF_REST._replace(label=1, other=2)
OF_MEANS = OF_REST._replace(what=REWARDS, pair=3, difference=0.25)
LED_OUT = Refutation(1, OUTSIDE, 2, 1, 7, 0, 2.0, math.inf, 0.0)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (
            OF_REST,
            "(s='low', a='go'), 1,200 visits, and the rest of its class, 1 visit: their successors differ by 0.5 in L1 "
            "(log likelihood ratio 12.3, bound 5.5)",
        ),
        (
            OF_MATE,
            "(s='low', a='go'), 1,200 visits, and (s='high', a='wait'), of the same class, 1 visit: their profiles "
            "differ by 0.5 in L1 (log likelihood ratio 12.3, bound 5.5)",
        ),
        (
            OF_MEANS,
            "(s='high', a='go'), 1,200 visits, and the rest of its class, 1 visit: their mean rewards differ by 10 "
            "(log likelihood ratio 12.3, bound 5.5)",
        ),
        (LED_OUT, "(s='high', a='wait') led to 'high' 2 times, outside the order given"),
    ],
)
def test_evidence_is_said_in_names_and_units(one, text):
    assert sentence(one, PAIRS, (40.0, -3.0)) == text


def test_evidence_is_listed_in_names_and_units():
    table = evidence_table([OF_REST, OF_MATE, OF_MEANS, LED_OUT], PAIRS, (40.0, -3.0))
    assert table["class"] == [0, 1, 0, 1]
    assert table["what"] == [SUCCESSORS, SUCCESSORS, REWARDS, OUTSIDE]
    assert (table["state"], table["action"]) == (["low", "low", "high", "high"], ["go", "go", "go", "wait"])
    assert table["against"] == ["rest of the class", "s='high', a='wait'", "rest of the class", "state high"]
    assert (table["visits"], table["visits_against"]) == ([1200, 1200, 1200, 7], [1, 1, 1, 0])
    assert table["difference"] == [0.5, 0.5, 10.0, 2.0]
    assert (table["evidence"], table["bound"]) == ([12.345, 12.345, 12.345, math.inf], [5.5, 5.5, 5.5, 0.0])


def fed(means, n=60, **given):
    agent = eq.make_agent("c-ucrl-c", 2, 2, classes=[0, 0, 1, 1], **given)
    for k in range(4):
        for _ in range(n):
            agent.counts.record(k, means[k], 0)
    agent.t = 1 + 4 * n
    return agent


@pytest.mark.parametrize(
    ("t", "pairs", "wait"), [(1, 2, FIRST), (1000, 2, 500), (129, 2, FIRST), (1, 200, 4 * (200 + 0)), (130, 2, 65)]
)
def test_it_looks_again_after_half_as_many_steps_or_some_times_its_work(t, pairs, wait):
    agent = eq.make_agent("c-ucrl-c", pairs, 1, classes=[0] * pairs)
    agent.t = t
    assert StructureWatch(agent).look(agent) == t + wait


def test_every_class_refuted_is_warned_of_once_by_its_strongest_evidence():
    agent = fed([0.0, 1.0, 0.3, 0.3])
    watch = StructureWatch(agent)
    with pytest.warns(RefutedStructure, match=r"is refuted: .*mean rewards differ by 1 .*has a table") as told:
        watch.look(agent)
    assert len(told) == 1
    assert watch.warned.tolist() == [True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch.look(agent)
    for _ in range(60):
        agent.counts.record(2, 1.0, 1)
    with pytest.warns(RefutedStructure) as told:
        watch.look(agent)
    assert len(told) == 1
    assert watch.warned.tolist() == [True, True]


def test_the_risk_is_that_of_the_learner_or_the_usual_one_and_means_told_are_not_compared():
    with_delta = prepared_test(eq.make_agent("c-ucrl-c", 2, 2, classes=[0, 0, 1, 1], delta=0.2))
    assert with_delta.mean_bound == pytest.approx(math.log(4 / 0.1))
    without = prepared_test(eq.make_agent("c-psrl-c", 2, 2, classes=[0, 0, 1, 1], rewards="per_class"))
    assert without.mean_bound == pytest.approx(math.log(4 / (RISK / (2 if without.compared.rewards else 1))))
    told = eq.make_agent("c-ucrl-c", 2, 2, classes=[0, 0, 1, 1], rewards="known", mean_rewards=[0.5] * 4)
    assert not prepared_test(told).compared.rewards
    apart = eq.make_agent("c-ucrl-c", 2, 2, classes=[0, 0, 1, 1], rewards="per_pair")
    assert not prepared_test(apart).compared.rewards


def test_only_what_a_user_gave_is_refuted():
    agent = fed([0.0, 1.0, 0.3, 0.3])
    assert agent.beliefs.refuted()["class"] == [0]
    agent.given = agent.given._replace(refutable=False)
    assert len(agent.beliefs.refuted()) == 0
