"""Inner maxima, sweeps and plans of given sets of models are what they were (``same_plans.json``).

``python tests/planning/test_same_plans.py`` stores them anew.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.estimation.pooling import Spare
from equirl.model.rows import Rows
from equirl.planning import optimistic_planning
from equirl.planning.exact_model import ExactModel
from equirl.planning.intervals import (
    GrowingSupport,
    IntervalModels,
    Intervals,
    _inside,
    _next_unseen,
    _window,
    interval_value,
    is_stored,
    order_row,
    place_lower,
    support_slack,
    support_value,
)
from equirl.planning.kl_ball import KLBall, KLModels, kl_value
from equirl.planning.l1_ball import ConfidenceSet, place_spare, sort_row
from equirl.planning.optimistic_planning import (
    Choices,
    choose,
    cycle_length,
    extended_value_iteration,
    first_best,
    gain_bounds,
    is_met,
    largest,
    make_work,
    single_sweep,
    sort_by_u,
    value_bounds,
)
from equirl.planning.wary_model import WaryModel, ranked
from stored_kit import check, store

S, PTR = 8, np.array([0, 2, 3, 6, 8, 10, 13, 14, 17])
M = int(PTR[-1])


def rows_of(seed, most=5):
    """Sparse rows of M pairs; two are empty."""
    chance, ptr, succ, prob = np.random.default_rng(seed), [0], [], []
    for k in range(M):
        size = 0 if k in (4, 13) else int(chance.integers(1, most + 1))
        succ += chance.permutation(S)[:size].tolist()
        prob += chance.dirichlet(np.ones(size)).tolist() if size else []
        ptr.append(len(succ))
    return Rows(np.array(ptr), np.array(succ, np.int32), np.array(prob))


def values(kind, seed=2):
    u = np.random.default_rng(seed).random(S)
    return {"random": u, "ties": np.round(2 * u) / 2, "flat": np.zeros(S), "steep": np.exp(3 * u)}[kind]


def rewards(seed=4):
    r = np.random.default_rng(seed).random(M)
    return 0.5 * r, np.minimum(1.0, 0.5 * r + 0.3)


def intervals(seed=1, room=0.15, spread=0.3):
    rows = rows_of(seed)
    chance = np.random.default_rng(seed + 50)
    lower = np.maximum(0.0, rows.prob - spread * chance.random(len(rows.prob)))
    upper = np.minimum(1.0, rows.prob + spread * chance.random(len(rows.prob)))
    unseen = room * np.round(2 * chance.random(M)) / 2
    return Intervals(rows.ptr, rows.succ, lower, upper, unseen)


def sets():
    """Every set of models, by name."""
    rows, (low, high) = rows_of(1), rewards()
    empty = np.diff(rows.ptr) == 0
    radius = np.where(empty, 2.0, np.random.default_rng(6).random(M) * 1.5)
    left = np.arange(M) % 3 * (np.diff(rows.ptr) < 4) * ~empty
    spare_ptr = np.concatenate([[0], np.cumsum(left)])
    mass = np.concatenate([np.linspace(0.2, 0.1, n) for n in left if n])
    cut = Rows(rows.ptr, rows.succ, rows.prob * np.repeat(1 - np.array([0.2, 0.2, 0.3])[left], np.diff(rows.ptr)))
    slack = support_slack(rows.ptr, 2000.0)
    chance = np.random.default_rng(7)
    state = np.repeat(np.arange(S), np.diff(PTR))
    draws = chance.dirichlet(np.ones(4), len(rows.prob)).T
    sums = np.add.reduceat(draws, np.minimum(rows.ptr[:-1], len(rows.prob) - 1), axis=1)
    draws = draws / np.repeat(sums, np.diff(rows.ptr), axis=1)
    wary = WaryModel(
        rows.ptr, rows.succ, draws, 0.3 * chance.random((4, M)), high, 0.1 * chance.random((4, M)) - 0.05,
        chance.dirichlet(np.ones(S)), (np.arange(M) % 5 == 1) & (np.arange(M) != PTR[:-1][state]), state, 0.1, 1,
        np.empty(4),
    )  # fmt: skip
    return {
        "balls": ConfidenceSet(rows, radius, low, high),
        "placed balls": ConfidenceSet(cut, 0.3 * radius, low, high, Spare(spare_ptr, mass)),
        "intervals": IntervalModels(intervals(), low, high),
        "supports": IntervalModels(intervals(), low, high, slack),
        "kl": KLModels(rows, np.where(empty, np.inf, 0.4 * radius), low, high),
        "exact": ExactModel(
            Rows(rows.ptr, rows.succ, 0.8 * rows.prob), np.where(empty, 1.0, 0.2), high, state, 0.1,
        ),
        "wary": wary,
    }  # fmt: skip


def planned(name):
    def case():
        models, found = sets()[name], {}
        coin = np.linspace(0, 0.99, S)
        options = {
            "plain": {}, "cheap": {"policy_sweeps": 4}, "started": {"start": values("steep")}, "tossed": {"coin": coin},
            "short": {"max_sweeps": 3}, "discounted": {"discount": 0.9, "policy_sweeps": 3},
            "threads": {"threads": 3, "policy_sweeps": 2},
        }  # fmt: skip
        for option, given in options.items():
            plan = extended_value_iteration(PTR, models, 1e-6, **({"max_sweeps": 400} | given))
            found[option] = {
                "policy": plan.policy,
                "gain": [plan.gain],
                "bias": plan.bias,
                "n": [plan.n_sweeps],
                "converged": [plan.converged],
            }
        with mock.patch.multiple(optimistic_planning, LOOKUPS_AT_ONCE=200, CHEAP_UNTIL=6):
            for cheap in (0, 2):
                plan = extended_value_iteration(PTR, models, 1e-6, policy_sweeps=cheap, max_sweeps=300)
                found[f"in parts {cheap}"] = {"policy": plan.policy, "gain": [plan.gain], "n": [plan.n_sweeps]}
        for kind in ("random", "ties", "flat"):
            once = single_sweep(PTR, models, values(kind), 0.95)
            work = once()
            found[f"sweep {kind}"] = {"q": work.q, "out": work.out}
            again = once()
            found[f"again {kind}"] = {"q": again.q, "by u": again.by_u}
        found["entries"] = [models.n_entries]
        if name == "wary":
            return found
        policy = PTR[:-1].copy()
        found["gains"] = gain_bounds(models, policy, 1e-4, 300)
        found["values"] = value_bounds(models, policy, 1e-4, 0.9, 300)
        some = models.restrict(np.array([3, 0, 9, 16]))
        found["restricted"] = {
            "widths": some.widths(),
            "low": some.r_lower,
            "high": some.r_upper,
            "n": [some.n_entries],
        }
        found["widths"] = models.widths()
        for k in range(M):
            low, high, other = models.row_bounds(k)
            found[f"row {k}"] = {"low": low, "high": high, "other": [other]}
        other = models.with_rewards(np.linspace(0, 1, M)).without_supports()
        found["other"] = {"low": other.r_lower, "high": other.r_upper}
        return found

    return case


def interval_steps(kind):
    def case():
        u, found = values(kind), {}
        by_u = np.arange(S)
        sort_by_u(u, by_u)
        found["by u"] = by_u
        for room, spread in ((0.0, 0.3), (0.15, 0.3), (0.6, 0.05), (1.0, 1.0), (0.02, 0.01)):
            bounds = intervals(room=room, spread=spread).copy()
            order = bounds.copy()
            for k in range(M):
                order_row(order, k, u)
            name = f"{room} {spread}"
            found[f"ordered {name}"] = {"succ": order.succ, "lower": order.lower, "upper": order.upper}
            found[f"placed {name}"] = [place_lower(bounds.copy(), k, u) for k in range(M)]
            found[f"value {name}"] = [interval_value(bounds, k, u, by_u) for k in range(M)]
            for slack in (0.0, 0.05, 0.5):
                models = GrowingSupport(intervals(room=room, spread=spread).copy(), np.full(M, slack))
                found[f"support {name} {slack}"] = [support_value(models, k, u, by_u) for k in range(M)]
            found[f"unseen {name}"] = [_next_unseen(order, k, by_u, rank) for k in range(M) for rank in range(S + 1)]
            found[f"window {name}"] = [
                _window(order, k, u, by_u, rank, n) for k in (0, 4, 7) for rank in (0, 3) for n in (0, 1, 3, 9)
            ]
            found[f"inside {name}"] = [
                _inside(order, k, int(order.ptr[k]), left, u, float(u.min()))
                for k in range(M)
                for left in (0.0, 0.1, 2.0)
            ]
            ends = [int(order.ptr[k + 1]) for k in range(M)]
            found[f"stored {name}"] = [is_stored(order, k, ends[k], x, u) for k in range(M) for x in range(S)]
        heavy = intervals(spread=0.0)._replace(lower=intervals().upper)
        found["too much"] = [interval_value(heavy.copy(), k, u, by_u) for k in range(M)]
        found["too much, on supports"] = [
            support_value(GrowingSupport(heavy.copy(), np.zeros(M)), k, u, by_u) for k in range(M)
        ]
        return found

    return case


def kl_values():
    found, rows = {}, rows_of(1)
    held = rows.prob.copy()
    held[::7] = 0.0  # states listed without mass
    for kind in ("random", "ties", "flat", "steep"):
        u = values(kind)
        for radius in (0.0, 1e-9, 1e-3, 0.05, 0.5, 3.0, 44.9, 45.0, math.inf):
            for name, prob in (("rows", rows.prob), ("held", held)):
                ball = KLBall(Rows(rows.ptr, rows.succ, prob), np.full(M, radius))
                found[f"{kind} {name} {radius}"] = [kl_value(ball, k, u, u.max()) for k in range(M)]
    return found


def pieces():
    """What sweeps are made of."""
    found, rows = {}, rows_of(1)
    u = values("ties")
    succ, prob = rows.succ.copy(), rows.prob.copy()
    for k in range(M):
        sort_row(rows.ptr[k], rows.ptr[k + 1], succ, prob, u)
    found["sorted"] = {"succ": succ, "prob": prob}
    work = make_work(u.copy(), rewards()[1])
    work.q[:] = np.round(4 * np.random.default_rng(3).random(M)) / 4
    first_best(Choices(PTR[:-1].copy(), PTR[1:].copy()), work)
    found["best"] = {"best": work.best.copy(), "after": work.after.copy()}
    for tolerance in (0.0, 0.3):
        for coin in (0.0, 0.4, 0.99):
            out = np.empty(S, np.int64)
            choose(PTR, work.q, tolerance, np.full(S, coin), out)
            found[f"chosen {tolerance} {coin}"] = out
    lengths = []
    for n in range(1, 80):
        work.u[:] = values("ties", n % 5 if n > 3 else 90 + n)
        lengths.append(cycle_length(work, n, 0.5 + 0.1 * (n % 5 if n > 3 else n)))
    found["cycles"] = {"lengths": lengths, "met": [is_met(work, row) for row in range(len(work.met))]}
    found["largest"] = [largest(u), largest(-u), largest(np.array([-3.0]))]
    solver, models = sets()["placed balls"].prepare()
    place_spare(models, np.argsort(-values("random"), kind="stable"))
    found["spare"] = {"succ": models.rows.succ, "prob": models.rows.prob, "follows": [solver.follow is None]}
    found["ranked"] = [ranked(np.array([3.0, 1.0, 2.0, 1.0, -4.0]), rank) for rank in range(5)]
    found["slack"] = support_slack(np.array([0, 2, 2, 7]), 0.5), support_slack(np.array([0, 2, 2, 7]), 8.0)
    return found


CASES = {name: planned(name) for name in sets()}
CASES |= {f"intervals of {kind} values": interval_steps(kind) for kind in ("random", "ties", "flat", "steep")}
CASES |= {"kl values": kl_values, "pieces": pieces}


@pytest.mark.parametrize("case", CASES)
def test_plans_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
