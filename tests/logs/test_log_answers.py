"""What is made of a log: classes and how surely, a policy and its uncertainty."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.lab.cli import app
from equirl.model.rows import Rows
from equirl.planning.exact_model import ExactModel
from equirl.posterior import ClassPosterior
from equirl.posterior.drawn_plan import gain_in, mean_model, worth_in

RIVER = eq.make("ergodic-riverswim", n_states=5)


def sampled(mdp, per_pair, seed=0, scale=1.0):
    """The same number of visits of every pair, with names."""
    rng, rows = np.random.default_rng(seed), []
    for k, (s, a) in enumerate(zip(mdp.pairs.state.tolist(), mdp.pairs.action.tolist(), strict=True)):
        law = mdp.transition_probabilities(s, a)
        for x in rng.choice(list(law), size=per_pair, p=list(law.values())).tolist():
            rows.append((f"s{s}", f"a{a}", scale * float(mdp.r_mean[k]), f"s{x}"))
    return rows


@pytest.fixture(scope="module")
def log():
    return eq.from_log(sampled(RIVER, 3000, scale=100.0))


@pytest.fixture(scope="module")
def learned(log):
    return eq.learn(log, draws=30)


# --- classes


def test_with_many_visits_the_classes_are_the_true_ones(log):
    found = log.classes(draws=30)
    assert found.partition == eq.equivalence_classes(RIVER, rewards=False)
    assert found.alike(("s1", "a0"), ("s2", "a0")) > 0.9
    assert found.alike(("s1", "a0"), ("s1", "a1")) < 0.1


def test_tables_of_classes_have_names_units_and_how_surely(log):
    found = log.classes(draws=30)
    pairs, classes = found.table(), found.class_table()
    assert len(pairs) == 10
    assert sum(classes["pairs"]) == 10
    assert sum(classes["visits"]) == log.n_steps
    best = next(row for row in pairs if (row["state"], row["action"]) == ("s4", "a0"))
    assert best["mean_reward"] == pytest.approx(100.0)
    assert best["visits"] == 3000
    assert all(
        0 <= sure <= 1 or (np.isnan(sure) and n == 1) for sure, n in zip(pairs["sure"], pairs["size"], strict=True)
    )
    right = next(row for row in classes if row["example"] == "s0, a1")
    assert right["profile"].startswith("0.9")


def test_tests_put_together_what_they_cannot_tell_apart():
    few = eq.from_log(sampled(RIVER, 10))
    assert few.classes(method="tests").n_classes == 1
    many = eq.from_log(sampled(RIVER, 3000)).classes(method="tests")
    assert many.n_classes > 1
    assert eq.equivalence_classes(RIVER, rewards=False).refines(many.partition)
    assert np.isnan(many.sure).all()
    with pytest.raises(ValueError, match="tests give no probabilities"):
        many.alike(0, 1)
    with pytest.raises(ValueError, match="rewards=True goes with method='tests'"):
        few.classes(rewards=True)


def test_pairs_never_played_stand_alone():
    rows = [("a", "x", 0.0, "b"), ("b", "x", 0.0, "a"), ("b", "y", 0.0, "end")] * 20
    found = eq.from_log(rows).classes(draws=10)
    never = found.log.seen.visits == 0
    assert never.sum() == 2
    assert (found.partition.sizes[found.partition.label[never]] == 1).all()
    assert len(found.table()) == 3


def test_the_best_draw_is_the_one_of_least_expected_loss():
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.integers(0, 3, (8, RIVER.n_pairs))
        labels = np.array([eq.Partition.from_labels(row).label for row in labels])
        labels[:, 6:] = -1  # have no class
        posterior = ClassPosterior(RIVER.pairs, labels)
        own = labels[:, :6]
        same = own[:, :, None] == own[:, None, :]
        loss = np.abs(same - same.mean(axis=0)).sum(axis=(1, 2))
        best = posterior.partition().label[:6]
        k = next(k for k, row in enumerate(own) if np.array_equal(eq.Partition.from_labels(row).label, best))
        assert loss[k] == pytest.approx(loss.min())


# --- a policy


def test_with_many_visits_the_policy_is_optimal_and_its_gain_certain(log, learned):
    truth = eq.solve(RIVER)
    np.testing.assert_array_equal(learned.policy, truth.policy)
    assert learned.gain == pytest.approx(100 * truth.gain, rel=0.05)
    low, high = learned.interval
    assert low <= learned.gain <= high
    assert learned.bounds[0] <= 100 * truth.gain <= learned.bounds[1]
    assert learned.regret < 0.1
    table = learned.table()
    assert table["state"] == [f"s{s}" for s in range(5)]
    assert table["action"] == ["a0"] * 5
    assert table["chance_best"] == [1.0] * 5


def test_few_visits_leave_more_open_than_many(learned):
    few = eq.learn(eq.from_log(sampled(RIVER, 15, scale=100.0)), draws=30)
    assert np.diff(few.interval) > 3 * np.diff(learned.interval)
    assert few.bounds == (0.0, 100.0)


def test_a_pair_never_played_is_never_advised():
    rows = [("a", "stay", 0.1, "a"), ("a", "go", 0.0, "b"), ("b", "go", 0.0, "a")] * 30
    found = eq.learn(eq.from_log(rows, actions="all"), draws=10)
    played = found.table()
    assert min(played["visits"]) > 0
    assert found.regret < 0.01  # of what was tried; what never was is for next_steps


def test_the_gain_of_a_policy_in_a_drawn_mdp_is_that_of_its_chain():
    rest = np.array([0.25, 0.0])
    rows = Rows(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), np.array([0.75, 0.5, 0.5]))
    model = ExactModel(rows, rest, np.array([0.2, 1.0]), np.array([0, 1]), 0.5)
    P = np.array([[0.125, 0.875], [0.5, 0.5]])
    chain = eq.TabularMDP.from_arrays(P[:, None, :], [[0.2], [1.0]])
    assert gain_in(model, np.array([0, 1]), np.array([1.0, 0.0])) == pytest.approx(eq.Policy(chain, [0, 0]).gain)


def test_the_mean_of_drawn_mdps_is_their_mean_where_pairs_were_played():
    log = eq.from_log([("a", 0, 1.0, "b"), ("b", 0, 0.0, "end")])  # "end" was never left
    draws = [
        ExactModel(
            Rows(np.arange(4), np.array([x, 0, 0], np.int32), np.ones(3)),
            np.zeros(3), np.array([r, 0.5, 1.0]), np.array([0, 1, 2]), 0.5,
        )
        for x, r in ((1, 0.2), (2, 0.4))
    ]  # fmt: skip
    mean = mean_model(log.pairs, log.seen.visits > 0, draws)
    assert mean.rows.succ.tolist() == [1, 2, 0, 2]
    assert mean.rows.prob.tolist() == [0.5, 0.5, 1.0, 1.0]
    np.testing.assert_allclose(mean.reward, [0.3, 0.5, 0.0])


# --- seeds


def test_answers_do_not_depend_on_anything_but_the_seed(log):
    one, other = (eq.learn(log, draws=5, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.policy_gain, other.policy_gain)
    assert log.next_steps(50, draws=2, seed=3).rows() == log.next_steps(50, draws=2, seed=3).rows()
    drawn = [log.classes(draws=5, seed=3).posterior.labels for _ in range(2)]
    np.testing.assert_array_equal(*drawn)


# --- commands


@pytest.fixture
def csv_file(tmp_path):
    rows = sampled(RIVER, 60, scale=100.0)
    lines = [",".join(map(str, row)) for row in rows]
    path = tmp_path / "river.csv"
    path.write_text("\n".join(["s,action,reward,next_state", *lines]) + "\n")
    return path


def invoke(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_learn_prints_the_policy_its_uncertainty_and_what_is_not_known(csv_file, tmp_path):
    options = ("--column", "state=s", "--draws", 10, "--steps", 100)
    done = invoke("learn", csv_file, *options, "--csv", tmp_path / "policy.csv", "--save", tmp_path / "agent.npz")
    assert done.exit_code == 0, done.output
    for text in ("600", "Policy", "chance best", "where the next 100 steps", "What the log cannot say"):
        assert text in done.stdout
    assert len((tmp_path / "policy.csv").read_text().splitlines()) == 6
    agent = eq.load_agent(tmp_path / "agent.npz")
    assert agent.t == 601
    agent.observe("s0", agent.act("s0"), 37.5, "s1")


def test_a_learner_saved_under_a_discount_has_it(csv_file, tmp_path):
    options = ("--column", "state=s", "--draws", 5, "--steps", 20, "--discount", 0.9, "--save", tmp_path / "agent.npz")
    done = invoke("learn", csv_file, *options)
    assert done.exit_code == 0, done.output
    assert eq.load_agent(tmp_path / "agent.npz").criterion.discount == 0.9


def test_learn_in_json_is_the_python_answer(csv_file):
    options = ("--column", "state=s", "--draws", 10, "--steps", 0, "--json")
    told = json.loads(invoke("learn", csv_file, *options).stdout)
    found = eq.learn(eq.from_log(csv_file, columns={"state": "s"}), draws=10)
    assert told["gain"] == pytest.approx(found.gain)
    assert told["policy"] == found.table().rows()
    assert told["next_steps"] is None
    assert told["limitations"]


def test_classes_of_a_log_are_printed_and_told_in_json(csv_file):
    done = invoke("classes", csv_file, "--column", "state=s")
    assert done.exit_code == 0, done.output
    assert "by transition probabilities" in done.stdout
    told = json.loads(invoke("classes", csv_file, "--column", "state=s", "--json").stdout)
    assert sum(row["pairs"] for row in told["classes"]) == len(told["pairs"]) == 10


def test_classes_of_a_log_are_drawn(csv_file, tmp_path):
    done = invoke("classes", csv_file, "--column", "state=s", "--plot", tmp_path / "classes.svg")
    assert done.exit_code == 0, done.output
    assert "s0" in (tmp_path / "classes.svg").read_text()


def test_one_combination_was_and_two_were_never_tried():
    rows = [("a", "x", 0.0, "b"), ("b", "x", 1.0, "a"), ("a", "y", 1.0, "a")]
    assert any(
        "1 of the 4 combinations of a state and an action was" in text for text in eq.from_log(rows).limitations()
    )
    wider = [*rows, ("a", "z", 1.0, "a")]
    assert any(
        "2 of the 6 combinations of a state and an action were" in text for text in eq.from_log(wider).limitations()
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["solve", "log.csv"], "equirl learn log.csv"),
        (["run", "log.parquet"], "equirl learn log.parquet"),
        (["learn", "nothing.csv"], "nothing.csv: No such file"),
        (["learn", "nothing.csv", "--column", "state"], "--column takes role=name"),
    ],
)
def test_mistakes_with_logs_are_one_line(words, message):
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_tables_of_rewards_hold_no_dust_of_rounding():
    rows = [("a", "x", -0.1, "b"), ("b", "x", 0.2, "a"), ("b", "y", 0.0, "b")] * 7
    log = eq.from_log(rows)
    assert log.table()["mean_reward"] == [-0.1, 0.2, 0.0]
    assert log.classes(draws=3).table()["mean_reward"] == [-0.1, 0.2, 0.0]
    agent = log.agent("ucrl2-l")
    assert agent.beliefs.explain("b", "y").actions["mean_reward"] == [0.2, 0.0]


# --- a discount


def test_with_a_discount_the_policy_and_its_value_are_those_of_the_solver(log):
    found = eq.learn(log, draws=30, discount=0.8)
    truth = eq.solve(RIVER, discount=0.8)
    np.testing.assert_array_equal(found.policy, truth.policy)
    start = int(np.argmax(log.initial))
    value = 100 * truth.value[start]
    assert found.gain == pytest.approx(value, rel=0.05)
    low, high = found.interval
    assert low < value < high
    assert found.bounds[0] <= value <= found.bounds[1]
    assert found.bounds[0] > 0
    assert found.bounds[1] < 100 / (1 - 0.8)
    assert found.discount == 0.8
    assert "value" in repr(found)


def test_a_discount_can_change_what_is_best():
    """Waiting pays a little at once; going pays more, but later."""
    rows = [("home", "wait", 1.0, "home"), ("home", "go", 0.0, "shop"), ("shop", "go", 10.0, "home")] * 100
    actions = {discount: eq.learn(rows, draws=10, discount=discount).table()["action"] for discount in (None, 0.05)}
    assert actions[None] == ["go", "go"]
    assert actions[0.05] == ["wait", "go"]
    few = eq.learn(rows[:30], draws=5, discount=0.5)
    assert few.bounds[0] >= 0.0
    assert few.bounds[1] <= 20.0
    for wrong in (0.0, 1.0, -1):
        with pytest.raises(ValueError, match="discount"):
            eq.learn(rows, discount=wrong)


def test_what_is_worth_in_a_drawn_mdp_is_what_evaluating_says():
    rest = np.array([0.25, 0.0])
    rows = Rows(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), np.array([0.75, 0.5, 0.5]))
    model = ExactModel(rows, rest, np.array([0.2, 1.0]), np.array([0, 1]), 0.0)
    P = np.array([[0.125, 0.875], [0.5, 0.5]])
    chain = eq.TabularMDP.from_arrays(P[:, None, :], [[0.2], [1.0]])
    value = eq.Policy(chain, [0, 0]).values(discount=0.9)
    assert worth_in(model, np.array([0, 1]), np.array([0.5, 0.5]), 0.9) == pytest.approx(value.mean())


def test_learn_with_a_discount_from_the_command_line(csv_file):
    options = ("--column", "state=s", "--draws", 10, "--steps", 0, "--discount", 0.9)
    done = invoke("learn", csv_file, *options)
    assert done.exit_code == 0, done.output
    assert "discount 0.9" in done.stdout
    told = json.loads(invoke("learn", csv_file, *options, "--json").stdout)
    assert told["discount"] == 0.9
    assert told["gain"] == pytest.approx(
        eq.learn(eq.from_log(csv_file, columns={"state": "s"}), draws=10, discount=0.9).gain
    )


# --- how honest the interval is


def test_the_interval_holds_the_middle_of_both_kinds_of_draws(learned):
    low, high = learned.interval
    for gains in (learned.policy_gain, learned.seen_gain):
        inside = np.mean((gains >= low) & (gains <= high))
        assert inside >= 0.9
    assert not np.array_equal(learned.policy_gain, learned.seen_gain)


def test_what_always_paid_nothing_may_truly_pay_nothing():
    rows = [("a", "x", 0.0, "b"), ("b", "x", 0.0, "a"), ("b", "y", 0.0, "c"), ("c", "x", 0.0, "c")] * 3
    zero = eq.learn(rows, draws=20)
    assert zero.interval[0] == 0.0
    assert zero.policy_gain.max() > 0  # some pairs may yet toss coins


def test_the_interval_holds_what_the_policy_truly_earns_about_as_often_as_it_says():
    """On logs of a random policy, a river among them, where the posterior alone is too sure."""
    held, alone = [], []
    for seed in range(40):
        world = eq.make("ergodic-riverswim", n_states=5) if seed % 2 else eq.make("random", n_states=5, seed=seed)
        trace = eq.simulate(world, "random", 600, seed=seed)
        seen = trace.agent.counts.snapshot()
        log = eq.Log(world.pairs, seen, world.reward_map, world.initial, 600)
        found = eq.learn(log, draws=30, seed=seed)
        truth = eq.Policy(world, found.policy).gain
        low, high = found.interval
        held.append(low - 1e-9 <= truth <= high + 1e-9)
        low, high = np.quantile(found.policy_gain, [0.05, 0.95])
        alone.append(low <= truth <= high)
    assert np.mean(held) >= 0.85
    assert np.mean(held) > np.mean(alone) + 0.05
