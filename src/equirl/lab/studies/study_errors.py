"""Mistakes in a study file, in words: where, which key, what is wrong with it, what the key means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from equirl.words.checking import unknown_name
from equirl.words.formatting import shown

_LIMITS = {
    "greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "more than"), "less_than_equal": ("le", "at most"),
}  # fmt: skip


def explain(error: ValidationError, text: str, place: str, model: type[BaseModel]) -> str:
    """The mistakes of a study in words."""
    messages: dict[tuple[str | int, ...], str] = {}
    for detail in error.errors():
        path, inside = _locate(detail["loc"], model, detail["type"] == "extra_forbidden")
        messages.setdefault(path, _message(detail, path, inside))
    return "\n".join(f"{_place(path, text, place)}: {message}" for path, message in messages.items())


def _locate(
    loc: Sequence[str | int], model: type[BaseModel], unknown: bool
) -> tuple[tuple[str | int, ...], type[BaseModel]]:
    """The keys and positions of a place in a study (without the names of alternatives), and the model it lies in."""
    path: list[str | int] = []
    inside = model
    for k, step in enumerate(loc):
        if isinstance(step, int):
            path.append(step)
        elif step in inside.model_fields:
            path.append(step)
            deeper = _model_in(inside.model_fields[step].annotation)
            if deeper is not None and k + 1 < len(loc):
                inside = deeper
        elif unknown and k + 1 == len(loc):
            path.append(step)
    return tuple(path), inside


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(part) for part in get_args(annotation))
    return next((part for part in found if part is not None), None)


def _message(detail: ErrorDetails, path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    keys = [step for step in path if isinstance(step, str)]
    key, given, kind = keys[-1] if keys else "the study", detail["input"], detail["type"]
    if kind == "extra_forbidden":
        text = unknown_name("key", key, model.model_fields)
        near = re.search(r"did you mean '(\w+)'", text)
        return f"{text.split(' Known:')[0]}{_meaning(near.group(1), model)}" if near else text
    if kind == "missing":
        return f"the key {key!r} is missing{_meaning(key, model)}"
    if kind in _LIMITS:
        limit, words = _LIMITS[kind]
        return f"{key} must be {words} {detail['ctx'][limit]}, not {shown(given)}{_meaning(key, model)}"
    if kind in ("too_short", "string_too_short"):
        return f"{key} is empty{_meaning(key, model)}"
    wanted = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    wanted = "" if key == "checkpoints" else f"; it should be {wanted}"
    return f"{key} cannot be {shown(given)}{wanted}{_meaning(key, model)}"


def _meaning(key: str, model: type[BaseModel]) -> str:
    field = model.model_fields.get(key)
    return f" ({key}: {field.description})" if field and field.description else ""


def place_of_name(name: str, text: str, place: str, part: int | None) -> str:
    """Where a name stands in a study.

    Examples
    --------
    >>> place_of_name("cucrl", 'runs = 3\\nlearners = ["cucrl"]', "rivers.toml", None)
    'rivers.toml, line 2'
    """
    lines = text.splitlines()
    for first, last in (_lines_of(lines, part), _lines_of(lines, None)):
        for k in range(first, last):
            if f'"{name}"' in lines[k] or f"'{name}'" in lines[k]:
                return f"{place}, line {k + 1}"
    return place


def _lines_of(lines: list[str], part: int | None) -> tuple[int, int]:
    """The first line of a part, or of the top, and the one after its last."""
    headers = [k for k, line in enumerate(lines) if re.match(r"\s*\[\[\s*parts\s*\]\]", line)]
    bounds = [0, *headers, len(lines)]
    block = 0 if part is None or part >= len(headers) else part + 1
    return bounds[block], bounds[block + 1]


def _place(path: tuple[str | int, ...], text: str, place: str) -> str:
    """The name of the file and, where it can be told, the line of a key."""
    lines = text.splitlines()
    in_part = len(path) > 1 and path[0] == "parts" and isinstance(path[1], int)
    first, last = _lines_of(lines, path[1] if in_part else None)  # type: ignore[arg-type]
    for key in (re.escape(step) for step in reversed(path) if isinstance(step, str)):
        is_given = re.compile(rf"(^|[\s,{{]){key}\s*=|^\s*\[+\s*{key}(?!\w)")
        for k in range(first, last):
            if is_given.search(lines[k]):
                return f"{place}, line {k + 1}"
    return place
