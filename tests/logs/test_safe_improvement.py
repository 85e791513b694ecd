"""Better than the behaviour with a confidence, or the behaviour."""

from __future__ import annotations

import json
import math
from statistics import NormalDist

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.estimation.counts import Snapshot
from equirl.lab.cli import app
from equirl.lab.yardsticks import safety_yardstick as yardstick
from equirl.lab.yardsticks.offline_worlds import counts_of, log_of
from equirl.logs import safe_improvement as safe
from equirl.logs.safe_improvement import Question, SafePolicy, Sample, behaviour_of, halves, judged_policy, sample_of
from equirl.model.pairs import Pairs

SHOP = [("low", "wait", 0, "low"), ("low", "fill", -1, "high"), ("high", "sell", 3, "low")]


def a_log(n_steps: int = 300, seed: int = 0):
    world = yardstick._small(1, True)
    return world, log_of(world, counts_of(world, n_steps, np.random.default_rng(seed)))


def test_halves_are_all_that_was_seen_split_pair_by_pair() -> None:
    _, log = a_log()
    sample = sample_of(log)
    one, two = halves(sample, np.random.default_rng(1))
    assert (one.seen.visits + two.seen.visits == log.seen.visits).all()
    assert (np.abs(one.seen.visits - two.seen.visits) <= 1).all()
    np.testing.assert_allclose(one.seen.r_sum + two.seen.r_sum, log.seen.r_sum)
    for part in (one, two):
        seen = part.seen
        assert (seen.count > 0).all()
        for k in range(len(seen.visits)):
            row = slice(seen.ptr[k], seen.ptr[k + 1])
            assert seen.count[row].sum() == seen.visits[k]
            assert part.paid[row].sum() == pytest.approx(seen.r_sum[k])
            assert part.squares[row].sum() == pytest.approx(seen.r_squares[k])
            order = list(zip(-seen.count[row], -seen.succ[row], strict=True))
            assert order == sorted(order)
            whole = slice(log.seen.ptr[k], log.seen.ptr[k + 1])
            assert set(seen.succ[row]) <= set(log.seen.succ[whole])


def one_pair(paid: list[float], squares: list[float], count: list[int]) -> Sample:
    n = sum(count)
    succ, counts = np.arange(len(count), dtype=np.int32), np.array(count)
    seen = Snapshot(
        np.array([0, len(count)]), succ, counts, np.array([n]), np.array([sum(paid)]), np.array([sum(squares)])
    )
    return Sample(seen, np.array(paid), np.array(squares))


def test_a_split_is_without_preference_and_rewards_go_with_their_successors() -> None:
    sample, rng = one_pair([8.0, 1.0], [8.0, 0.25], [8, 4]), np.random.default_rng(2)
    firsts = [halves(sample, rng)[0] for _ in range(400)]
    share = [part.seen.count[part.seen.succ == 0].sum() for part in firsts]
    assert np.mean(share) == pytest.approx(4.0, abs=0.2)
    assert np.var(share) == pytest.approx(6 * 6 / 11 * (8 / 12) * (4 / 12), rel=0.35)  # hypergeometric
    for part in firsts:  # the first successor always paid 1, the second always 1/4
        for x, each in ((0, 1.0), (1, 0.25)):
            at = part.seen.succ == x
            assert part.paid[at].sum() == pytest.approx(each * part.seen.count[at].sum())


def test_sums_of_coins_are_split_as_counts_and_others_with_their_spread() -> None:
    rng = np.random.default_rng(3)
    coins = [halves(one_pair([10.0], [10.0], [20]), rng)[0].paid[0] for _ in range(400)]
    assert all(hits == round(hits) for hits in coins)
    assert np.var(coins) == pytest.approx(10 * 0.25 * 10 / 19, rel=0.3)
    spread = one_pair([10.0], [6.0], [20])  # a variance of 1/19
    drawn = [halves(spread, rng)[0].paid[0] for _ in range(400)]
    assert np.mean(drawn) == pytest.approx(5.0, abs=0.1)
    assert np.var(drawn) == pytest.approx(5 / 19, rel=0.3)


def test_an_odd_visit_goes_to_either_half() -> None:
    rng = np.random.default_rng(4)
    assert {int(halves(one_pair([0.0], [0.0], [3]), rng)[0].seen.visits[0]) for _ in range(30)} == {1, 2}


def test_without_rewards_by_successor_those_of_a_pair_are_alike() -> None:
    _, log = a_log()
    sample = sample_of(eq.Log(log.pairs, log.seen, log.reward_map, log.initial, 300))
    k = int(log.seen.visits.argmax())
    row = slice(log.seen.ptr[k], log.seen.ptr[k + 1])
    np.testing.assert_allclose(sample.paid[row] / log.seen.count[row], log.seen.r_sum[k] / log.seen.visits[k])
    np.testing.assert_allclose(sample.squares[row].sum(), log.seen.r_squares[k])


def test_a_log_knows_which_rewards_came_with_which_successors() -> None:
    rows = [(0, 0, 0.5, 1), (1, 0, 0.0, 0), (0, 0, 1.0, 0), (0, 0, 0.25, 1), (1, 0, 0.0, 0)]
    for table in (
        rows,
        {key: [row[k] for row in rows] for k, key in enumerate(("state", "action", "reward", "next_state"))},
    ):
        log = eq.from_log(table)
        at = {int(x): k for k, x in enumerate(log.seen.succ[log.seen.ptr[0] : log.seen.ptr[1]])}
        assert (log.unit_paid[0][at[1]], log.unit_paid[0][at[0]]) == (0.75, 1.0)
        assert (log.unit_paid[1][at[1]], log.unit_paid[1][at[0]]) == (0.3125, 1.0)
    weighted = {
        "state": [0, 0, 1],
        "action": [0] * 3,
        "reward": [0.5, 1.0, 0.0],
        "next_state": [1, 1, 0],
        "weight": [3, 1, 4],
    }
    assert eq.from_log(weighted).unit_paid[0][0] == 2.5


def test_the_behaviour_is_what_was_played() -> None:
    pairs = Pairs.uniform(2, [2, 3])
    seen = Snapshot(
        np.zeros(6, int), np.zeros(0, np.int32), np.zeros(0, int), np.array([3, 1, 0, 0, 0]), np.zeros(5), np.zeros(5)
    )
    np.testing.assert_allclose(behaviour_of(pairs, seen), [0.75, 0.25, 1 / 3, 1 / 3, 1 / 3])


def worth_by_hand(asked: Question, weight, laws, reward):
    """Worth, values and visits with dense matrices."""
    S, A = asked.pairs.n_states, asked.pairs.n_actions
    chain = (weight[:, None] * laws).reshape(S, A, S).sum(axis=1)
    paid = (weight * reward).reshape(S, A).sum(axis=1)
    if asked.discount < 1:
        inverse = np.linalg.inv(np.eye(S) - asked.discount * chain)
        return asked.initial @ inverse @ paid, inverse @ paid, np.repeat(asked.initial @ inverse, A) * weight
    share = np.linalg.lstsq(np.vstack([chain.T - np.eye(S), np.ones(S)]), np.append(np.zeros(S), 1.0), rcond=None)[0]
    gain = share @ paid
    bias = np.linalg.lstsq(np.vstack([np.eye(S) - chain, share]), np.append(paid - gain, 0.0), rcond=None)[0]
    return gain, bias, np.repeat(share, A) * weight


@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("given", [True, False])
def test_the_bound_is_the_one_written_down(discount: float, given: bool) -> None:
    world, log = a_log(3000)
    sample, S, A = sample_of(log), 5, 3
    asked = Question(log.pairs, log.initial, discount, 0.95, world.behaviour.ravel() if given else None)
    policy = np.eye(A)[[0, 1, 2, 0, 1]].ravel()
    half = safe._half(asked, sample)
    found = safe._compared(asked, policy, half)

    n, laws = log.seen.visits, np.zeros((S * A, S))
    paid, squares = np.zeros((2, S * A, S))
    for k in range(S * A):
        for j in range(log.seen.ptr[k], log.seen.ptr[k + 1]):
            x = log.seen.succ[j]
            laws[k, x], paid[k, x], squares[k, x] = log.seen.count[j] / n[k], sample.paid[j], sample.squares[j]
    assert n.min() > 0
    base = world.behaviour.ravel() if given else n / np.repeat(n.reshape(S, A).sum(axis=1), A)
    reward = paid.sum(axis=1) / n
    (jc, vc, wc), (jb, vb, wb) = (worth_by_hand(asked, weight, laws, reward) for weight in (policy, base))
    variance, falls = 0.0, []
    for k in range(S * A):
        seen = laws[k] > 0
        count = laws[k, seen] * n[k]
        f = (wc[k] - wb[k]) * paid[k, seen] / count + discount * (wc[k] * vc - wb[k] * vb)[seen]
        mean = laws[k, seen] @ f
        inner = np.maximum(0, squares[k, seen] - paid[k, seen] ** 2 / count) / np.maximum(1, count - 1)
        spread = laws[k, seen] @ ((f - mean) ** 2 + (wc[k] - wb[k]) ** 2 * inner)
        lowest = discount * wc[k] * (vc - vb).min()
        lowest += min((wc[k] - wb[k]) * (r + discount * v) for r in (0, 1) for v in vb)
        falls.append(max(0.0, mean - lowest) / n[k])
        variance += spread / max(1, n[k] - 1) + (falls[-1] / 2) ** 2
    if not given:
        q = (reward + discount * laws @ vb).reshape(S, A)
        weight, visits = base.reshape(S, A), n.reshape(S, A).sum(axis=1)
        spread = (weight * q**2).sum(axis=1) - (weight * q).sum(axis=1) ** 2
        variance += (wb.reshape(S, A).sum(axis=1) ** 2 * spread / visits).sum()
    less = math.sqrt(NormalDist().inv_cdf(0.95) ** 2 * variance + (math.log(20) * max(falls)) ** 2)
    assert found.bound == pytest.approx(jc - jb - less, rel=1e-6)
    assert (found.worth, found.baseline_worth) == (pytest.approx(jc), pytest.approx(jb))


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_a_small_change_of_a_row_changes_the_difference_by_the_mean_change_of_f(discount: float) -> None:
    world, log = a_log(400)
    asked = Question(log.pairs, log.initial, discount, 0.95, world.behaviour.ravel())
    policy, laws = np.eye(3)[[0, 1, 2, 0, 1]].ravel(), world.laws.reshape(15, 5)
    reward = laws @ world.pays[0]

    def difference(laws, reward):
        return worth_by_hand(asked, policy, laws, reward)[0] - worth_by_hand(asked, asked.baseline, laws, reward)[0]

    (_, vc, wc), (_, vb, wb) = (worth_by_hand(asked, weight, laws, reward) for weight in (policy, asked.baseline))
    for k in (0, 4, 8):
        moved, paid = laws.copy(), reward.copy()
        moved[k] += 1e-6 * (np.eye(5)[3] - laws[k])
        paid[k] += 1e-6 * (1.0 - reward[k])
        f = (wc[k] - wb[k]) * np.array([reward[k], 1.0]) + discount * (wc[k] * vc - wb[k] * vb) @ np.array(
            [laws[k], np.eye(5)[3]]
        ).T
        assert difference(moved, paid) - difference(laws, reward) == pytest.approx(
            1e-6 * (f[1] - f[0]), rel=1e-3, abs=1e-11
        )


def test_a_pair_of_which_nothing_is_known_counts_as_the_worst() -> None:
    """The other action of the second state was never tried."""
    rows = [(0, 0, 0.0, 1), (1, 0, 1.0, 0), (0, 1, 0.0, 0)] * 40
    log = eq.from_log(rows, actions=[[0, 1], [0, 1]])
    asked = Question(log.pairs, log.initial, 0.5, 0.95, np.array([0.5, 0.5, 1.0, 0.0]))
    known = safe._compared(asked, np.array([1.0, 0.0, 1.0, 0.0]), safe._half(asked, sample_of(log)))
    unknown = safe._compared(asked, np.array([1.0, 0.0, 0.0, 1.0]), safe._half(asked, sample_of(log)))
    assert known.bound > 0 > unknown.bound


def test_a_policy_is_better_by_the_other_half_or_it_is_the_behaviour() -> None:
    found = eq.learn(SHOP * 100, draws=20, safe=0.95)
    assert isinstance(found, SafePolicy)
    assert found.is_better
    assert found.table()["policy"] == pytest.approx([1.0, 1.0, 0.0])
    assert found.table()["baseline"] == pytest.approx([1.0, 0.5, 0.5])
    assert (found.gain, found.behaviour) == (pytest.approx(1.0), pytest.approx(2 / 3))
    assert 0 < found.least_improvement < 1 / 3
    assert "in place of 0.6667" in repr(found)
    few = eq.learn(SHOP * 10, draws=20, safe=0.95)
    assert (few.is_better, few.policy.tolist()) == (False, few.baseline.tolist())
    assert few.gain == few.behaviour
    assert few.least_improvement <= 0
    assert "as before" in repr(few)
    assert "as before" in few._repr_html_()


def test_amounts_are_in_the_units_of_the_log_and_scale_with_them() -> None:
    tenfold = [(s, a, 10 * r + 5, x) for s, a, r, x in SHOP]
    one, ten = (eq.learn(rows * 100, draws=20, safe=0.9, discount=0.8) for rows in (SHOP, tenfold))
    assert ten.least_improvement == pytest.approx(10 * one.least_improvement)
    assert ten.gain == pytest.approx(10 * one.gain + 25)
    assert (one.discount, one.confidence) == (0.8, 0.9)


def test_a_baseline_is_given_by_name_or_probability() -> None:
    by_name = eq.learn(SHOP * 100, draws=20, safe=0.95, baseline=["sell", "wait"])
    assert by_name.baseline.tolist() == [1.0, 0.0, 1.0]
    assert by_name.is_better
    best = eq.learn(SHOP * 100, draws=20, safe=0.95, baseline=np.array([1.0, 1.0, 0.0]))
    assert not best.is_better  # nothing is better than the best
    for wrong, message in (
        ({"baseline": ["sell", "wait"]}, "safe=0.95"),
        ({"safe": 0.4}, "safe"),
        ({"safe": 1.0}, "safe"),
    ):
        with pytest.raises(ValueError, match=message):
            eq.learn(SHOP, draws=5, **wrong)
    with pytest.raises(ValueError, match="sell"):
        eq.learn(SHOP, draws=5, safe=0.95, baseline=["sell", "wiat"])


def test_the_command_tells_a_safe_policy_and_writes_it(tmp_path) -> None:
    path = tmp_path / "shop.csv"
    path.write_text("state,action,reward,next_state\n" + "".join(",".join(map(str, row)) + "\n" for row in SHOP * 100))
    options = ("--draws", "20", "--safe", "0.95")
    done = CliRunner().invoke(
        app, ["learn", str(path), *options, "--csv", str(tmp_path / "p.csv"), "--save", str(tmp_path / "a.npz")]
    )
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split("with confidence")[1].split()[:2] == ["0.95", "better"]
    assert "state,action,visits,baseline,policy" in (tmp_path / "p.csv").read_text()
    assert eq.load_agent(tmp_path / "a.npz").act("high") == "sell"
    held = json.loads(CliRunner().invoke(app, ["learn", str(path), *options, "--json"]).stdout)
    found = eq.learn(SHOP * 100, draws=20, safe=0.95)
    assert (held["is_better"], held["gain"]) == (True, pytest.approx(found.gain))
    assert held["least_improvement"] == pytest.approx(found.least_improvement)
    assert [row["policy"] for row in held["policy"]] == pytest.approx(found.policy.tolist())
    path.write_text("state,action,reward,next_state\n" + "".join(",".join(map(str, row)) + "\n" for row in SHOP * 5))
    assert "go on as in the log" in CliRunner().invoke(app, ["learn", str(path), *options]).stdout


def test_a_higher_confidence_asks_for_more() -> None:
    bounds = [eq.learn(SHOP * 100, draws=20, safe=level).least_improvement for level in (0.6, 0.9, 0.99)]
    assert bounds == sorted(bounds, reverse=True)


def test_policies_that_pass_are_worse_than_the_behaviour_no_more_often_than_allowed() -> None:
    """Five in a hundred are allowed; without a test most policies by counts are worse."""
    world = yardstick._bandit()
    better, worse, _ = yardstick.count_violations(world, 1000, 150)
    assert worse <= 12  # a chance of 0.05 would make more in one of a hundred runs
    assert better <= 25
    untested = [
        world.worth(yardstick.counting(world, counts_of(world, 1000, np.random.default_rng((7, k)))))
        for k in range(100)
    ]
    assert np.mean(np.array(untested) < world.worth(world.behaviour)) > 0.3


def test_where_much_can_be_gained_it_is() -> None:
    better, worse, gain = yardstick.count_violations(yardstick._small(1, True), 1000, 30)
    assert (better >= 25, worse) == (True, 0)
    assert gain > 0.7


def test_the_visits_a_policy_needs_are_chosen_by_the_first_half_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, log = a_log(400)
    one, two = halves(sample_of(log), np.random.default_rng(0))
    asked = Question(log.pairs, log.initial, 0.9, 0.95, None)
    looked: list[int] = []
    compared = safe._compared
    monkeypatch.setattr(safe, "_compared", lambda a, p, half: looked.append(id(half.sample)) or compared(a, p, half))
    judged_policy(asked, np.arange(0, 15, 3), one, two)
    assert looked[-1] == id(two)
    assert set(looked[:-1]) == {id(one)}
