"""Where what was not seen may lead: to states never entered only from pairs that were not often tried."""

import math

import numpy as np
import pytest
from scipy import stats

import equirl as eq
from equirl.estimation.counts import Counts
from equirl.estimation.given_knowledge import NOTHING
from equirl.model.pairs import Pairs
from equirl.numerics.random_draws import draw_state
from equirl.posterior import hope
from equirl.posterior.drawn_rows import ClassDraw, Placing, draw_class_rows, draw_masses, make_rows
from equirl.posterior.hope import (
    HIDDEN,
    OFTEN,
    Hope,
    Reach,
    count_near,
    draw_exceptions,
    everywhere,
    fading,
    hidden_length,
    n_open,
    near_state,
    outward_to_few,
    reach_of,
    stay_length,
)
from equirl.posterior.row_priors import DirichletRows, PublishedRows
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
            np.empty(len(state.pooled)), np.empty(M + 1), np.full(M, -1), 0.1, 0.0,
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


# Rows of single pairs

OFTEN_TRIED, SELDOM_TRIED = 0, 1  # of four states entered, two were never seen from the first; two were never entered
SINGLE = snapshot([[60, 2], [3], [1], [1], [], []])._replace(succ=np.array([0, 1, 1, 2, 3], np.int32))


def single_rows(prior, counts=SINGLE, draws=8000, seed=1):
    """(draws, M, S) rows drawn, one pair per state."""
    M, rng = len(counts.visits), draw_state(np.random.SeedSequence(seed))
    sampler, out = prior.row_sampler(Pairs.uniform(M, 1), NOTHING), np.zeros((draws, M, M))
    for drawn in out:
        rows, _ = sampler.draw(counts, rng)
        cell = np.repeat(np.arange(M), np.diff(rows.ptr)), rows.succ[: rows.ptr[-1]]
        np.add.at(drawn, cell, rows.prob[: rows.ptr[-1]])
        drawn += rows.rest[:, None] / M
    np.testing.assert_allclose(out.sum(axis=2), 1)
    return out


def fit(mass, law, other, n_other, bins=4):
    """The p-value of: ``mass`` has this law, ``other`` is uniform on 0, ..., n_other - 1, and they are independent."""
    cell = np.minimum((law.cdf(mass) * bins).astype(int), bins - 1)
    return stats.chisquare(np.bincount(cell * n_other + other, minlength=bins * n_other)).pvalue


def fit_truncated(drawn, a, n_open):
    """Of the pair often tried, as Dirichlet(a + counts) over so many states: what it has not seen, and its halves."""
    unseen = drawn[:, OFTEN_TRIED, 2:].sum(axis=1)
    half = (drawn[:, OFTEN_TRIED, 2] > drawn[:, OFTEN_TRIED, 3]).astype(int)
    return fit(unseen, stats.beta((n_open - 2) * a, 62 + 2 * a), half, 2)


@pytest.mark.parametrize("a", [0.25, 1.0, 3.0])
def test_the_row_of_a_pair_often_tried_is_dirichlet_on_the_states_entered(a):
    drawn = single_rows(DirichletRows(prior=6 * a))
    assert (drawn[:, OFTEN_TRIED, 4:] == 0).all()
    assert fit_truncated(drawn, a, 4) > 1e-4
    assert fit_truncated(drawn, a, 6) < 1e-9
    row = drawn[drawn[:, OFTEN_TRIED, 2:].sum(axis=1) > 0, OFTEN_TRIED]  # masses next to nothing are not placed
    known, share = row[:, 0] / row[:, :2].sum(axis=1), row[:, 2] / row[:, 2:].sum(axis=1)
    assert fit(share, stats.beta(a, a), (4 * stats.beta(60 + a, 2 + a).cdf(known)).astype(int), 4) > 1e-4


@pytest.mark.parametrize("a", [0.25, 1.0, 3.0])
def test_the_row_of_a_pair_often_tried_is_dirichlet_on_all_states_as_published(a):
    drawn = single_rows(PublishedRows(prior=6 * a))
    assert (drawn[:, OFTEN_TRIED, 4:].max(axis=0) > 0).all()
    assert fit_truncated(drawn, a, 6) > 1e-4
    assert fit_truncated(drawn, a, 4) < 1e-9


@pytest.mark.parametrize("rows", [DirichletRows, PublishedRows])
@pytest.mark.parametrize("a", [0.25, 1.0])
def test_the_row_of_a_pair_seldom_tried_is_dirichlet_on_all_states(rows, a):
    drawn = single_rows(rows(prior=6 * a))[:, SELDOM_TRIED]
    unseen = np.delete(drawn, 1, axis=1)
    assert fit(drawn[:, 1], stats.beta(3 + a, 5 * a), unseen.argmax(axis=1), 5) > 1e-4


def test_where_all_that_was_entered_was_seen_nothing_is_left_to_place():
    drawn = single_rows(DirichletRows(prior=6.0), seen())
    assert (drawn[:, 1, 2:] == 0).all()
    assert fit(drawn[:, 1, 0], stats.beta(61, 3), np.zeros(len(drawn), int), 1) > 1e-4


def test_a_dense_prior_on_many_states_stays_where_it_may_and_shares_alike():
    """What is left once a row is full goes to the states it holds: their mean and the mass of all are exact."""
    counts = [[9], *[[1]] * 39, *[[]] * 20]
    many = snapshot(counts)._replace(succ=np.arange(40, dtype=np.int32))
    drawn = single_rows(DirichletRows(prior=60.0), many, 3000)[:, 0]
    assert (drawn[:, 40:] == 0).all()
    assert fit(drawn[:, 0], stats.beta(10, 39), np.zeros(len(drawn), int), 1) > 1e-4
    error = drawn[:, 1:40].std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn[:, 1:40].mean(axis=0) - 1 / 49) < 4.5 * error).all()
    assert (single_rows(PublishedRows(prior=60.0), many, 50)[:, 0, 40:] > 0).any()


# Learners


def test_hope_fades_like_one_over_the_root_of_time():
    assert [fading(t) for t in (0, 1, 900)] == [1.0, 1.0, 1.0]
    assert fading(90_000) == pytest.approx(0.1)


def test_states_that_cannot_be_entered_cost_little():
    """Before, they made regret nearly linear: ten times that without them, and most of what uniform play loses."""
    lost = {}
    for walls in (False, True):
        worlds = [eq.make("four-room", walls_are_states=walls, shuffle=seed) for seed in range(4)]
        lost[walls] = np.mean([eq.simulate(world, "c-psrl", 20_000, seed=7).pseudo_regret[-1] for world in worlds])
    assert lost[True] < 5 * lost[False]


def mean_regret(world, name, horizon, runs=6):
    return np.mean([eq.simulate(world.shuffled(k), name, horizon, seed=k).pseudo_regret[-1] for k in range(runs)])


@pytest.mark.parametrize(
    ("world", "parameters", "most"),
    [("four-room", {"walls_are_states": True}, 0.6), ("zoo/press", {}, 0.4)],
    ids=["walls are states", "noisy euros"],
)
def test_psrl_is_ahead_of_the_published_one_where_states_are_out_of_reach_or_rewards_are_noisy(world, parameters, most):
    """Measured at 20,000 steps: 0.34 and 0.12 times its regret."""
    mdp = eq.make(world, **parameters)
    assert mean_regret(mdp, "psrl", 20_000) < most * mean_regret(mdp, "psrl-published", 20_000)


# --- exceptions, by chances that are scripted

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
        monkeypatch.setattr(hope, "uniform", lambda _: self.uniform.pop(0))
        monkeypatch.setattr(hope, "below", self.whole)
        monkeypatch.setattr(hope, "near_state", near_state.py_func)

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
    monkeypatch.setattr(hope, "n_open", lambda visits, reach: 2)
    reach = everywhere(3)._replace(order=np.array([2, 0, 1]))
    chances = Chances(monkeypatch, uniform=[0.0, 0.6, *[0.9999] * 6], below=[1])
    assert exceptions(chances, seen, 1.0, 1.0, reach) == [0, -1, -1, -1, -1, -1, -1]
    assert chances.bounds == [2]


def test_stays_grow_and_exceptions_fade_with_time():
    assert [hidden_length(t) for t in (0, 9_999, 10_000, 40_000)] == pytest.approx([120.0, 120.0, 120.0, 240.0])
    assert [stay_length(t) for t in (0, 9_999, 10_000, 40_000)] == pytest.approx([30.0, 30.0, 30.0, 60.0])
    assert [fading(t) for t in (0, 1, 900, 3600, 90_000)] == pytest.approx([1.0, 1.0, 1.0, 0.5, 0.1])


def test_hope_is_scaled_and_without_any_the_model_is_all_there_is():
    usual = Hope(outward=0.25)
    assert usual == (1.0, 1.0, 1.0, 0.25, True)
    assert usual.scaled(3.0) == (3.0, 3.0, 3.0, 0.25, True)
    assert usual.scaled(0.0) == (0.0, 0.0, 0.0, 0.0, False)
    assert usual.scaled(1e-9).near
    assert not usual._replace(near=False).scaled(2.0).near


@pytest.mark.parametrize(("n_hidden", "share"), [(1, HIDDEN), (4, HIDDEN), (5, 0.25), (12, 0.6), (20, 1.0)])
def test_however_few_states_were_never_entered_a_fourth_of_what_is_not_near_goes_there(n_hidden, share):
    chance = outward_to_few(n_hidden, 20)
    assert chance + (1.0 - chance) * n_hidden / 20 == pytest.approx(share)
    assert 0.0 <= chance <= HIDDEN
    assert outward_to_few(0, 20) == 0.0
