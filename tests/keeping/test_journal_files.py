"""The files of a journal: headers and records byte by byte, what damage is told, and what a folder keeps."""

from __future__ import annotations

import struct
import zlib

import pytest

import equirl as eq
from equirl.files.whole_files import DamagedFile
from equirl.keeping import journal_files
from equirl.keeping.journal_files import (
    ACT,
    OBSERVE,
    ROOM,
    SIZE,
    TERMINATED,
    Damage,
    JournalFolder,
    SegmentHeader,
    is_whole,
    pack_record,
    parse_segment,
    read_header,
    read_segment,
)

ABOUT = {"agent": "random", "names": ["a", "b"]}
HEADER = SegmentHeader(7, 12345, ABOUT)


@pytest.fixture
def folder(tmp_path):
    return JournalFolder(tmp_path)


def records(n, tag=12345):
    return b"".join(pack_record(tag, k, ACT + k % 3, k, k % 2, k + 1, 0.5 * k) for k in range(n))


def segment(n, room=ROOM, extra=b""):
    body = records(n) + extra
    return HEADER.to_bytes() + body + bytes(-len(body) % room or room)


def test_a_header_is_read_as_it_was_written_and_ends_on_a_record(tmp_path):
    data = HEADER.to_bytes()
    assert len(data) % SIZE == 0
    assert data[:8] == b"equirl-J"
    assert read_header(tmp_path, data) == (HEADER, len(data))
    assert read_header(tmp_path, data + records(2)) == (HEADER, len(data))
    for size in range(31):
        longer = HEADER._replace(about={"x": "y" * size})
        assert len(longer.to_bytes()) % SIZE == 0
        assert read_header(tmp_path, longer.to_bytes())[0] == longer


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:31], "is not a journal of equirl, or its header is damaged"),
        (lambda data: b"X" + data[1:], "is not a journal of equirl"),
        (lambda data: data[:-1], "its checksum is not that of its content"),
        (lambda data: data[:40] + b"?" + data[41:], "its checksum is not that of its content"),
        (lambda data: data[:20] + b"?" + data[21:], "its checksum is not that of its content"),
    ],
)
def test_a_damaged_header_is_named(tmp_path, damage, message):
    with pytest.raises(DamagedFile, match=message):
        read_header(tmp_path / "j.log", damage(HEADER.to_bytes()))


def test_another_format_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_files, "VERSION", 2)
    data = HEADER.to_bytes()
    monkeypatch.undo()
    with pytest.raises(DamagedFile, match=r"has format 2; this equirl reads 1\. Open it with the one it is from"):
        read_header(tmp_path, data)


def test_a_record_is_thirty_two_bytes_with_the_checksum_of_its_file():
    one = pack_record(99, 3, OBSERVE, 10, 1, -5, 0.25)
    assert len(one) == SIZE == 32
    assert struct.unpack("<IB3xiiidI", one)[:-1] == (3, OBSERVE, 10, 1, -5, 0.25)
    assert struct.unpack_from("<I", one, 28)[0] == zlib.crc32(one[:28], 99)


@pytest.mark.parametrize("n", [0, 1, 5, ROOM // SIZE - 1])
def test_whole_records_are_read_up_to_the_empty_room(tmp_path, n):
    found = parse_segment(tmp_path, segment(n))
    assert (found.header, found.start, found.damage, len(found.records)) == (HEADER, len(HEADER.to_bytes()), None, n)
    assert found.records["state"].tolist() == list(range(n))
    assert found.records["next_state"].tolist() == list(range(1, n + 1))
    assert found.records["reward"].tolist() == [0.5 * k for k in range(n)]
    assert set(found.records["kind"].tolist()) <= {ACT, OBSERVE, TERMINATED}


def test_a_sealed_file_holds_as_many_records_as_it_should(tmp_path):
    data = HEADER.to_bytes() + records(4)
    assert parse_segment(tmp_path, data, 4).damage is None
    for n, dropped in ((5, 1), (7, 3), (3, 0)):
        damage = parse_segment(tmp_path, data, n).damage
        assert (damage.reason, damage.kept, damage.dropped) == (f"it should hold {n} records", 4, dropped)
    assert parse_segment(tmp_path, data).damage.reason == "the file was cut short"  # it has no empty room


@pytest.mark.parametrize("cut", [SIZE, 1, ROOM - 5 * SIZE])
def test_a_file_cut_short_is_noticed(tmp_path, cut):
    damage = parse_segment(tmp_path, segment(5)[:-cut]).damage
    assert (damage.reason, damage.kept, damage.dropped, damage.after) == ("the file was cut short", 5, 0, 0)


@pytest.mark.parametrize("byte", [0, 4, 8, 27, 28, 31])
def test_a_record_that_is_not_whole_ends_what_is_read_and_whole_ones_behind_are_counted(tmp_path, byte):
    data = bytearray(segment(6))
    at = len(HEADER.to_bytes()) + 2 * SIZE
    data[at + byte] ^= 0xFF
    damage = parse_segment(tmp_path / "j", bytes(data)).damage
    assert damage == Damage(tmp_path / "j", at, 2, 1, 3, "a record has not its checksum")
    assert str(damage).endswith(
        f"j is damaged at byte {at} (a record has not its checksum): 2 records before it are whole, 1 are not, "
        "with 3 whole ones behind"
    )


def test_records_of_another_place_file_or_kind_are_not_whole(tmp_path):
    start = len(HEADER.to_bytes())
    for wrong in (pack_record(12345, 3, ACT, 0, 0, 0, 0.0), pack_record(1, 2, ACT, 0, 0, 0, 0.0),
                  pack_record(12345, 2, 0, 0, 0, 0, 0.0), pack_record(12345, 2, 4, 0, 0, 0, 0.0)):  # fmt: skip
        damage = parse_segment(tmp_path, segment(2, extra=wrong)).damage
        assert (damage.offset, damage.kept, damage.dropped, damage.after) == (start + 2 * SIZE, 2, 1, 0)
        assert ", with" not in str(damage)


def test_a_torn_record_at_the_end_is_counted(tmp_path):
    data = HEADER.to_bytes() + records(2) + b"\1" * 5
    damage = parse_segment(tmp_path, data, 3).damage
    assert (damage.kept, damage.dropped, damage.reason) == (2, 1, "a record has not its checksum")
    assert parse_segment(tmp_path, data, 9).damage.dropped == 7


def test_a_writer_appends_takes_back_and_seals(folder):
    writer = folder.begin_segment(7, ABOUT)
    assert writer.path.name == "journal-000000000007.log"
    writer.append(ACT, 1, 0)
    writer.append(OBSERVE, 1, 0, 2, 0.5)
    assert writer.end == 9
    writer.take_back()
    assert writer.end == 8
    writer.append(TERMINATED, 3, 1, 4, 0.25)
    found = read_segment(writer.path)
    assert found.header.about == ABOUT
    assert found.records["kind"].tolist() == [ACT, TERMINATED]
    assert found.records["reward"].tolist() == [0.0, 0.25]
    assert writer.path.stat().st_size == found.start + ROOM
    writer.seal()
    assert writer.path.stat().st_size == found.start + 2 * SIZE
    assert read_segment(writer.path, 2).damage is None


def test_a_file_grows_before_its_last_slot_is_used(folder, monkeypatch):
    monkeypatch.setattr(journal_files, "ROOM", 4 * SIZE)
    writer = folder.begin_segment(0, ABOUT)
    start = len(writer.header.to_bytes())
    sizes = []
    for k in range(8):
        writer.append(ACT, k, 0)
        sizes.append((writer.path.stat().st_size - start) // SIZE)
        assert read_segment(writer.path).damage is None
    assert sizes == [4, 4, 4, 8, 8, 8, 8, 12]
    writer.close()


def test_files_of_a_folder_are_found_by_their_names(folder):
    for name in ("snapshot-000000000100-0000000a.npz", "snapshot-000000000020-ffffffff.npz", "snapshot-5-0000000a.npz",
                 "journal-000000000020.log", "journal-1000000000000.log", "journal-000000000003.log", "journal-3.log",
                 ".snapshot.npz", ".journal-000000000003.log.x", "notes.txt"):  # fmt: skip
        (folder.path / name).write_bytes(b"")
    assert [(one.at, one.crc) for one in folder.snapshots()] == [(20, 2**32 - 1), (100, 10)]
    assert [one.first for one in folder.segments()] == [3, 20, 10**12]
    folder.sweep()
    left = {path.name for path in folder.path.iterdir()}
    assert {".snapshot.npz", ".journal-000000000003.log.x"}.isdisjoint(left)
    assert {"notes.txt", "snapshot-5-0000000a.npz", "journal-3.log"} <= left


def test_a_snapshot_is_whole_where_its_bytes_are_those_written(folder):
    folder.save_snapshot(eq.make_agent("random", 2, 2), 42)
    (one,) = folder.snapshots()
    assert (one.at, is_whole(one)) == (42, True)
    one.path.write_bytes(one.path.read_bytes() + b"x")
    assert not is_whole(one)


@pytest.mark.parametrize(
    ("snapshots", "keep", "left_snapshots", "left_segments"),
    [
        ([0, 10, 20, 30], False, [0, 20, 30], [20, 30]),
        ([0, 10, 20, 30], True, [0, 20, 30], [0, 10, 20, 30]),
        ([0, 25], False, [0, 25], [0, 10, 20, 30]),
        ([5, 15, 25], False, [15, 25], [10, 20, 30]),
        ([30], False, [30], [0, 10, 20, 30]),
        ([], False, [], [0, 10, 20, 30]),
    ],
)
def test_the_last_two_snapshots_are_kept_with_the_first_and_the_records_they_need(
    folder, snapshots, keep, left_snapshots, left_segments
):
    for at in snapshots:
        (folder.path / f"snapshot-{at:012d}-00000000.npz").write_bytes(b"")
    for first in (0, 10, 20, 30):
        folder.segment_path(first).write_bytes(b"")
    folder.prune(keep)
    assert [one.at for one in folder.snapshots()] == left_snapshots
    assert [one.first for one in folder.segments()] == left_segments


def test_what_is_set_aside_is_numbered_and_a_cut_file_keeps_its_whole_records(folder, monkeypatch):
    monkeypatch.setattr(journal_files, "ROOM", 4 * SIZE)
    path = folder.path / "journal-000000000007.log"
    data = bytearray(segment(9, 4 * SIZE))
    start = len(HEADER.to_bytes())
    for kept, room in ((5, 8), (4, 8), (3, 4)):
        data[start + kept * SIZE] ^= 0xFF
        path.write_bytes(bytes(data))
        aside = folder.cut(read_segment(path).damage)
        assert aside.read_bytes() == bytes(data)
        found = read_segment(path)
        assert (len(found.records), found.damage, path.stat().st_size) == (kept, None, start + room * SIZE)
    names = sorted(one.name for one in (folder.path / "damaged").iterdir())
    assert names == [f"{path.name}.{k}" for k in range(3)]
    moved = folder.set_aside(path)
    assert (moved.name, path.exists()) == (f"{path.name}.3", False)
