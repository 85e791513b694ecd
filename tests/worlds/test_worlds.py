"""Rivers, grids and random MDPs, each as its definition says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from equirl.worlds import grids
from equirl.worlds.world_registry import load_world, make
from worlds_kit import close, is_communicating, profiles

# Rivers


def test_riverswim_is_the_one_of_the_specification():
    mdp = make("riverswim", n_states=5)
    assert mdp.transition_probabilities(0, "right") == close({0: 0.6, 1: 0.4})
    assert mdp.transition_probabilities(2, "right") == close({1: 0.05, 2: 0.55, 3: 0.4})
    assert mdp.transition_probabilities(4, "right") == close({3: 0.05, 4: 0.95})
    assert [mdp.transition_probabilities(s, "left") for s in range(5)] == [
        {0: 1.0},
        {0: 1.0},
        {1: 1.0},
        {2: 1.0},
        {3: 1.0},
    ]
    assert mdp.r_mean.tolist() == [0, 0.005, 0, 0, 0, 0, 0, 0, 1.0, 0]
    assert mdp.initial.tolist() == [1, 0, 0, 0, 0]
    assert (mdp.pairs.index(0, "right"), mdp.pairs.index(0, "left")) == (0, 1)


def test_ergodic_riverswim_is_the_one_of_the_specification():
    mdp, plain = make("ergodic-riverswim", n_states=5), make("riverswim", n_states=5)
    assert all(mdp.transition_probabilities(s, "right") == plain.transition_probabilities(s, "right") for s in range(5))
    assert mdp.transition_probabilities(0, "left") == close({0: 0.9, 1: 0.1})
    assert mdp.transition_probabilities(2, "left") == close({1: 0.9, 3: 0.1})
    assert mdp.transition_probabilities(4, "left") == close({3: 1.0})
    assert np.array_equal(mdp.r_mean, plain.r_mean)


@pytest.mark.parametrize("name", ["riverswim", "ergodic-riverswim"])
def test_the_drawing_preset_changes_right_and_the_small_reward(name):
    mdp, figures = make(name, preset="drawing"), make(name)
    assert mdp.transition_probabilities(0, "right") == close({0: 0.4, 1: 0.6})
    assert mdp.transition_probabilities(3, "right") == close({2: 0.05, 3: 0.6, 4: 0.35})
    assert mdp.mean_reward(0, "left") == 0.05
    assert all(
        mdp.transition_probabilities(s, "left") == figures.transition_probabilities(s, "left") for s in range(25)
    )


def test_a_given_parameter_overrides_the_preset():
    mdp = make("riverswim", preset="drawing", small_reward=0.2)
    assert mdp.mean_reward(0, "left") == 0.2
    assert mdp.transition_probabilities(3, "right") == close({2: 0.05, 3: 0.6, 4: 0.35})


@pytest.mark.parametrize(
    ("parameter", "state", "action"),
    [
        ("forward", 3, "right"),
        ("back", 3, "right"),
        ("first_forward", 0, "right"),
        ("last_back", 5, "right"),
        ("left", 3, "left"),
    ],
)
def test_every_number_of_the_river_is_a_parameter(parameter, state, action):
    changed, plain = make("riverswim", n_states=6, **{parameter: 0.15}), make("riverswim", n_states=6)
    assert changed.transition_probabilities(state, action) != plain.transition_probabilities(state, action)


@pytest.mark.parametrize(("parameter", "state"), [("slip", 3), ("first_slip", 0), ("last_left", 5)])
def test_every_number_of_the_ergodic_left_action_is_a_parameter(parameter, state):
    changed, plain = make("ergodic-riverswim", n_states=6, **{parameter: 0.3}), make("ergodic-riverswim", n_states=6)
    moved = [
        s for s in range(6) if changed.transition_probabilities(s, "left") != plain.transition_probabilities(s, "left")
    ]
    assert state in moved
    assert moved == ([1, 2, 3, 4] if parameter == "slip" else [state])


@pytest.mark.parametrize(
    ("arrangement", "n_states", "calm"),
    [("halves", 6, [0, 1, 2]), ("halves", 5, [0, 1, 2]), ("alternating", 5, [0, 2, 4])],
)
def test_two_kinds_rivers_arrange_their_water(arrangement, n_states, calm):
    mdp = make("two-kinds-river", n_states=n_states, arrangement=arrangement)
    ahead = [mdp.transition_probabilities(s, "right").get(s + 1) for s in range(n_states - 1)]
    assert ahead == [0.6 if s in calm else 0.4 for s in range(n_states - 1)]
    assert mdp.transition_probabilities(1, "right")[0] == 0.05
    assert mdp.transition_probabilities(2, "left") == {1: 1.0}
    assert mdp.mean_reward(0, "left") == 0.1


# Grids


def test_a_move_in_the_open_has_the_main_kernel():
    mdp = make("grid", map="S..../...../...../...../....G")
    assert mdp.transition_probabilities("2,2", "up") == close({"1,2": 0.7, "2,1": 0.1, "2,2": 0.1, "2,3": 0.1})
    assert mdp.transition_probabilities("2,2", "down") == close({"3,2": 0.7, "2,1": 0.1, "2,2": 0.1, "2,3": 0.1})
    assert mdp.transition_probabilities("2,2", "left") == close({"2,1": 0.7, "1,2": 0.1, "2,2": 0.1, "3,2": 0.1})
    assert mdp.transition_probabilities("2,2", "right") == close({"2,3": 0.7, "1,2": 0.1, "2,2": 0.1, "3,2": 0.1})


def test_the_appendix_kernel_and_custom_numbers():
    open_field = ["S..", "...", "..G"]
    assert sorted(make("grid", map=open_field, kernel="appendix").transition_probabilities(4, 0).values()) == close(
        [0.05, 0.05, 0.1, 0.8]
    )
    assert sorted(
        make("grid", map=open_field, kernel=(0.5, 0.2, 0.1)).transition_probabilities(4, 0).values()
    ) == close([0.1, 0.2, 0.2, 0.5])


def test_a_move_into_a_wall_or_off_the_map_adds_its_mass_to_staying():
    mdp = make("grid", map="S#/.G")
    assert mdp.transition_probabilities("0,0", "right") == close({"0,0": 0.9, "1,0": 0.1})
    assert mdp.transition_probabilities("0,0", "down") == close({"0,0": 0.3, "1,0": 0.7})


def test_every_action_in_the_goal_pays_and_leads_to_the_start():
    mdp = make("grid", map="#####/#.S.#/#..G#/#####")
    start = mdp.pairs.state_number("1,2")
    assert [mdp.transition_probabilities("2,3", a) for a in range(4)] == [{"1,2": 1.0}] * 4
    assert mdp.r_mean.sum() == 4
    assert mdp.initial[start] == 1


def test_several_starts_are_drawn_from_uniformly():
    mdp = make("grid", map="S.S/..G")
    assert mdp.initial.tolist() == [0.5, 0, 0.5, 0, 0, 0]
    assert mdp.transition_probabilities("1,2", "up") == {"0,0": 0.5, "0,2": 0.5}


def test_the_four_rooms_of_seven_by_seven():
    mdp = make("four-room")
    assert mdp.picture.rows == ("#######", "#S....#", "#..#..#", "#.##.##", "#.....#", "#..#.G#", "#######")
    assert (mdp.n_states, mdp.n_pairs) == (20, 80)


def test_the_two_rooms_of_seven_by_seven():
    assert make("two-room").picture.rows == (
        "#######", "#S....#", "#.....#", "###.###", "#.....#", "#....G#", "#######",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "n_states", "n_pairs"),
    [
        ("four-room:walls_are_states=true", 49, 196),
        ("two-room", 21, 84),
        ("four-room:height=17,width=17", 200, 800),
        ("four-room:height=5,width=5", 8, 32),
        ("two-room:height=6,width=9", 22, 88),
        ("four-room:height=6,width=11", 28, 112),
    ],
)
def test_rooms_have_the_expected_number_of_states(text, n_states, n_pairs):
    mdp = load_world(text)
    assert (mdp.n_states, mdp.n_pairs) == (n_states, n_pairs)


@given(height=st.integers(5, 20), width=st.integers(5, 20), name=st.sampled_from(["four-room", "two-room"]))
@settings(deadline=None, max_examples=40)
def test_rooms_of_any_size_hang_together_with_start_and_goal_in_the_corners(height, width, name):
    mdp = make(name, height=height, width=width)
    rows = mdp.picture.rows
    assert mdp.reachable().all()
    assert (rows[1][1], rows[height - 2][width - 2]) == ("S", "G")
    assert (len(rows), len(rows[0])) == (height, width)


def test_walls_as_states_are_never_reached_and_stay_put():
    mdp = make("four-room", walls_are_states=True)
    walls = [s for s, (r, c) in enumerate(mdp.picture.cell) if mdp.picture.rows[r][c] == "#"]
    assert len(walls) == 29
    assert not mdp.reachable()[walls].any()
    assert all(mdp.transition_probabilities(s, a) == {s: 1.0} for s in walls for a in range(4))


def test_without_its_wall_states_the_world_is_the_plain_one():
    kept = make("four-room", walls_are_states=True).restrict_to_reachable()
    plain = make("four-room")
    assert replace(kept, picture=None) == replace(plain, picture=None)


def test_pictures_place_states_on_the_floor_of_the_map():
    mdp = make("random-walls", height=9, width=12, seed=4)
    marks = [mdp.picture.rows[r][c] for r, c in mdp.picture.cell]
    assert set(marks) == {"S", ".", "G"}
    assert marks[0] == "S"
    assert marks[-1] == "G"
    assert mdp.pairs.state_names[3] == ",".join(map(str, mdp.picture.cell[3]))


@given(seed=st.integers(0, 10**6), density=st.floats(0, 0.5))
@settings(deadline=None, max_examples=40)
def test_random_walls_leave_the_goal_in_reach_of_all_floor(seed, density):
    mdp = make("random-walls", height=12, width=9, density=density, seed=seed)
    assert mdp.reachable().all()
    assert mdp.r_mean.sum() == 4


def rows_by_the_rule(text, forward, side, stay):
    """{(cell, action): {next cell: probability}} of a map whose goals lead to its starts, read off cell by cell."""
    rows = text.split("/")
    floor = {(i, j): mark for i, row in enumerate(rows) for j, mark in enumerate(row) if mark != "#"}
    first = [cell for cell, mark in floor.items() if mark == "S"]
    moves = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    out = {}
    for (i, j), mark in floor.items():
        for action, (down, right) in moves.items():
            row = dict.fromkeys(first, 1 / len(first)) if mark == "G" else {}
            steps = [] if mark == "G" else [((0, 0), stay), ((down, right), forward)]
            steps += [] if mark == "G" else [((right, down), side), ((-right, -down), side)]
            for step, mass in steps:
                to = (i + step[0], j + step[1])
                to = to if to in floor else (i, j)
                row[to] = row.get(to, 0.0) + mass
            out[(i, j), action] = {cell: p for cell, p in row.items() if p > 0}
    return out


@pytest.mark.parametrize("at_once", [1, 3, 1000])
@pytest.mark.parametrize("kernel", [(0.7, 0.1, 0.1), (1.0, 0.0, 0.0), (0.0, 0.25, 0.5)])
@pytest.mark.parametrize("text", ["S.#./.G.S/..#G", "G/S/./S/G", "S.G"])
def test_rows_of_a_grid_follow_the_rule_cell_by_cell(text, kernel, at_once, monkeypatch):
    monkeypatch.setattr(grids, "AT_ONCE", at_once)
    mdp = grids.grid(text, kernel)
    for ((i, j), action), row in rows_by_the_rule(text, *kernel).items():
        found = mdp.transition_probabilities(f"{i},{j}", action)
        assert found == close({f"{a},{b}": p for (a, b), p in row.items()})


def test_random_walls_have_the_given_density():
    rows = make("random-walls", height=102, width=102, density=0.2).picture.rows
    assert sum(row.count("#") for row in rows) - 404 == pytest.approx(2000, abs=300)


# Random MDPs


@pytest.mark.parametrize("branching", [1, 3, 8, 30])
def test_every_pair_of_a_garnet_mdp_has_the_given_number_of_successors(branching):
    mdp = make("random", n_states=30, n_actions=2, branching=branching)
    assert set(np.diff(mdp.rows.ptr)) == {branching}


@pytest.mark.parametrize("branching", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_garnet_mdps_are_communicating(branching, seed):
    assert is_communicating(make("random", n_states=25, n_actions=2, branching=branching, seed=seed))


@pytest.mark.parametrize(("sparsity", "paying"), [(0.0, 80), (0.75, 20), (1.0, 1)])
def test_sparsity_is_the_share_of_pairs_that_pay_nothing(sparsity, paying):
    assert np.count_nonzero(make("random", sparsity=sparsity).r_mean) == paying


def test_successors_of_garnet_mdps_are_spread_over_all_states():
    mdp = make("random", n_states=200, n_actions=20, branching=5)
    assert np.bincount(mdp.rows.succ).min() > 50


def test_random_worlds_with_one_state_and_one_action():
    assert make("random", n_states=1, n_actions=1, branching=1).transition_probabilities(0, 0) == {0: 1.0}
    assert make("planted", n_states=1, n_actions=1, n_classes=1, support=1).transition_probabilities(0, 0) == {0: 1.0}


@given(
    n_classes=st.integers(2, 12),
    support=st.integers(3, 6),
    separation=st.floats(0.01, 0.15),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=30)
def test_planted_profiles_are_as_many_and_as_far_apart_as_asked(n_classes, support, separation, seed):
    mdp = make("planted", n_classes=n_classes, support=support, separation=separation, seed=seed)
    found = [np.pad(p, (0, support - len(p))) for p in map(np.array, profiles(mdp))]
    distances = [np.abs(one - two).sum() for k, one in enumerate(found) for two in found[:k]]
    assert len(found) == n_classes
    assert min(distances) == pytest.approx(separation, abs=1e-7)


def test_planted_classes_are_of_nearly_equal_sizes():
    mdp = make("planted", n_states=10, n_actions=3, n_classes=4)
    sizes = np.unique(mdp.r_mean, return_counts=True)[1]
    assert sorted(sizes) == [7, 7, 8, 8]


def test_planted_rewards_follow_the_class_or_the_pair():
    assert len(set(make("planted").r_mean)) == 5
    assert len(set(make("planted", rewards="pair").r_mean)) == 80


@pytest.mark.parametrize(("n_classes", "support", "separation"), [(4, 2, 1 / 3), (3, 2, 0.5), (2, 4, 1.5), (2, 2, 1.0)])
def test_the_largest_possible_separations_are_found(n_classes, support, separation):
    mdp = make("planted", n_classes=n_classes, support=support, separation=separation)
    assert len(profiles(mdp)) == n_classes


@pytest.mark.parametrize("seed", range(5))
def test_planted_mdps_are_communicating(seed):
    assert is_communicating(make("planted", n_states=25, n_actions=2, support=2, n_classes=2, seed=seed))


def test_floor_marked_with_a_digit_pays_tenths_and_moves_as_floor():
    paying, plain = make("grid", map="S3.9G"), make("grid", map="S...G")
    assert [paying.mean_reward(f"0,{column}", "left") for column in range(5)] == [0.0, 0.3, 0.0, 0.9, 1.0]
    assert all(
        paying.transition_probabilities(s, a) == plain.transition_probabilities(s, a)
        for s in range(5)
        for a in range(4)
    )
