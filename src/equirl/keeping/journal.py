"""An agent in production: every step it learns is in a journal on disk before it counts.

After a crash at any moment the folder opens to the agent as it was, bit for bit, and it decides as if nothing had
happened: the newest snapshot is loaded, and the records since are played again (``journal_recovery.py``). Files and
their format: ``journal_files.py``.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from equirl.estimation.given_knowledge import KINDS
from equirl.files.durable import FolderLock
from equirl.keeping.journal_files import ACT, OBSERVE, TERMINATED, JournalFolder, SegmentWriter, is_whole
from equirl.keeping.journal_recovery import Recovered, Transition, recover
from equirl.keeping.saving import load_agent
from equirl.learners.beliefs import Beliefs
from equirl.learners.contract import InUse, Learner, choose_pair, learn_step, read_step
from equirl.learners.learner_registry import make_agent
from equirl.model.pairs import action_labels, state_labels
from equirl.words.answer_units import ByName, ByNumber, InUnits
from equirl.words.checking import choice, flag, warn_caller, whole_number

Sync = Literal["always", "second", "os"] | int
_SAY_WHICH = "to begin one, say which learner: open_agent(folder, 'c-psrl', n_states=..., n_actions=...)"


def open_agent(
    folder: str | os.PathLike[str],
    agent: Learner | str | None = None,
    *,
    sync: Sync = "second",
    snapshot_every: int = 20_000,
    archive: bool = False,
    strict: bool = True,
    **making: Any,
) -> JournalledAgent:
    """Open a folder that keeps an agent through crashes, or begin one.

    Every ``observe`` is appended to a journal, with a checksum, before it counts. A process that is killed at any
    moment loses nothing that ``observe`` has returned from, whatever ``sync`` says; ``sync`` is about the machine
    losing power. Opened again, the agent is as it was, bit for bit. Close it, or use it in a ``with`` statement.

    Parameters
    ----------
    folder : path
        Where it is kept; made where it is absent. One at a time may have it open (:class:`equirl.files.FolderInUse`).
    agent : str or Learner, optional
        Which agent to begin with: a name, with the keywords of :func:`equirl.make_agent`, or an agent from
        ``make_agent``, ``agent_for`` or ``load_agent``, which is copied. Where the folder has one already it must be
        the same, and may be left out.
    sync : "always", "second", "os" or int, default "second"
        When records are forced to disk: before every ``observe`` returns (some milliseconds each); in the first
        ``observe`` after a second has passed; when the operating system likes (often within half a minute); or in
        every n-th ``observe``. ``agent.sync()`` does it at once.
    snapshot_every : int, default 20,000
        Records (calls of ``act`` and ``observe``) after which the agent is saved whole and a new file of the journal
        begun; so many at most are played again when the folder is opened after a crash.
    archive : bool, default False
        Keep all records, for :func:`equirl.keeping.read_journal`; 64 bytes a step. Otherwise those before the last two
        snapshots are removed.
    strict : bool, default True
        Refuse what cannot be as it was (:class:`equirl.files.DamagedFile`): damage with whole records behind it, or
        records that, played again, give other decisions. With False it goes on from what can be had, warns, and sets
        damaged files aside.
    **making
        Keywords of :func:`equirl.make_agent`, where ``agent`` is a name: ``n_states``, ``n_actions``, ``seed``,
        settings.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open_agent(folder, "ucrl2-l", n_states=3, n_actions=2) as agent:
    ...     action = agent.act(0)
    ...     agent.observe(0, action, 0.5, 1)
    >>> with open_agent(folder) as agent:
    ...     agent.n_observed, agent.last.next_state
    (1, 1)
    """
    begin_with = _given(agent, making)
    whole_number("snapshot_every", snapshot_every)
    flag("archive", archive)
    flag("strict", strict)
    rule = SyncRule(sync)
    place = Path(folder)
    if begin_with is None and not place.is_dir():
        raise ValueError(f"there is no folder {place}; {_SAY_WHICH}")
    lock = FolderLock(place)
    try:
        files = JournalFolder(place)
        files.sweep()
        first = _begin(files, begin_with)
        if first is not None and begin_with is not None:
            _check_same(place, differences(first, begin_with))
        recovered = recover(files, strict)
        if first is None and begin_with is not None:
            _check_same(place, differences(recovered.agent, begin_with, past=False))
        return JournalledAgent(files, lock, recovered, rule, snapshot_every, archive)
    except BaseException:
        lock.release()
        raise


def _given(agent: Learner | str | None, making: dict[str, Any]) -> Learner | None:
    if isinstance(agent, str):
        return make_agent(agent, **making)
    if making:
        raise TypeError(f"{', '.join(making)}: only with the name of a learner; give the name, or a learner made so")
    if agent is not None and not isinstance(agent, Learner):
        raise TypeError(f"agent must be a name or an agent (make_agent, agent_for, load_agent), not {agent!r}")
    return None if agent is None else agent.copy()


def _begin(files: JournalFolder, begin_with: Learner | None) -> Learner | None:
    """The agent as the folder was begun, or is now, with it; None where its first snapshot is not to be had."""
    snapshots = files.snapshots()
    if not snapshots and not files.segments():
        if begin_with is None:
            raise ValueError(f"{files.path} holds no learner yet; {_SAY_WHICH}")
        if begin_with.pairs.n_action_ids > np.iinfo(np.int32).max:
            raise ValueError(f"action {begin_with.pairs.n_action_ids - 1} is too large a number for a journal")
        files.save_snapshot(begin_with, 0)
        return begin_with
    if begin_with is not None and snapshots and snapshots[0].at == 0 and is_whole(snapshots[0]):
        return load_agent(snapshots[0].path)
    return None


def _check_same(place: Path, found: list[str]) -> None:
    if found:
        raise ValueError(
            f"{place} was begun with another learner than the one given: {'; '.join(found)}. Open it without naming a "
            "learner, or begin a new folder"
        )


class JournalledAgent:
    """An agent whose folder is open; made by :func:`open_agent`. It acts and observes as the agent does.

    A call that raises an error has not counted. One that was stopped half-way, by Ctrl-C or by a fault of the
    learner's own, leaves an agent that is neither here nor there: it then refuses further calls, and the folder,
    opened again, has it as it was before that call.
    """

    def __init__(
        self, folder: JournalFolder, lock: FolderLock, recovered: Recovered, sync: SyncRule, snapshot_every: int,
        archive: bool,
    ) -> None:  # fmt: skip
        self.agent = recovered.agent
        self._last: Transition | None = None
        self._awaiting: tuple[int, int] | None = None
        self._folder, self._lock = folder, lock
        self._sync_rule = sync
        self._snapshot_every, self._archive = snapshot_every, archive
        self._snapshot_at = self._tried_at = recovered.at
        self._whole = self._open = True
        self._started = recovered.started
        self._segment = self._resume(recovered)
        self._t = self.agent.t

    def _resume(self, recovered: Recovered) -> SegmentWriter:
        """The file to go on with, and what it tells beside the agent."""
        content = recovered.content
        if content is None:
            return self._folder.begin_segment(recovered.end, self._about())
        about = content.header.about
        self._last = None if about["last"] is None else Transition(*about["last"])
        self._awaiting = None if about["awaiting"] is None else tuple(about["awaiting"])
        observed = np.flatnonzero(content.records["kind"] != ACT)
        for record in content.records[observed[-1] if len(observed) else 0 :]:
            self._note(*(record[name].item() for name in ("kind", "state", "action", "next_state", "reward")))
        path = self._folder.segment_path(content.header.first)
        return SegmentWriter(path, content.header, content.start, len(content.records))

    # --- driving it

    def act(self, state: object) -> ByName[Any]:
        """The action to play in a state, as :meth:`Learner.act` gives it; the decision is in the journal."""
        return action_labels(self.agent.pairs, [self.act_id(state)])[0]

    def act_id(self, state: object) -> ByNumber[int]:
        """The id of that action, as :meth:`Learner.act_id` gives it."""
        agent = self.agent
        s = agent.pairs.state_number(state)
        with self._usable():
            before = self._begin()
            if agent.pending is not None:
                agent.check_successor(agent.pending[0], s)
            self._whole = False
            try:
                action = int(agent.pairs.action[choose_pair(agent, s)])
                self._segment.append(ACT, s, action)
                self._counts(ACT, s, action, 0, 0.0)
            except BaseException:
                self._take_back(before)
                raise
        return action

    def observe(
        self, state: object, action: object, reward: float, next_state: object, terminated: bool = False
    ) -> None:
        """Learn one step, as :meth:`Learner.observe` does; when it returns, the step is in the journal."""
        agent = self.agent
        with self._usable():
            before = self._begin()
            step = read_step(agent, state, action, reward, next_state, terminated)
            kind = TERMINATED if step.ends else OBSERVE
            s, a = int(agent.pairs.state[step.pair]), int(agent.pairs.action[step.pair])
            record = kind, s, a, step.successor, float(reward)
            try:
                self._segment.append(*record)
                self._whole = False
                if self._sync_rule.is_due():
                    self.sync()
                learn_step(agent, step)
                self._counts(*record)
            except BaseException:
                self._take_back(before)
                raise

    def _usable(self) -> InUse:
        """Inside, the agent may be changed: it is open, whole, this process's, and no other thread's."""
        self._check()
        return InUse(self.agent)

    def _begin(self) -> int:
        """Make a snapshot where one is due; how many records there are."""
        if self._segment.end - self._tried_at >= self._snapshot_every:
            self._snapshot_or_warn()
        return self._segment.n_records

    def _take_back(self, before: int) -> None:
        """A call that fails leaves no record."""
        if self._segment.n_records > before:
            with contextlib.suppress(OSError):
                self._segment.take_back()

    def _counts(self, kind: int, state: int, action: int, next_state: int, reward: float) -> None:
        self._note(kind, state, action, next_state, reward)
        self._t = self.agent.t
        self._whole = True

    def _note(self, kind: int, state: int, action: int, next_state: int, reward: float) -> None:
        if kind == ACT:
            self._awaiting = state, action
        else:
            self._last, self._awaiting = Transition(state, action, reward, next_state, kind == TERMINATED), None

    @property
    def last(self) -> InUnits[ByName[Transition | None]]:
        """The step observed last, by name where there are names; None before the first."""
        if self._last is None:
            return None
        step, pairs = self._last, self.agent.pairs
        state, following = state_labels(pairs, [step.state, step.next_state])
        return step._replace(state=state, action=action_labels(pairs, [step.action])[0], next_state=following)

    @property
    def awaiting(self) -> ByName[tuple[Any, Any] | None]:
        """The state and action decided last, by name where there are names, whose outcome was not observed yet."""
        if self._awaiting is None:
            return None
        (state, action), pairs = self._awaiting, self.agent.pairs
        return state_labels(pairs, [state])[0], action_labels(pairs, [action])[0]

    def sync(self) -> None:
        """Force everything to disk now, whatever the setting."""
        self._segment.force()
        self._sync_rule.start()

    def _check(self) -> None:
        where = self._folder.path
        if not self._open:
            raise ValueError(f"{where} is closed; open it again with equirl.open_agent")
        if os.getpid() != self._lock.owner:
            raise RuntimeError(f"{where} was opened by process {self._lock.owner}; a forked process must not use it")
        if not self._whole:
            raise RuntimeError(f"a call was stopped half-way, so the learner is not to be trusted; open {where} again")
        if self.agent.t != self._t:
            raise RuntimeError(f"the learner of {where} was taught beside its journal; open the folder again")

    # --- snapshots

    def snapshot(self) -> None:
        """Save the agent whole; the journal starts a new file, and what is no longer needed is removed."""
        with self._usable():
            self._snapshot()

    def _snapshot(self) -> None:
        at = self._segment.end
        if at == self._snapshot_at:
            return
        self.sync()
        self._folder.save_snapshot(self.agent, at)
        self._snapshot_at = self._tried_at = at
        if at == self._segment.header.first:
            return
        self._whole = False
        try:
            following = self._folder.begin_segment(at, self._about())
        except OSError:
            self._whole = not self._folder.segment_path(at).exists()  # if so, the file before it simply goes on
            raise
        self._segment.seal()
        self._segment = following
        self._whole = True
        self._folder.prune(self._archive)

    def _snapshot_or_warn(self) -> None:
        try:
            self._snapshot()
        except Exception as error:  # also where a learner of one's own cannot say its state
            if not self._whole:
                raise
            self._tried_at = self._segment.end
            warn_caller(f"no snapshot was made, the journal goes on without: {error}", RuntimeWarning)

    def _about(self) -> dict[str, Any]:
        agent = self.agent
        return {
            "learner": agent.name, "settings": agent.settings.as_dict(), "state_names": agent.pairs.state_names,
            "action_names": agent.pairs.action_names, "equirl": version("equirl"), "numpy": np.__version__,
            "started": self._started, "observed": self.n_observed, "last": self._last, "awaiting": self._awaiting,
        }  # fmt: skip

    # --- asking

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return self._folder.path

    @property
    def n_observed(self) -> int:
        """How many steps were observed since the folder was begun. A service may compare it with its own count."""
        return self.agent.t - self._started + (self.agent.pending is not None)

    @property
    def n_records(self) -> int:
        """How many calls of act and observe the journal has recorded since the folder was begun."""
        return self._segment.end

    @property
    def name(self) -> str:
        """The name under which the agent is registered."""
        return self.agent.name

    @property
    def t(self) -> int:
        """The agent's time: one more than the steps learned."""
        return self.agent.t

    @property
    def beliefs(self) -> Beliefs:
        """What it believes: an object that answers questions; asking changes nothing."""
        return self.agent.beliefs

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the agent to a file of its own, which ``equirl.load_agent`` restores."""
        self.agent.save(path)

    def copy(self) -> Learner:
        """An independent twin of the agent, without a journal."""
        return self.agent.copy()

    def __repr__(self) -> str:
        state = "" if self._open else ", closed"
        return f"<{self.folder}: {self.n_observed} observed{state}; {self.agent!r}>"

    # --- closing

    def close(self) -> None:
        """Snapshot, and let others open the folder. Without it nothing is lost; the next opening takes longer."""
        if not self._open or os.getpid() != self._lock.owner:
            return
        with InUse(self.agent):
            self._open = False
            try:
                if self._whole and self.agent.t == self._t:
                    self._snapshot()
            finally:
                self._segment.close()
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# --- whether two agents are the same: made alike, given the same, with the same past


def differences(one: Learner, other: Learner, past: bool = True) -> list[str]:
    """In what two agents differ, each as "what: of one, of the other".

    >>> differences(make_agent("ucrl2-l", 3, 2), make_agent("ucrl2-l", 3, 2, delta=0.1))
    ['delta: 0.05, 0.1']
    """
    found = list(_in_making(one, other))
    return found or (list(_in_state(one, other)) if past else [])


def _in_making(one: Learner, other: Learner) -> Iterator[str]:
    if one.name != other.name:
        yield f"learner: {one.name!r}, {other.name!r}"
        return
    mine, yours = one.settings.as_dict(), other.settings.as_dict()
    for key in mine | yours:
        if mine.get(key) != yours.get(key):
            yield f"{key}: {mine.get(key)!r}, {yours.get(key)!r}"
    if one.pairs != other.pairs:
        if one.pairs.n_states != other.pairs.n_states:
            yield f"n_states: {one.pairs.n_states}, {other.pairs.n_states}"
        elif one.pairs.n_pairs != other.pairs.n_pairs:
            yield f"pairs of states and actions: {one.pairs.n_pairs}, {other.pairs.n_pairs}"
        else:
            yield "the actions of the states, or the names: not the same"
    if tuple(one.reward_map) != tuple(other.reward_map):
        (a, b), (c, d) = one.reward_map, other.reward_map
        yield f"reward_range: ({b:g}, {a + b:g}), ({d:g}, {c + d:g})"
    yield from _in_given(one, other)


def _in_given(one: Learner, other: Learner) -> Iterator[str]:
    for what in (*KINDS, "tolerance"):
        mine, yours = getattr(one.given, what), getattr(other.given, what)
        if (mine is None) != (yours is None):
            yield f"{what}: {'none' if mine is None else 'some'}, {'none' if yours is None else 'some'}"
        elif mine is not None:
            arrays = [
                value if isinstance(value, tuple) else (getattr(value, "label", value),) for value in (mine, yours)
            ]
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*arrays, strict=True)):
                yield f"{what}: not the same"


def _in_state(one: Learner, other: Learner) -> Iterator[str]:
    if one.t != other.t:
        yield f"steps learned: {one.t - 1}, {other.t - 1}"
        return
    mine, yours = one.state(), other.state()
    same = mine.arrays.keys() == yours.arrays.keys() and all(
        np.array_equal(array, yours.arrays[name], equal_nan=array.dtype.kind == "f")
        for name, array in mine.arrays.items()
    )
    outer = [
        json.dumps([agent.pending, agent.episode_starts, agent.n_unconverged, state.values], sort_keys=True)
        for agent, state in ((one, mine), (other, yours))
    ]
    if not same or outer[0] != outer[1]:
        yield "the seed, or what was learned before: not the same"


class SyncRule:
    """When a journal is forced to disk: what may be lost where the machine, not just the process, stops."""

    def __init__(self, sync: Sync) -> None:
        self.after, self.seconds = math.inf, math.inf
        if not isinstance(sync, str):
            self.after = whole_number("sync", sync)
        elif choice("sync", sync, ("always", "second", "os")) == "always":
            self.after = 1
        elif sync == "second":
            self.seconds = 1.0
        self.start()

    def start(self) -> None:
        self._observed, self._since = 0, time.monotonic()

    def is_due(self) -> bool:
        """Whether to force the journal to disk in this ``observe``."""
        self._observed += 1
        return self._observed >= self.after or (
            self.seconds < math.inf and time.monotonic() - self._since >= self.seconds
        )
