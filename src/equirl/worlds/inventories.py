"""Inventories: how much to order now for a demand that comes later. Rewards are costs with a minus."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, choice, inside, whole_number
from equirl.worlds.rules import Effects, StateTuple, check_size, mdp_from_rules

MOST_MEAN = 1e6


class Demand(NamedTuple):
    """The distribution of a demand D."""

    above: np.ndarray  # (n,) P(D > k) for k = 0, ..., n - 1, n the largest stock asked for
    mean: float  # E D

    def sales(self, stock: int) -> list[float]:
        """The probabilities of selling 0, 1, ..., ``stock``."""
        at_least = np.concatenate([[1.0], self.above[:stock], [0.0]])
        return (at_least[:-1] - at_least[1:]).tolist()

    def lost(self, stock: int) -> float:
        """The demand that is lost on average, E max(D - stock, 0)."""
        return self.mean - float(self.above[:stock].sum())


def poisson_demand(mean: float, most: int) -> Demand:
    from scipy.stats import poisson

    return Demand(poisson.sf(np.arange(most), inside("mean", mean, 0, MOST_MEAN)), mean)


def geometric_demand(mean: float, most: int) -> Demand:
    """Geometric demand from 0 on, P(D > k) = (mean / (1 + mean))^(k + 1)."""
    more = inside("mean", mean, 0, MOST_MEAN) / (1 + mean)
    return Demand(more ** (np.arange(most) + 1.0), mean)


def gamma_demand(mean: float, variation: float, most: int) -> Demand:
    """Gamma demand rounded to the nearest whole number; ``variation`` is its standard deviation over its mean."""
    from scipy.stats import gamma

    shape = inside("variation", variation, 0, 10) ** -2
    distribution = gamma(shape, scale=inside("mean", mean, 0, 1000) / shape)
    above = distribution.sf(np.arange(max(most, int(distribution.isf(1e-18)) + 2)) + 0.5)
    return Demand(above[:most], float(above.sum()))


DEMANDS = {"poisson": poisson_demand, "geometric": geometric_demand}
ISSUES = ("fifo", "lifo")
MOST = 1e6  # of a cost


def lost_sales(
    lead_time: int = 2,
    demand: str = "poisson",
    mean: float = 5.0,
    holding: float = 1.0,
    penalty: float = 4.0,
    max_stock: int = 20,
    max_order: int = 6,
) -> TabularMDP:
    """Lost sales with a lead time (Zipkin 2008): order now what arrives ``lead_time`` periods later.

    A state is the stock on hand and what is due in 1, ..., ``lead_time`` - 1 periods, named "hand,due,..."; the first
    has nothing. What is on hand and on order never exceeds ``max_stock``, so there is always room for what arrives.
    Demand beyond the stock is lost. A period costs ``holding`` for a unit left over and ``penalty`` for one lost.

    Demand meets the stock on hand and knows nothing of orders: what a pair costs, and with which probabilities how much
    is sold, depends on the stock on hand alone. So there are ``max_stock + 1`` classes, with rewards as without; what
    is due and what is ordered only says where the outcomes lead.

    With Poisson demand of mean 5, lead time 2 and a penalty of 4 the optimal cost is 4.40 a period, as published by
    Zipkin; that needs no more than the default room. Other published values are in the tests.

    Parameters
    ----------
    lead_time : int, default 2
        Periods from an order to its arrival.
    demand : {"poisson", "geometric"}
        The kind of demand.
    mean : float, default 5
        Mean demand a period.
    holding : float, default 1
        What a unit left over costs.
    penalty : float, default 4
        What a unit lost costs.
    max_stock : int, default 20
        The most on hand and on order together.
    max_order : int, default 6
        The most ordered at once.
    """
    lead_time, room = whole_number("lead_time", lead_time), whole_number("max_stock", max_stock)
    most = whole_number("max_order", max_order, most=room)
    n_states = min(comb(room + lead_time, lead_time), (room + 1) * (most + 1) ** (lead_time - 1))  # at most
    check_size(n_states, "lead_time, max_stock or max_order")
    distribution = DEMANDS[choice("demand", demand, DEMANDS)](mean, room)
    holding, penalty = between("holding", holding, 0, MOST), between("penalty", penalty, 0, MOST)

    def rule(state: StateTuple) -> Effects:
        hand, *due = state
        left = [(hand - sold, p) for sold, p in enumerate(distribution.sales(hand))]
        cost = holding * sum(rest * p for rest, p in left) + penalty * distribution.lost(hand)
        choices = {}
        for order in range(min(most, room - sum(state)) + 1):
            arrives, *later = *due, order
            choices[str(order)] = ({(rest + arrives, *later): p for rest, p in left}, -cost)
        return choices

    tables = product(range(room + 1), *[range(most + 1)] * (lead_time - 1))
    states = [state for state in tables if sum(state) <= room]
    return mdp_from_rules(states, [str(order) for order in range(most + 1)], rule, (0,) * lead_time)


def perishable(
    life: int = 2,
    issue: str = "fifo",
    mean: float = 4.0,
    variation: float = 0.5,
    max_order: int = 10,
    order_cost: float = 3.0,
    lost_cost: float = 5.0,
    waste_cost: float = 7.0,
    hold_cost: float = 1.0,
) -> TabularMDP:
    """Perishable stock (De Moor, Gijsbrechts and Boute 2022): what is not sold in ``life`` periods is thrown away.

    A state is how many units can still be sold for 1, 2, ..., ``life`` periods, named "oldest,...,newest"; the first
    has none. An action is how many to order; they arrive before the next period. Demand is gamma, rounded; it takes the
    oldest units first (``issue="fifo"``) or the newest (``"lifo"``), and is lost where there are none.

    What is left depends on the stock and not on the order, which only says where the outcomes lead: one class of
    transition probabilities for all orders of a state (and with ``lifo`` and ``life=2`` for all amounts of old stock).
    Orders cost, so together with rewards hardly two pairs are alike.

    With the defaults, a discount of 0.99 and either issue the optimal policy is the one that the authors publish
    (their figure 3).

    Parameters
    ----------
    life : int, default 2
        Periods in which a unit can be sold.
    issue : {"fifo", "lifo"}
        Whether the oldest or the newest units are sold first.
    mean : float, default 4
        Mean demand a period, before it is rounded.
    variation : float, default 0.5
        Its standard deviation divided by its mean.
    max_order : int, default 10
        The most ordered at once.
    order_cost, lost_cost, waste_cost, hold_cost : float, default 3, 5, 7 and 1
        What a unit costs that is ordered, asked for in vain, thrown away, kept for the next period.
    """
    life, most = whole_number("life", life), whole_number("max_order", max_order)
    check_size((most + 1) ** life, "life or max_order")
    newest_first = choice("issue", issue, ISSUES) == "lifo"
    distribution = gamma_demand(mean, variation, life * most)
    ordered, lost = between("order_cost", order_cost, 0, MOST), between("lost_cost", lost_cost, 0, MOST)
    wasted, held = between("waste_cost", waste_cost, 0, MOST), between("hold_cost", hold_cost, 0, MOST)

    def rule(state: StateTuple) -> Effects:
        after: dict[StateTuple, float] = {}
        cost = lost * distribution.lost(sum(state))
        for sold, p in enumerate(distribution.sales(sum(state))):
            old, *kept = _left(state, sold, newest_first)
            after[tuple(kept)] = after.get(tuple(kept), 0.0) + p
            cost += p * (wasted * old + held * sum(kept))
        return {
            str(order): ({(*kept, order): p for kept, p in after.items()}, -cost - ordered * order)
            for order in range(most + 1)
        }

    states = product(range(most + 1), repeat=life)
    return mdp_from_rules(states, [str(order) for order in range(most + 1)], rule, (0,) * life)


def _left(stock: StateTuple, sold: int, newest_first: bool) -> StateTuple:
    """What is left of each age after ``sold`` units are sold."""
    left = list(stock)
    for age in reversed(range(len(left))) if newest_first else range(len(left)):
        taken = min(left[age], sold)
        left[age], sold = left[age] - taken, sold - taken
    return tuple(left)
