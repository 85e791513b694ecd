"""Goals against fractions: every policy of tiny MDPs with rare exits and places to stay for ever."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from equirl.model.mdp import TabularMDP
from equirl.solving.goals import GoalSolution, goal_states
from equirl.solving.optimal_gain import solve
from equirl.solving.renewal import IllConditioned
from oracles_exact import best_on_the_way, treacherous_mdp

COSTS = np.array([0.0, 0.0, 1.0, 3.0, 1e-3, 1e6])
MIXED = np.array([0.0, 0.0, 1.0, 2.7, -1.1, -1e-3])  # of which no few circles cancel


def on_the_way(seed: int, costs: np.ndarray) -> tuple[TabularMDP, np.ndarray, np.ndarray]:
    """An MDP, its goal, and a cost of each pair."""
    rng = np.random.default_rng(seed)
    mdp = treacherous_mdp(rng)
    cost = rng.choice(costs, mdp.n_pairs)
    low, high = float(-cost.max()), float(-cost.min())
    scale = high - low if high > low else 1.0
    mdp = replace(mdp, r_mean=(-cost - low) / scale, reward_map=(scale, low))
    return mdp, rng.random(mdp.n_states) < 0.3, np.where(cost == 0, 0.0, -(scale * mdp.r_mean + low))


def holds(answer: GoalSolution, truth: list[Any]) -> bool:
    """Whether every value is as close to the truth as it says, infinite ones the same, compared exactly."""
    for value, exact in zip(answer.value.tolist(), truth, strict=True):
        if np.isinf(float(exact)) or np.isinf(value):
            if value != float(exact):
                return False
        elif answer.accuracy < np.inf and abs(Fraction(value) - exact) > Fraction(answer.accuracy):
            return False
    return True


def check(seed: int, costs: np.ndarray = COSTS) -> list[bool]:
    """Whether each answer was certified to what was asked; that it holds as far as it says is asserted."""
    mdp, goal, cost = on_the_way(seed, costs)
    if not goal.any():
        return []
    converged = []
    for objective, maximise in ((o, m) for o in ("reach", "cost", "steps") for m in (False, True)):
        paid = {"reach": None, "cost": cost, "steps": np.ones(mdp.n_pairs)}[objective]
        try:
            answer = solve(mdp, goal=goal, objective=objective, maximise=maximise)
        except IllConditioned:
            converged.append(False)
            continue
        truth = best_on_the_way(mdp, goal, paid, maximise)
        assert holds(answer, truth), (seed, objective, maximise)
        finite = np.isfinite(answer.value)
        again = solve(fixed(mdp, answer.policy_pair), goal=goal, objective=objective, maximise=maximise)
        off = np.abs(again.value[finite] - answer.value[finite]).max(initial=0.0)
        assert off <= (answer.accuracy + again.accuracy) * (1 + 1e-9), (seed, objective, maximise)
        converged.append(answer.converged)
    return converged


def fixed(mdp: TabularMDP, pair: np.ndarray) -> TabularMDP:
    """The MDP in which one policy is all there is."""
    rows = mdp.rows.take(pair)
    return TabularMDP.from_rows(tuple(rows), mdp.r_mean[pair], 1, mdp.initial, reward_map=mdp.reward_map)


def test_values_on_the_way_to_a_goal_hold_exactly() -> None:
    converged = [each for seed in range(150) for each in check(seed)]
    assert np.mean(converged) > 0.9  # and most of them are as close as was asked


def test_values_hold_where_some_pairs_cost_less_than_nothing() -> None:
    converged = [each for seed in range(10_000, 10_100) for each in check(seed, MIXED)]
    assert np.mean(converged) > 0.9


@pytest.mark.long
def test_values_on_the_way_to_a_goal_hold_exactly_at_length() -> None:
    for first, costs in ((20_000, COSTS), (30_000, MIXED)):
        converged = [each for seed in range(first, first + 1000) for each in check(seed, costs)]
        assert np.mean(converged) > 0.9


def gambler(n: int, exit_chance: float) -> TabularMDP:
    """A walk between ruin, 0, and n, which is left alone most of the time: it moves with ``exit_chance``."""
    half = exit_chance / 2
    walk = [(s, 0, {s - 1: half, s: 1 - exit_chance, s + 1: half}, 0.0) for s in range(1, n)]
    return TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.0), *walk, (n, 0, {n: 1.0}, 0.0)], n + 1, initial=n // 2)


def swept(mdp: TabularMDP, goal: int, change: float) -> np.ndarray:
    """Value iteration from below for the largest probability of reaching a goal, until it hardly changes."""
    laws = np.zeros((mdp.n_pairs, mdp.n_states))
    laws[np.repeat(np.arange(mdp.n_pairs), np.diff(mdp.rows.ptr)), mdp.rows.succ] = mdp.rows.prob
    value = (np.arange(mdp.n_states) == goal).astype(float)
    while True:
        new = np.maximum.reduceat(laws @ value, mdp.pairs.ptr[:-1])
        new[goal] = 1.0
        if np.abs(new - value).max() <= change:
            return new
        value = new


def test_sweeps_from_below_that_stop_early_are_wrong_where_the_certified_answer_is_right() -> None:
    mdp = gambler(20, 1e-3)
    truth = np.arange(21) / 20
    assert np.abs(swept(mdp, 20, 1e-5) - truth).max() > 0.1
    answer = solve(mdp, goal=20)
    assert np.abs(answer.value - truth).max() <= answer.accuracy < 1e-10


def test_a_fixed_point_from_above_is_not_taken_for_the_answer() -> None:
    """Two states may send each other round for ever, or leave for a coin between the goal and the end."""
    circle = [(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 1.0}, 0.0), (1, 1, {2: 0.25, 3: 0.75}, 0.0)]
    mdp = TabularMDP.from_pairs([*circle, (2, 0, {2: 1.0}, 0.0), (3, 0, {3: 1.0}, 0.0)], n_states=4)
    assert solve(mdp, goal=2).value.tolist() == [0.25, 0.25, 1.0, 0.0]
    assert solve(mdp, goal=2).policy.tolist()[:2] == [0, 1]  # all ones solve the equations as well
    least = solve(mdp, goal=2, maximise=False)
    assert (least.value.tolist(), least.policy[1]) == ([0.0, 0.0, 1.0, 0.0], 0)


ROAD = TabularMDP.from_costs(
    [
        ("home", "wait", {"home": 1.0}, 0.0),
        ("home", "walk", {"work": 1.0}, 30.0),
        ("home", "drive", {"work": 0.9, "garage": 0.1}, 12.0),
        ("garage", "repair", {"home": 1.0}, 100.0),
        ("garage", "sell", {"bus": 1.0}, -500.0),
        ("bus", "ride", {"bus": 0.5, "work": 0.5}, 2.0),
        ("work", "rest", {"work": 1.0}, 1.0),
        ("moon", "sleep", {"moon": 1.0}, 1.0),
    ],
    initial="home",
)


def test_costs_are_in_the_units_of_the_problem_and_states_have_their_names() -> None:
    best = solve(ROAD, goal="work", objective="cost")
    assert best.value == pytest.approx([12 - 0.1 * 496, -496.0, 4.0, 0.0, np.inf], abs=1e-9)
    assert best.table().rows()[0] == {"state": "home", "action": "drive", "cost": pytest.approx(-37.6)}
    assert best.value_from_start == pytest.approx(-37.6)
    assert (best.objective, best.maximise, best.goal.tolist()) == ("cost", False, [False, False, False, True, False])
    earned = solve(ROAD, goal="work", objective="reward")
    np.testing.assert_allclose(earned.value, -best.value)
    assert (earned.maximise, earned.policy.tolist()) == (True, best.policy.tolist())
    assert repr(best) == f"GoalSolution(least cost -37.6, within {best.accuracy:.1e})"
    assert repr(earned) == f"GoalSolution(largest reward 37.6, within {earned.accuracy:.1e})"
    assert "-37.6" in best._repr_html_()


def test_the_largest_cost_is_infinite_where_the_goal_may_be_missed() -> None:
    worst = solve(ROAD, goal="work", objective="cost", maximise=True)
    assert worst.value == pytest.approx([np.inf, np.inf, 4.0, 0.0, np.inf])
    actions = worst.table()["action"]
    assert actions[:2] == ["wait", "repair"]  # how it is missed
    assert solve(ROAD, goal="work", objective="reward", maximise=False).value == pytest.approx(-worst.value)


def test_steps_are_counted_until_the_goal() -> None:
    assert solve(ROAD, goal="work", objective="steps").value == pytest.approx([1, 2, 2, 0, np.inf])
    assert solve(gambler(6, 1.0), goal=[0, 6], objective="steps").value == pytest.approx([0, 5, 8, 9, 8, 5, 0])


def test_circles_that_earn_something_have_no_bound_and_the_policy_still_heads_for_the_goal() -> None:
    mill = [(0, 0, {1: 1.0}, 1.0), (1, 0, {0: 1.0}, -0.5), (1, 1, {2: 1.0}, 0.0), (2, 0, {2: 1.0}, 0.0)]
    mdp = TabularMDP.from_pairs([*mill, (3, 0, {0: 0.5, 2: 0.5}, -5.0)], 4, rescale=True)
    answer = solve(mdp, goal=2, objective="reward")
    assert (answer.value.tolist(), answer.policy.tolist()) == ([np.inf, np.inf, 0.0, np.inf], [0, 1, 0, 0])
    assert answer.value_from_start == np.inf
    alone = TabularMDP.from_pairs([(0, 0, {0: 1.0}, 1.0), (0, 1, {1: 1.0}, 0.0), (1, 0, {1: 1.0}, 0.0)], 2)
    assert solve(alone, goal=1, objective="reward").value.tolist() == [np.inf, 0.0]
    assert solve(alone, goal=1, objective="cost").value.tolist() == [-np.inf, 0.0]


def test_a_component_in_which_pairs_cost_nothing_is_crossed_for_nothing_but_not_its_other_pairs() -> None:
    ring = [(s, 0, {(s + 1) % 3: 1.0}, 0.0) for s in range(3)] + [(0, 1, {1: 0.5, 2: 0.5}, 1.0), (2, 1, {3: 1.0}, 7.0)]
    mdp = TabularMDP.from_costs([*ring, (3, 0, {3: 1.0}, 0.0)], n_states=4)
    answer = solve(mdp, goal=3, objective="cost")
    assert (answer.value.tolist(), answer.policy.tolist()) == ([7.0, 7.0, 7.0, 0.0], [0, 0, 1, 0])


def test_circles_whose_costs_cancel_are_refused() -> None:
    swing = [(0, 0, {1: 1.0}, 1.0), (1, 0, {0: 1.0}, -1.0), (1, 1, {2: 1.0}, 0.0), (2, 0, {2: 1.0}, 0.0)]
    with pytest.raises(IllConditioned, match="cancel"):
        solve(TabularMDP.from_costs(swing, n_states=3), goal=2, objective="cost")


def test_a_goal_is_a_state_several_a_mask_or_a_question() -> None:
    pairs = ROAD.pairs
    for goal in ("work", ["work"], {"work"}, 3, [3], np.array([3]), np.arange(5) == 3, lambda name: name == "work"):
        assert np.flatnonzero(goal_states(pairs, goal)).tolist() == [3]
    assert goal_states(gambler(3, 1.0).pairs, lambda s: s in (0, 3)).tolist() == [True, False, False, True]
    assert goal_states(gambler(3, 1.0).pairs, range(2)).tolist() == [True, True, False, False]
    for goal, message in (
        ("wrok", "goal: .*work"), (7, "goal: .*out of range"), ([], "no state is the goal"),
        (lambda name: False, "no state is the goal"), (np.ones(3, bool), "shape"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            goal_states(pairs, goal)


def test_what_does_not_go_with_a_goal_is_refused() -> None:
    for more in ({"discount": 0.9}, {"multichain": True}, {"method": "value"}):
        with pytest.raises(ValueError, match="leave them out"):
            solve(ROAD, goal="work", **more)
    for more in ({"objective": "cost"}, {"maximise": False}):
        with pytest.raises(ValueError, match="goal"):
            solve(ROAD, **more)
    with pytest.raises(ValueError, match="steps"):
        solve(ROAD, goal="work", objective="step")


def test_an_accuracy_is_relative_to_the_largest_value_beyond_1() -> None:
    mdp = gambler(20, 1e-3)
    error = solve(mdp, goal=[0, 20], objective="steps").accuracy  # of values up to 10^5
    assert solve(mdp, 1.1 * error / 1e5, goal=[0, 20], objective="steps").converged
    assert not solve(mdp, 0.9 * error / 1e5, goal=[0, 20], objective="steps").converged
    error = solve(mdp, goal=20).accuracy
    assert not solve(mdp, 0.9 * error, goal=20).converged


def test_a_large_grid_is_solved() -> None:
    side = 60
    laws = []
    for i in range(side):
        for j in range(side):
            for a, (di, dj) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
                to = (min(max(i + di, 0), side - 1)) * side + min(max(j + dj, 0), side - 1)
                here = i * side + j
                laws.append((here, a, {to: 0.8, here: 0.2} if to != here else {here: 1.0}, 0.0))
    answer = solve(TabularMDP.from_pairs(laws, side * side), goal=side * side - 1, objective="steps")
    assert answer.value[0] == pytest.approx(2 * (side - 1) / 0.8)
    assert answer.converged
