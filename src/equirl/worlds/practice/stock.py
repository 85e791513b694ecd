"""Stock: what to order, make or sell, before the demand is known."""

from __future__ import annotations

from itertools import product

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, inside, whole_number
from equirl.worlds.inventories import MOST_MEAN, poisson_demand
from equirl.worlds.rules import Distribution, Effects, StateTuple, joint_distribution, mdp_from_start, mixed, one_event


def corner_shop(shelf: int = 20, mean: float = 6.0, max_order: int = 10) -> TabularMDP:
    """A shop that orders overnight for a day of Poisson demand: sales pay 4, goods cost 2, those kept 0.1, a trip 3."""
    shelf, max_order = whole_number("shelf", shelf), whole_number("max_order", max_order)
    demand = poisson_demand(mean, shelf)

    def rule(state: StateTuple) -> Effects:
        choices = {}
        for order in range(min(max_order, shelf - state[0]) + 1):
            stock = state[0] + order
            sales = demand.sales(stock)
            sold = sum(k * p for k, p in enumerate(sales))
            pay = 4 * sold - 2 * order - 0.1 * (stock - sold) - 3 * (order > 0)
            choices[str(order)] = (mixed(((stock - k,), p) for k, p in enumerate(sales)), pay)
        return choices

    return mdp_from_start(rule, (0,))


def slow_supplier(shelf: int = 8, mean: float = 1.5, max_order: int = 4) -> TabularMDP:
    """An order arrives two days later; demand that finds no stock is lost, and dear."""
    shelf, max_order = whole_number("shelf", shelf), whole_number("max_order", max_order)
    demand = poisson_demand(mean, shelf)

    def rule(state: StateTuple) -> Effects:
        hand, due = state
        sales = demand.sales(hand)
        left = [(min(hand - k + due, shelf), p) for k, p in enumerate(sales)]
        cost = 0.4 * hand + 5 * demand.lost(hand)
        return {str(n): (mixed(((x, n), p) for x, p in left), -cost - 0.5 * n) for n in range(max_order + 1)}

    return mdp_from_start(rule, (0, 0))


def milk(max_order: int = 5, mean: float = 2.5) -> TabularMDP:
    """Milk keeps two days and the old is sold first: order for tomorrow; what is not sold is poured away."""
    max_order = whole_number("max_order", max_order)
    demand = poisson_demand(mean, 2 * max_order)

    def rule(state: StateTuple) -> Effects:
        old, new = state
        kept, pay = [], 0.0
        for sold, p in enumerate(demand.sales(old + new)):
            wasted = max(old - sold, 0)
            kept.append((new - max(sold - old, 0), p))
            pay += p * (3 * sold - wasted)
        return {str(n): (mixed(((x, n), p) for x, p in kept), pay - 1.2 * n) for n in range(max_order + 1)}

    return mdp_from_start(rule, (0, 0))


def two_products(shelf: int = 5, trip: float = 4.0) -> TabularMDP:
    """Two products from one supplier, whose van costs the same for one as for both: which shelves to fill up."""
    shelf, trip = whole_number("shelf", shelf), between("trip", trip, 0, 1e6)
    demands = [poisson_demand(mean, shelf) for mean in (1.0, 0.6)]
    fills = {"none": (False, False), "first": (True, False), "second": (False, True), "both": (True, True)}

    def rule(state: StateTuple) -> Effects:
        choices = {}
        for name, filled in fills.items():
            morning = [shelf if full else n for n, full in zip(state, filled, strict=True)]
            sales = [demand.sales(n) for demand, n in zip(demands, morning, strict=True)]
            parts = [{n - k: p for k, p in enumerate(own)} for n, own in zip(morning, sales, strict=True)]
            sold = sum(k * p for own in sales for k, p in enumerate(own))
            choices[name] = (joint_distribution(parts), 3 * sold - 0.2 * sum(morning) - trip * any(filled))
        return choices

    return mdp_from_start(rule, (shelf, shelf))


def workshop(backlog: int = 10) -> TabularMDP:
    """Made to order: accept or decline the job at the door, of one to three days; late work is penalised."""
    backlog = whole_number("backlog", backlog, least=3)
    jobs = {0: 0.4, 1: 0.3, 2: 0.2, 3: 0.1}  # days of work, 0: nobody at the door
    pays = (0.0, 2.0, 3.5, 7.0)

    def rule(state: StateTuple) -> Effects:
        load, job = state
        choices = {}
        for name, size in (("decline", 0), ("accept", job)):
            if load + size <= backlog and (size or name == "decline"):
                after = load + size
                distribution: Distribution = {(max(after - 1, 0), new): p for new, p in jobs.items()}
                choices[name] = (distribution, pays[size] - 0.15 * max(after - 4, 0) ** 2)
        return choices

    return mdp_from_start(rule, (0, 0))


def spare_parts(parts: int = 3, failure: float = 0.12, repair: float = 0.05) -> TabularMDP:
    """Spares for a plant: buy, scrap or wait; a failure without a spare is rare and stops the plant at a great cost."""
    parts, failure, repair = whole_number("parts", parts), between("failure", failure), between("repair", repair)

    def rule(state: StateTuple) -> Effects:
        spares, away, stopped = state
        back = [((spares + 1, away - 1, stopped), min(1.0, repair * away))] if away else []
        if stopped:
            return {
                "rush": ({(spares, away - 1, 0): 1.0}, -60.0),
                "wait": (one_event(state, [((spares, away - 1, 0), min(1.0, repair * away))]), -25.0),
            }
        fails = ((spares - 1, away + 1, 0) if spares else (0, away + 1, 1), failure)
        choices = {"wait": (one_event(state, [*back, fails]), 1 - 0.4 * spares)}
        if spares + away < parts:
            choices["buy"] = ({(spares + 1, away, 0): 1.0}, -8 - 0.4 * spares)
        if spares:
            choices["scrap"] = ({(spares - 1, away, 0): 1.0}, 2 - 0.4 * spares)
        return choices

    return mdp_from_start(rule, (2, 0, 0))


def season(days: int = 10, seats: int = 7) -> TabularMDP:
    """Seats for a flight: a price every day until it leaves, then the next flight; the later, the dearer they sell."""
    days, seats = whole_number("days", days), whole_number("seats", seats)
    prices = {"60": 60.0, "90": 90.0, "130": 130.0, "200": 200.0}

    def rule(state: StateTuple) -> Effects:
        left, free = state
        after = (left - 1, free) if left > 1 else (days, seats)
        sold = (left - 1, free - 1) if left > 1 else (days, seats)
        if not free:
            return {"full": ({after: 1.0}, 0.0)}
        patience = 60 + 80 * (days - left) / days  # early customers look for a bargain
        chance = {name: min(0.95, 0.95 * 2 ** (-(price - 60) / patience)) for name, price in prices.items()}
        return {
            name: (mixed([(sold, chance[name]), (after, 1 - chance[name])]), price * chance[name])
            for name, price in prices.items()
        }

    return mdp_from_start(rule, (days, seats))


def two_depots(capacity: int = 4, mean: float = 0.9) -> TabularMDP:
    """Two depots, one of which has a supplier: supply it, move goods over to the other, both or nothing."""
    capacity, mean = whole_number("capacity", capacity), inside("mean", mean, 0, MOST_MEAN)
    demand = poisson_demand(mean, capacity)

    def rule(state: StateTuple) -> Effects:
        choices = {}
        for supplied, moved in product((False, True), repeat=2):
            near, far = state
            over = min(2, near, capacity - far) if moved else 0
            near, far = near - over, far + over
            near += min(2, capacity - near) if supplied else 0
            sales = [demand.sales(n) for n in (near, far)]
            parts = [{n - k: p for k, p in enumerate(own)} for n, own in zip((near, far), sales, strict=True)]
            sold = [sum(k * p for k, p in enumerate(own)) for own in sales]
            name = "+".join([*["supply"] * supplied, *["move"] * moved]) or "none"
            pay = 3 * sold[0] + 4 * sold[1] - 1.5 * supplied - 1.0 * moved - 0.1 * (near + far)
            choices[name] = (joint_distribution(parts), pay)
        return choices

    return mdp_from_start(rule, (capacity, capacity))
