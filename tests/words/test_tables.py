"""Tables hold plain values and are shown, written and handed on as they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import equirl as eq
from equirl.words.tables import Table

TABLE = Table({"state": ["a|b", (0, 1)], "value": np.array([1234.5678, np.nan]), "n": np.array([3, 4])})


def test_columns_hold_plain_values():
    assert TABLE["n"] == [3, 4]
    assert json.loads(json.dumps(TABLE["n"])) == [3, 4]
    assert [row["state"] for row in TABLE] == ["a|b", (0, 1)]
    assert len(TABLE) == 2


def test_a_table_in_markdown_keeps_its_bars_and_aligns_numbers():
    assert TABLE.to_markdown().splitlines() == [
        "| state | value | n |",
        "|---|---:|---:|",
        "| a\\|b | 1,234.57 | 3 |",
        "| (0, 1) | - | 4 |",
    ]


def test_a_table_is_text_html_csv_and_a_data_frame(tmp_path):
    assert repr(TABLE).splitlines()[0].split() == ["state", "value", "n"]
    assert "<td>(0, 1)</td>" in TABLE._repr_html_()
    assert (TABLE.to_csv(tmp_path / "t.csv")).read_text().splitlines()[0] == "state,value,n"
    pytest.importorskip("pandas")
    assert TABLE.to_pandas()["n"].tolist() == [3, 4]
    assert "<b>" not in Table({"x": ["<b>"]})._repr_html_()


def test_a_long_table_is_shown_in_part():
    long = Table({"k": np.arange(50)})
    assert "50 rows in all" in repr(long)
    assert "50 rows in all" in long._repr_html_()
    assert len(repr(long).splitlines()) == 22


def test_mistakes_are_named():
    with pytest.raises(KeyError, match="did you mean 'value'"):
        TABLE["valeu"]
    with pytest.raises(ValueError, match="equally long"):
        Table({"a": [1], "b": [1, 2]})


def test_tables_of_solutions_and_partitions_have_names_and_units():
    pump = [("ok", "run", {"ok": 0.9, "broken": 0.1}, 0.0), ("broken", "repair", {"ok": 1.0}, 500.0)]
    mdp = eq.TabularMDP.from_costs(pump, discount=0.9)
    best = eq.solve(mdp)
    assert best.gain == pytest.approx(-500 / 11)
    rows = best.table().rows()
    assert [(row["state"], row["action"]) for row in rows] == [("ok", "run"), ("broken", "repair")]
    assert rows[0]["gain"] == pytest.approx(-500 / 11)
    assert rows[0]["bias"] - rows[1]["bias"] == pytest.approx(500 - 500 / 11)
    soon = eq.solve(mdp, discount=0.9).table()
    ok, broken = soon["value"]
    assert ok == pytest.approx(0.9 * (0.9 * ok + 0.1 * broken))
    assert broken == pytest.approx(-500 + 0.9 * ok)
    classes = eq.equivalence_classes(mdp).table(mdp)
    assert classes["state"] == ["ok", "broken"]
    assert classes["size"] == [1, 1]
    assert "state" not in eq.equivalence_classes(mdp).table().columns
    with pytest.raises(ValueError, match="the partition is of 2 pairs"):
        eq.equivalence_classes(mdp).table(eq.make("riverswim"))
