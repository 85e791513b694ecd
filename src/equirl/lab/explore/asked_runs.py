"""The comparison that a page asks for: learners with settings, a horizon and seeds, within limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from equirl.lab.explore.page_limits import MOST_LEARNERS, MOST_NUMBER, MOST_RUNS, MOST_STEPS
from equirl.learners import find_learner, make_settings
from equirl.words.checking import flag, whole_number
from equirl.words.formatting import parse_value

MOST_SEED = 2**53  # a page's numbers are exact up to here


@dataclass(frozen=True)
class AskedRuns:
    """Learners side by side."""

    learners: Mapping[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    horizon: int = 20_000
    seeds: range = range(1)
    common: bool = False


def asked_runs(message: Mapping[str, Any]) -> AskedRuns:
    """The comparison of a message.

    Examples
    --------
    >>> asked_runs({"learners": [{"name": "c-ucrl", "settings": "balance=2"}], "horizon": 500}).learners
    {'c-ucrl balance=2': ('c-ucrl', {'balance': 2})}
    """
    given = message.get("learners")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_LEARNERS:
        raise ValueError(f"choose 1 to {MOST_LEARNERS} learners")
    learners: dict[str, tuple[str, dict[str, Any]]] = {}
    for entry in given:
        name, settings = asked_learner(entry)
        make_settings(name, **settings)
        label = name + "".join(f" {key}={value}" for key, value in settings.items())
        if label in learners:
            raise ValueError(f"learner {label!r} is listed twice")
        learners[label] = name, settings
    horizon = whole_number("the horizon", message.get("horizon", 20_000), most=MOST_STEPS)
    seed = whole_number("the seed", message.get("seed", 0), least=0, most=MOST_SEED)
    runs = whole_number("the number of runs", message.get("runs", 1), most=MOST_RUNS)
    return AskedRuns(learners, horizon, range(seed, seed + runs), flag("common", message.get("common", False)))


def asked_learner(entry: Any) -> tuple[str, dict[str, Any]]:
    """Name and settings of one learner."""
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
        if isinstance(settings[key], int) and abs(settings[key]) > MOST_NUMBER:
            raise ValueError(f"{key}={value} is more than this page takes; numbers up to {MOST_NUMBER:,} are")
    return str(name), settings
