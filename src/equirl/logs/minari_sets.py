"""Minari's data sets as logs: episodes of observations, actions and rewards, put one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.interop.encoder import Encoder, batch_entry


def is_minari(table: Any) -> bool:
    """Whether it is a data set of Minari's, by what it offers."""
    return hasattr(table, "iterate_episodes") and hasattr(table, "observation_space")


def minari_columns(dataset: Any, encoder: Encoder | None) -> dict[str, list[Any]]:
    """The columns of a log. Observations that no finite space describes need an encoder."""
    states = Encoder(dataset.observation_space) if encoder is None else encoder
    actions = Encoder(dataset.action_space)
    columns: dict[str, list[Any]] = {role: [] for role in ("state", "action", "reward", "next_state", "terminated")}
    for episode in dataset.iterate_episodes():
        n = len(episode.rewards)
        seen = _named(states, episode.observations, n + 1)
        columns["state"] += seen[:-1]
        columns["next_state"] += seen[1:]
        columns["action"] += _named(actions, episode.actions, n)
        columns["reward"] += np.asarray(episode.rewards, float).tolist()
        columns["terminated"] += np.asarray(episode.terminations, bool).tolist()
    return columns


def _named(encoder: Encoder, values: Any, n: int) -> list[Any]:
    """Values of an episode by name, or by number where they are numbers."""
    numbers = [encoder.encode(batch_entry(values, i)) for i in range(n)]
    names = encoder.names
    return numbers if names is None else [names[k] for k in numbers]
