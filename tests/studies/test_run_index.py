"""The index beside the files of runs: files stay the truth, whatever becomes of either."""

from __future__ import annotations

import os
import struct
import threading
from dataclasses import replace

import numpy as np
import pytest

from damage_kit import flipped
from equirl.files import whole_files
from equirl.lab.studies import run_index
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.run_files import pack_run, unpack_run
from equirl.lab.studies.run_index import INDEX, RunIndex, file_stamps
from equirl.lab.studies.runs import execute
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import finished_runs, summarise
from studies_kit import planned, specs, with_lines

MANY = with_lines(runs="6")


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Any file counts as settled, and one that is new is enough to write the index anew."""
    monkeypatch.setattr(run_index, "SETTLED_SECONDS", -60.0)
    monkeypatch.setattr(run_index, "LEAST_NEW", 0)
    monkeypatch.setattr(run_index, "SHARE_NEW", 10**9)


@pytest.fixture
def full(tmp_path):
    store = Store(tmp_path / "results")
    run_study(planned(MANY), store, LocalEngine(1), quiet=True)
    store.status(specs(MANY))
    return store


@pytest.fixture
def reads(monkeypatch):
    """The names of the files of runs that are read, one by one."""
    names, read = [], run_index.read_run

    def noting(path):
        names.append(path.name)
        return read(path)

    monkeypatch.setattr("equirl.lab.studies.run_index.read_run", noting)
    monkeypatch.setattr("equirl.lab.studies.store.read_run", noting)
    return names


def state(store):
    found = store.status(specs(MANY))
    return tuple(len(getattr(found, name)) for name in ("done", "missing", "failed", "damaged"))


def ends(store):
    return [group.curves.final("regret").tolist() for group in summarise(finished_runs(planned(MANY), store))]


def test_what_is_in_the_index_is_not_read_again(full, reads):
    before = ends(full)
    assert state(full) == (12, 0, 0, 0)
    assert reads == []
    (full.folder / INDEX).unlink()
    assert ends(full) == before
    assert sorted(reads) == sorted(f"{spec.key}.run" for spec in specs(MANY))
    reads.clear()
    assert state(full) == (12, 0, 0, 0)
    assert reads == []


def test_asked_for_anew_every_file_is_read(full, reads):
    assert len(full.status(specs(MANY), anew=True).done) == 12
    assert len(reads) == 12


def test_a_result_is_the_same_from_the_index_and_from_its_file(full):
    index = full.index()
    for spec in specs(MANY):
        ours, theirs = full.read(spec, index), full.read(spec)
        assert (ours.facts, ours.provenance) == (theirs.facts, theirs.provenance)
        for name in theirs.curves:
            np.testing.assert_array_equal(ours.curves[name], theirs.curves[name])


def test_a_run_that_is_gone_is_missing_and_one_that_comes_is_done(full, reads):
    path, content = full.path(specs(MANY)[3]), full.path(specs(MANY)[3]).read_bytes()
    path.unlink()
    assert state(full) == (11, 1, 0, 0)
    path.write_bytes(content)
    reads.clear()
    assert state(full) == (12, 0, 0, 0)
    assert reads == [path.name]


@pytest.mark.parametrize("how", ["cut", "longer", "a bit", "nothing", "another run"])
def test_a_file_that_has_changed_is_damaged_whatever_the_index_holds(full, how):
    path, other = full.path(specs(MANY)[0]), full.path(specs(MANY)[1])
    content = path.read_bytes()
    changes = {
        "cut": content[:-1], "longer": content + b"x", "a bit": flipped(content, 999), "nothing": b"",
        "another run": other.read_bytes(),
    }  # fmt: skip
    path.write_bytes(changes[how])
    assert state(full) == (11, 0, 0, 1)
    damaged = []
    assert len(list(finished_runs(planned(MANY), full, damaged))) == 11
    assert path.name in damaged[0]
    path.write_bytes(content)
    assert state(full) == (12, 0, 0, 0)


def test_a_change_behind_the_same_size_and_time_is_noticed_by_its_entry(full):
    path = full.path(specs(MANY)[0])
    before = path.stat()
    path.write_bytes(flipped(path.read_bytes(), 999))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert state(full) == (11, 0, 0, 1)


def test_a_file_of_a_moment_ago_is_not_indexed_for_it_may_change_again_unseen(full, reads, monkeypatch):
    monkeypatch.setattr(run_index, "SETTLED_SECONDS", 3600.0)
    (full.folder / INDEX).unlink()
    for _ in range(2):
        reads.clear()
        assert state(full) == (12, 0, 0, 0)
        assert len(reads) == 12


def test_the_index_is_written_where_enough_files_are_outside_it(full, monkeypatch):
    path, names = full.folder / INDEX, [full.path(spec) for spec in specs(MANY)]
    monkeypatch.setattr(run_index, "LEAST_NEW", 3)
    monkeypatch.setattr(run_index, "SHARE_NEW", 2)
    for n_changed, anew in ((3, False), (4, False), (5, True)):  # more than 3, and than half of the others
        whole = path.read_bytes()
        for name in names[:n_changed]:
            name.write_bytes(name.read_bytes())
        assert state(full) == (12, 0, 0, 0)
        assert (path.read_bytes() != whole) == anew


def test_files_that_are_gone_count_as_well(full, monkeypatch):
    monkeypatch.setattr(run_index, "LEAST_NEW", 2)
    whole = (full.folder / INDEX).read_bytes()
    for n, spec in enumerate(specs(MANY)[:3]):
        assert (full.folder / INDEX).read_bytes() == whole, n
        full.path(spec).unlink()
        assert state(full)[1] == n + 1
    assert len((full.folder / INDEX).read_bytes()) < len(whole)


@pytest.mark.parametrize("n", [0, 1, 15, 30, 60, 300, -1])
def test_an_index_that_is_cut_is_made_again(full, n, reads):
    path, before = full.folder / INDEX, ends(full)
    whole = path.read_bytes()
    path.write_bytes(whole[:n])
    assert ends(full) == before
    assert len(reads) == 12
    assert len(path.read_bytes()) == len(whole)


def test_an_index_with_a_flipped_bit_anywhere_is_made_again(full, reads):
    path, before = full.folder / INDEX, ends(full)
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), 4001):
        reads.clear()
        path.write_bytes(flipped(whole, bit))
        assert RunIndex(full.folder).noted(specs(MANY)[0].key) is not None
        assert len(reads) == 12, bit
    assert ends(full) == before


@pytest.mark.parametrize("content", [b"", b"PK", bytes(200), struct.pack("<QQ", 2**60, 2**60) * 9])
def test_anything_else_in_its_place_is_replaced(full, content):
    (full.folder / INDEX).write_bytes(content)
    assert state(full) == (12, 0, 0, 0)
    assert (full.folder / INDEX).read_bytes().startswith(b"equirl-index 1 ")


def test_an_index_of_another_format_or_of_other_results_is_made_again(full, reads, monkeypatch):
    for mark in (b"equirl-index 2 5\n", b"equirl-index 1 4\n"):
        with monkeypatch.context() as patch:
            patch.setattr(run_index, "_MARK", mark)
            state(full)
        assert (full.folder / INDEX).read_bytes().startswith(mark)
        reads.clear()
        assert state(full) == (12, 0, 0, 0)
        assert len(reads) == 12


def test_a_folder_in_its_place_or_one_that_cannot_be_written_is_read_without_it(full, monkeypatch):
    (full.folder / INDEX).unlink()
    (full.folder / INDEX).mkdir()
    assert state(full) == (12, 0, 0, 0)
    assert (full.folder / INDEX).is_dir()
    (full.folder / INDEX).rmdir()

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(run_index, "write_aside", refuse)
    assert state(full) == (12, 0, 0, 0)
    assert not (full.folder / INDEX).exists()


def test_a_folder_without_runs_has_no_index(tmp_path):
    assert state(Store(tmp_path)) == (0, 12, 0, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_default_that_has_changed_is_noticed_through_the_index(full):
    changed = [replace(spec, all_settings={**spec.all_settings, "delta": 0.2}) for spec in specs(MANY)[:1]]
    (_, reason) = full.status(changed).damaged[0]
    assert "was computed when delta was 0.05 by default, not 0.2" in reason


def test_a_run_under_the_name_of_another_does_not_get_into_the_index(full):
    one, other = specs(MANY)[:2]
    full.path(one).write_bytes(full.path(other).read_bytes())
    index = full.index()
    assert index.noted(one.key) is None
    assert index.noted(other.key) is not None


def test_versions_are_counted_through_the_index(tmp_path):
    store = Store(tmp_path)
    for k, version in enumerate(["1.2", "1.3", "1.3", None, "x" * 40, "é"]):
        result = execute(specs(MANY)[k])
        versions = {"versions": {} if version is None else {"equirl": version}}
        store.write(replace(result, provenance=versions))
    for _ in range(2):
        found = store.status(specs(MANY)[:6])
        assert found.versions == {"1.2": 1, "1.3": 2, "unknown": 1, "x" * 40: 1, "é": 1}
    index = store.index()
    assert [index.noted(spec.key) is not None for spec in specs(MANY)[:6]] == [True] * 4 + [False] * 2


def test_a_run_without_provenance_is_indexed_too(tmp_path):
    store, spec = Store(tmp_path), specs(MANY)[0]
    path = store.write(execute(spec))
    arrays, meta = unpack_run(path, path.read_bytes())
    path.write_bytes(pack_run(arrays, meta | {"provenance": {}}))
    assert store.status([spec]).versions == {"unknown": 1}
    assert store.index().noted(spec.key) is not None


def test_several_that_write_it_at_once_leave_a_whole_one(full, monkeypatch):
    monkeypatch.setattr(whole_files.os, "fsync", lambda _: None)
    done, names = [], [full.path(spec) for spec in specs(MANY)]

    def work():
        for name in names:
            with_same_content = name.read_bytes()
            whole_files.write_aside(name, with_same_content)
            done.append(len(full.status(specs(MANY)).done))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [12] * 48
    assert not list(full.folder.rglob("*.part"))
    index = full.index()
    assert all(index.noted(spec.key) is not None for spec in specs(MANY))


def test_files_stand_in_a_folder_by_name_size_and_times(tmp_path):
    (tmp_path / "one.run").write_bytes(b"123")
    (tmp_path / "two.txt").write_bytes(b"1")
    (tmp_path / "gone.run").symlink_to(tmp_path / "nothing")
    (tmp_path / "circle.run").symlink_to(tmp_path / "circle.run")
    stat = (tmp_path / "one.run").stat()
    assert file_stamps(tmp_path) == {"one": (3, stat.st_mtime_ns, stat.st_ctime_ns)}
    assert file_stamps(tmp_path / "none") == {}
