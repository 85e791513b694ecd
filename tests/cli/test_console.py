import pytest

from equirl.lab.cli.console import print_some, print_table
from equirl.words.tables import Table

HEAD = ["state", "visits#", "what is done there"]
ROWS = [["s1", "1,000,000", "wait for a customer-with-a-long-name"], ["second", "7", "let go"]]


def lines(capsys, monkeypatch, columns, rows=ROWS):
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(HEAD, rows)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]


def test_a_table_that_fits_exactly_is_not_wrapped(capsys, monkeypatch):
    """Widths of 6, 9 and 36, three blanks between two columns and one at each end: 59."""
    assert lines(capsys, monkeypatch, 59) == [
        " state       visits   what is done there",
        " s1       1,000,000   wait for a customer-with-a-long-name",
        " second           7   let go",
    ]
    assert len(lines(capsys, monkeypatch, 58)) == 4


def test_the_widest_column_gives_way_at_blanks(capsys, monkeypatch):
    assert lines(capsys, monkeypatch, 50) == [
        " state       visits   what is done there",
        " s1       1,000,000   wait for a",
        "                      customer-with-a-long-name",
        " second           7   let go",
    ]


@pytest.mark.parametrize("columns", [47, 30, 5])
def test_where_words_do_not_fit_the_table_sticks_out_whole(columns, capsys, monkeypatch):
    assert lines(capsys, monkeypatch, columns) == lines(capsys, monkeypatch, 48)
    words = " ".join(lines(capsys, monkeypatch, columns)).split()
    assert {"1,000,000", "customer-with-a-long-name", "second", "visits"} <= set(words)


def test_a_table_without_rows_or_words_has_its_headings(capsys, monkeypatch):
    assert lines(capsys, monkeypatch, 80, []) == [" state   visits   what is done there"]
    assert lines(capsys, monkeypatch, 80, [["", "", ""]]) == [" state   visits   what is done there"]


def test_the_headings_of_an_answer_are_words_and_give_way(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "14")
    print_some(Table({"state": ["a", "b"], "chance_better": [0.3, 0.5]}), "Open", "more elsewhere", most=1)
    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]
    assert shown == ["Open", "chance", "state   better", "a          0.3", "... and 1 more", "rows; more", "elsewhere"]
