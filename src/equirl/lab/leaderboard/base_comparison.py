"""Every learner that looks for classes against its base, the learner it is without them, world by world.

By pseudo-regret: what a queue of random customers pays differs more from run to run than all that learning loses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from equirl.lab.leaderboard.leaderboard_study import BASES
from equirl.lab.leaderboard.standings import Board, Ratio, Standing, least_regret, n_locked_in, ratio_of_means
from equirl.lab.paper.html_parts import ReportTable, Row, Section
from equirl.words.formatting import number

HURTS_FOR_SURE, HURTS_ON_AVERAGE = 1.15, 1.3  # ratios: of the lower end of the interval, of the means
TAIL = 0.95
ALL = "all"
COMPARISON_COLUMNS = (
    "world", "group", "T", "regret", "of the base", "ratio", "95 % interval", "95 % quantile", "of the base",
    "worst run", "of the base", "locked in", "of the base", "runs",
)  # fmt: skip
COMPARISON_FIELDS = (
    "world", "group", "horizon", "learner", "base", "mean", "base_mean", "ratio", "ratio_low", "ratio_high",
    "quantile95", "base_quantile95", "worst", "base_worst", "locked_in", "base_locked_in", "runs", "hurts",
)  # fmt: skip
SUMMARY_COLUMNS = (
    "learner, base",
    "worlds",
    "n",
    "geometric mean",
    "largest ratio",
    "hurts in",
    "locked in",
    "of the base",
)
ABOUT_BASES = (
    "The regret of a learner that looks for classes, divided by that of the same learner without them, its base; in "
    "brackets Fieller’s 95 % interval of the ratio of means. It is pseudo-regret, by the mean rewards of the pairs "
    "played: the same mean as by the rewards received, without their noise. In geometric means a regret counts "
    "as at least 1 and at least half the interval of the base. It hurts where the ratio is above 1.15 by its lower "
    "end, or above 1.3 by the means."
)
ABOUT_TAILS = (
    "The tail is the 95 % quantile over runs, and the worst run. Here a run is locked in when its regret in the last "
    "quarter exceeds half of (g* - g0) T / 4, with g0 the gain of uniform play."
)
NO_BASES = "No learner played beside its base."
NOWHERE = "Nowhere."


@dataclass(frozen=True)
class BaseComparison:
    """A learner and its base in one world."""

    board: Board
    own: Standing
    base: Standing

    @property
    def pair(self) -> str:
        return f"{self.own.learner}, {self.base.learner}"

    @property
    def ratio(self) -> Ratio:
        return ratio_of_means(self.own.pseudo_regret, self.base.pseudo_regret)

    @property
    def means(self) -> tuple[float, float]:
        """Mean pseudo-regret of the learner and of its base."""
        return float(self.own.pseudo_regret.mean()), float(self.base.pseudo_regret.mean())

    @property
    def relative(self) -> float:
        """The ratio of means where neither counts as less than noise can tell from 0."""
        floor = least_regret(self.base.pseudo_regret)
        own, base = self.means
        return max(own, floor) / max(base, floor)

    @property
    def hurts(self) -> bool:
        low = self.ratio.low
        return (math.isfinite(low) and low > HURTS_FOR_SURE) or self.relative > HURTS_ON_AVERAGE

    def locked_in(self, row: Standing) -> int:
        return n_locked_in(row.group, self.board.uniform_gain, "pseudo_regret")


def compare_with_bases(boards: Sequence[Board]) -> list[BaseComparison]:
    """Learner after learner, the worlds in which it and its base played."""
    return [
        BaseComparison(board, own, plain)
        for learner, base in BASES.items()
        for board in boards
        if (own := board.find(learner)) is not None and (plain := board.find(base)) is not None
    ]


@dataclass(frozen=True)
class Summary:
    """A learner and its base over the worlds of a group."""

    pair: str
    group: str
    comparisons: tuple[BaseComparison, ...]

    @property
    def geometric_mean(self) -> float:
        return math.exp(float(np.mean([math.log(item.relative) for item in self.comparisons])))


def summaries(comparisons: Sequence[BaseComparison]) -> list[Summary]:
    """Over all worlds, then over those of each group."""
    found = []
    for pair in dict.fromkeys(item.pair for item in comparisons):
        own = [item for item in comparisons if item.pair == pair]
        found.append(Summary(pair, ALL, tuple(own)))
        for group in sorted({item.board.group for item in own} - {""}, reverse=True):
            found.append(Summary(pair, group, tuple(item for item in own if item.board.group == group)))
    return found


def base_sections(comparisons: Sequence[BaseComparison]) -> list[Section]:
    """What a page says: means over groups of worlds, where it hurts, and every world."""
    if not comparisons:
        return [Section("bases", "Learners against their bases", NO_BASES)]
    rows: list[Row] = []
    for pair, own in groupby(comparisons, key=lambda item: item.pair):
        rows += [{"heading": pair}, *map(comparison_cells, own)]
    hurts = where_it_hurts(comparisons)
    means = ReportTable(SUMMARY_COLUMNS, [summary_cells(item) for item in summaries(comparisons)], list(range(2, 8)))
    worlds = ReportTable(COMPARISON_COLUMNS, rows, list(range(2, 14)))
    return [
        Section("bases", "Learners against their bases", ABOUT_BASES, means),
        Section("hurts", "Where looking for classes hurts", "" if hurts else NOWHERE, items=hurts),
        Section("tails", "Learners against their bases, world by world", ABOUT_TAILS, worlds),
    ]


def where_it_hurts(comparisons: Sequence[BaseComparison]) -> list[str]:
    """In words, the worst first."""
    worst = sorted((item for item in comparisons if item.hurts), key=lambda item: -item.relative)
    return [
        f"{item.own.learner} in {item.board.name}{f' ({item.board.group})' if item.board.group else ''}: "
        f"{number(item.means[0])} against {number(item.means[1])} of {item.base.learner}, "
        f"{number(item.relative, 3)} times{_interval(item.ratio)}."
        for item in worst
    ]


def summary_cells(item: Summary) -> list[str]:
    """A row in the columns of ``SUMMARY_COLUMNS``."""
    rows = item.comparisons
    locked = [sum(one.locked_in(one.own) for one in rows), sum(one.locked_in(one.base) for one in rows)]
    n_hurt = sum(one.hurts for one in rows)
    largest = max(one.relative for one in rows)
    means = [number(item.geometric_mean, 3), number(largest, 3)]
    return [item.pair, item.group, str(len(rows)), *means, str(n_hurt), *map(str, locked)]


def comparison_cells(item: BaseComparison) -> list[str]:
    """A row in the columns of ``COMPARISON_COLUMNS``."""
    both = (item.own, item.base)
    tails = [[number(value) for value in values] for values in zip(*map(_tail, both), strict=True)]
    ratio = item.ratio
    value = number(ratio.value, 3) if math.isfinite(ratio.value) and item.means[1] > 0 else "–"
    return [
        item.board.name, item.board.group, f"{item.board.horizon:,}", *map(number, item.means),
        value, _interval(ratio).strip(" ()"), *tails[0], *tails[1], *(str(item.locked_in(row)) for row in both),
        str(item.own.group.n_runs),
    ]  # fmt: skip


def comparison_row(item: BaseComparison) -> tuple[object, ...]:
    """A row in the columns of ``COMPARISON_FIELDS``."""
    both = (item.own, item.base)
    quantiles, worst = zip(*map(_tail, both), strict=True)
    return (
        item.board.name, item.board.group, item.board.horizon, item.own.learner, item.base.learner,
        *item.means, *item.ratio, *quantiles, *worst,
        *(item.locked_in(row) for row in both), item.own.group.n_runs, item.hurts,
    )  # fmt: skip


def _tail(row: Standing) -> tuple[float, float]:
    """The 95 % quantile over runs, and the worst run."""
    return float(np.quantile(row.pseudo_regret, TAIL)), float(row.pseudo_regret.max())


def _interval(ratio: Ratio) -> str:
    return f" ({number(ratio.low, 3)} to {number(ratio.high, 3)})" if math.isfinite(ratio.high) else ""
