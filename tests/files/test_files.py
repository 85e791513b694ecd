"""Files of MDPs: what is saved loads equal, and whatever else is refused by name."""

import io
import json
import zipfile

import numpy as np
import pytest

from equirl.files.archives import load_npz, pack, save_npz
from equirl.files.whole_files import DamagedFile, write_aside
from equirl.model.mdp import Picture, TabularMDP
from mdps_kit import small, uneven


def changed(array, index, value):
    array = np.array(array)
    array[index] = value
    return array


@pytest.mark.parametrize(
    "mdp",
    [
        uneven(),
        small(state_names=["a", "b"], action_names=["x", "y"], name="toy", reward_map=(3.0, -1.0)),
        small(reward_law="beta", concentration=7.5),
        small(picture=Picture(("SG",), np.array([[0, 0], [0, 1]])), initial=[0.25, 0.75]),
    ],
    ids=["uneven", "names", "beta", "picture"],
)
def test_a_saved_mdp_loads_equal(mdp, tmp_path):
    mdp.save(tmp_path / "mdp.npz")
    loaded = TabularMDP.load(tmp_path / "mdp.npz")
    assert loaded == mdp
    assert (loaded.name, loaded.concentration) == (mdp.name, mdp.concentration)


def test_saving_replaces_a_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "mdp.npz"
    uneven().save(path)
    small().save(path)
    assert TabularMDP.load(path) == small()
    assert [file.name for file in tmp_path.iterdir()] == ["mdp.npz"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = write_aside(tmp_path / "file", b"old")
    with pytest.raises(TypeError):
        write_aside(path, "not bytes")
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        TabularMDP.load(tmp_path / "none.npz")


def saved(tmp_path):
    path = tmp_path / "mdp.npz"
    uneven().save(path)
    return path


def array_file(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"not a zip", b"PK\x03\x04 but no more", array_file(np.arange(3))],
    ids=["empty", "text", "zip start", "npy"],
)
def test_a_foreign_file_is_refused(content, tmp_path):
    path = tmp_path / "mdp.npz"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"mdp\.npz"):
        TabularMDP.load(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_refused(share, tmp_path):
    path = saved(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DamagedFile):
        TabularMDP.load(path)


def test_a_file_with_a_changed_byte_is_refused(tmp_path):
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        start = file.getinfo("prob.npy").header_offset
    content[start + 60] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(DamagedFile):
        TabularMDP.load(path)


def test_an_npz_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.arange(3))
    with pytest.raises(DamagedFile, match="something else packed it"):
        TabularMDP.load(tmp_path / "other.npz")
    (tmp_path / "sealed.npz").write_bytes(pack({"x": np.arange(3)}))
    with pytest.raises(DamagedFile, match="it has no header"):
        TabularMDP.load(tmp_path / "sealed.npz")


def test_an_equirl_file_of_another_kind_is_refused_by_its_kind(tmp_path):
    save_npz(tmp_path / "trace.npz", "equirl-trace", 1, {}, {})
    with pytest.raises(DamagedFile, match="holds 'equirl-trace', not 'equirl-mdp'"):
        TabularMDP.load(tmp_path / "trace.npz")


def test_a_later_format_version_is_refused_by_its_number(tmp_path):
    save_npz(tmp_path / "mdp.npz", "equirl-mdp", 99, {}, {})
    with pytest.raises(DamagedFile, match="format version 99; this equirl reads version 1"):
        TabularMDP.load(tmp_path / "mdp.npz")


def test_an_array_of_objects_is_never_saved(tmp_path):
    with pytest.raises(TypeError, match="'bad' holds Python objects"):
        save_npz(tmp_path / "file.npz", "kind", 1, {"bad": np.array([{}])}, {})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("succ", [1, 1, 0, 2, 0]),
        ("succ", [1, 0, 1, 9, 0]),
        ("succ_ptr", [0, 3, 1, 4, 5]),
        ("prob", [1.0, 0.5, 0.4, 1.0, 1.0]),
        ("pair_ptr", [0, 2, 1, 4]),
        ("action", [0, 7, 0, 3]),
        ("r_mean", [0.0, 1.0, 0.2]),
        ("r_mean", [0.0, 1.0, 0.2, 1.5]),
        ("initial", [0.5, 0.0, 0.0]),
        ("action", None),
    ],
)
def test_a_file_whose_parts_contradict_each_other_is_refused(field, value, tmp_path):
    path = saved(tmp_path)
    arrays, meta = load_npz(path, "equirl-mdp", 1)
    arrays[field] = np.array(value)
    save_npz(path, "equirl-mdp", 1, {k: v for k, v in arrays.items() if v.dtype != object}, meta)
    with pytest.raises(DamagedFile, match="does not hold a valid MDP"):
        TabularMDP.load(path)


@pytest.mark.parametrize(("key", "value"), [("reward_law", "fair"), ("state_names", ["a"]), ("reward_map", 1)])
def test_a_file_with_wrong_settings_is_refused(key, value, tmp_path):
    path = saved(tmp_path)
    arrays, meta = load_npz(path, "equirl-mdp", 1)
    save_npz(path, "equirl-mdp", 1, arrays, json.loads(json.dumps(meta | {key: value})))
    with pytest.raises(DamagedFile, match="does not hold a valid MDP"):
        TabularMDP.load(path)
