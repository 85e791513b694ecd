"""bsuite's deep sea: the world is its, episodes are counted as it counts them, and what is solved is said."""

import numpy as np
import pytest

from equirl.lab.yardsticks.bsuite_yardstick import (
    GOOD,
    SIZES,
    deep_sea_tables,
    episodes_to_solve,
    largest_solved,
    solved_sizes,
)
from equirl.simulation import simulate
from equirl.solving import solve
from equirl.words.tables import Table
from equirl.worlds import make


def test_the_sizes_and_the_share_are_those_of_bsuite():
    assert SIZES == (10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50)
    assert GOOD == 0.1


def test_an_episode_without_a_mistake_returns_what_bsuite_says():
    mdp = make("zoo/deep-sea", depth=6, cost=0.01)
    assert mdp.n_states == 21
    assert 6 * solve(mdp).gain == pytest.approx(0.99)


def test_episodes_are_counted_until_a_tenth_ended_at_the_treasure():
    found = episodes_to_solve("psrl", 6, 0)
    mdp = make("zoo/deep-sea", depth=6, seed=0, cost=0.01).shuffled(0)
    trace = simulate(mdp, "psrl", 6 * found, 0, checkpoints=np.arange(6, 6 * found + 1, 6))
    returns = np.diff(trace.reward, prepend=0.0)  # of each episode
    good = np.cumsum(returns > returns.max() - 1e-9)
    share = good / np.arange(1, found + 1)
    assert share[-1] > 0.1
    assert episodes_to_solve("random", 12, 0, episodes=50) is None


def test_the_largest_size_is_the_last_before_one_that_failed():
    table = Table({"size": [10, 20, 30, 40], "c-psrl 0": [5, 7, 9, 1], "c-psrl 1": [4, 8, 9, 2],
                   "psrl 0": [9, None, 30, 4], "psrl 1": [9, 2, 31, 4]})  # fmt: skip
    assert (largest_solved(table, "c-psrl"), solved_sizes(table, "c-psrl")) == (40, 4)
    assert (largest_solved(table, "psrl"), solved_sizes(table, "psrl")) == (10, 3)
    text = deep_sea_tables(table)
    assert "| 20 | 1048576 | 353 | 602 | 156 | 511 | 8 (7 to 8) | 1 of 2 runs |" in text
    assert "| 40 | 1099511627776 | 2034 | - | 609 | 2667 | 2 (1 to 2) | 4 (4 to 4) |" in text
    assert "`c-psrl` up to 40 (4 of 4 sizes), `psrl` up to 10 (3 of 4 sizes)" in text
