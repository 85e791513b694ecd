"""Values written as text, in worlds (``four-room:height=17``) and on the command line (``--set delta=0.1``)."""

from __future__ import annotations

from typing import Any

_WORDS = {"true": True, "false": False, "none": None}


def parse_value(text: str) -> Any:
    """The value that a text stands for: True, False or None, an integer, a float, or the text itself.

    Examples
    --------
    >>> [parse_value(text) for text in ("true", "None", "17", "1e-3", "inf", "first")]
    [True, None, 17, 0.001, inf, 'first']
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
