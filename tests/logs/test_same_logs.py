"""Logs in every form, what is read of them and what is refused are what they were (``same_logs.json``).

``python tests/logs/test_same_logs.py`` stores them anew.
"""

from __future__ import annotations

import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.estimation.pooling import Grouping
from equirl.logs import csv_columns
from equirl.logs.class_differences import difference_between, differences, most_sure
from equirl.logs.csv_columns import (
    POWERS,
    find_fields,
    first_row,
    number_fields,
    read_csv,
    read_header,
    read_numbers,
)
from equirl.logs.log import from_log
from equirl.logs.log_columns import one_column, read_log
from equirl.logs.next_steps import noise_of, open_decisions, steps_by_decision
from equirl.logs.safe_improvement import Question, behaviour_of, halves, judged_policy, sample_of
from stored_kit import answer, answers, check, store

ROWS = [
    ("low", "wait", 1.0, "low"), ("low", "go", 3.0, "high"), ("high", "wait", 5.0, "high"),
    ("high", "wait", 4.0, "low"),
    ("low", "go", 2.5, "low"), ("low", "go", 3.0, "high"), ("high", "go", -1.0, "room10"),
    ("room10", "wait", 0.0, "room2"),
]  # fmt: skip
PLAIN = [(0, 0, 0.5, 1), (1, 0, 1.0, 0), (0, 2, 0.0, 0), (0, 0, 0.25, 1), (1, 0, 0.75, 1)]
FIELDS = [("state", int), ("action", int), ("reward", float), ("next_state", int)]
HEAD = "state,action,reward,next_state\n"


def whole(log):
    seen = log.seen
    return {
        "seen": seen, "ptr": log.pairs.ptr, "action": log.pairs.action, "map": log.reward_map, "initial": log.initial,
        "n": [log.n_rows, log.n_left_out, log.range_seen, log.n_steps, log.mean_reward], "paid": log.unit_paid,
        "names": [str(log.pairs.state_names), str(log.pairs.action_names)], "limits": [*log.limitations(), "."],
        "table": {name: list(map(str, column)) for name, column in log.table().columns.items()},
    }  # fmt: skip


def file_of(content, suffix=".csv"):
    """A file that holds this; messages call it FILE."""
    folder = tempfile.mkdtemp()
    path = Path(folder) / f"log{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def of_text(content, suffix=".csv", **options):
    path = file_of(content, suffix)
    found = answer(lambda: whole(from_log(path, **options)))
    return [part.replace(str(path), "FILE") for part in found] if isinstance(found, list) else found


def forms():
    """Rows, columns, weights, times, ends of episodes, costs."""
    ends = [(*row, k in (2, 5)) for k, row in enumerate(ROWS)]
    columns = {name: [row[k] for row in ROWS] for k, name in enumerate(("state", "action", "reward", "next_state"))}
    kinds = {
        "rows": lambda: from_log(ROWS), "numbers": lambda: from_log(PLAIN), "ends": lambda: from_log(ends),
        "last ends": lambda: from_log([*ends[:-1], (*ROWS[-1], True)]),
        "restart": lambda: from_log(ends, restart="low"),
        "columns": lambda: from_log(columns),
        "renamed": lambda: from_log({"s": columns["state"], **columns} | {"state": []}, columns={"state": "s"}),
        "weights": lambda: from_log(columns | {"weight": [1, 2, 0, 3, 1, 1, 1, 1]}),
        "costs": lambda: from_log(ROWS, costs=True),
        "time": lambda: from_log(columns | {"time": [8, 7, 6, 5, 4, 3, 2, 1]}),
        "texts of time": lambda: from_log(columns | {"time": list("hgfedcba")}),
        "all": lambda: from_log(ROWS, actions="all"), "sets": lambda: from_log(PLAIN, actions=[[0, 2], [0, 1]]),
        "range": lambda: from_log(ROWS, reward_range=(-1, 5)),
        "dicts": lambda: from_log([dict(zip(columns, row, strict=True)) for row in ROWS]),
        "one reward": lambda: from_log([(0, 0, 7.0, 0)]),
        "structured": lambda: from_log(np.array([(0, 1, 0.5, 1), (1, 1, 0.25, 0)], FIELDS)),
        "tuples": lambda: from_log([((0, 1), "a", 1.0, (1, 1)), ((1, 1), "a", 0.0, (0, 1))]),
        "mixed": lambda: from_log([(0, "a", 1.0, "x"), ("x", "a", 0.0, 0)]),
        "arrays": lambda: from_log(
            {"state": np.array([[0, 1], [1, 1]]), "action": np.array([3, 5]), "reward": [0, 1], "next_state": np.eye(2)}
        ),
    }  # fmt: skip
    found = {name: whole(make()) for name, make in kinds.items()}
    log = from_log(ROWS)
    mdp = log.mdp("x")
    found["mdp"] = {"rows": mdp.rows, "r": mdp.r_mean, "initial": mdp.initial}
    agent = log.agent("ucrl2-l", 3)
    found["agent"] = {"visits": agent.counts.visits, "t": [agent.t]}
    with mock.patch("equirl.logs.log.DIRECT", 0):
        found["looked up"] = whole(from_log(ROWS))
    return found


def refused():
    good = {"state": [0, 1], "action": [0, 0], "reward": [0.5, 1.0], "next_state": [1, 0]}
    changes = [
        {"reward": [0.5]}, {"reward": [0.5, math.nan]}, {"reward": [0.5, math.inf]}, {"reward": [0.5, 1e300]},
        {"reward": ["a", 1]}, {"reward": [1j, 1]},
        {"state": [None, 1]}, {"state": ["", 1]}, {"state": ["1", 1]},
        {"state": ["1", "1.0"], "next_state": ["1", "1"]}, {"state": [[0], [1]]}, {"state": [{}, 1]},
        {"action": [None, 0]}, {"action": ["2", "2.0"]}, {"action": ["id-1", "id-01"]}, {"next_state": [1, None]},
        {"weight": [1, -1]}, {"weight": [1, 0.5]}, {"weight": [1, 2**53]},
        {"weight": [2**52, 2**52]}, {"weight": [0, 1]}, {"weight": [1, math.nan]}, {"terminated": [0, 1]},
        {"terminated": ["yes", "no"]}, {"terminated": [2, 0]}, {"terminated": ["", "x"]},
        {"terminated": [None, "true"]}, {"terminated": [1, 0], "weight": [1, 1]}, {"time": [1, None]},
        {"time": [2, 1]}, {"time": [1, "a"]}, {"time": [1.0, math.nan]}, {"reward": [[0.5], [1.0]]},
        {"reward": [True, False]}, {"state": [0.0, 1.0]}, {"state": [0.5, 1.0]}, {"reward": [1e100, 0]},
        {"reward": [0.0, 1.0 + 1e-12]}, {"state": []},
    ]  # fmt: skip
    calls = [lambda change=change: whole(from_log(good | change)) for change in changes]
    calls += [
        lambda: from_log([]), lambda: from_log([(0, 0, 1)]), lambda: from_log([(0, 0, 1, 0), (0, 0, 1)]),
        lambda: from_log(["abcd"]), lambda: from_log([{"state": 0}]), lambda: from_log([{"state": 0}, 3]),
        lambda: from_log(3),
        lambda: from_log(good, columns=3), lambda: from_log(good, columns={"stat": "s"}),
        lambda: from_log(good, columns={"state": "s"}), lambda: from_log(good, encoder=3),
        lambda: from_log(good, costs=3),
        lambda: from_log(good, actions="some"), lambda: from_log(good, actions=[[1], [0]]),
        lambda: from_log(good, actions=[[0]]), lambda: from_log(good, reward_range=(0, 0.9)),
        lambda: whole(from_log(good, reward_range=(0.5, 1.0))),
        lambda: from_log(good, reward_range=(0.6, 1.0)), lambda: from_log(good, reward_range=(1, 0)),
        lambda: from_log(good | {"terminated": [1, 0]}, restart=9),
        lambda: whole(from_log(good | {"terminated": [1, 0]}, restart="1")),
        lambda: from_log("log.txt"), lambda: one_column({"a": [1]}, "b"), lambda: one_column({"a": [1, 2.0]}, "a"),
        lambda: one_column([3, "x"], "a"), lambda: one_column(np.zeros((2, 2)), "a"),
        lambda: from_log(good | {"state": np.arange(2), "action": np.arange(2)}).pairs.n_pairs,
        lambda: read_log(good, None).states,
    ]  # fmt: skip
    return answers(calls)


def texts():
    """Files of text: delimiters, quotes, ends of lines, blanks, numbers as people write them, what is no CSV."""
    body = "a,go,1.5,b\nb,go,-2e-1,a\na,stay,3,a\n"
    kinds = [
        HEAD + body, (HEAD + body).replace(",", ";"), (HEAD + body).replace(",", "\t"),
        (HEAD + body).replace(",", "|"), (HEAD + body).replace("\n", "\r\n"), (HEAD + body).replace("\n", "\r"),
        "\ufeff" + HEAD + body, HEAD + body.rstrip("\n"), HEAD + "\n\n" + body + "\n  \n",
        HEAD + 'a,"go, fast",1,b\nb,"say ""x""",2,a\n', HEAD + body + 'a,"go",4,b\n',
        HEAD + " a , go ,\t1 , b\nb,go, .5,a \n",
        "next_state,reward,action,state,more\nb,1,go,a,x\na,2,go,b,y\n", HEAD + "a,go,1\n", HEAD + "a,go,1,b,c\n",
        HEAD + "a,go,x,b\n", HEAD + "a,go,,b\n", HEAD + ",go,1,b\n", HEAD, "", "\n",
        "state,acton,reward,next_state\na,go,1,b\n",
        "state,state,reward,next_state\na,go,1,b\n", HEAD + 'a,"go,1,b\n', HEAD + 'a,"go"x,1,b\n', b"\xff\xfea",
        b"\x1f\x8b00", b"PK\x03\x0400", b"PAR100", b"\xd0\xcf\x11\xe0", b"\x28\xb5\x2f\xfd", b"\xfe\xff0",
        HEAD.encode() + b"a,go,\xff,b\n",
        HEAD.encode() + b"\xff,go,1,b\n", HEAD.encode() + b"a,go,1,\x00b\n", HEAD + "a,go,1_000,b\n",
        HEAD + "a,go,1e400,b\n", HEAD + "a,go,12345678901234567890.125,b\nb,go,1e-30,a\n",
        HEAD + "a,go,-.25,b\nb,go,+7.,a\na,go,1E2,a\nb,go,0007.50,b\n",
        "state,action,reward,next_state,terminated\na,go,1,b,true\nb,go,0,a,FALSE\n",
        "state,action,reward,next_state,terminated,weight\na,go,1,b,0,3\nb,go,0,a,0,2\n", HEAD + "a,go,inf,b\n",
        HEAD + "a,go,-,b\n", HEAD + "a,go,1e,b\n", HEAD + "a,go,.,b\n",
        HEAD + "\n".join(f"s{k % 40},a{k % 3},{k / 7:.3f},s{(3 * k + 1) % 40}" for k in range(300)) + "\n",
    ]  # fmt: skip
    found = {str(k): of_text(kind) for k, kind in enumerate(kinds)}
    with mock.patch.object(csv_columns, "BLOCK", 64), mock.patch.object(csv_columns, "BATCH", 2):
        for k in (0, 5, 8, 10, 13, len(kinds) - 1):
            found[f"in blocks {k}"] = of_text(kinds[k])
    with mock.patch.object(csv_columns, "LONGEST_LINE", 40), mock.patch.object(csv_columns, "BLOCK", 50):
        long = "a" * 60
        lines = (
            HEAD + body, f"{HEAD}{long},go,1,b\n", f'{HEAD}"{long}",go,1,b\n', "x" * 50 + "\n",
            HEAD.replace("\n", "\r") + f"{long}{long},go,1,b\r",
        )  # fmt: skip
        for k, text in enumerate(lines):
            found[f"short lines {k}"] = of_text(text)
    path = file_of(HEAD + "\n a ,go,1,b\n")
    header = read_header(path)
    found["header"] = {"names": header.names, "end": [header.end, len(header.mark)], "first": first_row(path, header)}
    labels, values = read_csv(path, header, ["state", "action"], ["reward"])
    found["columns"] = {name: column.code for name, column in labels.items()} | values
    found["endings"] = answers([lambda s=s: str(of_text(HEAD + body, s)) for s in (".txt", ".CSV")])
    return found


def fields():
    """Blocks of bytes, field by field."""
    found = {}
    blocks = (
        b"a,b,c\n d ,,e\r\n\n\t\n1,2,3", b",,\nx,y,z\n", b"a,b\n", b"a,b,c,d\n1,2,3\n", b"a,b,c\n1,2\n", b"x\n\ny\n",
        b"",
    )  # fmt: skip
    for i, text in enumerate(blocks):
        for slot in ([0, -1, 1], [1, 0, -1], [0]):
            data, lines = np.frombuffer(text, np.uint8), text.count(b"\n") + 1
            start, size = np.zeros((lines, 2), np.int64), np.zeros((lines, 2), np.int64)
            end = find_fields(data, ord(","), np.array(slot), start, size)
            found[f"fields {i} {slot}"] = {"end": end, "start": start, "size": size}
    words = b"".join(b"w%d " % (k * k % 23) for k in range(60))
    ends = np.flatnonzero(np.frombuffer(words, np.uint8) == 32)
    start = np.concatenate([[0], ends[:-1] + 1])
    for room in (4, 8, 32, 64):
        code, first = np.full(60, -1), np.zeros(room, np.int64)
        n = number_fields(np.frombuffer(words, np.uint8), start, ends - start, np.full(room, -1), first, code)
        found[f"numbered {room}"] = {"n": [n], "code": code if n >= 0 else [], "first": first[: max(n, 0)]}
    spelled = [
        "0", "-1", "+2", "3.25", ".5", "7.", "1e3", "1E-3", "2e+2", "1e22", "1e23", "123456789012345",
        "1234567890123456", "-0.000001", "00012", "1.5e-20", "", "-", ".", "e5", "1e", "1.2.3", "x", "1x", "--1", "1e-",
        "999999999999999e7", "1.25e22", "0.1e-21",
    ]  # fmt: skip
    text = " ".join(spelled).encode()
    sizes = np.array([len(word) for word in spelled])
    begins = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
    out, stops, at = np.full(len(spelled), -7.5), [], 0
    while at < len(spelled):
        at = read_numbers(np.frombuffer(text, np.uint8), begins, sizes, POWERS, at, out)
        stops.append(at)
        at += 1
    return found | {"numbers": out, "stops": stops}


def walk(steps=160, seed=5):
    """A log of five states; two of them alike, an action hardly ever tried, coins and amounts."""
    rng, rows, state = np.random.default_rng(seed), [], 0
    for _ in range(steps):
        action = int(rng.choice(3, p=[0.6, 0.35, 0.05]))
        after = int((state + rng.choice([0, 1, 2], p=[0.2, 0.6, 0.2] if action else [0.7, 0.2, 0.1])) % 5)
        paid = float(rng.random() < 0.3) if state % 2 else 0.2 * action + 0.1 * rng.random()
        rows.append((f"s{state}", f"a{action}", paid, f"s{after}"))
        state = after
    return from_log(rows)


def judged():
    """Halves of a log, and what is better by the other half."""
    log, found = walk(), {}
    sample = sample_of(log)
    one, other = halves(sample, np.random.default_rng(1))
    for name, half in (("whole", sample), ("one", one), ("other", other)):
        found[name] = {"seen": half.seen, "paid": half.paid, "squares": half.squares, "variance": half.variance}
    found["without"] = sample_of(replace(log, unit_paid=None))
    found["behaviour"] = behaviour_of(log.pairs, log.seen)
    played = log.pairs.ptr[:-1] + 1
    for discount in (1.0, 0.9):
        for baseline in (None, np.full(log.pairs.n_pairs, 1 / 3)):
            asked = Question(log.pairs, log.initial, discount, 0.9, baseline)
            tested = judged_policy(asked, played, one, other)
            found[f"tested {discount} {baseline is None}"] = tested
    few = walk(12)
    asked = Question(few.pairs, few.initial, 1.0, 0.9, None)
    found["few"] = judged_policy(asked, few.pairs.ptr[:-1].copy(), *halves(sample_of(few), np.random.default_rng(2)))
    for k, options in enumerate(
        ({"safe": 0.6}, {"safe": 0.99}, {"safe": 0.6, "baseline": {f"s{s}": "a0" for s in range(5)}, "discount": 0.9})
    ):
        safe = log.learn(draws=4, seed=1, **options)
        found[f"safe {k}"] = {
            "policy": safe.policy, "baseline": safe.baseline, "better": [safe.is_better, safe.confidence],
            "worth": [safe.gain, safe.behaviour, safe.least_improvement],
        }  # fmt: skip
    return found


def answered():
    """Classes of pairs, what refutes them, and which decisions are open."""
    log, found = walk(), {}
    label = np.arange(log.pairs.n_pairs) % 3
    groups = Grouping(label, 3)
    found["differences"] = differences(log.seen, groups)
    found["between"] = [difference_between(log.seen, 0, k) for k in range(1, 12, 2)]
    found["sure"] = most_sure(np.array([0.0, 0.5, 1.0, 3.0, 10.0]))
    for method, options in (("posterior", {"draws": 4}), ("tests", {"rewards": True}), ("tests", {"delta": 0.5})):
        classes = log.classes(method=method, seed=2, **options)
        found[f"{method} {options}"] = {
            "label": classes.partition.label, "apart": classes.apart, "see": classes.could_see, "sure": classes.sure,
            "alike": answers([lambda k=k, c=classes: c.alike(0, k) for k in (1, 3, 6)]),
            "table": {name: list(map(str, column)) for name, column in classes.table().columns.items()},
            "classes": {name: list(map(str, column)) for name, column in classes.class_table().columns.items()},
        }  # fmt: skip
    ahead = lambda s, a: [f"s{(int(s[1]) + i) % 5}" for i in range(3)]  # noqa: E731
    for k, options in enumerate(({}, {"order": ahead}, {"order": ahead, "rewards": False, "delta": 0.5})):
        said = log.check(lambda s, a: a, **options)
        found[f"check {k}"] = {
            "holds": [said.holds],
            "table": {n: list(map(str, c)) for n, c in said.table().columns.items()},
        }
    found["noise"] = noise_of(log.seen)
    worths = np.array([0.0, 3.0, 1.0, 0.5]), np.array([0.1, 0.1, 0.1, 0.0])
    found["open"] = answers([lambda w=w, x=x: open_decisions(w, x) for w in worths for x in (0.0, 0.6, 2.0, 9.0)])
    path = np.array([0, 4, 6, 9, 1, 3, 3, 0, 7, 13])
    state = np.repeat(np.arange(5), 3)
    known, undecided = np.arange(5) * 3, np.array([1, 3, 4])
    found["by decision"] = answer(lambda: steps_by_decision(path, state, known, undecided))
    table = log.next_steps(20, draws=3, seed=1, policy={f"s{s}": "a0" for s in range(5)})
    found["next"] = {
        name: list(map(str, table.columns[name])) for name in ("state", "action", "rival", "visits", "rival_visits")
    }
    return found


CASES = {"judged": judged, "answered": answered, "forms": forms, "refused": refused, "texts": texts, "fields": fields}


@pytest.mark.parametrize("case", CASES)
def test_logs_are_read_as_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
