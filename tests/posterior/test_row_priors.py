"""Samplers of rows: their settings, whose turn it is, and what keeps a learner exploring."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equirl.estimation.given_knowledge import Given
from equirl.model.pairs import Pairs
from equirl.numerics.portions import finished
from equirl.numerics.random_draws import draw_state
from equirl.posterior import hope, row_priors
from equirl.posterior.hope import Hope, reach_of, stay_length
from equirl.posterior.row_priors import (
    ALPHAS,
    GAMMAS,
    ClassRows,
    DirichletRows,
    GivenClassRows,
    GivenProfileRows,
    PublishedRows,
)
from equirl.structure.partition import Partition
from oracles_posterior import snapshot

PAIRS = Pairs.uniform(3, 2)
SEEN = snapshot([[3, 1], [], [2], [], [], []], n_states=3)
CLASSES = Partition([0, 0, 1, 1, 2, 2])


def sampler(**settings):
    return ClassRows(**settings).row_sampler(PAIRS, Given())


def given(**settings):
    return GivenClassRows(**settings).row_sampler(PAIRS, Given(CLASSES))


def rng():
    return draw_state(np.random.SeedSequence(1))


@pytest.mark.parametrize(
    ("part", "name", "good", "wrong"),
    [
        (DirichletRows, "prior", [1e-9, 1e9], [0.0, -1.0, 1.1e9, math.inf, math.nan]),
        (GivenProfileRows, "prior", [1e-9, 1e12], [0.0, math.inf]),
        (ClassRows, "alpha", [1e-9, 1e12, "drawn"], [0.0, math.inf, -1.0]),
        (ClassRows, "gamma", [1e-9, 1e12, "drawn"], [0.0, math.inf, -1.0]),
        (ClassRows, "scan", [1, 10**6], [0, -1, 1.5]),
        (ClassRows, "hope", [0.0, 1e9], [-0.1, 1.1e9]),
        (GivenClassRows, "gamma", [0.5, "drawn"], [0.0]),
        (GivenClassRows, "hope", [0.0, 1e9], [-0.1]),
    ],
)
def test_settings_out_of_their_range_are_named_and_its_ends_are_in_it(part, name, good, wrong):
    for value in good:
        assert getattr(part(**{name: value}), name) == value
    for value in wrong:
        with pytest.raises((TypeError, ValueError), match=name):
            part(**{name: value})


def test_a_flat_prior_is_shared_by_all_states():
    assert DirichletRows(6.0).row_sampler(PAIRS, Given()).strength == 2.0


def test_rows_of_single_pairs_reach_what_was_entered_and_as_published_everything(monkeypatch):
    asked = []
    monkeypatch.setattr(row_priors, "draw_own_rows", lambda *call: asked.append(call[3]))
    for part in (DirichletRows(), PublishedRows()):
        _, work = part.row_sampler(PAIRS, Given()).draw(SEEN, rng())
        assert work == len(SEEN.succ)
    entered, everything = (placing.reach for placing in asked)
    assert (entered.n_entered, entered.often) == (2, pytest.approx(4.0))  # 4 sqrt(6 steps / 6 pairs)
    assert (everything.n_entered, everything.often) == (3, math.inf)
    assert all((placing.near, placing.outward, len(placing.beyond)) == (0.0, 0.0, 0) for placing in asked)


@pytest.mark.parametrize(
    ("scan", "turns"),
    [
        (4, [[(0, 4), (0, 0)], [(4, 6), (0, 2)], [(2, 6), (0, 0)], [(0, 4), (0, 0)]]),
        (6, [[(0, 6), (0, 0)], [(0, 6), (0, 0)]]),
        (100, [[(0, 6), (0, 0)], [(0, 6), (0, 0)]]),
        (1, [[(0, 1), (0, 0)], [(1, 2), (0, 0)]]),
    ],
)
def test_new_pairs_are_drawn_first_and_the_others_in_turn(scan, turns, monkeypatch):
    drawn, asked = sampler(scan=scan), []

    def resample(seen, random, first, last, only_new, budget):
        yield budget
        asked.append((first, last, only_new))
        return 10

    monkeypatch.setattr(drawn, "_resample", resample)
    for turn in turns:
        asked.clear()
        assert drawn.refresh(SEEN, rng()) == 30
        assert asked == [(0, 6, True), *((*part, False) for part in turn)]
    assert drawn.before is SEEN


def test_work_adds_up_where_cells_run_out_and_the_draw_goes_on_where_it_stopped(monkeypatch):
    drawn, asked, renumbered = sampler(), [], []
    ends = [(2, 5), (4, 7), (6, 1)]

    def resample_range(random, first, last, only_new, fixed, seen, state, scratch):
        asked.append((first, last, only_new, fixed))
        return ends.pop(0)

    monkeypatch.setattr(row_priors, "resample_range", resample_range)
    monkeypatch.setattr(row_priors, "carry_over", lambda state, before, seen: renumbered.append(before) or state)
    assert finished(drawn._resample(SEEN, rng(), 1, 6, only_new=True)) == 13
    assert asked == [(1, 6, True, False), (2, 6, True, False), (4, 6, True, False)]
    assert len(renumbered) == 2
    assert finished(drawn._resample(SEEN, rng(), 6, 6, only_new=False)) == 0


@pytest.mark.parametrize(("alpha", "gamma"), [("drawn", 0.3), (0.7, "drawn"), (0.7, 0.3), ("drawn", "drawn")])
def test_only_what_is_drawn_is_drawn(alpha, gamma, monkeypatch):
    drawn, asked = sampler(alpha=alpha, gamma=gamma), []
    for name in ("draw_alpha", "draw_gamma"):
        monkeypatch.setattr(row_priors, name, lambda random, state, grid, room: asked.append((grid, len(room))))
    drawn.refresh(SEEN, rng())
    expected = [grid for grid, value in ((ALPHAS, alpha), (GAMMAS, gamma)) if value == "drawn"]
    assert [(id(grid), room) for grid, room in asked] == [(id(grid), len(grid)) for grid in expected]
    assert drawn.measures() == {"alpha": 1.0 if alpha == "drawn" else 0.7, "gamma": 0.5 if gamma == "drawn" else 0.3}


def test_placements_are_as_near_as_successors_were_where_there_is_hope(monkeypatch):
    assert sampler(hope=0.0)._near(SEEN, rng()) == 0.0
    monkeypatch.setattr(row_priors, "count_near", lambda *_: (3, 10))
    monkeypatch.setattr(row_priors, "beta_draw", lambda random, a, b: (a, b))
    assert sampler()._near(SEEN, rng()) == (4.0, 8.0)


def looked_for(drawn):
    chance, states = drawn._outward(SEEN, reach_of(SEEN, drawn.pair_ptr))
    return chance, states.tolist()


def test_states_never_left_are_looked_for_where_classes_are_given_and_few_never_entered_where_nothing_is(monkeypatch):
    assert looked_for(given()) == (0.5, [2])
    assert looked_for(given(hope=0.0)) == looked_for(sampler(hope=0.0)) == (0.0, [])
    assert looked_for(sampler()) == (0.0, [2])  # a third of all states are more than few
    monkeypatch.setattr(hope, "HIDDEN", 0.5)
    assert looked_for(sampler()) == (pytest.approx(0.25), [2])


def test_unknown_pairs_are_left_in_the_end_unless_classes_are_given():
    assert sampler()._leave(SEEN) == 1 / stay_length(6) == 1 / 30
    assert given()._leave(SEEN) == 0.0


def test_where_classes_are_given_only_pairs_of_classes_never_visited_stay_put():
    assert sampler(hope=3.0)._untried(SEEN) == 3.0
    known = given(hope=3.0)
    known.refresh(SEEN, rng())
    assert known._untried(SEEN) == 3.0 * 4 / 2  # of four pairs never visited two are of such a class
    full = snapshot([[1], [], [1], [], [1], []])
    known.refresh(full, rng())
    assert known._untried(full) == 3.0 * 3


def test_a_sampler_without_hope_makes_no_exceptions():
    assert (sampler(hope=2.0).hope, given().hope) == (Hope(2.0, 2.0, 2.0), Hope(1.0, 1.0, 0.0, 0.5))
    for drawn in (sampler(), given()):
        drawn.drop_hope()
        assert drawn.hope == Hope(0.0, 0.0, 0.0, 0.0, False)


@pytest.mark.parametrize("make", [sampler, given])
def test_what_was_drawn_is_kept_and_restored(make):
    one, two = make(scan=4), make(scan=4)
    one.draw(SEEN, rng())
    two.restore(one.arrays(), SEEN)
    assert two.next == one.next == 4
    assert two.labels().tolist() == one.labels().tolist()
    assert two.measures() == one.measures()
    first, second = (twin.draw(SEEN, rng()) for twin in (one, two))
    assert first[1] == second[1]
    np.testing.assert_array_equal(first[0].prob[: first[0].ptr[-1]], second[0].prob[: second[0].ptr[-1]])


def test_other_classes_than_those_given_are_not_restored():
    known = given()
    known.draw(SEEN, rng())
    other = known.arrays() | {"class_label": np.array([0, 1, 1, 1, 2, 2])}
    with pytest.raises(ValueError, match="the classes drawn are not those given"):
        given().restore(other, SEEN)


@pytest.mark.parametrize("make", [sampler, given, lambda: DirichletRows().row_sampler(PAIRS, Given())])
def test_rows_drawn_have_mass_one(make):
    rows, work = make().draw(SEEN, rng())
    assert work >= 0
    for k in range(6):
        part = slice(rows.ptr[k], rows.ptr[k + 1])
        assert rows.prob[part].sum() + rows.rest[k] == pytest.approx(1.0)
        assert set(SEEN.succ[SEEN.ptr[k] : SEEN.ptr[k + 1]]) <= set(rows.succ[part])
