"""What answers are given in: marks on types, from which the docs' table of units and names is made.

``def gain(self) -> InUnits[float]`` says that the gain is in the units of the user's rewards, ``UnitReward`` that
rewards are in [0, 1], ``ByName`` that states and actions go by name where they have names, ``ByNumber`` that they go by
number. To Python and to type checkers the marks are not there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Mark:
    """What an answer is given in."""

    unit: str = ""
    names: str = ""


USER, UNIT = Mark(unit="the user's"), Mark(unit="[0, 1]")
NAMES, NUMBERS = Mark(names="names"), Mark(names="numbers")
InUnits = Annotated[T, USER]
UnitReward = Annotated[T, UNIT]
ByName = Annotated[T, NAMES]
ByNumber = Annotated[T, NUMBERS]
MARKS = {"InUnits": USER, "UnitReward": UNIT, "ByName": NAMES, "ByNumber": NUMBERS}
MARKED = re.compile(rf"\b({'|'.join(MARKS)})\[")


class AnswerRow(NamedTuple):
    """A row of the table."""

    object: str
    method: str
    unit: str  # of rewards; empty where there are none
    names: str  # how states and actions are called; empty where there are none


def answers(objects: Iterable[Any]) -> list[AnswerRow]:
    """What the public members of classes, and functions, are marked with, in the order in which they are written."""
    return [row for item in objects for row in (_of_class(item) if isinstance(item, type) else _of_function(item))]


def _of_class(kind: type) -> Iterator[AnswerRow]:
    for name, hint in inspect.get_annotations(kind).items():
        if not name.startswith("_") and (found := _marks(hint)):
            yield _answer(kind.__name__, name, found)
    for name, member in vars(kind).items():
        held = member.fget if isinstance(member, property) else getattr(member, "func", None)
        function = held or member
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if found := _marks(function.__annotations__.get("return")):
            yield _answer(kind.__name__, f"{name}{'' if held else '()'}", found)


def _of_function(function: Any) -> Iterator[AnswerRow]:
    if found := _marks(function.__annotations__.get("return")):
        yield _answer("", f"{function.__name__}()", found)


def _answer(kind: str, name: str, found: list[Mark]) -> AnswerRow:
    return AnswerRow(kind, name, "".join(one.unit for one in found), "".join(one.names for one in found))


def _marks(hint: Any) -> list[Mark]:
    """The marks of an annotation, which is a text until somebody needs the types in it."""
    return [MARKS[name] for name in MARKED.findall(str(hint))]
