"""That classes of a log are never surer than the counts: what looks different, and what could have shown."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chi2_contingency, norm

import equirl as eq
from equirl.estimation.counts import Snapshot
from equirl.estimation.pooling import Grouping
from equirl.logs import LogClasses
from equirl.logs.class_differences import difference_between, differences, most_sure
from equirl.logs.log_classes import NOT_TOLD


def counted(*rows):
    """Counts of pairs whose successors were seen so often each, the most frequent first."""
    kept = [sorted((n for n in row if n), reverse=True) for row in rows]
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in kept])]).astype(np.int64)
    succ = np.concatenate([np.arange(len(row)) for row in kept]).astype(np.int32)
    visits = np.array([sum(row) for row in kept])
    return Snapshot(ptr, succ, np.concatenate(kept).astype(np.int64), visits, np.zeros(len(kept)), np.zeros(len(kept)))


def one_class(seen):
    return differences(seen, Grouping(np.zeros(len(seen.visits), np.int64), 1))


def expected_apart(own, others):
    """Position by position with a general likelihood ratio test, all of them, at the slow pace."""
    width = max(map(len, [own, *others]))
    rest = np.sum([[*row, *[0] * (width - len(row))] for row in others], axis=0)
    mine = np.array([*own, *[0] * (width - len(own))])
    n, N, largest = mine.sum(), rest.sum(), 0.0
    for k, K in zip(mine, rest, strict=True):
        table = np.array([[k, n - k], [K, N - K]])
        if (table.sum(axis=0) > 0).all():
            largest = max(largest, chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic)
    p = min(1.0, 2 * norm.sf(math.sqrt(largest)) * (width if width > 2 else 1))
    return norm.isf(p / 2)


ROW = st.lists(st.integers(1, 60), min_size=1, max_size=5).map(lambda row: sorted(row, reverse=True))


@given(st.lists(ROW, min_size=2, max_size=5))
@settings(max_examples=60, deadline=None)
def test_how_far_apart_is_what_a_general_test_says_of_every_position(rows):
    found = one_class(counted(*rows)).apart
    for k, row in enumerate(rows):
        assert found[k] == pytest.approx(expected_apart(row, rows[:k] + rows[k + 1 :]), abs=1e-6)


def test_with_many_visits_it_is_the_difference_in_standard_errors():
    n, N = 40_000, 90_000
    p, q = 0.310, 0.303
    seen = counted([27_600, 12_400], [62_730, 27_270])
    both = (n * p + N * q) / (n + N)
    assert one_class(seen).apart == pytest.approx((p - q) / math.sqrt(both * (1 - both) * (1 / n + 1 / N)), rel=5e-3)


def test_what_could_have_shown_is_three_standard_errors_of_a_fair_coin():
    found = one_class(counted([50, 50], [200, 100]))
    assert found.could_see == pytest.approx(3 * math.sqrt(0.25 / 100 + 0.25 / 300))
    assert one_class(counted([500], [1])).could_see.tolist() == [1.0, 1.0]
    alone = differences(counted([50, 50], [200, 200], [0]), Grouping(np.arange(3), 3))
    assert alone.could_see[:2] == pytest.approx([0.15, 0.075])
    assert np.isnan(alone.apart).all()
    assert np.isnan(alone.could_see[2])


def test_a_rare_outcome_at_a_pair_with_few_visits_is_no_clear_difference():
    """1 of 3 against 1 of 100 is 5.6 standard errors by a plain ratio, and happens once in 34 such pairs."""
    apart = one_class(counted([2, 1], [9900, 100])).apart
    assert 1.5 < apart[0] < 2.5


@pytest.mark.parametrize("law", [[0.5, 0.5], [0.7, 0.2, 0.1], [0.97, 0.03], [0.05] * 20])
def test_pairs_that_are_alike_look_apart_about_as_often_as_they_may(law):
    rng, found = np.random.default_rng(0), []
    for visits in ([10] * 8, [200] * 8, [20] * 4 + [3000] * 4):
        for _ in range(60):
            found.append(one_class(counted(*(rng.multinomial(n, law) for n in visits))).apart)
    found = np.concatenate(found)
    assert np.mean(found >= 1.96) < 0.07
    assert np.mean(found >= 3) < 0.008


def test_the_p_value_over_a_twentieth_is_the_most():
    assert most_sure(np.array([0.0, 1.95])).tolist() == [1.0, 1.0]
    assert most_sure(3.0) == pytest.approx(2 * norm.sf(3) / 0.05)
    assert most_sure(3.0) < 0.055


# --- in the answers


def coin_rows(*shares, n):
    """Pairs that stay with these shares, and else go to the next state."""
    rows = []
    for s, share in enumerate(shares):
        stays = round(n * share)
        rows += [(f"s{s}", "go", 0.0, f"s{s}")] * stays + [(f"s{s}", "go", 0.0, f"s{(s + 1) % len(shares)}")] * (
            n - stays
        )
    return rows


@pytest.mark.parametrize("n", [3_000, 10_000])
def test_pairs_three_standard_errors_apart_are_never_surely_alike(n):
    """The draws alone would say more: with many visits small differences cost little likelihood."""
    apart = 3.2 * math.sqrt(0.7 * 0.3 * 2 / n)
    found = eq.from_log(coin_rows(0.7 + apart / 2, 0.7 - apart / 2, n=n)).classes(draws=30)
    assert found.posterior.alike(0, 1) > 0.1
    assert found.alike(0, 1) < 0.06
    assert found.alike(("s0", "go"), ("s1", "go")) == found.alike(0, 1)
    assert difference_between(found.log.seen, 0, 1) == pytest.approx(3.2, rel=0.02)
    for row in found.table():
        if row["size"] == 2:
            assert row["apart"] > 3
            assert row["sure"] < 0.06


def test_one_of_many_that_stands_out_is_not_as_sure_as_the_others():
    n = 4_000
    error = math.sqrt(0.7 * 0.3 / n)
    shares = [0.7 + error * z for z in (-0.6, -0.2, 0.1, 0.3, 0.5, 3.4)]
    found = eq.from_log(coin_rows(*shares, n=n)).classes(draws=30)
    others = [found.sure[k] for k in range(5) if found.partition.sizes[found.partition.label[k]] > 1]
    assert min(others) > 0.5
    assert found.alike(0, 5) < 0.2
    assert not found.sure[5] > 0.06
    classes = found.class_table()
    assert len(classes) > 1 or (classes["sure"][0] < 1 and classes["apart"][0] > 3)


def test_three_visits_tell_nothing_apart():
    rows = [(f"s{s}", a, 0.0, f"s{(s + k) % 4}") for s in range(4) for a in "xy" for k in (0, 0, 1)]
    for found in (eq.from_log(rows).classes(draws=10), eq.from_log(rows).classes(method="tests")):
        assert found.table()["sure"] == [NOT_TOLD] * 8
        assert set(found.class_table()["sure"]) == {NOT_TOLD}
        assert min(found.could_see) > 0.8
        assert NOT_TOLD in repr(found.table())


def test_what_is_plainly_different_is_told_apart_with_few_visits_too():
    """Seven visits to seven states, in one class with a thousand to one state: that did show."""
    log = eq.from_log([("a", "x", 0.0, f"s{k}") for k in range(7)] + [("b", "x", 0.0, "a")] * 1000)
    together = LogClasses(
        log, eq.Partition.from_labels(np.where(log.seen.visits > 0, 0, 1 + np.arange(len(log.seen.visits)))), "tests"
    )
    row = together.table().rows()[0]
    assert row["could_see"] > 0.5
    assert row["apart"] > 3
    assert row["sure"] != NOT_TOLD


def test_with_many_visits_pairs_that_are_alike_are_surely_so():
    rng = np.random.default_rng(1)
    rows = [(s, "go", 0.0, (s + int(x)) % 4) for s in range(4) for x in rng.random(2_000) < 0.3]
    found = eq.from_log(rows).classes(draws=20)
    assert found.n_classes == 1
    assert np.mean(found.sure) > 0.8
    assert found.could_see == pytest.approx(1.5 * math.sqrt(1 / 2000 + 1 / 6000))
    for k, j in combinations_with_replacement(range(4), 2):
        assert found.alike(k, j) > (0.99 if k == j else 0.2)


def test_a_pair_alone_has_nobody_to_be_alike_to():
    rows = [("a", "x", 0.0, "b"), ("b", "x", 0.0, "b"), ("b", "x", 0.0, "a")] * 100
    table = eq.from_log(rows).classes(draws=10).table()
    assert table["size"] == [1, 1]
    assert np.isnan(table["sure"]).all()
    assert np.isnan(table["apart"]).all()
    assert table["could_see"] == [0.15, 0.106]
