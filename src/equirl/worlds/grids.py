"""Grid-worlds from text maps: ``#`` wall, ``.`` floor, ``S`` start, ``G`` goal, ``1`` to ``9`` paying floor.

Actions are up, down, left, right.

An action moves in its direction with mass ``forward``, in each perpendicular one with ``side``, and stays with
``stay``; a move into a wall, or off the map, adds its mass to staying. Every action in the goal pays ``goal_reward``
and leads to the start; on a floor marked with a digit d every action pays d / 10. With ``walls_are_states`` walls are
numbered too: nobody reaches them, and all four actions stay put there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equirl.model.mdp import Picture, TabularMDP
from equirl.model.pairs import MOST_STATES, Pairs
from equirl.model.rows import rows_from_triplets
from equirl.words.checking import between, flag, several, unknown_name, whole_number
from equirl.words.formatting import shown

ACTIONS = ("up", "down", "left", "right")
MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
SIDES = np.array([(2, 3), (2, 3), (0, 1), (0, 1)])  # the two actions perpendicular to each
KERNELS = {"main": (0.7, 0.1, 0.1), "appendix": (0.8, 0.05, 0.1)}  # forward, each side, stay
PAYING = "123456789"  # tenths that every action on such a floor pays
MARKS, ENDS = "#.SG" + PAYING, {"S": "start", "G": "goal"}
SMALL_MAP = "#######/#S..#.#/#.#...#/#...#G#/#######"

Kernel = str | Sequence[float]


def grid(
    map: str | Sequence[str] = SMALL_MAP,
    kernel: Kernel = "main",
    walls_are_states: bool = False,
    goal_reward: float = 1.0,
) -> TabularMDP:
    """A grid-world from a map.

    Several starts are drawn from uniformly; floor out of reach is kept.

    Parameters
    ----------
    map : str or sequence of str
        A list of rows, or one text with rows ended by newlines or ``/``: ``#`` wall, ``.`` floor, ``S`` start, ``G``
        goal, ``1`` to ``9`` floor that pays 0.1 to 0.9.
    kernel : str or three floats, default "main"
        Probabilities of a move: "main" (0.7 forward, 0.1 to each side, 0.1 stay), "appendix" (0.8, 0.05, 0.1), or the
        three numbers, also as text "0.7/0.1/0.1".
    walls_are_states : bool, default False
        Whether walls are numbered too, as states that nobody reaches.
    goal_reward : float, default 1
        What every action in the goal pays.
    """
    return _grid(read_map(map, MARKS, ENDS), kernel, walls_are_states, goal_reward)


def four_room(
    height: int = 7,
    width: int = 7,
    kernel: Kernel = "main",
    walls_are_states: bool = False,
    goal_reward: float = 1.0,
) -> TabularMDP:
    """Four rooms, one door in each arm of the cross between them; from one corner to the opposite one.

    Parameters
    ----------
    height, width : int
        The size of the map, outer walls included; at least 5.
    kernel : str or three floats, default "main"
        Probabilities of a move: "main" (0.7 forward, 0.1 to each side, 0.1 stay), "appendix" (0.8, 0.05, 0.1), or the
        three numbers, also as text "0.7/0.1/0.1".
    walls_are_states : bool, default False
        Whether walls are numbered too, as states that nobody reaches.
    goal_reward : float, default 1
        What every action in the goal pays.
    """
    cells = _walled(height, width)
    row, column = height // 2, width // 2
    cells[row, 1:-1] = cells[1:-1, column] = "#"
    cells[row, [column // 2, 3 * column // 2]] = "."
    cells[[row // 2, 3 * row // 2], column] = "."
    return _grid(_with_ends(cells), kernel, walls_are_states, goal_reward)


def two_room(
    height: int = 7,
    width: int = 7,
    kernel: Kernel = "main",
    walls_are_states: bool = False,
    goal_reward: float = 1.0,
) -> TabularMDP:
    """Two rooms, one above the other, with a door in the middle of the wall between them.

    Parameters
    ----------
    height, width : int
        The size of the map, outer walls included; at least 5.
    kernel : str or three floats, default "main"
        Probabilities of a move: "main" (0.7 forward, 0.1 to each side, 0.1 stay), "appendix" (0.8, 0.05, 0.1), or the
        three numbers, also as text "0.7/0.1/0.1".
    walls_are_states : bool, default False
        Whether walls are numbered too, as states that nobody reaches.
    goal_reward : float, default 1
        What every action in the goal pays.
    """
    cells = _walled(height, width)
    cells[height // 2, 1:-1] = "#"
    cells[height // 2, width // 2] = "."
    return _grid(_with_ends(cells), kernel, walls_are_states, goal_reward)


def random_walls(
    height: int = 16,
    width: int = 16,
    density: float = 0.2,
    seed: int = 0,
    kernel: Kernel = "main",
    walls_are_states: bool = False,
    goal_reward: float = 1.0,
) -> TabularMDP:
    """A walled field in which each inner cell is a wall with probability ``density``.

    Only the largest connected floor is kept, and of that what can be reached without passing through the goal; the
    rest becomes wall, so every state and the goal can be reached. Above a density of about 0.4 floor falls apart and
    that part is small.

    Parameters
    ----------
    height, width : int
        The size of the map, outer walls included; at least 5.
    density : float, default 0.2
        The probability of a wall in each inner cell.
    seed : int, default 0
        Where the walls come from.
    kernel : str or three floats, default "main"
        Probabilities of a move: "main" (0.7 forward, 0.1 to each side, 0.1 stay), "appendix" (0.8, 0.05, 0.1), or the
        three numbers, also as text "0.7/0.1/0.1".
    walls_are_states : bool, default False
        Whether walls are numbered too, as states that nobody reaches.
    goal_reward : float, default 1
        What every action in the goal pays.
    """
    cells = _walled(height, width)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    inner = cells[1:-1, 1:-1]
    inner[rng.random(inner.shape) < between("density", density)] = "#"
    part, sizes = _floors(cells)
    if sizes.max(initial=0) < 2:
        raise ValueError(f"density {density} leaves no two neighbouring floor cells in {height}x{width}; lower it")
    cells = _with_ends(np.where(part == sizes.argmax() + 1, ".", "#"))
    part, _ = _floors(np.where(cells == "G", "#", cells))
    cells[(part != part[cells == "S"]) & (cells == ".")] = "#"
    return _grid(cells, kernel, walls_are_states, goal_reward)


def _floors(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The connected floors, numbered from 1 (0 on walls), and their sizes."""
    from scipy import ndimage

    part, n_parts = ndimage.label(cells != "#")
    return part, np.bincount(part.ravel(), minlength=n_parts + 1)[1:]


def _walled(height: int, width: int) -> np.ndarray:
    height = whole_number("height", height, least=5, most=MOST_STATES)
    cells = np.full((height, whole_number("width", width, least=5, most=MOST_STATES // height)), "#")
    cells[1:-1, 1:-1] = "."
    return cells


def _with_ends(cells: np.ndarray) -> np.ndarray:
    """Start on the first floor cell (upper left), goal on the last (lower right)."""
    floor = np.argwhere(cells == ".")
    cells[tuple(floor[0])], cells[tuple(floor[-1])] = "S", "G"
    return cells


def read_map(text: Any, marks: str, needed: Mapping[str, str]) -> np.ndarray:
    if isinstance(text, str):
        text = text.strip().replace("/", "\n").split("\n")
    given = several("map", text)
    for number, row in enumerate(given):
        if not isinstance(row, str):
            raise TypeError(f"map must be rows of text; row {number} is {shown(row)}")
    rows = [row.strip() for row in given]
    if not any(rows):
        ends = " and ".join(f"a {meaning} {mark}" for mark, meaning in needed.items())
        raise ValueError(f"the map is empty; it needs at least {ends}")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]) or not row:
            raise ValueError(f"row {number} of the map has {len(row)} cells, row 0 has {len(rows[0])}")
        for column, cell in enumerate(row):
            if cell not in marks:
                raise ValueError(f"cell {number},{column} of the map is {cell!r}; it may be one of {' '.join(marks)}")
    cells = np.array([list(row) for row in rows])
    for mark, meaning in needed.items():
        if not (cells == mark).any():
            raise ValueError(f"the map has no {meaning}: mark a cell with {mark}")
    return cells


def read_kernel(kernel: Any) -> tuple[float, float, float]:
    """Forward, side and stay of a kernel that is named, or given as three numbers or as text "0.7/0.1/0.1"."""
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]
    try:
        numbers = [float(part) for part in (kernel.split("/") if isinstance(kernel, str) else kernel)]
    except (TypeError, ValueError):
        raise ValueError(unknown_name("kernel", kernel, [*KERNELS, "forward/side/stay"])) from None
    if len(numbers) != 3:
        raise ValueError(f"kernel {shown(kernel)} has {len(numbers)} numbers; it needs forward, side and stay")
    forward, side, stay = (
        between(f"kernel {name}", p) for name, p in zip(("forward", "side", "stay"), numbers, strict=True)
    )
    if abs(forward + 2 * side + stay - 1) > 1e-8:
        raise ValueError(f"kernel {shown(kernel)}: forward + 2 side + stay is {forward + 2 * side + stay:g}, not 1")
    return forward, side, stay


def _grid(cells: np.ndarray, kernel: Kernel, walls_are_states: bool, goal_reward: float) -> TabularMDP:
    forward, side, stay = read_kernel(kernel)
    cell = np.argwhere((cells != "#") | flag("walls_are_states", walls_are_states))  # (S, 2)
    n_states = len(cell)
    mark, state = cells[tuple(cell.T)], np.arange(n_states)

    goes = neighbours(cells, cell)  # (S, 4) where a move in each direction ends
    succ = np.stack([goes, goes[:, SIDES[:, 0]], goes[:, SIDES[:, 1]], np.repeat(state[:, None], 4, axis=1)])
    prob = np.broadcast_to(np.array([forward, side, side, stay])[:, None, None], succ.shape)
    pair = np.broadcast_to(np.arange(4 * n_states).reshape(n_states, 4), succ.shape)
    moving = np.broadcast_to((mark != "G") & (mark != "#"), (4, 4, n_states)).swapaxes(1, 2)

    starts = state[mark == "S"]
    goals, walls = (pair[0, mark == kind].ravel() for kind in "G#")
    pairs = Pairs.uniform(n_states, 4)
    rows = rows_from_triplets(
        pairs,
        np.concatenate([pair[moving], np.repeat(goals, len(starts)), walls]),
        np.concatenate([succ[moving], np.tile(starts, len(goals)), walls // 4]),
        np.concatenate([prob[moving], np.full(len(goals) * len(starts), 1 / len(starts)), np.ones(len(walls))]),
    )
    digit = mark.astype("<U1").view(np.uint32) - ord("0")
    pays = np.where((mark >= PAYING[0]) & (mark <= PAYING[-1]), digit / 10, 0.0)
    means = np.repeat(np.where(mark == "G", between("goal_reward", goal_reward), pays), 4)
    names = tuple(f"{row},{column}" for row, column in cell.tolist())
    picture = Picture(tuple("".join(row) for row in cells), cell)
    initial = (mark == "S") / len(starts)
    return TabularMDP(Pairs(pairs.ptr, pairs.action, names, ACTIONS), rows, means, initial, picture=picture)


def neighbours(cells: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """(S, 4) where a step in each direction ends: the next cell, or this one before a wall and at the edge."""
    number = np.full((cells.shape[0] + 2, cells.shape[1] + 2), -1)  # -1: a wall, or off the map
    is_floor = cells[tuple(cell.T)] != "#"
    number[tuple(cell[is_floor].T + 1)] = np.flatnonzero(is_floor)
    to = cell[:, None, :] + MOVES + 1
    goes = number[to[..., 0], to[..., 1]]
    return np.where(goes < 0, np.arange(len(cell))[:, None], goes)
