"""Ways to find: wind, doors and keys, ice, locks, deep seas, rivers, tides."""

from __future__ import annotations

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.grids import ACTIONS, MOVES, SIDES, grid, random_walls
from equirl.worlds.rivers import riverswim, two_kinds_river
from equirl.worlds.rules import Distribution, Effects, StateTuple, mdp_from_start, mixed

KEY_MAP = "#########/#S..#...#/#...#...#/#.K.D..G#/#...#...#/#########"
ICE_MAP = "S..../.H.H./...../.H..H/....G"
COURT_MAP = "#########/#S..#...#/#.#.#.#.#/#.#...#.#/#.#####.#/#......G#/#########"


def windy(height: int = 6, width: int = 9, gust: float = 0.5) -> TabularMDP:
    """A field with an upward wind in its middle columns, now and then stronger: walk from the left to the goal."""
    height, width = whole_number("height", height, least=3), whole_number("width", width, least=5)
    gust = between("gust", gust)
    goal, start = (height // 2, width - 2), (height // 2, 0)

    def rule(state: StateTuple) -> Effects:
        if state == goal:
            return dict.fromkeys(ACTIONS, ({start: 1.0}, 1.0))
        blows = int(width // 3 <= state[1] < width - 2)
        choices = {}
        for name, (down, right) in zip(ACTIONS, MOVES.tolist(), strict=True):
            column = min(max(state[1] + right, 0), width - 1)
            rows = [min(max(state[0] + down - wind, 0), height - 1) for wind in (blows, 2 * blows)]
            choices[name] = (mixed([((rows[0], column), 1 - gust), ((rows[1], column), gust)]), 0.0)
        return choices

    return mdp_from_start(rule, start)


def key_and_door(slip: float = 0.2) -> TabularMDP:
    """Two rooms and a locked door: fetch the key, go through, reach the goal; then without the key at the start."""
    rows, slip = KEY_MAP.split("/"), between("slip", slip)
    places = {mark: (k, row.index(mark)) for k, row in enumerate(rows) for mark in "SG" if mark in row}

    def step(at: tuple[int, int], way: int, key: int) -> tuple[int, int, int]:
        row, column = at[0] + MOVES[way][0], at[1] + MOVES[way][1]
        mark = rows[row][column]
        if mark == "#" or (mark == "D" and not key):
            return (*at, key)
        return (int(row), int(column), int(key or mark == "K"))

    def rule(state: StateTuple) -> Effects:
        *cell, key = state
        at = (cell[0], cell[1])
        if at == places["G"]:
            return dict.fromkeys(ACTIONS, ({(*places["S"], 0): 1.0}, 1.0))
        choices = {}
        for way, name in enumerate(ACTIONS):
            sides = [(step(at, int(side), key), slip / 2) for side in SIDES[way]]
            choices[name] = (mixed([(step(at, way, key), 1 - slip), *sides]), 0.0)
        return choices

    return mdp_from_start(rule, (*places["S"], 0))


def thin_ice(forward: float = 0.7) -> TabularMDP:
    """Ice with holes: to the far corner; whoever falls in begins again, and one slips to either side."""
    rows, forward = ICE_MAP.split("/"), between("forward", forward)
    last = len(rows) - 1

    def step(at: StateTuple, way: int) -> StateTuple:
        row, column = (min(max(int(x), 0), last) for x in at + MOVES[way])
        return (0, 0) if rows[row][column] == "H" else (row, column)

    def rule(state: StateTuple) -> Effects:
        if rows[state[0]][state[1]] == "G":
            return dict.fromkeys(ACTIONS, ({(0, 0): 1.0}, 1.0))
        choices = {}
        for way, name in enumerate(ACTIONS):
            slips = [(step(state, int(side)), (1 - forward) / 2) for side in SIDES[way]]
            choices[name] = (mixed([(step(state, way), forward), *slips]), 0.0)
        return choices

    return mdp_from_start(rule, (0, 0))


def courtyard(goal_reward: float = 1.0) -> TabularMDP:
    """A courtyard whose walls are states too, which nobody reaches."""
    return grid(COURT_MAP, walls_are_states=True, goal_reward=goal_reward)


def warehouse(height: int = 15, width: int = 18, density: float = 0.2, seed: int = 9) -> TabularMDP:
    """A large hall with shelves here and there: across it, again and again."""
    return random_walls(height, width, density, seed, kernel="appendix")


def combination_lock(digits: int = 8, buttons: int = 4, seed: int = 1) -> TabularMDP:
    """A lock that opens after the right buttons in a row; a wrong one begins again, and pays a little."""
    digits, buttons = whole_number("digits", digits, least=2), whole_number("buttons", buttons, least=2)
    code = np.random.default_rng(whole_number("seed", seed, least=0)).integers(buttons, size=digits).tolist()

    def rule(state: StateTuple) -> Effects:
        (entered,) = state
        last = entered == digits - 1
        right: tuple[Distribution, float] = ({(0,) if last else (entered + 1,): 1.0}, 1.0 if last else 0.0)
        wrong: tuple[Distribution, float] = ({(0,): 1.0}, 0.02)
        return {str(k): right if k == code[entered] else wrong for k in range(buttons)}

    return mdp_from_start(rule, (0,))


def deep_sea(depth: int = 9, seed: int = 2, cost: float = 0.1) -> TabularMDP:
    """A diver sinks a row a step, to the left or to the right; treasure lies where only going right leads."""
    depth = whole_number("depth", depth, least=2)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    swapped = rng.integers(2, size=(depth, depth)).tolist()
    cost = between("cost", cost) / depth

    def rule(state: StateTuple) -> Effects:
        row, column = state
        choices: dict[str, tuple[Distribution, float]] = {}
        for way in (0, 1):
            right = way != swapped[row][column]
            to = (row + 1, column + 1 if right else max(column - 1, 0))
            treasure = right and row == column == depth - 1
            choices[str(way)] = ({to if row + 1 < depth else (0, 0): 1.0}, float(treasure) - cost * right)
        return choices

    return mdp_from_start(rule, (0, 0))


def tempting_river(n_states: int = 10, small_reward: float = 0.25) -> TabularMDP:
    """A river against which one swims slowly, with a reward downstream that is easily had."""
    return riverswim(n_states, forward=0.35, small_reward=small_reward, first_forward=0.5)


def two_waters(n_states: int = 14) -> TabularMDP:
    """A river of calm and rough water in turn."""
    return two_kinds_river(n_states, "alternating", calm=0.55, rough=0.3)


def tides(places: int = 5, period: int = 6) -> TabularMDP:
    """Islands joined at low tide: go on, go back or fish; the clock of the tides is part of the state."""
    places, period = whole_number("places", places, least=2), whole_number("period", period, least=2)

    def rule(state: StateTuple) -> Effects:
        at, hour = state
        later, low = (hour + 1) % period, 2 * hour < period
        catch = 1.0 if at == places - 1 and not low else 0.15 if at == 0 else 0.0
        on, back = (min(at + 1, places - 1), later), (max(at - 1, 0), later)
        stays: Distribution = {(at, later): 1.0}
        return {
            "on": (mixed([(on, 0.8), ((at, later), 0.2)]) if low else stays, 0.0),
            "back": ({back: 1.0} if low else stays, 0.0),
            "fish": (mixed([((at, later), 0.95), ((0, later), 0.05)]), catch),
        }

    return mdp_from_start(rule, (0, 0))
