"""Messages between a page and its processes: JSON, with long arrays packed; and what answers them."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.words.formatting import json_ready

if TYPE_CHECKING:
    from equirl.simulation import Curves

TYPES = {"i4": "<i4", "f4": "<f4"}

Message = dict[str, Any]
Reply = dict[str, Any]


class Service(ABC):
    """Answers messages of a page, one at a time; some also send replies unasked, or while they are at work."""

    tell: Callable[[Reply], None] = staticmethod(lambda reply: None)

    @abstractmethod
    def handle(self, message: Message) -> Iterator[Reply]:
        """Answer one message."""

    def pause(self) -> float | None:
        """Seconds to wait for a message before the next :meth:`tick`; None: for ever."""
        return None

    def tick(self) -> Iterator[Reply]:
        """Go on with what is under way."""
        return iter(())

    def problem_fields(self, message: Message, error: Exception) -> Reply:
        """What the reply to a message that raised holds beyond the error's text."""
        return {}


def encoded(reply: Mapping[str, Any]) -> str:
    """A reply as JSON; numbers that JSON does not have become null, or "infinite"."""
    try:
        return json.dumps(reply, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(json_ready(reply, infinite="infinite"), separators=(",", ":"), allow_nan=False)


def packed(array: Any, kind: str = "i4") -> dict[str, str]:
    """An array as bytes in base64, which both ends read many times faster than a list of numbers."""
    return {kind: base64.b64encode(np.ascontiguousarray(array, TYPES[kind]).tobytes()).decode()}


def mean_and_half(curves: Curves, measure: str) -> Reply:
    """The mean curve of a measure and half its 95 % intervals; null where a single run has none."""
    half = curves.half_width(measure)
    return {"mean": curves.mean(measure).tolist(), "half": half.tolist() if np.isfinite(half).all() else None}
