"""Jack's car rental against a solver written from the book's rules, in plain NumPy."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from equirl.interop.convert import to_quantecon
from equirl.solving.optimal_gain import solve
from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import make

# The optimal policy: cars moved to the second location, with 20 to 0 cars at the first and 0 to 20 at the second.
OPTIMAL = """
 5  5  5  5  4  4  3  3  3  3  2  2  2  2  2  1  1  1  0  0  0
 5  5  5  4  4  3  3  2  2  2  2  1  1  1  1  1  0  0  0  0  0
 5  5  5  4  3  3  2  2  1  1  1  1  0  0  0  0  0  0  0  0  0
 5  5  5  4  3  2  2  1  1  0  0  0  0  0  0  0  0  0  0  0  0
 5  5  5  4  3  2  1  1  0  0  0  0  0  0  0  0  0  0  0  0  0
 5  5  5  4  3  2  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 5  5  4  4  3  2  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 5  5  4  3  3  2  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 5  5  4  3  2  2  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 5  4  4  3  2  1  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 4  4  3  3  2  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 4  3  3  2  2  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 3  3  2  2  1  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 3  2  2  1  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 2  2  1  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 1  1  1  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0
 0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0 -1 -1
 0  0  0  0  0  0  0  0  0  0  0  0  0  0  0 -1 -1 -1 -1 -1 -2
 0  0  0  0  0  0  0  0  0  0  0 -1 -1 -1 -1 -1 -2 -2 -2 -2 -2
 0  0  0  0  0  0  0  0  0 -1 -1 -1 -2 -2 -2 -2 -2 -3 -3 -3 -3
 0  0  0  0  0  0  0  0 -1 -1 -2 -2 -2 -3 -3 -3 -3 -3 -4 -4 -4
"""
MOVES = range(-5, 6)
MOST_EVENTS = 60  # requests or returns a day: more have a probability below 1e-40


def poisson(mean, n):
    return math.exp(-mean) * mean**n / math.factorial(n)


def day_by_hand(n, requests, returns):
    """From cars in the morning: the law of cars in the evening, and the mean number rented; request by request."""
    law, rented = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    for morning in range(n + 1):
        for asked in range(MOST_EVENTS):
            given = min(morning, asked)
            rented[morning] += poisson(requests, asked) * given
            for back in range(MOST_EVENTS):
                law[morning, min(n, morning - given + back)] += poisson(requests, asked) * poisson(returns, back)
    return law, rented


def rental_by_hand(n, discount=0.9):
    """Values and moves, (n + 1, n + 1) each, by policy iteration from "move none", and how often it improved."""
    first, second = day_by_hand(n, 3, 3), day_by_hand(n, 4, 2)
    states = list(itertools.product(range(n + 1), range(n + 1)))

    def pay_and_law(i, j, a):
        x, y = min(n, i - a), min(n, j + a)
        return 10 * (first[1][x] + second[1][y]) - 2 * abs(a), np.outer(first[0][x], second[0][y]).ravel()

    model = {(i, j): {a: pay_and_law(i, j, a) for a in MOVES if a <= i and -a <= j} for i, j in states}
    policy = dict.fromkeys(states, 0)
    improvements = 0
    while True:
        pay, law = (np.array(part) for part in zip(*(model[s][policy[s]] for s in states), strict=True))
        v = np.linalg.solve(np.eye(len(states)) - discount * law, pay)
        worth = {s: {a: pay + discount * law @ v for a, (pay, law) in model[s].items()} for s in states}
        best = {s: max(worth[s], key=worth[s].__getitem__) for s in states}
        if all(worth[s][best[s]] <= worth[s][policy[s]] + 1e-9 for s in states):
            moves = np.array([policy[s] for s in states])
            return v.reshape(n + 1, n + 1), moves.reshape(n + 1, n + 1), improvements
        policy, improvements = best, improvements + 1


def rental(n):
    """Values in the book's units and moves, (n + 1, n + 1) each."""
    mdp = make("car-rental", max_cars=n)
    best = solve(mdp, accuracy=1e-11, discount=mdp.discount)
    moves = [int(mdp.pairs.action_names[a]) for a in best.policy]
    return best.value.reshape(n + 1, n + 1), np.reshape(moves, (n + 1, n + 1))


@pytest.mark.parametrize("n", [1, 4, 7])
def test_a_small_rental_is_that_of_the_books_rules(n):
    value, moves = rental(n)
    by_hand = rental_by_hand(n)
    np.testing.assert_allclose(value, by_hand[0], rtol=0, atol=1e-8)
    assert moves.tolist() == by_hand[1].tolist()


def test_the_rental_of_the_book_has_its_policy_after_four_improvements():
    value, moves = rental(20)
    by_hand = rental_by_hand(20)
    written_out = np.array(OPTIMAL.split(), int).reshape(21, 21)[::-1]
    np.testing.assert_allclose(value, by_hand[0], rtol=0, atol=1e-8)
    assert moves.tolist() == by_hand[1].tolist() == written_out.tolist()
    assert by_hand[2] == 4  # as in figure 4.2, from "move none"
    assert (moves[20, 0], moves[0, 20], moves[0, 0], moves[20, 20]) == (5, -4, 0, 0)
    assert (value[0, 0], value[20, 20]) == pytest.approx((421.41406, 636.98961), abs=1e-5)
    assert (value.min(), value.max()) == (value[0, 0], value[20, 20])


def test_quantecon_finds_the_same_values_in_the_rental():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("quantecon")
        mdp = make("car-rental")
        ddp = to_quantecon(mdp)
        theirs = ddp.solve(method="policy_iteration").v
    assert ddp.beta == 0.9
    ours = solve(mdp, accuracy=1e-10, discount=0.9).value
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)


def test_no_more_cars_are_moved_than_there_are():
    mdp = make("car-rental", max_cars=6)
    assert mdp.pairs.allowed(mdp.pairs.state_number("2,1")) == "'-1', '0', '+1', '+2'"
    assert mdp.pairs.allowed(mdp.pairs.state_number("6,6")).count(",") == 10


def test_cars_beyond_the_most_are_gone_in_the_morning():
    mdp = make("car-rental", max_cars=4)
    assert mdp.transition_probabilities("2,4", "+2") == mdp.transition_probabilities("0,4", "0")


def test_what_follows_depends_on_the_cars_of_the_morning_alone():
    mdp = make("car-rental", max_cars=5)
    assert (
        mdp.transition_probabilities("3,1", "+2")
        == mdp.transition_probabilities("1,3", "0")
        == mdp.transition_probabilities("0,4", "-1")
    )
    assert equivalence_classes(mdp, rewards=False).n_classes == 36


def test_the_rewards_of_the_rental_are_those_of_a_day_on_average():
    mdp = make("car-rental", max_cars=1, rental=7, move_cost=0.5, requests_1=2.0)
    one_car = 7 * (1 - math.exp(-2)) + 0  # with one car at the first location and none at the second
    assert mdp.mean_reward("1,0", "0") == pytest.approx(one_car)
    assert mdp.mean_reward("1,0", "+1") == pytest.approx(7 * (1 - math.exp(-4)) - 0.5)


def test_a_rental_without_requests_or_returns_keeps_its_cars():
    mdp = make("car-rental", max_cars=3, requests_1=0, requests_2=0, returns_1=0, returns_2=0)
    assert mdp.transition_probabilities("2,1", "0") == {"2,1": 1.0}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_cars": 0}, "max_cars must be at least 1"),
        ({"max_move": 2.5}, "max_move must be an integer"),
        ({"requests_1": -1}, "requests_1 must be between 0 and"),
        ({"returns_2": "many"}, "returns_2 must be a number"),
    ],
)
def test_a_wrong_rental_is_refused(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make("car-rental", **params)
