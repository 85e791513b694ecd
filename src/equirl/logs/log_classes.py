"""Which pairs of a log look alike, and how surely: classes drawn from the posterior of C-PSRL, or formed by tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.clustering.approximate_equivalence import approx_equivalence
from equirl.learners.posterior_sampling import PosteriorLearner
from equirl.logs.log import Log, from_log
from equirl.model.pairs import action_labels, state_labels
from equirl.model.reward_laws import original_rewards
from equirl.numerics.arrays import owners
from equirl.numerics.seeding import Seed
from equirl.posterior.inspection import ClassPosterior, class_posterior
from equirl.structure.partition import Partition
from equirl.words.checking import choice, flag, whole_number
from equirl.words.tables import Table, card

METHODS = ("posterior", "tests")
BURN_IN = 20  # draws made and thrown away first
SCANNED = 5  # a draw goes over this part of the pairs, and over a thousand at least
SHOWN = 4  # probabilities of a profile in a table


@dataclass(frozen=True, eq=False, repr=False)
class LogClasses:
    """Classes of the pairs of a log. Make them with :func:`classes_of`.

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
        """The probability that two pairs, by number or (state, action), are in one class; NaN for one never played.

        With ``method="tests"`` there is no probability: an error.
        """
        if self.posterior is None:
            raise ValueError("tests give no probabilities; classes_of(log, method='posterior') does")
        return self.posterior.alike(pair, other)

    @property
    def sure(self) -> np.ndarray:
        """(M,) how surely a pair is alike to the most visited one of its class; NaN without a posterior."""
        M, visits, label = self.log.pairs.n_pairs, self.log.seen.visits, self.partition.label
        if self.posterior is None:
            return np.full(M, np.nan)
        order = np.lexsort((np.arange(M), -visits, label))
        leader = order[np.concatenate([[0], np.cumsum(self.partition.sizes)[:-1]])][label]
        drawn = self.posterior.labels
        same = (drawn == drawn[:, leader]).mean(axis=0)
        return np.where((drawn < 0).any(axis=0), np.nan, same)

    def table(self) -> Table:
        """A row per pair that was played: state, action, class, its size, how surely, visits, mean reward."""
        log = self.log
        there = np.flatnonzero(log.seen.visits > 0)
        label = Partition.from_labels(self.partition.label[there])
        return Table({
            "state": state_labels(log.pairs, log.pairs.state[there].tolist()),
            "action": action_labels(log.pairs, log.pairs.action[there].tolist()),
            "class": label.label,
            "size": label.sizes[label.label],
            "sure": self.sure[there],
            "visits": log.seen.visits[there],
            "mean_reward": original_rewards(log.seen.r_sum[there] / log.seen.visits[there], log.reward_map),
        })  # fmt: skip

    def class_table(self) -> Table:
        """A row per class, the most visited first: pairs, visits, profile, range of mean rewards, an example."""
        log, seen = self.log, self.log.seen
        there = np.flatnonzero(seen.visits > 0)
        part = Partition.from_labels(self.partition.label[there])
        visits = np.bincount(part.label, weights=seen.visits[there]).astype(np.int64)
        profile = _profiles(log, part, there, visits)
        mean = original_rewards(seen.r_sum[there] / seen.visits[there], log.reward_map)
        sure = self.sure[there]
        rows: dict[str, list[Any]] = {name: [] for name in CLASS_COLUMNS}
        for c in np.argsort(-visits, kind="stable").tolist():
            members = np.flatnonzero(part.label == c)
            best = there[members[np.argmax(seen.visits[there[members]])]]
            (state,) = state_labels(log.pairs, [int(log.pairs.state[best])])
            (action,) = action_labels(log.pairs, [int(log.pairs.action[best])])
            values = (
                c, len(members), int(visits[c]), float(np.mean(sure[members])), profile[c], float(mean[members].min()),
                float(mean[members].max()), f"{state}, {action}",
            )  # fmt: skip
            for name, value in zip(CLASS_COLUMNS, values, strict=True):
                rows[name].append(value)
        return Table(rows)

    def _repr_html_(self) -> str:
        facts = {"pairs played": int((self.log.seen.visits > 0).sum()), "classes": self.n_classes, "by": self.method}
        return card("LogClasses", facts, {"Classes, the most visited first": self.class_table()})

    def __repr__(self) -> str:
        n = int((self.log.seen.visits > 0).sum())
        return f"LogClasses({n} pairs in {self.n_classes} classes, by {self.method})"


CLASS_COLUMNS = ("class", "pairs", "visits", "sure", "profile", "reward_from", "reward_to", "example")


def classes_of(
    log: Any, *, method: str = "posterior", rewards: bool = False, draws: int = 50, seed: Seed = 0, **settings: Any
) -> LogClasses:
    """Which pairs of a log look alike.

    Parameters
    ----------
    log : Log, or what :func:`equirl.from_log` takes
        The log.
    method : {"posterior", "tests"}
        Draw classes from the posterior of ``c-psrl``, which says how surely two pairs are alike; or form them with
        ApproxEquivalence, which puts together whatever its confidence radii do not tell apart: with few visits
        nearly everything.
    rewards : bool, default False
        With tests: mean rewards are compared too. The posterior compares transition probabilities.
    draws : int
        With a posterior: how many draws are kept.
    seed : int or SeedSequence
        With a posterior: from which the draws follow.
    **settings
        Settings of ``c-psrl``, or of :func:`equirl.approx_equivalence`.

    Examples
    --------
    >>> import numpy as np
    >>> flips = np.random.default_rng(0).random(600) < 0.8
    >>> rows = [(k % 3, 0, 0.0, (k % 3 + int(flip)) % 3) for k, flip in enumerate(flips)]
    >>> found = classes_of(from_log(rows), draws=20)
    >>> found.n_classes, found.alike((0, 0), (1, 0)) > 0.9
    (1, True)
    """
    log = log if isinstance(log, Log) else from_log(log)
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


def _profiles(log: Log, part: Partition, there: np.ndarray, visits: np.ndarray) -> list[str]:
    """The empirical profile of each class: counts added up by position, the largest first."""
    seen = log.seen
    number = np.full(log.pairs.n_pairs, -1)
    number[there] = part.label
    owner = owners(seen.ptr)
    position = np.arange(len(seen.succ)) - seen.ptr[:-1][owner]
    width = int(position.max()) + 1
    total = np.bincount(number[owner] * width + position, weights=seen.count, minlength=part.n_classes * width)
    shares = total.reshape(part.n_classes, width) / visits[:, None]
    return [
        " ".join(f"{p:.3g}" for p in row[:SHOWN]) + (" ..." if (row[SHOWN:] > 0).any() else "")
        for row in (np.trim_zeros(row, "b") for row in shares)
    ]
