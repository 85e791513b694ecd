"""Damage at every place of a file: it is noticed, or it changes nothing."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

import equirl as eq
from damage_kit import SUBJECTS, flipped, tally, without_list, zeroed
from equirl.core.files import DamagedFile, save_npz
from equirl.studies.run_specs import RESULT_VERSION
from equirl.studies.store import Store
from studies_kit import specs

STRIDE = 37  # of the bits tried in the quick tests; it is prime, so all eight of a byte have their turn
FORMAT_1 = Path(__file__).parents[1] / "learners" / "format1"


@pytest.fixture(params=SUBJECTS)
def kind(request):
    return request.param


@pytest.fixture
def subject(kind):
    return SUBJECTS[kind]


@pytest.fixture
def path(subject, tmp_path):
    return subject.make(tmp_path)


def test_a_flipped_bit_is_noticed_or_changes_nothing(subject, path):
    content = path.read_bytes()
    ends = tally(subject, path, [flipped(content, bit) for bit in range(0, 8 * len(content), STRIDE)])
    assert set(ends) == {"refused", "same"}
    assert ends["refused"] > ends["same"]


@pytest.mark.fuzz
def test_every_flipped_bit_is_noticed_or_changes_nothing(kind, subject, path):
    content = path.read_bytes()
    ends = tally(subject, path, [flipped(content, bit) for bit in range(8 * len(content))])
    print(f"{kind}: {8 * len(content)} bits, {ends}")
    assert set(ends) == {"refused", "same"}


@pytest.mark.fuzz
def test_every_flipped_bit_of_a_file_without_a_list_is_noticed_or_changes_nothing(kind, subject, path):
    path.write_bytes(without_list(subject.content(path), subject.format))
    content = path.read_bytes()
    ends = tally(subject, path, [flipped(content, bit) for bit in range(8 * len(content))])
    print(f"{kind} without a list: {8 * len(content)} bits, {ends}")
    assert set(ends) == {"refused", "same"}


def test_a_file_cut_anywhere_is_refused(subject, path):
    content = path.read_bytes()
    assert tally(subject, path, [content[:n] for n in range(len(content))]) == {"refused": len(content)}


def test_sixteen_zeroed_bytes_are_noticed_or_change_nothing(subject, path):
    content = path.read_bytes()
    assert set(tally(subject, path, [zeroed(content, n) for n in range(0, len(content), 5)])) == {"refused", "same"}


def test_a_file_without_a_list_of_its_arrays_still_loads(subject, path):
    whole = subject.content(path)
    path.write_bytes(without_list(whole, subject.format))
    assert subject.outcome(path, whole) == "same"


def test_a_learner_of_the_first_format_is_still_refused_when_damaged(tmp_path):
    content, path = (FORMAT_1 / "optimal.npz").read_bytes(), tmp_path / "optimal.npz"
    path.write_bytes(content)
    eq.load_agent(path)
    for n in range(0, len(content), 29):
        path.write_bytes(content[:n])
        with pytest.raises(DamagedFile):
            eq.load_agent(path)


def rewritten(path, change):
    """The file with its header and arrays changed, and its list left as it was."""
    with np.load(path) as file:
        members = dict(file)
    header = json.loads(str(members.pop("header")))
    change(members, header)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=np.array(json.dumps(header)), **members)
    path.write_bytes(buffer.getvalue())


CHANGES = {
    "is missing": lambda members, _: members.popitem(),
    "is not in its list of arrays": lambda members, _: members.update(surplus=np.zeros(3)),
    "is not what was saved": lambda members, _: members.update({n: a[::-1].copy() + 1 for n, a in members.items()}),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_an_array_that_is_lost_added_or_altered_is_named(subject, path, reason):
    rewritten(path, CHANGES[reason])
    with pytest.raises(DamagedFile, match=f"is damaged: the array '\\w+' {reason}"):
        subject.load(path)


@pytest.mark.parametrize("value", ["int8", ">f8"])
def test_an_array_of_another_type_with_the_same_values_is_noticed(path, subject, value):
    rewritten(path, lambda members, _: members.update({n: a.astype(value) for n, a in members.items()}))
    with pytest.raises(DamagedFile, match="is not what was saved"):
        subject.load(path)


@pytest.mark.parametrize("listing", [{}, [], "none", 3])
def test_a_list_that_is_none_is_damage(subject, path, listing):
    rewritten(path, lambda _, header: header.update(arrays=listing))
    with pytest.raises(DamagedFile):
        subject.load(path)


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
    save_npz(path, "equirl-run", RESULT_VERSION, arrays, meta | {key: value})
    status = Store(tmp_path).status(specs()[:1])
    assert len(status.done) + len(status.damaged) == 1
    assert bool(status.damaged) == (key != "everything" and (key, value) != ("provenance", {}))
