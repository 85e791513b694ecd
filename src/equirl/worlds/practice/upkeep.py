"""Upkeep and replacement: what wears out, when to repair it, what a failure costs."""

from __future__ import annotations

from itertools import product

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.practice.waiting_lines import binomial
from equirl.worlds.rules import Distribution, Effects, StateTuple, joint_distribution, mdp_from_start, mixed, one_event

MOST = 1e6  # of a cost


def lamp(oldest: int = 11, failure_cost: float = 20.0) -> TabularMDP:
    """A lamp by its age: keep or replace it; the older, the likelier it fails, which costs more than a new one."""
    oldest, failure_cost = whole_number("oldest", oldest), between("failure_cost", failure_cost, 0, MOST)

    def rule(state: StateTuple) -> Effects:
        (age,) = state
        fails = 0.02 + 0.04 * age
        keep = mixed([((0,), fails), ((min(age + 1, oldest),), 1 - fails)])
        return {"keep": (keep, -failure_cost * fails), "replace": ({(0,): 1.0}, -5.0)}

    return mdp_from_start(rule, (0,))


def gearbox(levels: int = 9, wear: float = 0.3) -> TabularMDP:
    """A gearbox whose wear is measured: run it, regrease it, which undoes a little, or overhaul it."""
    levels, wear = whole_number("levels", levels), between("wear", wear)

    def rule(state: StateTuple) -> Effects:
        (level,) = state
        earns = 10 - 0.12 * level**2
        worn = one_event(state, [((min(level + 1, levels),), wear), ((min(level + 3, levels),), 0.1 * wear)])
        eased = mixed([((max(level - 2, 0),), 0.7), (state, 0.3)])
        return {"run": (worn, earns), "regrease": (eased, earns - 4), "overhaul": ({(0,): 1.0}, -12.0)}

    return mdp_from_start(rule, (0,))


def two_parts(oldest: int = 5, call_out: float = 8.0) -> TabularMDP:
    """Two parts of one machine by their ages: once the crew is there for one, the other is cheap to replace too."""
    oldest, call_out = whole_number("oldest", oldest), between("call_out", call_out, 0, MOST)
    prices, hazards = (4.0, 6.0), (0.06, 0.04)

    def rule(state: StateTuple) -> Effects:
        choices = {}
        for new in product((False, True), repeat=2):
            ages = [0 if fresh else age for age, fresh in zip(state, new, strict=True)]
            fails = [hazard * age for hazard, age in zip(hazards, ages, strict=True)]
            parts = [mixed([((min(age + 1, oldest),), 1 - p), ((0,), p)]) for age, p in zip(ages, fails, strict=True)]
            cost = sum(price for price, fresh in zip(prices, new, strict=True) if fresh) + call_out * any(new)
            name = "".join(part for part, fresh in zip("ab", new, strict=True) if fresh) or "none"
            distribution = joint_distribution([{x: p for (x,), p in one.items()} for one in parts])
            choices[name] = (distribution, -cost - 40 * sum(fails))
        return choices

    return mdp_from_start(rule, (0, 0))


def boiler(levels: int = 6, blast: float = 0.001) -> TabularMDP:
    """A boiler: run it hot or gently, or clean it; scale makes a blast likelier, which is rare and costs very much."""
    levels, blast = whole_number("levels", levels), between("blast", blast)

    def rule(state: StateTuple) -> Effects:
        level, burst = state
        if burst:
            return {"rebuild": ({(0, 0): 1.0}, -400.0), "patch": ({(levels, 0): 1.0}, -250.0)}
        scaled, burst_at = (min(level + 1, levels), 0), (levels, 1)
        return {
            "hot": (one_event(state, [(scaled, 0.3), (burst_at, blast * (1 + level))]), 10.0 - level),
            "gently": (one_event(state, [(scaled, 0.1), (burst_at, blast * (1 + level) / 4)]), 5.0 - 0.5 * level),
            "clean": ({(0, 0): 1.0}, -3.0),
        }

    return mdp_from_start(rule, (0, 0))


def fleet(lorries: int = 8, breakdown: float = 0.15) -> TabularMDP:
    """A fleet of like lorries: how many to send to the garage today; those on the road break down now and then."""
    lorries, breakdown = whole_number("lorries", lorries), between("breakdown", breakdown)

    def rule(state: StateTuple) -> Effects:
        (running,) = state
        choices = {}
        broken = lorries - running
        for repaired in range(min(broken, 3) + 1):
            fails = binomial(running, breakdown)
            distribution = mixed(((running + repaired - k,), p) for k, p in enumerate(fails))
            choices[str(repaired)] = (distribution, 3.0 * min(running, 6) - (0, 2, 5, 12)[repaired])
        return choices

    return mdp_from_start(rule, (lorries,))


def pavement() -> TabularMDP:
    """A road in five conditions: leave it, patch it or lay it anew; drivers pay for a bad one."""
    worse = (0.2, 0.3, 0.35, 0.4, 0.0)
    drivers = (0.0, 1.0, 3.0, 7.0, 14.0)

    def rule(state: StateTuple) -> Effects:
        (condition,) = state
        left: Distribution = one_event(state, [((min(condition + 1, 4),), worse[condition])])
        patched = mixed([((max(condition - 1, 0),), 0.8), (state, 0.2)])
        cost = drivers[condition]
        return {"leave": (left, -cost), "patch": (patched, -cost - 4), "anew": ({(0,): 1.0}, -cost - 15)}

    return mdp_from_start(rule, (0,))
