"""Worlds are what they were: each with all its numbers changed, as sums over its rows, rewards and first states.

The sums are stored in a file; ``python tests/worlds/test_same_worlds.py`` stores them anew where a world changes on
purpose, which the changelog says.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from equirl.worlds.world_registry import WORLDS, load_world

STORED = Path(__file__).with_name("same_worlds.json")
KNOWN = json.loads(STORED.read_text())


def weights(n, step):
    """(n,) numbers in [0, 1), each its own."""
    return (np.arange(1, n + 1) * step) % 1.0


def sums(text):
    """Sizes, and sums in which every entry of the MDP has a weight of its own."""
    mdp = load_world(text)
    by_pair, by_state = weights(mdp.n_pairs, 2**0.5 - 1), weights(mdp.n_states, 5**0.5 / 2 - 0.5)
    row = np.repeat(np.arange(mdp.n_pairs), np.diff(mdp.rows.ptr))
    numbers = [
        by_pair[row] * by_state[mdp.rows.succ] @ mdp.rows.prob,
        by_pair @ mdp.r_mean,
        by_state @ mdp.initial,
        *mdp.reward_map,
    ]
    return [mdp.n_states, mdp.n_pairs, len(row), *map(float, numbers)]


@pytest.mark.parametrize("text", KNOWN)
def test_a_world_has_the_numbers_it_had(text):
    assert sums(text) == pytest.approx(KNOWN[text], rel=1e-9, abs=1e-12)


def test_every_world_is_stored():
    assert {text.partition(":")[0] for text in KNOWN} == set(WORLDS)


if __name__ == "__main__":
    lines = (f"{json.dumps(text)}: {json.dumps(sums(text))}" for text in KNOWN)
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
