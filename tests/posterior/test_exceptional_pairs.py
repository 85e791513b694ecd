"""Exceptions in a draw: which successors are near, and who becomes an exception, by chances that are scripted."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.estimation.counts import Counts
from equirl.posterior import exceptional_pairs
from equirl.posterior.exceptional_pairs import count_near, draw_exceptions, hope, near_state, stay_length
from equirl.posterior.reachability import Reach, everywhere

PTR = np.array([0, 2, 4, 7])


def seen_of(*steps):
    counts = Counts(7)
    for pair, successor in steps:
        counts.record(pair, 0.0, successor)
    return counts.snapshot()


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_successor_is_near_where_it_is_the_own_state_or_seen_from_another_pair_of_it(seed, plain):
    rng = np.random.default_rng(seed)
    seen = seen_of(*((int(rng.integers(7)), int(rng.integers(3))) for _ in range(2 * seed + 1)))
    near = total = 0
    for s in range(3):
        own = [set(seen.succ[seen.ptr[k] : seen.ptr[k + 1]].tolist()) for k in range(PTR[s], PTR[s + 1])]
        if sum(map(bool, own)) < 2:
            continue  # nothing to compare with
        for k, mine in enumerate(own):
            others = set().union(*own[:k], *own[k + 1 :])
            near += sum(x == s or x in others for x in mine)
            total += len(mine)
    reached = np.zeros(3, np.int64)
    assert (count_near.py_func if plain else count_near)(seen, PTR, reached) == (near, total)
    assert reached.tolist() == [0, 0, 0]


class Chances:
    """Uniform and whole numbers in the order given; what is asked is noted."""

    def __init__(self, monkeypatch, uniform=(), below=()):
        self.uniform, self.below, self.bounds = list(uniform), list(below), []
        monkeypatch.setattr(exceptional_pairs, "uniform", lambda _: self.uniform.pop(0))
        monkeypatch.setattr(exceptional_pairs, "below", self.whole)
        monkeypatch.setattr(exceptional_pairs, "near_state", near_state.py_func)

    def whole(self, _, bound):
        self.bounds.append(int(bound))
        return self.below.pop(0)

    @property
    def used(self):
        return not self.uniform and not self.below


def test_a_state_near_is_itself_or_a_successor_of_one_of_its_pairs(monkeypatch):
    seen = seen_of((4, 1), (4, 1), (4, 0), (6, 2))  # pairs 4, 5 and 6 are of state 2; 5 was never played
    for below, bounds, expected in (
        ([3], [4], 2), ([0, 0], [4, 2], 1), ([0, 1], [4, 2], 0), ([1], [4], -1), ([2, 0], [4, 1], 2),
    ):  # fmt: skip
        chances = Chances(monkeypatch, below=below)
        assert near_state.py_func(None, 2, PTR, seen) == expected
        assert chances.bounds == bounds
        assert chances.used


def exceptions(chances, seen, lonely, bridge, reach=None):
    exception, unknown = np.full(7, 99), np.empty(3, np.int64)
    draw_exceptions.py_func(None, lonely, bridge, reach or everywhere(3), seen, PTR, exception, unknown)
    assert chances.used
    return exception.tolist()


def test_pairs_never_visited_stay_put_in_proportion_to_how_many_there_are(monkeypatch):
    seen = seen_of((0, 1), (1, 0), (3, 2), (5, 0))  # three pairs are unvisited: 2, 4 and 6
    chances = Chances(monkeypatch, uniform=[0.39, 0.41, 0.0])
    assert exceptions(chances, seen, 1.2, 0.0) == [-1, -1, 1, -1, -1, -1, 2]
    chances = Chances(monkeypatch, uniform=[0.4, 0.399, 0.9])  # less than, not equal to
    assert exceptions(chances, seen, 3 * 0.4, 0.0) == [-1, -1, -1, -1, 2, -1, -1]


def test_visited_pairs_lead_elsewhere_in_proportion_to_one_over_their_visits(monkeypatch):
    seen = seen_of(*[(k, k % 3) for k in range(7)], (0, 1), (0, 1), (0, 1))  # pair 0 was played 4 times
    total = 6 + 0.25
    # pair 0 is drawn at 1 / (4 total), pair 1 at 1 / total; the others are not
    quiet = [1.0 - 1e-9] * 5
    chances = Chances(monkeypatch, uniform=[0.99 / (4 * total), 0.6, 0.99 / total, 0.4, *quiet], below=[2, 2])
    assert exceptions(chances, seen, 0.0, 1.0) == [2, 0, -1, -1, -1, -1, -1]
    assert chances.bounds == [3, 3]  # any of three states; a pair of the state, or the state itself
    chances = Chances(monkeypatch, uniform=[1.01 / (4 * total), 1.01 / total, *quiet])
    assert exceptions(chances, seen, 0.0, 1.0) == [-1] * 7
    chances = Chances(monkeypatch)
    assert exceptions(chances, seen, 0.0, 0.0) == [-1] * 7  # without bridges no chance is used


def test_half_of_the_bridges_lead_to_a_state_never_left_of_whose_pairs_one_then_stays(monkeypatch):
    seen = seen_of((0, 1), (1, 2), (2, 0), (3, 0))  # state 2 was never left: its pairs are 4, 5 and 6
    rest = [0.9999] * 3
    lonely = [0.9999] * 3
    chances = Chances(monkeypatch, uniform=[0.0, 0.49, *rest, *lonely], below=[0, 1])
    assert exceptions(chances, seen, 1.0, 1.0) == [2, -1, -1, -1, -1, 2, -1]
    assert chances.bounds == [1, 3]
    chances = Chances(monkeypatch, uniform=[0.0, 0.5, 0.5, *rest, *lonely], below=[1])  # halves are half-open
    assert exceptions(chances, seen, 1.0, 1.0) == [1, -1, -1, -1, -1, -1, -1]


def test_where_not_all_is_open_bridges_stay_within_what_is(monkeypatch):
    seen = seen_of((0, 1), (1, 2), (2, 0), (3, 0))
    monkeypatch.setattr(exceptional_pairs, "n_open", lambda visits, reach: 2)
    reach = everywhere(3)._replace(order=np.array([2, 0, 1]))
    chances = Chances(monkeypatch, uniform=[0.0, 0.6, *[0.9999] * 6], below=[1])
    assert exceptions(chances, seen, 1.0, 1.0, reach) == [0, -1, -1, -1, -1, -1, -1]
    assert chances.bounds == [2]


def test_stays_grow_and_exceptions_fade_with_time():
    assert [stay_length(t) for t in (0, 9_999, 10_000, 40_000)] == pytest.approx([30.0, 30.0, 30.0, 60.0])
    assert [hope(t) for t in (0, 1, 900, 3600, 90_000)] == pytest.approx([1.0, 1.0, 1.0, 0.5, 0.1])
    assert isinstance(everywhere(3), Reach)
