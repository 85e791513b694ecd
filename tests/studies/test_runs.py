"""One run: its world, which is made once, loaded if it is a file, and renumbered where asked for; and what it tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equirl.keeping.saving import load_agent
from equirl.lab.studies import runs
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.runs import build_world, execute, json_key, known_world, library_versions
from equirl.lab.studies.study_file import parse_study
from equirl.simulation import simulate
from equirl.solving.optimal_gain import solve
from equirl.worlds.world_registry import make
from studies_kit import specs, with_lines


def saved(tmp_path, n_states=5):
    make("riverswim", n_states=n_states).save(tmp_path / "river.npz")
    return expand(parse_study(with_lines(worlds='[{ file = "river.npz" }]')), tmp_path)[0].spec


def test_a_saved_world_is_loaded_where_it_is_there_and_what_was_read(tmp_path):
    spec = saved(tmp_path)
    world, gain = build_world(spec)
    assert world == make("riverswim", n_states=5)
    assert gain == pytest.approx(solve(world).gain, abs=1e-7)
    (tmp_path / "river.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"the saved world .*river\.npz is not there; every worker must"):
        runs._loaded(tmp_path / "river.npz", spec.params["sha256"])
    saved(tmp_path, 6)
    with pytest.raises(ValueError, match=r"river\.npz changed since the study was read; start the study again"):
        runs._loaded(tmp_path / "river.npz", spec.params["sha256"])


def test_a_world_is_made_once_and_renumbered_for_each_run_that_asks():
    spec = specs()[0]
    world, gain = build_world(replace(spec, renumber_seed=None))
    assert build_world(replace(spec, renumber_seed=None))[0] is world
    other, same = build_world(replace(spec, renumber_seed=3))
    assert same == gain
    assert other == world.shuffled(3) != world


def test_the_world_of_a_study_that_was_read_is_there_for_its_runs(monkeypatch):
    known_world.cache_clear()
    spec = specs()[0]
    monkeypatch.setattr(runs, "make", lambda *_, **__: pytest.fail("it was made again"))
    assert build_world(spec)[0].n_states == 5


def test_parameters_in_any_order_are_one_key():
    assert json_key({"b": 1, "a": 2}) == json_key({"a": 2, "b": 1}) != json_key({"a": 1, "b": 2})


def test_a_run_tells_what_its_simulation_does_and_keeps_its_agent_where_asked(tmp_path):
    spec = specs()[0]
    found = execute(spec)
    world, gain = build_world(spec)
    trace = simulate(
        world,
        spec.learner,
        spec.horizon,
        spec.seed,
        checkpoints=spec.checkpoints,
        gain=gain,
        world_seed=spec.world_seed,
    )
    np.testing.assert_array_equal(found.curves["regret"], trace.curves["regret"])
    assert found.facts == {"gain": gain, "n_episodes": trace.n_episodes, "n_unconverged": trace.n_unconverged}
    assert found.agent is None
    kept = execute(replace(spec, keep=("agent",))).agent
    (tmp_path / "agent.npz").write_bytes(kept)
    assert load_agent(tmp_path / "agent.npz").t == spec.horizon + 1
    assert found.provenance["versions"] == library_versions()
    assert 0.0 <= found.provenance["seconds"] < 60.0
    assert "misclustering_ratio" not in found.curves


@pytest.mark.parametrize("name", ["t", "gain", "header", "n_episodes"])
def test_a_measure_with_the_name_of_a_column_is_refused(name, monkeypatch):
    class Trace:
        curves = {name: np.zeros((1, 4))}  # noqa: RUF012

    class Run:
        def __init__(self, *_, **__):
            pass

        def finish(self):
            return Trace

    monkeypatch.setattr(runs, "LiveRun", Run)
    with pytest.raises(ValueError, match=f"a measure of 'ucrl2-l' is called '{name}', which is a column"):
        execute(specs()[0])
