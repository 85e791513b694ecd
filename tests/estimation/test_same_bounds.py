"""Counts, estimates, bounds and evidence from given observations are what they were (``same_bounds.json``).

``python tests/estimation/test_same_bounds.py`` stores them anew.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.estimation import bernstein, confidence, kl_radius, ucrl3_bounds, variance_radius
from equirl.estimation.counts import Counts, record_path
from equirl.estimation.given_knowledge import Given, checked, is_order, partition_of, profiles_of
from equirl.estimation.kl_inf import kl_inf
from equirl.estimation.pooling import (
    PLACEMENTS,
    Grouping,
    contains,
    estimate,
    pool,
    pool_given,
    pooled_positions,
    reward_variance,
    tie_groups,
)
from equirl.estimation.refutation import (
    GivenStructure,
    StructureTest,
    first_outside,
    log_best,
    log_mixture,
    weigh_evidence,
)
from equirl.model.pairs import Pairs
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles
from stored_kit import check, store

MANY = (0.0, 1.0, 2.0, 3.0, 17.0, 400.0, 1e6)
LEVELS = (math.log(0.3), math.log(1e-4), -40.0)


def observed(M=14, S=7, steps=260, room=1, seed=3, skip=(4, 9), width=5):
    """Counts of pairs that lead to few states; some are never visited."""
    chance, counts = np.random.default_rng(seed), Counts(M, room)
    for _ in range(steps):
        k = int(chance.integers(M))
        if k not in skip:
            counts.record(
                k, float(chance.choice([0.0, 0.25, 1.0])), int((k + chance.geometric(0.5)) % min(S, width + k % 3))
            )
    return counts


def tables():
    found = {}
    for room, steps in ((1, 30), (2, 260), (4, 260)):
        counts = observed(room=room, steps=steps)
        table = counts.table
        used = int(table.used[0])
        found[f"table {room}"] = table._replace(state=table.state[:used], count=table.count[:used])
        found[f"slots {room}"] = [len(table.state)]
        found[f"snapshot {room}"] = counts.snapshot()
        again = Counts.restore(counts.snapshot())
        found[f"restored {room}"] = again.table
        owner = np.arange(14) // 2
        path = np.random.default_rng(5).integers(14, size=40)
        again.record_path(path, np.linspace(0, 1, 40), 6, owner)
        found[f"path {room}"] = again.snapshot()
    full = Counts(2, 1)
    done = record_path(
        np.array([0, 0, 0]), np.ones(3), 1, np.array([0, 1]), 0, full.visits, full.r_sum, full.r_squares, full.table
    )
    found["stopped"] = {"done": [done], "visits": full.visits, "size": full.table.size}
    return found


def profiles(S=7):
    seen = observed().snapshot()
    succ = []
    for k in range(14):
        own = seen.succ[seen.ptr[k] : seen.ptr[k + 1]].tolist()
        succ += sorted(own) + [x for x in range(S) if x not in own]
    prob = np.tile(np.array([0.4, 0.2, 0.2, 0.1, 0.1 / 3, 0.1 / 3, 0.1 / 3]), 14)
    return Profiles(np.arange(15) * S, np.array(succ, np.int32), prob)


def estimates():
    seen, label = observed().snapshot(), np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 3, 3, 4, 4])
    finer = Grouping(np.array([0, 1, 2, 0, 1, 3, 4, 1, 2, 5, 5, 6, 7, 7]), 9)
    groups, found = Grouping(label, 6), {"alone": estimate(observed().snapshot())}
    for name, place in PLACEMENTS.items():
        for rewards, means in ((True, groups), (False, None), ("finer", finer)):
            pooled = pool(seen, groups, 7, place=place, means=means)
            found[f"{name} {rewards}"] = pooled
            found[f"variance {name} {rewards}"] = reward_variance(seen, means, pooled)
    tie = tie_groups(profiles(), label)
    found["known"] = pool_given(seen, groups, profiles(), tie, means=groups)
    found["known, apart"] = pool_given(seen, groups, profiles(), tie, means=None)
    found["tie"] = tie
    found["positions"] = pooled_positions(seen, groups)
    found["held"] = [contains(np.array([4, 2, 9, 2]), a, b, x) for a in (0, 1, 3) for b in (1, 3, 4) for x in (4, 2, 9)]
    return found


def refuted(order, rewards):
    def case():
        label = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 3, 3, 4, 5])
        given = GivenStructure(label, 6, profiles() if order else None, rewards, 7)
        found, test = {}, StructureTest(given, 0.1)
        found["bounds"] = [test.row_bound, test.mean_bound]
        for turn, steps in enumerate((0, 40, 260, 4000)):
            seen = observed(steps=steps, seed=3).snapshot()
            outside = weigh_evidence(seen, test.compared, test.found)
            found[f"gathered {turn}"] = {"outside": [outside], **test.found._asdict()}
            reported = np.zeros(6, bool)
            looks = [test.look(seen, reported)]
            reported[:5] = True
            looks.append(test.look(seen, reported))
            told = test.refutations(seen)
            found[f"told {turn}"] = {
                "looks": looks, "what": [one.what for one in told],
                "numbers": [[one.label, one.pair, one.other, one.visits, one.other_visits, one.difference,
                             one.evidence, one.bound] for one in told],
            }  # fmt: skip
        return found

    return case


def means_apart():
    """Pairs of a class that pay differently, some from a class of one."""
    label, counts = np.array([0, 0, 0, 1, 1, 2]), Counts(6)
    for k, (paid, times) in enumerate(((0.9, 40), (0.1, 60), (0.2, 30), (1.0, 25), (0.0, 5), (0.5, 9))):
        for i in range(times):
            counts.record(k, float(i % 10 < 10 * paid), i % 2)
    seen, found = counts.snapshot(), {}
    for delta in (0.5, 1e-6):
        test = StructureTest(GivenStructure(label, 3, None, True, 4), delta)
        told = test.refutations(seen)
        found[f"told {delta}"] = [
            [one.label, one.pair, one.other, one.visits, one.other_visits, one.difference, one.evidence, one.bound]
            for one in told
        ]
        found[f"looked {delta}"] = [
            test.look(seen, np.array(seen_before)) for seen_before in ([0, 0, 0], [1, 0, 0], [1, 1, 0])
        ]
    return found


def outside_the_order():
    """Successors that no order lists."""
    label, own = (
        np.array([0, 1, 0, 1]),
        Profiles(np.array([0, 2, 4, 6, 8]), np.array([0, 1, 1, 2, 2, 3, 3, 0], np.int32), np.full(8, 0.5)),
    )
    test, counts = StructureTest(GivenStructure(label, 2, own, True, 5), 0.05), Counts(4)
    for k, x, times in ((0, 0, 5), (0, 4, 2), (1, 2, 3), (1, 3, 1), (1, 4, 6), (2, 0, 3), (3, 3, 4)):
        for _ in range(times):
            counts.record(k, 0.5, x)
    seen = counts.snapshot()
    told = test.refutations(seen)
    path, owner = np.array([0, 2, 1, 3, 0]), np.array([0, 2, 1, 3])
    steps = [first_outside(path[i:], x, owner, own.ptr, own.succ) for i in range(5) for x in range(5)]
    return {
        "told": [[one.label, one.pair, one.other, one.visits, one.difference] for one in told], "steps": steps,
        "look": [test.look(seen, np.ones(2, bool))],
        "terms": [f(n, x) for f in (log_mixture, log_best) for n in (0.0, 0.5, 3.0) for x in (0.25, 4.0)],
    }  # fmt: skip


def confidences():
    n = np.array(MANY)
    found = {"events": [confidence.log_events(S) for S in (1, 2, 3, 10, 10**5)]}
    for i, level in enumerate(LEVELS):
        for S in (1, 2, 9):
            found[f"weissman {i} {S}"] = confidence.weissman_radius(n, S, level)
            found[f"filippi {i} {S}"] = kl_radius.filippi_radius(n, S, 50.0, level)
            found[f"first filippi {i} {S}"] = kl_radius.filippi_radius(n, S, 1.0, level)
            found[f"mixture {i} {S}"] = kl_radius.mixture_radius(n, S, level)
        found[f"hoeffding {i}"] = confidence.hoeffding_radius(n, level)
        found[f"jaksch {i}"] = [
            confidence.jaksch_transition_radius(n, 5, 3, 100, level),
            confidence.jaksch_mean_radius(n, 15, 100, level),
        ]
    label = np.array([0, 1, 0, 2, 1, 0, 3])
    found["shared"] = confidence.share_weighted(np.linspace(0.1, 2, 7), n, label, 5)
    found["kl"] = [kl_radius.kl_interval(p, d) for p in (0.0, 0.1, 0.5, 0.97, 1.0) for d in (0.0, 1e-6, 0.2, 3.0)]
    return found


def intervals():
    found, ptr = {}, np.arange(len(MANY) + 1) * 4
    prob = np.tile([0.5, 0.3, 0.2, 0.0], len(MANY))
    prob[4], prob[5:8] = 1.0, 0.0
    prob[8] = 1.0 + 1e-12
    r_hat, variance = np.linspace(0, 1, len(MANY)), np.array([0.0, 0.1, 0.25, -1e-15, 0.02, 0.2, 0.0])
    for i, level in enumerate(LEVELS):
        found[f"bernstein {i}"] = bernstein.bernstein_intervals(ptr, prob, np.array(MANY), level)[0:2]
        found[f"bernstein unseen {i}"] = bernstein.bernstein_intervals(ptr, prob, np.array(MANY), level)[2]
        found[f"ucrl3 {i}"] = ucrl3_bounds.ucrl3_intervals(ptr, prob, np.array(MANY), level)[0:2]
        found[f"ucrl3 unseen {i}"] = ucrl3_bounds.ucrl3_intervals(ptr, prob, np.array(MANY), level)[2]
        found[f"ucrl3 mean {i}"] = ucrl3_bounds.ucrl3_mean_upper(r_hat, variance, np.array(MANY), level)
        found[f"variance {i}"] = variance_radius.variance_mean_radius(variance, np.array(MANY), level)
        found[f"plain variance {i}"] = [
            variance_radius.variance_radius(v, n, level) for v in variance for n in MANY[1:]
        ]
        ends = [f(p, n, level) for f in (ucrl3_bounds.upper_end, ucrl3_bounds.lower_end)
                for p in (0.0, 1e-9, 0.003, 0.2, 0.4999, 0.5, 0.8, 0.999, 1.0) for n in (*MANY, 30.0, 1e4)]  # fmt: skip
        found[f"ends {i}"] = ends
        found[f"peeled {i}"] = [ucrl3_bounds.peeled_log(n, level) for n in (0.5, *MANY)]
    shapes = (-0.1, 0.0, 1e-7, 0.2, 0.49999, 0.5, 0.50001, 0.9, 1.0, 1.1)
    found["proxy"] = [ucrl3_bounds.bernoulli_proxy(q) for q in shapes]
    found["slope"] = [ucrl3_bounds._proxy_slope(q) for q in shapes[2:8]]
    found["level"] = [ucrl3_bounds.ucrl3_log_level(0.05, 12, 5)]
    found["gauss"] = [
        ucrl3_bounds._gauss_end(p, outer, c)
        for p in (0.0, 0.01, 0.3, 0.7)
        for outer in (0.75, 1.0)
        for c in (0.0, 1e-3, 0.05, 2.0)
    ]
    chance = np.random.default_rng(8)
    visits = chance.integers(0, 60, 30)
    r_sum = visits * np.round(chance.random(30), 1)
    own, bold = np.full(30, 0.9) - 0.01 * np.arange(30), chance.random(30) / 4
    found["runs"] = variance_radius.shared_mean_radius(visits, r_sum, 0.8 * r_sum, own, bold, math.log(0.05))
    return found


def divergences():
    chance, found = np.random.default_rng(9), []
    for size in (1, 2, 5):
        for _ in range(6):
            weight = chance.dirichlet(np.ones(size))
            x = np.sort(chance.random(size))
            found += [
                kl_inf(weight, x, size, target, top) for target in (0.3, 0.7, 0.95, 1.0) for top in (1.0, 1.2, 0.7)
            ]
    edge = np.array([0.5, 0.0, 0.5])
    found += [kl_inf(edge, np.array([0.0, 1.0, 0.5]), 3, t, 1.0) for t in (0.25, 0.26, 0.6, 0.999)]
    return {"kl": found}


def givens():
    pairs = Pairs.uniform(4, 2)
    classes = partition_of(lambda s, a: (s % 2, a), pairs)
    order = profiles_of(None, lambda s, a: [s, (s + 1) % 4], pairs)
    listed = profiles_of(None, [[k // 2, (k // 2 + 2) % 4] for k in range(8)], pairs)
    given = checked("c-ucrl", ("classes", "profiles"), Given(classes, order), pairs)
    laws = Profiles(np.arange(9) * 2, np.tile(np.array([0, 1], np.int32), 8), np.tile([0.7, 0.3], 8))
    known = checked("x", ("classes", "profiles", "mean_rewards"), Given(classes, laws, np.linspace(0, 1, 8)), pairs)
    coarse = Given(classes, transition_classes=Partition.from_labels([0] * 8), transition_tolerance=0.5)
    forces = [coarse.in_force(flag) for flag in (True, False)]
    return {
        "label": classes.label, "order": order, "listed": listed, "tie": given.tie, "known": known.tie,
        "rewards": known.mean_rewards, "are orders": [is_order(order), is_order(laws)],
        "in force": [one.classes.n_classes for one in forces],
        "tolerance": [one.tolerance for one in forces], "names": sorted(known.names),
    }  # fmt: skip


CASES = {
    "tables": tables,
    "estimates": estimates,
    "refuted by order": refuted(True, True),
    "refuted by order without rewards": refuted(True, False),
    "refuted": refuted(False, True),
    "refuted without rewards": refuted(False, False),
    "means apart": means_apart,
    "outside the order": outside_the_order,
    "confidences": confidences,
    "intervals": intervals,
    "divergences": divergences,
    "givens": givens,
}


@pytest.mark.parametrize("case", CASES)
def test_what_follows_from_observations_is_what_it_was(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
