"""Learning from logs beside published methods: the methods and the tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from equirl.lab.yardsticks import offline_policies as methods, offline_yardstick as yardstick
from equirl.lab.yardsticks.offline_worlds import OfflineWorld, counts_of, estimated, spibb_grid, values, wet_chicken
from equirl.lab.yardsticks.safety_yardstick import _small
from equirl.lab.yardsticks.yardstick import stored_table

WORLDS = {"wet": wet_chicken(), "grid": spibb_grid(), "small": _small(1, True)}


@pytest.fixture(scope="module", params=["wet", "grid", "small"])
def learned_from(request) -> tuple[OfflineWorld, np.ndarray]:
    world = WORLDS[request.param]
    return world, counts_of(world, 400 if world.end < 0 else 30, np.random.default_rng(2))


def test_spibb_plays_what_it_does_not_trust_as_before(learned_from) -> None:
    world, counts = learned_from
    rare = counts.sum(axis=2) <= methods.ENOUGH
    policy = methods.spibb(world, counts)
    np.testing.assert_allclose(policy[rare], world.behaviour[rare])
    np.testing.assert_allclose(policy.sum(axis=1), 1.0)
    free = np.where(rare, 0.0, policy)
    assert ((free > 1e-12).sum(axis=1) <= 1).all()  # the rest goes to one action


def test_spibb_at_most_plays_what_it_does_not_trust_no_more_than_before(learned_from) -> None:
    world, counts = learned_from
    rare = counts.sum(axis=2) <= methods.ENOUGH
    policy = methods.spibb_at_most(world, counts)
    none = rare.all(axis=1)
    assert (policy[rare & ~none[:, None]] <= world.behaviour[rare & ~none[:, None]] + 1e-9).all()
    np.testing.assert_allclose(policy.sum(axis=1), 1.0)
    np.testing.assert_allclose(policy[none], world.behaviour[none], atol=1e-9)


def test_soft_spibb_stays_as_close_to_the_behaviour_as_errors_ask(learned_from) -> None:
    world, counts = learned_from
    visits = counts.sum(axis=2)
    policy = methods.soft_spibb(world, counts)
    np.testing.assert_allclose(policy.sum(axis=1), 1.0)
    assert policy.min() >= -1e-12
    np.testing.assert_allclose(policy[visits == 0], world.behaviour[visits == 0])
    error = np.sqrt(2 * np.log(2 * visits.size) / np.maximum(1, visits))
    moved = (np.abs(policy - world.behaviour) * np.where(visits > 0, error, 0.0)).sum(axis=1)
    assert (moved <= methods.LEEWAY + 1e-9).all()
    if world is WORLDS["wet"]:
        assert moved.max() > 0.95 * methods.LEEWAY
    assert np.abs(policy - world.behaviour).max() > 0.1


def test_each_of_them_is_no_worse_than_the_behaviour_by_frequencies(learned_from) -> None:
    world, counts = learned_from
    model = estimated(world, counts)
    before = values(*model, world.behaviour)
    for method in (methods.spibb, methods.spibb_at_most, methods.soft_spibb):
        assert (values(*model, method(world, counts)) >= before - 1e-9).all()


def test_with_no_pair_trusted_spibb_is_the_behaviour_and_with_all_it_is_counting(learned_from) -> None:
    world, _ = learned_from
    rare, often = (np.full(world.laws.shape, 0), np.round(1e6 * world.laws).astype(int))
    for method in (methods.spibb, methods.spibb_at_most, methods.soft_spibb):
        np.testing.assert_allclose(method(world, rare), world.behaviour, atol=1e-12)
    for method in (methods.spibb, methods.spibb_at_most):
        assert world.worth(method(world, often)) == pytest.approx(world.best(), abs=1e-4)


def test_ten_visits_are_too_few_and_eleven_enough() -> None:
    world = WORLDS["small"]
    counts = np.zeros(world.laws.shape, np.int64)
    counts[:, :, 0] = 10
    counts[:, 1, 0] = 11
    paying = world._replace(pays=np.eye(5)[0] * np.ones((5, 1)))
    np.testing.assert_allclose(methods.spibb(paying, counts), world.behaviour)
    assert (methods.spibb_at_most(paying, counts) >= 0).all()
    free = np.where(np.arange(3) == 1, np.inf, world.behaviour)
    assert (methods.spibb_at_most(paying, counts) <= free + 1e-12).all()


def test_spibb_is_the_best_of_the_policies_that_play_rare_pairs_as_before() -> None:
    world = WORLDS["small"]
    counts = counts_of(world, 60, np.random.default_rng(4))
    trusted = counts.sum(axis=2) > methods.ENOUGH
    assert trusted.any()
    assert not trusted.all()
    model = estimated(world, counts)
    kept = np.where(trusted, 0.0, world.behaviour)
    choices = [np.flatnonzero(row) if row.any() else [0] for row in trusted]
    best = np.full(5, -np.inf)
    for actions in itertools.product(*choices):
        policy = kept + (1 - kept.sum(axis=1, keepdims=True)) * np.eye(3)[list(actions)]
        best = np.maximum(best, values(*model, policy))
    np.testing.assert_allclose(values(*model, methods.spibb(world, counts)), best, atol=1e-9)


def test_a_world_is_measured_and_its_table_written(tmp_path, monkeypatch) -> None:
    few = {name: (method, 2) for name, (method, _) in yardstick.METHODS.items()}
    monkeypatch.setattr(yardstick, "SIZES", {"wet chicken": (100,)})
    monkeypatch.setattr(yardstick, "METHODS", few)
    table = yardstick.measure_offline(tmp_path)
    assert table["method"] == list(few)
    assert table["logs"] == [2] * len(few)
    assert (np.array(table["worst"]) <= np.array(table["mean"])).all()
    monkeypatch.setattr(yardstick, "METHODS", dict.fromkeys(few, (None, 2)))  # kept, not computed again
    assert yardstick.measure_offline(tmp_path).rows() == table.rows()
    assert "wet chicken: mean / worst 1 %" in yardstick.offline_tables(table)


def test_the_worst_is_the_mean_of_the_lowest_hundredth() -> None:
    assert yardstick._worst([*range(200, 0, -1)]) == 1.5
    assert yardstick._worst([3.0, 1.0]) == 1.0


def test_results_are_stored_for_every_world_size_and_method() -> None:
    rows = stored_table("offline").rows()
    wanted = [(world, size, m) for world, sizes in yardstick.SIZES.items() for size in sizes for m in yardstick.METHODS]
    assert [(row["world"], row["size"], row["method"]) for row in rows] == wanted
    assert [row["logs"] for row in rows] == [yardstick.METHODS[row["method"]][1] for row in rows]
    assert all(row["worst"] <= row["mean"] <= 1 for row in rows)
