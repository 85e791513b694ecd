"""ApproxEquivalence line by line: lists, loops over all clusters and all members, nothing kept between sweeps."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product, zip_longest

from equirl.estimation.confidence import hoeffding, log_events, weissman


class Group:
    """A set of pairs: its members, visits and sums; ``level`` is (log events, log level, theory radii?)."""

    def __init__(self, members, n, counts, r_sum, weight, r_weight, level):
        self.members, self.n, self.counts, self.r_sum = members, n, counts, r_sum
        self.weight, self.r_weight, self.level = weight, r_weight, level

    def __or__(self, other):
        counts = [a + b for a, b in zip_longest(self.counts, other.counts, fillvalue=0)]
        return Group(
            self.members + other.members, self.n + other.n, counts, self.r_sum + other.r_sum,
            self.weight + other.weight, self.r_weight + other.r_weight, self.level,
        )  # fmt: skip

    @cached_property
    def profile(self):
        return [x / self.n for x in self.counts]

    @cached_property
    def radius(self):
        events, log_level, theory = self.level
        return self.weight / self.n if theory else weissman(self.n, events, log_level)

    @cached_property
    def r_radius(self):
        _, log_level, theory = self.level
        return self.r_weight / self.n if theory else hoeffding(self.n, log_level)


def d_hat(u, v):
    total = 0.0
    for p, q in zip_longest(u.profile, v.profile, fillvalue=0.0):
        total += abs(p - q)
    return total - (u.radius + v.radius)


def approx_equivalence(
    visits, profile_ptr, profile_counts, n_states, *, delta=0.05, balance=4.0, radius="pooled", merge_rule="balanced",
    nearest_by="law", r_sum=None, priority=None, given=None,
):  # fmt: skip
    """Labels (the member with the smallest priority), merges [(sweep, left, right, d_hat)] and the number of sweeps."""
    M = len(visits)
    priority = list(range(M)) if priority is None else list(priority)
    log_level = math.log(delta) - math.log(M if radius == "theory" else 3 * M)
    level = log_events(n_states), log_level, radius == "theory"

    def singleton(j):
        n, counts = int(visits[j]), [int(x) for x in profile_counts[profile_ptr[j] : profile_ptr[j + 1]]]
        reward = 0.0 if r_sum is None else float(r_sum[j])
        return Group([j], n, counts, reward, n * weissman(n, *level[:2]), n * hoeffding(n, log_level), level)

    alone = [singleton(j) for j in range(M)]

    def similar(u, v):
        if d_hat(u, v) > 0:
            return False
        return r_sum is None or abs(u.r_sum / u.n - v.r_sum / v.n) <= u.r_radius + v.r_radius

    def nearness(u, v):
        if nearest_by == "law":
            return d_hat(u, v)
        return max(d_hat(u, v), abs(u.r_sum / u.n - v.r_sum / v.n) - (u.r_radius + v.r_radius))

    def is_balanced(u, v):
        one, two = u.n / len(u.members), v.n / len(v.members)
        return max(one, two) <= balance * min(one, two)

    def is_neighbour(u, v):
        if merge_rule == "balanced" and not is_balanced(u, v):
            return False
        if given is not None:
            return given[u.members[0]] == given[v.members[0]]
        return (
            similar(u, v)
            and all(similar(alone[j], alone[k]) for j, k in product(u.members, v.members))
            and all(similar(alone[j], u | v) for j in u.members + v.members)
        )

    def leader(u):
        return min(u.members, key=lambda j: priority[j])

    def rank(u):
        return priority[leader(u)]

    clusters, merges, n_sweeps, done = [u for u in alone if u.n > 0], [], 0, False
    while not done:
        n_sweeps, done = n_sweeps + 1, True
        free, formed = sorted(clusters, key=lambda u: (-u.n, rank(u))), []
        for u in list(free):
            near = [v for v in free if v is not u and is_neighbour(u, v)] if u in free else []
            if not near:
                continue
            v = min(near, key=lambda v: (nearness(u, v), rank(v)))
            if is_balanced(u, v):
                merges.append((n_sweeps, leader(u), leader(v), nearness(u, v)))
                free.remove(u)
                free.remove(v)
                formed.append(u | v)
                done = False
        clusters = free + formed
    label = list(range(M))
    for u in clusters:
        for j in u.members:
            label[j] = leader(u)
    return label, merges, n_sweeps
