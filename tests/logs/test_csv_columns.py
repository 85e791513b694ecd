"""CSV files, read by compiled loops, hold what Python's own reader finds in them."""

from __future__ import annotations

import csv
import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.logs import csv_columns
from equirl.logs.csv_columns import (
    POWERS,
    CsvHeader,
    find_fields,
    first_row,
    number_fields,
    read_csv,
    read_header,
    read_numbers,
)

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters='",\n\r\x00;|\t', exclude_categories=("Cs",)), min_size=1
)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["0.1", "-0", "1e5", "+2.5", "1E-7", ".5", "3.", "1e400", "123456789012345678", "1e23", "5e-324"]),
)


def read(path, texts=("state",), numbers=("reward",)):
    header = read_header(path)
    return read_csv(path, header, list(texts), list(numbers))


def write(path, rows, delimiter=",", end="\n"):
    lines = [delimiter.join(row) for row in [("state", "other", "reward"), *rows]]
    path.write_bytes((end.join(lines) + end).encode())


@given(st.lists(st.tuples(NAMES, NAMES, NUMBERS), min_size=1, max_size=30))
def test_texts_and_numbers_are_those_of_pythons_reader(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "log.csv"
    write(path, rows)
    with open(path, newline="", encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    texts, numbers = read(path)
    found = [texts["state"].names[k] for k in texts["state"].code]
    assert found == [row["state"].strip(" \t\r") for row in expected]
    np.testing.assert_array_equal(numbers["reward"], [float(row["reward"]) for row in expected])


@pytest.mark.parametrize("block", [1, 7, 100])
def test_a_file_in_many_blocks_reads_as_one(tmp_path, monkeypatch, block):
    rng = random.Random(0)
    rows = [(f"s{rng.randrange(9)}", "x", f"{rng.random():.3f}") for _ in range(50)]
    write(tmp_path / "log.csv", rows)
    whole, numbers = read(tmp_path / "log.csv")
    monkeypatch.setattr(csv_columns, "BLOCK", block)
    parts, again = read(tmp_path / "log.csv")
    np.testing.assert_array_equal(whole["state"].code, parts["state"].code)
    assert whole["state"].names == parts["state"].names
    np.testing.assert_array_equal(numbers["reward"], again["reward"])


def test_more_names_than_the_first_table_holds_are_all_told_apart(tmp_path):
    write(tmp_path / "log.csv", [(f"state-{k % 9000}", "", "1") for k in range(20_000)])
    texts, _ = read(tmp_path / "log.csv")
    assert texts["state"].names == [f"state-{k}" for k in range(9000)]
    np.testing.assert_array_equal(texts["state"].code, np.arange(20_000) % 9000)


@pytest.mark.parametrize(("delimiter", "end"), [(",", "\r\n"), (";", "\n"), ("\t", "\n")])
def test_other_separators_and_line_ends_are_understood(tmp_path, delimiter, end):
    write(tmp_path / "log.csv", [("a", "b c", "1.5"), ("b", "", "-2")], delimiter, end)
    texts, numbers = read(tmp_path / "log.csv")
    assert texts["state"].names == ["a", "b"]
    assert numbers["reward"].tolist() == [1.5, -2.0]


def test_quotes_a_byte_order_mark_and_empty_lines_are_understood(tmp_path):
    (tmp_path / "log.csv").write_bytes('\ufeffstate,reward\n"a, ""b""\n",1\n\n c ,2\n'.encode())
    texts, numbers = read(tmp_path / "log.csv")
    assert [texts["state"].names[k] for k in texts["state"].code] == ['a, "b"', "c"]
    assert numbers["reward"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("state,reward\na,1\nb\n", r"row 2 has not the 2 fields"),
        ('state,reward\n"a",1\nb\n', r"row 2 has not the 2 fields"),
        ("state,reward\na,1\nb,2,3\n", r"row 2 has not the 2 fields"),
        ("state,reward\na,1\nb,much\n", r"column 'reward' holds 'much' in row 2, not a number"),
        ("state,reward\na,1_000\n", r"holds '1_000' in row 1"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(tmp_path, text, message):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "log.csv")


def test_bytes_that_are_no_text_are_named(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"state,reward\n\xff\xfe,1\n")
    with pytest.raises(ValueError, match=r"log\.csv is not text in UTF-8"):
        read(tmp_path / "log.csv")


def read_plainly(texts, plain):
    """How many of the texts the loop reads before it meets one that is spelled otherwise, and their numbers."""
    joined, size = "".join(texts).encode(), np.array([len(text) for text in texts])
    out, start = np.full(len(texts), np.nan), np.cumsum(size) - size
    run = read_numbers.py_func if plain else read_numbers
    return run(np.frombuffer(joined, np.uint8), start, size, POWERS, 0, out), out


PLAIN = ["0", "7", "-7", "+7", "12.5", "-.5", "3.", "1e5", "1E5", "1e+5", "1e-5", "-2.5e-3", "1e22", "1e-22", "9" * 15]
PLAIN += ["123456789012.345", "0.000123", "1.5e22", "00012", "1e0022"]
OTHERWISE = ["", "-", "+", ".", "x", "1x", "1.2.3", "1e", "1e+", "1e-", "1e5x", "--1", "1-", "1e23", "1e-23", "9" * 16]
OTHERWISE += ["nan", "inf", "1 ", "1_0", "e5", "1e5.0", "0.1e-22", "1e99999", "10e-23"]


@pytest.mark.parametrize("plain", [False, True])
def test_numbers_spelled_plainly_are_read_in_the_loop(plain):
    n, found = read_plainly(PLAIN, plain)
    assert n == len(PLAIN)
    assert found.tolist() == [float(text) for text in PLAIN]
    assert np.signbit(read_plainly(["-0"], plain)[1][0])


@pytest.mark.parametrize("text", OTHERWISE)
def test_numbers_spelled_otherwise_are_left_to_python_row_by_row(text):
    for plain in (False, True):
        n, found = read_plainly(["1", "-2.5", text, "3"], plain)
        assert n == 2
        assert found[:2].tolist() == [1.0, -2.5]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_fields_are_those_between_delimiters_without_blanks_around_them(seed, plain):
    rng = random.Random(seed)
    text = "".join(rng.choices("ab \t\r\n,", [5, 5, 1, 1, 1, 3, 6], k=40))
    slot, expected, bad = np.array([1, -1, 0]), [], -1
    for line in text.split("\n"):
        fields = [field.lstrip(" \t").rstrip(" \t\r") for field in line.split(",")]
        if fields == [""]:
            continue
        if len(fields) != 3:
            bad = len(expected)
            break
        expected.append([fields[2], fields[0]])
    data, shape = np.frombuffer(text.encode(), np.uint8), (text.count("\n") + 1, 2)
    start, size = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    run = find_fields.py_func if plain else find_fields
    assert run(data, ord(","), slot, start, size) == (len(expected), bad)
    found = [[text[a : a + n] for a, n in zip(*row, strict=True)] for row in zip(start, size, strict=True)]
    assert found[: len(expected)] == expected


@pytest.mark.parametrize("plain", [False, True])
def test_texts_are_numbered_as_they_appear_until_half_of_the_table_is_full(plain):
    texts = ["b", "a", "b", "ab", "", "ba", "a", "", "abc"]
    data, size = np.frombuffer("".join(texts).encode(), np.uint8), np.array([len(text) for text in texts])
    run, start = (number_fields.py_func if plain else number_fields), np.cumsum(size) - size
    data = data.astype(np.int64) if plain else data

    def numbered(length, room):
        code, first = np.full(len(texts), -9), np.full(room, -9)
        with np.errstate(over="ignore"):  # of the hash
            return int(run(data, start, size, np.full(length, -1), first, code)), first.tolist(), code.tolist()

    assert numbered(16, 6) == (6, [0, 1, 3, 4, 5, 8], [0, 1, 0, 2, 3, 4, 1, 3, 5])
    assert numbered(16, 5)[0] == -1
    assert numbered(8, 8)[0] == -1
    texts.pop()
    size, start = size[:-1], start[:-1]
    assert numbered(8, 8)[0] == -1  # five are more than half of it
    texts[5], data = "b", data.copy()
    data[start[5]], size[5] = ord("b"), 1
    assert numbered(8, 8)[0] == 4


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        (b"a,b\r1,2\r", b"\r"), (b"a,b\r\n1,2\r\n", b"\n"), (b"a,b\n1,2\r", b"\n"), (b"a,b", b"\n"),
        (b"a,b\r", b"\r"), (b"\ra,b\n", b"\r"),
    ],
)  # fmt: skip
def test_the_first_line_tells_how_lines_end(tmp_path, content, mark):
    (tmp_path / "log.csv").write_bytes(content)
    assert read_header(tmp_path / "log.csv").mark == mark


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("block", [1, 5, 1000])
def test_lines_are_read_whole_up_to_the_longest(tmp_path, monkeypatch, end, block):
    monkeypatch.setattr(csv_columns, "LONGEST_LINE", 24)
    monkeypatch.setattr(csv_columns, "BLOCK", block)
    path = tmp_path / "log.csv"
    write(path, [("a" * 15, "", "12345"), ("b", "", "2"), ("", "", "3")], end=end)
    texts, numbers = read(path)
    assert texts["state"].names == ["a" * 15, "b", ""]
    assert numbers["reward"].tolist() == [12345.0, 2.0, 3.0]
    write(path, [("a" * 15, "", "12345"), ("b" * 60, "", "2")], end=end)
    if block == 1000:
        assert read(path)[0]["state"].names == ["a" * 15, "b" * 60]  # in one block it is no matter
    else:
        with pytest.raises(ValueError, match=r"a line is longer than 24 bytes, near byte \d+"):
            read(path)
    path.write_text('state,other,reward\n"' + "b" * 60 + '",,2\n')
    with pytest.raises(ValueError, match=r"a line is longer than 24"):
        read(path)
    path.write_text("state," + "x" * 17)
    assert read_header(path).names == ["state", "x" * 17]
    path.write_text("state," + "x" * 18)
    with pytest.raises(ValueError, match=r"the first line is longer than 24 bytes"):
        read_header(path)


def test_the_first_row_with_anything_in_it_is_shown(tmp_path):
    path = tmp_path / "log.csv"
    for below, expected in (("\n  \n1, 2\n3,4\n", ["1", " 2"]), ("\n\n", []), ("", []), (",\n", ["", ""])):
        path.write_text("a,b\n" + below)
        assert first_row(path, CsvHeader(["a", "b"], ",", 4)) == expected


def test_rows_of_batches_and_blocks_are_numbered_through(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_columns, "BATCH", 2)
    monkeypatch.setattr(csv_columns, "BLOCK", 8)
    path = tmp_path / "log.csv"
    path.write_text("state,reward\na,1\nb,2\nc,3\n" + '"d",4\ne,5\nf,6\n')
    texts, numbers = read(path)
    assert [texts["state"].names[k] for k in texts["state"].code] == list("abcdef")
    assert numbers["reward"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    for text, row in (("much", 6), ("5,6", 6)):
        path.write_text("state,reward\na,1\nb,2\nc,3\n" + f'"d",4\ne,5\nf,{text}\n')
        with pytest.raises(ValueError, match=rf"row {row}"):
            read(path)
