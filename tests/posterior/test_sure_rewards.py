"""Pairs that always paid the same: how often they are taken for sure, and what follows from it."""

import numpy as np
import pytest
from scipy import stats

import equirl as eq
from equirl.learners import make_settings
from equirl.numerics.random_draws import draw_state
from equirl.posterior import class_posterior, reward_priors
from equirl.posterior.reward_priors import SAME, _Tables, base_of, draw_constant, paid_the_same
from oracles_posterior import snapshot

ANY = np.ones(2)  # Beta(1, 1), of amounts not shown yet


def seen_of(visits, r_sum, r_squares):
    return snapshot([[n] for n in visits], rewards=r_sum)._replace(r_squares=np.array(r_squares, float))


def rng(seed=0):
    return draw_state(np.random.SeedSequence(seed))


def drawn(seen, times=20_000):
    state, sure, total = rng(), np.empty(len(seen.visits), bool), np.zeros(len(seen.visits))
    for _ in range(times):
        draw_constant(state, seen, ANY, np.empty(len(sure)), sure)
        total += sure
    return total / times


def test_whether_a_pair_paid_the_same():
    """0.3 each time; 0 and 1; 0.7 once; never visited; nothing each time; 1 each time."""
    seen = seen_of([3, 4, 1, 0, 2, 2], [0.9, 2.0, 0.7, 0.0, 0.0, 2.0], [0.27, 2.0, 0.49, 0.0, 0.0, 2.0])
    assert [paid_the_same(k, seen) for k in range(6)] == [True, False, True, False, False, False]


def test_rounding_of_long_sums_is_no_noise():
    counts = eq.make_agent("ucrl2-l", 1, 1).counts
    for _ in range(10_000):
        counts.record(0, 0.1, 0)
    assert paid_the_same(0, counts.snapshot())


def test_chances_are_those_of_the_model():
    """Against the integral over rho by quadrature."""
    visits = np.array([1, 2, 9, 5, 7, 3])
    seen = seen_of(visits, [0.3, 1.0, 7.2, 2.0, 0.0, 3.0], [0.09, 0.5, 5.76, 2.0, 0.0, 3.0])  # the fourth paid 0 and 1
    rho = (np.arange(20_000) + 0.5) / 20_000
    density = rho**2 * (1 - rho)  # of those visited twice that paid between 0 and 1, two paid the same and one did not
    chances = [rho / (rho + (1 - rho) * 2 / (n + 1)) for n in visits]
    wanted = [float((chance * density).sum() / density.sum()) for chance in chances[:3]]
    found = drawn(seen)
    np.testing.assert_allclose(found[:3], wanted, atol=0.015)
    assert not found[3:].any()


def test_where_nothing_can_be_sure_no_random_number_is_spent():
    state, mean, sure = rng(), np.empty(2), np.empty(2, bool)
    before = state.copy()
    draw_constant(state, seen_of([3, 5], [0.0, 2.0], [0.0, 2.0]), ANY, mean, sure)
    assert not sure.any()
    assert np.isnan(mean).all()
    np.testing.assert_array_equal(state, before)


def test_an_amount_that_is_not_sure_has_another_with_chance_beta():
    """Mean c + p (u - c) with p ~ Beta(1, n + 1) and u uniform; seen once it is left to the tables."""
    seen, state = seen_of([4, 1], [1.2, 0.7], [0.36, 0.49]), rng(1)
    mean, sure, found = np.empty(2), np.empty(2, bool), []
    for _ in range(30_000):
        draw_constant(state, seen, ANY, mean, sure)
        assert sure[1] or np.isnan(mean[1])
        if sure[0]:
            assert mean[0] == pytest.approx(0.3)
        else:
            found.append(mean[0])
    rng_p = np.random.default_rng(0)
    wanted = 0.3 + rng_p.beta(1, 5, 20_000) * (rng_p.random(20_000) - 0.3)
    assert stats.ks_2samp(found, wanted).pvalue > 1e-3


@pytest.mark.parametrize("name", ["c-psrl", "c-psrl-c", "c-psrl-c-sigma"])
def test_where_everything_is_paid_for_sure_a_few_visits_tell_what(name):
    world = eq.make("random", n_states=6, seed=1)
    agent = eq.simulate(world, name, 3000, seed=0).agent
    seen = agent.counts.snapshot()
    often = (seen.visits > 5) & (world.r_mean > 0)
    draws = np.array([agent.draw_model(seen)[0].reward for _ in range(40)])
    exact = np.isclose(draws[:, often], world.r_mean[often], atol=1e-9)
    assert exact.mean() > 0.95


def test_where_rewards_are_coins_draws_are_those_of_coins():
    world = eq.make("random", n_states=6, seed=1, reward_law="bernoulli")
    agent = eq.simulate(world, "c-psrl", 5000, seed=0, rewards="per_pair").agent
    seen = agent.counts.snapshot()
    k = int(np.argmax(seen.visits * (np.abs(world.r_mean - 0.5) < 0.3)))
    n, paid = seen.visits[k], seen.r_sum[k]
    draws = np.array([agent.draw_model(seen)[0].reward[k] for _ in range(2000)])
    mean = (1 + paid) / (2 + n)
    assert draws.mean() == pytest.approx(mean, abs=0.1 * np.sqrt(mean * (1 - mean) / n))
    assert draws.std() == pytest.approx(np.sqrt(mean * (1 - mean) / (n + 3)), rel=0.1)


def test_an_amount_that_was_the_same_three_times_may_still_be_a_surprise():
    """One arm pays 0.5 for sure; the other 0.2 at its first three visits, and 1 most of the time from then on.

    Of forty seeds two to four need longer than 20,000 steps; without surprises all do.
    """
    found = 0
    for seed in range(8):
        agent, random, tries = eq.make_agent("c-psrl", 1, 2, seed=seed), np.random.default_rng(seed), 0
        for _ in range(20_000):
            arm = agent.act_id(0)
            tries += arm
            agent.observe(0, arm, 0.5 if arm == 0 else 0.2 if tries <= 3 else float(random.random() < 0.8), 0)
            if tries > 200:
                break
        found += tries > 200
    assert found >= 5


def test_pairs_that_pay_the_same_sure_amount_share_it():
    agent = eq.simulate(eq.make("four-room"), "c-psrl", 4000, seed=1).agent
    found = class_posterior(agent, draws=20, seed=0)
    poor = [int(k) for k in np.flatnonzero((agent.counts.visits > 30) & (agent.counts.r_sum == 0))[:2]]
    together = found.reward_tables[:, poor[0]] == found.reward_tables[:, poor[1]]
    assert together.mean() > 0.8


def test_coins_for_everyone_are_still_to_be_had():
    with pytest.raises(ValueError, match="reward_noise"):
        make_settings("c-psrl", reward_noise="dice")
    assert make_settings("psrl-published").reward_noise == "coin"
    for name in ("psrl", "c-psrl", "c-psrl-c", "c-psrl-c-sigma"):
        assert make_settings(name).reward_noise == "drawn"


def test_without_hope_another_amount_is_what_pairs_usually_pay():
    """Ten pairs always paid 0.1 or so: one that is not sure of its 0.6 pays less, not more."""
    seen = seen_of([4] * 10 + [3], [0.4] * 10 + [1.8], [0.04] * 10 + [1.08])
    mean, sure, found = np.empty(11), np.empty(11, bool), []
    base, state = base_of(seen, hopeful=False), rng(3)
    for _ in range(20_000):
        draw_constant(state, seen, base, mean, sure)
        if not sure[10]:
            found.append(mean[10])
    assert np.mean(found) == pytest.approx(0.6 + (base[0] - 0.6) / 5, abs=0.01)  # Beta(1, 4) has the mean 1 / 5


@pytest.mark.parametrize("plain", [False, True])
def test_amounts_are_strictly_between_the_ends_and_the_same_up_to_rounding(plain):
    run = paid_the_same.py_func if plain else paid_the_same
    for visits, amount, scatter, same in (
        (1, SAME, 0.0, False), (1, 1.1 * SAME, 0.0, True), (1, 1.0 - SAME, 0.0, False), (1, 1.0 - 2 * SAME, 0.0, True),
        (4, 0.5, 0.9 * SAME, True), (4, 0.5, 1.1 * SAME, False), (1, 2 * SAME, SAME, True),
    ):  # fmt: skip
        seen = seen_of([0, visits], [0.0, visits * amount], [0.0, visits * (amount * amount + scatter)])
        assert run(1, seen) == same
        assert not run(0, seen)


@pytest.mark.parametrize("hopeful", [True, False])
def test_sure_amounts_step_by_step_with_scripted_chances(hopeful, monkeypatch):
    """Two paid the same thrice, two once; then coins, always 1, nothing, once 1, two amounts."""
    visits, r_sum = [3, 3, 1, 1, 4, 2, 2, 1, 2], [0.9, 0.6, 0.7, 0.7, 2.0, 2.0, 0.0, 1.0, 0.8]
    seen = seen_of(visits, r_sum, [0.27, 0.12, 0.49, 0.49, 2.0, 2.0, 0.0, 1.0, 0.34])
    asked, mean, sure = [], np.empty(9), np.empty(9, bool)
    betas = [0.5, 0.25] if hopeful else [0.5, 0.25, 0.9]  # rho = 1/2: sure below 2/3 after three visits, 1/2 after one
    chances = [0.66, 0.67, 0.9, 0.5, 0.49] if hopeful else [0.66, 0.67, 0.5, 0.49]
    monkeypatch.setattr(reward_priors, "beta_draw", lambda _, a, b: asked.append((float(a), float(b))) or betas.pop(0))
    monkeypatch.setattr(reward_priors, "uniform", lambda _: chances.pop(0))
    draw_constant.py_func(None, seen, ANY if hopeful else np.array([0.4, 0.6]), mean, sure)
    assert asked == [(3.0, 3.0), (1.0, 4.0)] + ([] if hopeful else [(0.4, 0.6)])
    assert (betas, chances) == ([], [])
    assert sure.tolist() == [True, False, False, True] + [False] * 5
    np.testing.assert_allclose(mean, [0.3, 0.2 + 0.25 * (0.9 - 0.2), np.nan, 0.7] + [np.nan] * 5)


def test_tables_of_sure_amounts_and_of_surprises_are_those_of_nobody_else():
    sampler, tables = _Tables(8, shared=True), [2, 1, -1, -1, -1, -1, 6, 0]
    sampler.state.table[:] = tables
    assert sampler.tables().tolist() == tables  # before the first draw
    sampler.amount = np.array([np.nan, np.nan, 0.5, 0.25, 0.5 + 1e-12, np.nan, np.nan, 0.75])
    sampler.surprise = np.array([False, False, False, False, False, True, False, False])
    found = sampler.tables()
    assert found[2] == found[4]
    assert len(set(found.tolist())) == 7
    assert found[[0, 1, 6]].tolist() == [2, 1, 6]
