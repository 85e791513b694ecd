"""What is published of Colosseum's continuous communicating suite, and our runs in its measure.

The normalised regret of a run of T steps is its regret divided by T (g* - g_worst), with g_worst the gain of the worst
policy. The numbers are those of the package's documentation, "Analyse benchmarking results": 20 seeds, 5e5 steps, and
how many seeds were trained to the end; the others ran out of 600 s and went on with the policy they had. The measures
of hardness are those stored with the package's benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from equirl.lab.leaderboard.standings import Board, Standing
from equirl.lab.paper.html_parts import Section, numbers_table
from equirl.model import TabularMDP
from equirl.simulation import half_width
from equirl.solving import solve
from equirl.words.formatting import mean_with_interval, number

SEEDS = 20


class PublishedWorld(NamedTuple):
    """A world of the suite: its hardness, and normalised regret and seeds trained to the end, learner by learner."""

    diameter: float
    value_norm: float
    psrl: float
    q_learning: float
    ucrl2: float
    psrl_done: int
    q_learning_done: int
    ucrl2_done: int

    @property
    def best(self) -> float:
        return min(self.psrl, self.q_learning, self.ucrl2)


PUBLISHED = {
    "deep-sea-1": PublishedWorld(78.0, 0.9539, 0.78, 0.78, 0.90, 0, 20, 0),
    "deep-sea-2": PublishedWorld(78.0, 0.0, 0.99, 0.99, 0.99, 0, 20, 0),
    "deep-sea-3": PublishedWorld(68.0, 0.9468, 0.79, 0.79, 0.92, 0, 20, 0),
    "frozen-lake-1": PublishedWorld(17.3614, 0.2952, 0.01, 0.77, 0.01, 20, 20, 20),
    "frozen-lake-2": PublishedWorld(58.0819, 0.2826, 0.01, 0.84, 0.04, 20, 20, 20),
    "minigrid-empty-1": PublishedWorld(34.6661, 1.2770, 0.95, 0.51, 0.02, 0, 20, 7),
    "minigrid-empty-2": PublishedWorld(37.1420, 1.8198, 1.00, 0.01, 0.02, 0, 20, 9),
    "minigrid-empty-3": PublishedWorld(25.7137, 1.6507, 0.60, 0.00, 0.01, 0, 20, 20),
    "minigrid-empty-4": PublishedWorld(59.9960, 1.5418, 1.00, 0.35, 0.01, 0, 20, 20),
    "minigrid-empty-5": PublishedWorld(86.6620, 1.5417, 1.00, 0.75, 0.08, 0, 20, 0),
    "minigrid-rooms-1": PublishedWorld(54.2848, 2.3062, 1.00, 0.01, 0.78, 0, 20, 0),
    "minigrid-rooms-2": PublishedWorld(51.9982, 2.0264, 1.00, 0.01, 0.02, 0, 20, 18),
    "minigrid-rooms-3": PublishedWorld(75.9977, 1.9197, 1.00, 0.02, 0.66, 0, 20, 0),
    "river-swim-1": PublishedWorld(26.6666, 0.8781, 0.00, 0.16, 0.00, 20, 20, 20),
    "river-swim-2": PublishedWorld(91.7526, 0.8795, 0.01, 0.34, 0.02, 20, 20, 20),
    "simple-grid-1": PublishedWorld(34.9997, 0.8737, 0.93, 0.11, 0.01, 0, 20, 20),
    "simple-grid-2": PublishedWorld(32.0855, 0.4993, 0.45, 0.01, 0.01, 0, 20, 13),
    "simple-grid-3": PublishedWorld(53.3332, 0.8762, 0.93, 0.15, 0.70, 0, 20, 0),
    "simple-grid-4": PublishedWorld(68.5707, 0.4958, 0.50, 0.01, 0.33, 0, 20, 0),
    "taxi-1": PublishedWorld(84.5372, 0.0863, 0.94, 0.95, 0.12, 0, 20, 20),
}
AVERAGES = {"PSRL": 0.69, "Q-learning": 0.38, "UCRL2": 0.28}
ABOUT = (
    "Regret divided by T (g* - g of the worst policy). Published: means over 20 seeds, in brackets how many of them "
    "were trained to the end; the others ran out of 600 s on the authors’ machine and kept the policy they had. "
    "The published regret is that of the policy held at each log; ours counts the rewards received, exploration "
    "included."
)


def spread_of_gains(mdp: TabularMDP) -> float:
    """The gain of the best policy less that of the worst, with rewards in [0, 1]."""
    return solve(mdp).unit_gain + solve(replace(mdp, r_mean=1 - mdp.r_mean)).unit_gain - 1


def normalised_regret(board: Board, row: Standing) -> tuple[float, float]:
    """The mean over runs of the normalised regret at the horizon, and half its 95 % interval."""
    share = row.regret / (board.horizon * spread_of_gains(board.mdp))
    return float(share.mean()), float(half_width(share))


def published_cells(name: str) -> list[str]:
    """PSRL, Q-learning and UCRL2 as published of a world."""
    known = PUBLISHED[name]
    shares = ((known.psrl, known.psrl_done), (known.q_learning, known.q_learning_done), (known.ucrl2, known.ucrl2_done))
    return [f"{value:.2f}" + ("" if done == SEEDS else f" ({done})") for value, done in shares]


def published_section(boards: Sequence[Board]) -> list[Section]:
    """Ours beside what is published, for the worlds of which something is."""
    known = [board for board in boards if board.name in PUBLISHED]
    if not known:
        return []
    learners = list(dict.fromkeys(row.learner for board in known for row in board.standings))
    rows = []
    for board in known:
        found = {row.learner: normalised_regret(board, row) for row in board.standings}
        ours = [mean_with_interval(*found[name]) if name in found else "–" for name in learners]
        rows.append([board.name, *published_cells(board.name), *ours])
    averages = [number(value, 2) for value in AVERAGES.values()]
    rows.append([f"the suite of {len(PUBLISHED)}, as published", *averages, *("" for _ in learners)])
    return [Section("published", "Beside what is published", ABOUT, numbers_table(["", *AVERAGES, *learners], rows))]
