"""The page of yardsticks: made by a command from stored tables, and as it stands in the docs."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from equirl.lab.cli import app
from equirl.lab.yardsticks.yardstick import stored_table, stored_words
from equirl.lab.yardsticks.yardstick_page import YARDSTICKS, measure_yardstick, yardsticks_page
from equirl.words.tables import Table

PAGE = Path(__file__).parents[2] / "docs" / "yardsticks.md"


def test_the_page_of_the_docs_is_what_the_command_makes(tmp_path):
    answer = CliRunner().invoke(app, ["yardsticks", "--out", str(tmp_path / "page.md")])
    assert answer.exit_code == 0
    assert (tmp_path / "page.md").read_text() == PAGE.read_text(), "equirl yardsticks --out docs/yardsticks.md"


@pytest.mark.parametrize("name", YARDSTICKS)
def test_every_yardstick_has_a_stored_table_and_a_section(name):
    assert len(stored_table(name))
    assert stored_words(name).startswith("# ")
    assert f"\n\n#{stored_words(name)}\n\n" in yardsticks_page()


def test_a_stored_table_has_numbers_texts_and_gaps(tmp_path):
    Table({"world": ["a", "b"], "x": [1.5, None], "n": [2, 3]}).to_csv(tmp_path / "some.csv")
    assert stored_table("some", tmp_path).rows() == [
        {"world": "a", "x": 1.5, "n": 2},
        {"world": "b", "x": None, "n": 3},
    ]


def test_a_wrong_name_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(ValueError, match="unknown yardstick 'coloseum'; did you mean 'colosseum'"):
        measure_yardstick("coloseum", tmp_path, tmp_path)
