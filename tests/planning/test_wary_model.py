"""The wary view of what was not seen, against its definition written out."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.planning.optimistic_planning import extended_value_iteration, single_sweep
from equirl.planning.wary_model import WaryModel


def drawn_model(rng, n_states=6, n_actions=3, draws=1, rank=0, stay=0.5):
    """A random model of some draws; the last state was never left, elsewhere one pair in five was never tried."""
    M = n_states * n_actions
    state = np.repeat(np.arange(n_states), n_actions)
    tried = (rng.random(M) < 0.8) & (state < n_states - 1)
    tried[np.arange(n_states - 1) * n_actions] = True
    size = np.where(tried, rng.integers(1, n_states + 1, M), 0)
    succ = np.concatenate([rng.permutation(n_states)[:n] for n in size]).astype(np.int32)
    ptr = np.concatenate([[0], np.cumsum(size)])
    prob = np.concatenate([rng.dirichlet(np.ones(n), draws).T for n in size if n]).T.copy()
    return WaryModel(
        ptr, succ, prob, rng.random((draws, M)) * (rng.random(M) < 0.7), rng.random(M), rng.normal(size=(draws, M)),
        rng.dirichlet(np.ones(n_states)), ~tried & (state < n_states - 1), state, stay, rank, np.empty(draws),
    )  # fmt: skip


def defined_values(model, u, k):
    """By draw, sorted: what pair k is worth beyond its mean reward."""
    if model.avoided[k]:
        return [-np.inf]
    row, usual, found = slice(model.ptr[k], model.ptr[k + 1]), float(model.share @ u), []
    for prob, unseen, surplus in zip(model.prob, model.unseen[:, k], model.surplus[:, k], strict=True):
        known = float(prob[row] @ u[model.succ[row]])
        value = (1 - unseen) * known + unseen * min(known, usual) if row.start < row.stop else usual
        found.append(surplus + (1 - model.stay) * value + model.stay * u[model.state[k]])
    return sorted(found)


@pytest.mark.parametrize("seed", range(20))
def test_a_sweep_is_the_definition(seed):
    rng = np.random.default_rng(seed)
    draws = int(rng.integers(1, 8))
    model = drawn_model(rng, draws=draws, rank=int(rng.integers(draws)), stay=float(rng.choice([0.0, 0.5])))
    u, ptr, discount = rng.normal(size=6), np.arange(0, 19, 3), float(rng.choice([1.0, 0.9]))
    work = single_sweep(ptr, model, u, discount)()
    for k in range(18):
        values = defined_values(model, u, k)
        expected = model.reward[k] + discount * values[min(model.rank, len(values) - 1)]
        assert work.q[k] == pytest.approx(expected, abs=1e-12)


def test_a_lucky_pair_is_drawn_back_to_the_usual_and_a_poor_one_is_not_lifted():
    """Two states: 1 pays. From 0 one pair was seen to lead to 1, the other to stay; half of each is not known."""
    ptr, succ, state = np.array([0, 1, 2, 3]), np.array([1, 0, 0], np.int32), np.array([0, 0, 1])
    model = WaryModel(
        ptr, succ, np.ones((1, 3)), np.array([[0.5, 0.5, 0.0]]), np.array([0.0, 0.0, 1.0]), np.zeros((1, 3)),
        np.array([0.5, 0.5]), np.zeros(3, bool), state, 0.0, 0, np.empty(1),
    )  # fmt: skip
    q = single_sweep(np.array([0, 2, 3]), model, np.array([0.0, 1.0]))().q
    assert q.tolist() == [0.75, 0.0, 1.0]


def test_planning_finds_the_best_of_all_policies():
    """Every policy of small models has one gain; the plan's is the largest, pairs never tried left aside."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        model = drawn_model(rng, n_states=4, n_actions=2)
        model = model._replace(unseen=np.full_like(model.unseen, 0.3), surplus=np.zeros_like(model.surplus))
        plan = extended_value_iteration(np.arange(0, 9, 2), model, 1e-9, max_sweeps=20_000)
        assert not model.avoided[plan.policy].any()
        best = -np.inf
        for code in range(2**4):
            policy = np.array([2 * s + (code >> s & 1) for s in range(4)])
            if not model.avoided[policy].any():
                best = max(best, gain_of(model, policy))
        assert plan.converged
        assert plan.gain == pytest.approx(best, abs=1e-6)


def gain_of(model, policy):
    """By sweeps of the definition along a policy."""
    u = np.zeros(len(policy))
    for _ in range(4000):
        new = np.array([model.reward[k] + defined_values(model, u, k)[0] for k in policy])
        change, u = new - u, new - new.min()
    assert np.ptp(change) < 1e-8
    return change.mean()
