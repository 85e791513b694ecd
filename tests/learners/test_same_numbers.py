"""Runs of a seed are what they were: how often each learner plays each pair of a small MDP, stored in a file.

What a learner observes is changed by a billionth here, and not where the numbers are stored: so none of them hangs on
how a processor rounds. A change that alters them on purpose says so in the changelog and raises ``RESULT_VERSION``;
``python tests/learners/test_same_numbers.py`` stores them anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import equirl as eq

STORED = Path(__file__).with_name("same_numbers.json")
RUNS = json.loads(STORED.read_text())
STEPS = 2000


def world():
    """Five states with three actions; the last two of these do the same in states 1, 3 and 4."""
    rng = np.random.default_rng(7)
    p, r = rng.random((5, 3, 5)) ** 4, rng.random((5, 3))
    p[3:, 1:], r[3:, 1:] = p[1, 1:], r[1, 1:]
    return eq.TabularMDP.from_arrays(p / p.sum(axis=2, keepdims=True), r)


def visits(learner, settings, change=0.0):
    """(M,) how often each pair is played."""
    mdp = world()
    agent = eq.agent_for(mdp, learner, seed=5, **settings)
    (p, r), coins, changes = mdp.to_arrays(), np.random.default_rng(11), np.random.default_rng(12)
    found, state = np.zeros(r.shape, int), 0
    for _ in range(STEPS):
        action = int(agent.act_id(state))
        u, v = coins.random(2)
        after = int(np.searchsorted(p[state, action].cumsum()[:-1], u))
        reward = 0.7 * r[state, action] + 0.3 * v
        agent.observe(state, action, float(reward * (1 - change * changes.random())), after)
        found[state, action] += 1
        state = after
    return found.ravel().tolist()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: " ".join([run["learner"], *map(str, run["settings"].values())]))
def test_a_run_has_the_numbers_it_had(run):
    assert visits(run["learner"], run["settings"], 1e-9) == run["visits"]


def test_every_learner_has_a_run_stored():
    assert {name for name in eq.AGENTS if not name.startswith("toy-")} == {run["learner"] for run in RUNS}


if __name__ == "__main__":
    lines = [run | {"visits": visits(run["learner"], run["settings"])} for run in RUNS]
    STORED.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n")
