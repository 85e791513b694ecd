import numpy as np
import pytest
from scipy import stats

from equirl.estimation.counts import Snapshot
from equirl.numerics.random_draws import draw_state
from equirl.posterior import drawn_rows
from equirl.posterior.drawn_rows import (
    LEAST,
    UNSEEN_POSITIONS,
    ClassDraw,
    Placing,
    draw_class_rows,
    draw_masses,
    draw_own_rows,
    make_rows,
)
from equirl.posterior.hope import count_near, draw_exceptions, everywhere, near_state, stay_length
from oracles_posterior import snapshot, workspace, write_structure


def rng(seed):
    return draw_state(np.random.SeedSequence(seed))


def dense(rows, S):
    """(M, S) the rows drawn, whole; no state is listed twice in a row."""
    M = len(rows.rest)
    used = rows.ptr[M]
    cell = np.repeat(np.arange(M) * S, np.diff(rows.ptr[: M + 1])) + rows.succ[:used]
    assert np.bincount(cell, minlength=M * S).max() <= 1
    held = np.bincount(cell, rows.prob[:used], M * S).reshape(M, S)
    return held + rows.rest[:, None] / S


def laws(rows):
    """(n, M, S) draws of rows, checked to be distributions."""
    rows = np.array(rows)
    np.testing.assert_allclose(rows.sum(axis=-1), 1)
    assert (rows >= 0).all()
    return rows


def placing_of(S, sticks, M):
    """Unseen states are all alike; pairs belong to state 0."""
    return Placing(np.arange(S + 1), np.zeros(M, np.int64), sticks, 0.0, 0.0, np.zeros(0, np.int64), everywhere(S))


def draw_of(M, cells=0, width=0, exception=None, apart=0.0):
    exception = np.full(M, -1) if exception is None else np.array(exception)
    scratch = np.empty(width + 1, np.int64), np.empty(M, np.int64)
    return ClassDraw(np.empty(cells), np.empty(M + 1), exception, 0.0, apart, *scratch)


def own_rows(counts, S, strength, draws, sticks=4, seed=1):
    seen, random = snapshot(counts), rng(seed)
    rows, placing, out = make_rows(len(counts), len(seen.succ), sticks), placing_of(S, sticks, len(counts)), []
    for _ in range(draws):
        draw_own_rows(random, strength, seen, placing, rows)
        out.append(dense(rows, S))
    return laws(out)


def class_rows(key, counts, S, gamma, draws, sticks=2, alpha=1.0, seed=1, apart=0.0):
    seen, random = snapshot(counts), rng(seed)
    state, _ = workspace(seen, alpha, gamma)
    state = write_structure(key, seen, state)
    M = len(counts)
    rows = make_rows(M, len(seen.succ), sticks)
    placing, out = placing_of(S, sticks, M), []
    draw = draw_of(M, len(state.pooled), int(state.width.max()), None, apart)
    for _ in range(draws):
        draw_masses(random, state, draw.w, draw.w_new)
        draw_class_rows(random, seen, state, placing, draw, rows)
        out.append(dense(rows, S))
    return laws(out)


def assert_mean(draws, expected, sigmas=4.5):
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= sigmas * error + 1e-7).all()


@pytest.mark.parametrize("S", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("strength", [0.05, 0.5, 1.0, 3.0])
def test_rows_of_single_pairs_have_the_means_of_their_dirichlet(S, strength):
    counts = [[], [3], [5, 1]]
    draws = own_rows(counts, S, strength, 6000)
    full = np.array([[*row, *[0] * (S - len(row))] for row in counts]) + strength
    assert_mean(draws, full / full.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("strength", [0.02, 0.5, 1.0, 3.0])
def test_rows_of_single_pairs_over_many_states_have_nearly_the_means_of_their_dirichlet(strength):
    counts, S = [[], [3], [5, 1]], 50
    draws = own_rows(counts, S, strength, 3000).mean(axis=0)
    for k, row in enumerate(counts):
        full = np.array([*row, *[0] * (S - len(row))]) + strength
        np.testing.assert_allclose(draws[k, : len(row)], (full / full.sum())[: len(row)], rtol=0.04)


@pytest.mark.parametrize(("S", "strength"), [(3, 0.3), (5, 1.0), (4, 2.0), (40, 1 / 40)])
def test_rows_of_single_pairs_have_the_variances_of_their_dirichlet(S, strength):
    counts = [[], [3], [5, 1]]
    draws = own_rows(counts, S, strength, 12_000)
    for k, row in enumerate(counts):
        a = np.array([*row, *[0] * (S - len(row))]) + strength
        p = a / a.sum()
        exact = p * (1 - p) / (1 + a.sum())
        np.testing.assert_allclose(draws[:, k].var(axis=0)[: len(row)], exact[: len(row)], rtol=0.06)
        assert draws[:, k].var(axis=0)[len(row) :].mean() == pytest.approx(exact[-1], rel=0.08)


def test_where_states_are_few_single_rows_are_dirichlet_in_law():
    draws = own_rows([[2]], 3, 0.7, 6000)[:, 0]
    assert stats.kstest(draws[:, 0], stats.beta(2.7, 1.4).cdf).pvalue > 1e-3
    assert stats.kstest(draws[:, 1], stats.beta(0.7, 3.4).cdf).pvalue > 1e-3
    assert stats.kstest(draws[:, 1] / (draws[:, 1] + draws[:, 2]), stats.beta(0.7, 0.7).cdf).pvalue > 1e-3


def test_a_dense_prior_over_many_states_does_not_put_its_mass_on_a_single_one():
    draws = own_rows([[]], 200, 1.0, 300)[:, 0]
    assert draws.max() < 0.2


@pytest.mark.parametrize("draw", ["own", "class"])
def test_a_pair_with_endless_data_gives_its_law(draw):
    counts = [[700_000_000, 200_000_000, 100_000_000]]
    if draw == "own":
        draws = own_rows(counts, 6, 1.0, 20)
    else:
        draws = class_rows([((0,), [[(0, 0)], [(0, 1)], [(0, 2)]])], counts, 6, 0.5, 20)
    assert np.abs(draws - [0.7, 0.2, 0.1, 0, 0, 0]).max() < 1e-3


def test_a_pair_seen_twice_borrows_the_masses_of_a_class_seen_a_million_times():
    counts = [[600_000, 300_000, 100_000], [2]]
    key = [((0, 1), [[(0, 0), (1, 0)], [(0, 1)], [(0, 2)]])]
    draws = class_rows(key, counts, 10, 0.5, 200)
    assert np.abs(draws[:, 1, 0] - 0.6).max() < 5e-3
    others = np.sort(draws[:, 1, 1:], axis=1)
    assert np.abs(others[:, -2:] - [0.1, 0.3]).max() < 5e-3
    where = draws[:, 1, 1:].argmax(axis=1)
    assert len(set(where.tolist())) == 9  # the position it has not seen goes anywhere


@pytest.mark.parametrize("S", [3, 4, 20])
@pytest.mark.parametrize("gamma", [0.2, 1.0, 4.0])
def test_a_class_of_one_has_the_means_of_its_stick_breaking(S, gamma):
    draws = class_rows([((0,), [[(0, 0)], [(0, 1)]])], [[5, 2]], S, gamma, 6000)[:, 0]
    unseen = gamma / (S - 2) / (7 + gamma)
    assert_mean(draws, np.array([5 / (7 + gamma), 2 / (7 + gamma), *[unseen] * (S - 2)]))


@pytest.mark.parametrize("apart", [0.0, 1.0, 2.5])
def test_a_pair_stands_apart_with_the_chance_asked_for_and_then_draws_from_its_own_counts(apart):
    """Of a pair seen 5 times in a class seen a million times, half of whose mass is where the pair has not been."""
    key = [((0, 1), [[(0, 0), (1, 0)], [(0, 1), (1, 1)], [(0, 2)]])]
    draws = class_rows(key, [[250_000, 250_000, 500_000], [4, 1]], 3, 0.5, 4000, apart=apart)[:, :, 0]
    assert np.abs(draws[:, 0] - 0.25).max() < 0.01  # the other one hardly ever does
    odd = np.abs(draws[:, 1] - 0.25) > 0.01
    assert odd.mean() == pytest.approx(apart / 5, abs=0.03)
    if apart:
        assert stats.kstest(draws[odd, 1], stats.beta(4, 1.5).cdf).pvalue > 1e-3  # of Dirichlet(4, 1, gamma)


@pytest.mark.parametrize(("mass", "chance"), [(0.3, 1.0), (0.5, 1.0), (0.6, 0.8), (0.8, 0.4), (0.999, 0.002)])
def test_a_pair_stands_apart_the_less_the_more_it_has_seen_of_what_its_class_does(mass, chance):
    """Of a pair that has seen one of two successors, five times, in a class seen a million times."""
    key, N = [((0, 1), [[(0, 0), (1, 0)], [(0, 1)]])], 10**6
    draws = class_rows(key, [[int(mass * N), N - int(mass * N)], [5]], 2, 0.5, 4000, apart=1.0)
    odd = np.abs(draws[:, 1, 0] - mass) > 0.003
    assert odd.mean() == pytest.approx(chance / 5, abs=0.03)


def test_where_every_state_is_seen_no_mass_is_left_for_new_ones():
    draws = class_rows([((0,), [[(0, 0)], [(0, 1)]])], [[5, 2]], 2, 1.0, 4000)[:, 0]
    assert stats.kstest(draws[:, 0], stats.beta(5, 2).cdf).pvalue > 1e-3


def test_masses_of_a_class_are_dirichlet():
    seen, random = snapshot([[5, 2], [1, 1]]), rng(2)
    state, _ = workspace(seen, 1.0, 0.3)
    state = write_structure([((0, 1), [[(0, 0), (1, 1)], [(0, 1)], [(1, 0)]])], seen, state)
    w, w_new, found = np.zeros(len(state.pooled)), np.empty(3), []
    for _ in range(5000):
        draw_masses(random, state, w, w_new)
        found.append([*w[state.start[0] : state.start[0] + 3], w_new[0]])
    found = np.array(found)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for column, mass in enumerate([*state.pooled[state.start[0] : state.start[0] + 3].tolist(), 0.3]):
        assert stats.kstest(found[:, column], stats.beta(mass, 9.3 - mass).cdf).pvalue > 1e-3


def test_a_pair_never_visited_joins_a_class_in_proportion_to_its_members():
    counts = [[10**8], [10**8], [5 * 10**7, 5 * 10**7], []]
    key = [((0, 1), [[(0, 0), (1, 0)]]), ((2,), [[(2, 0)], [(2, 1)]])]
    draws = class_rows(key, counts, 50, 1.0, 4000, alpha=1.0)[:, 3]
    top = np.sort(draws, axis=1)[:, -2:]
    certain, even = (top[:, 1] > 0.99999), np.abs(top - 0.5).max(axis=1) < 1e-3
    assert certain.mean() == pytest.approx(2 / 4, abs=0.03)
    assert even.mean() == pytest.approx(1 / 4, abs=0.03)


def test_positions_beyond_what_a_row_holds_are_spread_over_all_states():
    n = UNSEEN_POSITIONS + 6
    counts = [[100] * n, [100]]
    key = [((0, 1), [[(0, 0), (1, 0)], *[[(0, i)] for i in range(1, n)]])]
    draws = class_rows(key, counts, 60, 0.5, 300)
    assert (draws[:, 1] > 0).all()


def test_masses_next_to_nothing_are_not_placed():
    seen = snapshot([[5, 3, 2], [5]])
    state, _ = workspace(seen, 1.0, 0.5)
    state = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1)], [(0, 2)]])], seen, state)
    draw, rows = draw_of(2, len(state.pooled), 3), make_rows(2, 4, 2)
    draw.w[: state.width[0]], draw.w_new[0] = [0.75, 0.25, LEAST / 2], 0.0
    draw_class_rows(rng(1), seen, state, placing_of(9, 2, 2), draw, rows)
    assert np.diff(rows.ptr).tolist() == [3, 2]
    np.testing.assert_allclose(np.sort(rows.prob[rows.ptr[1] : rows.ptr[2]]), [0.25, 0.75])


def test_what_a_pair_has_not_seen_is_placed_near_its_state_where_asked():
    counts, S = [[10**6, 10**6, 10**6], [5], []], 40  # all of state 0, which so far leads to 0, 1 and 2
    seen, random, drawn = snapshot(counts), rng(6), []
    state, _ = workspace(seen, 1e-9, 0.5)
    state = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1)], [(0, 2)]])], seen, state)
    placing, rows = placing_of(S, 2, 3)._replace(near=0.5), make_rows(3, 4, 2)
    placing, draw = placing._replace(pair_ptr=np.array([0, *[3] * S])), draw_of(3, len(state.pooled), 3)
    for _ in range(2000):
        draw_masses(random, state, draw.w, draw.w_new)
        draw_class_rows(random, seen, state, placing, draw, rows)
        drawn.append(dense(rows, S))
    found = (laws(drawn)[:, 1] > 0.1).sum(axis=0)
    assert found[0] == 2000
    assert (found[[1, 2]] > 200).all()
    assert (found[3:] > 20).all()
    assert found[3:].sum() > 2000  # half of them anywhere, and more where what is near is taken


@pytest.mark.parametrize("outward", [0.0, 0.5, 1.0])
def test_what_is_not_placed_near_is_placed_on_states_never_left_as_often_as_asked(outward):
    counts, S, left = [[10**6, 10**6], [5]], 12, np.array([7, 9])
    seen, random, drawn = snapshot(counts), rng(6), []
    state, _ = workspace(seen, 1e-9, 0.5)
    state = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1)]])], seen, state)
    placing, rows = placing_of(S, 2, 2)._replace(outward=outward, beyond=left), make_rows(2, 3, 2)
    draw = draw_of(2, len(state.pooled), 2)
    for _ in range(4000):
        draw_masses(random, state, draw.w, draw.w_new)
        draw_class_rows(random, seen, state, placing, draw, rows)
        drawn.append(dense(rows, S))
    found = (laws(drawn)[:, 1] > 0.1).sum(axis=0)
    assert found[0] == 4000
    assert found[left].sum() / 4000 == pytest.approx(outward + (1 - outward) * 2 / 11, abs=0.03)
    assert found[left].min() > 0.4 * found[left].sum()


def test_exceptional_pairs_are_as_many_as_asked_on_average():
    ptr, seen = np.arange(0, 41, 2), snapshot([*[[5]] * 20, *[[]] * 20])
    odd, unknown, random, lonely, bridges = np.empty(40, np.int64), np.empty(20, np.int64), rng(3), 0, 0
    for _ in range(4000):
        draw_exceptions(random, 0.0, 0.5, everywhere(20), seen, ptr, odd, unknown)
        bridges += (odd[:20] >= 0).sum()
    assert 0.3 < bridges / 4000 < 0.55  # near a pair there may be nothing known
    for _ in range(4000):
        draw_exceptions(random, 1.0, 0.0, everywhere(20), seen, ptr, odd, unknown)
        lonely += (odd[20:] >= 0).sum()
        assert (odd[:20] < 0).all()
    assert lonely / 4000 == pytest.approx(1.0, abs=0.07)


def test_successors_near_a_state_are_counted_as_a_plain_reading_counts_them():
    random = np.random.default_rng(8)
    for _ in range(60):
        S = int(random.integers(1, 7))
        ptr = np.concatenate([[0], np.cumsum(random.integers(1, 4, size=S))])
        held = [random.permutation(S)[: random.integers(0, S + 1)].tolist() for _ in range(ptr[-1])]
        bounds = np.cumsum([0, *map(len, held)])
        visits = np.array([len(states) for states in held])
        succ = np.array([x for states in held for x in states], np.int32)
        seen = Snapshot(bounds, succ, np.ones(len(succ), np.int64), visits, *np.zeros((2, len(held))))
        near = total = 0
        for s in range(S):
            pairs = range(ptr[s], ptr[s + 1])
            if sum(visits[k] > 0 for k in pairs) < 2:
                continue
            for k in pairs:
                others = {x for j in pairs if j != k for x in held[j]}
                near += sum(x == s or x in others for x in held[k])
                total += len(held[k])
        reached = np.zeros(S, np.int64)
        assert count_near(seen, ptr, reached) == (near, total)
        assert not reached.any()


def test_an_unknown_pair_that_stays_put_is_left_in_the_end_and_stays_grow_for_ever():
    seen = snapshot([[]])
    state, _ = workspace(seen, 1.0, 0.5)
    draw, random, drawn = draw_of(1, exception=[2])._replace(leave=0.2), rng(1), []
    for _ in range(4000):
        rows = make_rows(1, 0, 2)
        draw_class_rows(random, seen, state, placing_of(4, 2, 1), draw, rows)
        drawn.append(dense(rows, 4)[0])
        assert sorted(set(drawn[-1].round(9))) in ([0.0, 0.2, 0.8], [0.0, 1.0])
    np.testing.assert_allclose(np.mean(drawn, axis=0), [0.05, 0.05, 0.85, 0.05], atol=0.01)
    assert [stay_length(t) for t in (1, 10_000, 10**6, 10**8)] == [30, 30, 300, 3000]


def test_compiled_rows_equal_the_plain_ones():
    seen, ends = snapshot([[3, 1], []]), []
    for draw in (draw_own_rows, draw_own_rows.py_func):
        random, rows = rng(4), make_rows(2, 2, 4)
        draw(random, 0.5, seen, placing_of(6, 4, 2), rows)
        ends.append((random.tolist(), laws(dense(rows, 6))))
    assert ends[0][0] == ends[1][0]
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-12)


def test_compiled_rows_of_classes_equal_the_plain_ones():
    seen = snapshot([[3, 1], [2], []])
    state, _ = workspace(seen, 1.0, 0.5)
    state = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1)]])], seen, state)
    ends = []
    for masses, draw in ((draw_masses, draw_class_rows), (draw_masses.py_func, draw_class_rows.py_func)):
        random, rows = rng(5), make_rows(3, 3, 2)
        drawn = draw_of(3, len(state.pooled), 2, exception=[-1, 5, -1])
        masses(random, state, drawn.w, drawn.w_new)
        draw(random, seen, state, placing_of(6, 2, 3), drawn, rows)
        ends.append((random.tolist(), laws(dense(rows, 6))))
    assert ends[0][0] == ends[1][0]
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-12)


@pytest.mark.parametrize(("counts", "positions"), [([[], []], []), ([[1], []], [[(0, 0)]])])
def test_an_exceptional_pair_of_a_given_class_stays_put_where_nothing_was_seen_of_the_class(counts, positions):
    seen, S = snapshot(counts), 4
    state, _ = workspace(seen, 1.0, 1e-9)
    state = write_structure([((0, 1), positions)], seen, state)
    draw, rows = draw_of(2, len(state.pooled) + 1, 2, exception=[-1, 2])._replace(leave=0.2), make_rows(2, 1, 2)
    draw_masses(rng(1), state, draw.w, draw.w_new)
    draw_class_rows(rng(1), seen, state, placing_of(S, 2, 2), draw, rows)
    drawn = dense(rows, S)[1]
    if positions:  # one step of the class: its mass goes to one state, whatever the odd one
        assert drawn.max() > 0.999
    else:
        assert drawn[2] == pytest.approx(0.8) or drawn[2] == pytest.approx(1.0)


def test_a_state_near_is_the_state_itself_or_a_successor_of_one_of_its_pairs():
    """Of state 1: its pairs have the successors 0, 1 and 2, none, and 0; a pair is drawn, or the state itself."""
    seen, ptr, random = snapshot([[1] * 9, [5, 3, 2], [], [1], [1] * 9]), np.array([0, 1, 4, 5]), rng(1)
    found = np.bincount([near_state(random, 1, ptr, seen) + 1 for _ in range(6000)], minlength=4) / 6000
    np.testing.assert_allclose(found, [1 / 4, 1 / 12 + 1 / 4, 1 / 12 + 1 / 4, 1 / 12], atol=0.03)


# --- step by step, with scripted chances


place_plainly, break_plainly, spread_plainly, divert_plainly = (
    getattr(drawn_rows, name).py_func for name in ("_place", "_break", "_spread", "_divert")
)


class Chances:
    """Numbers in the order given, for the plain bodies of the steps; all must be used."""

    def __init__(self, monkeypatch, **scripts):
        self.scripts, self.asked = {name: list(values) for name, values in scripts.items()}, []
        for name in ("uniform", "below", "near_state", "beta_draw", "log_gamma_draw"):
            monkeypatch.setattr(drawn_rows, name, lambda _, *call, name=name: self.next(name, call))
        monkeypatch.setattr(drawn_rows, "_place", place_plainly)

    def next(self, name, call):
        if name in ("below", "beta_draw"):
            self.asked.append(tuple(float(number) for number in call))
        return self.scripts[name].pop(0)

    def done(self):
        return not any(self.scripts.values())


def one_row(held=()):
    rows = make_rows(1, 8, 4)
    for i, x in enumerate(held):
        rows.succ[i], rows.prob[i] = x, 0.1
    return rows


def place(rows, end, placing, seen=None, mass=0.5):
    return place_plainly(None, mass, 0, end, snapshot([[1]]) if seen is None else seen, placing, rows)


def test_a_mass_goes_to_any_state_that_the_row_does_not_hold(monkeypatch):
    chances, rows = Chances(monkeypatch, below=[1, 3, 4]), one_row([1, 3])
    assert place(rows, 2, placing_of(5, 2, 1)) == 3
    assert (rows.succ[2], rows.prob[2], chances.asked) == (4, 0.5, [(5.0,)] * 3)
    assert chances.done()
    assert place(one_row(range(5)), 5, placing_of(5, 2, 1)) == 5  # all are held


def test_where_tries_are_in_vain_the_others_are_counted_off(monkeypatch):
    for skip, x in ((0, 2), (1, 4)):
        chances, rows = Chances(monkeypatch, below=[0] * drawn_rows.TRIES + [skip]), one_row([0, 1, 3])
        assert place(rows, 3, placing_of(5, 2, 1)) == 4
        assert (rows.succ[3], chances.asked[-1]) == (x, (2.0,))
        assert chances.done()


def test_a_mass_goes_near_or_outward_as_often_as_set(monkeypatch):
    near = placing_of(5, 2, 1)._replace(near=0.5)
    outward = near._replace(outward=0.25, beyond=np.array([2, 4]))
    for placing, held, script, x in (
        (near, [1], {"uniform": [0.49], "near_state": [3]}, 3),
        (near, [1], {"uniform": [0.5], "below": [2]}, 2),
        (near, [1], {"uniform": [0.49], "near_state": [-1], "below": [2]}, 2),
        (near, [1], {"uniform": [0.49], "near_state": [1], "below": [0]}, 0),
        (outward, [1], {"uniform": [0.49], "near_state": [3]}, 3),
        (outward, [1], {"uniform": [0.49, 0.24], "near_state": [1], "below": [1]}, 4),
        (outward, [1], {"uniform": [0.5, 0.24], "below": [0]}, 2),
        (outward, [1], {"uniform": [0.5, 0.25], "below": [3]}, 3),
        (outward, [4], {"uniform": [0.5, 0.24], "below": [1, 0]}, 0),
    ):
        chances, rows = Chances(monkeypatch, **script), one_row(held)
        assert place(rows, 1, placing) == 2
        assert rows.succ[1] == x
        assert chances.done()


def test_a_pair_often_tried_reaches_only_what_was_entered_and_nothing_outward(monkeypatch):
    reach = everywhere(5)._replace(order=np.array([3, 1, 0, 2, 4]), n_entered=2, often=2.0)
    placing = placing_of(5, 2, 1)._replace(reach=reach, outward=1.0, beyond=np.array([4]))
    chances, rows = Chances(monkeypatch, below=[1]), one_row([3])
    assert place(rows, 1, placing, snapshot([[3]])) == 2
    assert (rows.succ[1], chances.asked) == (1, [(2.0,)])
    assert place(one_row([3, 1]), 2, placing, snapshot([[3]])) == 2
    chances, rows = Chances(monkeypatch, uniform=[0.3], below=[0]), one_row([3])
    place(rows, 1, placing, snapshot([[2]]))  # not yet too often
    assert rows.succ[1] == 4


def test_a_mass_is_broken_by_sticks_and_the_last_takes_all(monkeypatch):
    seen, placing = snapshot([[1]]), placing_of(5, 3, 1)
    chances, rows = Chances(monkeypatch, uniform=[0.25, 0.81], below=[0, 1, 2]), one_row()
    assert break_plainly(None, 0.8, 2.0, 0, 0, seen, placing, rows) == 3
    first, second = 0.8 * (1 - 0.5), 0.8 * 0.5 * (1 - 0.9)
    np.testing.assert_allclose(rows.prob[:3], [first, second, 0.8 - first - second])
    assert chances.done()
    chances, rows = Chances(monkeypatch, below=[4]), one_row([0, 1, 2, 3])
    assert break_plainly(None, 0.8, 2.0, 0, 4, seen, placing, rows) == 5  # one state is left
    assert rows.prob[4] == 0.8
    chances, rows = Chances(monkeypatch), one_row()
    assert break_plainly(None, 0.99 * LEAST, 2.0, 0, 0, seen, placing, rows) == 0
    assert break_plainly(None, 0.8, 2.0, 0, 5, seen, placing, one_row(range(5))) == 5


def test_a_mass_is_shared_as_by_a_dirichlet_and_what_is_left_goes_to_one_state_or_to_all(monkeypatch):
    seen, placing = snapshot([[1]]), placing_of(5, 2, 1)
    chances, rows = Chances(monkeypatch, beta_draw=[0.5], below=[0, 1]), one_row()
    assert spread_plainly(None, 0.8, 0.2, 0, 0, seen, placing, rows) == 2  # sparse: 0.2 * 4 <= 1
    np.testing.assert_allclose(rows.prob[:2], [0.4, 0.4])
    assert chances.asked[0] == pytest.approx((1.2, 0.2 * 4))
    assert rows.rest[0] == 0.0
    chances, rows = Chances(monkeypatch, beta_draw=[0.5], below=[0, 1]), one_row()
    assert spread_plainly(None, 0.8, 0.25, 0, 0, seen, placing, rows) == 2  # 0.25 * 4 <= 1 still
    chances, rows = Chances(monkeypatch, beta_draw=[0.5] * 4, below=[0, 1, 2, 3, 4]), one_row()
    assert spread_plainly(None, 0.8, 0.5, 0, 0, seen, placing, rows) == 5
    np.testing.assert_allclose(rows.prob[:5], [0.4, 0.2, 0.1, 0.05, 0.05])
    S = 40
    n = placing.sticks + UNSEEN_POSITIONS
    chances, rows = Chances(monkeypatch, beta_draw=[0.1] * n, below=list(range(n))), make_rows(1, 8, 4)
    assert spread_plainly(None, 1.0, 1.0, 0, 0, seen, placing_of(S, 2, 1), rows) == n
    left = 0.9**n
    each = left / (S - n)  # of those not held; those held give as much back
    assert rows.rest[0] == pytest.approx(each * S)
    np.testing.assert_allclose(rows.prob[:n], 0.1 * 0.9 ** np.arange(n) - each)
    assert rows.prob[:n].sum() + rows.rest[0] == pytest.approx(1.0)


@pytest.mark.parametrize("run", [break_plainly, spread_plainly])
def test_masses_are_placed_from_the_least_on(run, monkeypatch):
    """On the one state that is left; less is not placed, nor is anything where none is."""
    seen, placing = snapshot([[1]]), placing_of(5, 2, 1)
    for mass, held, n in ((LEAST, 4, 5), (0.99 * LEAST, 4, 4), (LEAST, 5, 5)):
        chances, rows = Chances(monkeypatch, below=[4] if n > held else []), one_row(range(held))
        assert run(None, mass, 2.0, 0, held, seen, placing, rows) == n
        assert chances.done()


def test_where_not_all_is_open_what_is_left_goes_to_the_states_met(monkeypatch):
    reach = everywhere(40)._replace(order=np.arange(40)[::-1].copy(), n_entered=30, often=2.0)
    placing = placing_of(40, 2, 1)._replace(reach=reach)
    n = placing.sticks + UNSEEN_POSITIONS
    chances, rows = Chances(monkeypatch, beta_draw=[0.1] * n, below=list(range(1, n + 1))), make_rows(1, 8, 4)
    rows.succ[0], rows.prob[0] = 39, 0.4
    assert spread_plainly(None, 0.6, 1.0, 0, 1, snapshot([[3]]), placing, rows) == n + 1
    assert chances.asked[1::2] == [(30.0,)] * n
    assert chances.asked[0] == (2.0, 28.0)
    part = 0.1 * 0.9 ** np.arange(n)
    np.testing.assert_allclose(rows.prob[: n + 1], [0.4, *(0.6 * part / part.sum())])
    assert rows.rest[0] == 0.0
    assert rows.succ[1 : n + 1].tolist() == list(range(38, 38 - n, -1))


def test_the_mass_of_what_a_pair_has_not_seen_is_that_of_the_states_open_to_it(monkeypatch):
    for often, unseen in ((2.0, 0.5 * (3 - 2)), (9.0, 0.5 * (6 - 2))):
        reach = everywhere(6)._replace(n_entered=3, often=often)
        shapes = []
        monkeypatch.setattr(drawn_rows, "log_gamma_draw", lambda _, shape, shapes=shapes: shapes.append(shape) or 0.0)
        monkeypatch.setattr(drawn_rows, "_spread", lambda *call: call[4])
        draw_own_rows.py_func(
            None, 0.5, snapshot([[3, 1]]), placing_of(6, 2, 1)._replace(reach=reach), make_rows(1, 8, 4)
        )
        assert shapes == [3.5, 1.5, unseen]


def test_a_row_is_closed_with_mass_one(monkeypatch):
    rows = make_rows(2, 8, 4)
    rows.ptr[1], rows.rest[1] = 2, 0.5
    rows.prob[2:5] = [1.0, 2.0, 0.5]
    for run in (drawn_rows._normalise, drawn_rows._normalise.py_func):
        run(1, 5, rows)
        np.testing.assert_allclose([*rows.prob[2:5], rows.rest[1]], [0.25, 0.5, 0.125, 0.125])
        assert rows.ptr[2] == 5


def test_an_exceptional_successor_takes_a_part_from_all_others_unless_it_is_there(monkeypatch):
    chances, rows = Chances(monkeypatch, beta_draw=[0.25]), one_row([1, 3])
    draw = draw_of(1, exception=[4])
    assert divert_plainly(None, 0, 2, 7.0, draw, rows) == 3
    np.testing.assert_allclose(rows.prob[:3], [0.075, 0.075, 0.25])
    assert (rows.succ[2], chances.asked) == (4, [(1.0, 7.0)])
    assert divert_plainly(None, 0, 2, 7.0, draw_of(1, exception=[3]), one_row([1, 3])) == 2


def test_there_is_room_for_all_that_a_row_may_hold():
    rows = make_rows(3, 10, 4)
    assert len(rows.succ) == len(rows.prob) == 10 + 3 * (UNSEEN_POSITIONS + 4 + 2)
    assert (len(rows.ptr), len(rows.rest)) == (4, 3)


def test_states_never_entered_lead_back_to_any_that_was_entered():
    """Against the same draws without leading back: the rows of such states are mixed with what was entered."""
    S, seen = 4, snapshot([[6, 2], [3], [], []])  # pair k belongs to state k; states 0 and 1 were entered
    state, _ = workspace(seen, 1.0, 0.5)
    state = write_structure([((0, 1), [[(0, 0), (1, 0)], [(0, 1)]])], seen, state)
    entered = np.array([True, True, False, False])
    reach = everywhere(S)._replace(n_entered=2)
    placing = Placing(np.arange(S + 1), np.arange(S), 2, 0.0, 0.0, np.zeros(0, np.int64), reach)

    def rows_with(back, draws=4000):
        random, rows, out = rng(3), make_rows(S, len(seen.succ), 2), []
        draw = draw_of(S, len(state.pooled), int(state.width.max()))._replace(back=back, entered=entered)
        for _ in range(draws):
            draw_masses(random, state, draw.w, draw.w_new)
            draw_class_rows(random, seen, state, placing, draw, rows)
            out.append(dense(rows, S))
        return laws(out)

    plain, back = rows_with(0.0), rows_with(0.1)
    expected = plain.mean(axis=0)
    expected[~entered] = 0.9 * expected[~entered] + 0.1 * np.array([0.5, 0.5, 0.0, 0.0])
    assert_mean(back, expected, 6.0)
    assert (back[:, ~entered, :2].sum(axis=2) >= 0.1 - 1e-9).all()
