"""A run as bytes: what goes in comes out, small, and nothing else is taken for one."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib

import numpy as np
import pytest

from damage_kit import flipped
from equirl.files.archives import npz_bytes
from equirl.files.whole_files import DamagedFile
from equirl.lab.studies import run_files
from equirl.lab.studies.run_files import check_run, pack_run, read_run, unpack_run
from equirl.lab.studies.run_specs import RESULT_VERSION
from equirl.lab.studies.runs import execute
from studies_kit import specs

T = np.array([10, 20, 40])
META = {"spec": {"horizon": 40}, "facts": {"gain": 0.7, "n_episodes": 1, "n_unconverged": 0}, "provenance": {}}


def packed(meta=META, **curves):
    return pack_run({"t": T, **curves}, meta)


def test_curves_and_header_come_back_bit_by_bit():
    rng = np.random.default_rng(1)
    reward = np.array([6.25, 12.0, 30.5])
    curves = {
        "regret": 0.7 * T - reward, "pseudo_regret": rng.normal(size=3), "reward": reward,
        "n_classes": np.array([3, -(2**62), 2**63 - 1]), "odd": np.array([np.nan, -np.inf, -0.0]),
        "tiny": np.array([5e-324, 1e308, -1e308]),
    }  # fmt: skip
    arrays, meta = unpack_run("it", packed(**curves))
    assert meta == META
    assert list(arrays) == ["t", *curves]
    for name, curve in {"t": T, **curves}.items():
        assert arrays[name].dtype == curve.dtype
        assert arrays[name].tobytes() == curve.tobytes(), name


@pytest.mark.parametrize("gain", [0.7, np.nan, np.inf, 1, None, "text"])
@pytest.mark.parametrize("names", [("regret", "reward"), ("regret",), ("pseudo_regret", "regret"), ("reward",)])
def test_regrets_come_back_whatever_the_gain_and_the_curves_beside_them(gain, names):
    rng, meta = np.random.default_rng(2), META | {"facts": {"gain": gain}}
    curves = {name: rng.normal(size=3) for name in names}
    arrays, _ = unpack_run("it", packed(meta, **curves))
    for name, curve in curves.items():
        assert arrays[name].tobytes() == curve.tobytes()


def test_numbers_of_other_types_become_those_of_64_bits():
    arrays, _ = unpack_run("it", packed(few=np.array([1, 2, 3], np.int8), half=np.array([1, 2, 3], np.float32)))
    assert (arrays["few"].dtype, arrays["half"].dtype) == (np.int64, np.float64)
    assert arrays["few"].tolist() == arrays["half"].tolist() == [1, 2, 3]


def test_a_regret_that_follows_from_the_rewards_takes_no_room():
    rng, t = np.random.default_rng(3), np.arange(1, 201) * 50
    reward = np.cumsum(rng.random(200))
    curves = {"reward": reward, "regret": t * 0.7 - reward, "pseudo_regret": t * 0.7 - reward}
    whole = len(pack_run({"t": t, **curves}, META))
    assert whole < len(pack_run({"t": t, "reward": reward}, META)) + 100
    assert whole < len(pack_run({"t": t, **curves, "regret": rng.normal(size=200)}, META)) - 1000


@pytest.mark.parametrize("n_values", [1, 2, 25, 26, 256, 257])
@pytest.mark.parametrize("n_times", [9, 200, 2100])
def test_floats_with_few_values_come_back_bit_by_bit(n_values, n_times):
    rng, t = np.random.default_rng(4), np.arange(1, n_times + 1)
    values = np.concatenate([rng.normal(size=n_values), [-0.0, 0.0, np.nan, -np.inf]])[-n_values:]
    curves = {name: rng.choice(values, n_times) for name in ("regret", "alpha", "reward", "gamma")}
    arrays, meta = unpack_run("it", pack_run({"t": t, **curves}, META))
    assert (meta, list(arrays)) == (META, ["t", *curves])
    for name, curve in curves.items():
        assert arrays[name].tobytes() == curve.tobytes(), name


def test_floats_drawn_from_a_grid_take_a_byte_each_at_most():
    rng, t = np.random.default_rng(5), np.arange(1, 201) * 50
    without = len(pack_run({"t": t}, META))
    assert len(pack_run({"t": t, "alpha": rng.choice(rng.random(12), 200)}, META)) < without + 200 + 12 * 8
    assert len(pack_run({"t": t, "alpha": rng.random(200)}, META)) > without + 1000


def test_a_run_takes_less_than_half_of_what_an_archive_of_it_takes():
    result = execute(specs()[0])
    arrays = {"t": result.curves.t} | {name: result.curves[name][0] for name in result.curves}
    meta = {"spec": result.spec.identity(), "everything": result.spec.everything(), "facts": result.facts}
    meta["provenance"] = result.provenance
    assert len(pack_run(arrays, meta)) < 0.3 * len(npz_bytes("equirl-run", 4, arrays, meta))


def test_runs_of_older_formats_are_refused_by_name(tmp_path, monkeypatch):
    with pytest.raises(DamagedFile, match=r"old\.npz is of an older equirl, which kept runs as \.npz files"):
        unpack_run(tmp_path / "old.npz", npz_bytes("equirl-run", 4, {"t": T}, META))
    monkeypatch.setattr(run_files, "RESULT_VERSION", RESULT_VERSION - 1)
    older = packed()
    monkeypatch.undo()
    with pytest.raises(DamagedFile, match=f"has format version {RESULT_VERSION - 1}; this equirl reads version"):
        unpack_run("it", older)


@pytest.mark.parametrize("content", [b"", b"equirl-run", b"equirl-run x\n", b"equirl-run \n" + bytes(99), bytes(99)])
def test_what_does_not_begin_as_a_run_is_none(content):
    with pytest.raises(DamagedFile, match=r"^it is not the file of a run; equirl study computes the run again"):
        unpack_run("it", content)


def test_every_flipped_bit_and_every_cut_is_noticed():
    content = packed(regret=np.array([1.0, 2.0, 3.0]))
    changed = [flipped(content, bit) for bit in range(8 * len(content))]
    for wrong in (*changed, *(content[:n] for n in range(len(content))), content + b"x"):
        with pytest.raises(DamagedFile):
            unpack_run("it", wrong)


def resealed(payload, tail=b""):
    packer = zlib.compressobj(9, zdict=run_files._USUAL)
    content = packer.compress(payload) + packer.flush() + tail
    line = f"equirl-run {RESULT_VERSION}\n".encode()
    return line + hashlib.blake2b(line + content, digest_size=16).digest() + content


def payload(header, n_curves=1, n_times=3, body=24):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<LLL", len(text), n_curves, n_times) + text + bytes(body)


HEADER = META | {"curves": {"t": "i"}, "few": {}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (resealed(payload(HEADER), b"more"), "does not end where it should"),
        (resealed(payload(HEADER, body=23)), "not as long as it says"),
        (resealed(payload(HEADER, body=25)), "not as long as it says"),
        (resealed(payload(HEADER, n_times=4)), "not as long as it says"),
        (resealed(payload(HEADER, n_curves=2, body=48)), "it names 1 curves and has 2"),
        (resealed(payload(META)), "curves"),
        (resealed(payload(HEADER | {"curves": {"t": "x"}})), "x"),
        (resealed(payload(HEADER | {"curves": 3})), "cannot be read"),
        (resealed(payload(META | {"curves": {"t": "i"}})), "few"),
        (resealed(payload(HEADER | {"few": {"u": 1}}, body=11)), "which curves have few values"),
        (resealed(payload(HEADER | {"few": {"t": 0}}, body=3)), "which curves have few values"),
        (resealed(payload(HEADER | {"few": {"t": -1}}, body=3)), "which curves have few values"),
        (resealed(payload(HEADER | {"few": {"t": 257}}, body=8 * 257 + 3)), "which curves have few values"),
        (resealed(payload(HEADER | {"few": {"t": 2}}, body=20)), "not as long as it says"),
        (resealed(payload(HEADER | {"few": {"t": 2}}, body=16) + b"\0\1\2"), "out of bounds"),
        (resealed(payload({"curves": {"t": "i"}, "few": {}})), "does not say which run it holds"),
        (resealed(payload({"curves": {"t": "i"}, "few": {}, "spec": {}})), "does not say which run it holds"),
        (resealed(payload(b"[1]")), "cannot be read"),
        (resealed(payload(b"{")), "cannot be read"),
        (resealed(b"short"), "cannot be read"),
    ],
)
def test_a_sealed_file_that_says_nonsense_is_damaged(content, reason):
    with pytest.raises(DamagedFile, match=f"^it cannot be read as the file of a run: .*{reason}|{reason}"):
        unpack_run("it", content)
    unpack_run("it", resealed(payload(HEADER)))


def test_a_file_that_would_unpack_to_more_than_is_expected_is_damaged(monkeypatch):
    content = resealed(payload(HEADER))
    monkeypatch.setattr(run_files, "MOST_EXPANSION", 1)
    monkeypatch.setattr(run_files, "ALWAYS_ALLOWED", len(payload(HEADER)))
    unpack_run("it", content)
    monkeypatch.setattr(run_files, "ALWAYS_ALLOWED", len(payload(HEADER)) - 1)
    with pytest.raises(DamagedFile, match="does not end where it should"):
        unpack_run("it", content)
    monkeypatch.setattr(run_files, "MOST_EXPANSION", 100)
    unpack_run("it", content)


def test_what_would_unpack_to_too_much_is_not_compressed(monkeypatch):
    curves = {name: np.zeros(3000) for name in ("regret", "reward")}
    t = np.arange(1, 3001)
    small = pack_run({"t": t, **curves}, META)
    monkeypatch.setattr(run_files, "ALWAYS_ALLOWED", 9000)
    with pytest.raises(DamagedFile, match="does not end where it should"):
        unpack_run("it", small)
    arrays, _ = unpack_run("it", pack_run({"t": t, **curves}, META))
    assert arrays["t"].tolist() == t.tolist()


@pytest.mark.parametrize("n", [-1, 0, 1])
def test_a_header_has_at_most_so_many_bytes(n, monkeypatch):
    monkeypatch.setattr(run_files, "LONGEST_HEADER", len(json.dumps(HEADER)) + n)
    if n < 0:
        with pytest.raises(DamagedFile, match=f"its header has {len(json.dumps(HEADER))} bytes"):
            unpack_run("it", resealed(payload(HEADER)))
    else:
        unpack_run("it", resealed(payload(HEADER)))


def test_something_else_in_the_place_of_a_file_is_named(tmp_path):
    with pytest.raises(DamagedFile, match="is a folder, not the file of a run"):
        read_run(tmp_path)
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(DamagedFile, match="zero cannot be read: it is a device"):
        read_run(tmp_path / "zero")
    with pytest.raises(FileNotFoundError):
        read_run(tmp_path / "none")


@pytest.mark.parametrize(
    ("curves", "meta", "reason"),
    [
        ({}, {}, "does not hold whole curves up to the horizon 40"),
        ({"regret": T / 2}, {"spec": {"horizon": 41}}, "whole curves up to the horizon 41"),
        ({"regret": T / 2}, {"facts": {"gain": 1.0, "n_episodes": 1}}, "says nothing of the run as a whole"),
        ({"regret": T / 2}, {"facts": None}, "says nothing of the run as a whole"),
        ({"regret": T / 2}, {"provenance": None}, "says nothing of the run as a whole"),
        ({"regret": T / 2}, {"provenance": {"seconds": "long"}}, "does not say how its run was computed"),
        ({"regret": T / 2}, {"provenance": {"versions": 3}}, "does not say how its run was computed"),
        ({"regret": T / 2}, {}, None),
    ],
)
def test_what_tables_need_is_looked_for(curves, meta, reason):
    held = {"t": T, **curves}, META | meta
    if reason is None:
        check_run("it", *held)
        return
    with pytest.raises(DamagedFile, match=f"^it .*{reason}"):
        check_run("it", *held)
    with pytest.raises(DamagedFile, match="whole curves"):
        check_run("it", {"t": T.astype(float), "regret": T / 2}, META)
    with pytest.raises(DamagedFile, match="whole curves"):
        check_run("it", {"regret": T / 2}, META)
