"""One run computed: everything in its result is a function of its :class:`~equirl.lab.studies.run_specs.RunSpec`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from equirl.keeping.saving import agent_bytes
from equirl.lab.studies.run_specs import FILE_WORLD, RunSpec, file_digest
from equirl.model import TabularMDP
from equirl.simulation import Curves, LiveRun
from equirl.solving import AVERAGE_REWARD
from equirl.worlds import make

RUN_COLUMNS = (  # of an exported table, beside its curves
    "part", "world", "learner", "replicate", "seed", "world_seed", "gain", "n_episodes", "n_unconverged", "t",
)  # fmt: skip
FACTS = ("gain", "n_episodes", "n_unconverged")  # of a run as a whole
_RESERVED = {*RUN_COLUMNS, "header"}  # a measure of that name would be lost in a table or file


@dataclass(frozen=True)
class RunResult:
    """What a run left: its curves and gain with rewards in [0, 1], so that worlds compare."""

    spec: RunSpec
    curves: Curves
    facts: dict[str, Any]
    provenance: dict[str, Any]
    agent: bytes | None = None


@dataclass(frozen=True)
class RunFailure:
    spec: RunSpec
    error: str
    traceback: str


def build_world(spec: RunSpec) -> tuple[TabularMDP, float]:
    """The world of a run, renumbered where the run asks for it.

    The world and its gain, which no renumbering changes, are computed once per process: many runs share them.
    """
    world = spec.world, json_key(spec.params), spec.source
    mdp = known_world(*world)
    return (mdp if spec.renumber_seed is None else mdp.shuffled(spec.renumber_seed)), _gain(*world)


def json_key(params: Mapping[str, Any]) -> str:
    """Parameters as :func:`known_world` takes them: something that can be looked up."""
    return json.dumps(dict(params), sort_keys=True, default=str)


@lru_cache(maxsize=32)
def known_world(world: str, params: str, source: str | None) -> TabularMDP:
    """A world made once per process: where its study is read, many runs later find it."""
    values = json.loads(params)
    return _loaded(Path(source or ""), values["sha256"]) if world == FILE_WORLD else make(world, **values)


@lru_cache(maxsize=32)
def _gain(world: str, params: str, source: str | None) -> float:
    return AVERAGE_REWARD.optimum(known_world(world, params, source))


def _loaded(path: Path, sha256: str) -> TabularMDP:
    if not path.is_file():
        raise FileNotFoundError(f"the saved world {path} is not there; every worker must be able to read it")
    if file_digest(path) != sha256:
        raise ValueError(f"the saved world {path} changed since the study was read; start the study again")
    return TabularMDP.load(path)


def execute(spec: RunSpec) -> RunResult:
    mdp, gain = build_world(spec)
    started = time.thread_time()
    trace = LiveRun(
        mdp,
        spec.learner,
        spec.horizon,
        spec.seed,
        checkpoints=np.array(spec.checkpoints) if isinstance(spec.checkpoints, list) else spec.checkpoints,
        measure_clustering="clustering" in spec.measures,
        world_seed=spec.world_seed,
        unit_gain=gain,
        settings=spec.settings,
    ).finish()
    for name in _RESERVED.intersection(trace.curves):
        raise ValueError(
            f"a measure of {spec.learner!r} is called {name!r}, which is a column of every table; rename it"
        )
    facts = {
        "gain": float(trace.unit_gain),
        "n_episodes": int(trace.n_episodes),
        "n_unconverged": int(trace.n_unconverged),
    }
    provenance = {"seconds": round(time.thread_time() - started, 4), "versions": library_versions()}
    agent = agent_bytes(trace.agent, {"run": spec.key}) if spec.keeps_agent else None
    return RunResult(spec, trace.unit_curves, facts, provenance, agent)


def library_versions() -> dict[str, str]:
    """Of the libraries that numbers depend on."""
    return {name: version(name) for name in ("equirl", "numpy", "numba")}
