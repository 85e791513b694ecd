"""The families of Colosseum in continuous form, from their definitions.

M. Conserva and P. Rauber, Hardness in Markov decision processes: theory and practice, NeurIPS 2022; the definitions are
those of its package. With probability ``p_lazy`` a step leaves the state as it is; else with probability ``p_rand`` the
action played is one of all at random. A reward may depend on the state reached; here a pair pays its mean, drawn by
``reward_law``. What the package places by its seed (goals, holes, starts) is placed by ``seed`` here, elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice, product
from math import ceil, isqrt, sqrt

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.rules import MOST_STATES, Distribution, Effects, StateTuple, mdp_from_start, mixed
from equirl.worlds.world_registry import World

Step = Callable[[StateTuple, str], Distribution]  # where an action leads that is played as it was chosen
Pay = Callable[[StateTuple, str, StateTuple], float]  # the mean reward of a state, an action and the state reached

TURNS = ("forward", "right", "left")
WAYS = {"up": (0, 1), "right": (1, 0), "down": (0, -1), "left": (-1, 0)}  # clockwise
DIRECTIONS = tuple(WAYS.values())
RANDOM = {"reward_law": "bernoulli"}
ABROAD = -1  # where a passenger on board is


def river_swim(
    size: int = 25,
    p_lazy: float = 0.0,
    p_rand: float = 0.0,
    optimal: float = 0.9,
    suboptimal: float = 0.2,
    other: float = 0.02,
) -> TabularMDP:
    """A chain: to the left at its left end pays a little, to the right at its right end much."""
    size = whole_number("size", size, least=2, most=MOST_STATES)
    last = size - 1

    def step(state: StateTuple, action: str) -> Distribution:
        return {(min(state[0] + 1, last) if action == "right" else max(state[0] - 1, 0),): 1.0}

    def pay(state: StateTuple, action: str, _: StateTuple) -> float:
        if state == (last,) and action == "right":
            return optimal
        return suboptimal if state == (0,) and action == "left" else other

    return _continuous(("left", "right"), step, pay, p_lazy, p_rand, [(0,)])


def deep_sea(
    size: int = 20, p_rand: float = 0.0, optimal: float = 0.95, suboptimal: float = 0.025, other: float = 0.0025
) -> TabularMDP:
    """A diver sinks a row a step, to the left or to the right, and begins again at the bottom.

    To the right in the far corner pays most, to the left anywhere a little.
    """
    size = whole_number("size", size, least=2, most=isqrt(MOST_STATES))
    last = size - 1

    def step(state: StateTuple, action: str) -> Distribution:
        row, column = state
        if row == last:
            return {(0, 0): 1.0}
        return {(row + 1, min(column + 1, last) if action == "right" else max(column - 1, 0)): 1.0}

    def pay(state: StateTuple, action: str, _: StateTuple) -> float:
        if action == "left":
            return suboptimal
        return optimal if state == (last, last) else other

    return _continuous(("left", "right"), step, pay, 0.0, p_rand, [(0, 0)])


def simple_grid(
    size: int = 10,
    p_lazy: float = 0.0,
    p_rand: float = 0.0,
    optimal: float = 0.9,
    suboptimal: float = 0.02,
    other: float = 0.2,
) -> TabularMDP:
    """A field without walls; to stay pays much in two opposite corners and little in the other two."""
    size = whole_number("size", size, least=3, most=isqrt(MOST_STATES))
    last = size - 1

    def step(state: StateTuple, action: str) -> Distribution:
        right, up = WAYS.get(action, (0, 0))
        return {(min(max(state[0] + right, 0), last), min(max(state[1] + up, 0), last)): 1.0}

    def pay(state: StateTuple, _: str, reached: StateTuple) -> float:
        if reached != state or not {*state} <= {0, last}:
            return other
        return optimal if state[0] != state[1] else suboptimal

    return _continuous((*WAYS, "stay"), step, pay, p_lazy, p_rand, [(last // 2, last // 2)])


def frozen_lake(
    size: int = 4,
    p_frozen: float = 0.9,
    p_lazy: float = 0.0,
    p_rand: float = 0.0,
    goal: float = 1.0,
    other: float = 0.0,
    seed: int = 0,
) -> TabularMDP:
    """Ice with holes at random, on which half of all steps slip to a side; a hole and the goal lead to the start.

    Whatever ends at the goal pays, a lazy step there too.
    """
    size = whole_number("size", size, least=3, most=isqrt(MOST_STATES))
    p_frozen = between("p_frozen", p_frozen, least=0.1)
    start, end, last = (0, 0), (size - 1, size - 1), size - 1
    frozen = _lake(size, p_frozen, np.random.default_rng(whole_number("seed", seed, least=0)))

    def step(state: StateTuple, action: str) -> Distribution:
        if state == end:
            return {start: 1.0}
        k = [*WAYS].index(action)
        return mixed((_moved(state, k + turn), p) for turn, p in ((0, 0.5), (-1, 0.25), (1, 0.25)))

    def _moved(state: StateTuple, way: int) -> StateTuple:
        right, up = DIRECTIONS[way % 4]
        cell = (min(max(state[0] + right, 0), last), min(max(state[1] + up, 0), last))
        return cell if frozen[cell] else start

    def pay(_: StateTuple, __: str, reached: StateTuple) -> float:
        return goal if reached == end else other

    return _continuous(tuple(WAYS), step, pay, p_lazy, p_rand, [start])


def _lake(size: int, p_frozen: float, rng: np.random.Generator) -> np.ndarray:
    """(size, size) what is frozen: drawn again until the goal can be walked to."""
    from scipy import ndimage

    while True:
        frozen = rng.random((size, size)) < p_frozen
        frozen[0, 0] = frozen[-1, -1] = True
        part, _ = ndimage.label(frozen)
        if part[0, 0] == part[-1, -1]:
            return frozen


def minigrid_empty(
    size: int = 8,
    p_lazy: float = 0.0,
    p_rand: float = 0.0,
    optimal: float = 1.0,
    other: float = 0.0,
    starts: int = 1,
    seed: int = 0,
) -> TabularMDP:
    """An empty field in which one goes forward or turns; to end in the goal pays, which lies at the far side."""
    size = whole_number("size", size, least=3, most=isqrt(MOST_STATES // 4))
    starts = whole_number("starts", starts, most=size)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    turned = int(rng.integers(4))

    def on_side(far: int, place: int) -> StateTuple:
        """A cell of the first or the far side, the field turned by quarters."""
        x, y = far * (size - 1), place
        for _ in range(turned):
            x, y = y, size - 1 - x
        return (x, y)

    goal = on_side(1, int(rng.integers(size)))
    first = [(*on_side(0, int(k)), int(rng.integers(4))) for k in rng.permutation(size)[:starts]]
    return _walked(set(product(range(size), repeat=2)), goal, first, (p_lazy, p_rand, optimal, other))


def minigrid_rooms(
    room_size: int = 3,
    rooms: int = 4,
    p_lazy: float = 0.0,
    p_rand: float = 0.0,
    optimal: float = 1.0,
    other: float = 0.0,
    starts: int = 2,
    seed: int = 0,
) -> TabularMDP:
    """Rooms in a square with doors between neighbours, walked like ``minigrid_empty``, from corner room to corner room.

    ``rooms`` is how many there are, a square number.
    """
    side = isqrt(whole_number("rooms", rooms, least=4, most=400))
    if side * side != rooms:
        raise ValueError(f"rooms must be a square number, such as 4 or 9, not {rooms}")
    room_size = whole_number("room_size", room_size, least=2, most=isqrt(MOST_STATES // 4) // side - 1)
    starts = whole_number("starts", starts, most=4 * room_size**2)
    middle, pitch = room_size // 2, room_size + 1

    def room(x: int, y: int) -> list[StateTuple]:
        return [(pitch * x + i, pitch * y + j) for i, j in product(range(room_size), repeat=2)]

    cells = {cell for place in product(range(side), repeat=2) for cell in room(*place)}
    for wall, across in product(range(1, side), range(side)):
        door = (pitch * wall - 1, pitch * across + middle)
        cells |= {door, door[::-1]}

    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    corners = list(product((0, side - 1), repeat=2))
    here, there = (corners[int(k)] for k in rng.permutation(4)[:2])
    goal = room(*there)[int(rng.integers(room_size**2))]
    first = [(*room(*here)[int(k) // 4], int(k) % 4) for k in rng.permutation(4 * room_size**2)[:starts]]
    return _walked(cells, goal, first, (p_lazy, p_rand, optimal, other))


def _walked(
    cells: set[StateTuple], goal: StateTuple, first: Sequence[StateTuple], numbers: tuple[float, float, float, float]
) -> TabularMDP:
    """Cells in which one faces a direction, goes forward or turns; whatever ends in the goal pays."""
    p_lazy, p_rand, optimal, other = numbers

    def step(state: StateTuple, action: str) -> Distribution:
        x, y, facing = state
        if action != "forward":
            return {(x, y, (facing + (1 if action == "right" else -1)) % 4): 1.0}
        right, up = DIRECTIONS[facing]
        return {((x + right, y + up, facing) if (x + right, y + up) in cells else state): 1.0}

    def pay(_: StateTuple, __: str, reached: StateTuple) -> float:
        return optimal if reached[:2] == goal else other

    return _continuous(TURNS, step, pay, p_lazy, p_rand, first)


def taxi(
    size: int = 5,
    length: int = 2,
    width: int = 1,
    space: int = 1,
    locations: int = 4,
    p_lazy: float = 0.0,
    p_rand: float = 0.0,
    delivered: float = 0.9,
    failed: float = 0.02,
    other: float = 0.2,
    seed: int = 0,
) -> TabularMDP:
    """A taxi between walls: fetch the passenger, drive to where they want to go; the next one waits elsewhere.

    Walls are ``width`` wide and ``length`` long, ``space`` apart, row by row shifted. A passenger and a destination are
    at one of the ``locations``; to fetch or set down in vain pays least.
    """
    size = whole_number("size", size, least=4, most=30)
    length, width = whole_number("length", length, most=size - 1), whole_number("width", width, most=size - 1)
    space, locations = whole_number("space", space, most=2 * size - 1), whole_number("locations", locations, least=3)
    if not size > 2 * sqrt(locations):
        raise ValueError(f"{locations} locations need a size above {2 * sqrt(locations):.3g}, not {size}")
    cells = {cell for cell, wall in _walls(size, length, width, space) if not wall}
    stands = _stands(size, locations, cells, np.random.default_rng(whole_number("seed", seed, least=0)))

    def step(state: StateTuple, action: str) -> Distribution:
        x, y, *passenger, to_x, to_y = state
        if action == "drop" and passenger == [ABROAD, ABROAD] and (x, y) == (to_x, to_y):
            orders = [(p, to) for p in stands if p != (x, y) for to in stands if to != p]
            return {(x, y, *p, *to): 1 / len(orders) for p, to in orders}
        if action == "fetch" and passenger == [x, y]:
            return {(x, y, ABROAD, ABROAD, to_x, to_y): 1.0}
        right, up = WAYS.get(action, (0, 0))
        cell = (x + right, y + up) if (x + right, y + up) in cells else (x, y)
        return {(*cell, *passenger, to_x, to_y): 1.0}

    def pay(state: StateTuple, action: str, reached: StateTuple) -> float:
        before, after = state[2] == ABROAD, reached[2] == ABROAD
        if action == "fetch":
            return other if after and not before else failed
        if action == "drop":
            return delivered if before and not after else failed
        return other

    first = [(*at, *p, *to) for p in stands for to in stands if to != p for at in sorted(cells)]
    return _continuous((*WAYS, "fetch", "drop"), step, pay, p_lazy, p_rand, first)


def _walls(size: int, length: int, width: int, space: int) -> Iterator[tuple[StateTuple, int]]:
    """Every cell, and whether it is a wall: bands of ``length`` rows with walls, free rows between them."""
    for row in range(size):
        band, within = divmod(row, length + 1)
        lead = [] if band % 2 else [0] * ((width + space) // 2)
        pattern = list(islice((*lead, *islice(cycle([1] * width + [0] * space), size)), size))
        for column, wall in enumerate(pattern):
            yield (row, column), wall if within < length else 0


def _stands(size: int, locations: int, cells: set[StateTuple], rng: np.random.Generator) -> list[StateTuple]:
    """Locations in different parts of the field, further apart from each other than 2 and half a part."""
    side = ceil(sqrt(locations))
    split = [set(map(int, part)) for part in np.array_split(np.arange(size), side)]
    parts = [sorted(cell for cell in cells if cell[0] in a and cell[1] in b) for a, b in product(split, split)]
    apart = max(size / side / 2, 2)
    while True:
        drawn = [part[int(rng.integers(len(part)))] for part in parts]
        gaps = [np.hypot(a[0] - b[0], a[1] - b[1]) for k, a in enumerate(drawn) for b in drawn[:k]]
        if min(gaps) > apart:
            return [drawn[int(k)] for k in rng.permutation(len(drawn))[:locations]]


def _continuous(
    actions: Sequence[str], step: Step, pay: Pay, p_lazy: float, p_rand: float, first: Sequence[StateTuple]
) -> TabularMDP:
    """The MDP of such steps and rewards, with lazy steps and random actions, begun in one of some states."""
    p_lazy, p_rand = between("p_lazy", p_lazy, most=0.9999), between("p_rand", p_rand, most=0.9999)

    def follows(state: StateTuple, action: str) -> Distribution:
        played = {name: (name == action) * (1 - p_rand) + p_rand / len(actions) for name in actions}
        moves = [(x, (1 - p_lazy) * q * p) for name, q in played.items() if q for x, p in step(state, name).items()]
        return mixed([*moves, (state, p_lazy)])

    def rule(state: StateTuple) -> Effects:
        leads = {action: follows(state, action) for action in actions}
        return {name: (to, sum(p * pay(state, name, x) for x, p in to.items())) for name, to in leads.items()}

    mdp = mdp_from_start(rule, first[0], reward_range=(0.0, 1.0))
    place = {name: k for k, name in enumerate(mdp.pairs.state_names or ())}
    initial = np.zeros(mdp.n_states)
    initial[[place[",".join(map(str, state))] for state in first]] = 1 / len(first)
    return replace(mdp, initial=initial)


COLOSSEUM: Mapping[str, World] = {
    "colosseum/river-swim": World("colosseum.river_swim", "", "a chain with a reward at either end", rewards=RANDOM),
    "colosseum/deep-sea": World("colosseum.deep_sea", "", "a reward where only going right leads", rewards=RANDOM),
    "colosseum/simple-grid": World(
        "colosseum.simple_grid", "", "a field: two good and two bad corners", rewards=RANDOM
    ),
    "colosseum/frozen-lake": World("colosseum.frozen_lake", "", "over slippery ice with holes", rewards=RANDOM),
    "colosseum/minigrid-empty": World("colosseum.minigrid_empty", "", "a field: go forward or turn", rewards=RANDOM),
    "colosseum/minigrid-rooms": World("colosseum.minigrid_rooms", "", "rooms: go forward or turn", rewards=RANDOM),
    "colosseum/taxi": World("colosseum.taxi", "", "fetch passengers and drive them between walls", rewards=RANDOM),
}
