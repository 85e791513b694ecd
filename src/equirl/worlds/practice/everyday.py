"""Everyday decisions: a battery and its prices, a lift, parking, jobs, treatment, rides, advertising."""

from __future__ import annotations

from itertools import product

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.rules import Distribution, Effects, StateTuple, joint_distribution, mdp_from_start, mixed, one_event


def battery(charge: int = 8, loss: float = 0.1) -> TabularMDP:
    """A battery at the power market, whose price wanders over four levels: buy, sell or wait; some charge is lost."""
    charge, loss = whole_number("charge", charge), between("loss", loss)
    prices = (1.0, 2.0, 3.5, 6.0)

    def rule(state: StateTuple) -> Effects:
        held, level = state
        moves = [(max(level - 1, 0), 0.25), (level, 0.5), (min(level + 1, 3), 0.25)]
        leaks = [(held, 1 - loss), (max(held - 1, 0), loss)]
        choices: dict[str, tuple[Distribution, float]] = {
            "wait": (mixed(((x, y), p * q) for x, p in leaks for y, q in moves), 0.0)
        }
        if held < charge:
            choices["buy"] = (mixed(((held + 1, y), q) for y, q in moves), -prices[level])
        if held:
            choices["sell"] = (mixed(((held - 1, y), q) for y, q in moves), prices[level])
        return choices

    return mdp_from_start(rule, (0, 1))


def lift(floors: int = 5, calls: float = 0.1) -> TabularMDP:
    """A lift: go up, go down or let people in; whoever waits on a floor costs until they are let in."""
    floors, calls = whole_number("floors", floors, least=2), between("calls", calls)

    def rule(state: StateTuple) -> Effects:
        at, *waits = state

        def follows(to: int, waiting: list[int]) -> Distribution:
            parts = {to: 1.0}, *({1: 1.0} if n else {0: 1 - calls, 1: calls} for n in waiting)
            return {x: p for x, p in joint_distribution(parts).items() if p > 0}

        cost = -float(sum(waits))
        served = [0 if floor == at else n for floor, n in enumerate(waits)]
        choices = {"open": (follows(at, served), cost)}
        if at + 1 < floors:
            choices["up"] = (follows(at + 1, waits), cost)
        if at:
            choices["down"] = (follows(at - 1, waits), cost)
        return choices

    return mdp_from_start(rule, (0,) * (floors + 1))


def thermostat(levels: int = 5, cold: float = 0.4) -> TabularMDP:
    """A room that cools down: heat or not; the middle temperature is the pleasant one, and heating costs."""
    levels, cold = whole_number("levels", levels, least=2), between("cold", cold)

    def rule(state: StateTuple) -> Effects:
        (warmth,) = state
        pleasant = 1 - abs(2 * warmth / (levels - 1) - 1)
        up, down = (min(warmth + 1, levels - 1),), (max(warmth - 1, 0),)
        return {
            "off": (one_event(state, [(down, cold)]), pleasant),
            "heat": (one_event(state, [(up, 0.7), (down, 0.1)]), pleasant - 0.3),
        }

    return mdp_from_start(rule, (0,))


def parking(places: int = 12, free: float = 0.25) -> TabularMDP:
    """A street with places on the way to a shop: park here, if it is free, or drive on; at the end a dear garage."""
    places, free = whole_number("places", places), between("free", free)
    garage = (0, 0)

    def rule(state: StateTuple) -> Effects:
        far, is_free = state
        arrives: Distribution = mixed([((places, 1), free), ((places, 0), 1 - free)])
        if state == garage:
            return {"garage": (arrives, -12.0)}
        chance = free * far / places  # fewer are free near the shop
        on: Distribution = mixed([((far - 1, 1), chance), ((far - 1, 0), 1 - chance)]) if far > 1 else {garage: 1.0}
        choices: dict[str, tuple[Distribution, float]] = {"on": (on, -0.2)}
        if is_free:
            choices["park"] = (arrives, -float(far))
        return choices

    return mdp_from_start(rule, (places, 0))


def job_search(wages: int = 9, found: float = 0.6, fired: float = 0.02) -> TabularMDP:
    """Offers of work, one at a time: take it, wait for another, or leave the work one has."""
    wages = whole_number("wages", wages, least=2)
    found, fired = between("found", found), between("fired", fired)
    none = (0, 0)

    def rule(state: StateTuple) -> Effects:
        wage, works = state
        searching = mixed([(none, 1 - found), *(((w, 0), found / wages) for w in range(1, wages + 1))])
        if works:
            return {"stay": (mixed([(state, 1 - fired), (none, fired)]), float(wage)), "leave": (searching, 0.0)}
        choices: dict[str, tuple[Distribution, float]] = {"search": (searching, 1.0)}
        if wage:
            choices["take"] = ({(wage, 1): 1.0}, float(wage))
        return choices

    return mdp_from_start(rule, none)


def treatment(stages: int = 5) -> TabularMDP:
    """An illness and the side effects of its drug: no dose, a mild or a strong one; effects wear off slowly."""
    stages = whole_number("stages", stages, least=2)
    doses = {"none": (0.1, 0.35, 0.0), "mild": (0.4, 0.15, 0.25), "strong": (0.75, 0.05, 0.7)}

    def rule(state: StateTuple) -> Effects:
        ill, effect = state
        choices = {}
        for name, (better, worse, harm) in doses.items():
            course = [(max(ill - 1, 0), better), (min(ill + 1, stages), worse), (ill, 1 - better - worse)]
            harmed = [(min(effect + 1, 2), harm), (max(effect - 1, 0), (1 - harm) * 0.4), (effect, (1 - harm) * 0.6)]
            distribution = mixed(((x, y), p * q) for x, p in course for y, q in harmed)
            choices[name] = (distribution, 10 - 1.5 * ill - 2.0 * effect**2 - 0.5 * (name == "strong"))
        return choices

    return mdp_from_start(rule, (0, 0))


def rides(zones: int = 6) -> TabularMDP:
    """A driver in a ring of zones: take the ride on offer, wait for another, or drive on empty."""
    zones = whole_number("zones", zones, least=3)
    wanted = [1 + (3 if zone == 0 else 0) for zone in range(zones)]  # the first zone is the centre

    def rule(state: StateTuple) -> Effects:
        at, to = state
        ring = min((to - at) % zones, (at - to) % zones)
        pay = 2.0 + 3 * ring if at == 0 else 1.0 + 2 * ring

        def offers(zone: int) -> Distribution:
            return {(zone, x): wanted[x] / sum(wanted) for x in range(zones)}

        return {
            "take": (offers(to), pay - 1.5 * ring),
            "wait": (offers(at), 0.0),
            "on": (offers((at + 1) % zones), -0.5),
        }

    return mdp_from_start(rule, (0, 0))


def advertising(levels: int = 9) -> TabularMDP:
    """How well known a product is, and what to spend on it; it is forgotten by itself and sells by its fame."""
    levels = whole_number("levels", levels)
    spends = {"0": (0.02, 0.0), "1": (0.25, 1.0), "2": (0.4, 2.0), "4": (0.6, 4.0)}

    def rule(state: StateTuple) -> Effects:
        (fame,) = state
        sales = 9 * (fame / levels) ** 0.7
        up, down = (min(fame + 1, levels),), (max(fame - 1, 0),)
        return {
            name: (one_event(state, [(up, p), (down, 0.3 * (1 - p))]), sales - cost)
            for name, (p, cost) in spends.items()
        }

    return mdp_from_start(rule, (0,))


def lights(most: int = 5) -> TabularMDP:
    """Traffic lights at a crossing: keep the green or change it, which takes a step; cars come from two sides."""
    most = whole_number("most", most)
    comes = (0.35, 0.2)

    def rule(state: StateTuple) -> Effects:
        *cars, green = state
        choices = {}
        for name, side, flows in (("keep", green, True), ("change", 1 - green, False)):
            outcomes = []
            for new in product((0, 1), repeat=2):
                p = 1.0
                for come, chance in zip(new, comes, strict=True):
                    p *= chance if come else 1 - chance
                left = [max(n - (flows and k == green), 0) for k, n in enumerate(cars)]
                outcomes.append(((*(min(n + come, most) for n, come in zip(left, new, strict=True)), side), p))
            choices[name] = (mixed(outcomes), -float(sum(cars)))
        return choices

    return mdp_from_start(rule, (0, 0, 0))
