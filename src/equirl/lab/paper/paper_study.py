"""The paper's study and the class tables of its appendix F, computed rather than simulated."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from equirl.lab.paper.published import MAPS, PRINTED_ROOMS, ROOM_SIZES
from equirl.lab.studies.expansion import PlannedRun, expand
from equirl.lab.studies.study_file import StudyFile, shipped_study
from equirl.structure import equivalence_classes
from equirl.worlds import load_world, make

DRAWS = 100  # random maps whose classes are counted, of the small size; a tenth of it of the large one
DENSITIES = (0.1, 0.3)


def paper_study(runs: int = 100) -> StudyFile:
    return shipped_study("paper", "paper").model_copy(update={"runs": runs})


def paper_runs(runs: int = 100) -> list[PlannedRun]:
    return expand(paper_study(runs))


@dataclass(frozen=True)
class MapRow:
    """A map of appendix F's first table: pairs and classes as printed and as the definitions give them."""

    title: str
    printed_pairs: str
    n_pairs: int
    printed_classes: int
    n_classes: int
    given: bool

    @property
    def verdict(self) -> str:
        """Whether the counts agree; of a map that stands in for another they can only be consistent."""
        if self.n_classes != self.printed_classes:
            return "not reproduced"
        return "reproduced" if self.given else "consistent"


@dataclass(frozen=True)
class RoomRow:
    """A size of appendix F's second table."""

    title: str
    printed_pairs: int
    printed_classes: int
    n_pairs: int
    n_classes: int
    n_pairs_walls: int
    n_classes_walls: int


def map_rows() -> list[MapRow]:
    """The four maps of the first table; those with random walls are not given, so ours stand in."""
    rows = []
    for row in MAPS:
        mdp = load_world(row.world)
        found = equivalence_classes(mdp).n_classes
        given = not row.world.startswith("random")
        rows.append(MapRow(row.title, row.n_pairs, mdp.n_pairs, row.n_classes, found, given))
    return rows


def room_rows() -> list[RoomRow]:
    """The second table: rooms of several sizes. Its SA counts walls as states; its C follows from no definition."""
    rows = []
    for world, printed in PRINTED_ROOMS.items():
        for size in ROOM_SIZES:
            counts: list[int] = []
            for walls in (False, True):
                mdp = make(world, height=size, width=size, kernel="appendix", walls_are_states=walls)
                counts += [mdp.n_pairs, equivalence_classes(mdp).n_classes]
            rows.append(RoomRow(f"{world}, {size}x{size}", 4 * size * size, printed, *counts))
    return rows


def draw_counts() -> list[tuple[str, dict[int, int]]]:
    counts = []
    for size, draws in ((17, DRAWS), (57, DRAWS // 10)):
        for density in DENSITIES:
            found: Counter[int] = Counter()
            for seed in range(draws):
                mdp = make("random-walls", height=size, width=size, density=density, seed=seed, kernel="appendix")
                found[equivalence_classes(mdp).n_classes] += 1
            counts.append((f"{size}x{size}, {100 * density:.0f} % walls", dict(sorted(found.items()))))
    return counts
