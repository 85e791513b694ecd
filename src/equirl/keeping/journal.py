"""A learner in production: every step it learns is in a journal on disk before it counts.

After a crash at any moment the folder opens to the learner as it was, bit for bit, and it decides as if nothing had
happened: the newest snapshot is loaded, and the records since are played again (``journal_recovery.py``). Files and
their format: ``journal_folder.py``, ``journal_records.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.durable import FolderLock
from equirl.keeping.comparing import differences
from equirl.keeping.journal_folder import JournalFolder, is_whole
from equirl.keeping.journal_recovery import recover
from equirl.keeping.journal_sync import Sync, SyncRule
from equirl.keeping.journalled_agent import JournalledAgent
from equirl.keeping.saving import load_agent
from equirl.learners.contract import Learner
from equirl.learners.learner_registry import make_agent
from equirl.words.checking import flag, whole_number


def open_agent(
    folder: str | os.PathLike[str],
    learner: Learner | str | None = None,
    *,
    sync: Sync = "second",
    snapshot_every: int = 20_000,
    archive: bool = False,
    strict: bool = True,
    **making: Any,
) -> JournalledAgent:
    """Open a folder that keeps a learner through crashes, or begin one.

    Every ``observe`` is appended to a journal, with a checksum, before it counts. A process that is killed at any
    moment loses nothing that ``observe`` has returned from, whatever ``sync`` says; ``sync`` is about the machine
    losing power. Opened again, the learner is as it was, bit for bit.

    Parameters
    ----------
    folder : path
        Where it is kept; made where it is absent. One at a time may have it open.
    learner : str or Learner, optional
        Which learner to begin with: a name, with the keywords of :func:`equirl.make_agent`, or a learner from
        ``make_agent``, ``agent_for`` or ``load_agent``, which is copied. Where the folder has one already it must be
        the same, and may be left out.
    sync : "always", "second", "os" or int, default "second"
        When records are forced to disk: before every ``observe`` returns (some milliseconds each); in the first
        ``observe`` after a second has passed; when the operating system likes (often within half a minute); or in
        every n-th ``observe``. ``agent.sync()`` does it at once.
    snapshot_every : int, default 20,000
        Records (calls of ``act`` and ``observe``) after which the learner is saved whole and a new file of the journal
        begun; so many at most are played again when the folder is opened after a crash.
    archive : bool, default False
        Keep all records, for :func:`equirl.read_journal`; 64 bytes a step. Otherwise those before the last two
        snapshots are removed.
    strict : bool, default True
        Refuse what cannot be as it was: damage with whole records behind it, or records that, played again, give other
        decisions. With False it goes on from what can be had, warns, and sets damaged files aside.
    **making
        Keywords of :func:`equirl.make_agent`, where ``learner`` is a name: ``n_states``, ``n_actions``, ``seed``,
        settings.

    Returns
    -------
    JournalledAgent
        It acts and observes as the learner does. Close it, or use it in a ``with`` statement.

    Raises
    ------
    FolderInUse
        Another has it open.
    DamagedFile
        The folder cannot be trusted; the message says where, and what to do.

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
    begin_with = _given(learner, making)
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
            _check_same(place, differences(recovered.learner, begin_with, past=False))
        return JournalledAgent(files, lock, recovered, rule, snapshot_every, archive)
    except BaseException:
        lock.release()
        raise


_SAY_WHICH = "to begin one, say which learner: open_agent(folder, 'c-psrl', n_states=..., n_actions=...)"


def _given(learner: Learner | str | None, making: dict[str, Any]) -> Learner | None:
    if isinstance(learner, str):
        return make_agent(learner, **making)
    if making:
        raise TypeError(f"{', '.join(making)}: only with the name of a learner; give the name, or a learner made so")
    if learner is not None and not isinstance(learner, Learner):
        raise TypeError(f"learner must be a name or a learner (make_agent, agent_for, load_agent), not {learner!r}")
    return None if learner is None else learner.copy()


def _begin(files: JournalFolder, begin_with: Learner | None) -> Learner | None:
    """The learner as the folder was begun, or is now, with it; None where its first snapshot is not to be had."""
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
