"""Classes, profiles, how good clusters are, and bounds of theory are what they were (``same_structures.json``).

``python tests/structure/test_same_structures.py`` stores them anew.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.model.mdp import TabularMDP
from equirl.structure import equivalence
from equirl.structure.equivalence import (
    _apart,
    _closest,
    _next_free,
    _too_wide,
    equivalence_classes,
    separating_tolerance,
    separation,
    summarise_class,
)
from equirl.structure.partition import Partition, check_same_pairs
from equirl.structure.quality import match_classes, misclustered, misclustering_bias, misclustering_ratio
from equirl.structure.similarity import (
    l1_distance,
    profile_distance,
    profile_l1,
    profile_of,
    profiles,
    projection,
    similar,
    sorted_masses,
)
from equirl.theory.bounds import azuma_width, n_episodes_bound, proposition1_samples, theorem1_bound, ucrl2_bound
from equirl.theory.lower_bounds import confusion, regret_lower_bound
from stored_kit import answers, check, store


def problem(noise=0.0, law="deterministic", S=6, A=3):
    """Pairs of five kinds, each a little off its kind; every state follows from some pair."""
    rng = np.random.default_rng(11)
    kinds = [np.sort(rng.dirichlet(np.ones(3)))[::-1] for _ in range(4)] + [np.array([0.5, 0.25, 0.25])]
    listed = []
    for s in range(S):
        for a in range(A):
            law_of = kinds[(s + 2 * a) % 5] + noise * rng.standard_normal(3)
            law_of = law_of / law_of.sum()
            to = [(s + 1) % S, *rng.permutation([x for x in range(S) if x != (s + 1) % S])[:2].tolist()]
            mean = round(0.1 + 0.2 * ((s + 2 * a) % 4) + noise * (s % 3), 12)
            listed.append((s, a, dict(zip(to, law_of.tolist(), strict=True)), mean))
    return TabularMDP.from_pairs(listed, S, reward_law=law, reward_map=(5.0, -1.0), concentration=3.0)


def classes():
    found = {}
    for noise in (0.0, 1e-10, 1e-6, 1e-3):
        mdp = problem(noise)
        for tolerance in (0.0, 1e-9, 1e-4, 0.02, 2.0, "auto"):
            calls = [lambda r=r, m=mdp, t=tolerance: equivalence_classes(m, r, t).label for r in (True, False)]
            found[f"{noise} {tolerance}"] = answers(calls)
        apart = answers([lambda m=mdp: separation(m), lambda m=mdp: separation(m, 1e-3)])
        found[f"apart {noise}"] = apart | answers(
            [lambda r=r, m=mdp: separating_tolerance(m, r) for r in (True, False)]
        )
    mdp = problem()
    found["profiles"] = {"all": profiles(mdp), "masses": sorted_masses(mdp.rows), "height": projection(profiles(mdp))}
    partition = equivalence_classes(mdp)
    summaries = [summarise_class(mdp, partition, c) for c in range(partition.n_classes)]
    coarse = summarise_class(mdp, Partition.from_labels([0] * mdp.n_pairs), 0)
    found["summaries"] = {
        str(i): {"numbers": [one.label, one.size, one.first, one.n_profiles, one.least_mean, one.largest_mean],
                 "profile": one.profile,
                 "texts": [one.profile_text(), one.profile_text(2), one.reward_text(), str(one)]}
        for i, one in enumerate([*summaries, coarse])
    }  # fmt: skip
    points = sorted_masses(mdp.rows)
    means, order = mdp.r_mean.copy(), np.argsort(projection(points), kind="stable")
    found["gaps"] = [_apart(points, means, k, j) for k in range(0, 18, 3) for j in range(0, 18, 2)]
    found["closest"] = [_closest(points, order[:n], projection(points)[order[:n]]) for n in (1, 2, 5)]
    for limit in (0.0, 0.1, 3.0):
        far = np.full(2, -1)
        found[f"wide {limit}"] = [_too_wide(points, means, order, np.array([0, 1, 5, 18]), limit, far), *far]
    free = np.array([1, 2, 4, 3, 4, 5])
    found["free"] = [_next_free(free, 0), _next_free(free, 3), *free]
    return found


def distances():
    mdp = problem(1e-3)
    pairs = [(0, 1), (3, 3), (2, 9), (5, 17)]
    found = {
        "far": [profile_distance(mdp, *pair, contrast) for pair in pairs for contrast in ("l1", "squared", "kl")],
        "alike": [similar(mdp, *pair, eps, mean) for pair in pairs for eps in (0.0, 0.3)
            for mean in (0.0, 1.0, math.inf)],
        "rows": [profile_l1(profiles(mdp), *pair) for pair in pairs], "own": profile_of(mdp, 4),
        "uneven": [l1_distance(np.array([0.6, 0.4, 0.9]), 0, m, np.array([0.9, 0.5, 0.3, 0.2]), 1, n) for m in (1, 2)
            for n in (1, 3)],
    }  # fmt: skip
    short = TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.2), (1, 0, {0: 0.5, 1: 0.5}, 0.7)])
    calls = [
        lambda: profile_distance(short, 0, 1, "kl"), lambda: profile_distance(short, 1, 0, "kl"),
        lambda: profile_distance(short, (0, 0), (1, 0), "squared"),
        lambda: profile_distance(short, 0, 2), lambda: profile_distance(short, -1, 0),
        lambda: profile_distance(short, 0.5, 0), lambda: profile_distance(short, 0, 1, "l2"),
        lambda: similar(short, 0, 1, eps_p=-1), lambda: similar(short, 0, 1, 1.0, 0.5),
        lambda: similar(short, 0, 1, 1.0, 0.4), lambda: similar(short, 0, 1, 0.9, 0.5),
        lambda: profiles(short).profile(2), lambda: profiles(short).order(1), lambda: profiles(short).profile(-1),
        lambda: equivalence_classes(short, tolerance="best"),
        lambda: equivalence_classes(short, tolerance=2.1), lambda: equivalence_classes(short, 3),
        lambda: list(equivalence.LADDER),
    ]  # fmt: skip
    return found | {"calls": answers(calls)}


def partitions():
    one, two = Partition.from_labels([3, 1, 3, 2, 1, 1]), Partition.from_labels(list("aabbab"))
    visits, priority = np.array([5, 0, 3, 2, 2, 9]), np.array([5, 4, 3, 2, 1, 0])
    ptr, counts = np.array([0, 2, 2, 4, 5, 6, 8]), np.array([3, 2, 2, 1, 2, 2, 8, 1])
    states = np.array([0, 1, 1, 2, 2, 0, 2, 1])
    found = {
        "labels": one.label, "sizes": one.sizes,
        "n": [one.n_pairs, one.n_classes, len(one), Partition.singletons(0).n_classes],
        "members": [one.members(c).tolist() + [-1] * (3 - len(one.members(c))) for c in range(3)],
        "iterated": np.concatenate(list(one)),
        "and": (one & two).label, "refines": [(one & two).refines(one), one.refines(two), one.refines(one)],
        "equal": [one == two, one == one, one == 3],
        "wrong": [misclustered(one, two), misclustered(one, two, visits), misclustered(one, two, None, priority),
            misclustered(two, one, visits, priority)],
        "ratio": [misclustering_ratio(one, two), misclustering_ratio(two, one), misclustering_ratio(one, one)],
        "match": [*match_classes(one, two), *match_classes(two, one),
            *match_classes(one, Partition.from_labels([0] * 6))],
        "bias": [misclustering_bias(one, two, visits, ptr, counts),
            misclustering_bias(two, one, visits, ptr, counts, priority),
            misclustering_bias(one, two, visits, ptr, counts, successors=states)],
    }  # fmt: skip
    calls = [
        lambda: Partition(np.array([0, 2])), lambda: Partition(np.array([1])), lambda: Partition(np.array([-1])),
        lambda: Partition(np.array([0.0])), lambda: Partition(np.array([[0]])),
        lambda: Partition.from_labels([[0]]), lambda: Partition.from_labels([1.0, math.nan]),
        lambda: Partition.from_labels([1, None]), lambda: Partition.singletons(-1),
        lambda: Partition.singletons(2).label,
        lambda: one.members(3), lambda: one.members(-1), lambda: one.restrict([0, 5]).label,
        lambda: one.restrict([0, 6]), lambda: one.restrict([-1]), lambda: one.restrict(one.label == 0).label,
        lambda: one.restrict([True, False]), lambda: one.restrict([[0]]), lambda: one.refines(3), lambda: one & 3,
        lambda: check_same_pairs(one, Partition.singletons(5)), lambda: one & Partition.singletons(5),
        lambda: Partition.from_json(one.to_json()).label, lambda: Partition.from_json("{"),
        lambda: Partition.from_json("[]"), lambda: Partition.from_json('{"kind": "x", "label": []}'),
        lambda: Partition.from_json('{"kind": "partition"}'),
        lambda: Partition.from_json(3), lambda: one.table().columns["size"], lambda: one.table(problem()),
        lambda: one.table(problem(S=3, A=2)).columns["state"], lambda: misclustered(one, 3),
        lambda: misclustered(one, Partition.singletons(5)),
        lambda: misclustered(one, two, [1, 2]), lambda: misclustered(one, two, -visits),
        lambda: misclustered(one, two, None, -priority), lambda: misclustered(one, two, visits * math.nan),
        lambda: misclustering_bias(one, two, None, ptr, counts),
        lambda: misclustering_bias(one, two, visits + 1, ptr, counts),
        lambda: misclustering_bias(one, two, visits, ptr[:-1], counts),
        lambda: misclustering_bias(one, two, visits, ptr, counts, successors=[1]),
        lambda: misclustering_ratio(Partition.singletons(0), Partition.singletons(0)),
    ]  # fmt: skip
    return found | {"calls": answers(calls)}


def theory():
    T = np.array([10, 1000, 10**6])
    found = {
        "theorem": theorem1_bound(3.5, 12, 4, T), "ucrl2": ucrl2_bound(3.5, 12, 4, T, 0.1),
        "episodes": n_episodes_bound(7, T), "azuma": azuma_width(T, 0.1, 2.0),
        "plain": [theorem1_bound(1, 2, 3, 4), ucrl2_bound(1, 1, 1, 1), n_episodes_bound(1, 1), azuma_width(1)],
        "samples": [proposition1_samples(d, S, 10, delta) for d in (0.1, 0.7, 2.0, 8.0, math.inf) for S in (1, 2, 9)
            for delta in (0.05, 0.5)],
    }  # fmt: skip
    for law in ("deterministic", "bernoulli", "beta"):
        mdp = problem(law=law)
        found[f"confused {law}"] = confusion(mdp)
        found[f"bound {law}"] = [
            regret_lower_bound(mdp),
            regret_lower_bound(mdp, equivalence_classes(mdp)),
            regret_lower_bound(mdp, tolerance=0.5),
        ]
    mdp = problem()
    calls = [
        lambda: theorem1_bound(0.9, 2, 3, 4), lambda: theorem1_bound(1, 0, 3, 4), lambda: theorem1_bound(1, 2, 3, 2),
        lambda: theorem1_bound(1, 2, 3, 3, 1.0), lambda: ucrl2_bound(1, 1, 0, 1), lambda: azuma_width(0),
        lambda: azuma_width(1, 0.5, 0.0), lambda: proposition1_samples(0, 2, 2),
        lambda: proposition1_samples(1e-200, 2, 2), lambda: regret_lower_bound(mdp, 3),
        lambda: regret_lower_bound(mdp, Partition.singletons(3)),
        lambda: confusion(mdp, 0.0),
        lambda: confusion(TabularMDP.from_pairs([(0, 0, {0: 1}, 0), (0, 1, {1: 1}, 1), (1, 0, {0: 1}, 0)])),
    ]  # fmt: skip
    return found | {"calls": answers(calls)}


CASES = {"classes": classes, "distances": distances, "partitions": partitions, "theory": theory}


@pytest.mark.parametrize("case", CASES)
def test_structures_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
