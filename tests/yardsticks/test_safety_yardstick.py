"""Problems with the policies that their logs came from, and how often a safe policy is worse."""

from __future__ import annotations

import itertools
import tomllib
from importlib import resources

import numpy as np
import pytest

from equirl.lab.yardsticks import safety_aside, safety_yardstick as yardstick
from equirl.lab.yardsticks.offline_worlds import (
    OfflineWorld,
    counting,
    counts_of,
    estimated,
    greedy,
    log_of,
    random_mdp,
    spibb_grid,
    values,
    wet_chicken,
)
from equirl.lab.yardsticks.yardstick import stored_table

WORLDS = {
    "wet": wet_chicken(), "grid": spibb_grid(), "random": random_mdp(np.random.default_rng(3)),
    "coins": yardstick._bandit(), "fall": yardstick._rare_fall(0.03), "small": yardstick._small(1, True),
}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_has_laws_rewards_and_a_behaviour_that_fit(name: str) -> None:
    world = WORLDS[name]
    np.testing.assert_allclose(world.laws.sum(axis=2), 1.0)
    np.testing.assert_allclose(world.behaviour.sum(axis=1), 1.0)
    np.testing.assert_allclose(world.reward, np.einsum("sax,sx->sa", world.laws, world.pays))
    assert 0 <= world.reward.min() <= world.reward.max() <= 1
    assert world.worth(world.behaviour) < world.best()
    if world.end >= 0:
        assert (world.reward[world.end] == 0).all()
        assert (world.laws[world.end, :, world.end] == 1).all()


def test_wet_chicken_has_its_waterfall_and_its_banks() -> None:
    world = WORLDS["wet"]
    assert 4 * world.best() == pytest.approx(43.08, abs=0.005)
    assert 4 * world.worth(world.behaviour) == pytest.approx(29.75, abs=0.005)
    falls = world.laws[4 * 5 + 0, 0]  # at the edge, in calm water, drifting by up to 3.5 either way
    assert falls[0] == pytest.approx((3.0 + 0.0) / 7)
    assert falls[20] == pytest.approx(1 / 7)
    assert world.laws[0, 4, 1] == pytest.approx(0.5 + 0.5 / 7)  # what lands on the bank stays in its lane


def test_behaviours_that_end_are_half_as_good_as_can_be() -> None:
    for name in ("grid", "random"):
        world = WORLDS[name]
        random = world.worth(np.full(world.reward.shape, 0.25))
        share = (world.worth(world.behaviour) - random) / (world.best() - random)
        assert 0.4 < share <= 0.5 + 1e-9


def test_the_grid_has_two_walls() -> None:
    laws = WORLDS["grid"].laws
    right = 1
    for x, y, shut in (
        (2, 0, True),
        (2, 2, True),
        (2, 3, False),
        (3, 1, False),
        (3, 2, True),
        (3, 3, True),
        (1, 0, False),
    ):
        assert (laws[x + 5 * y, right, x + 1 + 5 * y] == 0) == shut
    assert laws[2 + 5 * 4, 0, 2 + 5 * 4] >= 0.75  # up, at the upper edge


def test_the_best_policy_is_the_best_of_all() -> None:
    world = WORLDS["small"]
    every = [np.eye(3)[list(actions)] for actions in itertools.product(range(3), repeat=5)]
    assert world.best() == pytest.approx(max(world.worth(policy) for policy in every))


def test_logs_come_from_the_behaviour() -> None:
    for name, size in (("wet", 20_000), ("grid", 800)):
        world = WORLDS[name]
        counts = counts_of(world, size, np.random.default_rng(0))
        visits = counts.sum(axis=2)
        if world.end < 0:
            assert counts.sum() == size
        else:
            assert counts[world.end, 0, world.end] == size == counts[:, :, world.end].sum() - size
        s = int(visits.sum(axis=1).argmax())
        np.testing.assert_allclose(visits[s] / visits[s].sum(), world.behaviour[s], atol=0.03)
        a = int(visits[s].argmax())
        np.testing.assert_allclose(counts[s, a] / visits[s, a], world.laws[s, a], atol=0.05)


def test_a_log_has_the_counts_and_what_they_paid() -> None:
    world = WORLDS["wet"]
    counts = counts_of(world, 500, np.random.default_rng(1))
    log = log_of(world, counts)
    assert (log.seen.visits == counts.sum(axis=2).ravel()).all()
    found = log.mdp().transition_probabilities(0, 4)
    row = counts[0, 4] / counts[0, 4].sum()
    assert found == pytest.approx({int(x): row[x] for x in np.flatnonzero(row)})
    np.testing.assert_allclose(log.seen.r_sum, (counts * world.pays[:, None, :]).sum(axis=2).ravel())
    np.testing.assert_allclose(
        np.add.reduceat(log.unit_paid[0], log.seen.ptr[:-1][log.seen.visits > 0]), log.seen.r_sum[log.seen.visits > 0]
    )


@pytest.fixture(scope="module", params=["wet", "grid", "small"])
def learned_from(request) -> tuple[OfflineWorld, np.ndarray]:
    world = WORLDS[request.param]
    return world, counts_of(world, 400 if world.end < 0 else 30, np.random.default_rng(2))


def test_counting_is_optimal_by_frequencies(learned_from) -> None:
    world, counts = learned_from
    laws, reward = estimated(world, counts)
    policy = counting(world, counts)
    assert (values(laws, reward, policy) >= values(laws, reward, greedy(laws, reward)) - 1e-9).all()
    assert (laws[counts.sum(axis=2) == 0] == 0).all()


def test_violations_are_stored_and_told() -> None:
    rows = stored_table("safety")
    assert rows["case"] == [*yardstick.CASES, *safety_aside.ASIDE]
    assert all(worse <= 0.05 * logs for worse, logs in zip(rows["worse"], rows["logs"], strict=True))
    told = yardstick.safety_tables(rows)
    for part in (slice(0, 10), slice(10, 20)):
        assert sum(rows["logs"][part]) == 10_000
        assert f"Of 10,000 logs {sum(rows['worse'][part]):,} gave a policy that is worse" in told


def test_a_case_is_measured(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(yardstick, "CASES", {"coins": (yardstick._bandit, 50)})
    monkeypatch.setattr(yardstick, "ASIDE", {"lamp": safety_aside.AsideCase("zoo/lamp", "best", 50, 1.0)})
    table = yardstick.measure_safety(tmp_path, logs=3)
    assert (table["case"], table["logs"]) == (["coins", "lamp"], [3, 3])
    assert table["worse"][1] <= table["better"][1] <= 3


def test_a_log_of_a_problem_set_aside_comes_from_its_behaviour() -> None:
    played = safety_aside.played_in(safety_aside.AsideCase("zoo/thermostat", "habit", 4000, 1.0))
    log = safety_aside.log_played(played, 4000, np.random.default_rng(0))
    pairs, visits = log.pairs, log.seen.visits
    share = visits / np.add.reduceat(visits, pairs.ptr[:-1])[pairs.state]
    often = np.add.reduceat(visits, pairs.ptr[:-1])[pairs.state] > 300
    np.testing.assert_allclose(share[often], played.behaviour[often], atol=0.06)
    k = int(visits.argmax())
    row = played.world.rows.row(k)
    law = dict(zip(played.world.rows.succ[row].tolist(), played.world.rows.prob[row].tolist(), strict=True))
    for i in range(log.seen.ptr[k], log.seen.ptr[k + 1]):
        assert log.seen.count[i] / visits[k] == pytest.approx(law[int(log.seen.succ[i])], abs=0.06)
    assert log.seen.r_sum[k] / visits[k] == pytest.approx(played.world.r_mean[k], abs=0.05)
    assert played.worth(played.behaviour) < played.best()


@pytest.mark.parametrize("discount", [1.0, 0.95])
def test_what_passes_in_a_problem_set_aside_is_told_by_how_much_it_earns_more(discount: float) -> None:
    """Many rows and much to gain: all four kinds of logs find something better."""
    played = safety_aside.played_in(safety_aside.AsideCase("zoo/thermostat", "habit", 6000, discount))
    most = played.best() - played.worth(played.behaviour)
    for k in range(4):
        assert 0 < safety_aside.improvement(played, 6000, k) <= most + 1e-9


def test_the_problems_set_aside_are_of_the_half_that_is() -> None:
    zoo = tomllib.loads(resources.files("equirl.lab.leaderboard").joinpath("zoo.toml").read_text())
    aside = {world for part in zoo["parts"] if part["group"] == "aside" for world in part["worlds"]}
    assert {case.world for case in safety_aside.ASIDE.values()} <= aside
    assert len(safety_aside.ASIDE) == 10
