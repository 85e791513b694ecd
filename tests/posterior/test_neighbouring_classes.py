"""Classes that stand side by side, against a plain reading of the weight of a partition."""

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.estimation.given_knowledge import NOTHING
from equirl.model.pairs import Pairs
from equirl.numerics.random_draws import draw_state
from equirl.posterior import neighbouring_classes
from equirl.posterior.drawn_rows import ClassDraw, _class_of_unvisited
from equirl.posterior.neighbouring_classes import (
    FREE,
    count_all,
    count_neighbours,
    has_room,
    make_neighbours,
    make_room,
    neighbour_factor,
)
from equirl.posterior.row_priors import ClassRows
from oracles_posterior import beside_factor, chi_square, neighbours, snapshot, workspace, write_structure

STATES = st.lists(st.integers(1, 6), min_size=1, max_size=5)
LABELS = st.lists(st.integers(-1, 4), min_size=30, max_size=30)
MOVES = st.lists(st.tuples(st.integers(0, 29), st.integers(-1, 4)), max_size=40)


def start(sizes, labels, eta=0.3):
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    label = np.array(labels[: ptr[-1]])
    sides = make_neighbours(ptr, eta)
    label[label >= ptr[-1]] = -1  # no more classes than pairs
    count_all(label, sides)
    return ptr, label, sides


def held(label):
    return {k: int(c) for k, c in enumerate(label) if c >= 0}


def table(sides):
    base = len(sides.ends)
    return {
        (int(key) // base, int(key) % base): int(n)
        for key, n in zip(sides.key, sides.met, strict=True)
        if key != FREE and n
    }


@given(STATES)
def test_pairs_of_a_state_stand_in_a_ring(sizes):
    ptr, _, sides = start(sizes, [-1] * 30)
    found = {tuple(sorted((k, int(other)))) for k, row in enumerate(sides.ring) for other in row if other >= 0}
    assert sorted(found) == neighbours(ptr.tolist())
    assert all(len(set(row)) == 2 or set(row) == {-1} for row in sides.ring.tolist())


@given(STATES, LABELS, st.floats(0.01, 5))
def test_a_factor_is_what_a_plain_reading_says(sizes, labels, eta):
    ptr, label, sides = start(sizes, labels, eta)
    for k in range(len(label)):
        old, label[k] = label[k], -1
        if old >= 0:
            count_neighbours(k, old, -1, label, sides)
        for c in range(min(5, len(label))):
            plain = beside_factor(k, c, held(label), ptr.tolist(), eta)
            assert neighbour_factor(k, c, label, sides) == pytest.approx(plain, rel=1e-12)
        if old >= 0:
            count_neighbours(k, old, 1, label, sides)
            label[k] = old


@given(STATES, LABELS, MOVES)
def test_counts_kept_along_the_way_are_those_counted_anew(sizes, labels, moves):
    _, label, sides = start(sizes, labels)
    for k, c in moves:
        if k >= len(label) or c >= len(label) or not has_room(sides):
            continue
        if label[k] >= 0:
            count_neighbours(k, label[k], -1, label, sides)
        label[k] = c
        if c >= 0:
            count_neighbours(k, c, 1, label, sides)
    kept, ends = table(sides), sides.ends.tolist()
    count_all(label, sides)
    assert kept == table(sides)
    assert ends == sides.ends.tolist()
    assert sides.used[1] == sides.ends.sum()
    assert sides.ends.sum() == sum(n if c == d else 2 * n for (c, d), n in kept.items())


def test_with_an_infinite_eta_nobody_has_neighbours():
    sides = make_neighbours(np.array([0, 3, 5]), np.inf)
    assert (sides.ring == -1).all()
    assert neighbour_factor(1, 0, np.zeros(5, np.int64), sides) == 1.0


def test_there_is_room_until_the_table_is_half_full():
    sides = make_neighbours(np.arange(0, 201, 2), 0.1)
    assert len(sides.key) >= 4 * 200
    label, changes = np.full(200, -1), 0
    random = np.random.default_rng(0)
    while has_room(sides):
        k = int(random.integers(200))
        if label[k] >= 0:
            count_neighbours(k, label[k], -1, label, sides)
        label[k] = random.integers(200)
        count_neighbours(k, label[k], 1, label, sides)
        changes += 1
    assert (sides.key != FREE).sum() == sides.used[0] <= len(sides.key) // 2
    assert changes > 200
    count_all(label, sides)
    assert has_room(sides)


def small_table(ptr, label, eta=0.3):
    with mock.patch.object(neighbouring_classes, "FIRST_CELLS", 4):
        sides = make_neighbours(ptr, eta)
    count_all(label, sides)
    return sides


@given(STATES, LABELS, MOVES)
def test_a_table_that_grows_counts_the_same(sizes, labels, moves):
    ptr, label, whole = start(sizes, labels)
    sides = small_table(ptr, label)
    for k, c in moves:
        if k >= len(label) or c >= len(label):
            continue
        if not make_room(label, sides):
            break
        assert has_room(sides)
        if label[k] >= 0:
            count_neighbours(k, label[k], -1, label, sides)
        label[k] = c
        if c >= 0:
            count_neighbours(k, c, 1, label, sides)
    count_all(label, whole)
    assert table(sides) == table(whole)
    assert sides.ends.tolist() == whole.ends.tolist()


def test_a_table_grows_as_it_must():
    ptr, label = np.arange(0, 201, 2), np.random.default_rng(1).integers(0, 200, 200)
    sides = small_table(ptr, label)
    assert 2 * len(table(sides)) <= sides.used[2] < len(sides.key)
    sides.used[0] = sides.used[2] // 2  # as when pairs moved to and fro
    cells = sides.used[2]
    assert make_room(label, sides)
    assert sides.used[2] == 2 * cells
    sides.used[2] = len(sides.key)
    sides.used[0] = len(sides.key) // 2
    assert not make_room(label, sides)


def river(n_states=6):
    """Pairs 2 s of one class, 2 s + 1 of another; the last state was left once, by the first kind."""
    counts = [[9, 9], [20]] * (n_states - 1) + [[3, 2], []]
    seen = snapshot(counts)
    state, _ = workspace(seen, 1.0, 0.5, np.arange(0, 2 * n_states + 1, 2), 0.1)
    swim, drift = list(range(0, 2 * n_states, 2)), list(range(1, 2 * n_states - 1, 2))
    key = [(swim, [[(k, i) for k in swim] for i in range(2)]), (drift, [[(k, 0) for k in drift]])]
    return write_structure(key, seen, state), 2 * n_states - 1


def test_a_pair_never_visited_is_of_a_class_that_goes_with_its_neighbour():
    state, last = river()
    swim, drift = int(state.label[0]), int(state.label[1])
    drawn = state.label.copy()
    weight = {swim: 6 * 0.1 / (2.5 + 0.1), drift: 5 * (5 + 0.1) / (2.5 + 0.1), -1: 1.0}
    total, found = sum(weight.values()), Counter()
    space = _labels(drawn)
    random = draw_state(np.random.SeedSequence(1))
    for _ in range(20_000):
        found[_class_of_unvisited(random, last, state, space)] += 1
    assert chi_square(found, {c: w / total for c, w in weight.items()}) > 1e-3
    assert found[drift] > 0.85 * 20_000


def _labels(label):
    none = np.zeros(0, np.int64)
    return ClassDraw(np.zeros(0), np.zeros(0), none, 0.0, 0.0, none, label)


def test_pairs_beside_single_pairs_do_not_all_become_single_pairs():
    """Of pairs seen once nothing is known, so there are few classes, as without neighbours."""
    M, random = 600, draw_state(np.random.SeedSequence(2))
    seen = snapshot([[1]] * M)
    sampler = ClassRows().row_sampler(Pairs.uniform(M // 6, 6), NOTHING)
    for _ in range(20):
        sampler.refresh(seen, random)
    assert sampler.state.label.max() < 60


@pytest.mark.parametrize("c", [0, 1, 2])
def test_compiled_factors_equal_the_plain_ones(c):
    _, label, sides = start([2, 3, 4], [0, 1, 0, 0, 2, 1, -1, 1, 0] + [-1] * 21)
    for k in range(9):
        if label[k] < 0:
            assert neighbour_factor(k, c, label, sides) == neighbour_factor.py_func(k, c, label, sides)
    again = make_neighbours(np.array([0, 2, 5, 9]), 0.3)
    count_all.py_func(label, again)
    assert table(again) == table(sides)
