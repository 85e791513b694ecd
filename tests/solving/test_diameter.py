from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from equirl.model.mdp import TabularMDP
from equirl.solving.renewal import IllConditioned
from equirl.solving.shortest_times import diameter
from equirl.worlds.world_registry import make
from oracles_solving import cycle, dense_mdp, hitting_times, two_ends


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_diameter_agrees_with_value_iteration_on_hitting_times(seed: int) -> None:
    mdp = dense_mdp(np.random.default_rng(seed), 5, 2)
    slow = max(hitting_times(mdp, y, sweeps=2000).max() for y in range(5))
    assert diameter(mdp) == pytest.approx(slow, rel=1e-9)


def test_the_diameter_of_a_river_is_the_time_to_swim_up() -> None:
    mdp = make("riverswim", n_states=8)
    assert diameter(mdp) == pytest.approx(hitting_times(mdp, 7).max(), rel=1e-9)
    assert diameter(mdp.shuffled(5)) == pytest.approx(diameter(mdp), rel=1e-9)


def test_the_diameter_of_a_cycle_is_its_length_less_one() -> None:
    assert diameter(cycle(9)) == pytest.approx(8)


def test_the_diameter_is_infinite_where_some_state_cannot_be_reached_again() -> None:
    assert diameter(two_ends()) == np.inf


def test_the_diameter_is_that_of_the_reachable_part() -> None:
    with_walls = make("four-room", height=7, width=7, walls_are_states=True)
    without = make("four-room", height=7, width=7)
    assert diameter(with_walls) == pytest.approx(diameter(without))


def test_one_state_has_diameter_zero() -> None:
    assert diameter(TabularMDP.from_arrays([[[1.0]]], [[0.5]])) == 0


def test_a_diameter_that_takes_long_is_refused_with_the_way_to_wait_for_it() -> None:
    with pytest.raises(ValueError, match="pass max_states=9"):
        diameter(cycle(9), max_states=8)


def test_a_diameter_beyond_double_precision_is_refused() -> None:
    against = [(s, 0, {s + 1: 0.01, max(s - 1, 0): 0.99}, 0.0) for s in range(11)]
    mdp = TabularMDP.from_pairs([*against, (11, 0, {0: 1.0}, 0.0)], 12)
    with pytest.raises(IllConditioned, match="reaching state"):
        diameter(mdp)
