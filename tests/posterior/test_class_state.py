from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.estimation.counts import Counts
from equirl.estimation.given_knowledge import NOTHING
from equirl.model.pairs import Pairs
from equirl.numerics.random_draws import LOOKED_UP, draw_state
from equirl.posterior.class_sampler import make_scratch, resample, resample_within
from equirl.posterior.class_state import carry_over, check_classes, empty_state, install, is_placed, reserve
from equirl.posterior.row_priors import ClassRows
from oracles_posterior import read_structure, resample_pairs, snapshot, workspace, write_structure

STEPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=60)


def rng(seed):
    return draw_state(np.random.SeedSequence(seed))


def assert_books_balance(seen, state):
    """Pooled counts, members and totals equal a recount from labels and positions."""
    members, total = np.zeros_like(state.members), np.zeros_like(state.total)
    mass = [{} for _ in members]
    for k, c in enumerate(state.label.tolist()):
        if c < 0:
            continue
        members[c] += 1
        mine = slice(seen.ptr[k], seen.ptr[k + 1])
        held = [(j, n) for j, n in zip(state.position[mine].tolist(), seen.count[mine].tolist(), strict=True) if j >= 0]
        assert len({j for j, _ in held}) == len(held)
        for j, n in held:
            mass[c][j] = mass[c].get(j, 0) + n
            total[c] += n
    np.testing.assert_array_equal(state.members, members)
    used = []
    for c in range(int(state.used[0])):
        if members[c]:
            first, width = int(state.start[c]), int(state.width[c])
            kept = {j: n for j, n in enumerate(state.pooled[first : first + width].tolist()) if n}
            assert kept == mass[c]
            assert state.total[c] == total[c]
            assert width <= state.room[c]
            used.append((first, first + int(state.room[c])))
    used.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(used))
    assert not used or used[-1][1] <= state.used[1] <= len(state.pooled)


def correspondence(seen, state):
    """{(pair, state): (pairs of its class, all (pair, state) at its position)}."""
    out = {}
    for pairs, positions in read_structure(seen, state):
        for position in positions:
            named = frozenset((k, int(seen.succ[seen.ptr[k] + i])) for k, i in position)
            for item in named:
                out[item] = pairs, named
    return out


def record(counts, steps):
    for k, x in steps:
        counts.record(k, 0.0, x)
    return counts.snapshot()


@given(STEPS, STEPS, st.integers(0, 1000))
def test_classes_and_positions_follow_their_successors_when_counts_change_their_order(first, second, seed):
    counts = Counts(5)
    before = record(counts, first)
    state, scratch = workspace(before, 1.0, 0.5)
    assert resample_pairs(rng(seed), 0, False, False, before, state, scratch)[0] == 5
    assert_books_balance(before, state)
    held = correspondence(before, state)
    seen = record(counts, second)
    after = carry_over(state, before, seen)
    assert_books_balance(seen, after)
    new = correspondence(seen, after)
    for item, (pairs, named) in held.items():
        assert new[item][0] & set(np.flatnonzero(before.visits > 0).tolist()) == pairs
        assert named <= new[item][1] or new[item][1] <= named
    for k in range(5):
        fresh = set(seen.succ[seen.ptr[k] : seen.ptr[k + 1]].tolist()) - set(
            before.succ[before.ptr[k] : before.ptr[k + 1]].tolist()
        )
        assert is_placed(k, seen, after) == (before.visits[k] > 0 and not fresh)


@given(st.lists(STEPS, min_size=1, max_size=4), st.integers(0, 1000))
def test_books_balance_over_passes_and_newer_counts(stages, seed):
    counts, random, before = Counts(5), rng(seed), None
    state = empty_state(np.array([0, 2, 5]), 1.0, 0.5, 0.1)
    for steps in stages:
        seen = record(counts, steps)
        state = carry_over(state, before, seen)
        scratch = make_scratch(5, int(np.diff(seen.ptr).max()), 200)
        for only_new in (True, False, False):
            first = 0
            while (first := resample_pairs(random, first, only_new, False, seen, state, scratch)[0]) < 5:
                state = carry_over(state, seen, seen)
        assert_books_balance(seen, state)
        assert ((state.label >= 0) == (seen.visits > 0)).all()
        before = seen


def test_where_cells_run_out_a_pass_stops_before_the_pair_and_changes_nothing():
    seen = snapshot([[3, 2, 1], [4, 3], [2, 1]])
    state, scratch = workspace(seen)
    state = state._replace(pooled=np.zeros(15, np.int64))
    stopped, _ = resample_pairs(rng(0), 0, False, False, seen, state, scratch)
    assert 0 < stopped < 3
    assert (state.label[stopped:] == -1).all()
    again = carry_over(state, seen, seen)
    assert_books_balance(seen, again)
    assert resample_pairs(rng(0), stopped, False, False, seen, again, scratch)[0] == 3
    assert_books_balance(seen, again)


def test_where_scratch_is_too_small_a_pass_stops():
    seen = snapshot([[3, 2, 1], [4, 3], [2, 1]])
    state, _ = workspace(seen)
    assert resample_pairs(rng(0), 0, False, False, seen, state, make_scratch(3, 3, -2))[0] == 0


def test_reserve_says_where_cells_run_out():
    seen = snapshot([[1]])
    state, _ = workspace(seen)
    state = state._replace(pooled=np.zeros(3, np.int64))
    assert not reserve(0, 2, state)
    assert reserve(0, 1, state)


def test_a_sampler_goes_on_where_cells_run_out_again_and_again(monkeypatch):
    from equirl.posterior import row_priors

    def tight(state, before, seen):
        """As little room as a step may ask for."""
        state = carry_over(state, before, seen)
        need = int(state.used[1]) + 2 * int(state.width.max() + np.diff(seen.ptr).max() + 8) + 4
        calls.append(need)
        return state._replace(pooled=state.pooled[:need].copy())

    calls = []
    monkeypatch.setattr(row_priors, "carry_over", tight)
    counts, random = Counts(40), np.random.default_rng(0)
    sampler = ClassRows(alpha=5.0).row_sampler(Pairs.uniform(20, 2), NOTHING)
    for _ in range(3):
        for k in range(40):
            for x in random.choice(20, size=6):
                counts.record(k, 0.0, int(x))
        seen = counts.snapshot()
        sampler.draw(seen, rng(1))
        assert_books_balance(seen, sampler.state)
    assert len(calls) > 3  # more often than counts changed


def test_classes_are_numbered_without_holes():
    seen = snapshot([[3], [4], [2]])
    state, _ = workspace(seen)
    state.label[:], state.position[:] = [3, 0, 3], [5, 1, 5]
    state = carry_over(state, seen, seen)
    assert state.label.tolist() == [0, 1, 0]
    assert state.position.tolist() == [0, 0, 0]
    assert state.used[0] == 2
    assert_books_balance(seen, state)


def test_a_structure_is_read_as_it_was_written():
    seen = snapshot([[3, 1], [4], [2]])
    key = frozenset(
        [
            (frozenset([0, 2]), frozenset([frozenset([(0, 0)]), frozenset([(0, 1), (2, 0)])])),
            (frozenset([1]), frozenset([frozenset([(1, 0)])])),
        ]
    )
    assert read_structure(seen, write_structure(key, seen, workspace(seen)[0])) == key


@given(st.lists(STEPS, min_size=1, max_size=3), st.integers(0, 1000))
def test_what_the_sampler_holds_passes_the_check(stages, seed):
    counts, random, before, state = Counts(5), rng(seed), None, empty_state(np.array([0, 2, 5]), 1.0, 0.5, 0.1)
    for steps in stages:
        seen = record(counts, steps)
        state = carry_over(state, before, seen)
        check_classes(state.label, state.position, state.hyper, seen)
        scratch = make_scratch(5, int(np.diff(seen.ptr).max()), 200)
        for _ in range(3):
            assert resample_pairs(random, 0, False, False, seen, state, scratch)[0] == 5
            check_classes(state.label, state.position, state.hyper, seen)
        before = seen


@pytest.mark.parametrize(
    ("field", "damaged", "culprit"),
    [
        ("label", [0, 3, 0], "class is out of range"),
        ("label", [0, -2, 0], "class is out of range"),
        ("label", [0, 1], "classes drawn do not fit"),
        ("label", [0.0, 1.0, 0.0], "classes drawn do not fit"),
        ("position", [0, 4, 0, 0], "position is out of range"),
        ("position", [1, 1, 0, 0], "two successors of a pair stand at one position"),
        ("position", [0, 1, 0], "positions drawn do not fit"),
        ("hyper", [1.0, -1.0], "must be positive"),
        ("hyper", [np.nan, 1.0], "must be positive"),
        ("hyper", [np.inf, 1.0], "must be positive"),
        ("hyper", [1.0], "parameters drawn do not fit"),
    ],
)
def test_a_damaged_structure_is_refused(field, damaged, culprit):
    seen = snapshot([[3, 1], [4], [2]])
    right = {"label": np.array([0, 1, 0]), "position": np.array([0, 1, 0, 0]), "hyper": np.array([1.0, 0.5])}
    check_classes(**right, seen=seen)
    with pytest.raises(ValueError, match=culprit):
        check_classes(**right | {field: np.array(damaged)}, seen=seen)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_a_step_is_taken_exactly_where_there_is_room_for_it(given, plain):
    """A class of width 3, a pair of two successors: 2 * (3 + 2) + 4 cells more, and 3 + 2 positions below the last."""
    seen = snapshot([[3, 2, 1], [4, 3], [2]])
    held, _ = workspace(seen)
    held = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1), (1, 1)], [(0, 2)]]), ((2,), [[(2, 0)]])], seen, held)
    step = resample_within if given else resample
    for spare, positions, room in ((14, 6, True), (13, 6, False), (14, 5, False)):
        state = carry_over(held._replace(label=held.label.copy()), seen, seen)
        state = state._replace(pooled=state.pooled[: state.used[1] + spare].copy())
        scratch = make_scratch(3, positions - 1, 0)
        assert len(scratch.taken) == positions
        before = [array.tolist() for array in state[:-1]]
        assert bool((step.py_func if plain else step)(rng(1), 1, seen, state, scratch)) == room
        assert room or [array.tolist() for array in state[:-1]] == before
        assert_books_balance(seen, state)


def test_the_first_pair_of_all_asks_for_room_for_its_own_successors_alone():
    seen = snapshot([[4, 3]])
    for cells, positions, room in ((8, 3, True), (7, 3, False), (8, 2, False)):
        state, _ = workspace(seen)
        state = state._replace(pooled=np.zeros(cells, np.int64))
        assert bool(resample(rng(1), 0, seen, state, make_scratch(1, positions - 1, 0))) == room


def test_scratch_has_a_place_for_all_that_a_step_may_hold():
    scratch = make_scratch(7, 3, 5)
    assert [len(array) for array in scratch] == [9, 9, 9, 10, 4, 9, LOOKED_UP]
    assert [array.dtype.name for array in scratch] == [
        "float64",
        "uint64",
        "int64",
        "float64",
        "int64",
        "int64",
        "float64",
    ]


def test_classes_get_twice_the_cells_they_need_and_four_more_and_all_of_them_some_to_spare():
    seen = snapshot([[3, 2, 1], [4, 3], [2], [1]])
    state = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1), (1, 1)], [(0, 2)]])], seen, workspace(seen)[0])
    assert (state.room[0], state.start[0], state.used.tolist()) == (2 * 3 + 4, 0, [1, 10])
    assert len(state.pooled) == 10 + 4 * 7 + 8 * 4 + 64
    assert reserve(0, 7, state)
    assert (state.start[0], state.room[0]) == (0, 10)  # there was room
    assert reserve(0, 8, state)
    assert (state.start[0], state.room[0], state.used[1]) == (10, 2 * (3 + 8), 32)
    assert state.pooled[10:14].tolist() == [7, 5, 1, 0]
    short = state._replace(pooled=state.pooled[: 32 + 2 * (3 + 20)].copy())
    assert reserve(0, 20, short)
    assert not reserve(0, 44, short)


@pytest.mark.parametrize("plain", [False, True])
def test_new_positions_take_the_first_empty_cells_and_the_last_ones_are_given_back(plain):
    seen = snapshot([[3, 2, 1], [4, 3, 2, 2], [1]])
    state, _ = workspace(seen)
    state.members[0], state.total[0], state.width[0], state.room[0], state.used[:] = 1, 8, 5, 9, [1, 9]
    state.pooled[:9] = [5, 0, 3, 0, 0, 7, 7, 7, 7]  # what lies beyond the width is not counted
    run = install.py_func if plain else install
    run(0, 0, seen, state, np.array([2, -1, -1]))
    assert state.position[:3].tolist() == [2, 1, 3]
    assert (state.pooled[:4].tolist(), state.width[0], state.total[0], state.members[0]) == ([5, 2, 6, 1], 4, 14, 2)
    run(1, 0, seen, state, np.array([-1, 0, -1, 3]))
    assert state.position[3:7].tolist() == [4, 0, 5, 3]
    assert (state.pooled[:6].tolist(), state.width[0]) == ([8, 2, 6, 3, 4, 2], 6)
    assert state.label.tolist() == [0, 0, -1]
