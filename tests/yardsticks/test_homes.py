"""Other learners' homes: worlds by the papers' numbers, resets, and tables."""

import numpy as np
import pytest

from equirl.lab.yardsticks.homes_yardstick import HOMES, homes_tables, with_resets
from equirl.solving import solve
from equirl.words.tables import Table
from equirl.worlds import make


def test_the_river_of_psrl_is_the_papers():
    river = HOMES["psrl"].mdp()
    right, left = ({s: river.transition_probabilities(s, name) for s in range(6)} for name in ("right", "left"))
    assert right[0] == {0: pytest.approx(0.4), 1: pytest.approx(0.6)}
    assert right[3] == {2: pytest.approx(0.05), 3: pytest.approx(0.6), 4: pytest.approx(0.35)}
    assert right[5] == {4: pytest.approx(0.4), 5: pytest.approx(0.6)}
    assert left[3] == {2: 1.0}
    assert (river.mean_reward(0, "left"), river.mean_reward(5, "right"), river.r_mean.sum()) == (0.005, 1.0, 1.005)


def test_what_is_reset_is_worth_what_backward_induction_says():
    river = HOMES["psrl"].mdp()
    P, R = river.to_arrays()
    v = np.zeros(6)
    for _ in range(20):
        v = (R + P @ v).max(1)
    reset = HOMES["psrl-episodes"].mdp()
    assert reset.n_states == 6 + 5 + 4 + 3 + 2 + 1 + 14 * 6
    assert 20 * solve(reset).gain == pytest.approx(v[0], abs=1e-9)


def test_a_reset_after_every_step_plays_the_first_state_alone():
    assert with_resets(make("riverswim", n_states=3), 1).n_states == 1


def test_every_home_has_a_table_with_what_is_published():
    rows = [(name, learner, 12.0, 3.0) for name, home in HOMES.items() for learner in home.published]
    text = homes_tables(Table(dict(zip(("home", "learner", "mean", "half"), zip(*rows, strict=True), strict=True))))
    assert "| `psrl-published` | 106 | 12 ± 3 |" in text
    assert "| `ucrl2` | 3,640 | 12 ± 3 |" in text
    assert "| `imed-rl` | - | 12 ± 3 |" in text
    assert text.count("regret at T = ") == len(HOMES)
