"""A delivery round over ground that is slippery in places: each landform has its own probabilities of a move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equirl.model.mdp import Picture, TabularMDP
from equirl.worlds.grids import ACTIONS, SIDES, Kernel, neighbours, read_kernel, read_map
from equirl.worlds.rules import Effects, StateTuple, mdp_from_rules, mixed

LANDFORMS = ".~:"  # road, ice, sand
ENDS = {"P": "pick-up point", "D": "door to deliver to"}
TOWN = "#########/#P.~~~..#/#..~~~:.#/#.##~.:.#/#..::::.#/#...::.D#/#########"


def delivery(
    map: str | Sequence[str] = TOWN,
    road: Kernel = (0.8, 0.05, 0.1),
    ice: Kernel = (0.5, 0.25, 0.0),
    sand: Kernel = (0.4, 0.05, 0.5),
) -> TabularMDP:
    """Deliveries over road, ice and sand: fetch a parcel at one place, bring it to the other, and again.

    The map marks walls ``#``, road ``.``, ice ``~``, sand ``:``, the place ``P`` where parcels are fetched and the door
    ``D`` where they are wanted, both on road. A state is a cell and whether there is a parcel on board, named
    "row,column" and "row,column,loaded"; the first is at ``P`` without one. A move goes in its direction, to either
    side or nowhere with the probabilities of the ground it starts on; a move into a wall stays. Without a parcel every
    action at ``P`` loads one; with one every action at ``D`` delivers it, which pays 1. The picture shows the map
    twice: on the left without a parcel, on the right with one.

    Ground and the walls around say with which probabilities a move goes where, the cell only where that is; and with a
    parcel one slips as without: a few classes for each landform, however large the map.

    No published value at hand: the map is this package's own.

    Parameters
    ----------
    map : str or sequence of str
        A list of rows, or one text with rows ended by newlines or ``/``.
    road, ice, sand : three floats, or str
        Probabilities of a move on each landform: forward, to each side, stay; also as text "0.8/0.05/0.1".
    """
    cells = read_map(map, "#" + LANDFORMS + "".join(ENDS), ENDS)
    for mark, meaning in ENDS.items():
        if (cells == mark).sum() > 1:
            raise ValueError(f"the map has {(cells == mark).sum()} cells {mark}; it needs one {meaning}")
    kernels = {mark: read_kernel(kernel) for mark, kernel in zip(LANDFORMS, (road, ice, sand), strict=True)}
    cell = np.argwhere(cells != "#")
    goes = neighbours(cells, cell).tolist()
    ground = cells[tuple(cell.T)].tolist()
    fetch, door = ground.index("P"), ground.index("D")

    def rule(state: StateTuple) -> Effects:
        loaded, at = state
        if at == (door if loaded else fetch):
            return dict.fromkeys(ACTIONS, ({(1 - loaded, at): 1.0}, float(loaded)))
        forward, side, stay = kernels.get(ground[at], kernels["."])
        choices = {}
        for a, name in enumerate(ACTIONS):
            left, right = SIDES[a]
            steps = (goes[at][a], forward), (goes[at][left], side), (goes[at][right], side), (at, stay)
            choices[name] = (mixed(((loaded, to), p) for to, p in steps), 0.0)
        return choices

    def name(state: StateTuple) -> str:
        row, column = cell[state[1]]
        return f"{row},{column}{',loaded' if state[0] else ''}"

    states = [(loaded, at) for loaded in (0, 1) for at in range(len(cell))]
    return mdp_from_rules(states, ACTIONS, rule, (0, fetch), names=name, picture=_twice(cells, cell))


def _twice(cells: np.ndarray, cell: np.ndarray) -> Picture:
    """The map without a parcel, a wall, and the map with one."""
    width = cells.shape[1] + 1
    empty, loaded = np.where(cells == "P", "S", cells), np.where(cells == "D", "G", cells)
    empty[cells == "D"] = loaded[cells == "P"] = "."
    rows = tuple(f"{''.join(one)}#{''.join(two)}" for one, two in zip(empty, loaded, strict=True))
    return Picture(rows, np.concatenate([cell, cell + np.array([0, width])]))
