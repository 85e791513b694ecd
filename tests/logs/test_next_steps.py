"""Which decisions a log leaves open, what they are worth, and where nothing is left to learn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.estimation.counts import Snapshot
from equirl.lab.cli import app
from equirl.logs.next_steps import (
    NOTHING_OPEN,
    DrawnWorld,
    decisions_of,
    noise_of,
    open_decisions,
    play_drawn,
    share_of_play,
    steps_by_decision,
)
from equirl.model.rows import Rows
from equirl.numerics.random_draws import draw_state
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Stop
from equirl.posterior.drawn_plan import worth_in

COLUMNS = ["state", "action", "rival", "chance_better", "worth", "visits", "rival_visits", "steps"]


def arm(name, paid, n):
    """An action that pays one in so many of n times."""
    return [("home", name, float(k < paid), "home") for k in range(n)]


# --- what decisions are worth


def drawn(pairs, rng, discount):
    """An MDP with whole rows, as a posterior would draw it."""
    S, M = pairs.n_states, pairs.n_pairs
    rows = Rows(np.arange(M + 1) * S, np.tile(np.arange(S, dtype=np.int32), M), rng.dirichlet(np.ones(S), M).ravel())
    return ExactModel(rows, np.zeros(M), rng.random(M), np.array(pairs.state), 0.5 if discount == 1.0 else 0.0)


def as_problem(model, pairs):
    rows = model.rows.prob.reshape(pairs.n_pairs, pairs.n_states)
    return eq.TabularMDP.from_rows(rows, model.reward, actions=2)


@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_what_a_policy_loses_is_the_sum_of_what_its_decisions_lose(discount):
    rng, rows = np.random.default_rng(0), [(s, a, 0.5, (s + 1) % 4) for s in range(4) for a in (0, 1)]
    log = eq.from_log(rows)
    models = [drawn(log.pairs, rng, discount) for _ in range(5)]
    now = log.pairs.ptr[:-1] + rng.integers(0, 2, 4)
    found = decisions_of(log, now, models, Stop(discount, 1e-9, 10_000, 5), draw_state(np.random.SeedSequence(0)))
    lost = []
    for model in models:
        mdp = as_problem(model, log.pairs)
        best = eq.solve(mdp).gain if discount == 1.0 else log.initial @ eq.solve(mdp, discount=discount).value
        lost.append(best - worth_in(model, now, log.initial, discount))
    assert found.worth.sum() == pytest.approx(np.mean(lost), abs=1e-6)
    assert (found.worth >= 0).all()


def test_shares_and_chances_of_a_decision_by_hand():
    """One state, three arms: in three draws the second is better by 0.2, in one the third by 0.4."""
    log = eq.from_log([("s", arm, 0.5, "s") for arm in "xyz"])
    rows = Rows(np.arange(4), np.zeros(3, np.int32), np.ones(3))
    means = [[0.5, 0.7, 0.1], [0.5, 0.7, 0.1], [0.5, 0.7, 0.1], [0.5, 0.2, 0.9]]
    models = [ExactModel(rows, np.zeros(3), np.array(mean), np.zeros(3, np.int64), 0.5) for mean in means]
    found = decisions_of(log, np.array([0]), models, Stop(1.0, 1e-9, 1000, 5), draw_state(np.random.SeedSequence(0)))
    assert found.worth == pytest.approx([(3 * 0.2 + 0.4) / 4])
    assert found.rival.tolist() == [1]
    assert found.chance.tolist() == [0.0, 0.75, 0.25]


def test_what_can_be_reached_from_the_first_state_is_planned_in():
    """State "one" pays half for ever, "two", where one can go from there, pays all; "far" is a world of its own."""
    log = eq.from_log([("one", "stay", 0.5, "one"), ("one", "walk", 0.0, "two"), ("two", "stay", 1.0, "two"),
                       ("far", "stay", 0.0, "far")])  # fmt: skip
    far, one, two = (log.pairs.state_names.index(name) for name in ("far", "one", "two"))
    stay, walk, after, other = (
        log.pairs.index(*pair) for pair in (("one", "stay"), ("one", "walk"), ("two", "stay"), ("far", "stay"))
    )
    succ, reward = np.zeros(4, np.int32), np.zeros(4)
    succ[[stay, walk, after, other]], reward[[stay, after]] = [one, two, two, far], [0.5, 1.0]
    model = ExactModel(Rows(np.arange(5), succ, np.ones(4)), np.zeros(4), reward, np.array(log.pairs.state), 0.5)
    now = np.zeros(3, np.int64)
    now[[one, two, far]] = stay, after, other
    found = decisions_of(log, now, [model], Stop(1.0, 1e-9, 10_000, 5), draw_state(np.random.SeedSequence(0)))
    assert found.worth[one] == pytest.approx(0.5)
    assert found.worth.sum() == pytest.approx(0.5)
    assert found.rival[one] == walk


def test_discounted_visits_are_those_of_the_chain():
    rows = Rows(np.arange(3), np.array([1, 0], np.int32), np.ones(2))
    model = ExactModel(rows, np.zeros(2), np.zeros(2), np.arange(2), 0.0)
    visits = share_of_play(model, np.arange(2), np.array([1.0, 0.0]), 0.5)
    assert visits == pytest.approx([1 / (1 - 0.25), 0.5 / (1 - 0.25)])
    assert share_of_play(model, np.arange(2), np.array([1.0, 0.0]), 1.0) == pytest.approx([0.5, 0.5])


def test_decisions_are_left_out_by_what_they_are_worth_together():
    worth = np.array([0.4, 0.04, 0.0, 0.05, 2.0])
    assert open_decisions(worth, 0.08).tolist() == [4, 0, 3]
    assert open_decisions(worth, 0.0).tolist() == [4, 0, 3, 1]
    assert open_decisions(worth, 3.0).tolist() == []
    assert open_decisions(np.zeros(3), 0.0).tolist() == []


def test_a_run_of_departures_counts_for_the_open_decision_in_it():
    """State s has the pairs 2s and 2s + 1, the policy plays 2s; state 1 is open, and then state 2 too."""
    state, known = np.repeat(np.arange(3), 2), np.array([0, 2, 4])
    assert steps_by_decision(np.array([5, 3]), state, known, np.array([1])).tolist() == [0, 2, 0]
    path = np.array([0, 1, 1, 3, 5, 2, 5, 0, 3, 3, 5])
    assert steps_by_decision(path, state, known, np.array([1])).tolist() == [0, 7, 0]
    assert steps_by_decision(path, state, known, np.array([1, 2])).tolist() == [0, 5, 3]
    assert steps_by_decision(path, state, known, np.array([], int)).tolist() == [0, 0, 0]


def test_rewards_vary_in_drawn_worlds_as_they_did_in_the_log():
    """Coins, sure amounts, amounts that vary, and a pair never played."""
    paid = [[0, 1, 1, 1], [0.4] * 4, [0.2, 0.6, 0.2, 0.6], []]
    r_sum, r_squares = ([sum(r**k for r in pair) for pair in paid] for k in (1, 2))
    visits = np.array([len(pair) for pair in paid])
    seen = Snapshot(np.zeros(5, np.int64), np.zeros(0), np.zeros(0), visits, np.array(r_sum), np.array(r_squares))
    coin, noise = noise_of(seen)
    assert coin.tolist() == [True, False, False, True]
    assert noise[1:3] == pytest.approx([0.0, 0.2], abs=1e-7)


def test_a_learner_plays_in_the_drawn_world():
    """From state 0 always to 1, from there to 0 or anywhere; the first pays coins, the second a sure amount."""
    rows = Rows(np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([1.0, 0.5]))
    world = DrawnWorld(
        ExactModel(rows, np.array([0.0, 0.5]), np.array([0.3, 0.6]), np.arange(2), 0.5),
        np.array([True, False]),
        np.zeros(2),
    )
    agent = eq.make_agent("psrl", 2, 1)
    path = play_drawn(agent, world, 3000, 1, np.random.default_rng(0))
    assert path[0] == 1
    assert set(path[1:][path[:-1] == 0].tolist()) == {1}
    assert np.mean(path[1:][path[:-1] == 1] == 0) == pytest.approx(0.75, abs=0.05)
    seen = agent.counts.snapshot()
    assert seen.visits.tolist() == np.bincount(path).tolist()
    assert seen.r_sum / seen.visits == pytest.approx([0.3, 0.6], abs=0.05)
    assert seen.r_squares[0] == seen.r_sum[0]
    assert seen.r_squares[1] == pytest.approx(0.36 * seen.visits[1])


def test_amounts_that_vary_stay_in_their_range():
    rows = Rows(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1))
    world = DrawnWorld(
        ExactModel(rows, np.zeros(1), np.array([0.5]), np.zeros(1, np.int64), 0.5), np.array([False]), np.array([0.1])
    )
    agent = eq.make_agent("psrl", 1, 1)
    play_drawn(agent, world, 2000, 0, np.random.default_rng(0))
    seen = agent.counts.snapshot()
    mean = seen.r_sum[0] / 2000
    assert mean == pytest.approx(0.5, abs=0.02)
    assert np.sqrt(seen.r_squares[0] / 2000 - mean**2) == pytest.approx(0.1, abs=0.01)


# --- in the answers


def test_after_twenty_thousand_visits_of_two_actions_nothing_is_left_to_learn():
    table = eq.from_log(arm("good", 6_000, 10_000) + arm("bad", 4_000, 10_000)).next_steps()
    assert len(table) == 0
    assert list(table.columns) == COLUMNS
    assert repr(table) == NOTHING_OPEN
    assert NOTHING_OPEN in table._repr_html_()
    assert len(table.head(3)) == 0
    assert repr(table.head(3)) == NOTHING_OPEN


def test_known_steps_are_not_counted_however_often_they_are_played():
    """Sure amounts, a way to go and a choice at its end, all seen a thousand times."""
    rows = [("home", "take", 0.5, "home"), ("home", "invest", 0, "one"), ("one", "wait", 0, "two"),
            ("two", "sell", 3, "home"), ("two", "keep", 1, "home")] * 1000  # fmt: skip
    for discount in (None, 0.5):
        assert repr(eq.from_log(rows).next_steps(steps=100, draws=20, discount=discount)) == NOTHING_OPEN


def test_what_was_tried_twice_is_named_first():
    rows = arm("good", 250, 500) + arm("promising", 1, 2) + arm("bad", 50, 500)
    rows += [("home", "travel", 0.5, "abroad")] * 200
    rows += [("abroad", "rest", 0.5, "home")] * 200
    table = eq.from_log(rows).next_steps(steps=300, draws=50)
    first = table.rows()[0]
    assert (first["state"], first["rival"], first["rival_visits"]) == ("home", "promising", 2)
    assert 0.02 <= first["chance_better"] < 0.8
    assert 0.001 < first["worth"] < 0.3
    assert first["worth"] == max(table["worth"])
    assert 1 <= first["steps"] <= 300


def test_decisions_come_in_the_order_of_their_worth():
    rng = np.random.default_rng(2)
    rows = [
        (s, a, float(rng.random() < 0.5), int(rng.integers(3))) for s in range(3) for a in range(3) for _ in range(20)
    ]
    table = eq.from_log(rows).next_steps(steps=20, draws=30)
    assert len(table) > 1
    assert table["worth"] == sorted(table["worth"], reverse=True)
    assert all(row["action"] != row["rival"] and row["chance_better"] > 0 for row in table)
    assert 0 < sum(table["steps"]) <= 20


def test_a_state_never_left_hides_nothing_and_opens_nothing_else():
    """Its only pairs are unknown, and in a mean of problems it would swallow every policy."""
    rows = arm("good", 900, 1500) + arm("bad", 300, 1500) + [("home", "good", 1.0, "cellar")]
    table = eq.from_log(rows).next_steps(steps=20)
    assert "home" not in table["state"]
    assert all(row["worth"] > 0 and row["action"] != row["rival"] for row in table)


def test_the_policy_in_use_can_be_given():
    rows = arm("good", 6_000, 10_000) + arm("bad", 4_000, 10_000)
    worse = eq.from_log(rows).next_steps(steps=50, draws=20, policy=["bad"])
    assert (worse["action"], worse["rival"], worse["chance_better"]) == (["bad"], ["good"], [1.0])
    assert worse["worth"][0] == pytest.approx(0.2, abs=0.05)
    assert worse["visits"] == [10_000]
    assert worse["steps"][0] > 45
    with pytest.raises(ValueError, match="policy"):
        eq.from_log(rows).next_steps(policy=[0.3, 0.7, 0.1])


def test_steps_are_spent_on_what_was_hardly_tried():
    """Whichever of the two is in use."""
    rows = [*arm("good", 250, 500), ("home", "new", 0.55, "home"), ("home", "new", 0.45, "home")]
    spent = [eq.from_log(rows).next_steps(steps=100, draws=30, policy=[name])["steps"] for name in ("good", "new")]
    assert spent[0] == pytest.approx(spent[1])


def test_amounts_are_in_the_units_of_the_log():
    rows = arm("good", 250, 500) + arm("promising", 1, 2)
    euros = [(s, a, 200 * r - 100, x) for s, a, r, x in rows]
    plain, scaled = (eq.from_log(table).next_steps(steps=10, draws=30) for table in (rows, euros))
    assert scaled["worth"] == pytest.approx([200 * worth for worth in plain["worth"]], rel=1e-6)


def test_a_discount_decides_what_is_open():
    """Investing pays later, if a sale tried twice goes on as it began."""
    rows = [("home", "take", 0.5, "home"), ("home", "invest", 0, "one"), ("one", "wait", 0, "home")] * 500
    rows += [("one", "sell", 3, "home")] * 2
    policy = ["take", "wait"]
    assert repr(eq.from_log(rows).next_steps(steps=50, draws=30, discount=0.05, policy=policy)) == NOTHING_OPEN
    (row,) = eq.from_log(rows).next_steps(steps=50, draws=30, policy=policy)
    assert (row["state"], row["action"], row["rival"], row["rival_visits"]) == ("home", "take", "invest", 500)
    assert row["worth"] > 0.3


def test_a_learner_that_cannot_be_is_told_even_where_nothing_is_open():
    with pytest.raises(ValueError, match="unknown learner"):
        eq.from_log(arm("good", 600, 1000)).next_steps(learner="nobody")


# --- from the command line


def written(path, rows):
    path.write_text("state,action,reward,next_state\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def told(path, *options):
    done = CliRunner().invoke(app, ["learn", str(path), "--draws", "20", *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_says_what_is_open_and_where_nothing_is(tmp_path):
    done = written(tmp_path / "done.csv", arm("good", 900, 1500) + arm("bad", 300, 1500))
    assert NOTHING_OPEN in told(done)
    assert json.loads(told(done, "--json"))["next_steps"] == []
    unknown = written(tmp_path / "open.csv", arm("good", 250, 500) + arm("promising", 1, 2))
    shown = told(unknown, "--steps", "100")
    assert "Decisions still open, and where the next 100 steps are best spent" in shown
    assert {"chance", "better"} <= set(shown.split())
    (row,) = json.loads(told(unknown, "--steps", "100", "--json"))["next_steps"]
    assert list(row) == COLUMNS
    assert NOTHING_OPEN not in told(done, "--steps", "0")
