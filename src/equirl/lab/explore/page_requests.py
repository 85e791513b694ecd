"""What a page asks for, read from its messages within limits: a world, and learners to play in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from equirl.lab.explore.page_limits import MOST_LEARNERS, MOST_NUMBER, MOST_PAIRS, MOST_RUNS, MOST_STEPS
from equirl.learners import find_learner, make_settings
from equirl.model import TabularMDP
from equirl.words.checking import flag, unknown_name, whole_number
from equirl.words.formatting import parse_value
from equirl.worlds import find_world, load_world, make, parse_world

MOST_SEED = 2**53  # a page's numbers are exact up to here


def requested_world(asked: Any, files: Mapping[str, Path]) -> TabularMDP:
    """The world of ``{"text": ...}``, or of ``{"file": ...}`` among the files that the command was given."""
    if not isinstance(asked, dict) or set(asked) not in ({"text"}, {"file"}):
        raise ValueError("a world is asked for by its text or by the name of a file")
    if "file" in asked:
        if not isinstance(asked["file"], str) or asked["file"] not in files:
            raise ValueError(unknown_name("file", asked["file"], files))
        mdp = load_world(files[asked["file"]])
    else:
        if not isinstance(asked["text"], str):
            raise TypeError(f"the text of a world must be text, not {asked['text']!r}")
        name, params = parse_world(asked["text"])
        for key, value in params.items():
            _check_size(key, value)
        mdp = make(name, **params)
    if mdp.n_pairs > MOST_PAIRS:
        raise ValueError(f"a world of {mdp.n_pairs:,} pairs is too large for this page, which shows {MOST_PAIRS:,}")
    return mdp


def blamed_parameter(asked: Any, message: str) -> str | None:
    """The parameter that a complaint about a world names first."""
    try:
        names = find_world(asked["text"].partition(":")[0].strip()).params
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    places = {name: re.search(rf"\b{re.escape(name)}\b", message) for name in names}
    found = [(place.start(), name) for name, place in places.items() if place is not None]
    return min(found)[1] if found else None


@dataclass(frozen=True)
class RunRequest:
    """Learners to play side by side: by label their names and settings."""

    learners: Mapping[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    horizon: int = 20_000
    seeds: range = range(1)
    common: bool = False


def requested_runs(message: Mapping[str, Any]) -> RunRequest:
    """The learners, horizon and seeds of a message."""
    given = message.get("learners")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_LEARNERS:
        raise ValueError(f"choose 1 to {MOST_LEARNERS} learners")
    learners: dict[str, tuple[str, dict[str, Any]]] = {}
    for entry in given:
        name, settings = requested_learner(entry)
        label = name + "".join(f" {key}={value}" for key, value in settings.items())
        if label in learners:
            raise ValueError(f"learner {label!r} is listed twice")
        learners[label] = name, settings
    horizon = whole_number("the horizon", message.get("horizon", 20_000), most=MOST_STEPS)
    seed = whole_number("the seed", message.get("seed", 0), least=0, most=MOST_SEED)
    runs = whole_number("the number of runs", message.get("runs", 1), most=MOST_RUNS)
    return RunRequest(learners, horizon, range(seed, seed + runs), flag("common", message.get("common", False)))


def requested_learner(entry: Any) -> tuple[str, dict[str, Any]]:
    """Name and settings of one learner, checked."""
    if not isinstance(entry, dict) or not isinstance(entry.get("settings", ""), str):
        raise TypeError("a learner is a name and a text of settings")
    name = entry.get("name")
    find_learner(name)  # type: ignore[arg-type]
    settings: dict[str, Any] = {}
    for part in filter(None, map(str.strip, entry.get("settings", "").split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value:
            raise ValueError(f"settings are written key=value, with commas between them; {part!r} is not")
        if key == "threads":
            raise ValueError("threads has no place here: runs share the machine, one thread each")
        settings[key] = parse_value(value)
        _check_size(key, settings[key])
    make_settings(str(name), **settings)
    return str(name), settings


def _check_size(key: str, value: Any) -> None:
    if isinstance(value, int) and abs(value) > MOST_NUMBER:
        raise ValueError(f"{key}={value} is more than this page takes; numbers up to {MOST_NUMBER:,} are")
