"""Sites with one supplier and machines with one crew, against their rules written out event by event."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import make
from oracles_rules import check_against_rules, check_against_toolbox, optimal_gain

# Sites


def sites_by_hand(n_sites, full, load, mean, price=4.0, holding=0.5, trip=2.0):
    """Every combination of demands, each up to 30."""
    chances = [math.exp(-mean) * mean**k / math.factorial(k) for k in range(30)]
    model = {}
    for state in itertools.product(range(full + 1), repeat=n_sites):
        choices = {}
        for action in ["none", *map(str, range(1, n_sites + 1))]:
            stock = list(state)
            pay, law = 0.0, {}
            if action != "none":
                stock[int(action) - 1] = min(full, stock[int(action) - 1] + load)
                pay -= trip
            for demands in itertools.product(range(30), repeat=n_sites):
                p = math.prod(chances[d] for d in demands)
                left = [max(0, s - d) for s, d in zip(stock, demands, strict=True)]
                pay += p * (price * (sum(stock) - sum(left)) - holding * sum(left))
                after = ",".join(map(str, left))
                law[after] = law.get(after, 0.0) + p
            choices[action] = (pay, law)
        model[",".join(map(str, state))] = choices
    return model


def test_sites_are_those_of_the_rules():
    mdp = make("sites", n_sites=2, capacity=3, load=2, mean=0.8)
    check_against_rules(mdp, sites_by_hand(2, 3, 2, 0.8))


@pytest.mark.parametrize("name", ["sites", "machines"])
def test_another_solver_finds_the_same_gain(name):
    check_against_toolbox(make(name))


def test_sites_are_alike_up_to_their_order():
    mdp = make("sites")
    label = equivalence_classes(mdp).label
    assert (mdp.n_states, mdp.n_pairs, label.max() + 1) == (125, 500, 60)
    assert equivalence_classes(mdp, rewards=False).n_classes == math.comb(5 + 2, 3)
    assert label[mdp.pairs.index("0,2,4", "1")] == label[mdp.pairs.index("2,4,0", "3")]
    assert label[mdp.pairs.index("1,2,3", "none")] == label[mdp.pairs.index("3,1,2", "none")]


# Machines


def machines_by_hand(n_machines, broken, wear, earning=1.0, repair_cost=0.5):
    """Every combination of machines that wear or do not."""
    model = {}
    for state in itertools.product(range(broken + 1), repeat=n_machines):
        choices = {}
        for action in ["none", *map(str, range(1, n_machines + 1))]:
            in_repair = None if action == "none" else int(action) - 1
            pay, law = (0.0 if in_repair is None else -repair_cost), {}
            for k, level in enumerate(state):
                if k != in_repair:
                    pay += earning * (1 - level / broken)
            for worse in itertools.product((0, 1), repeat=n_machines):
                p = math.prod(wear if w else 1 - wear for w in worse)
                levels = [0 if k == in_repair else min(broken, x + worse[k]) for k, x in enumerate(state)]
                after = ",".join(map(str, levels))
                law[after] = law.get(after, 0.0) + p
            choices[action] = (pay, law)
        model[",".join(map(str, state))] = choices
    return model


@pytest.mark.parametrize(("n_machines", "n_wear", "wear"), [(1, 4, 0.15), (2, 3, 0.4), (3, 4, 0.15)])
def test_machines_are_those_of_the_rules(n_machines, n_wear, wear):
    mdp = make("machines", n_machines=n_machines, n_wear=n_wear, wear=wear)
    check_against_rules(mdp, machines_by_hand(n_machines, n_wear, wear))


def test_machines_are_alike_where_as_many_run():
    mdp = make("machines")
    laws = equivalence_classes(mdp, rewards=False)
    assert (mdp.n_states, mdp.n_pairs, laws.n_classes) == (125, 500, 4)
    assert equivalence_classes(mdp).n_classes == 27
    running = [
        sum(int(level) < 4 and k != int(a) for k, level in enumerate(mdp.pairs.state_names[s].split(","), 1))
        for s, a in zip(mdp.pairs.state, mdp.pairs.action, strict=True)
    ]
    assert len(set(zip(running, laws.label.tolist(), strict=True))) == 4


def test_one_machine_earns_what_renewal_says():
    """New, it is repaired as soon as it wears past a level; the best level by the renewal-reward theorem."""
    wear, broken, cost = 0.2, 5, 0.3
    cycles = []
    for level in range(1, broken + 1):
        earned = sum((1 - k / broken) / wear for k in range(level)) - cost
        cycles.append(earned / (level / wear + 1))
    mdp = make("machines", n_machines=1, n_wear=broken, wear=wear, repair_cost=cost)
    assert optimal_gain(mdp) == pytest.approx(np.max(cycles), abs=1e-7)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("sites", {"n_sites": 0}, "n_sites must be at least 1, not 0"),
        ("sites", {"capacity": 2.5}, "capacity must be an integer, not 2.5"),
        ("sites", {"mean": -1}, "mean must lie strictly between 0 and"),
        ("sites", {"n_sites": 9}, "that makes 1953125 states, more than 20000; lower n_sites or capacity"),
        ("machines", {"wear": 1.5}, "wear must be between 0 and 1, not 1.5"),
        ("machines", {"n_machines": 7}, "lower n_machines or n_wear"),
        ("machines", {"repair_cost": None}, "repair_cost must be a number, not None"),
    ],
)
def test_wrong_units_are_refused(name, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(name, **params)
