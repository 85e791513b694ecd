"""Whether two agents are the same one: made alike, given the same, with the same past. What differs is named."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from equirl.learners.contract import Learner


def differences(one: Learner, other: Learner, past: bool = True) -> list[str]:
    """In what two agents differ, each as "what: of one, of the other".

    Examples
    --------
    >>> from equirl.learners.learner_registry import make_agent
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
    for what in ("classes", "profiles", "mean_rewards", "tolerance"):
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
