"""Slow, obvious answers for counts, pooling, radii and planning."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np


def plain_evi(pair_ptr, laws, radius, reward, accuracy):
    """Extended value iteration with dense laws, a sort per pair and no tricks: policy values, gain, bias, sweeps."""
    S = len(pair_ptr) - 1
    u, n = np.zeros(S), 0
    while True:
        order = np.argsort(u)
        q = np.empty(len(laws))
        for k, p in enumerate(laws):
            law, best = p.copy(), order[-1]
            give = min(radius[k] / 2, 1 - law[best]) if p.sum() else 1.0
            law[best] += give
            for x in order:
                excess = law.sum() - 1
                if excess <= 0 or x == best:
                    break
                law[x] -= min(law[x], excess)
            q[k] = reward[k] + law @ u
        new = np.array([q[pair_ptr[s] : pair_ptr[s + 1]].max() for s in range(S)])
        n += 1
        difference = new - u
        if difference.max() - difference.min() <= accuracy:
            return q, (difference.max() + difference.min()) / 2, u - u.min(), n
        u = new - new.min()


def beta(n, S, d):
    """The L1 radius of docs/definitions.md, "Estimates and confidence sets", written out."""
    if S == 1:
        return 0.0
    return 2.0 if n == 0 else math.sqrt(2 * (1 + 1 / n) * math.log(math.sqrt(n + 1) * (2**S - 2) / d) / n)


def beta_mean(n, d):
    return 1.0 if n == 0 else math.sqrt((1 + 1 / n) * math.log(math.sqrt(n + 1) / d) / (2 * n))


class Tally:
    """Counts as dictionaries."""

    def __init__(self):
        self.visits, self.r_sum, self.successors = Counter(), defaultdict(float), defaultdict(Counter)

    def record(self, pair, reward, x):
        self.visits[pair] += 1
        self.r_sum[pair] += reward
        self.successors[pair][x] += 1

    def profile(self, pair):
        """Observed successors in profile order: decreasing counts, equal counts by state, highest first."""
        return sorted(self.successors[pair].items(), key=lambda item: (-item[1], -item[0]))


def quicksort_order(values):
    """Places by rising value: median of three, the longer part later, runs of up to 16 by a stable sort."""
    order = list(range(len(values)))

    def swap(i, k):
        order[i], order[k] = order[k], order[i]

    def sort(first, last):
        if last - first <= 15:
            order[first : last + 1] = sorted(order[first : last + 1], key=lambda x: values[x])
            return
        middle = (first + last) // 2
        for low, high in [(first, middle), (middle, last), (first, middle)]:
            if values[order[high]] < values[order[low]]:
                swap(low, high)
        pivot = values[order[middle]]
        swap(middle, last - 1)
        up, down = first, last - 1
        while True:
            up = next(i for i in range(up + 1, last + 1) if values[order[i]] >= pivot)
            down = next(i for i in range(down - 1, first - 1, -1) if values[order[i]] <= pivot)
            if up >= down:
                break
            swap(up, down)
        swap(up, last - 1)
        sort(first, up - 1)
        sort(up + 1, last)

    sort(0, len(values) - 1)
    return order


def pooled_law(tally, members, pair, n_states, ties):
    """The law of ``pair`` pooled over ``members`` through empirical profiles: ({state: mass}, [spare masses])."""
    if tally.visits[pair] == 0:
        return {}, []
    n = sum(tally.visits[k] for k in members)
    position = Counter()
    for k in members:
        for j, (_, count) in enumerate(tally.profile(k)):
            position[j] += count
    mass = [position[j] / n for j in range(len(position))]
    mine = tally.profile(pair)
    if ties == "index":
        unseen = [x for x in range(n_states - 1, -1, -1) if x not in dict(mine)]
        order = [x for x, _ in mine] + unseen
        return {x: mass[j] for j, x in enumerate(order[: len(mass)])}, []
    if ties == "quicksort":
        order = quicksort_order([dict(mine).get(x, 0) for x in range(n_states)])[::-1]
        return {x: mass[j] for j, x in enumerate(order[: len(mass)])}, []
    law = {}
    for x, count in mine:
        block = [j for j, (_, other) in enumerate(mine) if other == count]
        law[x] = sum(mass[j] for j in block) / len(block)
    if ties == "optimistic":
        return law, mass[len(mine) :]
    total = sum(law.values())
    return {x: m / total for x, m in law.items()}, []
