"""What became of hope: draws hope as often as what earlier ones promised came true.

A hopeful draw promises two kinds of things: that pairs lead to states never entered, and that some are exceptions
(``hope``). Playing such a pair puts the promise to the test. Where promises are always broken, since states cannot be
entered or no pair is special, hope costs trip after trip; where it is given up, the learner may be stuck. So a draw
hopes for either kind with chance

    ( c / (c + b) )^2,

c being the patience with that kind and b the promises broken since one was kept, at most one an episode. Tests that
fail are then about as many as the cube root of the number of episodes, however many pairs there are, and never cease.
Without hope for new states every pair leads to those entered so far; without hope for exceptions there are none.

- *New states.* A pair drawn to enter them with probability p breaks p promises at each visit of an episode, if it had
  ``KNOWN`` before: first visits tell what a pair does, not what it cannot do. One that enters a new state forgives
  the share p of what was broken. And new states are news, whoever promised them: b is multiplied by (entered before /
  now)^NEWS.
- *Exceptions.* A pair never tried breaks a promise at its first visit, one tried n times 1 / (n + 1) at each. One that
  was right forgives all; a pair that was to stay must also pay more than is paid on average.
- New states may lie many episodes away, behind trips that fail. So hope for them that was not tested goes on into the
  next draw, with chance ``HELD``. Exceptions are drawn anew each time; trips to them cost also where nothing is tested
  at their end, so an episode that hoped for some breaks ``IN_VAIN`` at least.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.model.rows import contains
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import uniform
from equirl.posterior.drawn_rows import DrawnRows
from equirl.posterior.hope import Reach, entered_states

# Chosen on the zoo's problems shown, access control and four rooms whose walls are states (docs/posterior.md).
NEW_STATES, EXCEPTIONS = 8.0, 10.0  # patience with each
KNOWN = 5
NEWS = 3.0
HELD = 0.9
IN_VAIN = 0.15
TESTED = 0.1  # broken promises up to which an episode was no test


class Promises:
    """Promises of one kind: how many were broken since one was kept, and whether the last draw made some."""

    def __init__(self, patience: float, held: float = 0.0, in_vain: float = 0.0) -> None:
        self.patience, self.held, self.in_vain = patience, held, in_vain
        self.broken, self.hopeful, self.untested = 0.0, False, False

    def look_back(self, tested: float, kept: float) -> None:
        tested = max(tested, self.in_vain if self.hopeful else 0.0)
        before, self.broken = self.broken, (self.broken + min(1.0, tested)) * (1.0 - kept)
        self.untested = 0.0 <= self.broken - before < TESTED

    def next_draw(self, rng: np.ndarray) -> bool:
        """Whether the next draw hopes: again and again less often, or still where nothing was tested."""
        raised = uniform(rng) < (self.patience / (self.patience + self.broken)) ** 2
        self.hopeful = raised or (self.hopeful and self.untested and uniform(rng) < self.held)
        return self.hopeful


class HopeRecord:
    """What the last draw promised, and what became of promises so far."""

    def __init__(self, n_pairs: int) -> None:
        self.new_states, self.exceptions = Promises(NEW_STATES, held=HELD), Promises(EXCEPTIONS, in_vain=IN_VAIN)
        self.promise = np.zeros(n_pairs)  # the probability with which each pair was to enter new states ...
        self.drawn: tuple[DrawnRows, np.ndarray] | None = None  # ... where asked for, by these rows and states entered
        self.exception = np.full(n_pairs, -1)  # the state that a pair was to lead to, or -1

    def look_back(self, last: Snapshot, then: Reach, seen: Snapshot, now: Reach) -> None:
        """Count what the episode between two counts tested, and what came true."""
        promise = self._promises(np.flatnonzero(seen.visits != last.visits))
        tested, kept = entries(promise, entered_states(then), last, seen)
        news = (then.n_entered / now.n_entered) ** NEWS
        self.new_states.look_back(tested, 1.0 - (1.0 - kept) * news)
        mean = seen.r_sum.sum() / max(1, seen.visits.sum())
        self.exceptions.look_back(*surprises(self.exception, last, seen, mean))

    def next_draw(self, rng: np.ndarray) -> tuple[bool, bool]:
        """Whether the next draw hopes for new states, and for exceptions."""
        return self.new_states.next_draw(rng), self.exceptions.next_draw(rng)

    def note(self, rows: DrawnRows, exception: np.ndarray, reach: Reach) -> None:
        """Keep what this draw promises."""
        self.exception, self.drawn = exception, (rows, entered_states(reach))

    def _promises(self, pairs: np.ndarray) -> np.ndarray:
        """(M,) the promises, right for these pairs."""
        if self.drawn is not None:
            promised(*self.drawn, pairs, self.promise)
        return self.promise

    def __getstate__(self) -> dict[str, Any]:
        self._promises(np.arange(len(self.promise)))
        return self.__dict__ | {"drawn": None}  # a copy needs no rows

    def arrays(self) -> dict[str, np.ndarray]:
        kinds = self.new_states, self.exceptions
        numbers = np.array([[kind.broken, float(kind.hopeful)] for kind in kinds])
        promise = self._promises(np.arange(len(self.promise))).copy()
        return {"hope_numbers": numbers, "hope_promise": promise, "hope_exception": self.exception}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        numbers, promise, exception = (arrays[f"hope_{name}"].copy() for name in ("numbers", "promise", "exception"))
        whole = numbers.shape == (2, 2) and promise.shape == exception.shape == self.promise.shape
        whole = whole and numbers.dtype == promise.dtype == np.float64 and exception.dtype == np.int64
        whole = whole and 0.0 <= numbers[:, 0].min() <= numbers[:, 0].max() < np.inf
        if not whole or not np.isin(numbers[:, 1], (0.0, 1.0)).all():
            raise ValueError("the record of hope is not whole")
        if not ((promise >= 0.0) & (promise <= 1.0 + 1e-9)).all():
            raise ValueError("a promise is not a probability")
        if exception.min() < -1:
            raise ValueError("an exception leads to no state")
        for kind, (broken, hopeful) in zip((self.new_states, self.exceptions), numbers, strict=True):
            kind.broken, kind.hopeful = float(broken), bool(hopeful)
        self.promise, self.exception, self.drawn = promise, exception, None


@lean_kernel
def promised(rows: DrawnRows, entered: np.ndarray, pairs: np.ndarray, promise: np.ndarray) -> None:
    """The probability that the rows of some pairs give to states never entered. O(states + their successors)."""
    share = 0.0
    for s in range(len(entered)):
        share += (not entered[s]) / len(entered)
    for k in pairs:
        total = rows.rest[k] * share
        for i in range(rows.ptr[k], rows.ptr[k + 1]):
            total += rows.prob[i] * (not entered[rows.succ[i]])  # no branch that cannot be foreseen
        promise[k] = total


@lean_kernel
def entries(promise: np.ndarray, entered: np.ndarray, last: Snapshot, seen: Snapshot) -> tuple[float, float]:
    """How often pairs were to enter new states between two counts, and how surely the one that did. O(successors)."""
    tested, kept = 0.0, 0.0
    for k in range(len(promise)):
        tries = seen.visits[k] - last.visits[k]
        if last.visits[k] >= KNOWN:
            tested += tries * promise[k]
        for i in range(seen.ptr[k], seen.ptr[k + 1] if tries > 0 else 0):
            if not entered[seen.succ[i]]:
                kept = max(kept, min(1.0, promise[k]))
    return tested, kept


@lean_kernel
def surprises(exception: np.ndarray, last: Snapshot, seen: Snapshot, mean: float) -> tuple[float, float]:
    """How many exceptions were tried between two counts, and whether one was right."""
    tested, kept = 0.0, 0.0
    for k in range(len(exception)):
        before, tries, x = last.visits[k], seen.visits[k] - last.visits[k], exception[k]
        if x < 0 or tries == 0:
            continue
        tested += 1.0 if before == 0 else min(1.0, tries / (before + 1.0))
        came = contains(seen.succ, seen.ptr[k], seen.ptr[k + 1], x)
        came = came and not contains(last.succ, last.ptr[k], last.ptr[k + 1], x)
        if came and (before > 0 or seen.r_sum[k] > mean * seen.visits[k]):
            kept = 1.0
    return tested, kept
