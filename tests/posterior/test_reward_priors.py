from collections import Counter

import numpy as np
import pytest
from scipy import stats

from equirl.numerics.random_draws import draw_state
from equirl.posterior.reward_priors import (
    draw_by_pair,
    draw_shared,
    empty_tables,
    recount_tables,
    resample_tables,
)
from oracles_posterior import chi_square, snapshot, table_posterior

CASES = [  # rewards and visits by pair, alpha
    ([3.0, 0.0, 2.0, 1.0], [4, 5, 2, 6], 1.0),
    ([0.0, 1.0, 2.0], [3, 4, 5], 0.3),
    ([0.5, 1.25, 0.0, 3.0], [1, 2, 1, 3], 2.0),
]
FACTORS = ("members", "total")


def rng(seed):
    return draw_state(np.random.SeedSequence(seed))


def tables(rewards, visits, alpha, draws, thin=6):
    M, random = len(visits), rng(2)
    seen, state, found = snapshot([[n] for n in visits], rewards=rewards), empty_tables(len(visits)), Counter()
    for i in range(draws * thin):
        resample_tables(random, 0, M, alpha, seen, state, np.empty(M + 2))
        if i % thin == 0 and i > 50:
            found[frozenset(frozenset(np.flatnonzero(state.table == t).tolist()) for t in set(state.table))] += 1
    return found, seen, state


@pytest.mark.parametrize(("rewards", "visits", "alpha"), CASES)
def test_frequencies_of_tables_are_the_posterior(rewards, visits, alpha):
    found, seen, state = tables(rewards, visits, alpha, 8_000)
    bad = np.array(visits) - rewards
    assert chi_square(found, table_posterior(rewards, bad, alpha)) > 1e-3
    for factor in FACTORS:
        assert chi_square(found, table_posterior(rewards, bad, alpha, without=factor)) < 1e-6
    books = [array.copy() for array in state]
    recount_tables(seen, state)
    for kept, counted in zip(books[:1], state[:1], strict=True):
        np.testing.assert_array_equal(kept, counted)
    used = state.used[0]
    for kept, counted in zip(books[1:4], state[1:4], strict=True):
        np.testing.assert_allclose(kept[:used][state.members[:used] > 0], counted[:used][state.members[:used] > 0])


def test_a_concentration_beyond_all_counts_gives_every_pair_its_own_table():
    found, _, _ = tables([1.0, 1.0, 1.0], [2, 2, 2], 1e12, 50)
    assert set(found) == {frozenset(frozenset([k]) for k in range(3))}


def means(draw, n=6000):
    out = np.empty((n, 3))
    for row in out:
        draw(row)
    return out


def test_rewards_by_pair_are_beta_posteriors():
    seen, random = snapshot([[4], [7], []], rewards=[1.0, 7.0, 0.0]), rng(3)
    found = means(lambda out: draw_by_pair(random, seen, out))
    for k, (a, b) in enumerate([(2, 4), (8, 1), (1, 1)]):
        assert stats.kstest(found[:, k], stats.beta(a, b).cdf).pvalue > 1e-3


def test_pairs_of_a_table_share_one_mean_and_pairs_never_visited_draw_their_own():
    seen, random, state = snapshot([[4], [7], []], rewards=[1.0, 7.0, 0.0]), rng(4), empty_tables(3)
    state.table[:2] = 0
    recount_tables(seen, state)
    found = means(lambda out: draw_shared(random, 0.0, seen, state, np.empty(4), out))
    assert (found[:, 0] == found[:, 1]).all()
    assert stats.kstest(found[:, 0], stats.beta(9, 4).cdf).pvalue > 1e-3
    assert stats.kstest(found[:, 2], "uniform").pvalue > 1e-3


def test_a_pair_draws_from_its_own_rewards_with_the_chance_it_is_given():
    seen, random, state = snapshot([[4], [8], []], rewards=[1.0, 7.0, 0.0]), rng(5), empty_tables(3)
    state.table[:2] = 0
    recount_tables(seen, state)
    found = means(lambda out: draw_shared(random, 2.0, seen, state, np.empty(4), out))
    assert (found[:, 0] == found[:, 1]).mean() == pytest.approx(0.5 * 0.75, abs=0.03)
    assert stats.kstest(found[:, 2], "uniform").pvalue > 1e-3


def test_only_so_many_pairs_take_a_step_but_all_get_a_table():
    seen, state = snapshot([[3], [3], [], [3]], rewards=[0, 3, 0, 1.0]), empty_tables(4)
    resample_tables(rng(6), 2, 1, 1.0, seen, state, np.empty(6))
    assert (state.table >= 0).tolist() == [True, True, False, True]


def test_compiled_tables_equal_the_plain_ones():
    seen, ends = snapshot([[4], [7], [5]], rewards=[1.0, 7.0, 2.5]), []
    for step in (resample_tables, resample_tables.py_func):
        random, state = rng(7), empty_tables(3)
        for _ in range(20):
            step(random, 0, 3, 1.0, seen, state, np.empty(5))
        ends.append((random.tolist(), state.table.tolist()))
    assert ends[0] == ends[1]
