"""Work that can be paused: a generator says before each piece how many look-ups it will take, and waits to be asked."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Portions = Generator[float, None, T]


def finished(work: Portions[T]) -> T:
    """All of it at once."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
