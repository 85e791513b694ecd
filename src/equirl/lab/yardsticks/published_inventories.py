"""Inventories with published answers: perishable goods of one and of two products, and platelets.

What is sold depends on the stock and not on the order, which only says what arrives.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.stats import binom, multinomial, nbinom, poisson

from equirl.model import TabularMDP
from equirl.numerics.arrays import starts

MOST_ORDERED = 8  # Hendrix allows more, which is never worth it


def perishable(life: int, mean: float = 5.0, cost: float = 0.5, price: float = 1.0) -> TabularMDP:
    """Stock by age, the oldest sold first; Poisson demand; an order arrives before the next period."""
    side = MOST_ORDERED + 1
    stock = np.indices((side,) * life).reshape(life, -1).T  # by state, the oldest first
    n, total = len(stock), stock.sum(axis=1)
    orders, weights = np.arange(side), side ** np.arange(life - 1, -1, -1)
    pair = np.arange(n * side).reshape(n, side)
    chance, owner, succ = [], [], []
    for sold in range(life * MOST_ORDERED + 1):
        there = np.flatnonzero(total >= sold)
        p = np.where(total[there] == sold, poisson.sf(sold - 1, mean), poisson.pmf(sold, mean))
        left = np.maximum(0, np.minimum(stock[there], np.cumsum(stock[there], axis=1) - sold))
        after = (left[:, 1:] @ weights[:-1])[:, None] + orders
        chance.append(np.repeat(p, side))
        owner.append(pair[there].ravel())
        succ.append(after.ravel())
    laws = csr_array((np.concatenate(chance), (np.concatenate(owner), np.concatenate(succ))), shape=(n * side, n))
    demand = np.arange(life * MOST_ORDERED)
    sales = (poisson.sf(demand, mean) * (demand < total[:, None])).sum(axis=1)
    return TabularMDP.from_rows(laws, (price * sales[:, None] - cost * orders).ravel(), side, rescale=True)


LARGEST_DEMAND = 80  # in a period; more has no probability that a float can show


def two_products(mean_a: float, mean_b: float, most_a: int, most_b: int, substitution: float = 0.5) -> TabularMDP:
    """Two products A and B that last two periods, (old A, new A, old B, new B); price 1, cost 0.5.

    Whoever finds no B asks for an A with a probability. Orders arrive before the next period.
    """
    side_a, side_b = most_a + 1, most_b + 1
    order_a, order_b = np.divmod(np.arange(side_a * side_b), side_b)
    demand = np.arange(LARGEST_DEMAND + 1)
    asked_a, asked_b = poisson.pmf(demand, mean_a), poisson.pmf(demand, mean_b)
    turning = binom.pmf(demand, demand[:, None], substitution)  # to A, by how many find no B
    both = [np.convolve(asked_a, asked_b[y:] @ turning[: len(demand) - y]) for y in range(2 * most_b + 1)]
    chance, sizes, succ, sales = [], [], [], []
    for old_a, new_a, old_b, new_b in np.ndindex(side_a, side_a, side_b, side_b):
        x, y = old_a + new_a, old_b + new_b
        sold = np.vstack([asked_b[:y, None] * _up_to(x, asked_a), _up_to(x, both[y])])  # by B, then A
        rest = np.zeros((new_b + 1, new_a + 1))  # of what can be sold once more
        places = np.minimum(new_b, np.arange(y, -1, -1)), np.minimum(new_a, np.arange(x, -1, -1))
        np.add.at(rest, np.ix_(*places), sold)
        left_b, left_a = (left.ravel() for left in np.indices(rest.shape))
        after = ((left_a * side_a + order_a[:, None]) * side_b + left_b) * side_b + order_b[:, None]
        chance.append(np.tile(rest.ravel(), len(order_a)))
        sizes.append(rest.size)
        succ.append(after.ravel())
        sales.append(np.arange(y + 1) @ sold.sum(axis=1) + sold.sum(axis=0) @ np.arange(x + 1))
    ptr = starts(np.repeat(sizes, len(order_a)))
    rewards = np.array(sales)[:, None] - 0.5 * (order_a + order_b)
    rows = (ptr, np.concatenate(succ), np.concatenate(chance))
    return TabularMDP.from_rows(rows, rewards.ravel(), len(order_a), rescale=True)


def _up_to(stock: int, asked: np.ndarray) -> np.ndarray:
    """The probabilities of selling 0, ..., ``stock``."""
    return np.append(asked[:stock], asked[stock:].sum())


SHAPE = (3.497361, 10.985837, 7.183407, 11.064622, 5.930222, 5.473242, 2.193797)  # of demand, from Monday
MEAN = (5.660569, 6.922555, 6.504332, 6.165049, 5.816060, 3.326408, 3.426814)
SIDE = 21  # stock of one age, an order and the demand of a day are 0, ..., 20


def platelets(fixed_cost: float, sure_life: bool = False) -> TabularMDP:
    """Platelets of a hospital: (weekday, units for two days, units for one day); an order arrives at once.

    A unit that arrives lasts one to three days, by chances that depend on the size of the order, or three for sure.
    The oldest are used first. A unit missing costs 20, one that expires 5, one held overnight 1.
    """
    delivery = _delivery(sure_life)
    fresh, two, one = np.indices((SIDE,) * 3).reshape(3, -1, 1)  # stock after delivery
    asked = np.arange(SIDE)
    left_one = np.maximum(0, one - asked)
    left_two = np.clip(one + two - asked, 0, two)
    left_fresh = np.clip(one + two + fresh - asked, 0, fresh)
    missing = np.maximum(0, asked - one - two - fresh)
    cost = 20 * missing + 5 * left_one + left_one + left_two + left_fresh
    laws, costs = [], []
    for day, (shape, mean) in enumerate(zip(SHAPE, MEAN, strict=True)):
        chance = nbinom.pmf(asked, shape, shape / (shape + mean))
        chance[-1] += 1.0 - chance.sum()
        after = (day + 1) % len(MEAN) * SIDE**2 + left_fresh * SIDE + left_two
        used = csr_array(
            (np.tile(chance, len(one)), after.ravel(), np.arange(len(one) + 1) * SIDE), (len(one), len(MEAN) * SIDE**2)
        )
        laws.append(delivery @ used)
        costs.append(delivery @ (cost @ chance))
    ordered = fixed_cost * (np.arange(SIDE) > 0)
    rewards = -np.concatenate(costs).reshape(-1, SIDE) - ordered
    return TabularMDP.from_rows(vstack(laws), rewards.ravel(), SIDE, rescale=True)


def _delivery(sure_life: bool) -> csr_array:
    """From stock (two days, one day) and order, row by row, to stock after delivery (three, two, one days)."""
    row, column, chance = [], [], []
    stock = np.indices((SIDE, SIDE)).reshape(2, -1)
    for order in range(SIDE):
        weight = np.exp([0.5 + 0.8 * order, 1.0 + 0.4 * order, 0.0]) * ([1, 0, 0] if sure_life else 1)
        for fresh, two in ((x, y) for x in range(order + 1) for y in range(order + 1 - x)):
            units = np.array([fresh, two, order - fresh - two])
            kept = np.minimum(stock + units[1:, None], SIDE - 1)  # what has no room is sent back
            column.append(fresh * SIDE**2 + kept[0] * SIDE + kept[1])
            row.append(np.arange(SIDE**2) * SIDE + order)
            chance.append(np.full(SIDE**2, multinomial.pmf(units, order, weight / weight.sum())))
    places = np.concatenate(row), np.concatenate(column)
    delivery = csr_array((np.concatenate(chance), places), (SIDE**3, SIDE**3))
    delivery.eliminate_zeros()
    return delivery
