"""Long arrays in messages: their bytes in base64, which both ends read many times faster than lists of numbers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

TYPES = {"i4": "<i4", "f4": "<f4"}


def packed(array: Any, kind: str = "i4") -> dict[str, str]:
    """An array for a message.

    Examples
    --------
    >>> packed([1, 2]), unpacked(packed([0.5], "f4")).tolist()
    ({'i4': 'AQAAAAIAAAA='}, [0.5])
    """
    return {kind: base64.b64encode(np.ascontiguousarray(array, TYPES[kind]).tobytes()).decode()}


def unpacked(held: dict[str, str]) -> np.ndarray:
    """The array of a message."""
    ((kind, text),) = held.items()
    return np.frombuffer(base64.b64decode(text), TYPES[kind])
