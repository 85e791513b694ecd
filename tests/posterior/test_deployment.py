"""What is deployed and what it earns, against chains written out."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.posterior.deployment import behaviour_worth, wary_model, wary_plan, wary_worth


def drawn(log, n=6, seed=0):
    agent = log.agent("c-psrl", seed)
    agent.rows.drop_hope()
    agent.rewards.drop_hope()
    seen = agent.counts.snapshot()
    return seen, [agent.draw_model(seen)[0] for _ in range(n)]


def random_log(seed, steps=60, world="random"):
    trace = eq.simulate(eq.make(world), "random", steps, seed=seed)
    return eq.Log(
        trace.agent.pairs, trace.agent.counts.snapshot(), (1.0, 0.0), np.eye(1, trace.agent.pairs.n_states)[0], steps
    )


def test_the_mean_and_the_draws_hold_what_was_drawn_of_the_successors_seen():
    log = random_log(0)
    seen, models = drawn(log)
    mean, each = wary_model(log.pairs, seen, models), wary_model(log.pairs, seen, models, caution=0.5)
    for k in range(log.pairs.n_pairs):
        row = slice(seen.ptr[k], seen.ptr[k + 1])
        mass = []
        for d, model in enumerate(models):
            own = model.rows.row(k)
            law = dict(zip(model.rows.succ[own].tolist(), model.rows.prob[own].tolist(), strict=True))
            mass.append([law[x] for x in seen.succ[row].tolist()])
            np.testing.assert_allclose(each.prob[d, row] * (1 - each.unseen[d, k]), mass[-1], atol=1e-7)
        if seen.visits[k]:
            np.testing.assert_allclose(mean.prob[0, row] * (1 - mean.unseen[0, k]), np.mean(mass, axis=0), atol=1e-7)
            assert mean.reward[k] == pytest.approx(np.mean([model.reward[k] for model in models]))
    assert (each.rank, len(each.prob), mean.rank, len(mean.prob)) == (1, 6, 0, 1)
    np.testing.assert_allclose(each.surplus.mean(axis=0), 0.0, atol=1e-12)
    assert mean.share.sum() == pytest.approx(1.0)
    alone = wary_model(log.pairs, seen, models[:1], caution=0.9)  # of one draw there is one rank
    assert (alone.rank, len(alone.prob), alone.stay) == (0, 1, models[0].stay)


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_a_wary_policy_is_worth_what_its_chain_earns(discount):
    """By playing the chain: what is astray leads at once to a usual state, if that is the worse."""
    for seed in range(5):
        log = random_log(seed, 40)
        seen, models = drawn(log, seed=seed)
        model, S = wary_model(log.pairs, seen, models), log.pairs.n_states
        policy = wary_plan(log.pairs.ptr, model, discount, np.zeros(S)).policy
        u = np.zeros(S)
        for _ in range(3000):
            new, usual = np.empty(S), model.share @ u
            for s, k in enumerate(policy):
                row = slice(model.ptr[k], model.ptr[k + 1])
                known = model.prob[0, row] @ u[model.succ[row]]
                value = known + model.unseen[0, k] * min(0.0, usual - known) if row.start < row.stop else usual
                stays = model.stay if discount == 1.0 else 0.0
                new[s] = model.reward[k] + discount * ((1 - stays) * value + stays * u[s])
            change = new - u
            u = new
        expected = change[0] if discount == 1.0 else u[0]
        own = model if discount == 1.0 else model._replace(stay=0.0)
        assert wary_worth(own, policy, log.initial, discount) == pytest.approx(expected, rel=1e-4)


def test_going_on_as_before_earns_what_was_earned():
    """Along a path that ends where it began, shares of time and of visits agree."""
    rng, state, rows = np.random.default_rng(0), 0, []
    while len(rows) < 400 or state:
        action = int(rng.integers(2))
        after = int(rng.integers(3)) if action else (state + 1) % 3
        rows.append((state, action, float(rng.random()), after))
        state = after
    log = eq.from_log(rows)
    assert behaviour_worth(log.pairs, log.seen, log.initial, 1.0) == pytest.approx(log.mean_reward)
    drawn_again = [
        behaviour_worth(log.pairs, log.seen, log.initial, 1.0, np.random.default_rng(seed)) for seed in range(200)
    ]
    assert np.mean(drawn_again) == pytest.approx(log.mean_reward, abs=0.01)
    assert 0.005 < np.std(drawn_again) < 0.05


def test_a_state_never_left_begins_anew():
    log = eq.from_log([("a", "x", 0.0, "b"), ("b", "x", 1.0, "end")])
    assert behaviour_worth(log.pairs, log.seen, log.initial, 1.0) == pytest.approx(1 / 3)
    assert behaviour_worth(log.pairs, log.seen, log.initial, 0.5) == pytest.approx(0.5 / (1 - 0.125))
