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
from equirl.model.rows import AT_ONCE, INDEX, Rows
from equirl.numerics.arrays import sealed, starts
from equirl.words.checking import between, flag, several, unknown_name, whole_number
from equirl.words.formatting import shown

ACTIONS = ("up", "down", "left", "right")
MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
SIDES = np.array([(2, 3), (2, 3), (0, 1), (0, 1)])  # the two actions perpendicular to each
PLACES = (0, 4, 1, 3)  # of each action's successor among those of a state: above, left, here, right, below
WALLED, GOAL = 16, 17  # kinds of states, after those by which of their moves are blocked
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
    mark = cells[tuple(cell.T)]

    rows = _grid_rows(neighbours(cells, cell), mark, (forward, side, stay))
    digit = mark.astype("<U1").view(np.uint32) - ord("0")
    pays = np.where((mark >= PAYING[0]) & (mark <= PAYING[-1]), digit / 10, 0.0)
    means = np.repeat(np.where(mark == "G", between("goal_reward", goal_reward), pays), 4)
    first, second = [f"{row}," for row in range(cells.shape[0])], [str(column) for column in range(cells.shape[1])]
    names = tuple([first[row] + second[column] for row, column in zip(*cell.T.tolist(), strict=True)])
    picture = Picture(tuple(text.tobytes().decode("utf-32") for text in cells), cell)
    initial = (mark == "S") / np.count_nonzero(mark == "S")
    pairs = Pairs.uniform(n_states, 4)
    pairs = Pairs(pairs.ptr, pairs.action, names, ACTIONS)
    return TabularMDP(pairs, rows, sealed(means), sealed(initial), picture=picture)


def _grid_rows(goes: np.ndarray, mark: np.ndarray, kernel: tuple[float, float, float]) -> Rows:
    """The rows of all pairs, from where a step in each direction ends; equal surroundings have equal rows."""
    here = np.arange(len(goes), dtype=INDEX)
    kind = (goes == here[:, None]) @ np.array([1, 2, 4, 8])
    kind[mark == "#"], kind[mark == "G"] = WALLED, GOAL
    masses = _masses_by_kind(kernel)
    first, goal = here[mark == "S"], np.flatnonzero(kind == GOAL)
    size = np.count_nonzero(masses, axis=2)
    size[GOAL] = len(first)
    ptr = starts(size[kind].ravel())
    succ, prob = np.empty(ptr[-1], INDEX), np.empty(ptr[-1])
    for s in range(0, len(goes), AT_ONCE):
        part = slice(s, s + AT_ONCE)
        up, down, left, right = goes[part].T
        around = np.stack([up, left, here[part], right, down], axis=1)[:, None]  # increasing, but for blocked moves
        mass = masses[kind[part]]
        entry = mass > 0
        place = np.repeat(kind[part] != GOAL, size[kind[part]].sum(axis=1))
        entries = slice(ptr[4 * s], ptr[min(4 * s + 4 * AT_ONCE, len(ptr) - 1)])
        succ[entries][place], prob[entries][place] = np.broadcast_to(around, mass.shape)[entry], mass[entry]
    place = (ptr[4 * goal[:, None] + np.arange(4)][..., None] + np.arange(len(first))).reshape(-1, len(first))
    succ[place], prob[place] = first, 1 / len(first)
    return Rows(sealed(ptr), sealed(succ), sealed(prob))


def _masses_by_kind(kernel: tuple[float, float, float]) -> np.ndarray:
    """(18, 4, 5) mass of each action on the states above, to the left, here, to the right and below.

    By kind of state: the sum of 1, 2, 4, 8 for blocked moves up, down, left, right; in a wall; at the goal, where
    rows are others.
    """
    forward, side, stay = kernel
    out = np.zeros((18, 4, 5))
    for kind, action in np.ndindex(16, 4):
        row = out[kind, action]
        for way, mass in zip((action, *SIDES[action].tolist()), (forward, side, side), strict=True):
            row[2 if kind >> way & 1 else PLACES[way]] += mass
        row[2] += stay
    out[WALLED, :, 2] = 1.0
    return out


def neighbours(cells: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """(S, 4) where a step in each direction ends: the next cell, or this one before a wall and at the edge."""
    number = np.full((cells.shape[0] + 2, cells.shape[1] + 2), -1, INDEX)  # -1: a wall, or off the map
    row, column = cell.T + 1
    floor = np.flatnonzero(cells[tuple(cell.T)] != "#")
    number[row[floor], column[floor]] = floor
    goes = np.stack([number[row + down, column + right] for down, right in MOVES.tolist()], axis=1)
    return np.where(goes < 0, np.arange(len(cell), dtype=INDEX)[:, None], goes)
