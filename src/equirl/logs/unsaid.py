"""What a log cannot say, in sentences for the person who reads its policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equirl.model.names import state_labels
from equirl.model.reachability import reached
from equirl.words.formatting import counted

if TYPE_CHECKING:
    from equirl.logs.log import Log

FEW = 10  # visits
NAMED = 3  # examples


def unsaid(log: Log) -> list[str]:
    """Sentences about what is missing, the gravest first."""
    pairs, visits = log.pairs, log.seen.visits
    played = visits > 0
    tried = np.bincount(pairs.state[played], minlength=pairs.n_states)
    said = []
    if (never := np.flatnonzero(tried == 0)).size:
        said.append(
            f"{_states(log, never)} reached and never left: what can be done there is unknown, and the estimated "
            "problem stays there at the least reward"
        )
    if (single := np.flatnonzero(tried == 1)).size:
        said.append(
            f"{_states(log, single)} left by one action only: the log cannot say whether another would be better"
        )
    n_ids = len(np.unique(pairs.action))
    combinations = pairs.n_states * n_ids
    if (missing := combinations - int(played.sum())) > 0:
        said.append(
            f"{missing:,} of the {combinations:,} combinations of a state and an action "
            f"{'was' if missing == 1 else 'were'} never tried: where such a one is allowed nothing is known of it"
        )
    if few := int((played & (visits < FEW)).sum()):
        said.append(f"{counted(few, 'pair')} of {int(played.sum()):,} tried fewer than {FEW} times")
    from_pair = np.repeat(np.arange(pairs.n_pairs), np.diff(log.seen.ptr))
    there = reached(log.initial > 0, pairs.state[from_pair], log.seen.succ)
    if (apart := np.flatnonzero(~there)).size:
        said.append(f"{_states(log, apart)} not reached from where the log starts by any step in it")
    low, high = log.reward_map[1], sum(log.reward_map)
    if log.range_seen:
        said.append(
            f"rewards are taken to lie in [{low:g}, {high:g}]: bounds hold if they do (reward_range says otherwise)"
        )
    if log.n_left_out:
        said.append("the last row ends an episode, and where the next would begin is not known: it is left out")
    return said


def _states(log: Log, states: np.ndarray) -> str:
    names = state_labels(log.pairs, states[:NAMED].tolist())
    shown = ", ".join(map(repr, names)) + (", ..." if len(states) > NAMED else "")
    return f"{counted(len(states), 'state')} ({shown}) {'was' if len(states) == 1 else 'were'}"
