"""What notebooks show of the main objects: small, in names and units, and with every text escaped."""

from __future__ import annotations

import re

import pytest

import equirl as eq
from equirl.words.tables import Table, card

BAD = "<b>&</b>"
PAIRS = [(BAD, "go", {"on": 0.25, BAD: 0.75}, -10.0), ("on", "go", {BAD: 1.0}, 30.0), ("on", BAD, {"on": 1.0}, 0.0)]
WORLD = eq.TabularMDP.from_pairs(PAIRS, rescale=True, name=BAD)
ROWS = [(BAD, "go", -10.0, "on"), ("on", "go", 30.0, BAD), ("on", BAD, 0.0, "on")] * 20
LOG = eq.from_log(ROWS)
TRACE = eq.simulate(WORLD, "c-psrl", 200)

SHOWN = {
    "mdp": lambda: (WORLD, "-10 to 30"),
    "solution": lambda: (eq.solve(WORLD), "gain"),
    "discounted solution": lambda: (eq.solve(WORLD, discount=0.9), "0.9"),
    "partition": lambda: (eq.equivalence_classes(WORLD), "Partition"),
    "trace": lambda: (TRACE, "regret"),
    "learner": lambda: (TRACE.agent, "steps learned"),
    "comparison": lambda: (eq.simulate_many(WORLD, {BAD: "random"}, 20, seeds=[0, 1]), "95 %"),
    "log": lambda: (LOG, "[-10, 30]"),
    "classes of a log": lambda: (LOG.classes(draws=3), "posterior"),
    "learned": lambda: (eq.learn(LOG, draws=3), "expected_loss"),
    "explanation": lambda: (TRACE.agent.beliefs.explain(BAD, "go"), "mean reward"),
    "check": lambda: (eq.check_structure(LOG, lambda s, a: 0), "refuted"),
    "table": lambda: (LOG.table(), "visits"),
}
NAMELESS = {"partition", "trace", "learner", "classes of a log", "check"}  # show no state or action


@pytest.mark.parametrize("what", SHOWN)
def test_every_main_object_is_shown_with_its_text_escaped(what):
    thing, words = SHOWN[what]()
    text = thing._repr_html_()
    assert words in text
    assert BAD not in text
    if what not in NAMELESS:
        assert "&lt;b&gt;&amp;" in text
    opened = re.findall(r"<([a-z]+)>", text)
    assert sorted(opened) == sorted(re.findall(r"</([a-z]+)>", text))
    assert set(opened) <= {"div", "strong", "p", "table", "thead", "tbody", "tr", "th", "td"}


def test_long_tables_are_cut_and_empty_ones_left_out():
    shown = card("x", {"a": None, "b": 1}, {"long": Table({"k": range(1000)}), "empty": Table({"k": []})})
    assert "1000 rows in all" in shown
    assert shown.count("<tr>") < 30
    assert "empty" not in shown
    assert "<th>a</th>" not in shown


def test_a_large_problem_is_shown_by_its_first_pairs():
    text = eq.make("random-walls", height=20, width=20)._repr_html_()
    assert len(text) < 10_000
    assert "The first 20 of" in text
