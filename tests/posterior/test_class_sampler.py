"""The class sampler against the enumerated posterior. Each test of a law is run without a factor too: it must fail."""

import math
from collections import Counter
from functools import partial

import numpy as np
import pytest

from equirl.estimation.given_knowledge import NOTHING
from equirl.model.pairs import Pairs
from equirl.numerics.random_draws import draw_state, log_rising
from equirl.posterior import class_sampler
from equirl.posterior.class_sampler import (
    class_weights,
    draw_alpha,
    draw_gamma,
    draw_injection,
    own_weight,
    rearrange,
    resample,
    resample_within,
)
from equirl.posterior.class_state import carry_over, move_counts
from equirl.posterior.neighbouring_classes import has_room
from equirl.posterior.row_priors import ALPHAS, GAMMAS, START, ClassRows
from oracles_posterior import (
    beside_factor,
    chi_square,
    class_weight,
    injection_sum,
    marginal,
    mixed_posterior,
    partition_of,
    posterior,
    read_structure,
    resample_pairs,
    snapshot,
    workspace,
    write_structure,
)

CASES = [  # counts of successors by pair, alpha, gamma
    ([[2, 1], [3, 1], [1]], 1.0, 0.7),
    ([[2, 2], [1, 1], [4], [1]], 0.5, 0.4),
    ([[3, 2, 1], [4, 3], [2, 1]], 2.0, 1.3),
    ([[1, 1, 1], [2, 1], [5, 1]], 1.0, 3.0),
]
FACTORS = ("gamma", "members", "total")


def draws(short, long):
    """Draws of a test, by the test and by its long run; of the short one, each wrong law is rejected all but surely."""
    return pytest.mark.parametrize("draws", [short, pytest.param(long, marks=pytest.mark.long)])


def rng(seed):
    return draw_state(np.random.SeedSequence(seed))


def one_class(counts, gamma):
    """Pairs 1, 2, ... in one class, their i-th successors at position i; pair 0 outside."""
    seen = snapshot(counts)
    state, scratch = workspace(seen, 1.0, gamma)
    positions = {}
    for k, row in enumerate(counts[1:], start=1):
        for i in range(len(row)):
            positions.setdefault(i, []).append((k, i))
    key = [(range(1, len(counts)), list(positions.values())), ((0,), [[(0, i)] for i in range(len(counts[0]))])]
    state = write_structure(key, seen, state)
    move_counts(0, state.label[0], -1, seen, state)
    return seen, state, scratch


WEIGHED = [
    ([[3, 2, 1], [5, 3], [4, 4, 1]], 0.7),
    ([[2, 2], [5], [4, 1, 1]], 0.3),
    ([[1, 1, 1], [1, 1, 1]], 2.0),
    ([[4, 1], [20, 3, 3]], 1.0),
]


@pytest.mark.parametrize(("counts", "gamma"), WEIGHED)
def test_weight_over_chance_of_a_drawn_injection_has_the_sum_over_injections_as_its_mean(counts, gamma):
    seen, state, scratch = one_class(counts, gamma)
    c, random = state.label[1], rng(1)
    mass = state.pooled[state.start[c] : state.start[c] + state.width[c]].tolist()
    draws = np.exp([draw_injection(random, 0, c, False, seen, state, scratch) for _ in range(20_000)])
    exact = injection_sum(counts[0], mass, gamma)
    assert abs(draws.mean() - exact) < 4 * draws.std() / math.sqrt(len(draws)) + 1e-9 * exact


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_with_one_successor_the_weight_is_exact(n):
    seen, state, scratch = one_class([[n], [5, 3], [4, 4, 1]], 0.7)
    c = state.label[1]
    for keep in (False, True):
        weight = draw_injection(rng(0), 0, c, keep, seen, state, scratch)
        assert math.exp(weight) == pytest.approx(injection_sum([n], [9, 7, 1], 0.7), rel=1e-9)


@pytest.mark.parametrize("row", [[1], [2, 1], [5, 3, 1]])
def test_a_class_of_its_own_weighs_what_the_model_says(row):
    alone = class_weight([[(0, i)] for i in range(len(row))], [row], 0.7)
    assert own_weight(0, snapshot([row]), 0.7) == pytest.approx(alone)


def test_classes_weigh_their_members_and_a_new_one_alpha():
    counts = [[3], [5], [4], [2]]
    seen = snapshot(counts)
    state, scratch = workspace(seen, 0.6, 0.7)
    key = [((1, 2), [[(1, 0), (2, 0)]]), ((3,), [[(3, 0)]]), ((0,), [[(0, 0)]])]
    state = write_structure(key, seen, state)
    old = state.label[0]
    move_counts(0, old, -1, seen, state)
    new = class_weights(rng(0), 0, seen, state, scratch, old, True)
    assert new == old
    expected = {state.label[1]: 2 * injection_sum([3], [9], 0.7), state.label[3]: injection_sum([3], [2], 0.7)}
    expected[new] = 0.6 * math.exp(own_weight(0, seen, 0.7))
    for c, weight in expected.items():
        assert math.exp(scratch.log_weight[c]) == pytest.approx(weight)


def one_pass_from_the_posterior(counts, alpha, gamma, draws, step=resample_pairs, seed=11):
    """Structures after one pass over all pairs, started from independent draws of the exact posterior."""
    law, seen, random = posterior(counts, alpha, gamma), snapshot(counts), rng(seed)
    keys = list(law)
    state, scratch = workspace(seen, alpha, gamma)
    start = np.random.default_rng(seed).choice(len(keys), size=draws, p=np.array(list(law.values())))
    found = Counter()
    for i in start:
        state = write_structure(keys[i], seen, state)
        assert step(random, 0, False, False, seen, state, scratch)[0] == len(counts)
        found[read_structure(seen, state)] += 1
    return found


@pytest.mark.parametrize(("counts", "alpha", "gamma"), CASES)
@draws(5_000, 15_000)
def test_a_pass_leaves_the_posterior_of_partitions_and_correspondences_as_it_is(counts, alpha, gamma, draws):
    found = one_pass_from_the_posterior(counts, alpha, gamma, draws)
    assert chi_square(found, posterior(counts, alpha, gamma)) > 1e-3
    for factor in FACTORS:
        assert chi_square(found, posterior(counts, alpha, gamma, without=factor)) < 1e-6


def long_run(counts, alpha, gamma, draws, thin, seed=3):
    seen, random = snapshot(counts), rng(seed)
    state, scratch = workspace(seen, alpha, gamma)
    found = Counter()
    for i in range(draws * thin):
        if resample_pairs(random, 0, False, False, seen, state, scratch)[0] < len(counts):
            raise AssertionError("cells ran out")
        if i % thin == 0 and i > 50:
            found[read_structure(seen, state)] += 1
    return found


@pytest.mark.parametrize(("counts", "alpha", "gamma"), CASES)
@draws(2_000, 6_000)
def test_frequencies_of_a_long_run_are_the_posterior(counts, alpha, gamma, draws):
    found = long_run(counts, alpha, gamma, draws, 10)
    partitions = Counter()
    for key, times in found.items():
        partitions[partition_of(key)] += times
    assert chi_square(found, posterior(counts, alpha, gamma)) > 1e-3
    assert chi_square(partitions, marginal(posterior(counts, alpha, gamma))) > 1e-3
    for factor in FACTORS:
        assert chi_square(partitions, marginal(posterior(counts, alpha, gamma, without=factor))) < 1e-6


@draws(3_000, 10_000)
def test_given_the_other_pairs_a_pair_with_neighbours_has_its_posterior(draws):
    """Two states of two pairs and one of three; the classes of all pairs but one are kept."""
    counts, ptr, eta, k = [[3], [2, 1], [4], [2], [1], [1], [2]], [0, 2, 4, 7], 0.3, 6
    label = {0: 0, 1: 1, 2: 0, 3: 1, 4: 0, 5: 0}
    kept = [((0, 2, 4, 5), [[(0, 0), (2, 0), (4, 0), (5, 0)]]), ((1, 3), [[(1, 0), (3, 0)], [(1, 1)]])]
    seen, random = snapshot(counts), rng(12)
    state, scratch = workspace(seen, 0.8, 0.6, ptr, eta)
    state = write_structure(kept, seen, state)
    found, names = Counter(), {int(state.label[0]): 0, int(state.label[1]): 1}
    for i in range(6 * draws):
        assert resample(random, k, seen, state, scratch)
        if i % 6 == 0:
            found[names.get(int(state.label[k]), -1)] += 1
        if not has_room(state.neighbours):
            state = carry_over(state, seen, seen)
    law = {0: 4 * injection_sum([2], [9], 0.6), 1: 2 * injection_sum([2], [4, 1], 0.6)}
    law[-1] = 0.8 * injection_sum([2], [], 0.6)
    plain = {c: weight / sum(law.values()) for c, weight in law.items()}
    law = {c: weight * beside_factor(k, c, label, ptr, eta) for c, weight in law.items()}
    assert chi_square(found, {c: weight / sum(law.values()) for c, weight in law.items()}) > 1e-3
    assert chi_square(found, plain) < 1e-6


def without_members(rng, k, seen, state, scratch, old, placed):
    new = class_weights(rng, k, seen, state, scratch, old, placed)
    held = np.flatnonzero(state.members[: state.used[0]])
    scratch.log_weight[held] -= np.log(state.members[held])
    return new


def without_alpha(rng, k, seen, state, scratch, old, placed):
    new = class_weights(rng, k, seen, state, scratch, old, placed)
    scratch.log_weight[new] -= math.log(state.hyper[0])
    return new


def totals(k, c, gamma, seen, state):
    """The ratio Gamma(gamma + N + n) / Gamma(gamma + N), its log."""
    return log_rising(gamma + state.total[c], float(seen.visits[k]))


def without_totals(rng, k, c, keep, seen, state, scratch):
    weight = draw_injection(rng, k, c, keep, seen, state, scratch)
    return weight + totals(k, c, state.hyper[1], seen, state)


def without_gamma(rng, k, c, keep, seen, state, scratch):
    one = state._replace(hyper=np.array([state.hyper[0], 1.0]))
    weight = draw_injection(rng, k, c, keep, seen, one, scratch)
    return weight + totals(k, c, 1.0, seen, state) - totals(k, c, state.hyper[1], seen, state)


def without_chance(rng, k, c, keep, seen, state, scratch):
    """The weight of the injection drawn, not over its chance."""
    draw_injection(rng, k, c, keep, seen, state, scratch)
    weight, gamma = -totals(k, c, state.hyper[1], seen, state), state.hyper[1]
    for n, j in zip(seen.count[seen.ptr[k] : seen.ptr[k + 1]].tolist(), scratch.place.tolist(), strict=False):
        mass = float(state.pooled[state.start[c] + j])
        weight += log_rising(mass, float(n)) if j >= 0 else math.log(gamma) + math.lgamma(n)
    return weight


MISTAKES = {  # the function that a mistaken sampler would have in place of its own
    "members": ("class_weights", without_members),
    "gamma of new positions": ("draw_injection", without_gamma),
    "ratio of totals": ("draw_injection", without_totals),
    "alpha of a new class": ("class_weights", without_alpha),
    "acceptance of a rearrangement": ("uniform", lambda _: 1e-300),
    "chance of the injection": ("draw_injection", without_chance),
}


def plain_sampler(monkeypatch, name=None, mistaken=None):
    """A pass of the sampler by its plain bodies, which find a mistaken function where they look for their own."""
    for own, body in vars(class_sampler).copy().items():
        if getattr(body, "__module__", None) == class_sampler.__name__ and hasattr(body, "py_func"):
            monkeypatch.setattr(class_sampler, own, body.py_func)
    if name is not None:
        monkeypatch.setattr(class_sampler, name, mistaken)
    return partial(resample_pairs, step=class_sampler.resample_range)


@pytest.mark.long
@pytest.mark.parametrize(("name", "mistaken"), MISTAKES.values(), ids=MISTAKES)
def test_a_sampler_with_a_mistake_is_noticed(name, mistaken, monkeypatch):
    counts, alpha, gamma = [[3, 2], [2, 1], [4]], 0.3, 0.2
    found = one_pass_from_the_posterior(counts, alpha, gamma, 5_000, plain_sampler(monkeypatch, name, mistaken))
    assert chi_square(found, posterior(counts, alpha, gamma)) < 1e-6


@pytest.mark.long
def test_the_sampler_as_written_passes_the_test_of_the_mistaken_ones(monkeypatch):
    counts, alpha, gamma = [[3, 2], [2, 1], [4]], 0.3, 0.2
    found = one_pass_from_the_posterior(counts, alpha, gamma, 5_000, plain_sampler(monkeypatch))
    assert chi_square(found, posterior(counts, alpha, gamma)) > 1e-3


@draws(2_500, 7_500)
def test_given_classes_their_correspondences_have_the_posterior(draws):
    counts, gamma = [[3, 1], [2, 2], [1, 1]], 0.8
    whole = frozenset([frozenset(range(3))])
    law = {key: p for key, p in posterior(counts, 1.0, gamma).items() if partition_of(key) == whole}
    law = {key: p / sum(law.values()) for key, p in law.items()}
    seen, random = snapshot(counts), rng(5)
    state, scratch = workspace(seen, 1.0, gamma)
    state.label[:] = 0
    state = write_structure([], seen, state)
    found = Counter()
    for i in range(8 * draws):
        assert resample_pairs(random, 0, False, True, seen, state, scratch)[0] == 3
        if i % 8 == 0:
            found[read_structure(seen, state)] += 1
    assert chi_square(found, law) > 1e-3


@pytest.mark.parametrize("which", [0, 1])
def test_alpha_and_gamma_are_drawn_from_their_posterior_on_the_grid(which):
    counts, grid = [[3, 1], [2, 2], [4]], np.array([0.2, 0.7, 2.0, 5.0])
    seen, random = snapshot(counts), rng(9)
    state, _ = workspace(seen, 1.0, 1.0)
    state = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1)], [(1, 1)]]), ((2,), [[(2, 0)]])], seen, state)
    found = Counter()
    for _ in range(20_000):
        (draw_alpha, draw_gamma)[which](random, state, grid, np.empty(4))
        found[float(state.hyper[which])] += 1

    def weight(value):
        if which == 0:
            return value**2 / (value * (value + 1) * (value + 2))
        one = class_weight([[(0, 0), (1, 0)], [(0, 1)], [(1, 1)]], counts, value)
        return math.exp(one + class_weight([[(2, 0)]], counts, value))

    weights = [weight(value) for value in grid]
    assert chi_square(found, dict(zip(grid.tolist(), np.array(weights) / sum(weights), strict=True))) > 1e-3


@draws(2_000, 5_000)
def test_classes_drawn_together_with_alpha_and_gamma_have_their_posterior(draws):
    counts = [[4, 1], [3, 1], [2]]
    seen, random = snapshot(counts), rng(6)
    sampler = ClassRows().row_sampler(Pairs.uniform(3, 1), NOTHING)
    found = Counter()
    for _ in range(draws):
        for _ in range(12):
            sampler.refresh(seen, random)
        found[read_structure(seen, sampler.state)] += 1
    assert chi_square(found, mixed_posterior(counts, ALPHAS, GAMMAS)) > 1e-3
    assert chi_square(found, posterior(counts, *START)) < 1e-6


def test_compiled_steps_equal_the_plain_ones():
    counts = [[3, 2, 1], [4, 3], [2, 1], [5]]
    seen = snapshot(counts)
    for one, other in ((resample, resample.py_func), (resample_within, resample_within.py_func)):
        ends = []
        for step in (one, other):
            state, scratch = workspace(seen, 1.0, 0.7, [0, 1, 4], 0.1)
            random = rng(4)
            if one is resample_within:
                state.label[:] = [0, 0, 1, 0]
                state = write_structure([], seen, state)
            for _ in range(20):
                for k in range(4):
                    assert step(random, k, seen, state, scratch)
            ends.append((random.tolist(), *(array.tolist() for array in (*state[:-1], *state.neighbours[1:]))))
        assert ends[0] == ends[1]


def test_compiled_parts_of_a_step_equal_the_plain_ones():
    seen, state, scratch = one_class([[3, 2, 1], [5, 3], [4, 4, 1]], 0.7)
    c = state.label[1]
    for kernel in (draw_injection, draw_injection.py_func):
        random = rng(2)
        assert kernel(random, 0, c, False, seen, state, scratch) == pytest.approx(
            draw_injection(rng(2), 0, c, False, seen, state, scratch), rel=1e-12
        )
    ends = []
    for kernel in (rearrange, rearrange.py_func):
        state.position[: len(seen.succ)] = [0, 1, 2, 0, 1, 0, 1, 2]
        random = rng(3)
        for _ in range(5):
            kernel(random, 0, c, seen, state, scratch)
        ends.append((random.tolist(), state.position.tolist()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("fixed", [True, False])
def test_the_work_of_a_pass_is_classes_times_successors(fixed):
    seen = snapshot([[3, 1], [2], [], [1, 1, 4]])
    state, scratch = workspace(seen)
    state.label[:] = [0, 1, -1, 1] if fixed else -1
    if fixed:
        state.used[0] = 2
    stopped, work = resample_pairs(rng(3), 0, False, fixed, seen, state, scratch)
    assert stopped == 4
    if fixed:
        assert work == 2 + 1 + 3
    else:
        assert 2 + 1 + 3 <= work <= 2 + 2 * 1 + 3 * 3  # the first makes a class, the others one more at most
