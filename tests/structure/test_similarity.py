"""Profiles and their distances, each by its definition on dense vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equirl as eq
from equirl.model.pairs import pair_number
from equirl.structure.similarity import (
    Profiles,
    l1_distance,
    profile_distance,
    profile_l1,
    profile_of,
    profiles,
    projection,
    similar,
)

WORLD = eq.make("random", n_states=5, n_actions=3, branching=3, seed=4)
UNEVEN = eq.TabularMDP.from_arrays([[[0.5, 0.5, 0.0]], [[0.2, 0.7, 0.1]], [[0.0, 0.0, 1.0]]], [[0.1], [0.15], [0.9]])


def dense(table, k, width=5):
    row = np.zeros(width)
    row[: table.ptr[k + 1] - table.ptr[k]] = table.prob[table.ptr[k] : table.ptr[k + 1]]
    return row


def test_a_profile_is_sorted_and_ties_are_by_state():
    laws, _ = WORLD.to_arrays()
    table = profiles(WORLD)
    for k, law in enumerate(laws.reshape(15, 5)):
        expected = sorted(np.flatnonzero(law), key=lambda x: (-law[x], x))
        assert table.order(k).tolist() == expected
        assert table.profile(k).tolist() == law[expected].tolist() == profile_of(WORLD, k).tolist()
    for wrong in (-1, 15):
        for ask in (table.profile, table.order):
            with pytest.raises(ValueError, match="pair"):
                ask(wrong)


@pytest.mark.parametrize("plain", [False, True])
def test_distances_of_profiles_go_by_position_and_the_shorter_one_goes_on_with_zeros(plain):
    rng = np.random.default_rng(0)
    sizes = [1, 2, 3, 5, 4, 1]
    prob = np.concatenate([-np.sort(-rng.dirichlet(np.ones(n))) for n in sizes])
    table = Profiles(np.concatenate([[0], np.cumsum(sizes)]), np.zeros(len(prob), np.int32), prob)
    far, by_row = (l1_distance.py_func, profile_l1.py_func) if plain else (l1_distance, profile_l1)
    for k in range(6):
        for j in range(6):
            expected = np.abs(dense(table, k) - dense(table, j)).sum()
            assert by_row(table, k, j) == pytest.approx(expected)
            i, h = table.ptr[k], table.ptr[j]
            assert far(prob, i, sizes[k], prob, h, sizes[j]) == pytest.approx(expected)


@pytest.mark.parametrize(("pair", "other"), [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (1, 1)])
def test_each_contrast_is_its_sum(pair, other):
    table = profiles(UNEVEN)
    p, q = dense(table, pair, 3), dense(table, other, 3)
    assert profile_distance(UNEVEN, pair, other) == pytest.approx(np.abs(p - q).sum())
    assert profile_distance(UNEVEN, pair, other, "squared") == pytest.approx(((p - q) ** 2).sum())
    kl = sum(a * math.log(a / b) if b else math.inf for a, b in zip(p, q, strict=True) if a)
    assert profile_distance(UNEVEN, pair, other, "kl") == pytest.approx(max(0.0, kl))
    with pytest.raises(ValueError, match="contrast"):
        profile_distance(UNEVEN, pair, other, "l2")


def test_pairs_are_similar_where_profiles_and_means_are_within_their_bounds():
    far = profile_distance(UNEVEN, 0, 1)
    gap = abs(UNEVEN.r_mean[0] - UNEVEN.r_mean[1])
    assert similar(UNEVEN, 0, (1, 0), far, gap)
    assert not similar(UNEVEN, 0, 1, np.nextafter(far, 0), gap)
    assert not similar(UNEVEN, 0, 1, far, np.nextafter(gap, 0))
    assert similar(UNEVEN, 0, 1, far, math.inf)
    assert not similar(UNEVEN, 0, 2, 1.5, 0.1)


def test_a_pair_is_a_number_or_a_state_and_an_action():
    assert [pair_number(WORLD.pairs, pair) for pair in (0, 14, np.int8(3), (2, 1))] == [0, 14, 3, 7]
    for wrong in (-1, 15):
        with pytest.raises(ValueError, match=f"there is no pair {wrong}: pairs are 0 to 14"):
            pair_number(WORLD.pairs, wrong)
    for wrong in (1.0, "a", (1, 2, 3)):
        with pytest.raises(TypeError, match=r"a pair is its number or \(state, action\), not"):
            pair_number(WORLD.pairs, wrong)


def test_a_projection_moves_by_at_most_the_distance_and_tells_different_profiles_apart():
    table = profiles(WORLD)
    height = projection(table)
    for k in range(15):
        for j in range(k):
            apart = profile_l1(table, k, j)
            assert abs(height[k] - height[j]) <= apart + 1e-15
            assert apart < 1e-12 or height[k] != height[j]
