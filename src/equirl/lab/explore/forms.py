"""What a page needs to offer worlds and learners: their parameters as form fields, with the words of the docs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from equirl.lab.explore import page_limits
from equirl.lab.plots.canvas import LEARNER_STYLES, OTHER_STYLES
from equirl.learners import AGENTS, RECOMMENDED
from equirl.model import REWARD_DISTRIBUTIONS
from equirl.worlds import COMMON, KERNELS, WORLDS, World

COMMON_NOTES = {
    "preset": "Named values of the other parameters.",
    "reward_law": "How rewards are drawn around their means.",
    "concentration": "Of beta rewards: Beta(mean k, (1 - mean) k).",
    "shuffle": "A seed: states and actions are renumbered at random. Empty: not.",
}


def catalogue() -> dict[str, Any]:
    """The worlds and learners there are, with their fields."""
    styles = {name: [style.color, style.dashes] for name, style in LEARNER_STYLES.items()}
    return {
        "worlds": {name: {"about": w.description, "fields": world_fields(w)} for name, w in WORLDS.items()},
        "learners": {
            name: {"about": row.description, "settings": {k: _text(v) for k, v in row.defaults().items()}}
            for name, row in AGENTS.items()
        },
        "recommended": RECOMMENDED,
        "styles": styles,
        "other_styles": [[style.color, style.dashes] for style in OTHER_STYLES],
        "limits": {name: getattr(page_limits, name) for name in ("MOST_LEARNERS", "MOST_RUNS", "MOST_STEPS")},
    }


def world_fields(world: World) -> list[dict[str, Any]]:
    """The form fields of a world, its own first."""
    notes = parameter_notes(world.factory) | COMMON_NOTES
    choices: dict[str, list[str]] = {"reward_law": list(REWARD_DISTRIBUTIONS), "preset": list(world.presets)}
    return [
        {
            "name": name, "kind": _kind(name, default), "default": _text(default), "note": notes.get(name, ""),
            "choices": choices.get(name, list(KERNELS) if name == "kernel" else []), "common": name in COMMON,
        }
        for name, default in world.params.items()
    ]  # fmt: skip


def parameter_notes(function: Callable[..., Any]) -> dict[str, str]:
    """What the docstring of a function, in NumPy style, says of each parameter."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", text, re.MULTILINE | re.DOTALL)
    notes: dict[str, str] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else ():
        if line.startswith(" "):
            for name in names:
                notes[name] = f"{notes.get(name, '')} {line.strip()}".strip()
        else:
            names = [name.strip().lstrip("*") for name in line.partition(" :")[0].split(",")]
    return {name: note.replace("``", "") for name, note in notes.items()}


def _kind(name: str, default: Any) -> str:
    if name == "map":
        return "map"
    if name in ("reward_law", "preset"):
        return "choice"
    kinds = {bool: "flag", int: "whole", float: "number"}
    return kinds.get(type(default), "text")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return "" if value is None else str(value)
