"""A world whose every step is a function of its number, so that a run goes on after a crash as it would have anyway."""

from __future__ import annotations

import json
import shutil
import warnings
from functools import cache

import numpy as np

import equirl as eq

RIVER = eq.make("ergodic-riverswim", n_states=5)


@cache
def step(number, state, action):
    """What happens at a step: reward, next state, whether the episode ends (the next one starts there)."""
    rng = np.random.default_rng([11, number])
    law = RIVER.transition_probabilities(state, action)
    successor = int(rng.choice(list(law), p=list(law.values())))
    return float(rng.random() < RIVER.mean_reward(state, action)), successor, bool(rng.random() < 0.1)


def play(agent, upto, after=lambda number: None):
    """Play a journalled learner from where it stands until it has observed ``upto`` steps."""
    while (number := agent.n_observed) < upto:
        state = 0 if agent.last is None else agent.last.next_state
        action = agent.act(state)
        reward, successor, ends = step(number, state, action)
        agent.observe(state, action, reward, successor, terminated=ends)
        after(number + 1)


def play_plain(learner, upto, after=lambda number: None):
    """The same without a journal, from the start; the learner."""
    state = 0
    for number in range(upto):
        action = learner.act(state)
        reward, successor, ends = step(number, state, action)
        learner.observe(state, action, reward, successor, terminated=ends)
        state = successor
        after(number + 1)
    return learner


def fingerprint(learner):
    """Every bit of a learner's state."""
    arrays, values = learner.state()
    bits = {name: (str(array.dtype), array.shape, array.tobytes()) for name, array in arrays.items()}
    outer = [learner.name, learner.t, learner.pending, learner.episode_starts, learner.n_unconverged, values]
    return bits, json.dumps(outer, sort_keys=True)


def fingerprints(learner, numbers):
    """{number of steps: every bit of the state of a learner that has played so many without a journal}."""
    found = {0: fingerprint(learner)}

    def look(number):
        if number in numbers:
            found[number] = fingerprint(learner)

    play_plain(learner, max(numbers), look)
    return found


def crashed(agent, place):
    """The folder as a kill would leave it now, elsewhere."""
    shutil.copytree(agent.folder, place)
    return place


def reopened(folder, **settings):
    """The learner of a folder and the warnings that opening it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        agent = eq.open_agent(folder, **settings)
    return agent, [str(one.message) for one in caught]
