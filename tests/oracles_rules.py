"""A plain solver for problems written out from their rules, as {state: {action: (pay, {next state: probability})}}."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from equirl.solving.optimal_gain import solve


def solve_by_hand(model, accuracy=1e-9, sweeps=60_000):
    """The gain, and how far each action falls short in each state, by relative value iteration of the lazy chain."""
    states = list(model)
    number = {s: k for k, s in enumerate(states)}
    told = [(s, a) for s in states for a in model[s]]
    pay = np.array([model[s][a][0] for s, a in told])
    law = np.zeros((len(told), len(states)))
    for k, (s, a) in enumerate(told):
        for x, p in model[s][a][1].items():
            law[k, number[x]] += p
    assert np.allclose(law.sum(axis=1), 1, rtol=0, atol=1e-9)
    first = np.cumsum([0, *(len(model[s]) for s in states)])[:-1]

    h = np.zeros(len(states))
    for _ in range(sweeps):
        worth = pay + law @ h
        change = np.maximum.reduceat(worth, first) - h
        if np.ptp(change) < accuracy:
            break
        h = h + change / 2
        h -= h[0]
    assert np.ptp(change) < accuracy
    best = np.repeat(np.maximum.reduceat(worth, first), np.diff([*first, len(told)]))
    short = dict(zip(told, best - worth, strict=True))
    return float(change.mean()), short


def optimal_gain(mdp):
    return solve(mdp, accuracy=1e-9).gain


def check_against_rules(mdp, model, abs_error=1e-6):
    """The MDP has the states and actions of the rules, their gain, and plays an action that is best by the rules."""
    assert set(mdp.pairs.state_names) == set(model)
    named = {s: set(mdp.pairs.allowed(mdp.pairs.state_number(s)).replace("'", "").split(", ")) for s in model}
    assert named == {s: set(model[s]) for s in model}

    gain, short = solve_by_hand(model)
    best = solve(mdp, accuracy=1e-9)
    assert best.gain == pytest.approx(gain, abs=abs_error)
    for s, a in zip(mdp.pairs.state_names, best.policy, strict=True):
        assert short[s, mdp.pairs.action_names[a]] == pytest.approx(0, abs=abs_error), s


def check_against_toolbox(mdp, abs_error=1e-6):
    """pymdptoolbox finds the same gain; every state must have all actions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        toolbox = pytest.importorskip("mdptoolbox.mdp")
        laws, rewards = mdp.to_arrays()
        other = toolbox.RelativeValueIteration(laws.transpose(1, 0, 2), rewards, epsilon=1e-8, max_iter=100_000)
        other.run()
    assert solve(mdp).gain == pytest.approx(other.average_reward, abs=abs_error)
