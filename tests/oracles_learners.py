"""docs/definitions.md read line by line: what a learner must believe, given what it saw, and when it must replan."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

import oracles_clustering
from oracles import Tally, beta, beta_mean, pooled_law


class Oracle:
    """Follows one learner in a known MDP, step by step, with dictionaries and formulas written out."""

    def __init__(self, mdp, name, settings, classes=None, table=None):
        defaults = {"radius": "pooled", "nearest_by": "law", "stopping": "pair"}  # of learners without such a choice
        self.mdp, self.name, self.table = mdp, name, table
        self.settings = SimpleNamespace(**{**defaults, **settings.as_dict()})
        self.classes = list(range(mdp.n_pairs)) if classes is None else classes.label.tolist()
        self.tally, self.t = Tally(), 1

    def record(self, pair, reward, x):
        self.tally.record(pair, reward, x)
        self.t += 1

    def groups(self, priority):
        """Labels of what is pooled now."""
        estimated = self.name in ("c-ucrl", "c-ucrl-published")
        if not estimated and not (self.name == "c-ucrl-c" and self.settings.pooling == "balanced"):
            return self.classes
        M, tally, s = self.mdp.n_pairs, self.tally, self.settings
        counts = [[count for _, count in tally.profile(k)] for k in range(M)]
        return oracles_clustering.approx_equivalence(
            [tally.visits[k] for k in range(M)], np.cumsum([0, *map(len, counts)]),
            [count for row in counts for count in row], self.mdp.n_states,
            delta=s.delta, balance=s.balance, radius=s.radius, merge_rule=s.merge_rule,
            nearest_by=s.nearest_by, priority=priority,
            r_sum=[tally.r_sum[k] for k in range(M)] if s.rewards == "per_class" and estimated else None,
            given=None if estimated else self.classes,
        )[0]  # fmt: skip

    def law(self, k, members):
        """({state: mass}, [unplaced masses]); no mass at all where the law is free."""
        tally = self.tally
        if self.name in ("ucrl2", "ucrl2-l"):
            return {x: c / tally.visits[k] for x, c in tally.successors[k].items()}, []
        if self.table is None:
            return pooled_law(tally, members, k, self.mdp.n_states, self.settings.ties)
        n, order, profile = sum(tally.visits[j] for j in members), self.table.order, self.table.profile(k)
        mass = [sum(tally.successors[j][order(j)[i]] for j in members) for i in range(len(profile))]
        equal = [[i for i, q in enumerate(profile) if abs(p - q) <= 1e-9] for p in profile]
        if len(members) == 1:  # nothing is pooled: p_hat, as the reduction to UCRL2-L asks
            equal = [[i] for i in range(len(profile))]
        shared = [sum(mass[i] for i in tie) / len(tie) for tie in equal]
        return {int(x): m / n for x, m in zip(order(k), shared, strict=True)} if n else {}, []

    def law_radius(self, k, members, C):
        s, S, M, N = self.settings, self.mdp.n_states, self.mdp.n_pairs, self.tally.visits
        n, known = sum(N[j] for j in members), self.table is not None
        if n == 0 or (N[k] == 0 and not known):
            return 2.0
        if self.name == "ucrl2":
            A = max(np.diff(self.mdp.pairs.ptr))
            return math.sqrt(14 * S * math.log(2 * A * self.t / s.delta) / max(1, N[k]))
        if self.name == "ucrl2-l":
            return beta(N[k], S, s.delta / M)
        if known:
            return beta(n, S, s.delta / C)
        if self.name == "c-ucrl-c" and s.pooling == "class":
            return sum(N[j] * beta(N[j], S, s.delta / C) for j in members) / n
        if s.radius == "theory":
            return sum(N[j] * beta(N[j], S, s.delta / M) for j in members) / n
        return beta(n, S, s.delta / (3 * M))

    def mean_bounds(self, k, members, C):
        s, M, tally = self.settings, self.mdp.n_pairs, self.tally
        N, n = tally.visits[k], sum(tally.visits[j] for j in members)
        if s.rewards == "known":
            return self.mdp.r_mean[k], self.mdp.r_mean[k]
        grouped = self.name in ("c-ucrl", "c-ucrl-published") or (self.name == "c-ucrl-c" and s.pooling == "balanced")
        pooled = s.rewards == "per_class" and (N > 0 or self.table is not None)
        if not pooled:
            members, n = [k], N
        if n == 0:
            return 0.0, 1.0
        mean = sum(tally.r_sum[j] for j in members) / n
        if self.name == "ucrl2":
            radius = math.sqrt(7 * math.log(2 * M * self.t / s.delta) / (2 * max(1, N)))
        elif self.name == "ucrl2-l" or (grouped and pooled and s.radius == "theory"):
            radius = beta_mean(n, s.delta / M)
        elif grouped:
            radius = beta_mean(n, s.delta / (3 * M))
        else:
            radius = beta_mean(n, s.delta / (C if pooled else M))
        return max(0.0, mean - radius), min(1.0, mean + radius)

    def may_play(self, k, label, then):
        """Whether the episode that started with the visits ``then`` goes on if ``k`` is about to be played."""
        now = self.tally.visits
        group = [j for j in range(len(label)) if label[j] == label[k]]
        pair = now[k] - then[k] < max(1, then[k])
        whole = sum(now[j] - then[j] for j in group) < max(1, sum(then[j] for j in group))
        return {"pair": pair, "class": whole, "either": pair and whole}[self.settings.stopping]


def best_values(oracle, laws, spare, radius, upper, accuracy):
    """Plain extended value iteration over dense laws: values of the pairs, gain, bias, sweeps."""
    S, ptr = oracle.mdp.n_states, oracle.mdp.pairs.ptr
    u, n = np.zeros(S), 0
    while True:
        down = sorted(range(S), key=lambda x: -u[x])
        q = np.empty(len(laws))
        for k, fixed in enumerate(laws):
            unseen = [x for x in down if x not in fixed]
            law = np.zeros(S)
            law[list(fixed)] = list(fixed.values())
            law[unseen[: len(spare[k])]] = spare[k]
            give = min(radius[k] / 2, 1 - law[down[0]])
            law[down[0]] += give
            for x in down[:0:-1]:
                take = min(give, law[x])
                law[x], give = law[x] - take, give - take
            q[k] = upper[k] + law @ u
        new, n = np.array([q[ptr[s] : ptr[s + 1]].max() for s in range(S)]), n + 1
        if np.ptp(new - u) <= accuracy:
            return q, ((new - u).max() + (new - u).min()) / 2, u - u.min(), n
        u = new
