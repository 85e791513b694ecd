"""What an agent is to the rest of the package: it decides, records, answers questions, and can be saved.

=============  ====================================================================================================
decide         given a state: a policy to play for a *stretch* of steps, and what ends the stretch (one step will do)
record         what happened: the pairs played, what they paid, where it ended; the agent commits it itself
state          arrays and plain values from which ``restore`` makes it go on; what was drawn is not drawn again
beliefs        an object that answers questions (:class:`equirl.learners.Beliefs`); what an agent cannot say is said so
=============  ====================================================================================================

An agent is driven in two ways: by ``simulate``, in whole stretches, or one step at a time with ``act`` and
``observe``. Both end in the same ``decide`` and ``record``, so the same transitions give the same decisions. A policy
inside the package is a pair per state; what users are shown (``beliefs``, ``Trace``) is an action id per state.
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
from equirl.estimation.given_knowledge import check_in_profile, check_path
from equirl.learners.beliefs import Beliefs, CountedBeliefs
from equirl.model.dynamics import Chances, Dynamics
from equirl.model.pairs import Pairs
from equirl.numerics.arrays import frozen, owners
from equirl.numerics.compiling import lean_kernel
from equirl.solving.optimal_gain import AVERAGE_REWARD, Criterion
from equirl.words.answer_units import ByName, ByNumber
from equirl.words.checking import checked_path, flag, whole_number
from equirl.words.formatting import shown
from equirl.words.tables import card

if TYPE_CHECKING:
    from equirl.learners.recipes import Blueprint
    from equirl.learners.refuted_structure import StructureWatch

UNLIMITED = np.iinfo(np.int64).max // 2
OVERRUN = 4  # the steps that must still be played, over this: by how much a pair may exceed its own limit


# --- stretches: simulation plays one in a compiled loop; driven step by step, the same limits are spent one by one


class Limits(NamedTuple):
    """What ends a stretch: visits left by pair and by group of pairs, and steps left. Spent as the stretch goes.

    A stretch ends *before* a step that would exceed one of them, but not before ``grace[0]`` steps are played; a pair
    may exceed its own limit by a quarter of those still to be played, then it ends all the same.
    """

    label: np.ndarray  # (M,) int64: the group of each pair; empty where there are no limits by pair and group
    pair_left: np.ndarray  # (M,) int64
    group_left: np.ndarray  # (groups,) int64
    grace: np.ndarray  # (2,) int64: steps to play whatever limit is reached, and whether one is
    steps: np.ndarray  # (1,) int64


class Stretch(NamedTuple):
    """What to do until the limits end it: a pair per state or, where ``draws`` are given, one drawn per step."""

    policy: np.ndarray  # (S,) int64; not read where there are draws
    limits: Limits
    draws: np.ndarray = np.zeros(0)  # uniform numbers in [0, 1), one per step: play uniformly at random


def step_limits(steps: int = UNLIMITED) -> Limits:
    """Limits of a stretch that nothing but a number of steps ends.

    Parameters
    ----------
    steps : int
        How many; without a number the stretch never ends.

    Examples
    --------
    >>> step_limits(1).steps
    array([1])
    """
    none, most = np.zeros(0, np.int64), whole_number("steps", steps, least=0, most=UNLIMITED)
    return Limits(none, none, none, np.zeros(2, np.int64), np.array([most], np.int64))


def pair_limits(left: np.ndarray) -> Limits:
    """Limits of a stretch that ends before a pair is played more often than it may be.

    Parameters
    ----------
    left : array of int, (M,)
        Visits that each pair has left.

    Examples
    --------
    >>> is_over(0, pair_limits([1, 5])), is_over(0, pair_limits([0, 5]))
    (False, True)
    """
    pair_left = frozen("left", left, np.int64).copy()
    if pair_left.ndim != 1:
        raise ValueError(f"left must have one entry per pair, not shape {pair_left.shape}")
    label, unlimited = np.zeros(len(pair_left), np.int64), np.array([UNLIMITED])
    return Limits(label, pair_left, unlimited, np.zeros(2, np.int64), unlimited.copy())


@lean_kernel
def is_over(pair: int, limits: Limits) -> bool:
    """Whether a stretch ends before a pair is played; notes in ``limits.grace[1]`` that a limit was reached.

    Parameters
    ----------
    pair : int
        Its number.
    limits : Limits
        Of the stretch, as far as they are spent.

    Examples
    --------
    >>> is_over(0, step_limits(1)), is_over(0, step_limits(0))
    (False, True)
    """
    if limits.steps[0] <= 0 or (
        len(limits.label) > 0 and (limits.pair_left[pair] <= 0 or limits.group_left[limits.label[pair]] <= 0)
    ):
        limits.grace[1] = 1
    if limits.grace[1] == 0:
        return False
    overrun = -limits.pair_left[pair] if len(limits.label) > 0 else 0
    return limits.grace[0] <= 0 or overrun > limits.grace[0] // OVERRUN


@lean_kernel
def spend(pair: int, limits: Limits) -> None:
    limits.steps[0] -= 1
    if len(limits.label) > 0:
        limits.pair_left[pair] -= 1
        limits.group_left[limits.label[pair]] -= 1
    limits.grace[0] -= 1


@lean_kernel
def spend_path(path: np.ndarray, limits: Limits) -> None:
    """Take the visits of a path off the limits, noting on the way when they are reached."""
    for i in range(len(path)):
        is_over(path[i], limits)
        spend(path[i], limits)


def pair_played(stretch: Stretch, pair_ptr: np.ndarray, state: int, step: int) -> int:
    """The pair that a stretch plays in ``state`` at its ``step``-th step; plain, for Python asks it step by step."""
    if len(stretch.draws) == 0:
        return stretch.policy[state]
    return pair_ptr[state] + int(stretch.draws[step] * (pair_ptr[state + 1] - pair_ptr[state]))


# --- agents


class State(NamedTuple):
    """An agent's state: arrays by name, and values that JSON can hold."""

    arrays: dict[str, np.ndarray]
    values: dict[str, Any]


class Learner(ABC):
    """An agent. To write one, implement :meth:`decide`, :meth:`record`, :meth:`state` and :meth:`restore`.

    Parameters
    ----------
    blueprint : Blueprint
        Name, pairs, settings, what is given in advance, the seed and the scale of the rewards.

    Attributes
    ----------
    name : str
        Under which it is registered.
    pairs : Pairs
        The states and their actions.
    settings : Settings
        Of its parts.
    given : Given
        What it is given in advance: classes, profiles, mean rewards.
    reward_map : tuple of float
        Scale and shift: rewards from ``shift`` to ``shift + scale`` are learned as numbers in [0, 1].
    criterion : Criterion
        What it maximises.
    t : int
        Its time: one more than the steps learned.
    own_loop : bool
        Whether :meth:`play_steps` plays anything.
    """

    criterion: Criterion = AVERAGE_REWARD
    own_loop: ClassVar[bool] = False

    def __init__(self, blueprint: Blueprint) -> None:
        self.name, self.pairs, self.reward_map = blueprint.name, blueprint.pairs, blueprint.reward_map
        self.settings, self.given = blueprint.settings, blueprint.given
        self.t = 1
        self.episode_starts: list[int] = []  # when it planned
        self.n_unconverged = 0  # plans that hit their cap
        self.pending: tuple[int, float] | None = None  # a pair whose successor is the state after the restart
        self._busy = threading.Lock()

    # --- the contract

    @abstractmethod
    def decide(self, state: int) -> Stretch:
        """What to play from a state on: the stretch under way if it has not ended there, or a new one."""

    @abstractmethod
    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        """Commit what happened; must add ``len(path)`` to ``t``.

        Parameters
        ----------
        path : array of int
            The pairs played, in order.
        rewards : array of float
            What they paid, in [0, 1].
        final : int
            The state after the last.
        """

    @abstractmethod
    def state(self) -> State:
        """Everything that :meth:`restore` needs beside what :class:`Learner` itself keeps."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from what :meth:`state` gave, as if never stopped; nothing is drawn again."""

    @property
    def beliefs(self) -> Beliefs:
        """What it believes: an object that answers questions; asking changes nothing."""
        return Beliefs(self)

    # --- what an agent may say of itself beside that

    def play_steps(
        self, world: Dynamics, state: int, chances: Chances, path: np.ndarray, rewards: np.ndarray
    ) -> tuple[int, int]:
        """Play and record steps in a compiled loop, just as :meth:`decide` and :meth:`record` would one by one.

        For an agent with ``own_loop``, which decides anew at every step.

        Parameters
        ----------
        world : Dynamics
            What is played.
        state : int
            Where it stands.
        chances : Chances
            The world's random numbers, one per step.
        path, rewards : arrays to write to, at least as long
            The pairs played and what they paid.

        Returns
        -------
        steps, state : tuple of int
            How many steps were played, and where they led. Where there are none, the next is decided and recorded.
        """
        return 0, state

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        """:meth:`record` of a single step."""
        self.record(np.array([pair]), np.array([reward]), successor)

    def check_successor(self, pair: int, successor: int) -> None:
        """An error where the profiles given leave the successor out."""
        check_in_profile(self.given, self.pairs, pair, successor)

    def start_from(self, seen: Snapshot) -> None:
        """Start from counts of the agent's own pairs, such as those of a log (:meth:`equirl.Log.agent`)."""
        raise TypeError(f"{self.name!r} cannot start from counts: its class has no start_from of its own")

    # --- driving it step by step

    def act(self, state: object) -> ByName[Any]:
        """The action to play in a state, by name where actions have names; :meth:`act_id` gives its number."""
        action, names = self.act_id(state), self.pairs.action_names
        return action if names is None else names[action]

    def act_id(self, state: object) -> ByNumber[int]:
        """The id of the action to play in a state, which is given by number or name."""
        s = self.pairs.state_number(state)
        with InUse(self):
            return int(self.pairs.action[choose_pair(self, s)])

    def observe(
        self, state: object, action: object, reward: float, next_state: object, terminated: bool = False
    ) -> None:
        """Learn one step. Nothing changes where the input is wrong.

        Parameters
        ----------
        state, action : int or str
            The pair that was played.
        reward : float
            What it paid, on the agent's scale of rewards.
        next_state : int or str
            Where it led.
        terminated : bool
            The process restarts: the successor learned is the state next given to :meth:`act`. After a truncation
            simply go on from the new state: the jump is not a transition and is not learned.
        """
        with InUse(self):
            learn_step(self, read_step(self, state, action, reward, next_state, terminated))

    @property
    def n_episodes(self) -> int:
        """How many plans were made so far."""
        return len(self.episode_starts)

    # --- keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything, generators included, in a file (``.npz``); ``equirl.load_agent`` restores it."""
        from equirl.keeping.saving import save_agent

        save_agent(self, checked_path("path", path))

    def copy(self) -> Self:
        """An independent twin in the same state, random generators included."""
        return copy.deepcopy(self)

    def silent_copy(self) -> Self:
        """A twin to ask what it would do: it warns of nothing that the agent itself will warn of."""
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_busy"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._busy = threading.Lock()

    def _repr_html_(self) -> str:
        facts = {
            "steps learned": f"{self.t - 1:,}", "plans made": f"{self.n_episodes:,}", "states": self.pairs.n_states,
            "pairs": self.pairs.n_pairs, "given": ", ".join(sorted(self.given.names)) or None,
        }  # fmt: skip
        return card(f"Learner {self.name}", {**facts, **self.settings.as_dict()})

    def __repr__(self) -> str:
        return f"<{self.name}: t={self.t}, {self.n_episodes} episodes, S={self.pairs.n_states}, M={self.pairs.n_pairs}>"


class CountingLearner(Learner):
    """An agent that counts all it has seen; what is left to implement is :meth:`decide`.

    Attributes
    ----------
    counts : Counts
        Visits, rewards and successors of each pair.
    limits : Limits or None
        Of the stretch under way, spent as steps are recorded.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self.counts = Counts(self.pairs.n_pairs)
        self.limits: Limits | None = None
        self._watch_at = 1 if self.given.refutable and self.given.classes is not None else math.inf
        self._watch: StructureWatch | None = None

    @property
    def beliefs(self) -> CountedBeliefs:
        return CountedBeliefs(self)

    def test_structure(self) -> None:
        """Test structure that a user gave against what was seen, where it is time to; call it before deciding."""
        if self.t >= self._watch_at:
            from equirl.learners.refuted_structure import StructureWatch

            self._watch = self._watch or StructureWatch(self)
            self._watch_at = self._watch.look(self)

    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        check_path(self.given, self.pairs, path, final)
        self.counts.record_path(path, rewards, final, self.pairs.state)
        self.t += len(path)
        if self.limits is not None:
            spend_path(path, self.limits)

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        self.counts.record(pair, reward, successor)
        self.t += 1
        if self.limits is not None:
            spend(pair, self.limits)

    def start_from(self, seen: Snapshot) -> None:
        """Take over counts, as if these steps had been recorded; what else is to be known of them follows from them."""
        if self.t != 1:
            raise ValueError(f"{self!r} has learned already; only a new learner starts from counts")
        if len(seen.visits) != self.pairs.n_pairs:
            raise ValueError(f"the counts are of {len(seen.visits)} pairs; {self.name!r} has {self.pairs.n_pairs}")
        if self.given.profiles is not None:
            for pair, successor in zip(owners(seen.ptr).tolist(), seen.succ.tolist(), strict=True):
                self.check_successor(pair, successor)
        self.counts = Counts.restore(seen)
        self.t = 1 + int(seen.visits.sum())

    def silent_copy(self) -> Self:
        twin = self.copy()
        twin._watch_at = math.inf
        return twin

    def state(self) -> State:
        arrays = prefixed("now", self.counts.snapshot())
        if self.limits is not None:
            arrays |= prefixed("limits", self.limits)
        return State(arrays, {})

    def restore(self, state: State) -> None:
        self.counts = Counts.restore(unprefixed("now", Snapshot, state.arrays))
        self.limits = unprefixed("limits", Limits, state.arrays) if "limits_label" in state.arrays else None


def prefixed(prefix: str, values: Any) -> dict[str, np.ndarray]:
    return {f"{prefix}_{name}": array for name, array in values._asdict().items()}


def unprefixed(prefix: str, kind: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    return kind(*(arrays[f"{prefix}_{name}"] for name in kind._fields))


def checked_choice(chosen: Any, pairs: Pairs) -> tuple[int, int] | None:
    """A state and the pair decided there, as they were saved; an error where the pair is none of the state's."""
    if chosen is None:
        return None
    s, k = (int(number) for number in chosen)
    if not 0 <= s < pairs.n_states or not pairs.ptr[s] <= k < pairs.ptr[s + 1]:
        raise ValueError("the pair decided is not one of its state")
    return s, k


# --- single steps


class Step(NamedTuple):
    pair: int
    reward: float  # in [0, 1]
    successor: int
    ends: bool  # the process restarts: the successor is the state that it restarts in


class InUse:
    """A context in which one thread alone uses an agent; a second is refused."""

    def __init__(self, agent: Learner) -> None:
        self.name, self.busy = agent.name, agent._busy

    def __enter__(self) -> None:
        if not self.busy.acquire(blocking=False):
            raise RuntimeError(
                f"{self.name!r} is in use by another thread; a learner serves one thread at a time (use a lock of "
                "your own around act and observe, or agent.copy())"
            )

    def __exit__(self, *error: object) -> None:
        self.busy.release()


def choose_pair(agent: Learner, state: int) -> int:
    """The pair to play in a state; a terminated step that is pending is learned first."""
    settle(agent, state)
    return int(pair_played(agent.decide(state), agent.pairs.ptr, state, 0))


def read_step(
    agent: Learner, state: object, action: object, reward: float, next_state: object, terminated: bool
) -> Step:
    """A step as :func:`learn_step` takes it, all of it checked; the agent is not changed."""
    pair = agent.pairs.index(state, action)
    successor = agent.pairs.state_number(next_state)
    value = unit_reward(reward, agent.reward_map, agent.pairs, pair)
    ends = flag("terminated", terminated)
    if agent.pending is not None:
        raise ValueError("after a terminated step, call act(first state of the next episode) before observe")
    if not ends:
        agent.check_successor(pair, successor)
    return Step(pair, value, successor, ends)


def learn_step(agent: Learner, step: Step) -> None:
    """Learn a step; one that ends an episode is pending until :func:`settle`."""
    if step.ends:
        agent.pending = step.pair, step.reward
    else:
        agent.record_step(step.pair, step.reward, step.successor)


def settle(agent: Learner, state: int) -> None:
    """Learn a terminated step, if one is pending: the process restarted in ``state``."""
    if agent.pending is not None:
        pair, reward = agent.pending
        agent.check_successor(pair, state)
        agent.record_step(pair, reward, state)
        agent.pending = None


def unit_reward(reward: Any, reward_map: tuple[float, float], pairs: Pairs, pair: int) -> float:
    """A reward of ``pair`` on the scale [shift, shift + scale] as a number in [0, 1].

    >>> unit_reward(5, (20.0, -10.0), Pairs.uniform(1, 1), 0)
    0.75
    """
    scale, shift = reward_map
    try:
        if isinstance(reward, str):
            raise TypeError  # "0.5" is no number, though float() would read it
        value = (float(reward) - shift) / scale
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"the reward of ({pairs.describe(pair)}) is {shown(reward)}, not a number") from None
    if not -1e-12 <= value <= 1 + 1e-12:  # NaN fails too
        raise ValueError(
            f"the reward of ({pairs.describe(pair)}) is {shown(reward)}, outside [{shift:g}, {shift + scale:g}]; "
            "give reward_range=(low, high) for rewards on another scale"
        )
    return min(max(value, 0.0), 1.0)
