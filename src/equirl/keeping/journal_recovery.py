"""Reading a folder: the agent as it was, and what it observed as a log.

The agent is the newest whole snapshot, and every record since played again in order. Decisions are played again too,
for they draw from generators and make plans; each must come out as it was recorded. What is damaged is never used.
Damage at the very end costs the records it hit, and a warning says which; damage with whole records behind it is an
error, since what an agent knows depends on every record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.files.whole_files import DamagedFile
from equirl.keeping.journal_files import (
    ACT,
    TERMINATED,
    JournalFolder,
    SegmentContent,
    SegmentFile,
    is_whole,
    read_segment,
)
from equirl.keeping.saving import load_agent
from equirl.learners.contract import Learner, choose_pair, learn_step, read_step
from equirl.model.pairs import action_labels
from equirl.words.answer_units import ByNumber, InUnits
from equirl.words.checking import warn_caller
from equirl.words.formatting import counted

MOST_TRIES = 20  # to read a folder whose files change meanwhile


class DamageWarning(UserWarning):
    """A file of an agent's folder was damaged; the message says what was kept and what was dropped."""


class ReplayMismatch(RuntimeError):  # noqa: N818 (it names what happened)
    """Played again, the records of a journal give other decisions than they did."""


class Recovered(NamedTuple):
    agent: Learner
    at: int  # records that its snapshot knew of
    end: int  # records there are
    started: int  # its time when the folder was begun
    content: SegmentContent | None  # of the file to go on with; None where a new one must be begun


def recover(folder: JournalFolder, strict: bool) -> Recovered:
    """The agent after the last record of its folder, with damage at the end cut off."""
    agent, at = newest_agent(folder)
    contents = list(contents_since(folder, at, strict))
    for content in contents:
        skipped = max(0, at - content.header.first)
        replay(agent, content.records[skipped:], content.header.first + skipped, strict)
    if not contents:
        first = folder.snapshots()[0]
        started = load_agent(first.path).t if first.at == 0 and is_whole(first) else agent.t
        return Recovered(agent, at, at, started, None)
    last = contents[-1]
    end = last.header.first + len(last.records)
    return Recovered(agent, at, max(at, end), last.header.about["started"], last if end >= at else None)


def newest_agent(folder: JournalFolder) -> tuple[Learner, int]:
    """The agent of the newest whole snapshot, and how many records it knows of. Damaged ones are set aside."""
    for snapshot in reversed(folder.snapshots()):
        if is_whole(snapshot):
            return load_agent(snapshot.path), snapshot.at
        aside = folder.set_aside(snapshot.path)
        warn_caller(
            f"{snapshot.path} is damaged: its checksum is not that in its name. It was set aside as {aside}; the "
            "snapshot before it and the journal are used",
            DamageWarning,
        )
    raise DamagedFile(
        f"{folder.path} holds no whole snapshot to start from; put one back from a backup, or start anew in another "
        "folder (equirl.read_journal still reads what was observed)"
    )


def contents_since(folder: JournalFolder, at: int, strict: bool) -> Iterator[SegmentContent]:
    """The files that hold the records from number ``at`` on, damage dealt with."""
    segments = folder.segments()
    later = [segment for segment in segments if segment.first > at]
    needed = [segment for segment in segments if segment.first <= at][-1:] + later
    if not needed and at == 0:  # stopped before the first file was begun
        return
    if not needed or needed[0].first > at:
        _refuse_or_warn(strict, f"the journal of {folder.path} lacks the records from number {at} on", "what there is")
        for segment in later:
            folder.set_aside(segment.path)
        return
    for k, segment in enumerate(needed):
        follows = needed[k + 1].first if k + 1 < len(needed) else None
        content = _read(folder, segment, follows, strict)
        if content is not None and content.damage is None:
            yield content
            continue
        for other in needed[k + 1 :]:  # reached only where damage is not refused
            folder.set_aside(other.path)
        if content is not None:
            yield content
        return


def _read(folder: JournalFolder, segment: SegmentFile, follows: int | None, strict: bool) -> SegmentContent | None:
    """A file of the journal with its damage, if any, cut off; None where none of it can be used."""
    try:
        content = read_segment(segment.path, None if follows is None else follows - segment.first)
        if content.header.first != segment.first:
            raise DamagedFile(f"{segment.path} begins with record {content.header.first}: it was renamed")
    except DamagedFile as error:
        _refuse_or_warn(strict, str(error), f"the {segment.first} records before that file")
        folder.set_aside(segment.path)
        return None
    damage = content.damage
    if damage is None:
        return content
    if damage.after or follows is not None:
        _refuse_or_warn(strict, str(damage), f"the {segment.first + damage.kept} records before it")
    aside = folder.cut(damage)
    kept, dropped = counted(damage.kept, "record"), counted(damage.dropped + damage.after, "record")
    warn_caller(
        f"{damage.path} was damaged from byte {damage.offset} on ({damage.reason}): {kept} kept, {dropped} dropped. "
        f"The file as it was is kept as {aside}",
        DamageWarning,
    )
    return content


def replay(agent: Learner, records: np.ndarray, number: int, strict: bool) -> None:
    warned, names = False, ("kind", "state", "action", "next_state", "reward")
    columns = (records[name].tolist() for name in names)
    for k, (kind, state, action, next_state, reward) in enumerate(zip(*columns, strict=True), number):
        try:
            if kind == ACT:
                now = int(agent.pairs.action[choose_pair(agent, state)])
            else:
                learn_step(agent, read_step(agent, state, action, reward, next_state, kind == TERMINATED))
                now = action
        except (ValueError, TypeError) as error:
            raise ReplayMismatch(f"record {k} of the journal cannot be played again: {error}") from error
        if now != action and not warned:
            text = (
                f"record {k} of the journal says that action {_action(agent, action)} was chosen in "
                f"{agent.pairs.call(state)}; played again it is {_action(agent, now)}."
                " Something that decides has changed since: the version of equirl or NumPy, the machine, or "
                "the learner's own code"
            )
            if strict:
                raise ReplayMismatch(f"{text}. Open and close the folder with what wrote it, or give strict=False")
            warn_caller(f"{text}. It goes on from what was observed", DamageWarning)
            warned = True


def _action(agent: Learner, action: int) -> str:
    return repr(action_labels(agent.pairs, [action])[0])


def _refuse_or_warn(strict: bool, what: str, rest: str) -> None:
    if strict:
        raise DamagedFile(
            f"{what}. What an agent knows depends on every record, so it was not opened. Put the file back "
            f"from a backup, or open with strict=False to go on with {rest}; files are set aside, never deleted"
        )
    warn_caller(f"{what}; going on with {rest}", DamageWarning)


# --- the log


class Transition(NamedTuple):
    """One step that was observed; the reward as it was given."""

    state: Any
    action: Any
    reward: float
    next_state: Any
    terminated: bool


class Transitions(NamedTuple):
    """Steps that were observed, in order: one entry per step."""

    step: np.ndarray  # (n,) int64: 1 for the first that the folder observed; a jump tells what is missing
    state: np.ndarray  # (n,) int64
    action: np.ndarray  # (n,) int64
    reward: np.ndarray  # (n,) float64, as given to observe
    next_state: np.ndarray  # (n,) int64, as given to observe
    terminated: np.ndarray  # (n,) bool
    state_names: tuple[str, ...] | None = None  # by number, where the problem has names
    action_names: tuple[str, ...] | None = None


def read_journal(folder: str | os.PathLike[str]) -> InUnits[ByNumber[Transitions]]:
    """The steps that an agent's folder still has, as arrays.

    By default a folder keeps the records since the snapshot before the last; with ``archive=True`` in
    :func:`equirl.open_agent`, all. It may be read while it is open elsewhere, and whether or not the agent's code is
    at hand. Where a file is damaged, its steps from there on are left out, with a :class:`DamageWarning`.

    Parameters
    ----------
    folder : path
        A folder of :func:`equirl.open_agent`.

    Examples
    --------
    >>> import tempfile
    >>> from equirl.keeping.journal import open_agent
    >>> folder = tempfile.mkdtemp()
    >>> with open_agent(folder, "ucrl2-l", n_states=3, n_actions=2, reward_range=(0, 10)) as agent:
    ...     for state in (0, 1, 2):
    ...         agent.observe(state, agent.act(state), 7.5, (state + 1) % 3)
    >>> log = read_journal(folder)
    >>> log.state, log.reward
    (array([0, 1, 2]), array([7.5, 7.5, 7.5]))
    """
    place = Path(folder)
    if not place.is_dir():
        raise FileNotFoundError(f"there is no folder {place}")
    contents, troubles = _read_all(JournalFolder(place))
    for trouble in troubles:
        warn_caller(trouble, DamageWarning)
    return _gather(contents)


def _read_all(folder: JournalFolder) -> tuple[list[SegmentContent], list[str]]:
    """What the files hold, and what is wrong with them; read again where a snapshot was made meanwhile."""
    for _ in range(MOST_TRIES):
        segments = folder.segments()
        if not segments:
            raise ValueError(f"{folder.path} holds no journal; equirl.open_agent begins one")
        try:
            found = [_read_one(segment, following) for segment, following in pairwise([*segments, None])]
        except FileNotFoundError:
            continue
        if folder.segments() == segments:
            contents, troubles = zip(*found, strict=True)
            return [content for content in contents if content is not None], [text for text in troubles if text]
    raise RuntimeError(f"the files of {folder.path} change too quickly to be read; try again")


def _read_one(segment: SegmentFile | None, following: SegmentFile | None) -> tuple[SegmentContent | None, str]:
    assert segment is not None
    try:
        content = read_segment(segment.path, None if following is None else following.first - segment.first)
    except DamagedFile as error:
        return None, f"{error}; the steps in it are left out"
    return content, "" if content.damage is None else f"{content.damage}; its steps from there on are left out"


def _gather(contents: list[SegmentContent]) -> Transitions:
    about = contents[-1].header.about if contents else {}
    parts = [content.records[content.records["kind"] != ACT] for content in contents]
    steps = [
        content.header.about["observed"] + 1 + np.arange(len(part))
        for content, part in zip(contents, parts, strict=True)
    ]
    names = (tuple(about[key]) if about.get(key) else None for key in ("state_names", "action_names"))

    def column(name: str, dtype: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype), *(part[name].astype(dtype) for part in parts)])

    return Transitions(
        np.concatenate([np.zeros(0, np.int64), *steps]), column("state", np.int64), column("action", np.int64),
        column("reward", np.float64), column("next_state", np.int64), column("kind", np.int64) == TERMINATED, *names,
    )  # fmt: skip
