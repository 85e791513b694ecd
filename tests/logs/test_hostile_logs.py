"""Logs as they come from other hands: each mistake is named by file, row and column; nothing is taken in silence."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.lab.cli import app
from equirl.logs import csv_columns, log_files

HEADER = "state,action,reward,next_state"
LINES = [HEADER, "a,go,1,b", "b,go,0,a", "a,stay,0.5,a"]
TEXT = "\n".join(LINES) + "\n"


def written(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def complaint(table, **options):
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        eq.from_log(table, **options)
    return str(caught.value)


def same(one, other):
    return one.pairs == other.pairs and all(map(np.array_equal, one.seen, other.seen))


def by_column(*lines):
    rows = [line.split(",") for line in lines]
    columns = dict(zip(HEADER.split(","), map(list, zip(*rows, strict=True)), strict=True))
    return columns | {"reward": [float(value or "nan") for value in columns["reward"]]}


# --- line ends and quotes


@pytest.mark.parametrize("block", [1, 7, 1 << 24])
@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", "\r\r\n"])
def test_every_kind_of_line_end_is_read(tmp_path, monkeypatch, end, block):
    expected = eq.from_log(written(tmp_path, TEXT, "unix.csv"))
    monkeypatch.setattr(csv_columns, "BLOCK", block)
    for text in (end.join(LINES), end.join(LINES) + end, end.join([*LINES[:3], '"a","stay",0.5,"a"', ""])):
        assert same(eq.from_log(written(tmp_path, text)), expected), text


def test_a_file_with_quotes_reads_the_same_in_batches(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [f'"s {rng.integers(5)}",go,{rng.random()},"s {rng.integers(5)}"' for _ in range(50)]
    path = written(tmp_path, "\n".join([HEADER, *lines]))
    whole = eq.from_log(path)
    monkeypatch.setattr(csv_columns, "BATCH", 7)
    monkeypatch.setattr(csv_columns, "BLOCK", 100)
    assert same(eq.from_log(path), whole)
    assert whole.n_rows == 50


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (['a,go,1,"b', "b,go,0,a"], "row 1 cannot be read (unexpected end of data); is a quote not closed?"),
        (["a,go,1,b", '"a"x,go,1,b'], "row 2 cannot be read"),
        (["a,go,1,b", 'a,go,1,"' + "x" * 200_000 + '"'], "row 2 cannot be read (field larger than field limit"),
    ],
    ids=["open", "after a quote", "long"],
)
def test_quotes_that_make_no_sense_are_named_by_their_row(tmp_path, lines, reason):
    path = written(tmp_path, "\n".join([HEADER, *lines]))
    assert complaint(path).startswith(f"{path}: {reason}")


def test_a_line_without_end_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_columns, "LONGEST_LINE", 1000)
    monkeypatch.setattr(csv_columns, "BLOCK", 100)
    assert "the first line is longer than 1,000 bytes" in complaint(written(tmp_path, "x" * 5000))
    for end in "\n\r":
        assert "a line is longer than 1,000 bytes" in complaint(written(tmp_path, HEADER + end + "x" * 5000))
    quoted = complaint(written(tmp_path, TEXT + '"a",' + "x" * 5000))
    assert "a line is longer than 1,000" in quoted


# --- what is no CSV file at all


@pytest.mark.parametrize("content", ["", "\n", "\ufeff", " \r\n \n"], ids=["none", "newline", "mark", "blanks"])
def test_an_empty_file_is_named_and_told_what_a_log_is(tmp_path, content):
    path = written(tmp_path, content, "empty.csv")
    assert complaint(path) == f"{path} is empty; a log begins with a line of names: state,action,reward,next_state"


@pytest.mark.parametrize("end", ["", "\n", "\r", "\n\n\n"])
def test_a_file_with_names_alone_is_named(tmp_path, end):
    path = written(tmp_path, HEADER + end, "empty.csv")
    assert complaint(path) == f"{path} has no rows; it should hold one for each step"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TEXT.encode("utf-16"), "is text in UTF-16 or UTF-32, not CSV; save it as UTF-8"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "is text in UTF-16, not CSV"),
        (TEXT.encode("utf-32"), "is text in UTF-16 or UTF-32"),
        (TEXT.encode("utf-16-le"), "holds a zero byte (byte 2), which no CSV file in UTF-8 does"),
        (TEXT.encode() + bytes(100), f"holds a zero byte (byte {len(TEXT) + 1})"),
        (b"\x1f\x8b\x08\x00", "is compressed by gzip, not CSV; unpack it first"),
        (b"PK\x03\x04\x14\x00", "is a zip archive or a spreadsheet, not CSV"),
        (b"PAR1\x15\x04", "is a Parquet file, not CSV; its name should end in .parquet"),
        (TEXT.replace("a,go", "\xe9,go").encode("latin-1"), "is not text in UTF-8"),
        (TEXT.replace("a,go", '"\xe9",go').encode("latin-1"), "is not text in UTF-8"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, content, reason):
    path = written(tmp_path, content)
    assert complaint(path).startswith(f"{path} {reason}")


def test_a_zero_byte_far_down_is_found_too(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_columns, "BLOCK", 50)
    monkeypatch.setattr(csv_columns, "LONGEST_LINE", 60)
    for text in (TEXT + "b,go,0,a\0\n", TEXT.replace("b,go", '"b",go') + "b,go,0,a\0\n"):
        assert "holds a zero byte" in complaint(written(tmp_path, text))


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    assert same(eq.from_log(written(tmp_path, "\ufeff" + TEXT)), eq.from_log(written(tmp_path, TEXT, "plain.csv")))


def test_what_never_ends_is_refused_without_waiting_and_without_memory(tmp_path):
    """In a process of its own with little memory: without the refusal it would read for ever."""
    code = """
        import os, pathlib, resource, sys
        import equirl as eq
        folder = pathlib.Path(sys.argv[1])
        for ending in ("csv", "tsv", "parquet"):
            for name in ("zero", "urandom"):
                (folder / f"{name}.{ending}").symlink_to(f"/dev/{name}")
            os.mkfifo(folder / f"pipe.{ending}")
            with open(folder / f"sparse.{ending}", "wb") as file:
                file.write(b'state,action,reward,next_state\\na,go,1,"b')
                file.truncate(2**36)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
        for path in sorted(folder.iterdir()):
            try:
                eq.from_log(path)
            except (OSError, ValueError) as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = dict(zip(sorted(path.name for path in tmp_path.iterdir()), done.stdout.splitlines(), strict=True))
    for name, line in told.items():
        kind = {"zero": "a device", "urandom": "a device", "pipe": "a pipe"}.get(name.split(".")[0])
        assert name in line
        assert (f"it is {kind}, not a file" if kind else ("Parquet" if "parquet" in name else "zero byte")) in line


# --- columns


@pytest.mark.parametrize("place", [0, 2, 4])
def test_two_columns_of_one_name_are_named_by_their_places(tmp_path, place):
    rows = [line.split(",") for line in LINES]
    for row, cell in zip(rows, ["state", "x", "y", "z"], strict=True):
        row.insert(place, cell)
    path = written(tmp_path, "\n".join(map(",".join, rows)))
    listed = {0: "1 and 2", 2: "1 and 3", 4: "1 and 5"}[place]
    assert complaint(path) == f"{path}: the columns {listed} have one name, 'state'; rename all but one of them"


def test_a_column_that_nobody_asks_for_may_be_there_twice(tmp_path):
    text = "\n".join(f"{line},x,x" for line in LINES)
    assert same(eq.from_log(written(tmp_path, text)), eq.from_log(written(tmp_path, TEXT, "plain.csv")))


def test_two_columns_of_one_name_are_refused_in_tables_too(tmp_path):
    pandas, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    names = [*HEADER.split(","), "action"]
    values = [["a", "b"], ["go", "go"], [0.0, 1.0], ["b", "a"], ["x", "y"]]
    table = pa.table(values, names=names)
    pq.write_table(table, tmp_path / "log.parquet")
    frame = pandas.DataFrame(list(zip(*values, strict=True)), columns=names)
    for where, log in {"the log": table, tmp_path / "log.parquet": tmp_path / "log.parquet"}.items():
        assert complaint(log).startswith(f"{where}: the columns 2 and 5 have one name, 'action'")
    assert complaint(frame).startswith("the log: the columns 2 and 5 have one name, 'action'")


def test_a_column_misspelt_is_answered_with_the_nearest_and_the_option(tmp_path):
    path = written(tmp_path, TEXT.replace("action", "acton"))
    assert complaint(path) == (
        f"{path} has no column 'action'; did you mean its column 'acton'? Then columns={{'action': 'acton'}} "
        "(--column action=acton) says so. Its columns: state, acton, reward, next_state"
    )
    assert same(eq.from_log(path, columns={"action": "acton"}), eq.from_log(written(tmp_path, TEXT, "plain.csv")))


@pytest.mark.parametrize(
    ("header", "role", "asked"),
    [
        ("nextstate,action,reward,stat", "state", "state=stat"),  # the first is nearer, and nearest to next_state
        ("state,action,reward,STATE,Next_State", "next_state", "next_state=Next_State"),
        ("the state,action,reward,next_state", "state", "'state=the state'"),
        ("state$,action,reward,next_state", "state", "'state=state$'"),
    ],
)
def test_the_hint_names_the_nearest_column_as_a_shell_takes_it(tmp_path, header, role, asked):
    said = complaint(written(tmp_path, TEXT.replace(HEADER, header)))
    assert f"has no column {role!r}; did you mean" in said
    assert f"(--column {asked}) says so" in said


def test_a_column_that_has_a_role_already_is_not_the_nearest(tmp_path):
    path = written(tmp_path, TEXT.replace("next_state", "after"))
    assert "'state'?" not in complaint(path)
    assert "columns={'next_state': ...} (--column next_state=NAME)" in complaint(path)


def test_one_column_may_be_both_state_and_successor(tmp_path):
    path, again = written(tmp_path, TEXT), by_column(*LINES[1:])
    expected = eq.from_log({**again, "next_state": again["state"]})
    assert same(eq.from_log(path, columns={"next_state": "state"}), expected)


# --- cells


CELLS = {
    "reward": ("a,go,,b", "the reward in row 3 is nan; every row needs a finite one"),
    "nan": ("a,go,nan,b", "the reward in row 3 is nan; every row needs a finite one"),
    "inf": ("a,go,-inf,b", "the reward in row 3 is -inf; every row needs a finite one"),
    "large": ("a,go,1e308,b", "the reward in row 3 is 1e+308; sums overflow beyond 1e+300"),
    "small": ("a,go,-1e308,b", "the reward in row 3 is -1e+308; sums overflow beyond 1e+300"),
    "state": (",go,0,b", "the state in row 3 is missing"),
    "next_state": ("a,go,0,", "the next_state in row 3 is missing"),
    "action": ("a,,0,b", "the action in row 3 is missing"),
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_wrong_cell_is_named_by_file_row_and_column(tmp_path, cell):
    line, message = CELLS[cell]
    lines = [*LINES[:3], line, LINES[3]]
    path = written(tmp_path, "\n".join(lines))
    assert complaint(path).startswith(f"{path}: {message}")
    assert complaint(by_column(*lines[1:])).startswith(message)


def test_a_cell_of_a_renamed_column_is_named_by_both(tmp_path):
    path = written(tmp_path, TEXT.replace("reward", "r").replace("0.5", "nan"))
    assert complaint(path, columns={"reward": "r"}).startswith(f"{path}: the reward (column 'r') in row 3 is nan")


@pytest.mark.parametrize(("value", "what"), [(None, "nan"), ("much", "'much', not a number"), (1j, "1j, not a number")])
def test_a_reward_that_is_no_number_is_named_by_its_row(value, what):
    rows = [("a", "go", 1.0, "b"), ("b", "go", value, "a")]
    assert complaint(rows).startswith(f"the reward in row 2 is {what}")


def test_rows_are_counted_as_they_stand_and_not_by_time(tmp_path):
    lines = [f"{line},{time}" for line, time in zip(LINES, ["time", 3, 2, 1], strict=True)]
    path = written(tmp_path, "\n".join(lines))
    assert complaint(path, reward_range=(0.1, 1)).startswith(f"{path}: the reward in row 2 is 0, outside")
    sets = {"a": ["go"], "b": ["go", "stay"]}
    assert complaint(path, actions=sets).startswith(f"{path}: row 3 plays 'stay' in state 'a'")


def test_flags_weights_and_times_are_named_by_their_rows(tmp_path):
    for name, cells, message in [
        ("terminated", "0,maybe,1", "the column terminated holds 'maybe' in row 2"),
        ("weight", "1,2,0.5", "the weight in row 3 is 0.5; a weight says how often"),
        ("time", "1,,2", "the time in row 2 is missing"),
        ("time", "noon,,night", "the time in row 2 is missing"),
        ("weight", "1,9e15,9e15", "the weights add up to 1.8e+16; fewer than 2^53 steps are counted"),
    ]:
        lines = [f"{line},{cell}" for line, cell in zip(LINES, [name, *cells.split(",")], strict=True)]
        path = written(tmp_path, "\n".join(lines))
        assert complaint(path).startswith(f"{path}: {message}")


def test_rewards_just_within_the_limit_are_counted():
    log = eq.from_log([("a", "go", -1e300, "b"), ("b", "go", 1e300, "a")])
    assert log.reward_map == (2e300, -1e300)
    assert np.isfinite(eq.learn(log, draws=2).gain)


# --- one number in two spellings


@pytest.mark.parametrize("other", ["1.0", "01", "+1", "1e0", "1.", "10e-1"])
def test_one_number_written_in_two_ways_is_refused_with_both(tmp_path, other):
    path = written(tmp_path, f"{HEADER}\n1,go,0,2\n2,go,1,{other}\n")
    assert complaint(path).startswith(
        f"{path}: the state in row 1 is '1' and the next_state in row 2 is '{other}': one number written in two ways, "
        "which would be two states. Write it in one way"
    )
    actions = written(tmp_path, f"{HEADER}\na,1,0,a\na,2,1,a\na,{other},1,a\n", "actions.csv")
    told = f"{actions}: the action in row 1 is '1' and the action in row 3 is '{other}': one number"
    assert complaint(actions).startswith(told)


def test_a_number_and_its_text_are_refused_in_memory_too():
    assert complaint([(1, "go", 0.0, "2"), (2, "go", 0.0, 1)]).startswith(
        "the state in row 2 is 2 and the next_state in row 1 is '2': one number written in two ways"
    )
    assert "is '1.0'" in complaint({**by_column("1,go,0,2", "2,go,1,1.0")})


def test_numbers_that_are_equal_are_one_state_in_memory():
    assert eq.from_log([(1, "go", 0.0, 2.0), (2, "go", 0.0, 1)]).pairs.state_names == (1, 2)


@pytest.mark.parametrize(
    "names",
    [("1", "2.5"), ("12345678901234567890", "12345678901234567891.0"), ("1e99999999999999999999", "2"), ("v1", "v1.0")],
)
def test_numbers_that_differ_and_names_that_are_none_stay(tmp_path, names):
    path = written(tmp_path, f"{HEADER}\n{names[0]},go,0,{names[1]}\n{names[1]},go,1,{names[0]}\n")
    assert eq.from_log(path).pairs.n_states == 2


def test_the_gaps_of_pandas_are_gaps():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(by_column("1,go,0,2", "2,go,1,1"))
    frame = frame.assign(state=[1, 2], terminated=[False, True], next_state=np.array([2, pandas.NA], object))
    assert eq.from_log(frame, restart=1).pairs.state_names == (1, 2)
    assert complaint(frame.drop(columns="terminated")) == "the next_state in row 2 is missing"


def test_a_column_that_can_hardly_be_that_of_actions_is_asked_about(tmp_path):
    n = 40_000
    columns = {"state": np.arange(n), "what": np.arange(n) / 7, "reward": np.zeros(n), "next_state": np.arange(n)}
    told = complaint(columns, columns={"action": "what"})
    assert told.startswith("the log has 40,000 states and 40,000 actions, too many to combine; is 'what' the column of")


# --- Parquet


@pytest.fixture
def parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    def made(columns, **options):
        pq.write_table(pa.table(columns), tmp_path / "log.parquet", **options)
        return tmp_path / "log.parquet"

    return made


def alike(n, state="a"):
    import pyarrow as pa

    texts = pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), [state])
    return {"state": texts, "action": np.zeros(n, int), "reward": np.zeros(n), "next_state": texts}


def not_read(monkeypatch):
    import pyarrow.parquet as pq

    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("it was read"))


def test_a_small_file_of_very_many_rows_is_refused_before_it_is_read(parquet, monkeypatch):
    path = parquet(alike(10**6))
    monkeypatch.setattr(log_files, "MOST_ROWS", 10**5)
    not_read(monkeypatch)
    size = path.stat().st_size
    assert size < 10**5
    told = complaint(path)
    assert told.startswith(f"{path} has {size:,} bytes and 1,000,000 rows; at most 100,000 are read of a file of this")
    assert "as the column weight" in told
    assert "from_log(pyarrow.parquet.read_table(...))" in told


def test_a_file_with_bytes_for_its_rows_is_read_however_many_they_are(parquet, monkeypatch):
    monkeypatch.setattr(log_files, "MOST_ROWS", 100)
    rng = np.random.default_rng(0)
    path = parquet({**alike(1000), "reward": rng.random(1000)})
    assert eq.from_log(path).n_rows == 1000


def test_a_small_file_that_unpacks_to_very_much_is_refused_before_it_is_read(parquet, monkeypatch):
    path = parquet({**alike(10**6), "state": np.zeros(10**6, int)}, use_dictionary=False, compression="zstd")
    monkeypatch.setattr(log_files, "ALWAYS_READ", 10**6)
    not_read(monkeypatch)
    assert "bytes and would unpack to" in complaint(path)


class Said:
    """What a Parquet file says of its sizes: groups of columns, each with its values and bytes unpacked."""

    def __init__(self, n_rows, *groups):
        self.num_rows, self.groups, self.num_row_groups = n_rows, groups, len(groups)

    def row_group(self, number):
        names = ("path_in_schema", "num_values", "total_uncompressed_size")
        chunks = [SimpleNamespace(**dict(zip(names, chunk, strict=True))) for chunk in self.groups[number]]
        return SimpleNamespace(num_columns=len(chunks), column=chunks.__getitem__)


def refused(said, size):
    try:
        log_files._check_size("log.parquet", said, ["s", "a"], size)
    except ValueError as error:
        return str(error)
    return ""


def test_rows_are_as_many_as_the_longest_wanted_column_says_and_a_larger_file_may_have_more(monkeypatch):
    monkeypatch.setattr(log_files, "MOST_ROWS", 100)
    assert not refused(Said(100, [("s", 100, 1)]), 8)
    assert "8 bytes and 101 rows; at most 100 are read" in refused(Said(101, [("s", 1, 1)]), 8)
    assert "and 150 rows; at most 100" in refused(Said(7, [("s", 9, 1)], [("a", 150, 1)]), 8)
    assert "and 150 rows; at most 100" in refused(Said(7, [("s.list.element", 150, 1)]), 8)
    assert not refused(Said(7, [("other", 150, 1), ("sa", 150, 1)]), 8)
    assert not refused(Said(150), 4 * 150)
    assert "and 150 rows; at most 149 are read" in refused(Said(150), 4 * 150 - 1)


def test_bytes_unpacked_of_wanted_columns_add_up_and_a_larger_file_may_have_more(monkeypatch):
    monkeypatch.setattr(log_files, "ALWAYS_READ", 1000)
    monkeypatch.setattr(log_files, "MOST_EXPANSION", 50)
    assert not refused(Said(1, [("s", 1, 600), ("a", 1, 400), ("other", 1, 10**6)]), 1)
    assert "1 bytes and would unpack to 1,001; at most 1,000 are read" in refused(Said(1, [("s", 1, 1001)]), 1)
    assert "to 1,001;" in refused(Said(1, [("s", 1, 600), ("a", 1, 1)], [("s", 1, 400)]), 1)
    assert not refused(Said(1, [("s", 1, 5000)]), 100)
    assert "100 bytes and would unpack to 5,001; at most 5,000 are read" in refused(Said(1, [("s", 1, 5001)]), 100)


def test_a_long_name_that_many_rows_repeat_is_held_once(parquet):
    path = parquet(alike(20_000, "x" * 50_000), store_schema=False)
    # in a process of its own: arrow counts the most that was ever held, and its threads free late
    code = (
        "import sys, pyarrow, equirl as eq\n"
        "assert eq.from_log(sys.argv[1]).pairs.n_pairs == 1\n"
        "print(pyarrow.default_memory_pool().max_memory())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 10**8  # all rows would be 2 * 10^9 bytes


def test_texts_of_parquet_are_those_of_csv_with_gaps_and_several_groups(parquet, tmp_path):
    rows = [("a", "go", 0.0, "b", "0"), ("b", "go", 1.0, None, "1"), ("c", "stay", 0.5, "a", "0")] * 5
    columns = dict(zip((*HEADER.split(","), "terminated"), map(list, zip(*rows, strict=True)), strict=True))
    log = eq.from_log(parquet(columns, row_group_size=4))
    assert same(log, eq.from_log(columns))
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    assert same(log, eq.from_log(written(tmp_path, "\n".join([f"{HEADER},terminated", *lines]))))


def test_an_action_that_no_row_holds_is_none(parquet):
    import pyarrow as pa

    texts = pa.DictionaryArray.from_arrays(np.zeros(2, np.uint8), ["go", "never"])
    rows = {"state": ["a", "b"], "action": texts, "reward": [0.0, 1.0], "next_state": ["b", "a"]}
    assert eq.from_log(pa.table(rows), actions="all").pairs.action_names == ("go",)
    assert eq.from_log(parquet(rows), actions="all").pairs.action_names == ("go",)


def test_wrong_cells_of_parquet_are_named_with_the_file(parquet):
    path = parquet({"state": ["a", "b"], "action": [0, 1], "reward": [0.0, np.nan], "next_state": ["b", None]})
    assert complaint(path).startswith(f"{path}: the reward in row 2 is nan")
    path = parquet({"state": ["a", "b"], "action": [0, 1], "reward": [0.0, 1.0], "next_state": ["b", None]})
    assert complaint(path) == f"{path}: the next_state in row 2 is missing"


def test_an_empty_or_cut_parquet_file_is_named(parquet, tmp_path):
    path = parquet(alike(10))
    content = path.read_bytes()
    for broken in (b"", content[:100], content[:-1], b"PAR1" + bytes(50) + b"PAR1"):
        path.write_bytes(broken)
        assert f"{path} cannot be read as Parquet" in complaint(path)
    none = {name: values[:0] for name, values in alike(1).items()}
    assert complaint(parquet(none)).endswith("log.parquet has no rows; it should hold one for each step")


# --- the same through commands


@pytest.mark.parametrize("command", ["learn", "classes"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty; a log begins with"),
        (TEXT.replace("action", "acton"), "did you mean its column 'acton'?"),
        (TEXT.replace("action", "what"), "has no column 'action'"),
        (TEXT.replace(",reward", ",state,reward").replace(",go", ",x,go").replace(",stay", ",x,stay"), "1 and 3"),
        (TEXT.replace("0.5", "1e308"), "the reward in row 3 is 1e+308"),
        (TEXT.replace("0.5", "nan"), "the reward in row 3 is nan"),
        (f"{HEADER}\n1,go,0,1.0\n", "is '1' and the next_state in row 1 is '1.0'"),
        (TEXT.encode("utf-16"), "UTF-16"),
    ],
)
def test_commands_say_it_in_one_line_that_names_the_file(tmp_path, command, text, reason):
    path = written(tmp_path, text)
    done = CliRunner().invoke(app, [command, str(path)])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"equirl: {path}")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["learn", "classes"])
def test_commands_refuse_a_pipe_without_waiting(tmp_path, command):
    os.mkfifo(tmp_path / "log.csv")
    done = CliRunner().invoke(app, [command, str(tmp_path / "log.csv")])
    assert (done.exit_code, "it is a pipe, not a file" in done.stderr) == (2, True)
