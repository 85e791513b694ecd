"""Answers about logs are those stored in ``same_answers.json``: whatever changes one is meant, and stored anew.

What was paid is changed by a billionth here, and not where they are stored: none hangs on how a processor rounds.
``python tests/logs/test_same_answers.py`` stores them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import equirl as eq
from equirl.logs import log_policy

STORED = Path(__file__).with_name("same_answers.json")
CASES = {
    "average": {}, "cautious": {"caution": 0.6}, "discounted": {"discount": 0.9}, "in pairs": {"rewards": "per_pair"},
}  # fmt: skip


def noisy_log(steps=250, change=0.0):
    """Five states, three actions, costs that scatter; an action hardly tried, a pair never tried."""
    world, rng, rows, state = eq.make("random", n_states=5, n_actions=3, seed=4), np.random.default_rng(8), [], 0
    for _ in range(steps):
        action = int(rng.choice(3, p=[0.6, 0.38, 0.02])) if state else int(rng.integers(2))
        law = world.transition_probabilities(state, action)
        after = int(rng.choice(list(law), p=list(law.values())))
        paid = 20 * world.mean_reward(state, action) - 12 + 6 * rng.normal()
        rows.append((f"s{state}", f"a{action}", float(np.clip(paid, -15, 12)) * (1 - change), f"s{after}"))
        state = after
    return eq.from_log(rows, actions="all", reward_range=(-15, 12))


def answers(case, log):
    found = eq.learn(log, draws=12, seed=3, **CASES[case])
    numbers = {
        "gain": found.gain, "interval": found.interval, "bounds": found.bounds, "regret": found.regret,
        "optimism": found.optimism, "behaviour": found.behaviour, "behaviour_interval": found.behaviour_interval,
        "policy": found.policy, "chance": found.chance, "loss": found.loss, "lacking": found.lacking(),
    }  # fmt: skip
    discount = CASES[case].get("discount")
    steps = log.next_steps(60, policy=found.policy, discount=discount, draws=6, seed=5)
    numbers |= {f"next {name}": steps[name] for name in ("chance_better", "worth", "steps")}
    return {name: np.asarray(value, float).round(10).tolist() for name, value in numbers.items() if value is not None}


@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_stored(case):
    stored, found = json.loads(STORED.read_text())[case], answers(case, noisy_log(change=1e-9))
    assert stored.keys() == found.keys()
    for name, value in stored.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_log_taken_for_longer_is_one_with_its_rows_repeated():
    rows = [
        ("a", "x", 0.3, "b"),
        ("b", "x", 1.0, "a"),
        ("a", "y", 0.7, "a"),
        ("a", "x", 0.0, "a"),
        ("a", "y", 0.2, "a"),
    ]
    log = eq.from_log(rows)
    times = np.array([3, 2, 5])
    again = log_policy._repeated(log.seen, times)
    pairs = [("a", "x"), ("a", "y"), ("b", "x")]
    repeated = eq.from_log([row for row in rows for _ in range(int(times[pairs.index(row[:2])]))])
    for name in ("ptr", "succ", "count", "visits", "r_sum", "r_squares"):
        np.testing.assert_allclose(getattr(again, name), getattr(repeated.seen, name))


def test_the_middle_of_draws_leaves_a_twentieth_out_at_either_end():
    """Of 19 draws one more lies below the least with chance 1 / 20."""
    assert log_policy._middle(np.arange(19.0)) == (0.0, 18.0)
    low, high = log_policy._middle(np.arange(199.0))
    assert (low, high) == pytest.approx((9.0, 189.0))


if __name__ == "__main__":
    STORED.write_text(json.dumps({case: answers(case, noisy_log()) for case in CASES}, indent=1) + "\n")
