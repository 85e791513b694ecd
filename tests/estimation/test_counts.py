import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.estimation.counts import Counts
from equirl.estimation.pooling import PLACEMENTS, Grouping, estimate, pool, pool_given, tie_groups
from equirl.learners.published_learner import place_by_quicksort, quicksort_order
from equirl.model.mdp import TabularMDP
from equirl.structure.equivalence import equivalence_classes
from equirl.structure.similarity import profiles
from oracles import Tally, pooled_law, quicksort_order as plain_quicksort_order

STEPS = st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1), st.integers(0, 6)), max_size=120)


def both(steps):
    counts, tally = Counts(6, room=1), Tally()
    for pair, reward, x in steps:
        counts.record(pair, reward, x)
        tally.record(pair, reward, x)
    return counts, tally


@given(STEPS)
def test_the_growing_table_holds_what_dictionaries_hold_in_profile_order(steps):
    counts, tally = both(steps)
    seen = counts.snapshot()
    for k in range(6):
        part = slice(seen.ptr[k], seen.ptr[k + 1])
        assert list(zip(seen.succ[part].tolist(), seen.count[part].tolist(), strict=True)) == tally.profile(k)
        assert seen.visits[k] == tally.visits[k]
        assert seen.r_sum[k] == tally.r_sum[k]


@given(STEPS, STEPS)
def test_restored_counts_go_on_as_the_originals(before, after):
    counts, _ = both(before)
    twin = Counts.restore(counts.snapshot())
    for pair, reward, x in after:
        counts.record(pair, reward, x)
        twin.record(pair, reward, x)
    for mine, other in zip(counts.snapshot(), twin.snapshot(), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_snapshot_is_unaffected_by_later_steps():
    counts, _ = both([(0, 0.5, 1)])
    seen = counts.snapshot()
    counts.record(0, 1.0, 2)
    assert seen.visits[0] == 1
    assert seen.succ.tolist() == [1]


@pytest.mark.parametrize(
    ("ties", "n_states"), [("support", 7), ("optimistic", 7), ("index", 7), ("quicksort", 7), ("quicksort", 40)]
)
@given(steps=STEPS, label=st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_pooling_equals_its_definition(ties, n_states, steps, label):
    counts, tally = both(steps)
    label = np.unique(label, return_inverse=True)[1]
    place = {**PLACEMENTS, "quicksort": place_by_quicksort}[ties]
    groups = Grouping(label, label.max() + 1)
    got = pool(counts.snapshot(), groups, n_states, place=place, means=groups)
    for k in range(6):
        members = [j for j in range(6) if label[j] == label[k]]
        law, spare = pooled_law(tally, members, k, n_states, ties)
        part = got.rows.row(k)
        found = dict(zip(got.rows.succ[part].tolist(), got.rows.prob[part].tolist(), strict=True))
        assert found == pytest.approx(law, abs=1e-12)
        if ties == "optimistic":
            own = [] if got.spare is None else got.spare.mass[got.spare.ptr[k] : got.spare.ptr[k + 1]]
            assert own == pytest.approx(spare, abs=1e-12)
        n = sum(tally.visits[j] for j in members) if tally.visits[k] else 0
        assert got.samples[k] == n
        if n:
            assert got.r_hat[k] == pytest.approx(sum(tally.r_sum[j] for j in members) / n)


def sorted_places(values):
    order = np.empty(len(values), np.int64)
    quicksort_order(np.array(values, dtype=np.int64), order)
    return order.tolist()


@given(st.lists(st.sampled_from([0, 0, 0, 0, 1, 2, 9]), max_size=200))
def test_quicksort_leaves_ties_as_its_swaps_fall(values):
    order = sorted_places(values)
    assert order == plain_quicksort_order(values)
    assert [values[i] for i in order] == sorted(values)


def test_the_order_of_ties_is_that_of_the_published_programs_library():
    values = [0] * 25
    values[3], values[4] = 6, 4
    order = [0, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 23, 12, 10, 9, 8, 7, 6, 5, 2, 1, 11, 24, 4, 3]
    assert sorted_places(values) == order  # numpy.argsort before it used vector instructions


def test_up_to_sixteen_states_quicksort_orders_ties_by_number():
    assert sorted_places([0] * 16) == list(range(16))
    assert sorted_places([0] * 17) != list(range(17))


@given(STEPS)
def test_pooling_over_singletons_is_no_pooling_to_the_last_bit(steps):
    seen = both(steps)[0].snapshot()
    alone = Grouping(np.arange(6), 6)
    plain, pooled = estimate(seen), pool(seen, alone, 7, means=alone)
    for mine, other in zip((*plain.rows, *plain[1:4]), (*pooled.rows, *pooled[1:4]), strict=True):
        np.testing.assert_array_equal(mine, other)


def three_alike():
    """Three pairs of one class (0.6, 0.2, 0.2), each with its own order of the states."""
    laws = [{0: 0.6, 1: 0.2, 2: 0.2}, {1: 0.6, 2: 0.2, 0: 0.2}, {2: 0.6, 0: 0.2, 1: 0.2}]
    return TabularMDP.from_pairs([(s, 0, law, 0.5) for s, law in enumerate(laws)], 3)


def test_known_profiles_pool_position_by_position_and_ties_share():
    mdp = three_alike()
    counts = Counts(3)
    for pair, x in [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (1, 2)]:
        counts.record(pair, 1.0, x)
    table = profiles(mdp)
    label = equivalence_classes(mdp).label
    groups = Grouping(label, 1)
    got = pool_given(counts.snapshot(), groups, table, tie_groups(table, label), means=groups)
    for k in range(3):
        part = got.rows.row(k)
        law = dict(zip(got.rows.succ[part].tolist(), got.rows.prob[part].tolist(), strict=True))
        assert law == {k: 0.5, (k + 1) % 3: 0.25, (k + 2) % 3: 0.25}  # 3 of 6 at position 1; 3 shared by the rest
        assert got.samples[k] == 6
        assert got.r_hat[k] == 1.0


def test_a_successor_outside_the_known_profile_is_named():
    mdp = TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.0), (1, 0, {0: 1.0}, 0.0)], 2)
    counts = Counts(2)
    counts.record(1, 0.0, 1)
    table, label = profiles(mdp), np.zeros(2, int)
    with pytest.raises(ValueError, match="pair 1 was seen to reach state 1"):
        pool_given(counts.snapshot(), Grouping(label, 1), table, tie_groups(table, label), means=None)


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1)), max_size=60), st.integers(0, 2))
def test_a_path_counts_as_its_steps_one_by_one_and_the_table_grows_on_the_way(steps, final):
    owner = np.array([0, 0, 1, 1, 2, 2])
    path, rewards = np.array([k for k, _ in steps], np.int64), np.array([r for _, r in steps])
    successors = [*owner[path[1:]].tolist(), final][: len(path)]
    whole, stepwise = Counts(6, room=1), Counts(6, room=1)
    whole.record_path(path, rewards, final, owner)
    squares = np.zeros(6)
    for k, reward, x in zip(path.tolist(), rewards.tolist(), successors, strict=True):
        stepwise.record(k, reward, x)
        squares[k] += reward * reward
    for mine, other in zip(whole.snapshot(), stepwise.snapshot(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    np.testing.assert_allclose(stepwise.r_squares, squares, rtol=1e-12)


def test_a_full_block_of_successors_moves_to_one_of_twice_its_room():
    counts, room = Counts(3, room=1), []
    for x in range(9):
        counts.record(1, 0.0, x)
        room.append(counts.table.room.tolist())
    assert room == [[1, n, 1] for n in (1, 2, 4, 4, 8, 8, 8, 8, 16)]
    assert counts.table.used[0] == 3 + 2 + 4 + 8 + 16 <= len(counts.table.state)


def test_the_table_grows_by_as_much_as_it_holds_and_by_two_blocks_of_the_widest():
    for n_pairs, room, more in ((1, 1, 16), (40, 1, 40), (1, 40, 80)):
        counts = Counts(n_pairs, room=room)
        before = len(counts.table.state)
        counts.grow()
        assert len(counts.table.state) == len(counts.table.count) == before + more
