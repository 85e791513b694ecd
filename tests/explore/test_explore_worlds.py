"""What a page is told of worlds: the library's own numbers and messages."""

from __future__ import annotations

import base64
import sys
from collections import Counter

import numpy as np
import pytest

import equirl as eq
from equirl.files.archives import save_npz
from equirl.lab.explore.first_view import first_view_of
from equirl.lab.explore.forms import catalogue, parameter_notes, world_fields
from equirl.lab.explore.page_requests import blamed_parameter, requested_world
from equirl.lab.explore.world_service import FactsService, WorldService, WorldView
from equirl.structure.partition import Partition
from equirl.structure.quality import match_classes
from equirl.worlds.grids import four_room
from equirl.worlds.world_registry import WORLDS
from explore_kit import unpacked


def shown(text, **fields):
    return next(WorldService({}).handle({"do": "world", "world": {"text": text}, **fields}))


@pytest.mark.parametrize(
    "world", ["four-room", "riverswim:n_states=8", "frozen-lake", "random:n_states=12,seed=3", "taxi"]
)
@pytest.mark.parametrize("rewards", [True, False])
def test_what_is_shown_of_a_world_is_what_the_library_says(world, rewards):
    told, mdp = shown(world, rewards=rewards), eq.load_world(world)
    part = eq.equivalence_classes(mdp, rewards=rewards)
    assert (told["S"], told["M"], told["C"]) == (mdp.n_states, mdp.n_pairs, part.n_classes)
    assert told["chain"] == eq.chain_kind(mdp)
    np.testing.assert_array_equal(unpacked(told["label"]), part.label)
    np.testing.assert_array_equal(unpacked(told["ptr"]), mdp.pairs.ptr)


@pytest.mark.parametrize("side", [30, 90])
def test_a_grid_is_shown_with_a_few_calls_per_pair_and_loops_in_kernels(side):
    shown(f"random-walls:height={side},width={side},seed=2")  # compiles
    calls = Counter()
    sys.setprofile(lambda _, event, __: calls.update([event]))
    try:
        told = shown(f"random-walls:height={side},width={side},seed=1")
    finally:
        sys.setprofile(None)
    assert told["M"] > side**2
    assert calls["call"] + calls["c_call"] < 10 * told["M"]


def test_a_pair_shows_its_profile_and_where_each_mass_goes():
    mdp = eq.make("four-room")
    view, profiles = WorldView(mdp), eq.profiles(mdp)
    for pair in range(mdp.n_pairs):
        told = view.pair(pair)
        assert [item["state"] for item in told["goes"]] == profiles.order(pair).tolist()
        assert [item["mass"] for item in told["goes"]] == profiles.profile(pair).tolist()
        assert told["size"] == (view.partition.label == view.partition.label[pair]).sum()


@pytest.mark.parametrize("pair", [-1, 80, 10**30, True, "3", None, 1.0])
def test_a_pair_that_is_none_is_named(pair):
    with pytest.raises(ValueError, match="there is no pair"):
        WorldView(eq.make("four-room")).pair(pair)


def test_facts_are_those_of_the_library():
    gain, longest = FactsService({}).handle({"do": "facts", "world": {"text": "access-control"}})
    mdp = eq.make("access-control")
    best = eq.solve(mdp)
    assert (gain["gain"], gain["own_gain"]) == (best.unit_gain, best.gain)
    np.testing.assert_array_equal(unpacked(gain["policy"]), best.policy_pair)
    assert longest["diameter"] == eq.diameter(mdp)


def test_a_diameter_that_takes_long_is_found_where_asked_for():
    asked = {"text": "random-walls:height=27,width=27"}
    *_, unasked = FactsService({}).handle({"do": "facts", "world": asked})
    assert unasked["diameter"] is None
    assert "where asked for" in unasked["why"]
    assert unasked["offered"]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"text": "four-rom"}, "did you mean 'four-room'"),
        ({"text": "four-room:height=3"}, "height must be at least 5, not 3"),
        ({"text": "four-room:heigth=9"}, "did you mean 'height'"),
        ({"text": "grid:map=S..."}, "the map has no goal"),
        ({"text": "grid:map=S..G,kernel=0.9/0.1/0.1"}, "not 1"),
        ({"text": "riverswim:n_states=1000000"}, "more than this page takes"),
        ({"text": "riverswim:n_states=90000"}, "too large for this page"),
        ({"text": 7}, "must be text"),
        ({"file": "../secret.npz"}, "unknown file"),
        ({"file": "/etc/passwd"}, "unknown file"),
        ({"file": None}, "unknown file"),
        ({"text": "four-room", "file": "x"}, "asked for by its text"),
        ("four-room", "asked for by its text"),
        (None, "asked for by its text"),
        ({"text": "shop.npz"}, "unknown world"),
        ({"text": "../../etc/passwd.txt"}, "unknown world"),
    ],
)
def test_wrong_worlds_are_refused_in_the_librarys_words(asked, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        requested_world(asked, {})


def test_a_complaint_is_shown_at_the_field_it_names():
    assert blamed_parameter({"text": "grid:map=S..."}, "the map has no goal: mark a cell with G") == "map"
    assert blamed_parameter({"text": "four-room"}, "something else") is None
    assert blamed_parameter({"file": "x"}, "height") is None


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_has_a_form_whose_defaults_make_it(name):
    fields = world_fields(WORLDS[name])
    assert [field["name"] for field in fields] == list(WORLDS[name].params)
    assert all(field["note"] for field in fields)
    text = ",".join(f"{f['name']}={f['default']}" for f in fields if f["default"] and f["kind"] != "map")
    told = shown(f"{name}:{text}")
    assert told["S"] == eq.make(name).n_states


def test_notes_come_from_the_docstring():
    assert parameter_notes(four_room)["height"] == "The size of the map, outer walls included; at least 5."
    assert parameter_notes(four_room)["width"] == parameter_notes(four_room)["height"]


def test_the_catalogue_has_every_learner():
    assert set(catalogue()["learners"]) >= {"c-psrl", "ucrl2-l", "random"}


@pytest.mark.parametrize("what", ["svg", "png", "csv", "npz", "py"])
def test_what_is_taken_away_is_whole(what, tmp_path):
    service = WorldService({})
    list(service.handle({"do": "world", "world": {"text": "grid:map=S3.G"}}))
    file = next(service.handle({"do": "take", "what": what}))
    path = tmp_path / file["name"]
    path.write_bytes(base64.b64decode(file["base64"]))
    mdp = eq.make("grid", map="S3.G")
    if what == "npz":
        assert eq.TabularMDP.load(path) == mdp
    elif what == "csv":
        lines = path.read_text().splitlines()
        assert lines[0] == "pair,state,action,class,mean_reward,profile"
        assert len(lines) == 1 + mdp.n_pairs
    elif what == "py":
        names = {}
        exec(
            path.read_text().replace("print(", "found = (").replace("found = (eq.diameter", "print(eq.diameter"), names
        )
        best = eq.solve(mdp)
        assert names["found"] == (4, 16, eq.equivalence_classes(mdp).n_classes, best.gain, best.kind)
    else:
        assert path.read_bytes().startswith({"svg": b"<?xml", "png": b"\x89PNG"}[what])


def test_what_cannot_be_taken_away_is_named():
    service = WorldService({})
    with pytest.raises(ValueError, match="ask for a world first"):
        list(service.handle({"do": "take", "what": "svg"}))
    list(service.handle({"do": "world", "world": {"text": "grid"}}))
    with pytest.raises(ValueError, match="unknown file to take away 'exe'"):
        list(service.handle({"do": "take", "what": "exe"}))


def test_found_classes_take_the_place_of_those_they_overlap_most():
    truth = Partition.from_labels("aaaabbbbcc")
    assert match_classes(truth, truth).tolist() == [0, 1, 2]
    assert match_classes(Partition.singletons(10), truth).tolist() == [0, -1, -1, -1, 1, -1, -1, -1, 2, -1]
    assert match_classes(Partition.from_labels("x" * 10), truth).tolist() == [0]


def test_files_are_opened_by_name_alone(tmp_path):
    eq.make("riverswim", n_states=5).save(tmp_path / "river.npz")
    (tmp_path / "hall.txt").write_text("S..G")
    save_npz(tmp_path / "other.npz", "something", 1, {}, {})
    (tmp_path / "link.npz").symlink_to("/etc/hostname")
    first_view = first_view_of(str(tmp_path))
    assert set(first_view.files) == {"hall.txt", "other.npz", "river.npz"}
    assert requested_world({"file": "river.npz"}, first_view.files).n_states == 5
    assert requested_world({"file": "hall.txt"}, first_view.files).n_states == 4
    with pytest.raises(ValueError, match="holds 'something'"):
        requested_world({"file": "other.npz"}, first_view.files)


def test_what_the_command_is_pointed_at_becomes_the_state_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    eq.make("riverswim", n_states=5).save("river.npz")
    assert first_view_of(None).fragment == ""
    assert first_view_of("river.npz").fragment == "#view=world&file=river.npz"
    assert first_view_of("http://127.0.0.1:8642/?token=old#view=learning&t=5").fragment == "#view=learning&t=5"
    (tmp_path / "results" / "explored" / "runs").mkdir(parents=True)
    assert first_view_of("results/explored").files == {"results": tmp_path / "results" / "explored"}
    (tmp_path / "explored.toml").write_text('horizon = 10\nworlds = ["riverswim"]\nlearners = ["psrl"]')
    assert first_view_of("explored.toml").fragment == "#view=study"


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ("four-rom", "did you mean"),
        ("missing.npz", "No such file"),
        ("empty", "holds neither"),
        ("new.toml", "nothing of"),
    ],
)
def test_the_command_says_what_it_cannot_open(what, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "new.toml").write_text("horizon = 10")
    with pytest.raises((ValueError, OSError), match=complaint):
        first_view_of(what)


@pytest.mark.parametrize(
    ("given", "fragment"), [("lesson", "#lesson=1"), ("lesson=1", "#lesson=1"), ("lesson=5", "#lesson=5")]
)
def test_a_lesson_is_asked_for_by_its_step(given, fragment):
    assert first_view_of(given).fragment == fragment


@pytest.mark.parametrize("given", ["lesson=6", "lesson=0", "lessons", "lesson="])
def test_a_lesson_has_five_steps(given):
    with pytest.raises(ValueError, match="unknown world"):
        first_view_of(given)
