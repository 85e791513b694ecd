"""From a folder to the learner as it was: the newest whole snapshot, then every record since, played again in order.

Decisions are played again too, for they draw from generators and make plans; each must come out as it was recorded.
What is damaged is never used. Damage at the very end costs the records it hit, and a warning says which; damage with
whole records behind it is an error, since what a learner knows depends on every record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn

import numpy as np

from equirl.files.whole_files import DamagedFile
from equirl.keeping.journal_folder import JournalFolder, SegmentFile, is_whole
from equirl.keeping.journal_records import ACT, TERMINATED, Damage, SegmentContent, read_segment
from equirl.keeping.saving import load_agent
from equirl.learners.contract import Learner, choose_pair, learn_step, read_step
from equirl.words.checking import warn_caller
from equirl.words.formatting import counted


class DamageWarning(UserWarning):
    """A file of a learner's folder was damaged; the message says what was kept and what was dropped."""


class ReplayMismatch(RuntimeError):  # noqa: N818 (it names what happened)
    """Played again, the records of a journal give other decisions than they did."""


class Recovered(NamedTuple):
    """A learner as its folder has it."""

    learner: Learner
    at: int  # records that its snapshot knew of
    end: int  # records there are
    started: int  # its time when the folder was begun
    content: SegmentContent | None  # of the file to go on with; None where a new one must be begun


def recover(folder: JournalFolder, strict: bool) -> Recovered:
    """The learner after the last record of its folder, with damage at the end cut off."""
    learner, at = newest_learner(folder)
    contents = list(contents_since(folder, at, strict))
    for content in contents:
        skipped = max(0, at - content.header.first)
        replay(learner, content.records[skipped:], content.header.first + skipped, strict)
    if not contents:
        first = folder.snapshots()[0]
        started = load_agent(first.path).t if first.at == 0 and is_whole(first) else learner.t
        return Recovered(learner, at, at, started, None)
    last = contents[-1]
    end = last.header.first + len(last.records)
    return Recovered(learner, at, max(at, end), last.header.about["started"], last if end >= at else None)


def newest_learner(folder: JournalFolder) -> tuple[Learner, int]:
    """The learner of the newest whole snapshot, and how many records it knows of. Damaged ones are set aside."""
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
    warn_caller(_told(damage, f"The file as it was is kept as {aside}"), DamageWarning)
    return content


def _told(damage: Damage, more: str) -> str:
    kept, dropped = counted(damage.kept, "record"), counted(damage.dropped + damage.after, "record")
    where = f"{damage.path} was damaged from byte {damage.offset} on ({damage.reason})"
    return f"{where}: {kept} kept, {dropped} dropped. {more}"


def replay(learner: Learner, records: np.ndarray, number: int, strict: bool) -> None:
    """Play records again, in order."""
    warned = False
    for k, (kind, state, action, next_state, reward) in enumerate(_plain(records), number):
        try:
            if kind == ACT:
                now = int(learner.pairs.action[choose_pair(learner, state)])
            else:
                learn_step(learner, read_step(learner, state, action, reward, next_state, kind == TERMINATED))
                now = action
        except (ValueError, TypeError) as error:
            raise ReplayMismatch(f"record {k} of the journal cannot be played again: {error}") from error
        if now != action and not warned:
            text = (
                f"record {k} of the journal says that action {action} was chosen in state {state}; played again it is "
                f"{now}. Something that decides has changed since: the version of equirl or NumPy, the machine, or "
                "the learner's own code"
            )
            if strict:
                raise ReplayMismatch(f"{text}. Open and close the folder with what wrote it, or give strict=False")
            warn_caller(f"{text}. It goes on from what was observed", DamageWarning)
            warned = True


def _plain(records: np.ndarray) -> Iterable[tuple[int, int, int, int, float]]:
    names = ("kind", "state", "action", "next_state", "reward")
    return zip(*(records[name].tolist() for name in names), strict=True)


def _refuse_or_warn(strict: bool, what: str, rest: str) -> None:
    if strict:
        _refuse(what, rest)
    warn_caller(f"{what}; going on with {rest}", DamageWarning)


def _refuse(what: str, rest: str) -> NoReturn:
    raise DamagedFile(
        f"{what}. What a learner knows depends on every record, so it was not opened. Put the file back "
        f"from a backup, or open with strict=False to go on with {rest}; files are set aside, never deleted"
    )
