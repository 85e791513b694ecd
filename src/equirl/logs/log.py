"""A log of transitions as counts with names: ``from_log``, and what can be had from the counts at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import Order
from equirl.learners.contract import Learner
from equirl.learners.learner_registry import build_learner, find_learner, stated_by_user
from equirl.logs.log_columns import read_log
from equirl.logs.log_counts import count, pair_numbers, pairs_of, range_of, successors
from equirl.logs.unsaid import unsaid
from equirl.model.mdp import TabularMDP
from equirl.model.names import action_labels, state_labels
from equirl.model.pairs import Pairs
from equirl.model.reward_laws import original_rewards
from equirl.model.transition_rows import rows_from_triplets
from equirl.numerics.arrays import owners
from equirl.numerics.seeding import Seed
from equirl.structure.similarity import Profiles
from equirl.words.checking import flag, real_array
from equirl.words.tables import Table, card


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """What a log says: how often each pair was played, what it paid and where it led. Make one with :func:`from_log`.

    Attributes
    ----------
    pairs : Pairs
        States and actions, with their names.
    seen : Snapshot
        Visits, sums of rewards in [0, 1] and successors, by pair.
    reward_map : tuple of float
        (scale, shift): reward of the log = scale * reward + shift.
    initial : ndarray of float, shape (S,)
        How often episodes began in each state; where nothing ends, the first row's state.
    n_rows : int
        Rows read.
    n_left_out : int
        Rows not counted: ends of episodes after which the log says not where the next one began.
    range_seen : bool
        Whether the range of rewards was taken from the log itself.
    """

    pairs: Pairs
    seen: Snapshot
    reward_map: tuple[float, float]
    initial: np.ndarray
    n_rows: int
    n_left_out: int = 0
    range_seen: bool = False

    @property
    def n_steps(self) -> int:
        """Steps counted."""
        return int(self.seen.visits.sum())

    @property
    def mean_reward(self) -> float:
        """What a step of the log paid on average, in its units."""
        return float(original_rewards(self.seen.r_sum.sum() / max(1, self.n_steps), self.reward_map))

    def table(self) -> Table:
        """A row per pair: visits, mean reward in the log's units, different successors, and the most frequent one.

        Returns
        -------
        Table
        """
        seen = self.seen
        size = np.diff(seen.ptr)
        there = seen.visits > 0
        means = np.divide(seen.r_sum, seen.visits, out=np.full(len(there), np.nan), where=there)
        first = np.zeros(len(there), np.int64)
        first[there] = seen.succ[seen.ptr[:-1][there]]
        names = state_labels(self.pairs, first.tolist())
        return Table({
            "state": state_labels(self.pairs, self.pairs.state.tolist()),
            "action": action_labels(self.pairs, self.pairs.action.tolist()),
            "visits": seen.visits,
            "mean_reward": original_rewards(means, self.reward_map),
            "successors": size,
            "most_often_to": [name if n else None for name, n in zip(names, there.tolist(), strict=True)],
        })  # fmt: skip

    def agent(
        self,
        name: str = "c-psrl",
        seed: Seed = 0,
        *,
        classes: Any = None,
        profiles: Profiles | None = None,
        order: Order = None,
        mean_rewards: Any = None,
        **settings: Any,
    ) -> Learner:
        """A learner that starts from all the log has seen: the next step it decides is its step ``n_steps + 1``.

        The counts are handed over as they are. ``q-learning``, whose values depend on the order of steps, starts from
        the values that replaying the log for ever would lead to.

        Parameters
        ----------
        name : str
            A learner that needs no true MDP.
        seed : int or SeedSequence
            From which its random choices follow.
        classes : Partition, labels or function, optional
            One label per pair, for a learner that is given the classes; or ``classes(state, action)``.
        profiles : Profiles, optional
            For a learner that is given them.
        order : function or list, optional
            The successors of each pair, in corresponding order, in place of profiles: see :func:`equirl.make_agent`.
        mean_rewards : sequence of float, optional
            One per pair in the log's units, for a learner that knows them.
        **settings
            Settings of the learner.

        Returns
        -------
        Learner
            ``act`` and ``observe`` take the log's own names and units.
        """
        if find_learner(name).knows_mdp:
            raise ValueError(f"{name!r} needs the true MDP, which a log does not have")
        scale, shift = self.reward_map
        means = None if mean_rewards is None else (real_array("mean_rewards", mean_rewards) - shift) / scale
        given = stated_by_user(classes, profiles, order, self.pairs)._replace(mean_rewards=means)
        learner = build_learner(name, self.pairs, settings, given, seed, self.reward_map)
        learner.start_from(self.seen)
        return learner

    def mdp(self, name: str = "") -> TabularMDP:
        """The problem as the log has it: frequencies for probabilities, mean rewards for rewards.

        Pairs never played stay put and pay the least reward, so that no policy seeks them.

        Parameters
        ----------
        name : str
            A title.

        Returns
        -------
        TabularMDP
        """
        seen, pairs = self.seen, self.pairs
        strange = np.flatnonzero(seen.visits == 0)
        pair = np.concatenate([owners(seen.ptr), strange])
        succ = np.concatenate([seen.succ, pairs.state[strange]]).astype(np.int64)
        prob = np.concatenate([seen.count / np.repeat(seen.visits, np.diff(seen.ptr)), np.ones(len(strange))])
        means = np.divide(seen.r_sum, seen.visits, out=np.zeros(pairs.n_pairs), where=seen.visits > 0)
        rows = rows_from_triplets(pairs, pair, succ, prob, normalize=True)
        return TabularMDP(pairs, rows, np.clip(means, 0.0, 1.0), self.initial, reward_map=self.reward_map, name=name)

    def unsaid(self) -> list[str]:
        """What the log cannot say, in sentences: choices never tried, states never left, a range that is a guess.

        Returns
        -------
        list of str
        """
        return unsaid(self)

    def _repr_html_(self) -> str:
        low, high = self.reward_map[1], sum(self.reward_map)
        facts = {
            "steps": f"{self.n_steps:,}", "states": f"{self.pairs.n_states:,}", "pairs": f"{self.pairs.n_pairs:,}",
            "pairs seen": f"{int((self.seen.visits > 0).sum()):,}", "rewards in": f"[{low:g}, {high:g}]",
            "mean reward": self.mean_reward,
        }  # fmt: skip
        return card("Log", facts, {"Pairs": self.table()})

    def __repr__(self) -> str:
        low, high = self.reward_map[1], sum(self.reward_map)
        return (
            f"Log({self.n_steps} steps, S={self.pairs.n_states}, M={self.pairs.n_pairs}, "
            f"{int((self.seen.visits > 0).sum())} pairs seen, rewards in [{low:g}, {high:g}])"
        )


def from_log(
    table: Any,
    *,
    columns: Mapping[str, str] | None = None,
    actions: Any = "seen",
    reward_range: tuple[float, float] | None = None,
    restart: Any = None,
    costs: bool = False,
) -> Log:
    """Count the transitions of a log.

    Parameters
    ----------
    table : path, data frame, mapping of columns, structured array, or iterable of rows
        A CSV or Parquet file; a pandas, polars or pyarrow table; a dict of columns; or rows: dicts, or tuples
        (state, action, reward, next_state[, terminated]). Its columns are ``state``, ``action``, ``reward``,
        ``next_state`` and, if there, ``terminated`` (the episode ended with this row), ``weight`` (how often the row
        happened) and ``time`` (rows are put in its order). States and actions are strings, numbers or tuples.
    columns : mapping of str to str, optional
        What a column is called, where it is not called as here: ``{"state": "s", "next_state": "s2"}``.
    actions : "seen", "all", or what ``make_agent`` takes as ``n_actions``
        Which actions states allow: those seen in them, in a state never left all; all actions in all states; or sets.
    reward_range : (float, float), optional
        The least and the largest reward there can be. By default [0, 1], or the range seen where that is not inside.
    restart : state, optional
        Where a new episode begins after a row that is ``terminated``. By default where the next row is.
    costs : bool, default False
        The column of rewards holds costs: rewards are minus them.

    Returns
    -------
    Log

    Raises
    ------
    ValueError, TypeError
        If a column is missing, a row makes no sense, or rewards leave their range; the message names the row.

    Examples
    --------
    >>> rows = [("low", "wait", 1.0, "high"), ("high", "sell", 5.0, "low"), ("low", "wait", 1.0, "low")]
    >>> log = from_log(rows)
    >>> log
    Log(3 steps, S=2, M=2, 2 pairs seen, rewards in [1, 5])
    >>> log.mdp().law("low", "wait")
    {0: 0.5, 1: 0.5}
    """
    rows = read_log(table, columns)
    reward = -rows.reward if flag("costs", costs) else rows.reward
    successor, counted, begins = successors(rows, restart)
    weight = np.ones(len(reward), np.int64) if rows.weight is None else rows.weight
    rows = rows._replace(successor=successor)
    pairs, state_number, action_id = pairs_of(rows, counted & (weight > 0), actions)
    reward_map = range_of(reward, reward_range, rows.origin)

    state, after = state_number[rows.state], state_number[successor]
    pair = pair_numbers(pairs, state, action_id[rows.action], rows)
    keep = counted & (weight > 0)
    seen = count(pairs, pair[keep], after[keep], (reward[keep] - reward_map[1]) / reward_map[0], weight[keep])
    initial = np.bincount(state[begins], minlength=pairs.n_states) / begins.sum()
    return Log(pairs, seen, reward_map, initial, len(reward), int((~counted).sum()), reward_range is None)
