"""What one run is: a world, a learner, a horizon and a seed, and the hashes that name it.

The *key* of a run is a hash of all that changes its numbers; it names the file of its result. The *seed* is a hash of
less: the study's seed, the world, the learner and the replicate. So a learner more, a longer horizon or other
checkpoints leave every other seed alone, and a longer run begins as the shorter one. Parameters and settings at their
defaults stand in neither; the file keeps them, so that a default that has changed since is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from equirl.learners import AGENTS, AUTO, check_tolerance, find_learner, make_settings
from equirl.words.checking import unknown_name
from equirl.words.formatting import parse_value

RESULT_VERSION = 15  # part of every key: raise it when the numbers of a run change, or what it records
FILE_WORLD = "file"
CHOSEN = ("rewards", "pooling")  # settings that stand in keys wherever they are chosen, at their defaults too


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
    """A seed of 63 bits that is a stable hash of its parts."""
    return int(digest(*parts)[:16], 16) >> 1


@dataclass(frozen=True)
class RunSpec:
    """What one run is; ``all_params`` and ``all_settings`` hold also what is at its default."""

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
    renumber_seed: int | None = None
    keep: tuple[str, ...] = ()

    def identity(self) -> dict[str, Any]:
        """All that changes the numbers, ready for JSON."""
        left_out = ["all_params", "all_settings", "source", "keep"]
        left_out += ["renumber_seed"] if self.renumber_seed is None else []
        items = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in left_out}
        return items | {"measures": list(self.measures), "result_version": RESULT_VERSION}

    def everything(self) -> dict[str, Any]:
        return {**self.all_params, **self.all_settings}

    @cached_property
    def key(self) -> str:
        """The name of the result's file: a hash of :meth:`identity`."""
        return digest(self.identity())[:32]

    @cached_property
    def defaults(self) -> str:
        """A hash of :meth:`everything`, by which a default that has changed is noticed."""
        return digest(self.everything())[:32]

    @property
    def keeps_agent(self) -> bool:
        return "agent" in self.keep

    @property
    def cost(self) -> int:
        """A rough measure of the work, by which long runs of a replicate start first."""
        return self.horizon * (2 if self.measures else 1)


def one_spelling(value: Any, default: Any) -> Any:
    """A value as it stands in keys: a float where the default is one, the default itself where they are equal.

    >>> one_spelling(8, 4.0), one_spelling(4, 4.0), one_spelling("first", "random")
    (8.0, 4.0, 'first')
    """
    if value == default and isinstance(value, bool) == isinstance(default, bool):
        return default
    return float(value) if isinstance(default, float) and isinstance(value, int) else value


def settings_of(learner: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a learner: those that stand in keys and seeds, and all of them."""
    if "threads" in given:
        raise ValueError("threads has no place in a study: its runs are what is computed side by side, one thread each")
    own = {name: value for name, value in given.items() if name != "tolerance"}
    more = {"tolerance": given["tolerance"]} if "tolerance" in given else {}  # of agent_for, not of the learner
    chosen, usual = make_settings(learner, **own), make_settings(learner)
    own = {name: value for name, value in own.items() if value != AUTO}
    if more:
        check_tolerance(learner, chosen, more["tolerance"])
    if chosen is None or usual is None:
        return {}, {}
    defaults = usual.without_given().as_dict()  # "auto" is as where nothing is given: the world decides later
    values = chosen.without_given().as_dict()
    everything = {name: one_spelling(value, defaults[name]) for name, value in values.items()}
    changed = {name: value for name, value in everything.items() if defaults[name] != value}
    implied = make_settings(learner, **changed)  # a default may depend on what was changed
    assert implied is not None
    usual_values = implied.without_given().as_dict()
    changed |= {name: everything[name] for name, value in usual_values.items() if everything[name] != value}
    stated = {name: everything[name] for name in CHOSEN if name in own}
    return changed | stated | more, everything | more


def read_settings(texts: Iterable[str], learners: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The settings that the command line chooses: ``c-psrl.scan=500`` for one learner, ``delta=0.1`` for all."""
    chosen: dict[str, dict[str, Any]] = {name: {} for name in learners}
    for text in texts:
        place, equals, value = text.partition("=")
        learner, dot, key = place.strip().rpartition(".")
        if not equals or not key:
            raise ValueError(f"--set takes key=value, not {text!r}; for one learner alone, learner.key=value")
        if dot and learner not in chosen:
            what = (
                f"{learner!r} does not play here; these do: {', '.join(chosen)}"
                if learner in AGENTS
                else unknown_name("learner", learner, chosen)
            )
            raise ValueError(f"--set {text}: {what}")
        for name in [learner] if dot else chosen:
            _check_key(text, name, key)
            chosen[name][key] = parse_value(value.strip())
    return chosen


def _check_key(text: str, learner: str, key: str) -> None:
    known = find_learner(learner).keys
    if not known:
        raise ValueError(f"--set {text}: learner {learner!r} has no settings")
    if key not in known and key != "tolerance":  # of agent_for
        raise ValueError(f"--set {text}: for {learner!r}: " + unknown_name("setting", key, known))


def file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
