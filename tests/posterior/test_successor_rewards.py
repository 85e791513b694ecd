"""Rewards that come with successors: which log has them, against integrals and enumeration, and what rows then pay."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import betaln

import equirl as eq
from equirl.logs.log_classes import posterior_of
from equirl.logs.log_policy import drawn_problems
from equirl.posterior import successor_rewards
from equirl.posterior.bootstrap import resampled_rows
from equirl.posterior.deployment import behaviour_worth
from equirl.posterior.reward_priors import base_of
from equirl.posterior.successor_rewards import (
    SHARES,
    chance_by_successor,
    compare_marginals,
    evidence_for_successors,
    row_means,
)


def played(reward, steps=600, seed=0, n_states=6):
    """A log of two actions in a ring: one goes on or stays, the other goes anywhere; ``reward(rng, s, a, x)``."""
    rng, state, rows = np.random.default_rng(seed), 0, []
    for _ in range(steps):
        action = int(rng.integers(2))
        after = int(rng.integers(n_states)) if action else (state + int(rng.random() < 0.6)) % n_states
        rows.append((state, action, float(reward(rng, state, action, after)), after))
        state = after
    return eq.from_log(rows, reward_range=(0, 1))


def by_arrival(rng, s, a, x):
    return (0.0, 1.0, 0.3, 0.6, 0.9, 0.1)[x]


BY_SUCCESSOR = {
    "goal": lambda rng, s, a, x: x == 3,
    "amounts": by_arrival,
    "coins by successor": lambda rng, s, a, x: rng.random() < (0.9 if x == 3 else 0.1),
    "amounts that scatter": lambda rng, s, a, x: np.clip(by_arrival(rng, s, a, x) + 0.05 * rng.normal(), 0, 1),
}
BY_PAIR = {
    "coins": lambda rng, s, a, x: rng.random() < (0.2, 0.7)[a],
    "sure amounts": lambda rng, s, a, x: 0.1 + 0.1 * s + 0.2 * a,
    "anything": lambda rng, s, a, x: rng.random(),
    "scatter": lambda rng, s, a, x: np.clip(0.2 + 0.1 * s + 0.1 * rng.normal(), 0, 1),
}


@pytest.mark.parametrize("name", BY_SUCCESSOR)
def test_a_log_shows_that_rewards_come_with_successors(name):
    log = played(BY_SUCCESSOR[name])
    assert chance_by_successor(log.seen, *log.unit_paid).min() > 0.9


@pytest.mark.parametrize("name", BY_PAIR)
def test_a_log_shows_that_rewards_do_not_depend_on_what_follows(name):
    log = played(BY_PAIR[name])
    assert np.median(chance_by_successor(log.seen, *log.unit_paid)) < 0.1


def test_what_always_paid_nothing_has_no_say_and_goes_with_the_others():
    log = played(lambda rng, s, a, x: 0.0)
    assert (evidence_for_successors(log.seen, *log.unit_paid) == 0).all()
    np.testing.assert_allclose(chance_by_successor(log.seen, *log.unit_paid), 0.5, atol=1e-6)


def test_marginals_are_integrals():
    """Coins over their mean, amounts over mean and variance, with one mean for a pair and with one for each successor.

    The mean of amounts has density one on the whole line.
    """
    ptr, n = np.array([0, 2, 4]), np.array([3.0, 2.0, 3.0, 2.0])
    amounts = [[0.2, 0.35, 0.3], [0.8, 0.7]]
    paid = np.array([3.0, 0.0, *map(sum, amounts)])
    squares = np.array([3.0, 0.0, *(sum(r * r for r in cell) for cell in amounts)])
    b, base, found = 0.02, np.array([0.3, 0.5]), np.zeros((2, 2))
    compare_marginals(ptr, n, paid, squares, np.array([True, False]), b, base, found)

    def coins(good, bad):
        return betaln(base[0] + good, base[1] + bad) - betaln(*base)

    def normal(rewards):
        def density(mu, log_v):
            v = math.exp(log_v)
            prior = b / v**2 * math.exp(-b / v) * v  # inverse-Gamma(1, b), by log v
            spread = sum((r - mu) ** 2 for r in rewards)
            return prior * (2 * math.pi * v) ** (-len(rewards) / 2) * math.exp(-spread / (2 * v))

        return math.log(dblquad(density, -14, 6, -8, 9, epsabs=1e-10, epsrel=1e-6)[0])

    np.testing.assert_allclose(found[:, 0], [coins(3, 2), coins(3, 0) + coins(0, 2)], rtol=1e-9)
    expected = [normal(amounts[0] + amounts[1]), normal(amounts[0]) + normal(amounts[1])]
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-4)


def test_an_amount_that_came_once_with_a_successor_has_no_say():
    rows = [(0, 0, paid, x) for x, paid in enumerate((0.1, 0.5, 0.9))]
    once, twice = eq.from_log(rows), eq.from_log(rows * 2)
    assert (evidence_for_successors(once.seen, *once.unit_paid) == 0).all()
    assert evidence_for_successors(twice.seen, *twice.unit_paid)[0] > 5


def test_chances_are_those_of_enumeration(monkeypatch):
    """Over all ways in which pairs may pay, for every share of them."""
    more = np.array([1.5, -0.7, 0.0, 0.3])
    monkeypatch.setattr(successor_rewards, "evidence_for_successors", lambda *_: more)
    weight, chance = 0.0, np.zeros(4)
    for share in SHARES:
        for ways in itertools.product((0, 1), repeat=4):
            likely = math.prod(share * math.exp(m) if way else 1 - share for m, way in zip(more, ways, strict=True))
            weight += likely
            chance += likely * np.array(ways)
    log = played(by_arrival, 20)
    np.testing.assert_allclose(chance_by_successor(log.seen, *log.unit_paid), chance / weight, rtol=1e-9)


def test_a_row_pays_what_comes_with_its_successors_and_no_more_for_what_was_not_seen():
    log = played(by_arrival, 40, n_states=6)
    agent = posterior_of(log, 0)
    seen, rng = agent.counts.snapshot(), np.random.default_rng(0)
    for base in (0.05, 0.6):
        model, _ = agent.draw_model(seen)
        means = rng.random(len(seen.succ))
        found = row_means(seen, model, means, base)
        for k in np.flatnonzero(seen.visits):
            own = model.rows.row(k)
            law = dict(zip(model.rows.succ[own].tolist(), model.rows.prob[own].tolist(), strict=True))
            row = range(seen.ptr[k], seen.ptr[k + 1])
            mass = sum(law[seen.succ[i]] for i in row)
            v = sum(law[seen.succ[i]] * means[i] for i in row) / mass
            assert found[k] == pytest.approx(mass * v + (1 - mass) * min(v, base))


def lucky_log():
    """Eight states; in each the goal, which pays 1 and ends, is reached three times in five, in one four in four."""
    rows = []
    for state in range(8):
        n, hits = (4, 4) if state == 7 else (50, 30)
        rows += [(state, 0, 1.0, "goal")] * hits + [(state, 0, 0.0, (state + 1) % 8)] * (n - hits)
    return eq.from_log([*rows, *[("goal", 0, 0.0, "goal")] * 50], reward_range=(0, 1))


def test_chance_and_reward_stay_together():
    """Pooled with its like, the lucky pair loses its chance to end, and with it what comes with the end."""
    log = lucky_log()
    goal, lucky = log.pairs.state_number("goal"), log.pairs.index(7, 0)

    def drawn(of):
        for model in drawn_problems(of, 600, np.random.SeedSequence(0))[1]:
            row = model.rows.row(lucky)
            yield model.rows.prob[row][model.rows.succ[row] == goal].sum(), model.reward[lucky]

    apart = eq.Log(log.pairs, log.seen, log.reward_map, log.initial, log.n_rows)  # what came with what is not known
    (chance, together), (_, alone) = (np.array(list(drawn(of))).T for of in (log, apart))
    assert np.corrcoef(chance, together)[0, 1] > 0.8  # hundreds of draws apart it is 0.8 to 1.0
    assert abs(np.corrcoef(chance, alone)[0, 1]) < 0.4
    assert (together > chance - 0.01).mean() > 0.9
    assert (together < chance + 0.7 * (1 - chance)).mean() > 0.9


def test_known_rewards_and_logs_without_what_came_are_drawn_as_before():
    log = played(by_arrival, 100)
    plain = eq.Log(log.pairs, log.seen, log.reward_map, log.initial, log.n_rows)
    agent = posterior_of(plain, np.random.SeedSequence(4))
    agent.rows.drop_hope()
    agent.rewards.drop_hope()
    seen, models, _ = drawn_problems(plain, 2, np.random.SeedSequence(4))
    drawn = [agent.draw_model(seen)[0] for _ in range(22)]
    for model, other in zip(models, drawn[20:], strict=True):
        np.testing.assert_array_equal(model.reward, other.reward)
    known = np.linspace(0, 1, log.pairs.n_pairs)
    _, models, _ = drawn_problems(log, 1, np.random.SeedSequence(4), rewards="known", mean_rewards=known)
    np.testing.assert_array_equal(models[0].reward, known)


def test_rewards_by_pair_are_drawn_as_before():
    log = played(BY_PAIR["sure amounts"])
    plain = eq.Log(log.pairs, log.seen, log.reward_map, log.initial, log.n_rows)
    (_, ours, _), (_, before, _) = (drawn_problems(one, 5, np.random.SeedSequence(1)) for one in (log, plain))
    share = np.mean([model.reward == other.reward for model, other in zip(ours, before, strict=True)])
    assert share > 0.9


def test_what_was_seen_is_drawn_again_with_what_came_with_it():
    """A goal pays 1 and nothing else does: each drawn row pays its chance of the goal."""
    log = played(BY_SUCCESSOR["goal"], 200)
    agent = posterior_of(log, 0)
    seen, rng, policy = agent.counts.snapshot(), np.random.default_rng(0), log.pairs.ptr[:-1].copy()
    model, goal = agent.draw_model(seen)[0], log.pairs.state_number(3)
    again = resampled_rows(seen, policy, model, rng, log.unit_paid)
    hit = np.bincount(
        np.repeat(np.arange(len(policy)), np.diff(again.rows.ptr)), again.rows.prob * (again.rows.succ == goal)
    )
    np.testing.assert_allclose(again.reward, hit, atol=1e-12)
    worths = [behaviour_worth(log.pairs, seen, log.initial, 1.0, rng, log.unit_paid) for _ in range(200)]
    assert np.mean(worths) == pytest.approx(log.mean_reward, abs=0.02)


def test_the_base_is_what_successors_pay_on_average():
    log = played(by_arrival, 50)
    cells = log.seen._replace(visits=log.seen.count, r_sum=log.unit_paid[0], r_squares=log.unit_paid[1])
    paid = log.unit_paid[0] / log.seen.count
    assert base_of(cells, False)[0] == pytest.approx((0.5 + paid.sum()) / (1 + len(paid)))
