import math

import numpy as np
import pytest

from equirl.learners.imed import CountedRows, empirical_bias, mean_outcome, skeleton, write_indices
from equirl.model.mdp import TabularMDP
from equirl.solving.optimal_gain import solve
from oracles_best_laws import kl_least


def counted(laws, visits, r_hat, binary=False, prior=0.0):
    """CountedRows of dense laws (S, A, S) whose counts are law * visits."""
    S, A, _ = laws.shape
    flat = laws.reshape(S * A, S)
    pair, succ = np.nonzero(flat)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=S * A))])
    visits = np.asarray(visits, float).ravel()
    return CountedRows(
        np.arange(S + 1) * A, ptr, succ.astype(np.int32), flat[pair, succ] * visits[pair], visits,
        np.asarray(r_hat, float).ravel(), np.full(S * A, binary), prior,
    )  # fmt: skip


def random_model(rng, S=5, A=3, binary=False, prior=0.0):
    laws, visits = rng.dirichlet(np.full(S, 0.7), size=(S, A)), rng.integers(1, 200, (S, A))
    return counted(laws, visits, rng.random((S, A)), binary, prior), laws


def written_out(model, k, phi, gamma, top):
    """N K + log N from below and from above, every outcome written out."""
    part = slice(model.ptr[k], model.ptr[k + 1])
    p, after, r = model.times[part] / model.visits[k], phi[model.succ[part]], model.r_hat[k]
    x, w = (np.append(after, after + 1), np.append(p * (1 - r), p * r)) if model.binary[k] else (after + r, p)
    share = model.prior / (model.prior + model.visits[k])
    x, w = np.append(x, phi + 0.5), np.append(w * (1 - share), np.full(len(phi), share / len(phi)))
    return [model.visits[k] * least + math.log(model.visits[k]) for least in kl_least(w, x, gamma, top)]


@pytest.mark.parametrize(("binary", "prior"), [(False, 0.0), (True, 0.0), (False, 1.0)])
def test_indices_lie_between_their_certified_bounds(binary, prior):
    rng = np.random.default_rng(0)
    for _ in range(30):
        model, _ = random_model(rng, binary=binary, prior=prior)
        phi, keep = rng.random(5) * 3, np.ones(15, bool)
        top = 1 + phi.max()
        for s in range(5):
            out = np.empty(3)
            gamma = write_indices(model, keep, s, phi, top, out)
            means = [mean_outcome(model, k, phi, phi.mean()) for k in range(3 * s, 3 * s + 3)]
            assert gamma == pytest.approx(max(means))
            best = int(np.argmax(means))
            assert out[best] == pytest.approx(math.log(model.visits[3 * s + best]))
            for a in set(range(3)) - {best}:
                low, high = written_out(model, 3 * s + a, phi, gamma, top)
                assert low - 1e-9 <= out[a] <= high + 1e-9


def test_the_mean_outcome_is_reward_plus_expected_bias():
    rng = np.random.default_rng(1)
    model, laws = random_model(rng)
    phi = rng.random(5)
    for k in range(15):
        assert mean_outcome(model, k, phi, phi.mean()) == pytest.approx(model.r_hat[k] + laws.reshape(15, 5)[k] @ phi)


def test_the_skeleton_keeps_pairs_visited_log_squared_times():
    visits = np.array([1000, 48, 47, 0, 1, 1, 0, 0], float)  # log^2 1000 = 47.7
    keep = np.empty(8, bool)
    skeleton(np.array([0, 4, 6, 8]), visits, keep)
    assert keep.tolist() == [True, True, False, False, True, True, False, False]
    for n in range(1, 2000):
        skeleton(np.array([0, 1]), np.array([float(n)]), keep)
        assert keep[0]  # the pair visited most is always kept


@pytest.mark.parametrize("seed", range(15))
def test_the_bias_is_that_of_the_empirical_mdp(seed):
    rng = np.random.default_rng(seed)
    model, laws = random_model(rng)
    answer = solve(TabularMDP.from_arrays(laws, model.r_hat.reshape(5, 3)), 1e-10)
    phi = np.zeros(5)
    n, low, high = empirical_bias(model, np.ones(15, bool), 1e-10, 10_000, phi)
    assert high - low <= 1e-10
    assert (low + high) / 2 == pytest.approx(answer.gain, abs=1e-9)
    np.testing.assert_allclose(phi, answer.bias, atol=1e-7)
    again, *_ = empirical_bias(model, np.ones(15, bool), 1e-10, 10_000, phi)
    assert again <= 2 < n  # warm


def test_the_prior_is_one_more_sample_of_every_pair():
    rng = np.random.default_rng(6)
    model, laws = random_model(rng, prior=2.0)
    visits = model.visits.reshape(5, 3, 1)
    means = (model.r_hat.reshape(5, 3) * visits[..., 0] + 1.0) / (visits[..., 0] + 2)
    answer = solve(TabularMDP.from_arrays((laws * visits + 0.4) / (visits + 2), means), 1e-10)
    phi = np.zeros(5)
    _, low, high = empirical_bias(model, np.ones(15, bool), 1e-10, 10_000, phi)
    assert (low + high) / 2 == pytest.approx(answer.gain, abs=1e-9)
    np.testing.assert_allclose(phi, answer.bias, atol=1e-7)


def test_the_bias_is_that_of_the_kept_pairs_alone():
    rng = np.random.default_rng(3)
    model, laws = random_model(rng)
    keep = np.zeros(15, bool)
    keep[np.arange(5) * 3 + 1] = True
    phi = np.zeros(5)
    _, low, high = empirical_bias(model, keep, 1e-10, 10_000, phi)
    answer = solve(TabularMDP.from_arrays(laws[:, 1:2], model.r_hat.reshape(5, 3)[:, 1:2]), 1e-10)
    assert (low + high) / 2 == pytest.approx(answer.gain, abs=1e-9)
    np.testing.assert_allclose(phi, answer.bias, atol=1e-7)


def test_a_periodic_empirical_mdp_converges():
    laws = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    model, phi = counted(laws, [[4], [4]], [[0.0], [1.0]]), np.zeros(2)
    n, low, high = empirical_bias(model, np.ones(2, bool), 1e-9, 1000, phi)
    assert n < 100
    assert (low + high) / 2 == pytest.approx(0.5)
    assert phi == pytest.approx([0, 0.5], abs=1e-8)


def test_a_pair_never_played_is_read_as_paying_one_and_leading_anywhere():
    rng = np.random.default_rng(4)
    laws, visits, means = rng.dirichlet(np.ones(4), size=(4, 2)), rng.integers(1, 9, (4, 2)), rng.random((4, 2))
    visits[1, 0] = visits[3, 0] = visits[3, 1] = 0
    model, phi = counted(np.where(visits[..., None] > 0, laws, 0.0), visits, means), np.zeros(4)
    _, low, high = empirical_bias(model, visits.ravel() > 0, 1e-10, 10_000, phi)
    laws[visits == 0], means[visits == 0] = 0.25, 1.0
    answer = solve(TabularMDP.from_arrays(laws, means), 1e-10)
    assert (low + high) / 2 == pytest.approx(answer.gain, abs=1e-9)
    np.testing.assert_allclose(phi, answer.bias, atol=1e-7)


def test_an_empirical_mdp_that_falls_apart_is_ended_by_the_cap():
    laws = np.eye(2)[:, None, :]
    model, phi = counted(laws, [[4], [4]], [[0.0], [1.0]]), np.zeros(2)
    n, low, high = empirical_bias(model, np.ones(2, bool), 1e-9, 50, phi)
    assert (n, low, high) == (50, 0, 1)
    assert np.isfinite(phi).all()


def test_a_pair_never_played_comes_first_and_one_out_of_reach_never():
    laws = np.array([[[1.0], [1.0], [1.0]]])
    out, keep = np.empty(3), np.array([True, False, False])
    write_indices(counted(laws, [[9, 0, 9]], [[1.0, 0.0, 0.5]]), keep, 0, np.zeros(1), 1.0, out)
    assert out.tolist() == [math.log(9), -math.inf, math.inf]


def test_a_bandit_has_the_index_of_imed():
    laws = np.ones((1, 2, 1))
    out = np.empty(2)
    write_indices(counted(laws, [[50, 20]], [[0.6, 0.5]], binary=True), np.ones(2, bool), 0, np.zeros(1), 1.0, out)
    kl = 0.5 * math.log(0.5 / 0.6) + 0.5 * math.log(0.5 / 0.4)
    assert out == pytest.approx([math.log(50), 20 * kl + math.log(20)])


def test_outside_the_skeleton_a_better_mean_has_index_log_n():
    laws = np.ones((1, 2, 1))
    out = np.empty(2)
    gamma = write_indices(counted(laws, [[1000, 3]], [[0.4, 0.9]]), np.array([True, False]), 0, np.zeros(1), 1.0, out)
    assert gamma == 0.4
    assert out == pytest.approx([math.log(1000), math.log(3)])


@pytest.mark.parametrize(("gap", "tie"), [(1.2e-12, True), (2.2e-12, False)])
def test_means_count_as_equal_within_what_rounding_may_do(gap, tie):
    """1e-12 (1 + |gamma|), with a top so near that any other gap costs."""
    out, model = np.empty(2), counted(np.ones((1, 2, 1)), [[9, 1]], [[0.5, 0.5 - gap]])
    assert write_indices(model, np.ones(2, bool), 0, np.zeros(1), 0.5 + 1e-11, out) == 0.5
    assert out[0] == math.log(9)
    assert (out[1] == 0.0) == tie


def test_compiled_equals_its_plain_python_body():
    model, _ = random_model(np.random.default_rng(5))
    keep, results = np.ones(15, bool), []
    for bias, index in ((empirical_bias, write_indices), (empirical_bias.py_func, write_indices.py_func)):
        phi, out = np.zeros(5), np.empty(3)
        ended = bias(model, keep, 1e-8, 500, phi)
        results.append([*ended, *phi, index(model, keep, 2, phi, 1 + phi.max(), out), *out])
    assert results[0] == pytest.approx(results[1], abs=1e-10)
