"""Which pairs of a log look alike, and how surely: classes drawn from the posterior of C-PSRL, or formed by tests.

That two pairs are in one class may mean that they are alike, or that nothing tells them apart. So each is also compared
with its class by counts alone (``class_differences``): how different it looks, and what its visits could have shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equirl.clustering.approximate_equivalence import approx_equivalence
from equirl.estimation.pooling import Grouping, pooled_positions
from equirl.learners.posterior_sampling import PosteriorLearner
from equirl.logs.class_differences import CLEAR, Differences, difference_between, differences, most_sure
from equirl.logs.log import Log
from equirl.model.pairs import action_labels, state_labels
from equirl.model.reward_distributions import original_rewards
from equirl.numerics.arrays import starts
from equirl.numerics.seeding import Seed
from equirl.posterior.inspection import ClassPosterior, class_posterior
from equirl.structure.partition import Partition
from equirl.words.answer_units import ByName, InUnits
from equirl.words.checking import choice, flag, whole_number
from equirl.words.tables import Table, card

METHODS = ("posterior", "tests")
BURN_IN = 20  # draws made and thrown away first
SCANNED = 5  # a draw goes over this part of the pairs, and over a thousand at least
SHOWN = 4  # probabilities of a profile in a table
COARSE = 0.5  # visits that could have shown only a larger difference of a probability tell nothing apart
NOT_TOLD = "not told apart"
DECIMALS = 3  # of probabilities and standard errors in tables


@dataclass(frozen=True, eq=False, repr=False)
class LogClasses:
    """Classes of the pairs of a log. Make them with :meth:`equirl.Log.classes`.

    Attributes
    ----------
    log : Log
        The counts they were formed from.
    partition : Partition
        The classes; a pair never played stands alone.
    method : str
        "posterior" or "tests".
    posterior : ClassPosterior or None
        All draws, where they come from a posterior.
    """

    log: Log
    partition: Partition
    method: str
    posterior: ClassPosterior | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes among the pairs that were played."""
        return len(np.unique(self.partition.label[self.log.seen.visits > 0]))

    def alike(self, pair: Any, other: Any) -> float:
        """How surely two pairs, by number or (state, action), are in one class; NaN for one never played.

        The share of draws, at most what their own counts leave (see ``sure``). With ``method="tests"`` there is no
        probability: an error.
        """
        if self.posterior is None:
            raise ValueError("tests give no probabilities; log.classes(method='posterior') does")
        share, pairs = self.posterior.alike(pair, other), self.log.pairs
        k, j = (pairs.index(*one) if isinstance(one, tuple) else int(one) for one in (pair, other))
        return share if k == j else float(np.minimum(share, most_sure(difference_between(self.log.seen, k, j))))

    @cached_property
    def _differences(self) -> Differences:
        return differences(self.log.seen, self._groups)

    @property
    def _groups(self) -> Grouping:
        return Grouping(self.partition.label, self.partition.n_classes)

    @property
    def apart(self) -> np.ndarray:
        """(M,) how far a pair's frequencies are from those of its class, in standard errors; NaN for a pair alone."""
        return self._differences.apart

    @property
    def could_see(self) -> np.ndarray:
        """(M,) the least difference of a probability that its visits and those of its class could have shown.

        About three standard errors. Of a pair alone: its visits; NaN for one never played.
        """
        return self._differences.could_see

    @property
    def _told(self) -> np.ndarray:
        """(M,) whether a difference of one half could have shown, or one did."""
        return (self.could_see < COARSE) | (self.apart >= CLEAR)

    @property
    def sure(self) -> np.ndarray:
        """(M,) how surely a pair is alike to the most visited other one of its class.

        The share of draws that say so, at most the p-value of what sets the pair apart from its class over 0.05: three
        standard errors leave 0.054. NaN for a pair alone, and without a posterior.
        """
        M, label, sizes = self.log.pairs.n_pairs, self.partition.label, self.partition.sizes
        if self.posterior is None:
            return np.full(M, np.nan)
        order, first = np.lexsort((-self.log.seen.visits, label)), starts(sizes)[:-1]
        leader, second = order[first][label], order[np.minimum(first + 1, M - 1)][label]
        drawn, other = self.posterior.labels, np.where(leader == np.arange(M), second, leader)
        same = (drawn == drawn[:, other]).mean(axis=0)
        return np.where(sizes[label] > 1, np.minimum(same, most_sure(self.apart)), np.nan)

    def table(self) -> InUnits[ByName[Table]]:
        """A row per pair that was played: state, action, class, its size, how surely, visits, mean reward.

        ``sure`` is "not told apart" where not even a difference of one half could have shown; ``apart`` and
        ``could_see`` say how different the pair looks from its class, and what could have shown.
        """
        log = self.log
        there = np.flatnonzero(log.seen.visits > 0)
        label = Partition.from_labels(self.partition.label[there])
        sure, told = self.sure[there].round(DECIMALS).tolist(), self._told[there].tolist()
        return Table({
            "state": state_labels(log.pairs, log.pairs.state[there].tolist()),
            "action": action_labels(log.pairs, log.pairs.action[there].tolist()),
            "class": label.label,
            "size": label.sizes[label.label],
            "sure": [share if known else NOT_TOLD for share, known in zip(sure, told, strict=True)],
            "apart": self.apart[there].round(DECIMALS),
            "could_see": self.could_see[there].round(DECIMALS),
            "visits": log.seen.visits[there],
            "mean_reward": original_rewards(log.seen.r_sum[there] / log.seen.visits[there], log.reward_map),
        })  # fmt: skip

    def class_table(self) -> InUnits[ByName[Table]]:
        """A row per class, the most visited first: pairs, visits, profile, range of mean rewards, an example.

        ``sure`` is the mean over the pairs of which more is known than that they are not told apart, ``apart`` the
        largest, ``could_see`` the median.
        """
        log, visits = self.log, self.log.seen.visits
        there = np.flatnonzero(visits > 0)
        pooled, sure, told = pooled_positions(log.seen, self._groups), self.sure, self._told
        rows: list[tuple[Any, ...]] = []
        for c, members in enumerate(Partition.from_labels(self.partition.label[there])):
            own = there[members]
            best, number = own[np.argmax(visits[own])], self.partition.label[own[0]]
            (state,) = state_labels(log.pairs, [int(log.pairs.state[best])])
            (action,) = action_labels(log.pairs, [int(log.pairs.action[best])])
            mean = original_rewards(log.seen.r_sum[own] / visits[own], log.reward_map)
            known = told[own]
            rows.append((
                c, len(own), int(pooled.visits[number]),
                round(float(sure[own][known].mean()), DECIMALS) if known.any() else NOT_TOLD,
                round(float(self.apart[own].max()), DECIMALS), round(float(np.median(self.could_see[own])), DECIMALS),
                _profile(pooled.count[pooled.ptr[number] : pooled.ptr[number + 1]]),
                float(mean.min()), float(mean.max()), f"{state}, {action}",
            ))  # fmt: skip
        rows.sort(key=lambda row: -row[CLASS_COLUMNS.index("visits")])
        return Table(dict(zip(CLASS_COLUMNS, zip(*rows, strict=True), strict=True)))

    def _repr_html_(self) -> str:
        facts = {"pairs played": int((self.log.seen.visits > 0).sum()), "classes": self.n_classes, "by": self.method}
        return card("LogClasses", facts, {"Classes, the most visited first": self.class_table()})

    def __repr__(self) -> str:
        n = int((self.log.seen.visits > 0).sum())
        return f"LogClasses({n} pairs in {self.n_classes} classes, by {self.method})"


CLASS_COLUMNS = (
    "class", "pairs", "visits", "sure", "apart", "could_see", "profile", "reward_from", "reward_to", "example",
)  # fmt: skip


def classes_of(
    log: Log, *, method: str = "posterior", rewards: bool = False, draws: int = 50, seed: Seed = 0, **settings: Any
) -> LogClasses:
    """As :meth:`equirl.Log.classes` says."""
    draws = whole_number("draws", draws)
    if choice("method", method, METHODS) == "tests":
        seen = log.seen
        sums = seen.r_sum if flag("rewards", rewards) else None
        found = approx_equivalence(seen.visits, seen.ptr, seen.count, log.pairs.n_states, r_sum=sums, **settings)
        alone = np.where(seen.visits > 0, found.partition.label, log.pairs.n_pairs + np.arange(log.pairs.n_pairs))
        return LogClasses(log, Partition.from_labels(alone), method)
    if flag("rewards", rewards):
        raise ValueError("the posterior compares transition probabilities; rewards=True goes with method='tests'")
    agent = posterior_of(log, seed, **settings)
    drawn = class_posterior(agent, draws, passes=1, seed=seed, burn_in=BURN_IN)
    return LogClasses(log, drawn.partition(), method, drawn)


def posterior_of(log: Log, seed: Seed, **settings: Any) -> PosteriorLearner:
    agent = log.agent("c-psrl", seed, **{"scan": max(1000, log.pairs.n_pairs // SCANNED), **settings})
    assert isinstance(agent, PosteriorLearner)
    return agent


def _profile(counts: np.ndarray) -> str:
    """The empirical profile of a class, the largest first."""
    shares = counts / counts.sum()
    return " ".join(f"{p:.3g}" for p in shares[:SHOWN]) + (" ..." if len(shares) > SHOWN else "")
