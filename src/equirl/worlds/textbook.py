"""Examples of textbooks: Howard's (Dynamic Programming and Markov Processes, 1960), a cycle, Jack's car rental."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.pairs import MOST_STATES, Pairs
from equirl.model.reward_distributions import rescale_rewards
from equirl.model.rows import Rows, rows_from_triplets
from equirl.numerics.arrays import starts
from equirl.words.checking import between, whole_number
from equirl.worlds.rules import Distribution, Effects, StateTuple, mdp_from_rules

Alternative = tuple[Sequence[float], Sequence[float]]  # probabilities and rewards of the transitions to each state


def toymaker() -> TabularMDP:
    """Howard's toymaker: advertise while a toy sells, do research while it does not.

    In the state "success" he may "spend" on advertising, in "failure" on research, or "save" in either. His best policy
    spends on both, with a gain of 2 a week. Two states, four pairs and no two of them alike: there is nothing to pool.
    """
    return _howard(
        ("success", "failure"),
        [
            {"save": ((0.5, 0.5), (9, 3)), "spend": ((0.8, 0.2), (4, 4))},
            {"save": ((0.4, 0.6), (3, -7)), "spend": ((0.7, 0.3), (1, -19))},
        ],
    )


def taxicab() -> TabularMDP:
    """Howard's taxicab: in each of three towns cruise, drive to a stand, or wait for a call by radio.

    There is no radio in town B. The best policy drives to the stand in every town, with a gain of 13.34 a trip (the
    book's figure). Three states and eight pairs, which happen to have equal probabilities here and there (to cruise in
    A is to cruise in C, other towns aside); their rewards differ.
    """
    return _howard(
        ("A", "B", "C"),
        [
            {
                "cruise": ((1 / 2, 1 / 4, 1 / 4), (10, 4, 8)),
                "stand": ((1 / 16, 3 / 4, 3 / 16), (8, 2, 4)),
                "radio": ((1 / 4, 1 / 8, 5 / 8), (4, 6, 4)),
            },
            {
                "cruise": ((1 / 2, 0, 1 / 2), (14, 0, 18)),
                "stand": ((1 / 16, 7 / 8, 1 / 16), (8, 16, 8)),
            },
            {
                "cruise": ((1 / 4, 1 / 4, 1 / 2), (10, 2, 8)),
                "stand": ((1 / 8, 3 / 4, 1 / 8), (6, 4, 2)),
                "radio": ((3 / 4, 1 / 16, 3 / 16), (4, 0, 8)),
            },
        ],
    )


def _howard(names: Sequence[str], tables: Sequence[Mapping[str, Alternative]]) -> TabularMDP:
    """The MDP of Howard's tables: probabilities and rewards by transition, alternative by alternative."""

    def rule(state: StateTuple) -> Effects:
        choices: dict[str, tuple[Distribution, float]] = {}
        for name, (chances, pays) in tables[state[0]].items():
            distribution: Distribution = {(x,): p for x, p in enumerate(chances) if p}
            choices[name] = (distribution, float(sum(p * r for p, r in zip(chances, pays, strict=True))))
        return choices

    actions = list(dict.fromkeys(name for table in tables for name in table))
    states = [(k,) for k in range(len(names))]
    return mdp_from_rules(states, actions, rule, (0,), names=lambda state: names[state[0]])


GO, STAY = 0, 1


def cycle(n_states: int = 20, reward: float = 1.0, stay_reward: float = 0.0) -> TabularMDP:
    """A cycle: go leads to the next state, stay stays; going on from the last state pays.

    The optimal policy goes round, with period ``n_states`` and gain ``reward / n_states``. All pairs have the same
    transition probabilities up to the names of successors: one class, rewards aside.

    Parameters
    ----------
    n_states : int, default 20
        The length of the cycle, at least 2.
    reward : float, default 1
        What going on from the last state to the first pays.
    stay_reward : float, default 0
        What staying in the first state pays: above ``reward / n_states`` it is best to stay there.
    """
    n_states = whole_number("n_states", n_states, least=2, most=MOST_STATES)
    state = np.arange(n_states)
    pairs = Pairs.uniform(n_states, 2)
    succ = np.column_stack([(state + 1) % n_states, state]).ravel()
    rows = rows_from_triplets(pairs, np.arange(2 * n_states), succ, np.ones(2 * n_states))
    means = np.zeros((n_states, 2))
    means[-1, GO], means[0, STAY] = between("reward", reward), between("stay_reward", stay_reward)
    named = Pairs(pairs.ptr, pairs.action, action_names=("go", "stay"))
    return TabularMDP(named, rows, means.ravel(), np.eye(1, n_states)[0])


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
    are gone. Every state follows every pair, so memory is O(pairs * states), 22 MB by default. ``mdp.discount`` is the
    book's, 0.9.

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
