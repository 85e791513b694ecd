"""A damaged folder is never used without a word: what is lost is the damage, and it is told."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from journal_kit import RIVER, crashed, fingerprint, play, play_plain, reopened

import equirl as eq
from equirl.files import DamagedFile
from equirl.keeping import journal_files, read_journal
from equirl.keeping.journal_files import SIZE, parse_segment, read_segment
from equirl.keeping.journal_recovery import DamageWarning

STEPS = 6


@pytest.fixture
def small_files(monkeypatch):
    """Files of a few records, so that every byte can be looked at."""
    monkeypatch.setattr(journal_files, "ROOM", 256)


@pytest.fixture
def folder(tmp_path, small_files):
    """Left by a crash: twelve records behind the first snapshot."""
    agent = eq.open_agent(tmp_path / "live", learner())
    play(agent, STEPS)
    place = crashed(agent, tmp_path / "crashed")
    agent.close()
    return place


def learner():
    return eq.agent_for(RIVER, "q-learning", seed=4)


def past_states():
    """The fingerprint after every step, from none on."""
    return [fingerprint(play_plain(learner(), n)) for n in range(STEPS + 1)]


def journal_of(folder):
    return next(iter(sorted(folder.glob("journal-*.log"))))


def snapshots_of(folder):
    return sorted(folder.glob("snapshot-*.npz"))


def flip(path, offset, bit=0):
    content = bytearray(path.read_bytes())
    content[offset] ^= 1 << bit
    path.write_bytes(content)


def first_record(path):
    return read_segment(path).start


def test_every_bit_of_a_journal_flipped_is_noticed(folder):
    path = journal_of(folder)
    content = bytearray(path.read_bytes())
    whole = parse_segment(path, bytes(content))
    assert whole.damage is None
    assert len(whole.records) == 2 * STEPS
    for offset in range(len(content)):
        for bit in range(8):
            content[offset] ^= 1 << bit
            try:
                found = parse_segment(path, bytes(content))
            except DamagedFile:
                assert offset < whole.start
            else:
                assert found.damage is not None, (offset, bit)
                n = len(found.records)
                assert n == min((offset - whole.start) // SIZE, 2 * STEPS)
                assert found.records.tobytes() == whole.records[:n].tobytes()
            content[offset] ^= 1 << bit


def test_a_journal_cut_short_anywhere_is_noticed(folder):
    path = journal_of(folder)
    content = path.read_bytes()
    whole = parse_segment(path, content)
    for length in range(len(content)):
        try:
            found = parse_segment(path, content[:length])
        except DamagedFile:
            assert length < whole.start
        else:
            assert found.damage is not None, length
            assert len(found.records) == min((length - whole.start) // SIZE, 2 * STEPS)


@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.fuzz)])
def test_whatever_byte_is_flipped_or_cut_off_a_folder_opens_to_a_past_state_with_a_word_or_not_at_all(
    stride, folder, tmp_path
):
    path, states = journal_of(folder), past_states()
    content, start = path.read_bytes(), first_record(path)
    refused = opened = 0
    for offset in range(0, len(content), stride):
        for change in ("flip", "cut"):
            place = tmp_path / f"{change}{offset}"
            shutil.copytree(folder, place)
            damaged = place / path.name
            flip(damaged, offset) if change == "flip" else damaged.write_bytes(content[:offset])
            try:
                agent, told = reopened(place)
            except DamagedFile:
                assert offset < start + (2 * STEPS - 1) * SIZE
                with pytest.raises(DamagedFile, match=str(damaged)):
                    eq.open_agent(place)
                refused += 1
                continue
            opened += 1
            assert any(str(damaged) in text for text in told), (change, offset)
            assert agent.n_records == min(max(0, offset - start) // SIZE, 2 * STEPS)
            if agent.n_records % 2 == 0:  # after an observe
                assert fingerprint(agent.agent) == states[agent.n_observed]
            agent.close()
            again, told = reopened(place)
            assert told == []  # told once, and mended
            again.close()
    assert refused > 10
    assert opened > 10


def test_a_damaged_tail_is_told_with_file_offset_and_numbers_and_kept_aside(folder):
    path = journal_of(folder)
    offset = first_record(path) + (2 * STEPS - 1) * SIZE
    flip(path, offset + 20)
    before = path.read_bytes()
    text = rf"{path.name} was damaged from byte {offset} .*: 11 records kept, 1 record dropped\. .* kept as .*damaged"
    with pytest.warns(DamageWarning, match=text):
        agent = eq.open_agent(folder)
    with agent:
        assert agent.n_observed == STEPS - 1
        play(agent, 20)
        assert fingerprint(agent.agent) == fingerprint(play_plain(learner(), 20))
    assert (folder / "damaged" / f"{path.name}.0").read_bytes() == before


@pytest.mark.usefixtures("small_files")
def test_a_file_grows_before_its_empty_room_is_used_up(tmp_path):
    with eq.open_agent(tmp_path, learner()) as agent:
        sizes = set()
        for n in range(1, 40):
            agent.act(0)
            found = read_segment(journal_of(tmp_path))
            assert (len(found.records), found.damage) == (n, None)
            sizes.add(journal_of(tmp_path).stat().st_size - found.start)
    assert sizes == {256, 512, 768, 1024, 1280}


def test_a_record_half_written_is_dropped_and_the_rest_is_kept(folder):
    path = journal_of(folder)
    content = bytearray(path.read_bytes())
    at = first_record(path) + 2 * STEPS * SIZE
    content[at : at + 9] = b"\x0c\0\0\0\x02\0\0\0\x01"
    path.write_bytes(content)
    agent, told = reopened(folder)
    assert "12 records kept, 1 record dropped" in told[0]
    assert agent.n_observed == STEPS
    agent.close()


@pytest.mark.parametrize("zeroed", [False, True])
def test_damage_in_the_middle_is_refused_and_with_strict_false_cut_off(folder, zeroed):
    path = journal_of(folder)
    offset = first_record(path) + 4 * SIZE
    content = bytearray(path.read_bytes())
    content[offset : offset + SIZE] = bytes(SIZE) if zeroed else b"?" * SIZE
    path.write_bytes(content)
    text = (
        rf"{path.name} is damaged at byte {offset} .*4 records before it are whole.* 7 whole ones behind.*strict=False"
    )
    with pytest.raises(DamagedFile, match=text):
        eq.open_agent(folder)
    assert path.read_bytes() == content  # left as it is
    agent, told = reopened(folder, strict=False)
    assert any("going on with the 4 records before it" in text for text in told)
    assert agent.n_observed == 2
    assert fingerprint(agent.agent) == fingerprint(play_plain(learner(), 2))
    agent.close()
    assert (folder / "damaged" / f"{path.name}.0").read_bytes() == content


def test_the_log_of_a_damaged_journal_says_what_is_missing(folder):
    path = journal_of(folder)
    flip(path, first_record(path) + 4 * SIZE)
    with pytest.warns(DamageWarning, match="its steps from there on are left out"):
        log = read_journal(folder)
    assert log.step.tolist() == [1, 2]


@pytest.fixture
def two_snapshots(tmp_path, small_files):
    """Left by a crash: snapshots after 0, 20 and 40 records, the journal since 20."""
    agent = eq.open_agent(tmp_path / "live", learner(), snapshot_every=20)
    play(agent, 25)
    place = crashed(agent, tmp_path / "crashed")
    agent.close()
    return place


def test_a_torn_snapshot_is_set_aside_and_the_one_before_is_used_with_the_journal(two_snapshots):
    newest = snapshots_of(two_snapshots)[-1]
    content = newest.read_bytes()
    newest.write_bytes(content[: len(content) // 2])
    with pytest.warns(DamageWarning, match=rf"{newest.name} is damaged.*set aside"):
        agent = eq.open_agent(two_snapshots)
    with agent:
        assert fingerprint(agent.agent) == fingerprint(play_plain(learner(), 25))
        play(agent, 60)
        assert fingerprint(agent.agent) == fingerprint(play_plain(learner(), 60))
    assert (two_snapshots / "damaged" / f"{newest.name}.0").exists()
    with eq.open_agent(two_snapshots) as again:
        assert again.n_observed == 60


def test_every_byte_of_a_snapshot_flipped_is_noticed(two_snapshots, tmp_path):
    newest = snapshots_of(two_snapshots)[-1]
    expected = fingerprint(play_plain(learner(), 25))
    for k, offset in enumerate(range(0, newest.stat().st_size, 97)):
        place = tmp_path / f"flip{k}"
        shutil.copytree(two_snapshots, place)
        flip(place / newest.name, offset, k % 8)
        agent, told = reopened(place)
        assert f"{newest.name} is damaged" in told[0]
        assert fingerprint(agent.agent) == expected
        agent.close()


def test_where_no_snapshot_can_be_used_the_folder_is_refused_and_its_log_still_reads(two_snapshots):
    for path in snapshots_of(two_snapshots):
        flip(path, 100)
    with pytest.raises(DamagedFile, match="no whole snapshot"), pytest.warns(DamageWarning, match="set aside"):
        eq.open_agent(two_snapshots)
    with pytest.raises(DamagedFile, match="no whole snapshot"):  # nor is it taken for a new folder
        eq.open_agent(two_snapshots, learner())
    assert len(read_journal(two_snapshots).step) == 15


def test_without_its_first_snapshot_a_folder_still_refuses_another_learner(two_snapshots):
    snapshots_of(two_snapshots)[0].unlink()
    with pytest.raises(ValueError, match=r"explore: 0\.05, 0\.2"):
        eq.open_agent(two_snapshots, eq.agent_for(RIVER, "q-learning", seed=4, explore=0.2))
    with eq.open_agent(two_snapshots, learner()) as agent:
        assert agent.n_observed == 25


def test_with_an_archive_even_the_first_snapshot_brings_everything_back(tmp_path, small_files):
    agent = eq.open_agent(tmp_path / "live", learner(), snapshot_every=20, archive=True)
    play(agent, 45)
    place = crashed(agent, tmp_path / "crashed")
    agent.close()
    for path in snapshots_of(place)[1:]:
        flip(path, 100)
    again, told = reopened(place)
    assert len(told) == 2
    assert fingerprint(again.agent) == fingerprint(play_plain(learner(), 45))
    again.close()


def test_records_that_are_missing_are_noticed(two_snapshots):
    flip(snapshots_of(two_snapshots)[-1], 100)
    journals = sorted(two_snapshots.glob("journal-*.log"))
    journals[0].unlink()
    with pytest.warns(DamageWarning), pytest.raises(DamagedFile, match="lacks the records from number 20 on"):
        eq.open_agent(two_snapshots)
    agent, told = reopened(two_snapshots, strict=False)
    assert any("lacks the records" in text for text in told)
    assert fingerprint(agent.agent) == fingerprint(play_plain(learner(), 10))
    assert agent.n_observed == 10
    agent.close()


def test_a_sealed_file_that_lost_records_is_noticed(two_snapshots):
    flip(snapshots_of(two_snapshots)[-1], 100)
    sealed = sorted(two_snapshots.glob("journal-*.log"))[0]
    sealed.write_bytes(sealed.read_bytes()[: -3 * SIZE])
    with (
        pytest.warns(DamageWarning),
        pytest.raises(DamagedFile, match=rf"{sealed.name} is damaged.*hold 20 records"),
    ):
        eq.open_agent(two_snapshots)


def test_a_file_of_another_folder_is_not_taken_for_its_own(folder, tmp_path, small_files):
    other = eq.open_agent(tmp_path / "other", learner())
    play(other, STEPS)
    path = journal_of(folder)
    start = first_record(path)
    mine, theirs = path.read_bytes(), journal_of(other.folder).read_bytes()
    other.close()
    path.write_bytes(mine[:start] + theirs[start:])
    agent, told = reopened(folder)
    assert "0 records kept, 12 records dropped" in told[0]
    agent.close()
    renamed = folder / "journal-000000000005.log"
    journal_of(folder).rename(renamed)
    with pytest.raises(DamagedFile):
        eq.open_agent(folder)


def test_a_newer_format_is_refused_by_name(folder, monkeypatch):
    path = journal_of(folder)
    header = read_segment(path).header
    with monkeypatch.context() as newer:
        newer.setattr(journal_files, "VERSION", 2)
        start = header.to_bytes()
    path.write_bytes(start + path.read_bytes()[len(start) :])
    with pytest.raises(DamagedFile, match="has format 2; this equirl reads 1"):
        eq.open_agent(folder)


def test_records_read_back_as_written():
    rng = np.random.default_rng(0)
    for _ in range(50):
        numbers = [int(rng.integers(0, 2**31)) for _ in range(3)]
        reward = float(rng.normal() * 10.0 ** rng.integers(-300, 300))
        record = journal_files.pack_record(7, 3, 2, *numbers, reward)
        (read,) = np.frombuffer(record, journal_files.FIELDS)
        assert len(record) == SIZE == 32
        assert [read[name].item() for name in ("place", "kind", "state", "action", "next_state", "reward")] == [
            3, 2, *numbers, reward,
        ]  # fmt: skip
