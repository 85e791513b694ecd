"""ApproxEquivalence: to the last bit its line-by-line version; the exact classes in the limit; clear errors."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracles_clustering as oracle
from equirl.clustering import approximate_equivalence
from equirl.clustering.approximate_equivalence import approx_equivalence, make_rules, merge_pairs
from equirl.clustering.clusters import SLACK
from equirl.clustering.kd_tree import LEAF
from equirl.structure.equivalence import equivalence_classes, separation
from equirl.structure.partition import Partition
from equirl.structure.similarity import profiles
from equirl.theory import proposition1_samples
from equirl.worlds.world_registry import make


def tell(rows):
    """visits, profile_ptr, profile_counts from one list of counts per pair."""
    rows = [sorted((int(x) for x in row if x > 0), reverse=True) for row in rows]
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    return np.array([sum(row) for row in rows]), ptr, np.array([x for row in rows for x in row], dtype=np.int64)


def settle(rng, n_pairs):
    """Settings drawn at random."""
    return {
        "delta": float(rng.choice([0.05, 0.9, 0.999])),
        "balance": float(rng.choice([1.5, 2.0, 3.0, 4.0, math.inf])),
        "radius": str(rng.choice(["pooled", "theory"])),
        "merge_rule": str(rng.choice(["balanced", "nearest"])),
        "priority": rng.permutation(n_pairs),
    }


def nearness(rng, compared):
    """What nearest means, drawn at random where means are compared."""
    return str(rng.choice(["law", "law_and_mean"])) if compared else "law"


def sample(rng, n_pairs, n_states):
    """Counts of planted classes (or of as many laws as pairs) with visits alike, in a few sizes or spread widely."""
    scale, n_laws = 10 ** rng.uniform(0.5, 5), int(rng.choice([1, 3, n_pairs]))
    laws = rng.dirichlet(np.full(min(n_states, 10), rng.choice([0.3, 1.0, 3.0])), n_laws)
    spread = [np.ones(n_pairs), rng.choice([0, 1, 2, 4], n_pairs), rng.lognormal(0, 1.5, n_pairs)][rng.integers(3)]
    return tell(rng.multinomial((scale * spread).astype(int), laws[rng.integers(n_laws, size=n_pairs)]))


def check_against_oracle(counted, n_states, **kw):
    found = approx_equivalence(*counted, n_states, **kw)
    label, merges, n_sweeps = oracle.approx_equivalence(*counted, n_states, **kw)
    assert list(zip(*(column.tolist() for column in found.merges), strict=True)) == merges
    assert found.partition == Partition.from_labels(label)
    assert found.n_sweeps == n_sweeps


few = st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 40, 80]), min_size=1, max_size=4)


@given(st.lists(few, min_size=1, max_size=9), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@settings(max_examples=400)
def test_counts_full_of_ties_are_merged_as_line_by_line(rows, seed, with_rewards, with_known):
    rng, counted = np.random.default_rng(seed), tell(rows)
    r_sum = counted[0] * rng.choice([0.0, 0.25, 1.0], len(rows)) if with_rewards else None
    known = rng.integers(0, 2, len(rows)) if with_known else None
    near = nearness(rng, with_rewards and not with_known)
    S, kw = int(rng.integers(4, 9)), settle(rng, len(rows))
    check_against_oracle(counted, S, nearest_by=near, r_sum=r_sum, given=known, **kw)


@pytest.mark.parametrize("seed", range(150))
def test_realistic_counts_are_merged_as_line_by_line(seed):
    rng = np.random.default_rng(seed)
    M, S = int(rng.integers(2, 30)), int(rng.choice([1, 2, 3, 5, 12, 400]))
    counted = sample(rng, M, S)
    r_sum = counted[0] * rng.choice([0.0, 0.1, 0.5], M) if seed % 2 else None
    check_against_oracle(counted, S, nearest_by=nearness(rng, seed % 2), r_sum=r_sum, **settle(rng, M))


@pytest.mark.parametrize("kind", ["laws", "rewards", "known"])
@pytest.mark.parametrize("seed", range(16))
def test_more_pairs_than_fit_a_leaf_are_merged_as_line_by_line(seed, kind):
    rng = np.random.default_rng([seed, 7])
    M, S = int(rng.integers(LEAF + 10, 3 * LEAF)), int(rng.choice([2, 3, 8, 12]))
    counted = sample(rng, M, S)
    r_sum = counted[0] * rng.choice([0.0, 0.1, 0.5], M) if kind == "rewards" else None
    known = rng.integers(0, 3, M) if kind == "known" else None
    near = nearness(rng, kind == "rewards")
    check_against_oracle(counted, S, nearest_by=near, r_sum=r_sum, given=known, **settle(rng, M))


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.long) for k in range(12, 60))])
def test_many_pairs_are_merged_as_line_by_line(seed):
    rng = np.random.default_rng([seed, 11])
    M, S = int(rng.integers(100, 220)), int(rng.choice([2, 3, 8, 30]))
    counted = sample(rng, M, S)
    check_against_oracle(counted, S, **settle(rng, M))


def test_a_distance_of_exactly_the_two_radii_passes():
    counted, n_states, kw = tell([[1000], [1000]]), 1, {"balance": math.inf}  # S = 1: all radii are 0
    assert approx_equivalence(*counted, n_states, **kw).merges.d_hat.tolist() == [0.0]


def test_there_is_room_for_the_longest_profile_of_a_pair_that_was_visited(monkeypatch):
    asked, allocate = [], approximate_equivalence.allocate_clusters
    monkeypatch.setattr(
        approximate_equivalence, "allocate_clusters", lambda *sizes: asked.append(sizes) or allocate(*sizes)
    )
    approx_equivalence(*tell([[5, 3, 1], [9], [4, 2]]), 4)
    assert asked == [(3, 6, 3)]


def test_pairs_without_samples_stay_alone():
    found = approx_equivalence(*tell([[], [5], [], [5]]), 3)
    assert found.partition.label.tolist() == [0, 1, 2, 1]


def test_nothing_sampled_means_nothing_merged():
    found = approx_equivalence(*tell([[], [], []]), 3)
    assert found.partition == Partition.singletons(3)
    assert found.n_sweeps == 1
    assert len(found.merges.sweep) == 0


def test_a_merged_cluster_waits_for_the_next_sweep():
    found = approx_equivalence(*tell([[50]] * 4), 3)
    assert found.merges.sweep.tolist() == [1, 1, 2]
    assert found.merges.left.tolist() == [0, 2, 0]
    assert found.merges.right.tolist() == [1, 3, 2]
    assert found.n_sweeps == 3


def test_the_most_visited_looks_first_and_ties_go_by_priority():
    found = approx_equivalence(*tell([[50], [50], [51], [50]]), 3, priority=[0, 3, 1, 2])
    assert found.merges.left[0] == 2
    assert found.merges.right[0] == 0


def test_clusters_are_named_by_their_member_of_smallest_priority():
    found = approx_equivalence(*tell([[50]] * 4), 3, priority=[3, 2, 1, 0])
    assert found.merges.left.tolist() == [3, 1, 3]


def test_unbalanced_pairs_merge_only_when_balance_is_off():
    counted = tell([[1000], [100]])
    assert approx_equivalence(*counted, 3, balance=9.9).partition.n_classes == 2
    assert approx_equivalence(*counted, 3, balance=10.0).partition.n_classes == 1
    assert approx_equivalence(*counted, 3, balance=math.inf).partition.n_classes == 1


def test_the_nearest_rule_takes_no_second_choice():
    counted = tell([[900, 100], [890, 110], [1]])  # the third pair, with its wide radius, is the nearest to both
    assert approx_equivalence(*counted, 3, merge_rule="nearest").partition.n_classes == 3
    assert approx_equivalence(*counted, 3, merge_rule="balanced").partition.n_classes == 2


def test_nearest_by_law_and_mean_takes_the_neighbour_least_sampled_where_all_means_agree():
    counted, r_sum = tell([[900, 100], [890, 110], [400, 100]]), [0.0, 0.0, 0.0]
    near = {by: approx_equivalence(*counted, 9, nearest_by=by, r_sum=r_sum).merges for by in ("law", "law_and_mean")}
    assert [merges.right[0] for merges in near.values()] == [1, 2]
    assert near["law"].d_hat[0] < near["law_and_mean"].d_hat[0] < 0


def test_a_neighbour_found_unbalanced_is_met_again_in_later_sweeps():
    rows = [[5, 3], [5, 3], [2, 2], [15, 1], [16], [12, 4], [2, 2], [8], [16], [4], [4], [4], [8], [16], [8], [2, 2]]
    priority = [16, 8, 18, 13, 2, 15, 3, 5, 11, 9, 4, 7, 14, 1, 10, 6]
    check_against_oracle(tell(rows), 2, delta=0.9, balance=2.0, merge_rule="nearest", priority=priority)


def test_different_means_keep_pairs_apart_when_rewards_are_compared():
    counted = tell([[10_000]] * 2)
    assert approx_equivalence(*counted, 3, r_sum=[0.0, 5000.0]).partition.n_classes == 2
    assert approx_equivalence(*counted, 3, r_sum=[5000.0, 5000.0]).partition.n_classes == 1
    assert approx_equivalence(*counted, 3).partition.n_classes == 1


def test_known_classes_are_never_crossed_and_their_tests_granted():
    counted = tell([[10**6], [5 * 10**5, 5 * 10**5], [10**6], [10**6]])
    found = approx_equivalence(*counted, 3, given=["a", "a", "b", "b"])
    assert found.partition.label.tolist() == [0, 0, 1, 1]
    assert found.merges.d_hat.max() > 0


def test_balance_is_kept_inside_known_classes():
    found = approx_equivalence(*tell([[1000], [100], [90]]), 3, given=[0, 0, 0])
    assert found.partition.label.tolist() == [0, 1, 1]


def true_counts(mdp, n_each):
    """Counts that are the true profiles, as nearly as integers allow."""
    table = profiles(mdp)
    parts = [np.rint(table.profile(k) * n_each).astype(np.int64) for k in range(mdp.n_pairs)]
    return tell(parts)


@pytest.mark.parametrize("world", ["riverswim", "ergodic-riverswim", "four-room", "two-room", "planted"])
def test_true_laws_give_the_exact_classes(world):
    mdp = make(world)
    found = approx_equivalence(*true_counts(mdp, 10**12), mdp.n_states, balance=math.inf)
    assert found.partition == equivalence_classes(mdp, rewards=False)


@pytest.mark.parametrize("seed", range(5))
def test_enough_samples_give_the_true_classes_of_proposition_1(seed):
    mdp = make("planted", seed=seed)
    n = proposition1_samples(separation(mdp).profiles, mdp.n_states, mdp.n_pairs) + 1
    rng, table = np.random.default_rng(seed), profiles(mdp)
    counted = tell([rng.multinomial(n, table.profile(k) / table.profile(k).sum()) for k in range(mdp.n_pairs)])
    found = approx_equivalence(*counted, mdp.n_states, radius="theory", balance=math.inf)
    assert found.partition == equivalence_classes(mdp, rewards=False)


@pytest.mark.parametrize("seed", range(10))
def test_permuting_the_pairs_with_their_priorities_permutes_the_answer(seed):
    rng = np.random.default_rng(seed)
    (visits, ptr, counts), kw = sample(rng, 60, 8), settle(rng, 60)
    order = rng.permutation(60)
    moved = tell([counts[ptr[k] : ptr[k + 1]] for k in order])
    one = approx_equivalence(visits, ptr, counts, 8, **kw)
    two = approx_equivalence(*moved, 8, **{**kw, "priority": kw["priority"][order]})
    assert two.partition == Partition.from_labels(one.partition.label[order])
    assert order[two.merges.left].tolist() == one.merges.left.tolist()


def test_radii_so_wide_that_bounds_decide_merge_a_large_grid_whole():
    visits, ptr, counts = tell([[700, 200, 100]] * 3000)
    found = approx_equivalence(visits, ptr, counts, 10_000)
    assert found.partition.n_classes == 1
    assert found.merges.d_hat.max() < -SLACK


def test_inputs_are_left_as_they_were():
    counted = sample(np.random.default_rng(3), 20, 5)
    before = [array.copy() for array in counted]
    approx_equivalence(*counted, 5)
    merge_pairs(*counted, make_rules(20, 5), np.arange(20))
    assert all(map(np.array_equal, counted, before))


def test_the_unchecked_form_gives_the_same_partition():
    rng = np.random.default_rng(4)
    counted, priority, known = sample(rng, 40, 5), rng.permutation(40), rng.integers(0, 2, 40)
    for kw in ({}, {"given": known}, {"r_sum": counted[0] * 0.5}):
        rules = make_rules(40, 5, means="r_sum" in kw, given="given" in kw)
        label, n_merges = merge_pairs(*counted, rules, priority, **kw)
        found = approx_equivalence(*counted, 5, priority=priority, **kw)
        assert Partition.from_labels(label) == found.partition
        assert n_merges == len(found.merges.sweep)


def test_the_plain_bodies_give_the_compiled_answer():
    code = """
import numpy as np
from equirl.clustering.approximate_equivalence import approx_equivalence
rng = np.random.default_rng(0)
counts = -np.sort(-(1 + rng.multinomial(300, [0.5, 0.3, 0.2], 50)), axis=1)
found = approx_equivalence(counts.sum(1), np.arange(51) * 3, counts.ravel(), 4, r_sum=0.5 * counts.sum(1))
print(found.partition.label.tolist(), found.merges.d_hat.tolist())
"""
    outputs = []
    for disable in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 100


GOOD = {"visits": [3, 2], "profile_ptr": [0, 2, 3], "profile_counts": [2, 1, 2], "n_states": 3}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"delta": 0.0}, ValueError, "delta must lie strictly between 0 and 1, not 0.0"),
        ({"delta": math.nan}, ValueError, "delta .* nan"),
        ({"balance": 1.0}, ValueError, "balance must be greater than 1 .* not 1.0"),
        ({"balance": math.nan}, ValueError, "balance .* nan"),
        ({"radius": "poled"}, ValueError, "did you mean 'pooled'"),
        ({"merge_rule": "closest"}, ValueError, "unknown merge_rule 'closest'"),
        ({"nearest_by": "mean"}, ValueError, "unknown nearest_by 'mean'"),
        ({"nearest_by": "law_and_mean"}, ValueError, "needs means to compare"),
        ({"balanse": 2.0}, TypeError, "unknown setting 'balanse'; did you mean 'balance'"),
        ({"visits": []}, ValueError, "at least one pair"),
        ({"visits": [[3, 2]]}, ValueError, "one dimension"),
        ({"visits": [3.0, 2.0]}, TypeError, "visits must hold integers, not float64"),
        ({"visits": [3, -2]}, ValueError, "visits must be at least 0; entry 1 is -2"),
        ({"visits": [3, 4]}, ValueError, "pair 1 has 4 visits, and its counts sum to 2"),
        ({"profile_ptr": [0, 3]}, ValueError, r"profile_ptr must have shape \(3,\)"),
        ({"profile_ptr": [0, 4, 3]}, ValueError, "profile_ptr must run from 0 to 3 without falling"),
        ({"visits": [2**62] * 2, "profile_ptr": [0, 1, 2], "profile_counts": [2**62] * 2}, ValueError, "visits sum to"),
        ({"profile_counts": [1, 2, 2]}, ValueError, "the counts of pair 0 must be decreasing"),
        ({"profile_counts": [4, -1, 2]}, ValueError, "profile_counts must be at least 0; entry 1 is -1"),
        ({"n_states": 1}, ValueError, "pair 0 has 2 successors; there are 1 states"),
        ({"n_states": 0}, ValueError, "n_states must be at least 1"),
        ({"r_sum": [1.0]}, ValueError, r"r_sum has shape \(1,\)"),
        ({"r_sum": [1.0, math.nan]}, ValueError, "r_sum of pair 1 is nan"),
        ({"r_sum": [3.5, 1.0]}, ValueError, "r_sum of pair 0 is 3.5 in 3 visits"),
        ({"priority": [0]}, ValueError, r"priority has shape \(1,\)"),
        ({"priority": [1, 1]}, ValueError, "priority must hold different numbers"),
        ({"given": [0, 0, 1]}, ValueError, "given has 3 labels; there are 2 pairs"),
    ],
)
def test_a_wrong_argument_is_named(change, error, message):
    with pytest.raises(error, match=message):
        approx_equivalence(**{**GOOD, **change})


def test_priorities_are_different_where_only_two_of_many_are_equal():
    counted = tell([[3], [2], [2]])
    for priority in ([0, 1, 1], [2.0, math.nan, 1.0]):
        with pytest.raises(ValueError, match="priority must hold different numbers"):
            approx_equivalence(*counted, 2, priority=priority)
