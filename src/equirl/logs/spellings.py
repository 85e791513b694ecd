"""Names that are one number written in two ways, such as ``1`` and ``1.0``: they would become two states in silence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from equirl.logs.log_files import Labels
from equirl.logs.log_roles import Origin
from equirl.words.formatting import shown

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def check_spellings(kind: str, columns: Mapping[str, Labels], origin: Origin) -> None:
    """An error that names both cells where two names are equal as numbers and different as they are written."""
    if not any(isinstance(name, str) for column in columns.values() for name in column.names):
        return  # numbers that are equal are one name
    known: dict[Any, tuple[Any, str, int]] = {}
    for role, column in columns.items():
        for k, name in enumerate(column.names):
            value = _value(name)
            if value is None:
                continue
            other, its_role, place = known.setdefault(value, (name, role, k))
            if other != name:
                one = _first_cell(its_role, columns[its_role], place, origin)
                two = _first_cell(role, column, k, origin).removeprefix(origin.prefix)
                raise ValueError(
                    f"{one} is {shown(other)} and {two} "
                    f"is {shown(name)}: one number written in two ways, which would be two {kind}s. Write it in one "
                    "way (whole numbers become 1.0 where a column of floats holds gaps); where they are two, let them "
                    "differ by more, such as id-01"
                )


def _value(name: Any) -> Any:
    """The number that a name is or spells, to be looked up exactly; None where it is none."""
    if isinstance(name, int | float):
        return name
    if not isinstance(name, str) or not _NUMBER.fullmatch(name):
        return None
    try:
        return Decimal(name)
    except InvalidOperation:  # an exponent beyond all
        return None


def _first_cell(role: str, column: Labels, place: int, origin: Origin) -> str:
    return origin.cell(role, int((column.code == place).argmax()))
