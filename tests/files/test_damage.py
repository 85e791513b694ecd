"""Damage at every place of a file is noticed."""

import io
import json
import zipfile

import numpy as np
import pytest

import equirl as eq
from damage_kit import SUBJECTS, flipped, sealed, tally, zeroed
from equirl.files.archives import pack
from equirl.files.whole_files import DamagedFile
from equirl.lab.studies.run_files import pack_run
from equirl.lab.studies.store import Store
from mdps_kit import small
from studies_kit import specs

STRIDE = 37  # of the bits tried in the quick tests; it is prime, so all eight of a byte have their turn


ARCHIVES = [kind for kind, subject in SUBJECTS.items() if subject.format]


@pytest.fixture(params=SUBJECTS)
def kind(request):
    return request.param


@pytest.fixture
def subject(kind):
    return SUBJECTS[kind]


only_archives = pytest.mark.parametrize("kind", ARCHIVES)


@pytest.fixture
def path(subject, tmp_path):
    return subject.make(tmp_path)


def test_a_flipped_bit_is_noticed(subject, path):
    content = path.read_bytes()
    bits = range(0, 8 * len(content), STRIDE)
    assert tally(subject, path, [flipped(content, bit) for bit in bits]) == {"refused": len(bits)}


@pytest.mark.fuzz
def test_every_flipped_bit_is_noticed(kind, subject, path):
    content = path.read_bytes()
    ends = tally(subject, path, [flipped(content, bit) for bit in range(8 * len(content))])
    print(f"{kind}: {8 * len(content)} bits, {ends}")
    assert ends == {"refused": 8 * len(content)}


def test_a_file_cut_anywhere_is_refused(subject, path):
    content = path.read_bytes()
    assert tally(subject, path, [content[:n] for n in range(len(content))]) == {"refused": len(content)}


def test_sixteen_zeroed_bytes_are_noticed(subject, path):
    content = path.read_bytes()
    changed = [new for n in range(0, len(content), 5) if (new := zeroed(content, n)) != content]
    assert tally(subject, path, changed) == {"refused": len(changed)}


FOREIGN = [b"x", b"PK", b"\x00" * 22, b"#!/bin/sh\n", b"\r\n"]


def test_bytes_before_a_file_are_refused(subject, path):
    content = path.read_bytes()
    assert tally(subject, path, [foreign + content for foreign in FOREIGN]) == {"refused": len(FOREIGN)}


def test_bytes_after_a_file_are_refused(subject, path):
    content = path.read_bytes()
    assert tally(subject, path, [content + foreign for foreign in FOREIGN]) == {"refused": len(FOREIGN)}


def test_two_files_one_after_the_other_are_refused(subject, path):
    content = path.read_bytes()
    other = SUBJECTS["mdp"].make(path.parent).read_bytes() if path.name != "mdp.npz" else content
    assert tally(subject, path, [content + content, other + content, content + other]) == {"refused": 3}


@only_archives
def test_a_file_without_a_seal_is_refused(subject, path):
    arrays, _ = subject.content(path)
    np.savez_compressed(path, **arrays)
    with pytest.raises(DamagedFile, match="its seal is missing: an older equirl or something else packed it"):
        subject.load(path)


def rewritten(path, change):
    """The file with its header and arrays changed, its list left as it was, and a seal that fits."""
    with np.load(path) as file:
        members = dict(file)
    header = json.loads(str(members.pop("header")))
    change(members, header)
    path.write_bytes(pack({"header": np.array(json.dumps(header)), **members}))


TWINS = {
    "name": ({"name": "one"}, {"name": "other"}),
    "state names": ({"state_names": ["a", "b"]}, {"state_names": ["b", "a"]}),
    "action names": ({"action_names": ["x", "y"]}, {"action_names": ["y", "x"]}),
    "discount": ({"discount": 0.9}, {"discount": 0.8}),
    "rewards": ({"reward_map": (1.0, 0.0)}, {"reward_map": (2.0, 0.0)}),
    "distribution of rewards": ({"reward_law": "bernoulli"}, {"reward_law": "beta"}),
}


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}, archive.comment


@pytest.mark.parametrize("keep_seal", [True, False])
@pytest.mark.parametrize("differ", TWINS)
def test_the_header_of_another_mdp_with_equal_arrays_is_refused(differ, keep_seal, tmp_path):
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    for place, settings in zip((one, other), TWINS[differ], strict=True):
        small(**settings).save(place)
    (members, seal), (others, _) = members_of(one), members_of(other)
    own, header = members.pop("header.npy"), others.pop("header.npy")
    assert members == others
    assert own != header
    with zipfile.ZipFile(one, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"header.npy": header, **members}.items():
            archive.writestr(name, content)
        archive.comment = seal if keep_seal else b""
    with pytest.raises(DamagedFile, match="its seal does not fit" if keep_seal else "its seal is missing"):
        eq.TabularMDP.load(one)


def test_a_header_put_in_place_of_another_byte_by_byte_is_refused(tmp_path):
    """Equal lengths and checksums of the zip file made to fit: only the seal knows."""
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    small(name="toy number one").save(one)
    small(name="toy number two").save(other)
    members, seal = members_of(one)
    members["header.npy"] = members_of(other)[0]["header.npy"]
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(content)) for name, content in members.items()}
    exchanged = pack(arrays)
    assert exchanged == other.read_bytes()
    one.write_bytes(exchanged[: -len(seal)] + seal)
    with pytest.raises(DamagedFile, match="its seal does not fit"):
        eq.TabularMDP.load(one)


@only_archives
def test_two_members_of_one_name_are_refused(path, subject):
    members, _ = members_of(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in [*members.items(), ("header", members["header.npy"])]:
            archive.writestr(name, content)
    sealed(path)
    with pytest.raises(DamagedFile, match="its directory does not list"):
        subject.load(path)


@only_archives
def test_an_archive_of_a_later_format_is_refused_by_its_number(path, subject):
    rewritten(path, lambda _, header: header.update(archive=3))
    with pytest.raises(DamagedFile, match="is an archive of format 3; this equirl reads format 2"):
        subject.load(path)


CHANGES = {
    "is missing": lambda members, _: members.popitem(),
    "is not in its list of arrays": lambda members, _: members.update(surplus=np.zeros(3)),
    "is not what was saved": lambda members, _: members.update({n: a[::-1].copy() + 1 for n, a in members.items()}),
}


@only_archives
@pytest.mark.parametrize("reason", CHANGES)
def test_an_array_that_is_lost_added_or_altered_is_named(subject, path, reason):
    rewritten(path, CHANGES[reason])
    with pytest.raises(DamagedFile, match=f"is damaged: the array '\\w+' {reason}"):
        subject.load(path)


@only_archives
@pytest.mark.parametrize("value", ["int8", ">f8"])
def test_an_array_of_another_type_with_the_same_values_is_noticed(path, subject, value):
    rewritten(path, lambda members, _: members.update({n: a.astype(value) for n, a in members.items()}))
    with pytest.raises(DamagedFile, match="is not what was saved"):
        subject.load(path)


@only_archives
@pytest.mark.parametrize("listing", [{}, [], "none", 3])
def test_a_list_that_is_none_is_damage(subject, path, listing):
    rewritten(path, lambda _, header: header.update(arrays=listing))
    with pytest.raises(DamagedFile):
        subject.load(path)


@only_archives
@pytest.mark.parametrize("meta", [None, [], "text", 0])
def test_a_header_whose_settings_are_no_mapping_is_damage(subject, path, meta):
    rewritten(path, lambda _, header: header.update(meta=meta))
    with pytest.raises(DamagedFile, match="its header is not whole"):
        subject.load(path)


@pytest.mark.parametrize("key", ["spec", "everything", "facts", "provenance"])
@pytest.mark.parametrize("value", [None, 3, "text", [], {}])
def test_a_run_file_with_foreign_settings_is_damaged_or_whole_but_never_an_error_of_another_kind(key, value, tmp_path):
    path = SUBJECTS["run"].make(tmp_path)
    arrays, meta = SUBJECTS["run"].content(path)
    path.write_bytes(pack_run(arrays, meta | {key: value}))
    status = Store(tmp_path).status(specs()[:1])
    assert len(status.done) + len(status.damaged) == 1
    assert bool(status.damaged) == ((key, value) != ("provenance", {}))
