"""What a saved agent may hold: each bound at its edge, and each error by its own words."""

from __future__ import annotations

import numpy as np
import pytest

from equirl.keeping.saving import check_arrays, check_course, check_plan, check_sums
from equirl.model.pairs import Pairs

PAIRS = Pairs(np.array([0, 1, 3]), np.array([0, 0, 1]))
COURSE = {"t": 10, "n_unconverged": 0, "reward_map": (1.0, 0.0), "pending": None}
EPISODE = {"start": 1, "n_classes": 1, "gain": 0.5, "n_sweeps": 0, "span": 0.0, "converged": False}


def course(starts=(1, 1, 10), **change):
    check_course(COURSE | change, np.array(starts, np.int64), PAIRS)


@pytest.mark.parametrize(
    "change",
    [
        {}, {"starts": ()}, {"starts": (10,)}, {"n_unconverged": 10}, {"t": 1, "starts": (1, 1), "n_unconverged": 2},
        {"pending": (0, 0.0)}, {"pending": (2, 1.0)}, {"reward_map": (1e-300, -5.0)},
    ],
)  # fmt: skip
def test_a_course_at_the_edges_of_what_can_be_is_taken(change):
    course(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": 0, "starts": ()}, "t must"),
        ({"n_unconverged": -1}, "n_unconverged"),
        ({"n_unconverged": 11}, "n_unconverged"),
        ({"starts": (0, 5)}, "episode_starts must be times in increasing order up to t"),
        ({"starts": (5, 11)}, "episode_starts must be times"),
        ({"starts": (5, 4)}, "episode_starts must be times"),
        ({"starts": ((1, 2), (3, 4))}, "episode_starts must be times"),
        ({"reward_map": (0.0, 0.0)}, "reward_map must be a positive scale and a shift"),
        ({"reward_map": (np.inf, 0.0)}, "reward_map must be a positive scale"),
        ({"reward_map": (1.0, np.inf)}, "reward_map must be a positive scale"),
        ({"pending": (-1, 0.5)}, "the pending pair"),
        ({"pending": (3, 0.5)}, "the pending pair"),
        ({"pending": (0, 1.1)}, "the pending reward"),
    ],
)
def test_a_course_that_cannot_be_is_named(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        course(**change)
    with pytest.raises(ValueError, match="episode_starts"):
        check_course(COURSE, np.array([1, 2], np.int32), PAIRS)


@pytest.mark.parametrize("change", [{}, {"start": 10}, {"n_classes": 3}, {"gain": -0.5}, {"span": 1e300}])
def test_a_plan_at_the_edges_of_what_can_be_is_taken(change):
    episode = EPISODE | change
    check_plan({"episode": episode}, 10, 3)
    check_plan({"plan": [episode[name] for name in ("gain", "n_sweeps", "span", "converged")]}, 10, 3)
    check_plan({}, 10, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 0}, "the start of the episode"),
        ({"start": 11}, "the start of the episode"),
        ({"n_classes": 0}, "n_classes"),
        ({"n_classes": 4}, "n_classes"),
        ({"gain": np.nan}, "a plan of gain nan and span 0"),
        ({"span": -1e-9}, "a plan of gain 0.5 and span"),
        ({"n_sweeps": -1}, "n_sweeps"),
        ({"converged": 1}, "converged"),
    ],
)
def test_a_plan_that_cannot_be_is_named(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_plan({"episode": EPISODE | change}, 10, 3)


def counted(when="now", **change):
    arrays = {"visits": [2, 0, 1], "r_sum": [1.5, 0.0, 1.0], "r_squares": [1.25, 0.0, 1.0]}
    return {f"{when}_{name}": np.array(change.get(name, value)) for name, value in arrays.items()}


def test_sums_at_the_edges_of_what_can_be_are_taken():
    check_sums(counted(), 4)
    check_sums({}, 1)
    check_sums(counted() | counted("then"), 4)
    check_sums(counted(r_sum=[2.0, 0.0, 1.0], r_squares=[2.0, 0.0, 1.0]), 4)
    check_sums(counted(r_squares=[1.125, 0.0, 1.0]), 4)  # both paid alike


@pytest.mark.parametrize(
    ("arrays", "t", "message"),
    [
        (counted(), 3, r"3 steps are counted \(now\), but 2 were played"),
        (counted("then"), 3, r"3 steps are counted \(then\), but 2 were played"),
        (counted(r_sum=[2.1, 0.0, 1.0]), 4, r"rewards add up to more than the visits can have paid \(now\)"),
        (counted(r_sum=[1.5, 0.1, 1.0]), 4, "rewards add up to more"),
        (counted(r_squares=[1.6, 0.0, 1.0]), 4, r"squares of rewards do not fit their sums \(now\)"),
        (counted(r_squares=[1.12, 0.0, 1.0]), 4, "squares of rewards do not fit their sums"),
        (counted() | counted("then", visits=[1, 1, 1], r_sum=[0.0] * 3, r_squares=[0.0] * 3), 4, "a pair had more vis"),
    ],
)
def test_sums_that_cannot_be_are_named(arrays, t, message):
    with pytest.raises(ValueError, match=message):
        check_sums(arrays, t)


WHOLE = {
    "policy": np.array([0, 2]), "bias": np.array([0.0, 1.5]), "label": np.array([0, 1, 0]),
    "limits_label": np.array([0, 1, 0]), "limits_pair_left": np.array([-3, 0, 9]),
    "limits_group_left": np.array([4, -1]), "limits_grace": np.array([0, 1]), "limits_steps": np.array([7]),
    "now_visits": np.array([2, 0, 1]), "now_r_sum": np.zeros(3), "now_r_squares": np.zeros(3),
    "now_ptr": np.array([0, 2, 2, 3]), "now_succ": np.array([0, 1, 1], np.int32), "now_count": np.array([1, 1, 1]),
}  # fmt: skip
VALUES = {"episode": {"n_classes": 2}}


def test_whole_arrays_are_taken_and_so_are_those_without_limits_by_pair():
    check_arrays(WHOLE, PAIRS, VALUES)
    without = {"limits_label": np.zeros(0, np.int64), "limits_pair_left": np.zeros(0, np.int64)}
    check_arrays(WHOLE | without | {"limits_group_left": np.zeros(0, np.int64)}, PAIRS, VALUES)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("policy", [0, 3]), ("policy", [1, 1]), ("policy", [0, 0]), ("policy", [0]), ("policy", [0.0, 2.0]),
        ("bias", [-0.1, 0.0]), ("bias", [0.0, np.inf]), ("bias", [0, 1]), ("bias", [0.0]),
        ("label", [0, 2, 0]), ("label", [0, -1, 0]), ("label", [0, 1]),
        ("limits_label", [0, 2, 0]), ("limits_label", [0, 1]), ("limits_pair_left", [1, 1]),
        ("limits_grace", [1]), ("limits_grace", [1, 0, 0]), ("limits_steps", [1, 1]), ("limits_steps", [1.0]),
        ("now_visits", [-2, 0, 1]), ("now_r_sum", [-1.0, 0.0, 0.0]), ("now_r_squares", [0.0, np.nan, 0.0]),
        ("now_ptr", [0, 2, 3]), ("now_count", [2, 0, 1]), ("now_count", [1, 1]),
    ],
)  # fmt: skip
def test_an_array_that_does_not_fit_is_named(name, wrong):
    with pytest.raises(ValueError, match=f"{name} does not fit the states and actions of the learner"):
        check_arrays(WHOLE | {name: np.array(wrong)}, PAIRS, VALUES)


@pytest.mark.parametrize("succ", [[0, 1, 2], [0, -1, 1]])
def test_a_successor_out_of_range_is_named(succ):
    with pytest.raises(ValueError, match="now_succ does not fit"):
        check_arrays(WHOLE | {"now_succ": np.array(succ, np.int32)}, PAIRS, VALUES)


@pytest.mark.parametrize(
    "change",
    [
        {"now_visits": np.array([1, 1, 1])}, {"now_ptr": np.array([1, 2, 2, 3])}, {"now_ptr": np.array([0, 2, 1, 3])},
    ],
)  # fmt: skip
def test_visits_and_counts_that_disagree_are_named(change):
    with pytest.raises(ValueError, match=r"the visits and counts of successors disagree \(now\)"):
        check_arrays(WHOLE | change, PAIRS, VALUES)
