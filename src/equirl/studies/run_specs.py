"""What one run is: a world, a learner, a horizon and a seed, and the hashes that name it.

The *key* of a run is a hash of all that changes its numbers; it names the file of its result. The *seed* is a hash of
less: the study's seed, the world, the learner and the replicate. So a learner more, a longer horizon or other
checkpoints leave every other seed alone, and a longer run begins as the shorter one. Parameters and settings at their
defaults stand in neither; the file keeps them, so that a default that has changed since is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from equirl.learners.learner_registry import OPEN, check_tolerance, make_settings

RESULT_VERSION = 2  # part of every key: raise it when the numbers of a run change, or what it records
FILE_WORLD = "file"


def canonical(value: Any) -> str:
    """JSON in one spelling: keys sorted, no spaces.

    Parameters
    ----------
    value : Any
        What JSON can hold.

    Returns
    -------
    str

    Examples
    --------
    >>> canonical({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(*parts: Any) -> str:
    """The SHA-256 of the parts in canonical JSON: the same on every machine and in every process.

    Parameters
    ----------
    *parts : Any
        What JSON can hold.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def derive_seed(*parts: Any) -> int:
    """A seed of 63 bits that is a stable hash of its parts.

    Parameters
    ----------
    *parts : Any
        What JSON can hold.

    Returns
    -------
    int

    Examples
    --------
    >>> derive_seed(0, "river", 1) == derive_seed(0, "river", 1) != derive_seed(0, "river", 2)
    True
    """
    return int(digest(*parts)[:16], 16) >> 1


@dataclass(frozen=True)
class RunSpec:
    """What one run is.

    Parameters
    ----------
    world : str
        A registered world, or ``"file"`` for a saved one.
    params : mapping
        Parameters of the world that differ from their defaults; the hash of a saved world's content.
    all_params : mapping
        Those at their defaults as well.
    learner : str
        A registered learner.
    settings : mapping
        Settings of the learner that differ from their defaults.
    all_settings : mapping
        Those at their defaults as well.
    horizon : int
        The number of steps.
    checkpoints : int, "log" or list of int
        Where curves are recorded.
    replicate : int
        Which of the independent runs of this learner in this world it is, from 0.
    seed : int
        The seed of the run.
    world_seed : int, optional
        The seed of the world's randomness, where learners share it.
    measures : tuple of str
        What else is recorded: ``"clustering"``.
    source : str, optional
        Where a saved world lies; it has no part in the identity of the run.
    renumber_seed : int, optional
        The seed by which states and actions of the world are renumbered, the same for all learners; part of the
        identity where it is given.
    keep : tuple of str
        What else is kept of the run: ``"agent"``. It changes no number and has no part in the identity.
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
    renumber_seed: int | None = None
    keep: tuple[str, ...] = ()

    def identity(self) -> dict[str, Any]:
        """All that changes the numbers, ready for JSON."""
        left_out = ["all_params", "all_settings", "source", "keep"]
        left_out += ["renumber_seed"] if self.renumber_seed is None else []
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
    def keeps_agent(self) -> bool:
        """Whether the learner is kept as the run leaves it."""
        return "agent" in self.keep

    @property
    def cost(self) -> int:
        """A rough measure of the work, by which long runs of a replicate start first."""
        return self.horizon * (2 if self.measures else 1)


def one_spelling(value: Any, default: Any) -> Any:
    """A value as it stands in keys: a float where the default is one, the default itself where they are equal.

    Parameters
    ----------
    value : Any
        As given.
    default : Any
        As it is where nothing is given.

    Returns
    -------
    Any

    Examples
    --------
    >>> one_spelling(8, 4.0), one_spelling(4, 4.0), one_spelling("first", "random")
    (8.0, 4.0, 'first')
    """
    if value == default and isinstance(value, bool) == isinstance(default, bool):
        return default
    return float(value) if isinstance(default, float) and isinstance(value, int) else value


def settings_of(learner: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a learner.

    Parameters
    ----------
    learner : str
        A registered learner.
    given : mapping
        Settings by keyword.

    Returns
    -------
    changed : dict
        Those that differ from the learner's defaults, and those stated that would otherwise depend on the world.
    everything : dict
        All of them.

    Raises
    ------
    TypeError, ValueError
        Where a setting is unknown or has no such value.
    """
    if "threads" in given:
        raise ValueError("threads has no place in a study: its runs are what is computed side by side, one thread each")
    own = {name: value for name, value in given.items() if name != "tolerance"}
    handed = {"tolerance": given["tolerance"]} if "tolerance" in given else {}  # of agent_for, not of the learner
    chosen, usual = make_settings(learner, **own), make_settings(learner)
    if handed:
        check_tolerance(learner, chosen, handed["tolerance"])
    if chosen is None or usual is None:
        return {}, {}
    defaults = usual.as_dict()
    everything = {name: one_spelling(value, defaults[name]) for name, value in chosen.as_dict().items()}
    changed = {name: value for name, value in everything.items() if defaults[name] != value}
    implied = make_settings(learner, **changed)  # a default may depend on what was changed
    assert implied is not None
    changed |= {name: everything[name] for name, value in implied.as_dict().items() if everything[name] != value}
    stated = {name: everything[name] for name in OPEN if name in own}  # or the world at hand would decide
    return changed | stated | handed, everything | handed


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()
