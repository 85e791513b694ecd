import errno
import json
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equirl.files import whole_files as files
from equirl.files.whole_files import DamagedFile
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study, status_rows
from equirl.lab.studies.run_files import pack_run, unpack_run
from equirl.lab.studies.runs import execute
from equirl.lab.studies.store import Store, StoreError
from equirl.lab.studies.summary import TableError, export
from equirl.simulation.curves import Curves
from studies_kit import measuring, planned, raising, specs, with_lines

ONE = LocalEngine(1)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture
def full(store):
    run_study(planned(), store, ONE, quiet=True)
    return store


def table(store, path):
    return export(planned(), store, path)[0].read_bytes()


def test_a_result_comes_back_as_it_was_written(store):
    result = execute(specs()[0])
    store.write(result)
    back = store.read(specs()[0])
    assert (back.facts, back.provenance, back.spec) == (result.facts, result.provenance, result.spec)
    assert back.curves.names == result.curves.names
    for name in result.curves:
        np.testing.assert_array_equal(back.curves[name], result.curves[name])


def test_a_result_file_holds_spec_seeds_and_versions(full):
    path = full.path(specs()[0])
    _, meta = unpack_run(path, path.read_bytes())
    assert (meta["spec"]["seed"], meta["spec"]["learner"]) == (specs()[0].seed, "ucrl2-l")
    assert {"equirl", "numpy", "numba"} <= meta["provenance"]["versions"].keys()


def test_a_study_computes_only_what_is_missing(full):
    kept, gone = specs()[0], specs()[1]
    before = full.path(kept).stat().st_mtime_ns
    full.path(gone).unlink()
    outcome = run_study(planned(), full, ONE, quiet=True)
    assert outcome.report.n_computed == 1
    assert full.path(kept).stat().st_mtime_ns == before


@pytest.mark.parametrize("content", [b"", b"not a zip file", None])
def test_a_damaged_file_is_set_aside_reported_and_computed_again(full, tmp_path, content):
    spec = specs()[0]
    whole = table(full, tmp_path / "a.csv")
    path = full.path(spec)
    path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    assert [damaged for damaged, _ in full.status(specs()).damaged] == [spec]
    run_study(planned(), full, ONE, quiet=True)
    assert path.with_suffix(".run.damaged").exists()
    assert table(full, tmp_path / "b.csv") == whole


def test_a_result_under_the_name_of_another_run_is_refused(full):
    first, second = specs()[:2]
    full.path(first).write_bytes(full.path(second).read_bytes())
    with pytest.raises(DamagedFile, match="another run"):
        full.read(first)


def test_a_result_from_other_defaults_is_refused(store):
    result = execute(specs()[0])
    store.write(replace(result, spec=replace(result.spec, all_settings={**result.spec.all_settings, "delta": 0.1})))
    with pytest.raises(DamagedFile, match=r"was computed when delta was 0\.1 by default, not 0\.05"):
        store.read(specs()[0])


def test_a_result_from_before_a_setting_existed_is_refused(store):
    result = execute(specs()[0])
    fewer = {name: value for name, value in result.spec.all_settings.items() if name != "max_sweeps"}
    store.write(replace(result, spec=replace(result.spec, all_settings=fewer)))
    with pytest.raises(DamagedFile, match="does not say with which max_sweeps it was computed"):
        store.read(specs()[0])


def test_curves_that_stop_early_are_refused(store):
    result = execute(specs()[0])
    cut = Curves(result.curves.t[:2], {name: rows[:, :2] for name, rows in result.curves.values.items()})
    store.write(replace(result, curves=cut))
    with pytest.raises(DamagedFile, match="whole curves"):
        store.read(specs()[0])


def test_a_failed_run_is_recorded_with_its_traceback_and_the_others_go_on(store):
    outcome = run_study(planned(), store, ONE, quiet=True, run=raising)
    assert (outcome.report.n_computed, len(outcome.report.failures), outcome.complete) == (2, 2, False)
    failed = store.status(specs()).failed
    assert [spec.learner for spec in failed] == ["random", "random"]
    record = json.loads(store.failure_path(failed[0]).read_text())
    assert record["error"] == "RuntimeError: no luck today"
    assert "in raising" in record["traceback"]


def test_a_failed_run_is_tried_again_and_its_record_removed(store):
    run_study(planned(), store, ONE, quiet=True, run=raising)
    run_study(planned(), store, ONE, quiet=True)
    assert len(store.status(specs()).done) == 4
    assert not list((store.folder / "failed").iterdir())


def test_status_counts_by_part_world_and_learner(full):
    full.path(specs()[0]).unlink()
    full.path(specs()[2]).write_bytes(b"x")
    rows = status_rows(planned(), full.status(specs()))
    assert rows == [
        ("small", "riverswim:n_states=5", "ucrl2-l", 1, 1, 0, 0),
        ("small", "riverswim:n_states=5", "random", 1, 0, 0, 1),
    ]


def test_a_full_disk_stops_the_study_and_loses_nothing(store, monkeypatch):
    writes = 0

    def fsync(_):
        nonlocal writes
        writes += 1
        if writes > 10:  # two probes, the plan and two results fit, each with the name in its folder
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(StoreError, match=r"the disk is full. Finished runs are safe"):
            run_study(planned(), store, ONE, quiet=True)
    assert len(store.status(specs()).done) == 2
    assert not list(store.folder.rglob("*.part"))
    run_study(planned(), store, ONE, quiet=True)
    assert len(store.status(specs()).done) == 4


def test_a_folder_that_is_a_file_is_named_before_any_run(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(StoreError, match="a file stands where a folder should be"):
        run_study(planned(), Store(tmp_path / "results"), ONE, quiet=True)


def test_a_folder_that_cannot_be_written_is_named_before_any_run(store, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(files.os, "open", refuse)
    with pytest.raises(StoreError, match=r"results: it is not writable. Choose another folder with --out"):
        run_study(planned(), store, ONE, quiet=True)


def test_what_a_killed_process_left_half_written_is_cleared_when_it_is_old(full):
    old, young = (full.folder / "runs" / f".{name}.run.0123456789abcdef.part" for name in ("old", "young"))
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    full.prepare()
    assert (old.exists(), young.exists()) == (False, True)


def test_the_table_has_a_row_per_run_and_checkpoint_in_the_order_of_the_study(full, tmp_path):
    lines = table(full, tmp_path / "t.csv").decode().splitlines()
    header, rows = lines[0].split(","), [line.split(",") for line in lines[1:]]
    assert len(rows) == 16
    assert [row[header.index("t")] for row in rows[:4]] == ["75", "150", "225", "300"]
    assert [row[header.index("learner")] for row in rows[::4]] == ["ucrl2-l", "ucrl2-l", "random", "random"]


def test_measures_of_a_learners_own_are_kept_and_exported_after_the_usual_ones(store, tmp_path):
    usual = table(store, tmp_path / "none.csv").decode().splitlines()[0]
    run_study(planned(), store, ONE, quiet=True, run=measuring)
    assert store.read(specs()[0]).curves["span"].tolist() == [[37.5, 75.0, 112.5, 150.0]]
    lines = table(store, tmp_path / "t.csv").decode().splitlines()
    assert lines[0] == usual + ",accuracy,span"
    assert [lines[1].endswith(",0.013333333333333334,37.5"), lines[-1].endswith(",,,,,")] == [True, True]
    export(planned(), store, tmp_path / "t.parquet")


def test_a_measure_with_the_name_of_a_column_is_refused(monkeypatch):
    taken = SimpleNamespace(curves=Curves.of_run(np.array([300]), {"regret": np.zeros(1), "seed": np.zeros(1)}))
    monkeypatch.setattr("equirl.lab.studies.runs.LiveRun", lambda *_, **__: SimpleNamespace(finish=lambda: taken))
    with pytest.raises(ValueError, match="a measure of 'ucrl2-l' is called 'seed'"):
        execute(specs()[0])


def test_parquet_and_csv_hold_the_same_table(full, tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    export(planned(), full, tmp_path / "t.parquet")
    export(planned(), full, tmp_path / "t.csv")
    parquet, csv = pyarrow.parquet.read_table(tmp_path / "t.parquet"), pyarrow.csv.read_csv(tmp_path / "t.csv")
    for name in ("learner", "seed", "t", "regret", "gain"):
        assert parquet[name].to_pylist() == csv[name].to_pylist()


def test_a_table_of_another_format_is_refused(full, tmp_path):
    with pytest.raises(TableError, match=r"should end in .parquet or .csv"):
        export(planned(), full, tmp_path / "t.xlsx")


def test_a_table_leaves_out_runs_that_are_not_done(full, tmp_path):
    full.path(specs()[0]).unlink()
    assert export(planned(), full, tmp_path / "t.csv")[1] == 12


def test_results_of_a_longer_horizon_stand_beside_the_shorter_ones(full):
    longer = planned(with_lines(horizon="600"))
    run_study(longer, full, ONE, quiet=True)
    assert len(full.status(specs()).done) == 4
    assert len(list((full.folder / "runs").iterdir())) == 8


@pytest.mark.parametrize("missing", ["facts", "provenance"])
def test_a_result_that_says_nothing_of_its_run_is_damaged(full, missing):
    path = full.path(specs()[0])
    arrays, meta = unpack_run(path, path.read_bytes())
    del meta[missing]
    path.write_bytes(pack_run(arrays, meta))
    with pytest.raises(DamagedFile, match="nothing of the run"):
        full.read(specs()[0])
    assert len(full.status(specs()).damaged) == 1
