"""Exact answers for tiny MDPs, in fractions: every policy in turn, no rounding anywhere.

Rows are read as the doubles given, divided by their sum: what rows that sum to 1 but for rounding mean.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from equirl.model.mdp import TabularMDP

Row = list[Fraction]


def exact_rows(mdp: TabularMDP) -> list[Row]:
    """A row of transition probabilities for each pair."""
    out = []
    for k in range(mdp.n_pairs):
        row = [Fraction(0)] * mdp.n_states
        for j in range(mdp.rows.ptr[k], mdp.rows.ptr[k + 1]):
            row[mdp.rows.succ[j]] += Fraction(float(mdp.rows.prob[j]))
        total = sum(row)
        out.append([mass / total for mass in row])
    return out


def best_gain_exactly(mdp: TabularMDP) -> Row:
    """The optimal gain from each state."""
    return _best(mdp, _gain)


def best_value_exactly(mdp: TabularMDP, discount: float) -> Row:
    """The optimal discounted value of each state."""
    gamma = Fraction(discount)
    return _best(mdp, lambda chain, reward: _solve(_identity_minus(chain, gamma), reward))


def solve_within(mdp: TabularMDP, found: np.ndarray, truth: Row, accuracy: float) -> bool:
    """Whether every number found is within the accuracy of the truth, compared exactly."""
    return all(abs(Fraction(float(x)) - y) <= Fraction(accuracy) for x, y in zip(found, truth, strict=True))


def _best(mdp, evaluate) -> Row:
    rows, reward = exact_rows(mdp), [Fraction(float(r)) for r in mdp.r_mean]
    ptr = mdp.pairs.ptr
    values = [
        evaluate([rows[k] for k in pairs], [reward[k] for k in pairs])
        for pairs in itertools.product(*(range(ptr[s], ptr[s + 1]) for s in range(mdp.n_states)))
    ]
    return [max(column) for column in zip(*values, strict=True)]


def _gain(chain: list[Row], reward: Row) -> Row:
    """The long-run mean reward of a chain from each state: of each recurrent class, then of where states end."""
    n = len(chain)
    reach = [{s} for s in range(n)]
    for _ in range(n):
        reach = [set().union(*(reach[x] for x in range(n) if chain[s][x]), {s}) for s in range(n)]
    gain: list[Fraction | None] = [None] * n
    for s in range(n):
        members = sorted(reach[s])
        if gain[s] is None and all(reach[x] == reach[s] for x in members):
            mean = _stationary_mean([[chain[x][y] for y in members] for x in members], [reward[x] for x in members])
            for x in members:
                gain[x] = mean
    transient = [s for s in range(n) if gain[s] is None]
    inner = [[chain[s][x] for x in transient] for s in transient]
    ends = [sum(chain[s][x] * gain[x] for x in range(n) if gain[x] is not None) for s in transient]
    for s, value in zip(transient, _solve(_identity_minus(inner, Fraction(1)), ends), strict=True):
        gain[s] = value
    return gain


def _stationary_mean(chain: list[Row], reward: Row) -> Fraction:
    """g of g + h = r + P h with h(0) = 0: the unknowns are g and the other h."""
    n = len(chain)
    system = [[Fraction(1)] + [Fraction(int(s == x)) - chain[s][x] for x in range(1, n)] for s in range(n)]
    return _solve(system, reward)[0]


def _identity_minus(chain: list[Row], factor: Fraction) -> list[Row]:
    return [[Fraction(int(s == x)) - factor * mass for x, mass in enumerate(row)] for s, row in enumerate(chain)]


def _solve(system: list[Row], right: Row) -> Row:
    """Gauss and Jordan, with any pivot that is not zero."""
    rows = [[*row, value] for row, value in zip(system, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i and rows[j][i]:
                factor = rows[j][i]
                rows[j] = [x - factor * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def treacherous_mdp(rng: np.random.Generator) -> TabularMDP:
    """At most 4 states and 2 actions, with rare exits, near-equal rewards and places to stay for ever."""
    n = int(rng.integers(1, 5))
    base = float(rng.choice([0.0, 0.25, 0.5, 1 / 3]))
    pairs = []
    for s in range(n):
        for a in range(int(rng.integers(1, 3))):
            reward = base + float(rng.choice([0.0, 0.0, 1e-15, 1e-12, 1e-10, 1e-7, 1e-3, 0.5]))
            pairs.append((s, a, _treacherous_row(rng, n, s), reward))
    return TabularMDP.from_pairs(pairs, n, initial=int(rng.integers(n)))


def _treacherous_row(rng: np.random.Generator, n: int, s: int) -> dict[int, float]:
    if rng.random() < 0.3:
        return {s: 1.0}
    home = s if rng.random() < 0.6 else int(rng.integers(n))
    row = {home: 1.0}
    for x in rng.permutation(n)[: int(rng.integers(0, n))].tolist():
        if x != home:
            rare = float(rng.choice([10.0, 2.0])) ** -float(rng.integers(1, 16)) * float(rng.choice([1.0, 0.3]))
            row[x] = min(rare, 0.3)
            row[home] -= row[x]
    off = float(rng.uniform(-9e-9, 9e-9)) if rng.random() < 0.2 else 0.0  # rows may sum to 1 within 1e-8
    return {x: mass * (1 + off) for x, mass in row.items()}


def best_on_the_way(mdp: TabularMDP, goal: np.ndarray, cost: np.ndarray | None, maximise: bool) -> list:
    """The optimal probability of reaching the goal, or cost until then, from each state; inf and -inf are floats.

    A policy that may miss the goal from a state costs infinity there. The least cost has no bound from where, without
    giving up the goal, circles can be reached that cost less than nothing.
    """
    n, rows = mdp.n_states, exact_rows(mdp)
    for k, s in enumerate(mdp.pairs.state.tolist()):
        if goal[s]:
            rows[k] = [Fraction(int(s == x)) for x in range(n)]
    paid = [Fraction(0)] * len(rows) if cost is None else [Fraction(float(c)) for c in cost]
    ptr, found, gains = mdp.pairs.ptr, [], []
    for pairs in itertools.product(*(range(ptr[s], ptr[s + 1]) for s in range(n))):
        chain, there = [rows[k] for k in pairs], [Fraction(int(at)) for at in goal]
        reached = _gain(chain, there)
        if cost is None:
            found.append(reached)
            continue
        sure = [s for s in range(n) if reached[s] == 1 and not goal[s]]
        system = _identity_minus([[chain[s][x] for x in sure] for s in sure], Fraction(1))
        costs = dict(zip(sure, _solve(system, [paid[pairs[s]] for s in sure]), strict=True))
        found.append([Fraction(0) if goal[s] else costs.get(s, float("inf")) for s in range(n)])
        gains.append((pairs, _gain(chain, [Fraction(0) if goal[s] else paid[k] for s, k in enumerate(pairs)])))
    values = [(max if maximise else min)(column) for column in zip(*found, strict=True)]
    if cost is None or maximise:
        return values
    sure = {s for s in range(n) if values[s] < float("inf")}
    kept = [k for k, s in enumerate(mdp.pairs.state) if s in sure and all(x in sure for x in range(n) if rows[k][x])]
    for pairs, gain in gains:
        below = {s for s in sure if gain[s] < 0 and pairs[s] in kept}
        while any(x not in below for s in below for x in range(n) if rows[pairs[s]][x]):
            below = {s for s in below if all(x in below for x in range(n) if rows[pairs[s]][x])}
        while more := {int(mdp.pairs.state[k]) for k in kept if any(rows[k][x] for x in below)} - below:
            below |= more
        for s in below:
            values[s] = -float("inf")
    return values
