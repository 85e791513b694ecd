"""The delivery round against its rules, written out cell by cell."""

from __future__ import annotations

import pytest

from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import load_world, make
from oracles_rules import check_against_rules, check_against_toolbox, optimal_gain
from worlds_kit import close

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
SIDES = {"up": ("left", "right"), "down": ("left", "right"), "left": ("up", "down"), "right": ("up", "down")}
SMALL = ["P.~", ":#~", ".~D"]


def delivery_by_hand(rows, road=(0.8, 0.05, 0.1), ice=(0.5, 0.25, 0.0), sand=(0.4, 0.05, 0.5)):
    ground = {(r, c): mark for r, row in enumerate(rows) for c, mark in enumerate(row) if mark != "#"}
    model = {}
    for (r, c), mark in ground.items():
        for load in ("", ",loaded"):
            choices = {}
            for action in STEPS:
                if mark == ("D" if load else "P"):
                    choices[action] = (float(bool(load)), {f"{r},{c}{'' if load else ',loaded'}": 1.0})
                    continue
                forward, side, stay = {"~": ice, ":": sand}.get(mark, road)
                law = {f"{r},{c}{load}": stay}
                for step, p in ((action, forward), *((s, side) for s in SIDES[action])):
                    there = (r + STEPS[step][0], c + STEPS[step][1])
                    row, column = there if there in ground else (r, c)
                    after = f"{row},{column}{load}"
                    law[after] = law.get(after, 0.0) + p
                choices[action] = (0.0, law)
            model[f"{r},{c}{load}"] = choices
    return model


def test_a_small_delivery_round_is_that_of_the_rules():
    check_against_rules(make("delivery", map=SMALL), delivery_by_hand(SMALL))


def test_the_default_town_is_that_of_the_rules():
    mdp = make("delivery")
    rows = ["#########", "#P.~~~..#", "#..~~~:.#", "#.##~.:.#", "#..::::.#", "#...::.D#", "#########"]
    check_against_rules(mdp, delivery_by_hand(rows))
    check_against_toolbox(mdp)


def test_sure_steps_deliver_once_a_round():
    """Four steps there, four back, one to load and one to deliver."""
    mdp = make("delivery", map="P..../####D", road="1/0/0")
    assert optimal_gain(mdp) == pytest.approx(1 / (2 * 5 + 2))


def test_each_landform_has_its_own_move():
    mdp = make("delivery", map="...../.~.:./...../P...D")
    assert mdp.transition_probabilities("1,1", "up") == close({"0,1": 0.5, "1,0": 0.25, "1,2": 0.25})
    assert mdp.transition_probabilities("1,3", "up") == close({"0,3": 0.4, "1,2": 0.05, "1,4": 0.05, "1,3": 0.5})
    assert mdp.transition_probabilities("1,2", "up") == close({"0,2": 0.8, "1,1": 0.05, "1,3": 0.05, "1,2": 0.1})


def test_with_a_parcel_one_slips_as_without():
    mdp = make("delivery")
    label = equivalence_classes(mdp).label
    assert (mdp.n_states, mdp.n_pairs, label.max() + 1) == (66, 264, 10)
    assert equivalence_classes(mdp, rewards=False).n_classes == 9
    assert label[mdp.pairs.index("2,4", "up")] == label[mdp.pairs.index("1,4,loaded", "down")]


def test_the_picture_shows_the_map_without_a_parcel_and_with_one():
    mdp = make("delivery", map=SMALL)
    assert mdp.picture.rows == ("S.~#..~", ":#~#:#~", ".~.#.~G")
    cells = {name: tuple(cell) for name, cell in zip(mdp.pairs.state_names, mdp.picture.cell.tolist(), strict=True)}
    assert cells["2,0"] == (2, 0)
    assert cells["2,0,loaded"] == (2, 4)
    assert len(set(cells.values())) == mdp.n_states


def test_a_town_is_named_by_its_map():
    mdp = make("delivery", map=SMALL, ice=[0.6, 0.2, 0.0])
    assert mdp.name == "delivery:map=P.~/:#~/.~D,ice=0.6/0.2/0.0"
    assert load_world(mdp.name) == mdp


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"map": "P.x"}, "cell 0,2 of the map is 'x'; it may be one of # . ~ : P D"),
        ({"map": "P.."}, "the map has no door to deliver to: mark a cell with D"),
        ({"map": "D.."}, "the map has no pick-up point: mark a cell with P"),
        ({"map": "PPD"}, "the map has 2 cells P; it needs one pick-up point"),
        ({"map": ""}, "it needs at least a pick-up point P and a door to deliver to D"),
        ({"ice": "0.5/0.3"}, "has 2 numbers; it needs forward, side and stay"),
        ({"sand": (0.9, 0.2, 0.1)}, r"forward \+ 2 side \+ stay is 1.4, not 1"),
    ],
)
def test_a_wrong_delivery_is_refused(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make("delivery", **params)
