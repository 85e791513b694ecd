"""A log counts as the learner that saw its rows does; whatever holds it, and in the user's own names and units."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners.catalogue import ROWS as LEARNERS
from equirl.logs.log_columns import _labels, read_log
from equirl.logs.log_files import Origin

ROWS = [
    ("low", "wait", 1.0, "high"),
    ("high", "sell", 5.0, "low"),
    ("low", "wait", 1.0, "low"),
    ("low", "fill", -2.0, "high"),
    ("high", "sell", 4.0, "empty"),
]
COLUMNS = {
    "state": [row[0] for row in ROWS],
    "action": [row[1] for row in ROWS],
    "reward": [row[2] for row in ROWS],
    "next_state": [row[3] for row in ROWS],
}


def walk(mdp, n, seed=0):
    rng, env = np.random.default_rng(seed), eq.TabularEnv(mdp)
    state, _ = env.reset(seed=seed)
    rows = []
    for _ in range(n):
        ids = mdp.pairs.action[mdp.pairs.ptr[state] : mdp.pairs.ptr[state + 1]]
        action = int(rng.choice(ids))
        following, reward, *_ = env.step(action)
        rows.append((state, action, reward, following))
        state = following
    return rows


def same(one, other):
    return (
        one.pairs == other.pairs
        and all(map(np.array_equal, one.seen, other.seen))
        and one.reward_map == other.reward_map
        and np.array_equal(one.initial, other.initial)
    )


def csv_of(path, columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


# --- whatever holds it


def test_every_kind_of_table_gives_the_same_log(tmp_path):
    pandas, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    expected = eq.from_log(ROWS)
    frame, table = pandas.DataFrame(COLUMNS), pa.table(COLUMNS)
    pq.write_table(table, tmp_path / "log.parquet")
    kind = [("state", "U5"), ("action", "U5"), ("reward", float), ("next_state", "U5")]
    tables = [
        COLUMNS,
        frame,
        frame.astype({"state": "category"}),
        table,
        np.array(ROWS, dtype=kind),
        [dict(zip(COLUMNS, row, strict=True)) for row in ROWS],
        csv_of(tmp_path / "log.csv", COLUMNS),
        str(tmp_path / "log.parquet"),
    ]
    for table in tables:
        assert same(eq.from_log(table), expected), type(table)


def test_columns_may_be_called_otherwise():
    renamed = {"s": COLUMNS["state"], "a": COLUMNS["action"], "reward": COLUMNS["reward"], "s2": COLUMNS["next_state"]}
    log = eq.from_log(renamed, columns={"state": "s", "action": "a", "next_state": "s2"})
    assert same(log, eq.from_log(ROWS))


def test_a_log_counts_as_a_learner_that_saw_it_does():
    rows = walk(eq.make("four-room", height=7, width=7), 3000)
    log = eq.from_log(rows)
    agent = eq.make_agent("c-ucrl", log.pairs.n_states, np.diff(log.pairs.ptr), seed=1)
    assert log.pairs.is_uniform
    for row in rows:
        agent.observe(*row)
    for ours, theirs in zip(log.seen, agent.counts.snapshot(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_may_be_weighted_by_how_often_they_happened():
    once = {**COLUMNS, "weight": [1, 3, 0, 2, 1]}
    rows = [row for row, n in zip(ROWS, once["weight"], strict=True) for _ in range(n)]
    one, other = eq.from_log(once), eq.from_log(rows)
    np.testing.assert_array_equal(one.seen.visits, other.seen.visits)
    np.testing.assert_array_equal(one.seen.count, other.seen.count)
    np.testing.assert_allclose(one.seen.r_sum, other.seen.r_sum)


def test_an_order_by_time_is_kept():
    ends = {**COLUMNS, "terminated": [0, 1, 0, 0, 0], "time": [1, 2, 3, 4, 5]}
    order = [3, 0, 4, 1, 2]
    mixed = {name: [values[k] for k in order] for name, values in ends.items()}
    dated = {**mixed, "time": [f"2026-01-{day:02}" for day in mixed["time"]]}
    assert same(eq.from_log(mixed), eq.from_log(ends))
    assert same(eq.from_log(dated), eq.from_log(ends))


# --- ends of episodes


def test_a_terminated_row_leads_to_where_the_next_episode_begins():
    rows = [("a", 0, 0, "b", False), ("b", 0, 1, None, True), ("c", 0, 0, "b", False), ("b", 0, 1, "end", True)]
    log = eq.from_log(rows)
    assert log.pairs.state_names == ("a", "b", "c")  # where an episode ended is no state
    assert log.mdp().transition_probabilities("b", 0) == {"c": 1.0}
    assert log.n_steps == 3  # the last row: nobody knows what follows
    assert log.n_left_out == 1
    assert log.initial.tolist() == [0.5, 0.0, 0.5]
    assert any("left out" in sentence for sentence in log.limitations())


def test_where_episodes_begin_can_be_said():
    log = eq.from_log([("a", 0, 0, "b", False), ("b", 0, 1, "b", True)], restart="a")
    assert log.mdp().transition_probabilities("b", 0) == {"a": 1.0}
    assert log.n_steps == 2


def test_rows_with_weights_have_no_next_row():
    rows = {"state": ["a", "b"], "action": [0, 0], "reward": [0, 1], "next_state": ["b", "a"], "terminated": [0, 1]}
    with pytest.raises(ValueError, match=r"rows with weights have no order; restart="):
        eq.from_log({**rows, "weight": [1, 2]})


# --- names, action sets and units


def test_names_may_be_integers_with_gaps_tuples_and_texts_of_both(tmp_path):
    rows = {"state": [10, 30], "action": [2, 5], "reward": [0, 1], "next_state": [30, 10]}
    log = eq.from_log(rows)
    assert log.pairs.state_names == (10, 30)
    assert log.pairs.action.tolist() == [2, 5]
    assert same(eq.from_log(csv_of(tmp_path / "log.csv", rows)), log)
    cells = [(0, 1), (1, 1)]
    grid = eq.from_log([(cells[0], "up", 0.0, cells[1]), (cells[1], "up", 1.0, cells[0])])
    assert grid.pairs.state_names == ((0, 1), (1, 1))
    text = 'state,action,reward,next_state\n"(0, 1)",up,0,"(1, 1)"\n"(1, 1)",up,1,"(0, 1)"\n'
    (tmp_path / "grid.csv").write_text(text)
    assert same(eq.from_log(tmp_path / "grid.csv"), grid)


def test_states_that_are_numbered_already_keep_their_numbers():
    assert eq.from_log([(0, 0, 0.0, 1), (1, 0, 1.0, 0)]).pairs.state_names is None


def test_a_learner_speaks_the_names_and_units_of_the_log():
    log = eq.from_log(ROWS, reward_range=(-10, 10))
    agent = log.agent("ucrl2-l")
    action = agent.act("low")
    agent.observe("low", action, -3.5, "empty")
    assert agent.t == len(ROWS) + 2
    low, high = agent.beliefs.gain_bounds()
    assert -10 <= low <= high <= 10


def test_actions_are_those_seen_or_all_or_as_said():
    seen, every = eq.from_log(ROWS), eq.from_log(ROWS, actions="all")
    assert np.diff(seen.pairs.ptr).tolist() == [3, 1, 2]  # in a state never left all are possible
    assert np.diff(every.pairs.ptr).tolist() == [3, 3, 3]
    sets = {"low": ["wait", "fill"], "high": ["sell", "wait"], "empty": ["fill"]}
    said = eq.from_log(ROWS, actions=sets)
    assert said.pairs.describe(0) == "s='empty', a='fill'"
    with pytest.raises(ValueError, match=r"row 2 plays 'sell' in state 'high'"):
        eq.from_log(ROWS, actions={**sets, "high": ["wait"], "empty": ["sell"]})


def test_rewards_are_kept_or_mapped_from_the_range_seen_or_said():
    rows = [(0, 0, 0.25, 0), (0, 0, 0.75, 0)]
    assert eq.from_log(rows).reward_map == (1.0, 0.0)
    assert eq.from_log(ROWS).reward_map == (7.0, -2.0)
    assert eq.from_log(ROWS, reward_range=(-10, 10)).reward_map == (20.0, -10.0)
    costs = eq.from_log([(0, 0, 30.0, 0), (0, 0, 50.0, 0)], costs=True)
    assert costs.mean_reward == pytest.approx(-40.0)
    assert eq.from_log([(0, 0, 7.0, 0)]).mean_reward == pytest.approx(7.0)


def test_the_estimated_problem_has_the_frequencies():
    mdp = eq.from_log(ROWS).mdp()
    assert mdp.transition_probabilities("low", "wait") == {"high": 0.5, "low": 0.5}
    assert mdp.mean_reward("high", "sell") == pytest.approx(4.5)
    assert mdp.transition_probabilities("empty", "wait") == {
        "empty": 1.0
    }  # never played: it stays put, at the least reward
    assert mdp.mean_reward("empty", "wait") == -2.0


# --- a warm start


WARM = [name for name in LEARNERS if name not in ("optimal", "q-learning") and not name.endswith(("-c", "-sigma"))]


@pytest.mark.parametrize("name", WARM)
def test_a_learner_that_starts_from_a_log_is_one_that_saw_its_rows(name):
    rows = walk(eq.make("ergodic-riverswim", n_states=5), 400)
    log = eq.from_log(rows)
    warm, stepped = log.agent(name, seed=3), eq.make_agent(name, 5, 2, seed=3)
    for row in rows:
        stepped.observe(*row)
    assert warm.t == stepped.t
    if name != "random":  # whose coins were used up
        assert warm.act(rows[-1][3]) == stepped.act(rows[-1][3])


def test_given_classes_and_profiles_go_with_a_warm_start():
    river = eq.make("ergodic-riverswim", n_states=5)
    log = eq.from_log(walk(river, 400))
    classes, profiles = eq.equivalence_classes(river), eq.profiles(river)
    for name in ("c-ucrl-c-sigma", "c-psrl-c-sigma", "c-imed-rl-c-sigma", "c-q-learning-c-sigma"):
        agent = log.agent(name, classes=classes, profiles=profiles)
        assert agent.act(0) in (0, 1)
        assert agent.t == 401
    wrong = eq.profiles(river.permute(states=[1, 0, 2, 3, 4]))
    with pytest.raises(ValueError, match="cannot lead to state"):
        log.agent("c-ucrl-c-sigma", classes=range(10), profiles=wrong)


def test_q_learning_starts_from_the_values_of_the_log_replayed_for_ever():
    log = eq.from_log(walk(eq.make("ergodic-riverswim", n_states=4), 2000))
    agent = log.agent("q-learning", discount=0.9)
    exact = eq.solve(log.mdp(), discount=0.9)
    best = np.maximum.reduceat(agent.q, log.pairs.ptr[:-1]) / (1 - 0.9)
    np.testing.assert_allclose(best, exact.value, atol=1e-6)
    np.testing.assert_array_equal(agent.beliefs.greedy_policy(), exact.policy)
    np.testing.assert_array_equal(agent.n, log.seen.visits)


def test_only_a_new_learner_of_the_same_pairs_starts_from_counts():
    log = eq.from_log(ROWS)
    agent = log.agent("psrl")
    with pytest.raises(ValueError, match="has learned already"):
        agent.start_from(log.seen)
    with pytest.raises(ValueError, match="the counts are of 6 pairs; 'psrl' has 4"):
        eq.make_agent("psrl", 2, 2).start_from(log.seen)
    with pytest.raises(ValueError, match="'optimal' needs the true MDP"):
        log.agent("optimal")


# --- what it cannot say, and what is wrong with it


def test_what_a_log_cannot_say_is_said():
    said = "\n".join(eq.from_log(ROWS).limitations())
    assert "1 state ('empty') was reached and never left" in said
    assert "1 state ('high') was left by one action only" in said
    assert "6 of the 9 combinations of a state and an action were never tried" in said
    assert "3 pairs of 3 tried fewer than 10 times" in said
    assert "rewards are taken to lie in [-2, 5]" in said
    apart = eq.from_log([(0, 0, 0.0, 0), (1, 0, 0.0, 0)], reward_range=(0, 1)).limitations()
    assert any("1 state (1) was not reached from where the log starts" in sentence for sentence in apart)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "the log has no rows"),
        ([(0, 0, 0.0)], r"row 1 of the log is \(0, 0, 0.0\), not \(state, action, reward, next_state"),
        ({"state": [0], "action": [0], "reward": [1]}, r"has no column 'next_state'; columns=\{'next_state'"),
        ({**COLUMNS, "reward": [1, 2, np.nan, 3, 4]}, "the reward in row 3 is nan"),
        ({**COLUMNS, "state": ["a", None, "b", "c", "d"]}, "the state in row 2 is missing"),
        ({**COLUMNS, "next_state": ["a", "b", "b", "c", ""]}, "the next_state in row 5 is missing"),
        ({**COLUMNS, "weight": [1, 1, 0.5, 1, 1]}, "the weight in row 3 is 0.5; a weight says how often"),
        ({**COLUMNS, "terminated": ["maybe"] * 5}, "terminated holds 'maybe'"),
        ({**COLUMNS, "action": ["a", "b"]}, "equally long: action has 2 rows, reward 5"),
        ({**COLUMNS, "state": [{1}, {2}, {3}, {4}, {5}]}, "a name is a string, a number or a tuple"),
        ("log.txt", r"the log 'log.txt' should end in .csv, .tsv or .parquet"),
        (3, "table must be a list, not 3"),
        ({**COLUMNS, "reward": [1, 2, [3, 4], 5, 6]}, "the column reward must be an array"),
        (
            {**COLUMNS, "state": [np.inf, 1, 2, 3, 4]},
            "inf cannot be a name in the column state; a name is a string, a number",
        ),
        (
            {**COLUMNS, "action": [10**5000, 1, 2, 3, 4]},
            "an integer of 16610 bits cannot be a name in the column action",
        ),
        ({**COLUMNS, "next_state": np.array(0.0)}, "next_state must be a list, not 0.0"),
        ({**COLUMNS, "time": [1, None, 3, 4, 5]}, r"the column time holds what has no order: \[1, None, 3"),
        ({**COLUMNS, "time": [1, 2, np.nan, 4, 5]}, "the time in row 3 is missing"),
        ([{"state": 0, 3: 1}, {"state": 0}], "the columns of the first: 'state', 3"),
    ],
)
def test_a_log_that_makes_no_sense_is_named(table, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eq.from_log(table)


def test_other_mistakes_are_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        eq.from_log(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match="unknown column 'sate'; did you mean 'state'"):
        eq.from_log(ROWS, columns={"sate": "s"})
    with pytest.raises(ValueError, match=r"the reward in row 2 is 5, outside reward_range \[0, 2\]"):
        eq.from_log([ROWS[0], ROWS[1]], reward_range=(0, 2))
    with pytest.raises(ValueError, match="unknown actions 'al'; did you mean 'all'"):
        eq.from_log(ROWS, actions="al")
    with pytest.raises(ValueError, match="restart is 'up', which is no state"):
        eq.from_log([("a", 0, 0, "a", True)], restart="up")


def test_states_are_listed_as_people_count():
    assert read_log([(f"room{k}", 0, 0.0, "room1") for k in (10, 9, 1)]).states == ["room1", "room9", "room10"]


def test_rows_of_an_array_are_names_in_their_order_and_so_are_whole_numbers():
    origin = Origin("the log", {})
    for values, names in (
        (np.array([[2, 1], [0, 3], [2, 1]]), [(0, 3), (2, 1)]), (np.array([7, 2, 7]), [2, 7]),
        (np.array(["b", "a", "b"]), ["b", "a"]), ([7, 2, 7], [7, 2]),
    ):  # fmt: skip
        found = _labels(values, "state", origin)
        assert found.names == names
        assert found.code.tolist() == ([1, 0, 1] if sorted(names) == names else [0, 1, 0])
