"""The posterior open to look at: which pairs a learner takes to be alike, and how sure it is."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from equirl.estimation.counts import Counts
from equirl.model.pairs import Pairs, pair_number
from equirl.numerics.arrays import Frozen, frozen
from equirl.numerics.random_draws import draw_state
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.posterior.reward_priors import RewardSampler
from equirl.posterior.row_priors import RowSampler
from equirl.structure.partition import Partition
from equirl.words.checking import several, whole_number
from equirl.words.formatting import shown


class DrawsRows(Protocol):
    """What is asked of a learner whose drawn rows are compared."""

    pairs: Pairs
    counts: Counts
    rows: RowSampler


@runtime_checkable
class DrawsClasses(Protocol):
    """What is asked of a learner whose posterior is looked at: ``"c-psrl"`` and its relatives have it."""

    name: str
    pairs: Pairs
    counts: Counts
    rows: RowSampler
    rewards: RewardSampler

    def copy(self) -> Self:
        """An independent twin."""


@dataclass(frozen=True, eq=False, repr=False)
class ClassPosterior(Frozen):
    """Draws of classes from a learner's posterior. Make one with :func:`class_posterior`.

    Parameters
    ----------
    pairs : Pairs
        The pairs of the problem.
    labels : ndarray of int64, shape (draws, M)
        The class of each pair in each draw, numbered 0, 1, ... as classes first appear; -1 for a pair without one, such
        as a pair never visited.
    reward_tables : ndarray of int64, shape (draws, M), optional
        Likewise, which pairs share their mean reward, where the learner draws that.
    """

    pairs: Pairs
    labels: np.ndarray  # (draws, M) int64
    reward_tables: np.ndarray | None = None  # (draws, M) int64

    def __post_init__(self) -> None:
        if not isinstance(self.pairs, Pairs):
            raise TypeError(f"pairs must be Pairs, not {shown(self.pairs)}")
        for name in ("labels", "reward_tables"):
            if name == "labels" or self.reward_tables is not None:
                table = frozen(name, getattr(self, name), np.int64)
                if table.ndim != 2 or not len(table) or table.shape[1] != self.pairs.n_pairs:
                    wanted = f"one row per draw would be (draws, {self.pairs.n_pairs})"
                    raise ValueError(f"{name} has shape {table.shape}; {wanted}")
                object.__setattr__(self, name, table)

    def alike(self, pair: Any, other: Any) -> float:
        """The probability that two pairs are in one class; NaN where one of them has no class.

        Parameters
        ----------
        pair, other : int or (state, action)
            Two pairs, by number or by state and action.
        """
        k, j = pair_number(self.pairs, pair), pair_number(self.pairs, other)
        return float(self._together(np.array([k, j]))[0, 1])

    def matrix(self, pairs: Any = None) -> np.ndarray:
        """(n, n) the probability that pairs are in one class; NaN in the rows and columns of pairs without one.

        Parameters
        ----------
        pairs : sequence of int or (state, action), optional
            Which; all by default, at the cost of M * M numbers.
        """
        chosen = (
            np.arange(self.pairs.n_pairs)
            if pairs is None
            else np.array([pair_number(self.pairs, k) for k in several("pairs", pairs)], int)
        )
        return self._together(chosen)

    @cached_property
    def n_classes(self) -> np.ndarray:
        """(draws,) the number of classes in each draw."""
        return self.labels.max(axis=1, initial=-1) + 1

    @property
    def expected_classes(self) -> float:
        """The mean number of classes."""
        return float(self.n_classes.mean())

    def partition(self) -> Partition:
        """The draw that agrees best with all of them: least expected number of pairs judged wrongly (Binder's loss).

        Pairs without a class stand alone. Time: O(draws^2 M); memory: O(draws M).
        """
        own = self.labels[:, (self.labels >= 0).all(axis=0)]
        loss = np.zeros(len(own))
        for k, row in enumerate(own):  # up to what all draws have in common: same_k - 2 same_k * together
            shared = sum(_pairs_within(row * (other.max(initial=0) + 1) + other) for other in own) / len(own)
            loss[k] = _pairs_within(row) - 2 * shared
        best = self.labels[int(np.argmin(loss))]
        return Partition.from_labels(np.where(best < 0, len(best) + np.arange(len(best)), best))

    def _together(self, chosen: np.ndarray) -> np.ndarray:
        total = np.zeros((len(chosen), len(chosen)))
        for row in self.labels[:, chosen]:
            total += row[:, None] == row[None, :]
        total /= len(self.labels)
        lacks = (self.labels[:, chosen] < 0).any(axis=0)
        total[lacks] = total[:, lacks] = np.nan
        return total

    def __repr__(self) -> str:
        draws, M = self.labels.shape
        return f"<ClassPosterior: {draws} draws, M={M}, {self.expected_classes:.3g} classes expected>"


def class_posterior(
    agent: DrawsClasses, draws: int = 100, passes: int = 2, seed: Seed = 0, *, burn_in: int = 0
) -> ClassPosterior:
    """Draw classes from the posterior of a learner, given all it has seen so far. The learner is not changed.

    The sampler goes on, in a copy, from the classes that the learner drew last, so neighbouring draws resemble each
    other; with more ``passes`` less so.

    Parameters
    ----------
    agent : learner
        One that draws an MDP through classes: ``"c-psrl"`` and its relatives.
    draws : int
        How many to keep.
    passes : int
        How often the sampler draws before each that is kept.
    seed : int or SeedSequence
        From which the draws follow.
    burn_in : int
        How many draws are made and thrown away first.

    Examples
    --------
    >>> from equirl.simulation.simulated_runs import simulate
    >>> from equirl.worlds.world_registry import make
    >>> agent = simulate(make("ergodic-riverswim", n_states=6), "c-psrl", 5000, seed=0).agent
    >>> found = class_posterior(agent, draws=50)
    >>> found.labels.shape
    (50, 12)
    >>> found.alike((2, 0), (3, 0)) > found.alike((2, 0), (2, 1))
    True
    >>> 2 < found.expected_classes < 12
    True
    """
    draws, passes = whole_number("draws", draws), whole_number("passes", passes)
    burn_in = whole_number("burn_in", burn_in, least=0)
    if not isinstance(agent, DrawsClasses) or not isinstance(agent.rows, RowSampler) or agent.rows.labels() is None:
        raise ValueError(f"{shown(getattr(agent, 'name', agent))} has no posterior of classes; 'c-psrl' has one")
    twin = agent.copy()
    seen, rng = twin.counts.snapshot(), draw_state(seed_sequence("seed", seed))
    labels, tables = [], []
    for k in range(draws):
        for _ in range(passes + (burn_in if k == 0 else 0)):
            twin.rows.draw(seen, rng)
            twin.rewards.draw(seen, rng)
        labels.append(_canonical(twin.rows.labels()))
        tables += [_canonical(table) for table in [twin.rewards.tables()] if table is not None]
    return ClassPosterior(agent.pairs, np.array(labels), np.array(tables) if tables else None)


def _pairs_within(label: np.ndarray) -> float:
    """How many ordered pairs of entries have equal labels."""
    return float((np.bincount(label) ** 2.0).sum())


def row_spread(agent: DrawsRows, draws: int = 4, seed: Seed = 0) -> np.ndarray:
    """(M,) how far apart draws of a pair's transition probabilities lie, given all the learner has seen.

    >>> from equirl.simulation.simulated_runs import simulate
    >>> from equirl.worlds.world_registry import make
    >>> river = make("ergodic-riverswim", n_states=6)
    >>> early, late = (row_spread(simulate(river, "psrl", steps, seed=0).agent).mean() for steps in (50, 5000))
    >>> bool(late < 0.7 * early)
    True
    """
    from scipy import sparse

    draws = whole_number("draws", draws, least=2)
    rows, pairs = copy.deepcopy(agent.rows), agent.pairs
    seen, rng = agent.counts.snapshot(), draw_state(seed_sequence("seed", seed))
    total = np.zeros(pairs.n_pairs)
    last: Any = None
    for _ in range(draws):
        drawn, _ = rows.draw(seen, rng)
        end = int(drawn.ptr[-1])
        matrix = sparse.csr_array((drawn.prob[:end], drawn.succ[:end], drawn.ptr), (pairs.n_pairs, pairs.n_states))
        if last is not None:
            total += np.asarray(abs(matrix - last[0]).sum(axis=1)).ravel() + np.abs(drawn.rest - last[1])
        last = matrix, drawn.rest
    return np.minimum(total / (draws - 1), 2.0)


def _canonical(label: np.ndarray | None) -> np.ndarray:
    """The same classes numbered as they first appear, -1 kept."""
    assert label is not None
    out = np.full(len(label), -1, np.int64)
    out[label >= 0] = Partition.from_labels(label[label >= 0]).label
    return out
