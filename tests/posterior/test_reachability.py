"""Where what was not seen may lead: to states never entered only from pairs that were not often tried."""

import math

import numpy as np
import pytest

import equirl as eq
from equirl.numerics.random_draws import draw_state
from equirl.posterior.drawn_rows import ClassDraw, Placing, draw_class_rows, draw_masses, make_rows
from equirl.posterior.exceptional_pairs import draw_exceptions, hope
from equirl.posterior.reachability import OFTEN, Reach, everywhere, n_open, reach_of
from oracles_posterior import resample_pairs, snapshot, workspace

S = 6
COUNTS = [[4], [60, 2], [], [], [], []]  # states 0 and 1 were entered; a pair each


def seen():
    found = snapshot(COUNTS)
    return found._replace(succ=np.array([1, 0, 1], np.int32))


def test_states_entered_come_first():
    reach = reach_of(seen(), np.arange(S + 1))
    assert reach.order.tolist() == [0, 1, 2, 3, 4, 5]
    assert reach.n_entered == 2
    assert reach.often == pytest.approx(OFTEN * math.sqrt(66 / 6))
    only = seen()._replace(succ=np.array([5, 0, 3], np.int32))
    assert reach_of(only, np.arange(S + 1)).order.tolist() == [0, 1, 3, 5, 2, 4]


def test_before_the_first_step_every_pair_may_lead_anywhere():
    none = snapshot([[], [], []])
    reach = reach_of(none, np.arange(4))
    assert (reach.n_entered, n_open(0.0, reach)) == (1, 3)


def test_a_pair_often_tried_is_closed_and_everywhere_is_open():
    reach = Reach(np.arange(5), 2, 10.0)
    assert [n_open(n, reach) for n in (0.0, 10.0, 10.5)] == [5, 5, 2]
    assert n_open(1e9, everywhere(5)) == 5


def rows_of(reach, draws=300, exceptions=False):
    """The states that each pair's drawn rows lead to, over many draws; every pair is of a class of its own."""
    counts, ptr, rng = seen(), np.arange(S + 1), draw_state(np.random.SeedSequence(0))
    state, scratch = workspace(counts, alpha=1e9, gamma=1.0)
    resample_pairs(rng, 0, False, False, counts, state, scratch)
    found = [set() for _ in range(S)]
    for _ in range(draws):
        placing = Placing(ptr, np.arange(S), 2, 0.0, 0.0, np.zeros(0, np.int64), reach)
        M = len(counts.visits)
        draw = ClassDraw(
            np.empty(len(state.mass)), np.empty(M + 1), np.full(M, -1), 0.1, 0.0, 1.0,
            np.empty(int(state.width.max()) + 1, np.int64), np.empty(M, np.int64),
        )  # fmt: skip
        if exceptions:
            draw_exceptions(rng, 0.0, 50.0, reach, counts, ptr, draw.exception, np.empty(S, np.int64))
        draw_masses(rng, state, draw.w, draw.w_new)
        rows = make_rows(M, len(counts.succ), 2)
        draw_class_rows(rng, counts, state, placing, draw, rows)
        assert (rows.rest == 0).all()
        for k in range(M):
            held = rows.succ[rows.ptr[k] : rows.ptr[k + 1]]
            assert len(set(held.tolist())) == len(held)
            np.testing.assert_allclose(rows.prob[rows.ptr[k] : rows.ptr[k + 1]].sum(), 1)
            found[k] |= set(held.tolist())
    return found


@pytest.mark.parametrize("exceptions", [False, True])
def test_only_pairs_that_were_not_often_tried_lead_to_states_never_entered(exceptions):
    found = rows_of(reach_of(seen(), np.arange(S + 1)), exceptions=exceptions)
    assert found[0] == set(range(S))
    assert found[1] == {0, 1}
    assert found[2] == set(range(S))


def test_where_all_is_open_every_pair_leads_anywhere():
    assert all(states == set(range(S)) for states in rows_of(everywhere(S)))


def test_hope_fades_like_one_over_the_root_of_time():
    assert [hope(t) for t in (0, 1, 900)] == [1.0, 1.0, 1.0]
    assert hope(90_000) == pytest.approx(0.1)


def test_states_that_cannot_be_entered_cost_little():
    """Before, they made regret nearly linear: ten times that without them, and most of what uniform play loses."""
    lost = {}
    for walls in (False, True):
        worlds = [eq.make("four-room", walls_are_states=walls, shuffle=seed) for seed in range(4)]
        lost[walls] = np.mean([eq.simulate(world, "c-psrl", 20_000, seed=7).pseudo_regret[-1] for world in worlds])
    assert lost[True] < 5 * lost[False]
