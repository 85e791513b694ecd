"""Standings: how every learner did in every world.

Regret is that at the horizon T. A run is *locked in* when its regret in the last quarter exceeds half of what doing
nothing right would cost, g* T / 4: it has settled for something far from the best. Where costs are mapped to rewards,
doing nothing right is to play at random, which costs (g* - g0) T / 4, with g0 the gain of uniform play. The regret of
one learner relative to another is a ratio of means, with Fieller's interval: all rho for which mean(a) - rho mean(b) is
not distinguishable from 0. Received rewards are noisy, so a mean regret may be 0 or below; in geometric means over
worlds a mean counts as at least 1 and at least half the interval of the best learner given nothing. Pseudo-regret
has the mean rewards of the pairs played in place of those received: the same mean over runs, without their noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from equirl.lab.leaderboard.leaderboard_study import GIVEN, NOTHING, given_to, is_oblivious
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.runs import build_world
from equirl.lab.studies.study_file import StudyPart
from equirl.lab.studies.summary import Group
from equirl.model import TabularMDP
from equirl.simulation import half_width
from equirl.solving import Policy, chain_kind
from equirl.structure import equivalence_classes

STRUCTURED, FREE = 1 / 3, 0.9  # classes per pair: below the first structured, from the second on without structure


class Ratio(NamedTuple):
    """A ratio of two mean regrets and its 95 % interval; the interval is unbounded where it cannot be found."""

    value: float
    low: float
    high: float


def ratio_of_means(first: np.ndarray, second: np.ndarray) -> Ratio:
    a, b = float(first.mean()), float(second.mean())
    wide_a, wide_b = float(half_width(first)), float(half_width(second))
    value = a / b if b else math.nan
    lead = b * b - wide_b * wide_b
    if not lead > 0:  # also where there is a single run
        return Ratio(value, -math.inf, math.inf)
    root = math.sqrt(max((a * b) ** 2 - lead * (a * a - wide_a * wide_a), 0.0))
    return Ratio(value, (a * b - root) / lead, (a * b + root) / lead)


def excess(first: np.ndarray, second: np.ndarray, factor: float) -> tuple[float, float]:
    """By how much the mean of the first exceeds ``factor`` times that of the second.

    Its interval leaves out 0 exactly where Fieller's interval leaves out ``factor``; unlike a ratio, it also means
    something where the second mean is 0.

    >>> excess(np.array([5.0, 7.0]), np.array([0.0, 0.0]), 0.5)[0]
    6.0
    """
    half = math.hypot(float(half_width(first)), factor * float(half_width(second)))
    return float(first.mean() - factor * second.mean()), half


@dataclass(frozen=True)
class Standing:
    group: Group
    given: str
    rank: int
    relative: float  # its mean over that of the best learner given nothing; NaN where that is not above 0
    undecided: bool  # whether chance alone may tell the two apart, at 95 %
    counted_relative: float  # the same for geometric means, with the least regret that counts

    @property
    def learner(self) -> str:
        return self.group.learner_name

    @cached_property
    def regret(self) -> np.ndarray:
        """(n_runs,) at the horizon."""
        return self.group.curves.final("regret")

    @cached_property
    def pseudo_regret(self) -> np.ndarray:
        """(n_runs,) at the horizon."""
        return self.group.curves.final("pseudo_regret")

    @property
    def mean(self) -> float:
        return float(self.regret.mean())

    @property
    def half_width(self) -> float:
        """Half its 95 % interval."""
        return float(half_width(self.regret))

    @cached_property
    def n_locked_in(self) -> int:
        return n_locked_in(self.group)

    @property
    def seconds_per_million(self) -> float:
        """The median over runs; NaN where no run says."""
        known = self.group.seconds[np.isfinite(self.group.seconds)]
        return float(np.median(known)) * 1e6 / self.group.horizon if len(known) else math.nan


def n_locked_in(group: Group, idle_gain: float = 0.0, curve: str = "regret") -> int:
    """How many runs are locked in: regret in the last quarter above half of (g* - idle_gain) T / 4."""
    quarter = group.horizon / 4
    late = group.curves.final(curve) - group.curves.at(curve, 3 * quarter)
    return int((late > 0.5 * (group.gain - idle_gain) * quarter).sum())


@dataclass(frozen=True)
class Board:
    """One world: what it is, and how everyone did."""

    name: str
    world: str
    mdp: TabularMDP
    kind: str
    n_laws: int
    n_classes: int
    uniform_gain: float  # of playing every action with the same probability
    standings: tuple[Standing, ...]
    group: str = ""  # of parts that have a mean of their own

    @property
    def horizon(self) -> int:
        return self.standings[0].group.horizon

    @property
    def gain(self) -> float:
        return self.standings[0].group.gain

    @property
    def structured(self) -> bool:
        """Whether classes of transition probabilities are fewer than a third of the pairs."""
        return self.n_laws < STRUCTURED * self.mdp.n_pairs

    @property
    def structure_free(self) -> bool:
        """Whether nearly every pair is a class of its own."""
        return self.n_laws >= FREE * self.mdp.n_pairs

    @property
    def structure(self) -> str:
        return "structured" if self.structured else "no structure" if self.structure_free else "a little structure"

    def given_nothing(self, *, oblivious: bool | None = None) -> list[Standing]:
        """Learners given nothing, the best first; all, or those that do or do not treat every pair on its own."""
        own = [row for row in self.standings if row.given == NOTHING]
        return [row for row in own if oblivious is None or is_oblivious(row.learner) == oblivious]

    def find(self, learner: str) -> Standing | None:
        return next((row for row in self.standings if row.learner == learner), None)


class WorldFacts(NamedTuple):
    mdp: TabularMDP  # under some numbering
    kind: str
    n_laws: int
    n_classes: int
    uniform_gain: float


def boards(
    groups: Sequence[Group],
    planned: Sequence[PlannedRun],
    known: dict[str, WorldFacts] | None = None,
    parts: Sequence[StudyPart] = (),
) -> list[Board]:
    """The standings of every world, in the order of the study; ``parts`` say which group a world is in."""
    specs, known = {run.part: run.spec for run in planned}, {} if known is None else known
    in_group = {part.name: part.group for part in parts if part.group}
    found = []
    for name in dict.fromkeys(group.part for group in groups):
        own = [group for group in groups if group.part == name]
        if name not in known:
            known[name] = _world_facts(build_world(specs[name])[0])
        kind = in_group.get(name, "")
        found.append(Board(name, own[0].world, *known[name], standings=standings_of(own), group=kind))
    return found


def _world_facts(mdp: TabularMDP) -> WorldFacts:
    laws, classes = (equivalence_classes(mdp, rewards=rewards).n_classes for rewards in (False, True))
    uniform = 1 / np.diff(mdp.pairs.ptr)[mdp.pairs.state]
    return WorldFacts(mdp, chain_kind(mdp), laws, classes, Policy(mdp, uniform).unit_gain)


def standings_of(groups: Sequence[Group]) -> tuple[Standing, ...]:
    regret = {group.learner: float(group.curves.final("regret").mean()) for group in groups}
    given_by = {group.learner: given_to(group.learner_name) for group in groups}
    plain = [group for group in groups if given_by[group.learner] == NOTHING]
    best = min(plain, key=lambda group: regret[group.learner], default=None)
    floor = least_regret(best.curves.final("regret")) if best else math.nan
    rows = []
    for given in GIVEN:
        own = sorted((g for g in groups if given_by[g.learner] == given), key=lambda group: regret[group.learner])
        for rank, group in enumerate(own, start=1):
            counted = max(regret[group.learner], floor) / max(regret[best.learner], floor) if best else math.nan
            rows.append(Standing(group, given, rank, *_relative(group, best), counted))
    return tuple(rows)


def _relative(group: Group, best: Group | None) -> tuple[float, bool]:
    """The ratio to the best mean, and whether it is undecided which of the two is less."""
    if best is None or group is best:
        return (math.nan if best is None else 1.0), False
    own, least = group.curves.final("regret"), best.curves.final("regret")
    difference, half = excess(own, least, 1.0)
    return float(own.mean() / least.mean()) if least.mean() > 0 else math.nan, not abs(difference) > half


def least_regret(regret: np.ndarray) -> float:
    """The least regret that counts: 1, or half the interval of the mean."""
    half = float(half_width(regret))
    return max(1.0, half) if math.isfinite(half) else 1.0
