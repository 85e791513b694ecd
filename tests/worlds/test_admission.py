"""Admission of customer classes against the events of the queue, Erlang's formula and what theory says of policies."""

from __future__ import annotations

import math

import pytest

from equirl.solving.optimal_gain import solve
from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import make
from oracles_rules import check_against_rules, optimal_gain


def queue_by_hand(n_servers, n_places, rates, pays, service, waiting):
    """Competing clocks: one for each class of customers and for each server, whether it is busy or not."""
    clocks = [*rates, *[service] * n_servers]
    total = sum(clocks)
    model = {}
    for there in range(n_places + 1):
        for door in ["-", *map(str, range(1, len(pays) + 1))]:
            if (there, door) == (n_places, "-"):
                continue  # never seen
            choices = {}
            for action in ("reject",) if door == "-" else ("admit", "reject"):
                after = there + (action == "admit")
                if after > n_places:
                    continue
                pay = pays[int(door) - 1] if action == "admit" else 0.0
                pay -= waiting * max(0, after - n_servers) / total
                law = {}
                for clock, rate in enumerate(clocks):
                    if clock < len(rates):
                        event = f"{after},{clock + 1}"
                    else:
                        event = f"{after - 1},-" if clock - len(rates) < after else f"{after},-"
                    law[event] = law.get(event, 0.0) + rate / total
                choices[action] = (pay, law)
            model[f"{there},{door}"] = choices
    return model


@pytest.mark.parametrize(
    ("n_servers", "n_places", "rates", "pays", "service", "waiting"),
    [(4, 12, (1, 1, 1), (1, 3, 9), 0.5, 0.2), (1, 1, (2,), (3,), 1.0, 0.0), (3, 5, (0.5, 2), (4, 1), 0.3, 1.5)],
)
def test_admission_is_that_of_the_rules(n_servers, n_places, rates, pays, service, waiting):
    mdp = make(
        "admission", n_servers=n_servers, n_places=n_places, arrivals=rates, payments=pays, service=service,
        waiting=waiting,
    )  # fmt: skip
    check_against_rules(mdp, queue_by_hand(n_servers, n_places, rates, pays, service, waiting))


@pytest.mark.parametrize("n_servers", [1, 3, 6])
def test_one_class_without_waiting_earns_what_erlang_says(n_servers):
    load, pay, service = 2.5, 3.0, 0.4
    mdp = make(
        "admission", n_servers=n_servers, n_places=n_servers, arrivals=[load * service], payments=[pay],
        service=service, waiting=0,
    )  # fmt: skip
    terms = [load**k / math.factorial(k) for k in range(n_servers + 1)]
    blocked = terms[-1] / sum(terms)
    rate = load * service + n_servers * service
    assert rate * optimal_gain(mdp) == pytest.approx(load * service * pay * (1 - blocked), abs=1e-7)


def test_who_pays_more_is_admitted_to_longer_queues():
    mdp = make("admission")
    best = solve(mdp)
    admitted = {
        door: [there for there in range(12) if best.policy[mdp.pairs.state_number(f"{there},{door}")] == 0]
        for door in "123"
    }
    for there in admitted.values():
        assert there == list(range(len(there)))  # up to some length, as Miller (1969) shows where nobody waits
    assert 0 < len(admitted["1"]) < len(admitted["2"]) < len(admitted["3"])


@pytest.mark.parametrize(("n_servers", "n_classes"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_queues_are_alike_by_their_busy_servers(n_servers, n_classes):
    mdp = make("admission", n_servers=n_servers)
    laws = equivalence_classes(mdp, rewards=False)
    assert laws.n_classes == n_classes
    assert laws.label[mdp.pairs.index("6,1", "admit")] == laws.label[mdp.pairs.index("10,2", "reject")]


def test_a_full_queue_rejects():
    mdp = make("admission", n_servers=2, n_places=3)
    with pytest.raises(ValueError, match="admit"):
        mdp.transition_probabilities("3,1", "admit")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_places": 3}, "n_places must be at least 4, not 3"),
        ({"arrivals": "1/x/1"}, "arrivals must be numbers, such as 1/1/1, not '1/x/1'"),
        ({"arrivals": "1/2"}, "arrivals has 2 numbers and payments 3: one of each per class"),
        ({"payments": "-1/2/3"}, "payments must be at least 0"),
        ({"service": 0}, "service must lie strictly between 0 and"),
        ({"waiting": -0.1}, "waiting must be between 0 and"),
    ],
)
def test_a_wrong_admission_is_refused(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make("admission", **params)
