"""Archives from anywhere: what they say of themselves is checked before memory is taken for it."""

import io
import json
import struct
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

import equirl as eq
from damage_kit import sealed
from equirl.files import archives
from equirl.files.archives import MOST_EXPANSION, MOST_MEMBERS, Archive, load_npz, pack, save_npz
from equirl.files.whole_files import DamagedFile, open_file, write_aside
from equirl.lab.studies.run_files import pack_run
from equirl.lab.studies.store import Store
from studies_kit import specs

HEADER = {"kind": "equirl-mdp", "version": 1, "archive": 2, "meta": {}, "arrays": {"prob": {}}}


def array_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zipped(path, members, compression=zipfile.ZIP_DEFLATED, header=HEADER):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.npy", array_bytes(np.array(json.dumps(header))))
        for name, content in members.items():
            archive.writestr(name, content)
    return sealed(path)


def preamble(text, version=1):
    """The start of an .npy file that describes an array as ``text`` says."""
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode()


def described(shape, dtype="<f8"):
    return preamble(repr({"descr": dtype, "fortran_order": False, "shape": shape}) + "\n")


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"prob.npy": described((10**9,)) + bytes(80)}, "'prob' is not as long as it says"),
        ({"prob.npy": described((2**62, 2**62)) + bytes(80)}, "'prob' is not as long as it says"),
        ({"prob.npy": described((-1,)) + bytes(80)}, "nothing that can be read"),
        ({"prob.npy": described((10**18,), "<U0")}, "nothing that can be read"),
        ({"prob.npy": described((1,), "|O") + bytes(8)}, "Python objects"),
        (
            {"prob.npy": preamble("[" * 2**20, version=2)},
            "'prob' is not an array: Header info length",
        ),
        ({"prob.npy": b"\x80\x04K\x01."}, "'prob' is not an array"),
        ({"prob.npy": preamble("nonsense")}, "cannot be read as an equirl file"),
    ],
    ids=["long", "overflow", "negative", "empty items", "objects", "preamble", "pickle", "nonsense"],
)
def test_a_member_that_is_not_what_it_says_is_refused(members, reason, tmp_path):
    path = zipped(tmp_path / "mdp.npz", members, zipfile.ZIP_STORED)
    with pytest.raises(DamagedFile, match=reason):
        eq.TabularMDP.load(path)


def test_very_many_members_are_refused_before_they_are_listed(tmp_path, monkeypatch):
    path, n = tmp_path / "mdp.npz", 60_000
    names = [f"a{k:05}.npy".encode() for k in range(n)]
    local = [struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0) + name for name in names]
    entry = struct.Struct("<4s6H3L5H2L")
    listed = [
        entry.pack(b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, k * len(local[0])) + name
        for k, name in enumerate(names)
    ]
    files, directory = b"".join(local), b"".join(listed)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, n, n, len(directory), len(files), 0)
    path.write_bytes(files + directory + end)
    sealed(path)
    assert len(zipfile.ZipFile(path).namelist()) == n
    monkeypatch.setattr(archives.zipfile, "ZipFile", lambda _: pytest.fail("the members were listed"))
    with pytest.raises(DamagedFile, match="60,000 members or more; at most 1,000 are expected"):
        eq.TabularMDP.load(path)


def test_another_compression_than_ours_is_refused(tmp_path):
    path = zipped(tmp_path / "mdp.npz", {"prob.npy": array_bytes(np.zeros(9))}, zipfile.ZIP_LZMA)
    with pytest.raises(DamagedFile, match="compressed in a way that equirl does not use"):
        eq.TabularMDP.load(path)


@pytest.mark.parametrize("name", ["prob.npy", "surplus.npy", "notes.txt"])
def test_a_small_file_that_unpacks_to_hundreds_of_megabytes_is_refused_before_it_is_unpacked(name, tmp_path):
    path, chunk = tmp_path / "bomb.npz", bytes(2**20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.npy", array_bytes(np.array(json.dumps(HEADER))))
        with archive.open(name, "w") as member:
            member.write(described((2**25,)))
            for _ in range(256):
                member.write(chunk)
    sealed(path)
    assert path.stat().st_size < 2 * 2**20
    code = """
        import resource, sys, zipfile
        import equirl as eq
        from equirl.files import whole_files as files
        unpacked, read = [], zipfile.ZipExtFile.read
        def counted(self, *given):
            unpacked.append(read(self, *given))
            return unpacked[-1]
        zipfile.ZipExtFile.read = counted
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            eq.TabularMDP.load(sys.argv[1])
        except files.DamagedFile as error:
            print(error)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert sum(map(len, unpacked)) < 2**20, f"{sum(map(len, unpacked))} bytes unpacked"
        assert grown < 40_000, f"{grown} kB"
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), path], capture_output=True, text=True, check=False
    )
    assert "would unpack to 268,43" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


def test_a_run_file_with_a_header_of_megabytes_is_refused(tmp_path):
    path = Store(tmp_path).path(specs()[0])
    write_aside(path, pack_run({"t": np.arange(3)}, {"spec": "x" * 2**20}))
    with pytest.raises(DamagedFile, match="its header has 1,048,"):
        Store(tmp_path).read(specs()[0])


def test_the_names_of_very_many_states_are_no_reason_to_refuse(tmp_path):
    n = 50_000
    moves = [(k, 0, {(k + 1) % n: 1.0}, 0.0) for k in range(n)]
    mdp = eq.TabularMDP.from_pairs(moves, n, state_names=[f"state number {k}" for k in range(n)])
    mdp.save(tmp_path / "mdp.npz")
    assert eq.TabularMDP.load(tmp_path / "mdp.npz").pairs.state_names == mdp.pairs.state_names


def test_an_array_that_compresses_too_well_is_saved_so_that_it_loads(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 2**20)
    zeros = np.zeros(2**18)
    save_npz(tmp_path / "file.npz", "kind", 1, {"zeros": zeros}, {})
    assert (tmp_path / "file.npz").stat().st_size > zeros.nbytes // MOST_EXPANSION
    arrays, _ = load_npz(tmp_path / "file.npz", "kind", 1)
    np.testing.assert_array_equal(arrays["zeros"], zeros)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(12)[::2], np.array(7),
        np.zeros((3, 0)), np.array(["a", "bcd"]), np.array([True, False]), np.array([1 + 2j]),
        np.arange(3, dtype=">i4"),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_of_every_plain_kind_come_back_equal_and_writable(array, tmp_path):
    save_npz(tmp_path / "file.npz", "kind", 1, {"file": array, "other": array}, {})
    arrays, _ = load_npz(tmp_path / "file.npz", "kind", 1)
    assert list(arrays) == ["file", "other"]
    for back in arrays.values():
        assert (back.dtype, back.shape, back.flags.writeable) == (array.dtype, array.shape, True)
        np.testing.assert_array_equal(back, array)


def test_a_packed_archive_is_one_that_numpy_reads(tmp_path):
    (tmp_path / "file.npz").write_bytes(pack({"x": np.arange(3), "y": np.ones(2)}))
    with np.load(tmp_path / "file.npz") as file:
        assert {name: file[name].tolist() for name in file} == {"x": [0, 1, 2], "y": [1.0, 1.0]}


def test_a_directory_that_hides_arrays_is_noticed_even_without_a_list(tmp_path):
    """The count at the end of a zip file must agree with its directory; readers of zip files do not compare them."""
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.arange(3) for name in "abc"})
    content = bytearray(buffer.getvalue())
    end = content.rindex(b"PK\x05\x06")
    size, offset = struct.unpack("<2L", content[end + 12 : end + 20])
    last = content.rindex(b"PK\x01\x02")
    content[end + 12 : end + 16] = struct.pack("<L", last - offset)
    content[last:end] = b""
    (tmp_path / "file.npz").write_bytes(content)
    sealed(tmp_path / "file.npz")
    assert zipfile.ZipFile(tmp_path / "file.npz").namelist() == ["a.npy", "b.npy"]
    assert size > last - offset
    with open_file(tmp_path / "file.npz") as handle, pytest.raises(ValueError, match="list the 3 arrays"):
        Archive(handle)


def test_the_limit_of_members_is_beyond_what_learners_save():
    agent = eq.simulate(eq.make("riverswim", n_states=4), "c-psrl", 50).agent
    assert len(agent.state().arrays) < MOST_MEMBERS / 10


def test_what_would_have_to_be_pickled_is_not_written():
    with pytest.raises(ValueError, match="pickle"):
        pack({"objects": np.array([{}, None], object)})
