"""What a learner is to the rest of the package: it decides, records, tells, and can be saved. Nothing else is known.

=============  ====================================================================================================
decide         given a state: a policy to play for a *stretch* of steps, and what ends the stretch (one step will do)
record         what happened: the pairs played, what they paid, where it ended; the learner commits it itself
tell           ``measures`` (named numbers for a trace), ``partition`` and ``plan`` where the learner has them
state          arrays and plain values from which ``restore`` makes it go on; what was drawn is not drawn again
=============  ====================================================================================================

A learner is driven in two ways: by ``simulate``, in whole stretches, or one step at a time with ``act`` and
``observe``. Both end in the same ``decide`` and ``record``, so the same transitions give the same decisions.

A learner is not made for several threads: it notices when a second one enters while a call is under way and refuses.
"""

from __future__ import annotations

import copy
import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from equirl.estimation.counts import Counts, Snapshot
from equirl.estimation.given_knowledge import check_path
from equirl.learners.one_thread import InUse
from equirl.learners.rewards import unit_reward
from equirl.learners.stretches import (
    UNLIMITED,
    Limits,
    Stretch,
    is_over,
    pair_played,
    spend,
    spend_path,
    step_limits,
)
from equirl.learners.telling import Telling
from equirl.learners.warm_start import take_over
from equirl.solving.criterion import AVERAGE_REWARD, Criterion
from equirl.structure.partition import Partition
from equirl.words.checking import checked_path, flag

if TYPE_CHECKING:
    from equirl.learners.answers import PolicyGap
    from equirl.learners.recipes import Blueprint
    from equirl.learners.statement_watch import StatementWatch

__all__ = [
    "UNLIMITED", "CountingLearner", "FormedClasses", "Learner", "Limits", "State", "Stretch", "is_over", "pair_played",
    "prefixed", "spend", "step_limits", "unprefixed",
]  # fmt: skip


class FormedClasses(NamedTuple):
    """Classes a learner has formed, and the counts it formed them from."""

    partition: Partition
    seen: Snapshot
    compares_rewards: bool  # whether pairs of one class are meant to have equal mean rewards too


class State(NamedTuple):
    """A learner's state: arrays by name, and values that JSON can hold."""

    arrays: dict[str, np.ndarray]
    values: dict[str, Any]


class Learner(Telling, ABC):
    """A learner. To write one, implement :meth:`decide`, :meth:`record`, :meth:`state` and :meth:`restore`.

    Parameters
    ----------
    blueprint : Blueprint
        Name, pairs, settings, what is given in advance, the seed and the scale of the rewards.
    """

    forms_classes: ClassVar[bool] = False  # whether :meth:`classes` says anything
    unsure_by: ClassVar[str] = "nothing it tells"  # what :meth:`uncertainty` measures, in words
    criterion: Criterion = AVERAGE_REWARD  # what it maximises

    def __init__(self, blueprint: Blueprint) -> None:
        self.name, self.pairs, self.reward_map = blueprint.name, blueprint.pairs, blueprint.reward_map
        self.settings, self.given = blueprint.settings, blueprint.given
        self.t = 1
        self.episode_starts: list[int] = []
        self.n_unconverged = 0
        self.pending: tuple[int, float] | None = None  # a pair whose successor is the state after the restart
        self._busy = threading.Lock()

    # --- the contract

    @abstractmethod
    def decide(self, state: int) -> Stretch:
        """What to play from ``state`` on: the stretch under way if it has not ended there, or a new one."""

    @abstractmethod
    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        """Commit what happened: pairs played in order, their rewards in [0, 1], and the state after the last.

        Must add ``len(path)`` to ``t``.
        """

    @abstractmethod
    def state(self) -> State:
        """Everything that :meth:`restore` needs beside what :class:`Learner` itself keeps."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from a state as if never stopped; nothing is drawn again."""

    def measures(self) -> Mapping[str, float]:
        """Named numbers that describe the learner now, for the curves of a trace. One that it lacks is absent."""
        return {}

    def classes(self) -> FormedClasses | None:
        """The classes in force, with what they were formed from; None where the learner forms none."""
        return None

    def policy_gap(self, state: int, delta: float) -> PolicyGap | None:
        """How good the policy is that it would recommend in ``state`` now; None where the learner cannot tell."""
        return None

    def uncertainty(self) -> np.ndarray | None:
        """(M,) how unsure it is of each pair's transition probabilities, as an L1 distance in [0, 2].

        Half-widths of its confidence sets, or the spread of its draws; None where it does not say.
        """
        return None

    def check_successor(self, pair: int, successor: int) -> None:
        """An error where the learner was given to know that ``pair`` cannot lead there."""

    # --- driving it step by step

    def act(self, state: object) -> int:
        """The action to play in a state.

        Parameters
        ----------
        state : int or str
            Its number or name.

        Returns
        -------
        int
            The id of the action.
        """
        s = self.pairs.state_number(state)
        with self.in_use():
            return int(self.pairs.action[self.choose(s)])

    def choose(self, state: int) -> int:
        """The pair to play in a state; a terminated step that is pending is learned first."""
        self.settle(state)
        stretch = self.decide(state)
        return int(pair_played(stretch, self.pairs.ptr, state, 0))

    def observe(
        self, state: object, action: object, reward: float, next_state: object, terminated: bool = False
    ) -> None:
        """Learn one step. Nothing changes where the input is wrong.

        Parameters
        ----------
        state, action : int or str
            The pair that was played.
        reward : float
            What it paid, on the learner's scale of rewards.
        next_state : int or str
            Where it led.
        terminated : bool
            The process restarts: the successor learned is the state next given to :meth:`act`. After a truncation
            simply go on from the new state: the jump is not a transition and is not learned.
        """
        with self.in_use():
            self.learn(self.read_step(state, action, reward, next_state, terminated))

    def read_step(
        self, state: object, action: object, reward: float, next_state: object, terminated: bool
    ) -> tuple[int, float, int, bool]:
        """A step as :meth:`learn` takes it, all of it checked: pair, reward in [0, 1], successor, whether it ends."""
        pair = self.pairs.index(state, action)
        successor = self.pairs.state_number(next_state)
        value = unit_reward(reward, self.reward_map, self.pairs, pair)
        ends = flag("terminated", terminated)
        if self.pending is not None:
            raise ValueError("after a terminated step, call act(first state of the next episode) before observe")
        if not ends:
            self.check_successor(pair, successor)
        return pair, value, successor, ends

    def learn(self, step: tuple[int, float, int, bool]) -> None:
        """Learn a step that :meth:`read_step` has checked; one that ends an episode is pending until :meth:`settle`."""
        pair, value, successor, ends = step
        if ends:
            self.pending = pair, value
        else:
            self.record_step(pair, value, successor)

    def settle(self, state: int) -> None:
        """Learn a terminated step, if one is pending: the process restarted in ``state``."""
        if self.pending is not None:
            self._learn(*self.pending, state)
            self.pending = None

    def _learn(self, pair: int, reward: float, successor: int) -> None:
        self.check_successor(pair, successor)
        self.record_step(pair, reward, successor)

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        """:meth:`record` for a single step."""
        self.record(np.array([pair]), np.array([reward]), successor)

    def start_from(self, seen: Snapshot) -> None:
        """Start from counts of the learner's own pairs, such as those of a log (:meth:`equirl.Log.agent`)."""
        raise TypeError(f"{self.name!r} cannot start from counts: its class has no start_from of its own")

    def in_use(self) -> InUse:
        """Inside, another thread that wants to decide or learn is refused."""
        return InUse(self.name, self._busy)

    # --- keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything, generators included; ``equirl.load_agent`` restores it.

        Parameters
        ----------
        path : path
            The file, usually ``.npz``; written aside and renamed.
        """
        from equirl.keeping.saving import save_agent

        save_agent(self, checked_path("path", path))

    def copy(self) -> Self:
        """An independent twin in the same state, random generators included."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_busy"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._busy = threading.Lock()


class CountingLearner(Learner):
    """A learner that keeps counts of all it has seen; what is left to implement is :meth:`decide`."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self.counts = Counts(self.pairs.n_pairs)
        self.limits: Limits | None = None  # of the stretch under way
        self.watch_at = 1 if self.given.stated and self.given.classes is not None else math.inf
        self.watched: StatementWatch | None = None  # what was stated, tested from time ``watch_at`` on

    def watch_statement(self) -> None:
        """Test structure that a user stated against what was seen, where it is time to; call it before deciding."""
        if self.t >= self.watch_at:
            from equirl.learners.statement_watch import StatementWatch

            self.watched = self.watched or StatementWatch(self)
            self.watch_at = self.watched.look(self)

    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        """Count the steps of a path and spend the limits of the stretch under way."""
        check_path(self.given, self.pairs, path, final)
        self.counts.record_path(path, rewards, final, self.pairs.state)
        self.t += len(path)
        if self.limits is not None:
            spend_path(path, self.limits)

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        """Count one step."""
        self.counts.record(pair, reward, successor)
        self.t += 1
        if self.limits is not None:
            spend(pair, self.limits)

    def start_from(self, seen: Snapshot) -> None:
        """Take over counts, as if these steps had been recorded; what else is to be known of them follows from them."""
        take_over(self, seen)

    def state(self) -> State:
        """The counts and the limits of the stretch under way."""
        arrays = prefixed("now", self.counts.snapshot())
        if self.limits is not None:
            arrays |= prefixed("limits", self.limits)
        return State(arrays, {})

    def restore(self, state: State) -> None:
        """Counts and limits as they were."""
        self.counts = Counts.restore(unprefixed("now", Snapshot, state.arrays))
        self.limits = unprefixed("limits", Limits, state.arrays) if "limits_label" in state.arrays else None


def prefixed(prefix: str, values: Any) -> dict[str, np.ndarray]:
    """The arrays of a named tuple under names of their own."""
    return {f"{prefix}_{name}": array for name, array in values._asdict().items()}


def unprefixed(prefix: str, kind: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The named tuple whose arrays :func:`prefixed` named."""
    return kind(*(arrays[f"{prefix}_{name}"] for name in kind._fields))
