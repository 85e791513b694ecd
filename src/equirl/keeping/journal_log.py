"""A journal read as a log of what was observed."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from equirl.files.whole_files import DamagedFile
from equirl.keeping.journal_folder import JournalFolder, SegmentFile
from equirl.keeping.journal_records import ACT, TERMINATED, SegmentContent, read_segment
from equirl.keeping.journal_recovery import DamageWarning
from equirl.words.checking import warn_caller

MOST_TRIES = 20


class Transition(NamedTuple):
    """One step that was observed; the reward as it was given."""

    state: int
    action: int
    reward: float
    next_state: int
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


def read_journal(folder: str | os.PathLike[str]) -> Transitions:
    """The steps that a learner's folder still has, as arrays.

    By default a folder keeps the records since the snapshot before the last; with ``archive=True`` in
    :func:`equirl.open_agent`, all. It may be read while it is open elsewhere, and whether or not the learner's code is
    at hand.

    Parameters
    ----------
    folder : path
        A folder of :func:`equirl.open_agent`.

    Returns
    -------
    Transitions
        Arrays ``step``, ``state``, ``action``, ``reward``, ``next_state``, ``terminated``; ``state_names`` and
        ``action_names`` where the problem has any.

    Warns
    -----
    DamageWarning
        A file is damaged: its steps from there on are left out.

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
