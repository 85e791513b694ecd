"""Lost sales and perishable stock against their rules, written out demand by demand, and against published values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import gamma

from equirl.solving.optimal_gain import solve
from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import make
from oracles_rules import check_against_rules, check_against_toolbox, optimal_gain

MOST_DEMAND = 200


def poisson(mean):
    return [math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(MOST_DEMAND)]


def geometric(mean):
    return [mean**k / (1 + mean) ** (k + 1) for k in range(MOST_DEMAND)]


def rounded_gamma(mean, variation):
    below = [gamma.cdf(k + 0.5, variation**-2, scale=mean * variation**2) for k in range(MOST_DEMAND)]
    return np.diff([0, *below]).tolist()


# Lost sales


def lost_sales_by_hand(room, most, lead_time, chances, holding=1.0, penalty=4.0):
    """Stock on hand, then what is due; demand by demand."""
    model = {}
    for state in itertools.product(range(room + 1), repeat=lead_time):
        if sum(state) > room or max(state[1:], default=0) > most:
            continue
        choices = {}
        for order in range(most + 1):
            if sum(state) + order > room:
                continue
            pay, law = 0.0, {}
            for demand, p in enumerate(chances):
                left = max(0, state[0] - demand)
                pay -= p * (holding * left + penalty * max(0, demand - state[0]))
                pipeline = [*state[1:], order]
                after = ",".join(map(str, [left + pipeline[0], *pipeline[1:]]))
                law[after] = law.get(after, 0.0) + p
            choices[str(order)] = (pay, law)
        model[",".join(map(str, state))] = choices
    return model


@pytest.mark.parametrize(("lead_time", "demand"), [(1, "poisson"), (2, "poisson"), (2, "geometric"), (3, "poisson")])
def test_lost_sales_are_those_of_the_rules(lead_time, demand):
    chances = {"poisson": poisson, "geometric": geometric}[demand](1.5)
    mdp = make("lost-sales", lead_time=lead_time, demand=demand, mean=1.5, penalty=6.0, max_stock=7, max_order=3)
    check_against_rules(mdp, lost_sales_by_hand(7, 3, lead_time, chances, penalty=6.0))


@pytest.mark.parametrize(
    ("lead_time", "demand", "penalty", "max_stock", "max_order", "published"),
    [
        (1, "poisson", 4, 20, 8, 4.04),
        (2, "poisson", 4, 20, 6, 4.40),
        (1, "poisson", 9, 22, 9, 5.44),
        (1, "poisson", 19, 26, 10, 6.68),
        (1, "geometric", 4, 45, 10, 9.82),
        (1, "geometric", 9, 55, 14, 14.51),
    ],
)
def test_the_costs_of_lost_sales_are_those_that_zipkin_published(
    lead_time, demand, penalty, max_stock, max_order, published
):
    """Zipkin, Old and new methods for lost-sales inventory systems, Operations Research 56 (2008)."""
    mdp = make(
        "lost-sales", lead_time=lead_time, demand=demand, penalty=penalty, max_stock=max_stock, max_order=max_order
    )
    assert -optimal_gain(mdp) == pytest.approx(published, abs=0.005)


def test_what_follows_lost_sales_depends_on_the_stock_on_hand_alone():
    mdp = make("lost-sales")
    assert (mdp.n_states, mdp.n_pairs) == (126, 735)
    assert equivalence_classes(mdp, rewards=False).n_classes == 21
    assert equivalence_classes(mdp) == equivalence_classes(mdp, rewards=False)
    label = equivalence_classes(mdp).label
    assert label[mdp.pairs.index("5,0", "2")] == label[mdp.pairs.index("5,6", "0")]


# Perishable stock


def perishable_by_hand(life, issue, most, chances, costs=(3, 5, 7, 1)):
    """Stock by age, oldest first; units are sold one by one."""
    order_cost, lost_cost, waste_cost, hold_cost = costs
    model = {}
    for state in itertools.product(range(most + 1), repeat=life):
        choices = {}
        for order in range(most + 1):
            pay, law = -order_cost * order, {}
            for demand, p in enumerate(chances):
                shelf = [age for age, units in enumerate(state) for _ in range(units)]
                shelf = shelf[demand:] if issue == "fifo" else shelf[: max(0, len(shelf) - demand)]
                left = [shelf.count(age) for age in range(life)]
                lost = max(0, demand - sum(state))
                pay -= p * (lost_cost * lost + waste_cost * left[0] + hold_cost * sum(left[1:]))
                after = ",".join(map(str, [*left[1:], order]))
                law[after] = law.get(after, 0.0) + p
            choices[str(order)] = (pay, law)
        model[",".join(map(str, state))] = choices
    return model


@pytest.mark.parametrize(("life", "issue", "most"), [(2, "fifo", 4), (2, "lifo", 4), (3, "fifo", 3), (3, "lifo", 3)])
def test_perishable_stock_is_that_of_the_rules(life, issue, most):
    mdp = make("perishable", life=life, issue=issue, mean=2.0, variation=0.7, max_order=most)
    check_against_rules(mdp, perishable_by_hand(life, issue, most, rounded_gamma(2.0, 0.7)))
    check_against_toolbox(mdp)


# Units to order, with 8 to 0 new units in stock (by row) and 0 to 8 old ones: figure 3 of De Moor et al. (2022).
PUBLISHED = {
    "lifo": "000000000 000000000 000000000 000000000 111111111 222222222 333333333 333333333 333333333",
    "fifo": "100000000 110000000 211000000 221100000 322111100 332211111 433322222 443333333 444444444",
}


@pytest.mark.parametrize("issue", PUBLISHED)
def test_the_policies_for_perishable_stock_are_those_published(issue):
    """De Moor, Gijsbrechts and Boute, European Journal of Operational Research 301 (2022): life 2, discount 0.99."""
    mdp = make("perishable", issue=issue)
    policy = solve(mdp, accuracy=1e-9, discount=0.99).policy.reshape(11, 11)  # by old units, then new ones
    published = np.array([[int(order) for order in row] for row in PUBLISHED[issue].split()])
    assert policy[:9, :9].T[::-1].tolist() == published.tolist()


@pytest.mark.parametrize(("issue", "n_classes"), [("fifo", 111), ("lifo", 11)])
def test_orders_of_perishable_stock_do_not_change_what_is_left(issue, n_classes):
    mdp = make("perishable", issue=issue)
    assert (mdp.n_states, mdp.n_pairs) == (121, 1331)
    assert equivalence_classes(mdp, rewards=False).n_classes == n_classes
    assert equivalence_classes(mdp).n_classes == 1331


# Errors


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("lost-sales", {"lead_time": 0}, "lead_time must be at least 1, not 0"),
        ("lost-sales", {"demand": "poison"}, "unknown demand 'poison'; did you mean 'poisson'"),
        ("lost-sales", {"mean": 0}, "mean must lie strictly between 0 and"),
        ("lost-sales", {"penalty": -1}, "penalty must be between 0 and"),
        ("lost-sales", {"max_order": 30}, "max_order must be at most 20, not 30"),
        ("lost-sales", {"lead_time": 8}, "that makes .* states, more than 20000; lower lead_time, max_stock or max_o"),
        ("perishable", {"issue": "fif"}, "did you mean 'fifo'"),
        ("perishable", {"variation": 0}, "variation must lie strictly between 0 and 10, not 0"),
        ("perishable", {"life": 5}, "that makes 161051 states, more than 20000; lower life or max_order"),
        ("perishable", {"waste_cost": "much"}, "waste_cost must be a number, not 'much'"),
    ],
)
def test_a_wrong_inventory_is_refused(name, params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(name, **params)
