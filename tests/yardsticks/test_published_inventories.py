"""Inventories with published answers: their transitions against rules one unit at a time, and published policies."""

from itertools import product
from math import comb, exp, factorial

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from equirl.lab.yardsticks.published_inventories import MEAN, SHAPE, platelets, two_products
from equirl.solving import solve


def use(stock, demand):
    """What is left of a stock, oldest last, when the oldest is used first; and how much was missing."""
    left = list(stock)
    for k in range(len(left) - 1, -1, -1):
        taken = min(left[k], demand)
        left[k] -= taken
        demand -= taken
    return left, demand


def two_products_by_hand(state, mean_a, mean_b, most=40):
    """(new ones left of A, of B) -> probability, and the mean sales, by every demand."""
    old_a, new_a, old_b, new_b = state
    law, sales = {}, 0.0
    for a, b in product(range(most), repeat=2):
        p = poisson.pmf(a, mean_a) * poisson.pmf(b, mean_b)
        (rest_b, _), missing = use((new_b, old_b), b)
        for turned in range(missing + 1):
            q = p * comb(missing, turned) / 2**missing
            (rest_a, _), lost = use((new_a, old_a), a + turned)
            law[rest_a, rest_b] = law.get((rest_a, rest_b), 0.0) + q
            sales += q * (a + turned - lost + b - missing)
    return law, sales


@pytest.mark.parametrize("state", [(0, 0, 0, 0), (2, 1, 0, 1), (1, 2, 1, 0), (2, 2, 1, 1), (0, 1, 1, 1)])
def test_two_products_are_sold_by_the_rules(state):
    mdp = two_products(2.0, 1.5, 2, 1)
    s, order = int(np.ravel_multi_index(state, (3, 3, 2, 2))), (2, 1)
    law, sales = two_products_by_hand(state, 2.0, 1.5)
    found = mdp.transition_probabilities(s, order[0] * 2 + order[1])
    expected = {int(np.ravel_multi_index((a, 2, b, 1), (3, 3, 2, 2))): p for (a, b), p in law.items()}
    assert {x: p for x, p in found.items() if p > 1e-12} == pytest.approx(
        {x: p for x, p in expected.items() if p > 1e-12}
    )
    assert mdp.rewards[mdp.pairs.index(s, 5)] == pytest.approx(sales - 1.5)


def platelets_by_hand(day, two, one, order, sure_life):
    """(two days left, one day left) -> probability, and the mean cost, by every delivery and demand."""
    weight = [exp(0.5 + 0.8 * order), exp(1 + 0.4 * order), 1.0]
    share = [1.0, 0.0, 0.0] if sure_life else [w / sum(weight) for w in weight]
    asked = [nbinom.pmf(d, SHAPE[day], SHAPE[day] / (SHAPE[day] + MEAN[day])) for d in range(20)]
    asked.append(1 - sum(asked))
    law, cost = {}, 10.0 * (order > 0)
    for x, y in product(range(order + 1), repeat=2):
        z = order - x - y
        if z < 0:
            continue
        p = (
            factorial(order)
            / factorial(x)
            / factorial(y)
            / factorial(z)
            * share[0] ** x
            * share[1] ** y
            * share[2] ** z
        )
        stock = x, min(20, two + y), min(20, one + z)
        for demand, q in enumerate(asked):
            left, missing = use(stock, demand)
            law[left[0], left[1]] = law.get((left[0], left[1]), 0.0) + p * q
            cost += p * q * (20 * missing + 5 * left[2] + sum(left))
    return law, cost


@pytest.mark.parametrize("sure_life", [True, pytest.param(False, marks=pytest.mark.long)])
def test_platelets_follow_the_rules(sure_life):
    mdp = platelets(10.0, sure_life)
    for day, two, one, order in ((0, 0, 0, 0), (2, 3, 19, 5), (6, 20, 1, 7), (4, 0, 2, 20)):
        law, cost = platelets_by_hand(day, two, one, order, sure_life)
        s = (day * 21 + two) * 21 + one
        found = mdp.transition_probabilities(s, order)
        expected = {((day + 1) % 7 * 21 + a) * 21 + b: p for (a, b), p in law.items() if p > 0}
        assert found == pytest.approx(expected)
        assert mdp.rewards[mdp.pairs.index(s, order)] == pytest.approx(-cost)


PUBLISHED = {  # Monday's orders, with 0 to 10 units for two days (by row) and 0 to 10 for one: figure 6.1, by panel
    "left": """14 13 12 11 11 11 11 10 0 0 0; 13 12 11 10 10 10 10 0 0 0 0; 12 11 10 10 9 9 0 0 0 0 0;
        11 10 9 8 8 0 0 0 0 0 0; 10 9 8 7 0 0 0 0 0 0 0; 9 8 7 0 0 0 0 0 0 0 0; 8 7 0 0 0 0 0 0 0 0 0;
        7 0 0 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0 0 0 0""",
    "middle": """12 11 10 9 8 7 7 6 5 4 3; 11 10 9 8 7 6 6 5 4 3 2; 10 9 8 7 6 5 5 4 3 2 0; 9 8 7 6 5 5 4 3 1 0 0;
        8 7 6 5 4 4 3 0 0 0 0; 7 6 5 4 3 2 0 0 0 0 0; 6 5 4 3 2 0 0 0 0 0 0; 5 5 3 1 0 0 0 0 0 0 0;
        4 3 1 0 0 0 0 0 0 0 0; 3 1 0 0 0 0 0 0 0 0 0; 1 0 0 0 0 0 0 0 0 0 0""",
    "right": """12 11 10 9 8 8 7 6 5 4 3; 11 10 9 8 7 7 6 5 4 3 2; 10 9 8 7 6 6 5 4 3 2 1; 9 8 7 6 5 5 4 3 2 1 0;
        8 7 6 5 5 4 3 2 1 0 0; 7 6 5 4 4 3 2 1 0 0 0; 6 5 4 4 3 2 1 0 0 0 0; 5 4 4 3 2 1 0 0 0 0 0;
        4 3 3 2 1 0 0 0 0 0 0; 3 3 2 1 0 0 0 0 0 0 0; 3 2 1 0 0 0 0 0 0 0 0""",
}


@pytest.mark.parametrize(
    ("panel", "fixed_cost", "sure_life"),
    [
        pytest.param("left", 10.0, False, marks=pytest.mark.long),
        pytest.param("middle", 0.0, False, marks=pytest.mark.long),
        ("right", 0.0, True),
    ],
)
def test_the_orders_of_platelets_are_those_published(panel, fixed_cost, sure_life):
    """Mirjalili (2022), figure 6.1: discount 0.95; the numbers behind the figure are those of viso_jax's tests."""
    policy = solve(platelets(fixed_cost, sure_life), discount=0.95).policy.reshape(7, 21, 21)
    published = [[int(order) for order in row.split()] for row in PUBLISHED[panel].split(";")]
    assert policy[0, :11, :11].tolist() == published
