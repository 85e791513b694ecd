"""Stated structure against a log, before anything learns, and against a known problem."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq

WORLD = eq.make("ergodic-riverswim", n_states=5)


def log_of(world, visits, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(world.n_states):
        for a in range(2):
            law = world.transition_probabilities(s, a)
            drawn = rng.choice(list(law), size=visits, p=list(law.values()))
            rows += [(f"s{s}", ("left", "right")[a], 10.0 * world.mean_reward(s, a), f"s{x}") for x in drawn.tolist()]
    return eq.from_log(rows, reward_range=(0.0, 10.0))


def label(state, action):
    k = WORLD.pairs.index(int(state[1:]), int(action == "right"))
    return int(eq.equivalence_classes(WORLD).label[k])


def test_a_log_of_alike_pairs_refutes_nothing():
    for seed in range(10):
        assert eq.check_structure(log_of(WORLD, 200, seed), label, delta=0.05).holds


def test_a_log_refutes_what_is_not_so_with_names_and_evidence():
    check = eq.check_structure(log_of(WORLD, 500), classes=lambda state, action: 0)
    assert not check.holds
    assert "1 of 1 class refuted" in repr(check)
    table = check.table()
    assert set(table["what"]) == {"successors", "rewards"}
    assert all(evidence > bound for evidence, bound in zip(table["evidence"], table["bound"], strict=True))
    assert table["state"][0] in {f"s{s}" for s in range(5)}
    assert 0 < table["difference"][table["what"].index("rewards")] <= 10


def test_few_visits_refute_little_and_rewards_may_be_left_out():
    assert eq.check_structure(log_of(WORLD, 2), lambda state, action: 0).holds
    laws = eq.equivalence_classes(WORLD, rewards=False)
    log = log_of(WORLD, 3000)
    found = [int(laws.label[WORLD.pairs.index(s, a)]) for s in range(5) for a in range(2)]
    assert eq.check_structure(log, found, rewards=False).holds
    assert not eq.check_structure(log, found).holds


def test_an_order_is_checked_with_what_lies_outside_it():
    rows = [("a", "go", 0.0, "b")] * 5 + [("b", "go", 0.0, "a")] * 4 + [("b", "go", 0.0, "b")]
    check = eq.check_structure(rows, lambda s, a: a, order=lambda s, a: ["b" if s == "a" else "a"])
    table = check.table()
    assert (table["what"], table["state"], table["against"]) == (["outside"], ["b"], ["state b"])


def test_a_known_problem_settles_it():
    assert eq.check_structure(WORLD, eq.equivalence_classes(WORLD)).holds
    assert eq.check_structure(WORLD, eq.equivalence_classes(WORLD), profiles=eq.profiles(WORLD)).holds
    check = eq.check_structure(WORLD, lambda s, a: a)
    assert not check.holds
    assert check.risk == 0.0
    table = eq.profiles(WORLD)
    swapped = [table.order(k)[::-1].tolist() if k == 2 else table.order(k).tolist() for k in range(WORLD.n_pairs)]
    (row,) = eq.check_structure(WORLD, eq.equivalence_classes(WORLD), order=swapped).table()
    assert row["what"] == "successors"
    assert row["difference"] > 0.1
    short = [[table.order(k)[0]] for k in range(WORLD.n_pairs)]
    assert "outside" in eq.check_structure(WORLD, lambda s, a: (s, a), order=short).table()["what"]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="classes are needed"):
        eq.check_structure(WORLD, None)
    with pytest.raises(ValueError, match="label 3 pairs"):
        eq.check_structure(WORLD, [0, 0, 0])
    with pytest.raises(ValueError, match="delta"):
        eq.check_structure(WORLD, lambda s, a: 0, delta=0)
