"""Priors of transition probabilities for posterior sampling: each pair on its own, or through classes that are drawn.

A prior is a part; what its ``row_sampler`` makes holds what was drawn, and is what a learner saves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import Given
from equirl.model.pairs import Pairs
from equirl.model.rows import Rows
from equirl.numerics.portions import Portions, finished
from equirl.numerics.random_draws import beta_draw
from equirl.posterior.class_sampler import Scratch, draw_alpha, draw_gamma, make_scratch, resample_range
from equirl.posterior.class_state import ClassState, carry_over, check_classes, empty_state
from equirl.posterior.drawn_rows import (
    UNSEEN_POSITIONS,
    ClassDraw,
    DrawnRows,
    Placing,
    draw_class_rows,
    draw_masses,
    draw_own_rows,
    draw_profile_rows,
    make_rows,
    put_together,
)
from equirl.posterior.hope import (
    NEVER,
    Hope,
    Reach,
    count_near,
    draw_exceptions,
    entered_states,
    everywhere,
    fading,
    hidden_length,
    outward_to_few,
    reach_of,
    stay_length,
)
from equirl.posterior.hope_record import HopeRecord
from equirl.words.checking import between, inside, whole_number

DRAWN = "drawn"
LARGE_STATES = 1000  # states from which on rows are kept from draw to draw
ALPHAS, GAMMAS = np.geomspace(0.1, 10.0, 12), np.geomspace(0.5, 5.0, 12)  # among which alpha and gamma are drawn
START = (1.0, 0.5)  # theirs, before they are first drawn


class Kept(NamedTuple):
    """Rows of an earlier draw, of which some are to be drawn anew."""

    rows: Rows
    rest: np.ndarray  # (M,)
    fresh: np.ndarray  # (M,) bool: those to draw, whole states at a time; a sampler may draw more


class RowSampler(ABC):
    """What was drawn of the transition probabilities, and how to draw on."""

    def draw(self, seen: Snapshot, rng: np.ndarray) -> tuple[DrawnRows, int]:
        """Rows of an MDP from the posterior, given the counts, and the work it took in look-ups."""
        return finished(self.portions(seen, rng))

    @abstractmethod
    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: Kept | None = None, budget: float = math.inf
    ) -> Portions[tuple[DrawnRows, int]]:
        """The same in portions of at most ``budget`` look-ups, or of one pass over the pairs where that is more.

        Rows that are ``kept`` are taken over, where the sampler can; ``fresh`` of the rows says which were drawn,
        empty: all.
        """

    def labels(self) -> np.ndarray | None:
        """(M,) the classes drawn, -1 for pairs without one; None where there are no classes."""
        return None

    def measures(self) -> Mapping[str, float]:
        """Named numbers for a trace."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        return {}

    def drop_hope(self) -> None:  # noqa: B027 - most have none
        """From now on draw without the hope that keeps a learner exploring; where states cannot be entered stays."""

    def restore(self, arrays: Mapping[str, np.ndarray], seen: Snapshot) -> None:  # noqa: B027 - some keep nothing
        """Go on from what was kept, ``seen`` being the counts of the last draw."""


def _one_pass(seen: Snapshot) -> int:
    """What is done for all pairs at once, and not divided, takes so many look-ups."""
    return len(seen.visits) + len(seen.succ)


def _drawn(
    draw: Callable[[DrawnRows], None], sticks: int, seen: Snapshot, pair_ptr: np.ndarray, kept: Kept | None,
    each: np.ndarray, budget: float,
) -> Portions[DrawnRows]:  # fmt: skip
    """Draw rows state by state, a portion after the other; ``each``: look-ups of a pair beside its successors."""
    rows = make_rows(len(seen.visits), len(seen.succ), sticks)
    if kept is not None:
        rows.fresh[:] = kept.fresh
    if budget == math.inf:
        yield budget
        draw(rows)
    else:
        cost = np.cumsum(1 + np.where(rows.fresh, each + np.diff(seen.ptr), 0))[pair_ptr[1:] - 1]  # by state
        done, first = 0, 0
        while first < len(cost):
            until = max(first + 1, int(np.searchsorted(cost, done + budget, side="right")))
            yield cost[until - 1] - done
            rows.part[:] = pair_ptr[first], pair_ptr[until]
            draw(rows)
            done, first = cost[until - 1], until
    if kept is None:
        return rows
    cells = int(rows.ptr[-1]) + len(kept.rows.succ)
    yield cells
    whole = rows._replace(
        ptr=np.empty_like(rows.ptr), succ=np.empty(cells, np.int32), prob=np.empty(cells), rest=np.empty_like(rows.rest)
    )
    put_together(kept.rows, kept.rest, rows, whole)
    return whole


@dataclass(frozen=True)
class DirichletRows:
    """Each pair on its own: Dirichlet with ``prior`` pseudo-counts in all, ``prior / S`` for every state.

    1 is a sparse prior, for worlds in which a pair leads to few states; S is the uniform one. The row of a pair often
    tried is that of the same prior given that it leads only to states entered so far (``hope.n_open``).
    """

    prior: float = 1.0
    truncated: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ()
    looks_for_classes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        inside("prior", self.prior, 0, math.inf)
        between("prior", self.prior, most=1e9)

    def row_sampler(self, pairs: Pairs, given: Given) -> RowSampler:
        return _OwnSampler(self.prior / pairs.n_states, self.truncated, pairs)


@dataclass(frozen=True)
class PublishedRows(DirichletRows):
    """The rows of PSRL as published: however often a pair was tried, what it has not seen may be any state."""

    truncated: ClassVar[bool] = False


class _OwnSampler(RowSampler):
    STICKS = 4

    def __init__(self, strength: float, truncated: bool, pairs: Pairs) -> None:
        self.strength, self.truncated = strength, truncated
        self.pair_ptr, self.owner = np.array(pairs.ptr), np.array(pairs.state)

    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: Kept | None = None, budget: float = math.inf
    ) -> Portions[tuple[DrawnRows, int]]:
        yield _one_pass(seen)
        reach = reach_of(seen, self.pair_ptr) if self.truncated else everywhere(len(self.pair_ptr) - 1)
        placing = Placing(self.pair_ptr, self.owner, self.STICKS, 0.0, 0.0, np.zeros(0, np.int64), reach)
        if not self.truncated:
            kept = None  # as published: all is drawn
        rows = yield from _drawn(
            lambda rows: draw_own_rows(rng, self.strength, seen, placing, rows), self.STICKS, seen, self.pair_ptr, kept,
            np.full(len(seen.visits), self.STICKS + UNSEEN_POSITIONS), budget,
        )  # fmt: skip
        return rows, len(seen.succ)


@dataclass(frozen=True)
class ClassRows:
    """Pairs in classes that are drawn, with the correspondence of their successors; nothing is given.

    ``alpha``: concentration of the classes, ``gamma``: of a class's masses, each a number or "drawn". ``scan``: how
    many pairs are drawn anew before each draw of an MDP, in turn; those with something new always are. ``hope``: how
    many exceptions a draw has, times the usual, so that nothing is given up for ever (``posterior/hope.py``); 0 is the
    model and nothing else.
    """

    alpha: float | str = DRAWN
    gamma: float | str = DRAWN
    scan: int = 1000
    hope: float = 1.0
    kinds: ClassVar[Hope] = Hope()
    eta: ClassVar[float] = 0.3  # how many times it takes to notice that classes are neighbours in states
    needs: ClassVar[tuple[str, ...]] = ()
    looks_for_classes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_class_prior(self)

    def row_sampler(self, pairs: Pairs, given: Given) -> RowSampler:
        return _ClassSampler(self, pairs, None)


@dataclass(frozen=True)
class GivenClassRows:
    """Classes are given; which successors correspond is drawn."""

    gamma: float | str = DRAWN
    scan: int = 1000
    hope: float = 1.0
    kinds: ClassVar[Hope] = Hope(apart=0.0, outward=0.5)
    alpha: ClassVar[float] = 1.0
    eta: ClassVar[float] = math.inf
    needs: ClassVar[tuple[str, ...]] = ("classes",)
    looks_for_classes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_class_prior(self)

    def row_sampler(self, pairs: Pairs, given: Given) -> RowSampler:
        assert given.classes is not None
        return _ClassSampler(self, pairs, given.classes.label)


def _check_class_prior(part: ClassRows | GivenClassRows) -> None:
    for name in ("alpha", "gamma"):
        if getattr(part, name) != DRAWN:
            inside(name, getattr(part, name), 0, math.inf)
    whole_number("scan", part.scan)
    between("hope", part.hope, most=1e9)


class _ClassSampler(RowSampler):
    STICKS = 2

    def __init__(self, part: ClassRows | GivenClassRows, pairs: Pairs, given: np.ndarray | None) -> None:
        self.part, self.fixed, self.hope = part, given is not None, part.kinds.scaled(part.hope)
        self.pair_ptr, self.owner = np.array(pairs.ptr), np.array(pairs.state)
        alpha, gamma = (
            start if isinstance(value, str) else value
            for start, value in zip(START, (part.alpha, part.gamma), strict=True)
        )
        self.state: ClassState = empty_state(self.pair_ptr, alpha, gamma, part.eta)
        if given is not None:
            self.state.label[:] = given
        self.before: Snapshot | None = None
        self.next = 0  # the pair whose turn it is
        self.excepted = np.zeros(0, np.int64)  # pairs that were exceptions in the last draw
        self.record = None if self.fixed or part.hope == 0 else HopeRecord(pairs.n_pairs)
        self.reached: tuple[Snapshot, Reach] | None = None  # counts looked at last, and the reach by them

    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: Kept | None = None, budget: float = math.inf
    ) -> Portions[tuple[DrawnRows, int]]:
        last = self.before
        work = yield from self._refreshed(seen, rng, budget)
        yield _one_pass(seen)
        state, M = self.state, len(seen.visits)
        reach, exceptions = self._hope_of_draw(last, seen, rng)
        placing = Placing(
            self.pair_ptr, self.owner, self.STICKS, self._near(seen, rng), *self._outward(seen, reach), reach
        )  # fmt: skip
        draw = ClassDraw(
            np.empty(len(state.pooled)), np.empty(M + 1), np.empty(M, np.int64), self._leave(seen),
            self.hope.apart, np.empty(int(state.width.max()) + 1, np.int64), np.empty(M, np.int64),
            self._back(seen), entered_states(reach),
        )  # fmt: skip
        draw_masses(rng, state, draw.w, draw.w_new)
        yield _one_pass(seen)
        unknown = np.empty(len(self.pair_ptr) - 1, np.int64)
        left = fading(int(seen.visits.sum())) * exceptions
        draw_exceptions(
            rng, left * self._untried(seen), left * self.hope.elsewhere, placing.reach, seen, self.pair_ptr,
            draw.exception, unknown,
        )  # fmt: skip
        if kept is not None:
            kept = kept._replace(fresh=kept.fresh | self._of_exceptions(draw.exception))
        classes = np.where(seen.visits > 0, 0, 2 * state.used[0])  # looked at for a pair without one
        width = int(state.width.max())
        rows = yield from _drawn(
            lambda rows: draw_class_rows(rng, seen, state, placing, draw, rows), self.STICKS, seen, self.pair_ptr, kept,
            classes + width + self.STICKS, budget,
        )  # fmt: skip
        self.excepted = np.flatnonzero(draw.exception >= 0)
        if self.record is not None:
            yield int(rows.ptr[-1])
            self.record.note(rows, draw.exception, reach)
        return rows, work

    def _hope_of_draw(self, last: Snapshot | None, seen: Snapshot, rng: np.ndarray) -> tuple[Reach, bool]:
        """Where pairs may lead in this draw, and whether it has exceptions, by what became of those before."""
        reach, before = reach_of(seen, self.pair_ptr), self.reached
        if self.record is None:
            return reach, True
        if last is not None:
            then = before[1] if before is not None and before[0] is last else reach_of(last, self.pair_ptr)
            self.record.look_back(last, then, seen, reach)
        self.reached = seen, reach
        new_states, exceptions = self.record.next_draw(rng)
        return (reach if new_states else reach._replace(often=NEVER)), exceptions

    def _of_exceptions(self, exception: np.ndarray) -> np.ndarray:
        """(M,) whether a pair of the state is an exception in this draw, or was in the last."""
        state = np.zeros(len(self.pair_ptr) - 1, np.bool_)
        state[self.owner[exception >= 0]] = True
        state[self.owner[self.excepted]] = True
        return state[self.owner]

    def _near(self, seen: Snapshot, rng: np.ndarray) -> float:
        """The chance of near placements: drawn from Beta(1 + near, 1 + far) successors seen."""
        if not self.hope.near:
            return 0.0
        near, total = count_near(seen, self.pair_ptr, np.zeros(len(self.pair_ptr) - 1, np.int64))
        return beta_draw(rng, 1.0 + near, 1.0 + total - near)

    def _outward(self, seen: Snapshot, reach: Reach) -> tuple[float, np.ndarray]:
        """The chance that what is not near goes outward, and to which states: never left, or few never entered."""
        if self.record is not None:
            return outward_to_few(len(reach.order) - reach.n_entered, len(reach.order)), reach.order[reach.n_entered :]
        if self.hope.outward == 0.0:
            return 0.0, np.zeros(0, np.int64)
        return self.hope.outward, np.flatnonzero(np.add.reduceat(seen.visits, self.pair_ptr[:-1]) == 0)

    def _leave(self, seen: Snapshot) -> float:
        """The chance of leaving where an unknown pair stays; classes given are few, and one never seen is worth all."""
        return 0.0 if self.fixed else 1.0 / stay_length(int(seen.visits.sum()))

    def _back(self, seen: Snapshot) -> float:
        """The chance of leading back from states never entered, where hope has a record."""
        return 0.0 if self.record is None else 1.0 / hidden_length(int(seen.visits.sum()))

    def _untried(self, seen: Snapshot) -> float:
        """How many never visited pairs stay put; where classes are given only those of a class never visited do."""
        if not self.fixed:
            return self.hope.untried
        strange = seen.visits == 0
        unknown = strange & (self.state.total[self.state.label] == 0)
        return float(self.hope.untried * strange.sum() / max(1, unknown.sum()))

    def refresh(self, seen: Snapshot, rng: np.ndarray) -> int:
        """Carry classes over to newer counts and draw on: new pairs first, then others in turn. The work done."""
        return finished(self._refreshed(seen, rng, math.inf))

    def _refreshed(self, seen: Snapshot, rng: np.ndarray, budget: float) -> Portions[int]:
        yield _one_pass(seen)
        self.state = carry_over(self.state, self.before, seen)
        self.before, M = seen, len(seen.visits)
        work = yield from self._resample(seen, rng, 0, M, only_new=True, budget=budget)
        last = self.next + min(self.part.scan, M)
        work += yield from self._resample(seen, rng, self.next, min(last, M), only_new=False, budget=budget)
        work += yield from self._resample(seen, rng, 0, max(0, last - M), only_new=False, budget=budget)
        self.next = last % M
        yield _one_pass(seen)
        if self.part.alpha == DRAWN:
            draw_alpha(rng, self.state, ALPHAS, np.empty(len(ALPHAS)))
        if self.part.gamma == DRAWN:
            draw_gamma(rng, self.state, GAMMAS, np.empty(len(GAMMAS)))
        return work

    def _resample(
        self, seen: Snapshot, rng: np.ndarray, first: int, last: int, only_new: bool, budget: float = math.inf
    ) -> Portions[int]:
        work = 0
        if first == last:
            return work
        scratch = self._scratch(seen)
        while first < last:
            until, cost = self._affordable(seen, first, last, only_new, budget)
            yield cost
            first, more = resample_range(rng, first, until, only_new, self.fixed, seen, self.state, scratch)
            work += more
            if first < until:  # cells ran out: number anew, with room to spare
                yield _one_pass(seen)
                self.state = carry_over(self.state, seen, seen)
                scratch = self._scratch(seen)
        return work

    def _affordable(self, seen: Snapshot, first: int, last: int, only_new: bool, budget: float) -> tuple[int, float]:
        """Up to which pair a budget lets one draw classes anew, and the look-ups it takes at most."""
        if budget == math.inf:
            return last, budget
        asked = seen.visits[first:last] > 0
        if only_new:
            unplaced = np.searchsorted(np.flatnonzero(self.state.position < 0), seen.ptr[first : last + 1])
            asked &= (self.state.label[first:last] < 0) | (np.diff(unplaced) > 0)
        size = np.where(asked, np.diff(seen.ptr[first : last + 1]), 0)
        most = 1 + (0 if self.fixed else self.state.used[0] + np.cumsum(asked))  # each may open a class
        cost = np.cumsum(size * most) + np.arange(1, last - first + 1)
        n = max(1, int(np.searchsorted(cost, budget, side="right")))
        return first + n, float(cost[n - 1])

    def _scratch(self, seen: Snapshot) -> Scratch:
        longest = int(np.diff(seen.ptr).max())
        return make_scratch(len(seen.visits), longest, 2 * int(self.state.width.max()) + 4 * longest + 8)

    def drop_hope(self) -> None:
        self.hope, self.record = self.hope.scaled(0.0), None

    def labels(self) -> np.ndarray | None:
        return self.state.label

    def measures(self) -> Mapping[str, float]:
        return {"alpha": float(self.state.hyper[0]), "gamma": float(self.state.hyper[1])}

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "class_label": self.state.label, "class_position": self.state.position, "class_hyper": self.state.hyper,
            "class_next": np.array([self.next], np.int64),
            **({} if self.record is None else self.record.arrays()),
        } | ({} if len(self.pair_ptr) <= LARGE_STATES else {"class_excepted": self.excepted})  # fmt: skip

    def restore(self, arrays: Mapping[str, np.ndarray], seen: Snapshot) -> None:
        label, position, hyper = (arrays[f"class_{name}"].copy() for name in ("label", "position", "hyper"))
        check_classes(label, position, hyper, seen)
        if self.fixed and not np.array_equal(label, self.state.label):
            raise ValueError("the classes drawn are not those given")
        self.next = range(len(label))[int(arrays["class_next"][0])]
        self.excepted = arrays.get("class_excepted", self.excepted).copy()
        if self.excepted.dtype != np.int64 or not ((self.excepted >= 0) & (self.excepted < len(label))).all():
            raise ValueError("an exception is of a pair out of range")
        self.state, self.before = self.state._replace(label=label, position=position, hyper=hyper), seen
        if self.record is not None:
            self.record.restore(arrays)


@dataclass(frozen=True)
class GivenProfileRows:
    """Classes and profiles are given: the masses of a class are drawn, and each pair knows where they go."""

    prior: float = 1.0  # pseudo-counts of a class in all
    needs: ClassVar[tuple[str, ...]] = ("classes", "profiles")
    looks_for_classes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        inside("prior", self.prior, 0, math.inf)

    def row_sampler(self, pairs: Pairs, given: Given) -> RowSampler:
        return _ProfileSampler(self.prior, given)


class _ProfileSampler(RowSampler):
    def __init__(self, prior: float, given: Given) -> None:
        self.prior, self.given = prior, given

    def portions(
        self, seen: Snapshot, rng: np.ndarray, kept: Kept | None = None, budget: float = math.inf
    ) -> Portions[tuple[DrawnRows, int]]:
        yield _one_pass(seen)
        given = self.given
        assert given.classes is not None
        assert given.profiles is not None
        assert given.tie is not None
        prob = draw_profile_rows(rng, seen, given.classes, given.profiles, given.tie, self.prior)
        rest = np.zeros(len(seen.visits))
        return DrawnRows(given.profiles.ptr.copy(), given.profiles.succ.copy(), prob, rest), len(prob)

    def labels(self) -> np.ndarray | None:
        assert self.given.classes is not None
        return self.given.classes.label
