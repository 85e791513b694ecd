"""Mean rewards: who shares a table, what a table pays, and how noisy rewards usually are."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import integrate, stats

import equirl as eq
from equirl.numerics.random_draws import draw_state
from equirl.posterior import reward_priors
from equirl.posterior.reward_priors import (
    CONCENTRATIONS,
    LARGEST_VARIANCE,
    RANGE_VARIANCE,
    SAME,
    SHAPE,
    _Tables,
    base_of,
    draw_means,
    empty_tables,
    log_marginal,
    normal_within,
    only_coins,
    recount_tables,
    resample_tables,
    scatter,
    table_weights,
)
from oracles_posterior import (
    chi_square,
    mixed_table_posterior,
    noisy_table_posterior,
    snapshot,
    table_posterior,
)

COINS = [  # rewards and visits by pair, alpha
    ([3.0, 0.0, 2.0, 1.0], [4, 5, 2, 6], 1.0),
    ([0.0, 1.0, 2.0], [3, 4, 5], 0.3),
    ([1.0, 1.0, 0.0, 3.0], [1, 2, 1, 3], 2.0),
]
NOISY = [  # rewards by pair, alpha, b
    ([[0.3, 0.4, 0.35], [0.32, 0.5], [0.7], [0.31]], 1.0, 0.01),
    ([[0.2, 0.9], [0.5], [0.52, 0.48, 0.5, 0.49]], 0.4, 0.05),
    ([[0.1], [0.15], [0.12], [0.4, 0.3]], 2.0, 0.02),
]
FACTORS = ("members", "total")


def rng(seed):
    return draw_state(np.random.SeedSequence(seed))


def seen_of(rewards):
    """Pairs that paid these amounts."""
    squares = np.array([float(np.square(paid).sum()) for paid in rewards])
    return snapshot([[len(paid)] for paid in rewards], rewards=[sum(paid) for paid in rewards])._replace(
        r_squares=squares
    )


def tables(seen, alpha, draws, b=0.1, thin=6, base=(1.0, 1.0)):
    random, state, found = rng(2), empty_tables(len(seen.visits)), Counter()
    state.noise[0], state.base[:] = b, base
    for i in range(draws * thin):
        resample_tables(random, alpha, seen, state, np.empty(len(seen.visits) + 2))
        if i % thin == 0 and i > 50:
            found[frozenset(frozenset(np.flatnonzero(state.table == t).tolist()) for t in set(state.table))] += 1
    return found, state


@pytest.mark.parametrize(("rewards", "visits", "alpha"), COINS)
def test_frequencies_of_tables_of_coins_are_the_posterior(rewards, visits, alpha):
    found, _ = tables(snapshot([[n] for n in visits], rewards=rewards), alpha, 8_000)
    bad = np.array(visits) - rewards
    assert chi_square(found, table_posterior(rewards, bad, alpha)) > 1e-3
    for factor in FACTORS:
        assert chi_square(found, table_posterior(rewards, bad, alpha, without=factor)) < 1e-6


@pytest.mark.parametrize(("rewards", "visits"), [case[:2] for case in COINS])
def test_tables_drawn_together_with_their_concentration_have_their_posterior(rewards, visits):
    seen, random, found = snapshot([[n] for n in visits], rewards=rewards), rng(2), Counter()
    sampler = _Tables(len(visits), shared=True)
    for i in range(60_000):
        sampler.draw(seen, random)
        if i % 10 == 0:
            table = sampler.tables()
            found[frozenset(frozenset(np.flatnonzero(table == t).tolist()) for t in set(table))] += 1
    bad = np.array(visits) - rewards
    assert chi_square(found, mixed_table_posterior(rewards, bad, CONCENTRATIONS)) > 1e-3
    assert chi_square(found, table_posterior(rewards, bad, 1.0)) < 1e-6


@pytest.mark.parametrize(("rewards", "visits", "alpha"), COINS)
def test_without_hope_tables_have_the_base_that_pairs_pay_on_average(rewards, visits, alpha):
    seen = snapshot([[n] for n in visits], rewards=rewards)
    m = (0.5 + np.sum(np.array(rewards) / visits)) / (1 + len(visits))
    base = base_of(seen, hopeful=False)
    np.testing.assert_allclose(base, [m, 1 - m])
    found, _ = tables(seen, alpha, 8_000, base=base)
    bad = np.array(visits) - rewards
    assert chi_square(found, table_posterior(rewards, bad, alpha, base=base)) > 1e-3
    assert chi_square(found, table_posterior(rewards, bad, alpha, base=base, without="base")) < 1e-6
    assert chi_square(found, table_posterior(rewards, bad, alpha)) < 1e-6


def test_without_hope_what_paid_nothing_once_pays_hardly_anything():
    """Twenty pairs that never paid, one seen once: its mean is a fifth of what hope makes of it, or less."""
    seen = snapshot([[50]] * 19 + [[1]], rewards=[0.0] * 20)
    means = {}
    for hopeful in (True, False):
        sampler, random = _Tables(20, shared=False), rng(4)  # each pair at a table of its own
        if not hopeful:
            sampler.drop_hope()
        means[hopeful] = np.mean([sampler.draw(seen, random)[19] for _ in range(2000)])
    assert means[True] == pytest.approx(1 / 3, abs=0.02)
    assert means[False] == pytest.approx(base_of(seen, hopeful=False)[0] / 2, abs=0.01)


@pytest.mark.parametrize(("rewards", "alpha", "b"), NOISY)
def test_frequencies_of_tables_of_noisy_rewards_are_the_posterior(rewards, alpha, b):
    found, _ = tables(seen_of(rewards), alpha, 8_000, b)
    assert chi_square(found, noisy_table_posterior(rewards, alpha, SHAPE, b)) > 1e-3
    for factor in ("members", "mean"):
        assert chi_square(found, noisy_table_posterior(rewards, alpha, SHAPE, b, without=factor)) < 1e-6


def test_books_are_those_of_a_recount():
    seen = seen_of([[0.3, 0.4], [1.0, 0.0], [0.9], [1.0], [0.35, 0.31]])
    _, state = tables(seen, 1.0, 20)
    books = [array.copy() for array in state[:5]]
    recount_tables(seen, state)
    np.testing.assert_array_equal(books[0], state.table)
    for kept, counted in zip(books[1:], state[1:5], strict=True):
        held = state.members > 0
        np.testing.assert_allclose(kept[held], counted[held], atol=1e-12)


def test_coins_and_amounts_never_share_a_table():
    seen = seen_of([[1.0, 0.0], [0.5, 0.6], [0.0], [0.55]])
    found, _ = tables(seen, 0.01, 300)
    for partition in found:
        for members in partition:
            assert len({k in (0, 2) for k in members}) == 1


def test_a_pair_that_pays_coins_no_longer_leaves_their_table():
    state = empty_tables(3)
    state.table[:] = 0
    recount_tables(seen_of([[0.0, 1.0], [0.0, 0.4], [1.0]]), state)
    assert state.table.tolist() == [0, -1, 0]
    assert (state.visits[0], state.total[0], state.squares[0]) == (3.0, 2.0, 2.0)


def test_a_concentration_beyond_all_counts_gives_every_pair_its_own_table():
    found, _ = tables(snapshot([[2], [2], [2]], rewards=[1.0, 1.0, 1.0]), 1e12, 50)
    assert set(found) == {frozenset(frozenset([k]) for k in range(3))}


def means(seen, table, n=6000, b=0.01):
    """Draws of the means of pairs at these tables, with this usual noise."""
    random, state, out = rng(3), empty_tables(len(seen.visits)), np.empty((n, len(seen.visits)))
    for row in out:
        state.table[:], state.noise[0] = table, b
        recount_tables(seen, state)
        draw_means(random, seen, state, np.empty(len(table) + 1), row)
    return out


def test_means_of_coins_are_beta_and_of_pairs_never_visited_uniform():
    seen = snapshot([[4], [7], []], rewards=[1.0, 7.0, 0.0])
    found = means(seen, [0, 1, 2])
    for k, (a, b) in enumerate([(2, 4), (8, 1), (1, 1)]):
        assert stats.kstest(found[:, k], stats.beta(a, b).cdf).pvalue > 1e-3


def test_means_of_noisy_rewards_are_those_of_student():
    """Far from the ends of the range; the last pair was seen once, so that its noise is the usual one."""
    paid = [[0.4, 0.44, 0.48, 0.41, 0.47], [0.5]]
    found = means(seen_of(paid), [0, 1], b=2e-4)
    for k, rewards in enumerate(paid):
        n = len(rewards)
        a = SHAPE + (n - 1) / 2
        scale = np.sqrt((2e-4 + np.var(rewards) * n / 2) / a / n)
        assert stats.kstest(found[:, k], stats.t(2 * a, np.mean(rewards), scale).cdf).pvalue > 1e-3


def test_pairs_of_a_table_share_one_mean():
    seen = snapshot([[4], [7], []], rewards=[1.0, 7.0, 0.0])
    found = means(seen, [0, 0, -1])
    assert (found[:, 0] == found[:, 1]).all()
    assert stats.kstest(found[:, 0], stats.beta(9, 4).cdf).pvalue > 1e-3


def test_the_usual_noise_is_drawn_from_that_of_all_tables():
    """With variances known nearly exactly: Gamma(SHAPE (tables + 1)) over the sum of 1 / variance, the range's too."""
    random = np.random.default_rng(0)
    sigmas = np.array([0.01, 0.02, 0.03])
    rewards = [(0.5 + sigma * random.standard_normal(4000)).tolist() for sigma in sigmas]
    seen, state, noise = seen_of(rewards), empty_tables(3), []
    state.table[:] = [0, 1, 2]
    recount_tables(seen, state)
    generator = rng(4)
    for _ in range(4000):
        state.noise[0] = 1e-4
        draw_means(generator, seen, state, np.empty(4), np.empty(3))
        noise.append(state.noise[0])
    rate = (1 / np.array([np.var(paid) for paid in rewards])).sum() + 1 / RANGE_VARIANCE
    assert stats.kstest(noise, stats.gamma(4 * SHAPE, scale=1 / rate).cdf).pvalue > 1e-3


def test_without_noisy_rewards_the_usual_noise_stays():
    seen, state = snapshot([[4], [7]], rewards=[1.0, 7.0]), empty_tables(2)
    state.table[:], state.noise[0] = [0, 1], 0.125
    recount_tables(seen, state)
    draw_means(rng(5), seen, state, np.empty(3), np.empty(2))
    assert state.noise[0] == 0.125


def test_means_stay_within_the_range():
    random = rng(6)
    drawn = [normal_within(random, centre, 0.4) for centre in (0.0, 0.02, 1.0) for _ in range(2000)]
    assert min(drawn) >= 0
    assert max(drawn) <= 1
    half = stats.truncnorm(0, 2.5, 0, 0.4)
    assert stats.kstest(drawn[:2000], half.cdf).pvalue > 1e-3


def test_sums_tell_coins_and_scatter():
    assert only_coins(3.0, 2.0, 2.0)
    assert not only_coins(3.0, 2.0, 1.9)
    assert [bool(only_coins(n, n * gap, 0.0)) for n in (1.0, 4.0) for gap in (SAME, 1.01 * SAME)] == [True, False] * 2
    assert scatter(3.0, 1.5, 0.77) == pytest.approx(3 * np.var([0.4, 0.5, 0.6]))
    assert scatter(2.0, 1.0, 0.5 - 1e-18) == 0.0


def test_all_pairs_with_rewards_get_a_table():
    seen, state = snapshot([[3], [3], [], [3]], rewards=[0, 3, 0, 1.0]), empty_tables(4)
    resample_tables(rng(6), 1.0, seen, state, np.empty(6))
    assert (state.table >= 0).tolist() == [True, True, False, True]


def test_compiled_tables_equal_the_plain_ones():
    seen, ends = seen_of([[1.0, 0.0, 1.0], [0.4, 0.5], [0.45], [0.0]]), []
    for step, draw in ((resample_tables, draw_means), (resample_tables.py_func, draw_means.py_func)):
        random, state, out = rng(7), empty_tables(4), np.empty(4)
        for _ in range(20):
            step(random, 1.0, seen, state, np.empty(6))
            draw(random, seen, state, np.empty(5), out)
        ends.append((random.tolist(), state.table.tolist(), out.round(9).tolist()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("rewards", ["shared", "per_pair"])
def test_a_pair_with_hundreds_of_noisy_visits_is_believed(rewards):
    """Earnings of 250 to 900 with a standard deviation of 60, in a range that holds costs of 6,500."""
    worth, random = np.array([250.0, 300.0, 380.0, 520.0, 900.0, -6500.0]), np.random.default_rng(3)
    agent = eq.make_agent("c-psrl", 1, 6, seed=0, rewards=rewards, reward_range=(-7000, 1500))
    for action, visits in enumerate((900, 40, 200, 400, 30, 5)):
        for _ in range(visits):
            agent.observe(0, action, float(worth[action] + 60 * random.standard_normal()), 0)
    seen = agent.counts.snapshot()
    draws = np.array([agent.draw_model(seen)[0].reward for _ in range(400)]) * 8500 - 7000
    own = seen.r_sum / seen.visits * 8500 - 7000
    np.testing.assert_allclose(draws.mean(axis=0)[:5], own[:5], atol=12)
    assert draws[:, 0].std() < 4
    np.testing.assert_allclose(draws[:, 1].std(), 60 / np.sqrt(40), rtol=0.5)


@pytest.mark.parametrize(("name", "wrong"), [("reward_table", 7), ("reward_noise", 0.0), ("reward_noise", np.nan)])
def test_saved_tables_and_noise_that_cannot_be_are_refused(name, wrong):
    agent = eq.simulate(eq.make("four-room"), "c-psrl", 100, seed=0).agent
    state = agent.state()
    state.arrays[name] = np.full_like(state.arrays[name], wrong + 1000 if name == "reward_table" else wrong)
    with pytest.raises(ValueError, match=r"reward"):
        agent.copy().restore(state)


@pytest.mark.parametrize("paid", [[0.3, 0.5], [0.2, 0.25, 0.9], [0.4], [0.1, 0.1, 0.15, 0.8, 0.35]])
@pytest.mark.parametrize("b", [0.02, 0.3])
def test_the_likelihood_of_a_table_has_its_mean_and_variance_integrated_out(paid, b):
    n, total, squares = len(paid), sum(paid), float(np.square(paid).sum())

    def likelihood(log_variance):
        """Of the rewards, their mean anywhere: Normal around it, times the inverse Gamma prior of the variance."""
        variance = np.exp(log_variance)
        apart = sum((x - total / n) ** 2 for x in paid)
        log_normal = -0.5 * apart / variance - 0.5 * (n - 1) * np.log(2 * np.pi * variance) - 0.5 * np.log(n)
        return np.exp(log_normal + stats.invgamma(SHAPE, scale=b).logpdf(variance) + log_variance)

    expected, _ = integrate.quad(likelihood, -25, 25, points=[-6, -3, 0], limit=400)
    for run in (log_marginal, log_marginal.py_func):
        assert run(float(n), total, squares, b, np.ones(2)) == pytest.approx(np.log(expected), abs=1e-6)


@pytest.mark.parametrize(("n", "good"), [(1, 0), (1, 1), (5, 2), (9, 9)])
@pytest.mark.parametrize("base", [(1.0, 1.0), (1.5, 3.0)])
def test_the_likelihood_of_coins_has_their_chance_integrated_out(n, good, base):
    law = stats.beta(*base)
    expected, _ = integrate.quad(lambda p: p**good * (1 - p) ** (n - good) * law.pdf(p), 0, 1)
    for run in (log_marginal, log_marginal.py_func):
        for total in (float(good), good + 1e-10):  # up to rounding
            found = run(float(n), total, float(good), 0.1, np.array(base))
            assert found == pytest.approx(np.log(expected), abs=1e-8)


def test_without_hope_coins_come_from_what_pairs_pay_on_average():
    seen = seen_of([[1.0, 0.0], [], [1.0, 1.0, 1.0, 1.0], [0.2]])
    assert base_of(seen, True).tolist() == [1.0, 1.0]
    mean = (0.5 + 0.5 + 1.0 + 0.2) / 4
    np.testing.assert_allclose(base_of(seen, False), [mean, 1 - mean])
    assert base_of(seen_of([[], []]), False).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("plain", [False, True])
def test_a_table_weighs_its_members_times_how_well_the_pair_fits_and_a_new_one_alpha(plain):
    run, of = (table_weights.py_func, log_marginal.py_func) if plain else (table_weights, log_marginal)
    paid = [[0.3, 0.4], [0.35], [1.0, 0.0], [0.8, 0.9], [0.31]]
    seen, state = seen_of(paid), empty_tables(5)
    state.table[:] = [0, 0, 1, 3, -1]
    recount_tables(seen, state)
    assert state.used[0] == 4
    weight = np.full(6, np.nan)
    assert run(4, 0.7, seen, state, weight) == 2  # which is empty
    together = [0.3, 0.4, 0.35]

    def fits(rewards):
        return of(float(len(rewards)), sum(rewards), float(np.square(rewards).sum()), state.noise[0], state.base)

    expected = [
        np.log(2) + fits([*together, 0.31]) - fits(together), -np.inf, np.log(0.7) + fits([0.31]),
        fits([0.8, 0.9, 0.31]) - fits([0.8, 0.9]),
    ]  # fmt: skip
    np.testing.assert_allclose(weight[:4], expected)
    assert np.isnan(weight[4:]).all()
    state.table[:] = [0, 0, 1, 2, -1]
    recount_tables(seen, state)
    assert run(4, 0.7, seen, state, weight) == 3  # none is empty: one more


def test_a_normal_that_hardly_ever_falls_into_the_range_is_its_centre():
    for run in (normal_within, normal_within.py_func):
        assert run(rng(1), 0.25, 1e12) == 0.25
        assert run(rng(1), -1e9, 1.0) == 0.0
        assert run(rng(1), 1e9, 1.0) == 1.0


def test_means_step_by_step_with_scripted_chances(monkeypatch):
    """Coins at table 0, three amounts at 2, one at 3 that scatters as much as can be; the last pair was not seen."""
    seen, state = seen_of([[1.0, 0.0], [0.2, 0.3], [0.4], [0.6], []]), empty_tables(5)
    state.table[:], state.noise[0], state.base[:] = [0, 2, 2, 3, -1], 0.05, [1.5, 2.5]
    recount_tables(seen, state)
    asked, gammas = [], [math.log(4.0), math.log(0.01), math.log(7.0)]
    monkeypatch.setattr(reward_priors, "beta_draw", lambda _, *call: asked.append(call) or 0.125)
    monkeypatch.setattr(reward_priors, "log_gamma_draw", lambda _, *call: asked.append(call) or gammas.pop(0))
    monkeypatch.setattr(reward_priors, "normal_within", lambda _, *call: asked.append(call) or call[0])
    monkeypatch.setattr(reward_priors, "uniform", lambda _: 0.875)
    out = np.empty(5)
    draw_means.py_func(None, seen, state, np.empty(6), out)
    variance = (0.05 + 0.5 * 0.02) / 4
    expected = [
        (2.5, 3.5), (SHAPE + 1.0,), (0.3, np.sqrt(variance / 3)), (SHAPE,), (0.6, np.sqrt(LARGEST_VARIANCE)),
        (3 * SHAPE,),
    ]  # fmt: skip
    assert [len(call) for call in asked] == [len(call) for call in expected]
    np.testing.assert_allclose(np.concatenate(asked), np.concatenate(expected))
    np.testing.assert_allclose(out, [0.125, 0.3, 0.3, 0.6, 0.875])
    assert state.noise[0] == pytest.approx(7 / (1 / RANGE_VARIANCE + 1 / variance + 1 / LARGEST_VARIANCE))


def test_saved_tables_are_numbers_of_tables():
    sampler = _Tables(3, shared=True)
    noise = np.array([0.5])
    sampler.restore({"reward_table": np.array([-1, 0, 2]), "reward_noise": noise})
    assert sampler.tables().tolist() == [-1, 0, 2]
    assert sampler.arrays()["reward_noise"] == [0.5]
    for table in ([-1, 0, 3], [-2, 0, 1], [0, 1], [0.0, 1.0, 2.0]):
        with pytest.raises(ValueError, match="tables of rewards"):
            sampler.restore({"reward_table": np.array(table), "reward_noise": noise})
    for wrong in (np.array([np.inf]), np.array([0.5, 0.5]), np.array([1])):
        with pytest.raises(ValueError, match="noise of rewards"):
            sampler.restore({"reward_table": np.array([-1, 0, 2]), "reward_noise": wrong})
