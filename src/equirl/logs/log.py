"""A log of transitions as counts with names: from rows to counts, and what can be had from the counts at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.interop.encoder import Encoder
from equirl.learners.contract import Learner
from equirl.learners.learner_registry import agent_on_pairs
from equirl.logs.log_columns import LogColumns, read_log
from equirl.logs.log_files import Origin
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs, action_labels, checked_names, pairs_from, plain_name, state_labels
from equirl.model.reachability import reached
from equirl.model.reward_distributions import original_rewards, reward_map_of
from equirl.model.rows import rows_from_triplets
from equirl.numerics.arrays import owners, starts
from equirl.numerics.compiling import inlined, kernel
from equirl.numerics.seeding import Seed
from equirl.words.answer_units import ByName, InUnits, UnitReward
from equirl.words.checking import choice, flag
from equirl.words.formatting import counted, shown
from equirl.words.progress_bar import Advance
from equirl.words.tables import Table, card

if TYPE_CHECKING:
    from equirl.estimation.given_knowledge import Classes, Order
    from equirl.logs.log_classes import LogClasses
    from equirl.logs.log_policy import Learned
    from equirl.logs.safe_improvement import SafePolicy
    from equirl.logs.structure_check import StructureCheck
    from equirl.structure.similarity import Profiles

ACTIONS = ("seen", "all")
LARGEST_ID = 10**6  # whole numbers up to this are action ids as they are
MOST_COMBINATIONS = 10**9  # of states and actions: a byte for each while pairs are listed
DIRECT = 10**7  # combinations of states and action ids up to which pairs are looked up in a table
FEW = 10  # visits
NAMED = 3  # examples
SMALLEST_TABLE = 1024  # places, for transitions that differ
PAIR_APART, SUCCESSOR_APART = 1_000_003, 7919  # in that table


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
    unit_paid : tuple of ndarray of float, shape (nnz,), optional
        Sums of the rewards in [0, 1] that came with each successor, as ``seen`` has them, and of their squares.
    """

    pairs: Pairs
    seen: UnitReward[Snapshot]
    reward_map: tuple[float, float]
    initial: np.ndarray
    n_rows: int
    n_left_out: int = 0
    range_seen: bool = False
    unit_paid: UnitReward[tuple[np.ndarray, np.ndarray] | None] = None

    @property
    def n_steps(self) -> int:
        """Steps counted."""
        return int(self.seen.visits.sum())

    @property
    def mean_reward(self) -> InUnits[float]:
        """What a step of the log paid on average, in its units."""
        return float(original_rewards(self.seen.r_sum.sum() / max(1, self.n_steps), self.reward_map))

    def table(self) -> InUnits[ByName[Table]]:
        """A row per pair: visits, mean reward in the log's units, different successors, and the most frequent one."""
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

    def agent(self, name: str = "c-psrl", seed: Seed = 0, **keywords: Any) -> Learner:
        """An agent that starts from all the log has seen: the next step it decides is its step ``n_steps + 1``.

        Counts are taken over as they are. ``q-learning``, whose values depend on the order of steps, starts from
        the values that replaying the log for ever would lead to. ``act`` and ``observe`` take the log's own names and
        units.

        Parameters
        ----------
        name : str
            A learner that needs no true MDP.
        seed : int or SeedSequence
            From which its random choices follow.
        **keywords
            Settings of the learner; and ``classes``, ``profiles``, ``order`` and ``mean_rewards`` for one that is given
            them, as in :func:`equirl.make_agent`.
        """
        agent = agent_on_pairs(name, self.pairs, self.reward_map, seed, ", which a log does not have", **keywords)
        agent.start_from(self.seen)
        return agent

    @overload
    def learn(
        self, *, draws: int = ..., caution: float = ..., discount: float | None = ..., delta: float = ...,
        seed: Seed = ..., progress: bool | Advance = ..., baseline: None = None, safe: None = None, **settings: Any,
    ) -> Learned: ...  # fmt: skip
    @overload
    def learn(
        self, *, draws: int = ..., caution: float = ..., discount: float | None = ..., delta: float = ...,
        seed: Seed = ..., progress: bool | Advance = ..., baseline: Any = ..., safe: float, **settings: Any,
    ) -> SafePolicy: ...  # fmt: skip
    def learn(
        self, *, draws: int = 50, caution: float = 0.0, discount: float | None = None, delta: float = 0.05,
        seed: Seed = 0, progress: bool | Advance = False, baseline: Any = None, safe: float | None = None,
        **settings: Any,
    ) -> Learned | SafePolicy:  # fmt: skip
        """The optimal policy of the problem that the log describes, and how sure it is: :func:`equirl.learn`.

        Parameters
        ----------
        draws, caution, discount, delta, seed, progress, baseline, safe, **settings
            As for :func:`equirl.learn`.
        """
        from equirl.logs.log_policy import learn

        asked: dict[str, Any] = {**settings, "baseline": baseline, "safe": safe}
        return learn(
            self, draws=draws, caution=caution, discount=discount, delta=delta, seed=seed, progress=progress, **asked
        )

    def classes(
        self, *, method: str = "posterior", rewards: bool = False, draws: int = 50, seed: Seed = 0, **settings: Any
    ) -> LogClasses:
        """Which pairs of a log look alike.

        Parameters
        ----------
        method : {"posterior", "tests"}
            Draw classes from the posterior of ``c-psrl``, which says how surely two pairs are alike; or form them with
            ApproxEquivalence, which puts together whatever its confidence radii do not tell apart: with few visits
            nearly everything. Either way ``table()`` says how different pairs look, and what could have shown.
        rewards : bool, default False
            With tests: mean rewards are compared too. The posterior compares transition probabilities.
        draws : int
            With a posterior: how many draws are kept.
        seed : int or SeedSequence
            With a posterior: from which the draws follow.
        **settings
            Settings of ``c-psrl``, or of :func:`equirl.clustering.approx_equivalence`.

        Examples
        --------
        >>> import numpy as np
        >>> flips = np.random.default_rng(0).random(600) < 0.8
        >>> rows = [(k % 3, 0, 0.0, (k % 3 + int(flip)) % 3) for k, flip in enumerate(flips)]
        >>> found = from_log(rows).classes(draws=20)
        >>> found.n_classes, found.alike((0, 0), (1, 0)) > 0.9
        (1, True)
        >>> found.could_see.round(2)  # what 200 visits and the 400 of the others could have shown
        array([0.13, 0.13, 0.13])
        >>> from_log(rows[:9]).classes(draws=20).table()["sure"]
        ['not told apart', 'not told apart', 'not told apart']
        """
        from equirl.logs.log_classes import classes_of

        return classes_of(self, method=method, rewards=rewards, draws=draws, seed=seed, **settings)

    def next_steps(
        self, steps: int = 1000, *, policy: Any = None, learner: str = "c-psrl", discount: float | None = None,
        draws: int = 50, seed: Seed = 0,
    ) -> InUnits[ByName[Table]]:  # fmt: skip
        """Which decisions are still open, what knowing better would be worth, and how many of the next steps they take.

        A decision is open where other actions are better in some of the MDPs drawn from the posterior. Those that
        together are worth less than a thousandth of what the best policy earns more than the worst are left out; where
        that is all, the table is empty and says that nothing is left to learn.

        Steps: a learner that starts from the log plays in up to ten of the drawn MDPs, from the first state. What
        counts are departures from the policy, in an open state from what was tried more often, the policy's action or
        its rival. An unbroken run of them is spent on the open decision in it: on the way there, and on what follows.

        Time: that of :func:`equirl.learn` where no policy is given, a plan for each draw and twenty more, and the steps
        played.

        Parameters
        ----------
        steps : int
            How many steps can be spent.
        policy : mapping or sequence, optional
            The policy in use: ``{state: action}``, or an action per state, by id or name. By default the one
            that :func:`equirl.learn` finds.
        learner : str
            Who spends them.
        discount : float, optional
            In (0, 1): of rewards to come. Without: the average reward counts.
        draws : int
            MDPs drawn.
        seed : int or SeedSequence
            From which everything follows.

        Returns
        -------
        Table
            A row per open decision, the one worth most first: ``state``; ``action``, the policy's; ``rival``, the other
            action from which most is to be expected; ``chance_better``, the share of draws in which the rival is
            better; ``worth`` of knowing the best action there, per step or with a discount in all, in the log's units;
            ``visits``, ``rival_visits`` in the log; ``steps`` expected.

        Examples
        --------
        >>> rows = [("low", "wait", 0, "low"), ("low", "fill", -1, "high"), ("high", "sell", 3, "low")] * 50
        >>> from_log(rows).next_steps()
        nothing is left to learn that would change the policy
        >>> tried_once = [*rows, ("high", "auction", 3, "low")]
        >>> from_log(tried_once).next_steps(100)["state"]
        ['high']
        """
        from equirl.logs.next_steps import next_steps

        return next_steps(self, steps, policy=policy, learner=learner, discount=discount, draws=draws, seed=seed)

    def check(
        self, classes: Classes, *, profiles: Profiles | None = None, order: Order = None, rewards: bool = True,
        delta: float = 0.05,
    ) -> StructureCheck:  # fmt: skip
        """Whether the log refutes given classes and corresponding successors: :func:`equirl.check_structure`.

        Parameters
        ----------
        classes, profiles, order, rewards, delta
            As for :func:`equirl.check_structure`.
        """
        from equirl.logs.structure_check import check_structure

        return check_structure(self, classes, profiles=profiles, order=order, rewards=rewards, delta=delta)

    def mdp(self, name: str = "") -> TabularMDP:
        """The problem as the log has it: frequencies for probabilities, mean rewards for rewards.

        Pairs never played stay put and pay the least reward, so that no policy seeks them.
        """
        seen, pairs = self.seen, self.pairs
        unvisited = np.flatnonzero(seen.visits == 0)
        pair = np.concatenate([owners(seen.ptr), unvisited])
        succ = np.concatenate([seen.succ, pairs.state[unvisited]]).astype(np.int64)
        prob = np.concatenate([seen.count / np.repeat(seen.visits, np.diff(seen.ptr)), np.ones(len(unvisited))])
        means = np.divide(seen.r_sum, seen.visits, out=np.zeros(pairs.n_pairs), where=seen.visits > 0)
        rows = rows_from_triplets(pairs, pair, succ, prob, normalize=True)
        return TabularMDP(pairs, rows, np.clip(means, 0.0, 1.0), self.initial, reward_map=self.reward_map, name=name)

    def limitations(self) -> InUnits[ByName[list[str]]]:
        """What the log cannot say, in sentences, the gravest first: choices never tried, a range that is a guess."""
        pairs, visits = self.pairs, self.seen.visits
        played = visits > 0
        tried = np.bincount(pairs.state[played], minlength=pairs.n_states)
        found = []
        if (never := np.flatnonzero(tried == 0)).size:
            found.append(
                f"{_states(self, never)} reached and never left: what can be done there is unknown, and the estimated "
                "problem stays there at the least reward"
            )
        if (single := np.flatnonzero(tried == 1)).size:
            found.append(
                f"{_states(self, single)} left by one action only: the log cannot say whether another would be better"
            )
        n_ids = len(np.unique(pairs.action))
        combinations = pairs.n_states * n_ids
        if (missing := combinations - int(played.sum())) > 0:
            found.append(
                f"{missing:,} of the {combinations:,} combinations of a state and an action "
                f"{'was' if missing == 1 else 'were'} never tried: where such a one is allowed nothing is known of it"
            )
        if few := int((played & (visits < FEW)).sum()):
            found.append(f"{counted(few, 'pair')} of {int(played.sum()):,} tried fewer than {FEW} times")
        from_pair = np.repeat(np.arange(pairs.n_pairs), np.diff(self.seen.ptr))
        there = reached(self.initial > 0, pairs.state[from_pair], self.seen.succ)
        if (apart := np.flatnonzero(~there)).size:
            found.append(f"{_states(self, apart)} not reached from where the log starts by any step in it")
        low, high = self.reward_map[1], sum(self.reward_map)
        if self.range_seen:
            found.append(
                f"rewards are taken to lie in [{low:g}, {high:g}]: bounds hold if they do (reward_range says otherwise)"
            )
        if self.n_left_out:
            found.append("the last row ends an episode, and where the next would begin is not known: it is left out")
        return found

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
    encoder: Encoder | None = None,
) -> Log:
    """Count the transitions of a log. An error names the row that makes no sense.

    Parameters
    ----------
    table : path, data frame, mapping of columns, structured array, or iterable of rows
        A CSV or Parquet file; a pandas, polars or pyarrow table; a dict of columns; or rows: dicts, or tuples
        (state, action, reward, next_state[, terminated]). Its columns are ``state``, ``action``, ``reward``,
        ``next_state`` and, if there, ``terminated`` (the episode ended with this row), ``weight`` (how often the row
        happened) and ``time`` (rows are put in its order). States and actions are strings, numbers or tuples. Or a
        data set of Minari's.
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
    encoder : Encoder, optional
        Of a data set of Minari's: what makes states of its observations, such as
        ``Encoder(dataset.observation_space, bins=10)``.

    Examples
    --------
    >>> rows = [("low", "wait", 1.0, "high"), ("high", "sell", 5.0, "low"), ("low", "wait", 1.0, "low")]
    >>> log = from_log(rows)
    >>> log
    Log(3 steps, S=2, M=2, 2 pairs seen, rewards in [1, 5])
    >>> log.mdp().transition_probabilities("low", "wait")
    {'high': 0.5, 'low': 0.5}
    """
    rows = read_log(table, columns, encoder)
    reward = -rows.reward if flag("costs", costs) else rows.reward
    successor, counted, begins = _successors(rows, restart)
    weight = np.ones(len(reward), np.int64) if rows.weight is None else rows.weight
    rows = rows._replace(successor=successor)
    pairs, state_number, action_id = _pairs_of(rows, counted & (weight > 0), actions)
    reward_map = _range_of(reward, reward_range, rows.origin)

    state, after = state_number[rows.state], state_number[successor]
    pair = _pair_numbers(pairs, state, action_id[rows.action], rows)
    keep = counted & (weight > 0)
    unit = (reward[keep] - reward_map[1]) / reward_map[0]
    seen, paid = count_transitions(pairs, pair[keep], after[keep], unit, weight[keep])
    initial = np.bincount(state[begins], minlength=pairs.n_states) / begins.sum()
    return Log(pairs, seen, reward_map, initial, len(reward), int((~counted).sum()), reward_range is None, paid)


def _successors(rows: LogColumns, restart: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The state after each row, whether it is known, and the rows with which episodes begin."""
    ends, successor = rows.terminated, rows.successor.copy()
    begins = np.concatenate([[True], ends[:-1]])
    counted = np.ones(len(ends), bool)
    if not ends.any():
        return successor, counted, np.arange(len(ends)) == 0
    if restart is not None:
        wanted = plain_name(restart)
        place = [k for k, name in enumerate(rows.states) if name == wanted or str(name) == wanted]
        if not place:
            raise ValueError(f"restart is {shown(restart)}, which is no state of the log")
        successor[ends] = place[0]
        return successor, counted, begins
    if rows.weight is not None:
        raise ValueError(
            "rows with weights have no order; restart=... says where episodes begin after a terminated row"
        )
    following = np.append(rows.state[1:], -1)
    successor[ends] = following[ends]
    counted[-1] = not ends[-1]
    successor[-1] = max(successor[-1], 0)
    return successor, counted, begins


def _pairs_of(rows: LogColumns, keep: np.ndarray, actions: Any) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """The pairs, the number of each state named and the id of each action named; states never met are left out."""
    met = np.zeros(len(rows.states), bool)
    met[rows.state], met[rows.successor[keep]] = True, True
    names = [name for name, there in zip(rows.states, met.tolist(), strict=True) if there]
    number = np.cumsum(met) - 1
    if isinstance(actions, str):
        choice("actions", actions, ACTIONS)
        plain = all(isinstance(name, int) and 0 <= name <= LARGEST_ID for name in rows.actions)
        ids = np.array(rows.actions if plain else range(len(rows.actions)), np.int64)
        if len(names) * len(ids) > MOST_COMBINATIONS:
            raise ValueError(
                f"{rows.origin.where} has {len(names):,} states and {len(ids):,} actions, too many to combine; is "
                f"{rows.origin.columns['action']!r} the column of actions? (columns=, --column action=NAME)"
            )
        table = np.zeros((len(names), len(ids)), bool)
        table[number[rows.state], rows.action] = True
        table[~table.any(axis=1) | (actions == "all")] = True
        ptr, flat = starts(table.sum(axis=1)), ids[np.nonzero(table)[1]]
        pairs = Pairs(ptr, flat, _state_names(names), None if plain else checked_names("action", rows.actions))
        return pairs, number, ids
    try:
        pairs = pairs_from(names, actions)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("n_actions", "actions")) from None
    pairs = Pairs(pairs.ptr, pairs.action, _state_names(names), pairs.action_names)
    return pairs, number, np.array([pairs.action_number(name) for name in rows.actions], np.int64)


def _state_names(names: list[Any]) -> tuple[Any, ...] | None:
    """None where the names are the numbers 0, 1, ... themselves."""
    return None if names == list(range(len(names))) else checked_names("state", names)


def _range_of(reward: np.ndarray, given: tuple[float, float] | None, origin: Origin) -> tuple[float, float]:
    """(scale, shift) of the rewards: [0, 1] where they lie inside, else their range, or the one given."""
    low, high = float(reward.min()), float(reward.max())
    if given is None:
        return (1.0, 0.0) if low >= 0 and high <= 1 else reward_map_of((low, high if high > low else low + 1.0))
    scale, shift = reward_map_of(given)
    outside = np.flatnonzero((reward < shift - 1e-9 * scale) | (reward > shift + scale * (1 + 1e-9)))
    if len(outside):
        k = int(outside[0])
        what = f"{origin.cell('reward', k)} is {reward[k]:g}"
        raise ValueError(f"{what}, outside reward_range [{given[0]:g}, {given[1]:g}]")
    return scale, shift


def _pair_numbers(pairs: Pairs, state: np.ndarray, action: np.ndarray, rows: LogColumns) -> np.ndarray:
    width = pairs.n_action_ids
    key = pairs.state * width + pairs.action
    wanted = state * width + np.minimum(action, width - 1)
    if pairs.n_states * width <= DIRECT:
        table = np.zeros(pairs.n_states * width, np.int64)
        table[key] = np.arange(len(key))
        place = table[wanted]
    else:
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    bad = np.flatnonzero((key[place] != wanted) | (action >= width))
    if len(bad):
        k = int(bad[0])
        name, played = rows.states[rows.state[k]], rows.actions[rows.action[k]]
        where = f"{rows.origin.prefix}row {rows.origin.row(k)}"
        raise ValueError(f"{where} plays {played!r} in state {name!r}, which actions= does not allow there")
    return place


def count_transitions(
    pairs: Pairs, pair: np.ndarray, successor: np.ndarray, reward: np.ndarray, weight: np.ndarray
) -> tuple[Snapshot, tuple[np.ndarray, np.ndarray]]:
    """Counts of transitions, successors in the order of the empirical profile, and what came with them."""
    unit = np.clip(reward, 0.0, 1.0)
    pair, successor, weight = (np.ascontiguousarray(column, np.int64) for column in (pair, successor, weight))
    (owner, succ, n), came, earned = _tally(pair, successor, unit, weight, pairs.n_pairs)
    order = np.lexsort((-succ, -n, owner))
    owner, succ, n = owner[order], succ[order], n[order]
    ptr = starts(np.bincount(owner, minlength=pairs.n_pairs))
    total = starts(n)
    visits = total[ptr[1:]] - total[ptr[:-1]]
    return Snapshot(ptr, succ.astype(np.int32), n, visits, *earned), (came[0][order], came[1][order])


@kernel
def _tally(
    pair: np.ndarray, successor: np.ndarray, reward: np.ndarray, weight: np.ndarray, n_pairs: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Transitions that differ (pair, successor, count), what came with each and with each pair: sums, of squares too.

    In O(n + M) expected time, for n rows: the numbers of transitions stand in a hash table.
    """
    n, n_found, table = len(pair), 0, np.full(SMALLEST_TABLE, -1)
    owner, succ, count = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    came, came_squares, earned, earned_squares = np.empty(n), np.empty(n), np.zeros(n_pairs), np.zeros(n_pairs)
    for i in range(n):
        k, x, paid, square = pair[i], successor[i], reward[i] * weight[i], reward[i] * reward[i] * weight[i]
        place = _place(table, owner, succ, k, x)
        here = table[place]
        if here < 0:
            here = table[place] = n_found
            n_found += 1
            owner[here], succ[here], count[here] = k, x, 0
            came[here], came_squares[here] = 0.0, 0.0
            if 2 * n_found > len(table):
                table = np.full(4 * len(table), -1)
                for j in range(n_found):
                    table[_place(table, owner, succ, owner[j], succ[j])] = j
        count[here] += weight[i]
        came[here] += paid
        came_squares[here] += square
        earned[k] += paid
        earned_squares[k] += square
    return (
        (owner[:n_found], succ[:n_found], count[:n_found]),
        (came[:n_found], came_squares[:n_found]),
        (earned, earned_squares),
    )


@inlined
def _place(table: np.ndarray, owner: np.ndarray, succ: np.ndarray, k: int, x: int) -> int:
    """Where the transition from pair k to x stands in a table of 2^i places, or may be put."""
    place = (k * PAIR_APART + x * SUCCESSOR_APART) & (len(table) - 1)
    while table[place] >= 0 and (owner[table[place]] != k or succ[table[place]] != x):
        place = (place + 1) & (len(table) - 1)
    return place


def _states(log: Log, states: np.ndarray) -> str:
    names = state_labels(log.pairs, states[:NAMED].tolist())
    shown = ", ".join(map(repr, names)) + (", ..." if len(states) > NAMED else "")
    return f"{counted(len(states), 'state')} ({shown}) {'was' if len(states) == 1 else 'were'}"
