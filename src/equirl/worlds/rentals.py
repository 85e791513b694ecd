"""Rentals: cars at two locations, moved overnight to where they will be asked for."""

from __future__ import annotations

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs
from equirl.model.reward_laws import rescale_rewards
from equirl.model.transition_rows import Rows
from equirl.numerics.arrays import starts
from equirl.words.checking import between, whole_number

DISCOUNT = 0.9  # of the book
MOST = 1e6  # of a rate or a price


def car_rental(
    max_cars: int = 20,
    max_move: int = 5,
    requests_1: float = 3.0,
    requests_2: float = 4.0,
    returns_1: float = 3.0,
    returns_2: float = 2.0,
    rental: float = 10.0,
    move_cost: float = 2.0,
) -> TabularMDP:
    """Jack's car rental (Sutton and Barto, example 4.2): how many cars to move overnight between two locations.

    A state is how many cars are at each location in the evening, named "first,second"; the first state has half of
    ``max_cars`` at each. An action is how many cars go from the first location to the second, named "-5" to "+5"; no
    more can go than are there. In the morning cars beyond ``max_cars`` are gone. Requests by day are Poisson and met
    while cars last; cars returned by day, Poisson as well, can be rented the next day; again those beyond ``max_cars``
    are gone. Every state follows every pair, so memory is O(pairs * states), 22 MB by default.

    What follows depends on how many cars are at each location in the morning alone: (max_cars + 1)^2 classes of
    transition probabilities at most, for about ten times as many pairs.

    Parameters
    ----------
    max_cars : int, default 20
        The most cars at one location.
    max_move : int, default 5
        The most cars moved in one night.
    requests_1, requests_2 : float, default 3 and 4
        Mean requests a day at each location.
    returns_1, returns_2 : float, default 3 and 2
        Mean returns a day at each location.
    rental : float, default 10
        What a rented car pays.
    move_cost : float, default 2
        What moving a car costs.

    Returns
    -------
    TabularMDP
        With the mean rewards of a day, mapped to [0, 1]; ``mdp.reward_map`` leads back. ``mdp.discount`` is the book's,
        0.9.

    Examples
    --------
    >>> rental = car_rental(max_cars=4)
    >>> rental.n_states, rental.n_pairs, rental.pairs.allowed(rental.pairs.state_number("1,2"))
    (25, 125, "'-2', '-1', '0', '+1'")
    """
    n, most = whole_number("max_cars", max_cars), whole_number("max_move", max_move)
    law_1, rented_1 = _day(n, between("requests_1", requests_1, 0, MOST), between("returns_1", returns_1, 0, MOST))
    law_2, rented_2 = _day(n, between("requests_2", requests_2, 0, MOST), between("returns_2", returns_2, 0, MOST))
    rental, move_cost = between("rental", rental, 0, MOST), between("move_cost", move_cost, 0, MOST)

    every = np.indices((n + 1, n + 1, 2 * most + 1)).reshape(3, -1)
    every[2] -= most
    evening_1, evening_2, moved = every[:, (every[2] <= every[0]) & (-every[2] <= every[1])]  # (M,) each
    ptr = np.searchsorted(evening_1 * (n + 1) + evening_2, np.arange((n + 1) ** 2 + 1))
    names = tuple(f"{i},{j}" for i in range(n + 1) for j in range(n + 1))
    pairs = Pairs(ptr, moved + most, names, tuple(f"{a:+d}" if a else "0" for a in range(-most, most + 1)))

    morning_1, morning_2 = np.minimum(evening_1 - moved, n), np.minimum(evening_2 + moved, n)
    prob = (law_1[morning_1][:, :, None] * law_2[morning_2][:, None, :]).reshape(len(moved), -1)  # (M, S)
    pair, succ = np.nonzero(prob)  # by pair, then successor
    rows = Rows(starts(np.bincount(pair)), succ, prob[pair, succ])
    paid = rental * (rented_1[morning_1] + rented_2[morning_2]) - move_cost * np.abs(moved)
    means, reward_map = rescale_rewards(paid)
    initial = np.zeros(pairs.n_states)
    initial[pairs.state_number(f"{n // 2},{n // 2}")] = 1.0
    return TabularMDP(pairs, rows, means, initial, reward_map=reward_map, discount=DISCOUNT)


def _day(n: int, requests: float, returns: float) -> tuple[np.ndarray, np.ndarray]:
    """(n + 1, n + 1) from cars in the morning to cars in the evening, and (n + 1,) cars rented on average."""
    from scipy.stats import poisson

    cars = np.arange(n + 1)
    more = cars[None, :] - cars[:, None]  # [i, j] = j - i
    left = np.where(more <= 0, poisson.pmf(-more, requests), 0.0)
    left[:, 0] = poisson.sf(cars - 1, requests)  # as many requests as cars, or more
    back = np.where(more >= 0, poisson.pmf(more, returns), 0.0)
    back[:, n] = poisson.sf(n - cars - 1, returns)
    return left @ back, (left * -more).sum(axis=1)
