"""One run: a world, a learner, a horizon and a seed. Everything a run computes is a function of its :class:`RunSpec`.

The *key* of a run is a hash of all that changes its numbers; it names the file of its result. The *seed* is a hash of
less: the study's seed, the world, the learner and the replicate. So a learner more, a longer horizon or other
checkpoints leave every other seed alone, and a longer run begins as the shorter one. Parameters and settings at their
defaults stand in neither; the file keeps them, so that a default that has changed since is noticed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from equirl.learners.learner_registry import make_settings
from equirl.model.mdp import TabularMDP
from equirl.simulation.simulate import CLUSTERING_CURVES, simulate
from equirl.solving.optimal_gain import solve
from equirl.worlds.world_registry import make

RESULT_VERSION = 2  # part of every key: raise it when the numbers of a run change, or what it records
MEASURES = ("clustering",)
CURVES = ("regret", "pseudo_regret", "reward", "n_classes", *CLUSTERING_CURVES)
FILE_WORLD = "file"


def canonical(value: Any) -> str:
    """JSON in one spelling: keys sorted, no spaces.

    >>> canonical({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(*parts: Any) -> str:
    """The SHA-256 of the parts in canonical JSON: the same on every machine and in every process."""
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def derive_seed(*parts: Any) -> int:
    """A seed of 63 bits that is a stable hash of its parts.

    >>> derive_seed(0, "river", 1) == derive_seed(0, "river", 1) != derive_seed(0, "river", 2)
    True
    """
    return int(digest(*parts)[:16], 16) >> 1


@dataclass(frozen=True)
class RunSpec:
    """What one run is.

    ``params`` and ``settings`` are those that differ from their defaults, ``all_params`` and ``all_settings`` the rest
    as well; ``source`` only says where a saved world lies: its content is the hash in ``params``.
    """

    world: str
    params: Mapping[str, Any]
    all_params: Mapping[str, Any]
    learner: str
    settings: Mapping[str, Any]
    all_settings: Mapping[str, Any]
    horizon: int
    checkpoints: int | str | list[int]
    replicate: int
    seed: int
    world_seed: int | None = None
    measures: tuple[str, ...] = ()
    source: str | None = None

    def identity(self) -> dict[str, Any]:
        """All that changes the numbers, ready for JSON."""
        left_out = ("all_params", "all_settings", "source")
        items = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in left_out}
        return items | {"measures": list(self.measures), "result_version": RESULT_VERSION}

    def everything(self) -> dict[str, Any]:
        """All parameters and settings, those at their defaults included."""
        return {**self.all_params, **self.all_settings}

    @property
    def key(self) -> str:
        """The name of the result's file: a hash of :meth:`identity`."""
        return digest(self.identity())[:32]

    @property
    def cost(self) -> int:
        """A rough measure of the work, by which long runs of a replicate start first."""
        return self.horizon * (2 if self.measures else 1)


@dataclass(frozen=True)
class RunResult:
    """The curves of one run at its checkpoints ``t``, and what is known about it as a whole."""

    spec: RunSpec
    t: np.ndarray  # (K,) int64
    curves: dict[str, np.ndarray]  # name -> (K,)
    facts: dict[str, Any]  # gain, n_episodes, n_unconverged
    provenance: dict[str, Any]  # seconds, versions: never part of an exported table


@dataclass(frozen=True)
class RunFailure:
    """A run that raised: which, and the traceback."""

    spec: RunSpec
    error: str
    traceback: str


def one_spelling(value: Any, default: Any) -> Any:
    """A value as it stands in keys: a float where the default is one, the default itself where they are equal.

    >>> one_spelling(8, 4.0), one_spelling(4, 4.0), one_spelling("first", "random")
    (8.0, 4.0, 'first')
    """
    if value == default and isinstance(value, bool) == isinstance(default, bool):
        return default
    return float(value) if isinstance(default, float) and isinstance(value, int) else value


def settings_of(learner: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings that differ from the learner's defaults, and all of them; a mistake is an error that names it."""
    if "threads" in given:
        raise ValueError("threads has no place in a study: its runs are what is computed side by side, one thread each")
    chosen, usual = make_settings(learner, **given), make_settings(learner)
    if chosen is None or usual is None:
        return {}, {}
    defaults = asdict(usual)
    everything = {name: one_spelling(value, defaults[name]) for name, value in asdict(chosen).items()}
    return {name: value for name, value in everything.items() if defaults[name] != value}, everything


def build_world(spec: RunSpec) -> tuple[TabularMDP, float]:
    """The world of a run and its optimal gain; made once per process, since many runs share it."""
    return _build(spec.world, canonical(dict(spec.params)), spec.source)


@lru_cache(maxsize=8)
def _build(world: str, params: str, source: str | None) -> tuple[TabularMDP, float]:
    values = json.loads(params)
    mdp = _load(Path(source or ""), values["sha256"]) if world == FILE_WORLD else make(world, **values)
    return mdp, solve(mdp).gain


def _load(path: Path, sha256: str) -> TabularMDP:
    if not path.is_file():
        raise FileNotFoundError(f"the saved world {path} is not there; every worker must be able to read it")
    if file_digest(path) != sha256:
        raise ValueError(f"the saved world {path} changed since the study was read; start the study again")
    return TabularMDP.load(path)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def execute(spec: RunSpec) -> RunResult:
    """Compute one run."""
    started = time.perf_counter()
    mdp, gain = build_world(spec)
    trace = simulate(
        mdp,
        spec.learner,
        spec.horizon,
        spec.seed,
        checkpoints=np.array(spec.checkpoints) if isinstance(spec.checkpoints, list) else spec.checkpoints,
        measure_clustering="clustering" in spec.measures,
        world_seed=spec.world_seed,
        gain=gain,
        **spec.settings,
    )
    curves = {name: np.asarray(getattr(trace, name)) for name in CURVES if getattr(trace, name) is not None}
    facts = {
        "gain": float(trace.gain),
        "n_episodes": int(trace.n_episodes),
        "n_unconverged": int(trace.n_unconverged),
    }
    return RunResult(spec, np.asarray(trace.t), curves, facts, _provenance(time.perf_counter() - started))


def _provenance(seconds: float) -> dict[str, Any]:
    from importlib.metadata import version

    versions = {name: version(name) for name in ("equirl", "numpy", "numba")}
    return {"seconds": round(seconds, 4), "versions": versions}
