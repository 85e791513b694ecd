"""Where what was not seen may lead: to states never entered only from pairs that were not often tried."""

import math

import numpy as np
import pytest
from scipy import stats

import equirl as eq
from equirl.estimation.given_knowledge import NOTHING
from equirl.model.pairs import Pairs
from equirl.numerics.random_draws import draw_state
from equirl.posterior.drawn_rows import ClassDraw, Placing, draw_class_rows, draw_masses, make_rows
from equirl.posterior.hope import OFTEN, Reach, draw_exceptions, everywhere, fading, n_open, reach_of
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
            np.empty(len(state.mass)), np.empty(M + 1), np.full(M, -1), 0.1, 0.0,
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
