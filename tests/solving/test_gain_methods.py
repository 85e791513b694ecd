"""The pieces of policy iteration: changes of value with their errors, brackets, sums of two doubles, who helps when."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import equirl as eq
from equirl.solving import gain_methods
from equirl.solving.chains import whole
from equirl.solving.gain_methods import (
    EPS,
    Bias,
    _advantage,
    _bracket,
    _change,
    _greedy,
    _helped_where_stalled,
    _last_sweeps,
    _sum,
    _unichain,
    band_work,
    certified_by_differences,
    directed_policy_iteration,
    elimination_policy_iteration,
    policy_iteration,
    solve_block,
)
from equirl.solving.value_iteration import BlockAnswer, SolverLimits, value_iteration

WORLD = eq.make("random", n_states=5, n_actions=3, branching=3, seed=4)
P, R = WORLD.to_arrays()
PART = whole(WORLD)
N_SUCC = len(PART.rows.succ)
GAIN = eq.solve(WORLD, accuracy=1e-12).gain


def some_bias(seed):
    rng = np.random.default_rng(seed)
    return Bias(rng.normal(size=5), 1e-17 * rng.normal(size=5))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_changes_brackets_and_advantages_are_those_of_exact_arithmetic(seed, plain):
    def run(kernel):
        return kernel.py_func if plain else kernel

    bias, model, rows = some_bias(seed), PART.model, PART.rows
    exact, error = np.empty((5, 3)), np.empty((5, 3))
    for s in range(5):
        for a in range(3):
            k, here = 3 * s + a, Fraction(bias.main[s]) + Fraction(bias.rest[s])
            total = Fraction(PART.reward[k])
            for j in range(rows.ptr[k], rows.ptr[k + 1]):
                x = rows.succ[j]
                total += Fraction(rows.prob[j]) * (Fraction(bias.main[x]) + Fraction(bias.rest[x]) - here)
            found, bound = run(_change)(model, bias, np.uint64(k), s)
            assert abs(Fraction(found) - total) <= Fraction(bound)
            assert bound <= 1e-13
            exact[s, a], error[s, a] = found, bound
            row = slice(rows.ptr[k], rows.ptr[k + 1])
            apart = np.abs(bias.main[rows.succ[row]] - bias.main[s]) + np.abs(bias.rest[rows.succ[row]] - bias.rest[s])
            size = PART.reward[k] + rows.prob[row] @ apart  # a rounding for each of the terms, and the defect
            assert bound == pytest.approx(((len(apart) + 4) * EPS + PART.defect) * size)
    low, high = run(_bracket)(model, bias, np.zeros(5, np.int64))
    assert low == (exact - error).max(axis=1).min()
    assert high == (exact + error).max(axis=1).max()
    pair, out = 3 * np.arange(5) + np.array([0, 1, 2, 1, 0]), np.empty(5)
    run(_advantage)(model, bias, pair, out)
    np.testing.assert_array_equal(out, exact.ravel()[pair])


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("tie", [0.0, 0.3])
def test_a_policy_changes_only_where_another_pair_is_better_by_more_than_the_tie(tie, plain):
    q = R + P @ (bias := some_bias(1)).main - bias.main[:, None]
    kept = np.array([0, 1, 2, 1, 0])
    expected = np.where(q.max(axis=1) > q[np.arange(5), kept] + tie, q.argmax(axis=1), kept)
    pair = 3 * np.arange(5) + kept
    changed = (_greedy.py_func if plain else _greedy)(PART.model, bias, tie, pair)
    assert (pair - 3 * np.arange(5)).tolist() == expected.tolist()
    assert bool(changed) == (expected.tolist() != kept.tolist())
    outside = np.zeros(5, np.int64)  # pairs of other states are no policy: the best is taken
    _greedy(PART.model, bias, tie, outside)
    assert (outside[1:] - 3 * np.arange(1, 5)).tolist() == q.argmax(axis=1)[1:].tolist()


@pytest.mark.parametrize("plain", [False, True])
def test_a_pair_that_is_just_as_good_replaces_none_and_of_better_ones_the_first_is_taken(plain):
    alike, none = PART.model._replace(reward=np.tile([0.2, 0.7, 0.7], 5)), Bias(np.zeros(5), np.zeros(5))
    for kept, expected, moved in ((0, 1, True), (1, 1, False), (2, 2, False)):
        pair = 3 * np.arange(5) + kept
        changed = (_greedy.py_func if plain else _greedy)(alike, none, 0.0, pair)
        assert (pair.tolist(), bool(changed)) == ((3 * np.arange(5) + expected).tolist(), moved)


def test_sums_of_two_doubles_lose_nothing_but_the_last_digit_of_the_rest():
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-8, 1e8):
        one = Bias(rng.normal(size=50), 1e-17 * rng.normal(size=50))
        more = scale * rng.normal(size=50)
        found = _sum(one, more)
        for i in range(50):
            exact = Fraction(one.main[i]) + Fraction(one.rest[i]) + Fraction(more[i])
            got = Fraction(found.main[i]) + Fraction(found.rest[i])
            assert abs(got - exact) <= Fraction(1e-31) * max(1, abs(exact))
            assert found.main[i] == found.main[i] + found.rest[i]  # the rest is below its last digit


def answer(low, high, noise=0.0, n_sweeps=5, bias=None):
    bias = np.zeros(5) if bias is None else bias
    return BlockAnswer(low, high, noise, bias, 3 * np.arange(5), n_sweeps, "value")


def test_a_bracket_from_differences_replaces_one_that_rounding_widened_and_no_other():
    bias = eq.solve(WORLD, accuracy=1e-12).bias
    wide = answer(GAIN - 1e-9, GAIN + 1e-9, 1e-3, bias=bias)
    sharp = certified_by_differences(PART, wide)
    assert sharp.noise == 0.0
    assert sharp.low - 1e-12 <= GAIN <= sharp.high + 1e-12
    assert sharp.accuracy < 1e-9
    exact = answer(GAIN, GAIN, bias=np.zeros(5))
    assert certified_by_differences(PART, exact) is exact


def test_an_answer_that_is_accurate_or_out_of_sweeps_is_left_as_it_is():
    good, spent = answer(0.0, 2e-3), answer(0.0, 1.0, n_sweeps=9)
    for found, limits in ((good, SolverLimits(1e-3, 100)), (spent, SolverLimits(1e-3, 9))):
        assert _last_sweeps(PART, np.zeros(5), limits, found, value_iteration) is found
        assert _helped_where_stalled(PART, np.zeros(5), limits, found) is found
    more = _last_sweeps(PART, np.zeros(5), SolverLimits(1e-3, 100), spent, value_iteration)
    assert more.n_sweeps > 9
    assert more.accuracy <= 1e-3
    helped = _helped_where_stalled(PART, np.zeros(5), SolverLimits(1e-9, 100), spent)
    assert helped.accuracy <= 1e-9
    assert helped.method == "policy"


@pytest.mark.parametrize("method", ["auto", "policy", "value"])
@pytest.mark.parametrize("max_sweeps", [1, 2, 4])
def test_no_method_makes_more_sweeps_than_it_may(method, max_sweeps):
    found = solve_block(PART, method, SolverLimits(1e-14, max_sweeps))
    assert found.n_sweeps <= max_sweeps
    assert found.low - found.noise <= GAIN <= found.high + found.noise


@pytest.mark.parametrize("method", [directed_policy_iteration, policy_iteration])
def test_policy_iteration_finds_the_gain_and_counts_from_what_was_done(method):
    found = method(PART, np.zeros(5), SolverLimits(1e-10, 1000), 7)
    assert found.method == "policy"
    assert 7 < found.n_sweeps < 200
    assert found.low - found.noise <= GAIN <= found.high + found.noise
    assert found.accuracy <= 1e-10


def test_elimination_finds_the_gain_in_few_steps_and_none_where_it_may_make_no_step():
    start = 3 * np.arange(5)
    found = elimination_policy_iteration(PART, start, SolverLimits(1e-12, 1000), 7)
    assert found.low - 1e-13 <= GAIN <= found.high + 1e-13
    assert found.accuracy <= 1e-12
    assert 7 < found.n_sweeps < 20
    assert start.tolist() == [0, 3, 6, 9, 12]
    assert elimination_policy_iteration(PART, start, SolverLimits(1e-12, 7), 7) is None
    one = elimination_policy_iteration(PART, start, SolverLimits(1e-12, 8), 7)
    assert one.n_sweeps == 8


def rooms():
    """Two rooms that may be left for one another, one of which pays more: staying makes two recurrent classes."""
    laws = np.zeros((4, 2, 4))
    for s, other in ((0, 1), (1, 0), (2, 3), (3, 2)):
        laws[s, 0, other] = 1.0
        laws[s, 1, (s + 2) % 4] = 1.0
    return eq.TabularMDP.from_arrays(laws, [[0.1, 0.0], [0.2, 0.0], [0.9, 0.0], [0.4, 0.0]])


def test_a_policy_with_two_recurrent_classes_is_led_to_the_better_one():
    part = whole(rooms())
    assert _unichain(part, np.array([0, 2, 4, 6])).tolist() == [1, 3, 4, 6]
    alone = np.array([1, 3, 4, 6])
    assert _unichain(part, alone) is alone


def test_no_state_is_headed_for_where_some_states_are_never_left():
    apart = eq.TabularMDP.from_arrays(np.eye(2)[:, None], [[0.2], [0.7]])
    assert directed_policy_iteration(whole(apart), np.zeros(2), SolverLimits(1e-9, 100)) is None
    assert _unichain(whole(apart), np.arange(2)) is None


@pytest.mark.parametrize("n", [3, 10])
def test_the_work_of_factors_is_bounded_by_the_bandwidth_of_the_graph(n):
    laws = np.zeros((n, 1, n))
    for s in range(n):
        laws[s, 0, max(0, s - 1)] += 0.5
        laws[s, 0, min(n - 1, s + 1)] += 0.5
    line = eq.TabularMDP.from_arrays(laws, np.zeros((n, 1)))
    for mdp in (line, line.shuffled(3)):
        assert n <= band_work(whole(mdp)) <= 4 * n  # one or two states to the side
    everywhere = eq.TabularMDP.from_arrays(np.full((n, 1, n), 1 / n), np.zeros((n, 1)))
    assert band_work(whole(everywhere)) == n * (n - 1) ** 2


@pytest.fixture
def asked(monkeypatch):
    """What solvers are asked for, in order; they answer with the brackets given, after all sweeps they may make."""
    calls, brackets = [], []

    def stub(name):
        def solver(part, u, limits, done=0):
            calls.append((name, limits.accuracy, limits.max_sweeps, done))
            low, high = brackets.pop(0) if brackets else (0.0, 1.0)
            return answer(low, high, n_sweeps=limits.max_sweeps)

        return solver

    for name in ("value", "policy", "modified"):
        monkeypatch.setattr(gain_methods, f"{name}_iteration", stub(name))
    monkeypatch.setattr(
        gain_methods, "_helped_where_stalled", lambda part, u, limits, found: calls.append(("help", *limits)) or found
    )
    return calls, brackets


@pytest.mark.parametrize(
    ("width", "max_sweeps", "expected"),
    [
        (1.0, 9000, [("policy", 1e-3, 5000, 0), ("help", 1e-3, 9000), ("policy", 1e-3, 9000, 5000)]),
        (1.0, 5000, [("policy", 1e-3, 5000, 0), ("help", 1e-3, 5000)]),
        (1.0, 70, [("policy", 1e-3, 70, 0), ("help", 1e-3, 70)]),
        (2e-3, 9000, [("policy", 1e-3, 5000, 0), ("help", 1e-3, 9000)]),
    ],
)
def test_policy_iteration_goes_on_where_it_had_all_its_sweeps_and_is_not_accurate(asked, width, max_sweeps, expected):
    calls, brackets = asked
    brackets.append((0.0, width))
    solve_block(PART, "policy", SolverLimits(1e-3, max_sweeps))
    assert calls == expected


@pytest.mark.parametrize(
    ("width", "work", "max_sweeps", "expected"),
    [
        (2e-3, 1e7, 9000, [("value", 1e-3, 1000, 0), ("policy", 1e-3, 2000, 1000), ("help", 1e-3, 9000)]),
        (2e-3, 1.1e7, 9000, [("value", 1e-3, 1000, 0), ("help", 1e-3, 9000)]),
        (
            1.0, 2e9, 1500,
            [("value", 1e-3, 1000, 0), ("policy", 1e-3, 1500, 1000), ("help", 1e-3, 1500)],
        ),
        (
            1.0, 2.1e9, 9000,
            [("value", 1e-3, 1000, 0), ("help", 1e-3, 9000), ("value", 1e-3, 9000, 1000)],
        ),
        (1.0, 1.0, 600, [("value", 1e-3, 600, 0), ("help", 1e-3, 600)]),
    ],
)  # fmt: skip
def test_sweeps_come_first_then_policies_if_affordable(asked, monkeypatch, width, work, max_sweeps, expected):
    calls, brackets = asked
    brackets.extend([(0.0, width), (0.0, width)])
    monkeypatch.setattr(gain_methods, "band_work", lambda part: work)
    solve_block(PART, "auto", SolverLimits(1e-3, max_sweeps))
    assert calls == expected


@pytest.mark.parametrize(
    ("limit", "value", "large"),
    [("SMALL", 5, False), ("SMALL", 4, True), ("LARGE", N_SUCC, False), ("LARGE", N_SUCC - 1, True)],
)
def test_a_block_is_large_by_its_states_or_by_its_successors(asked, monkeypatch, limit, value, large):
    monkeypatch.setattr(gain_methods, limit, value)
    solve_block(PART, "auto", SolverLimits(1e-3, 9000))
    assert asked[0][0] == ("modified" if large else "value", 1e-3, 50 if large else 1000, 0)


@pytest.mark.parametrize(
    ("accuracy", "most", "brackets", "expected"),
    [
        (1e-6, 9000, [(0.0, 1.0), (0.0, 0.5), (0.0, 1e-6)], [50, 100, 1000, "help"]),
        (1e-6, 9000, [(0.0, 1.0), (0.0, 0.5), (0.0, 0.1), (0.0, 0.1)], [50, 100, 1000, "help", 9000]),
        (1e-8, 9000, [(0.0, 1.0), (0.0, 0.5), (0.0, 0.1)], [50, 100, "help", 9000]),
        (1e-6, 9000, [(0.5, 0.5 + 1e-6)], [50, "help"]),
        (1e-6, 70, [(0.0, 1.0), (0.0, 0.5)], [50, 70, "help"]),
        (1e-6, 30, [(0.0, 1.0)], [30, "help"]),
        (1e-6, 9000, [(0.0, 1.0), (0.0, 1e-6)], [50, 100, "help"]),
    ],
)
def test_large_blocks_are_swept_on_where_a_thousand_will_do(asked, monkeypatch, accuracy, most, brackets, expected):
    monkeypatch.setattr(gain_methods, "LARGE", 0)
    asked[1].extend(brackets)
    solve_block(PART, "auto", SolverLimits(accuracy, most))
    assert [call[2] if call[0] != "help" else call[0] for call in asked[0]] == expected
    names = [call[0] for call in asked[0]]
    assert set(names[: names.index("help")]) == {"modified"}
    assert set(names[names.index("help") + 1 :]) <= {"value"}  # what is left is swept plainly
