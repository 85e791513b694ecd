"""What the paper's figures and tables say: read off the published curves, two digits at best."""

from __future__ import annotations

from typing import NamedTuple

UCRL2L, KNOWN_ALL = "UCRL2-L", "C-UCRL(C,σ)"  # labels in paper.toml
PUBLISHED, PROGRAMMED, DEFAULT = "C-UCRL (as published)", "C-UCRL (as programmed)", "C-UCRL (our defaults)"


class PublishedFigure(NamedTuple):
    """A figure of regret: its part of the study, its title, and the regret at T of the paper's three learners."""

    part: str
    title: str
    horizon: int
    ucrl2l: float
    c_ucrl: float
    known_all: float
    gain: float  # the slope of UCRL2-L's linear phase


REGRET = (
    PublishedFigure("ergodic-25", "Ergodic RiverSwim, 25 states", 200_000, 6.2e4, 2.45e4, 1.7e4, 0.875),
    PublishedFigure("ergodic-50", "Ergodic RiverSwim, 50 states", 500_000, 4.15e5, 1.82e5, 5.7e4, 0.875),
    PublishedFigure("riverswim-25", "RiverSwim, 25 states", 500_000, 9.2e4, 1.17e5, 2.9e4, 0.875),
    PublishedFigure("grid", "Four-room grid-world, 7x7", 500_000, 3.1e4, 3.45e4, 1.4e4, 0.0756),
)


def published_regret(part: str) -> dict[str, float]:
    """The published regret at T in one figure.

    >>> published_regret("ergodic-25")["ucrl2-l"]
    62000.0
    """
    for row in REGRET:
        if row.part == part:
            return {"ucrl2-l": row.ucrl2l, "c-ucrl-published": row.c_ucrl, "c-ucrl-c-sigma": row.known_all}
    return {}


QUARTER_PART = "ergodic-25"
AT_QUARTER = {UCRL2L: 3.9e4, PUBLISHED: 1.95e4, PROGRAMMED: 1.95e4, KNOWN_ALL: 0.8e4}  # regret at T/4 in ergodic-25
IMPROVEMENT = {"ergodic-25": 2.9, "ergodic-50": 8.0}  # regret of UCRL2-L / regret of C-UCRL(C, sigma) at T


class PublishedClustering(NamedTuple):
    """A world of the clustering figures: peak and value at T = 10^6 of ratio and bias."""

    part: str
    n_states: int
    ratio_peak: float
    ratio_last: float
    bias_peak: float
    bias_last: float


CLUSTERING = (
    PublishedClustering("clustering-25", 25, 0.41, 0.105, 0.039, 0.0145),
    PublishedClustering("clustering-50", 50, 0.32, 0.105, 0.0245, 0.0085),
)


class PublishedMap(NamedTuple):
    """A map of appendix F: pairs and classes as printed. The two with random walls are not given; ours stand in."""

    title: str
    world: str
    n_pairs: str
    n_classes: int


MAPS = (
    PublishedMap("Two-room, 7x7", "two-room:height=7,width=7,kernel=appendix", "84", 6),
    PublishedMap("Four-room, 17x17", "four-room:height=17,width=17,kernel=appendix", "800", 6),
    PublishedMap(
        "Random walls, small", "random-walls:height=17,width=17,density=0.18,seed=0,kernel=appendix", "736", 7
    ),
    PublishedMap(
        "Random walls, large", "random-walls:height=57,width=57,density=0.17,seed=0,kernel=appendix", "about 10^4", 7
    ),
)
ROOM_SIZES = (5, 7, 9, 100)
PRINTED_ROOMS = {"four-room": 3, "two-room": 4}  # C of the second table, the same at every size
