"""bsuite's deep sea: after how many episodes a tenth of them ended at the treasure."""

from __future__ import annotations

from pathlib import Path

from equirl.lab.yardsticks.yardstick import Yardstick
from equirl.learners import Learner
from equirl.simulation import simulate
from equirl.words.tables import Table
from equirl.worlds import make

SIZES = tuple(range(10, 51, 2))
SEEDS = 3
EPISODES = 10_000
COST = 0.01  # of going right throughout
GOOD = 0.1  # the share of episodes in which nothing went wrong
LEARNERS = ("c-psrl", "psrl")
SHOWN = 10  # every size divisible by it stands in the page's table
NOTES = {  # median episodes by size, of UCB-Q, PSRL, RLSVI and an ensemble with random priors, in public course notes
    10: (71, 109, 51, 99),
    20: (353, 602, 156, 511),
    30: (950, 1840, 359, 1462),
    40: (2034, None, 609, 2667),
}
TABULAR = ("UCB-Q", "PSRL", "RLSVI", "ensemble")


def episodes_to_solve(learner: str, size: int, seed: int, episodes: int = EPISODES) -> int | None:
    """How many episodes until fewer than 90 % were bad; None where that was never so.

    The diver begins again at the bottom, so that an episode is ``size`` steps of a run without end; it was good if it
    ended at the treasure. Counted where the learner plans anew.
    """
    mdp = make("zoo/deep-sea", depth=size, seed=seed, cost=COST).shuffled(seed)
    treasure = int(mdp.r_mean.argmax())
    found: list[int] = []

    def solved(agent: Learner) -> bool:
        done, counts = (agent.t - 1) // size, agent.beliefs.counts
        if done and counts is not None and counts.visits[treasure] > GOOD * done:
            found.append(done)
        return bool(found)

    simulate(mdp, learner, size * episodes, seed, callback=solved, gain=(1 - COST) / size)
    return found[0] if found else None


def measure_deep_sea(folder: Path) -> Table:
    """Every size, learner and seed; about three minutes."""
    rows = []
    for size in SIZES:
        row: dict[str, int | None] = {"size": size}
        for learner in LEARNERS:
            runs = [episodes_to_solve(learner, size, seed) for seed in range(SEEDS)]
            row |= {f"{learner} {k}": episodes for k, episodes in enumerate(runs)}
        rows.append(row)
    return Table({key: [row[key] for row in rows] for key in rows[0]})


def deep_sea_tables(table: Table) -> str:
    """Episodes by size, and the largest size up to which every run solved it."""
    rows = [row for row in table.rows() if row["size"] % SHOWN == 0]
    shown = Table(
        {
            "size": [row["size"] for row in rows],
            "dithering, 2^size": [2 ** row["size"] for row in rows],
            **{f"{name}, public": [_noted(row["size"], k) for row in rows] for k, name in enumerate(TABULAR)},
            **{f"`{name}`": [_spread([row[key] for key in _runs(row, name)]) for row in rows] for name in LEARNERS},
        }
    )
    words = [
        f"`{name}` up to {largest_solved(table, name)} ({solved_sizes(table, name)} of {len(table)} sizes)"
        for name in LEARNERS
    ]
    return f"{shown.to_markdown()}\n\nSolved in every run, with all smaller sizes: {', '.join(words)}."


def _noted(size: int, k: int) -> int | str:
    return (NOTES[size][k] if size in NOTES else None) or "-"


def _runs(row: dict[str, int | None], name: str) -> list[str]:
    return [key for key in row if key.rpartition(" ")[0] == name]


def _spread(episodes: list[int | None]) -> str:
    if None in episodes:
        return f"{sum(n is not None for n in episodes)} of {len(episodes)} runs"
    known = sorted(n for n in episodes if n is not None)
    return f"{known[len(known) // 2]} ({known[0]} to {known[-1]})"


def solved_sizes(table: Table, name: str) -> int:
    """How many sizes every run of a learner solved."""
    return sum(all(row[key] is not None for key in _runs(row, name)) for row in table)


def largest_solved(table: Table, name: str) -> int | None:
    """The largest size such that it and all smaller ones were solved in every run."""
    largest = None
    for row in table:
        if any(row[key] is None for key in _runs(row, name)):
            break
        largest = row["size"]
    return largest


BSUITE_YARDSTICK = Yardstick(deep_sea_tables, measure_deep_sea)
