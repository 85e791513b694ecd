"""Colosseum's families are what their definitions say: published hardness, and steps and rewards by hand."""

import numpy as np
import pytest

from equirl.lab.leaderboard.leaderboard_study import leaderboard_study
from equirl.lab.leaderboard.published_suite import PUBLISHED
from equirl.solving import chain_kind, diameter
from equirl.worlds import COLOSSEUM, find_world, load_world, make
from equirl.worlds.colosseum import _stands, _walls

SUITE = {part.name: str(part.worlds[0].world) for part in leaderboard_study(suite="colosseum").parts}
BY_MAP = {"frozen-lake-1", "frozen-lake-2", "taxi-1"}  # hardness depends on where holes and stands are
SLOW = {"minigrid-rooms-1", "minigrid-rooms-3", "simple-grid-3", "simple-grid-4", "minigrid-empty-5"}
EXACT = [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in SUITE if name not in BY_MAP]


def value_norm(mdp, discount=0.99):
    """As the package computes it: sqrt of the largest sum_j p(j|i,a) (V(j) - sum_k p(k|j,a) V(k))^2."""
    P, R = mdp.to_arrays()
    v = np.zeros(mdp.n_states)
    for _ in range(1000):
        v = (R + discount * (P @ v)).max(1)
    return np.sqrt(np.einsum("iaj,ja->ia", P, (v[:, None] - P @ v) ** 2).max())


def step(mdp, state, action):
    """Successors by name, and the mean reward."""
    law = mdp.transition_probabilities(mdp.state_names[mdp.pairs.state_number(state)], action)
    return {name: pytest.approx(p) for name, p in law.items()}, mdp.mean_reward(state, action)


@pytest.mark.parametrize("name", COLOSSEUM)
def test_every_family_is_a_communicating_world(name):
    mdp = make(name)
    assert load_world(mdp.name) == mdp
    assert mdp.reward_law == "bernoulli"
    assert chain_kind(mdp, everywhere=True) in ("communicating", "ergodic")
    assert find_world(name).factory.__name__ == name.removeprefix("colosseum/").replace("-", "_")


@pytest.mark.parametrize("name", EXACT)
def test_the_diameter_is_the_published_one(name):
    assert diameter(load_world(SUITE[name])) == pytest.approx(PUBLISHED[name].diameter, rel=1e-4)


@pytest.mark.parametrize("name", ["river-swim-1", "river-swim-2", "simple-grid-1", "simple-grid-2", "deep-sea-3"])
def test_the_value_norm_is_the_published_one(name):
    assert value_norm(load_world(SUITE[name])) == pytest.approx(PUBLISHED[name].value_norm, abs=2e-4)


def test_the_value_norm_published_of_an_empty_field_is_a_mean_over_maps():
    world = SUITE["minigrid-empty-3"]
    found = sorted({round(value_norm(load_world(world, seed=seed)), 3) for seed in range(6)})
    assert len(found) == 2  # the goal in a corner, or not
    assert min(abs((k * found[0] + (5 - k) * found[1]) / 5 - 1.6507) for k in range(6)) < 2e-3


def test_diameters_published_of_lakes_and_taxis_lie_among_those_of_maps():
    for name in BY_MAP:
        found = [diameter(load_world(SUITE[name], seed=seed)) for seed in range(12)]
        assert min(found) < PUBLISHED[name].diameter < max(found)


def test_a_lazy_step_stays_and_a_random_action_is_any():
    mdp = make("colosseum/river-swim", size=3, p_lazy=0.2, p_rand=0.5)
    assert step(mdp, "1", "right") == ({"2": 0.6, "0": 0.2, "1": 0.2}, pytest.approx(0.02))
    assert step(mdp, "2", "right")[1] == pytest.approx(0.9)  # by the action chosen, whatever is played
    assert step(mdp, "0", "left") == ({"0": 0.8, "1": 0.2}, pytest.approx(0.2))
    assert step(mdp, "2", "left")[1] == step(mdp, "0", "right")[1] == pytest.approx(0.02)


def test_a_diver_pays_by_the_action_and_the_corner():
    mdp = make("colosseum/deep-sea", size=3)
    assert mdp.n_states == 6
    assert step(mdp, "0,0", "right") == ({"1,1": 1.0}, 0.0025)
    assert step(mdp, "1,1", "left") == ({"2,0": 1.0}, 0.025)
    assert step(mdp, "2,2", "right") == ({"0,0": 1.0}, 0.95)
    assert step(mdp, "2,2", "left") == ({"0,0": 1.0}, 0.025)
    assert step(mdp, "2,0", "right") == ({"0,0": 1.0}, 0.0025)


def test_a_corner_pays_for_staying_alone():
    mdp = make("colosseum/simple-grid", size=3, p_lazy=0.25)
    assert mdp.initial[mdp.pairs.state_names.index("1,1")] == 1
    assert step(mdp, "2,0", "stay") == ({"2,0": 1.0}, pytest.approx(0.9))
    assert step(mdp, "0,0", "left") == ({"0,0": 1.0}, pytest.approx(0.02))
    assert step(mdp, "0,2", "down") == ({"0,1": 0.75, "0,2": 0.25}, pytest.approx(0.75 * 0.2 + 0.25 * 0.9))
    assert step(mdp, "1,0", "stay") == ({"1,0": 1.0}, pytest.approx(0.2))


def test_ice_slips_to_the_sides_and_holes_lead_to_the_start():
    mdp = make("colosseum/frozen-lake", size=3, p_frozen=1.0, p_lazy=0.5)
    assert step(mdp, "1,1", "up") == ({"1,2": 0.25, "2,1": 0.125, "0,1": 0.125, "1,1": 0.5}, 0.0)
    assert step(mdp, "2,1", "up") == ({"2,2": 0.25, "2,1": 0.625, "1,1": 0.125}, pytest.approx(0.25))
    assert step(mdp, "2,2", "up") == ({"0,0": 0.5, "2,2": 0.5}, pytest.approx(0.5))  # a lazy step there pays too
    holed = make("colosseum/frozen-lake", size=6, p_frozen=0.5, seed=1)
    assert holed.n_states < 30
    assert any(len(holed.transition_probabilities(s, a)) < 3 for s in range(holed.n_states) for a in range(4))
    assert holed != make("colosseum/frozen-lake", size=6, p_frozen=0.5, seed=2)


def test_one_walks_forward_and_turns_and_the_goal_lies_on_the_far_side():
    sides = set()
    for seed in range(8):
        mdp = make("colosseum/minigrid-empty", size=4, starts=3, seed=seed)
        assert mdp.n_states == 64
        assert sorted(mdp.initial[mdp.initial > 0]) == pytest.approx([1 / 3] * 3)
        into = {tuple(s.split(",")[:2]) for s in mdp.pairs.state_names if mdp.mean_reward(s, "left") == 1}
        (goal,) = into
        starts = {tuple(mdp.pairs.state_names[s].split(",")[:2]) for s in np.flatnonzero(mdp.initial)}
        assert len(starts) == 3
        axes = [
            k for k in (0, 1) if {int(s[k]) for s in starts} in ({0}, {3}) and int(goal[k]) + int(min(starts)[k]) == 3
        ]
        assert axes
        sides.add((axes[0], goal[axes[0]]))
    assert len(sides) > 2
    assert step(mdp, "1,1,0", "right")[0] == {"1,1,1": 1.0}
    assert step(mdp, "1,1,0", "left")[0] == {"1,1,3": 1.0}
    assert [*step(mdp, "1,1,0", "forward")[0]] == ["1,2,0"]
    assert [*step(mdp, "1,1,1", "forward")[0]] == ["2,1,1"]
    assert [*step(mdp, "1,1,2", "forward")[0]] == ["1,0,2"]
    assert [*step(mdp, "0,1,3", "forward")[0]] == ["0,1,3"]


def test_rooms_have_doors_in_the_middle_of_their_walls():
    mdp = make("colosseum/minigrid-rooms", room_size=3, rooms=4, starts=2)
    cells = {tuple(map(int, s.split(",")[:2])) for s in mdp.pairs.state_names}
    assert len(cells) == 4 * 9 + 4
    assert {cell for cell in cells if 3 in cell} == {(3, 1), (3, 5), (1, 3), (5, 3)}
    room = {
        tuple(x // 4 for x in map(int, mdp.pairs.state_names[s].split(",")[:2])) for s in np.flatnonzero(mdp.initial)
    }
    goal = {tuple(int(x) // 4 for x in s.split(",")[:2]) for s in mdp.pairs.state_names if mdp.mean_reward(s, 1) == 1}
    assert len(room) == len(goal) == 1
    assert room != goal
    assert make("colosseum/minigrid-rooms", room_size=5, rooms=9).n_states == 4 * (9 * 25 + 12)


def test_the_walls_of_the_taxi_are_in_bands():
    def drawn(*sizes):
        size = sizes[0]
        walls = [str(wall) for _, wall in _walls(*sizes)]
        return ["".join(walls[size * k : size * (k + 1)]) for k in range(size)]

    assert drawn(4, 1, 1, 1) == ["0101", "0000", "1010", "0000"]
    assert drawn(5, 2, 1, 1) == ["01010", "01010", "00000", "10101", "10101"]
    assert drawn(7, 1, 2, 2) == ["0011001", "0000000", "1100110", "0000000", "0011001", "0000000", "1100110"]


def test_a_taxi_fetches_drives_and_sets_down():
    mdp = make("colosseum/taxi", size=4, length=1, locations=3, p_lazy=0.1)
    assert mdp.n_states == 12 * (6 + 3)
    assert (mdp.initial > 0).sum() == 12 * 6
    stands = {tuple(s.split(",")[2:4]) for s in mdp.pairs.state_names} - {("-1", "-1")}
    assert len(stands) == 3
    (a, b, c) = sorted(stands)
    text = lambda *cells: ",".join(x for cell in cells for x in cell)  # noqa: E731
    assert step(mdp, text(a, a, b), "fetch") == (
        {text(a, ("-1", "-1"), b): 0.9, text(a, a, b): 0.1}, pytest.approx(0.9 * 0.2 + 0.1 * 0.02),
    )  # fmt: skip
    assert step(mdp, text(a, b, c), "fetch") == ({text(a, b, c): 1.0}, pytest.approx(0.02))
    assert step(mdp, text(a, b, c), "drop") == ({text(a, b, c): 1.0}, pytest.approx(0.02))
    law, pays = step(mdp, text(b, ("-1", "-1"), b), "drop")
    new = {text(b, p, to): pytest.approx(0.9 / 4) for p in (a, c) for to in (a, b, c) if to != p}
    assert (law, pays) == ({**new, text(b, ("-1", "-1"), b): 0.1}, pytest.approx(0.9 * 0.9 + 0.1 * 0.02))
    assert step(mdp, text(a, ("-1", "-1"), b), "drop")[1] == pytest.approx(0.02)
    assert step(mdp, text(a, ("-1", "-1"), b), "up")[1] == pytest.approx(0.2)


def test_stands_are_in_different_parts_and_apart():
    cells = {(x, y) for x in range(6) for y in range(6)}
    for seed in range(5):
        found = _stands(6, 4, cells, np.random.default_rng(seed))
        assert len({(x // 3, y // 3) for x, y in found}) == 4
        gaps = [np.hypot(a[0] - b[0], a[1] - b[1]) for k, a in enumerate(found) for b in found[:k]]
        assert min(gaps) > 2


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ("colosseum/river", "did you mean 'colosseum/river-swim'"),
        ("colosseum/river-swim:p_lazy=1", "p_lazy must be between 0 and 0.9999"),
        ("colosseum/minigrid-rooms:rooms=8", "rooms must be a square number, such as 4 or 9, not 8"),
        ("colosseum/taxi:size=4,locations=4", "4 locations need a size above 4, not 4"),
        ("colosseum/frozen-lake:p_frozen=0.05", "p_frozen must be between 0.1 and 1"),
    ],
)
def test_what_makes_no_world_is_said(world, message):
    with pytest.raises(ValueError, match=message):
        load_world(world)
