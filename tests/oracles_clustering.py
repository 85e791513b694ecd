"""ApproxEquivalence line by line: lists, loops over all clusters and all members, nothing remembered between sweeps."""

from __future__ import annotations

import math
from itertools import product

from equirl.confidence import hoeffding, log_events, weissman


class Group:
    """A set of pairs: members in merge order, counts by position, sums of rewards and of N beta_N."""

    def __init__(self, members, counts, r_sum, weight, r_weight, n):
        self.members, self.counts, self.r_sum, self.weight, self.r_weight, self.n = (
            members, counts, r_sum, weight, r_weight, n,
        )  # fmt: skip

    def __or__(self, other):
        longest = max(len(self.counts), len(other.counts))
        one, two = (list(g.counts) + [0] * (longest - len(g.counts)) for g in (self, other))
        return Group(
            self.members + other.members, [a + b for a, b in zip(one, two, strict=True)], self.r_sum + other.r_sum,
            self.weight + other.weight, self.r_weight + other.r_weight, self.n + other.n,
        )  # fmt: skip


def approx_equivalence(
    visits, profile_ptr, profile_counts, n_states, *, delta=0.05, balance=4.0, radius="pooled", merge_rule="balanced",
    r_sum=None, priority=None, known=None,
):  # fmt: skip
    """Labels (the member with the smallest priority), merges [(sweep, left, right, d_hat)] and the number of sweeps."""
    M = len(visits)
    priority = list(range(M)) if priority is None else list(priority)
    level = math.log(delta) - math.log(M if radius == "theory" else 3 * M)
    events = log_events(n_states)

    def alone(j):
        n = int(visits[j])
        counts = [int(x) for x in profile_counts[profile_ptr[j] : profile_ptr[j + 1]]]
        r = 0.0 if r_sum is None else float(r_sum[j])
        return Group([j], counts, r, n * weissman(n, events, level), n * hoeffding(n, level), n)

    def law_radius(u):
        return u.weight / u.n if radius == "theory" else weissman(u.n, events, level)

    def mean_radius(u):
        return u.r_weight / u.n if radius == "theory" else hoeffding(u.n, level)

    def d_hat(u, v):
        longest, total = max(len(u.counts), len(v.counts)), 0.0
        for j in range(longest):
            p = u.counts[j] / u.n if j < len(u.counts) else 0.0
            q = v.counts[j] / v.n if j < len(v.counts) else 0.0
            total += abs(p - q)
        return total - (law_radius(u) + law_radius(v))

    def similar(u, v):
        if d_hat(u, v) > 0:
            return False
        return r_sum is None or abs(u.r_sum / u.n - v.r_sum / v.n) <= mean_radius(u) + mean_radius(v)

    def is_balanced(u, v):
        one, two = u.n / len(u.members), v.n / len(v.members)
        return max(one, two) <= balance * min(one, two)

    def is_neighbour(u, v):
        if merge_rule == "balanced" and not is_balanced(u, v):
            return False
        if known is not None:
            return known[u.members[0]] == known[v.members[0]]
        both = u | v
        return (
            similar(u, v)
            and all(similar(alone(j), alone(k)) for j, k in product(u.members, v.members))
            and all(similar(alone(j), both) for j in both.members)
        )

    def rank(u):
        return min(priority[j] for j in u.members)

    def leader(u):
        return min(u.members, key=lambda j: priority[j])

    clusters = [alone(j) for j in range(M) if visits[j] > 0]
    merges, n_sweeps = [], 0
    while True:
        n_sweeps += 1
        free = sorted(clusters, key=lambda u: (-u.n, rank(u)))
        clusters, merged = [], False
        for u in list(free):
            if u not in free:
                continue
            near = [v for v in free if v is not u and is_neighbour(u, v)]
            if not near:
                continue
            v = min(near, key=lambda v: (d_hat(u, v), rank(v)))
            if not is_balanced(u, v):
                continue
            merges.append((n_sweeps, leader(u), leader(v), d_hat(u, v)))
            free = [w for w in free if w is not u and w is not v]
            clusters.append(u | v)
            merged = True
        clusters += free
        if not merged:
            break
    label = list(range(M))
    for u in clusters:
        for j in u.members:
            label[j] = leader(u)
    return label, merges, n_sweeps
