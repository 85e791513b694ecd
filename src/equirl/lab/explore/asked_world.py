"""The world that a page asks for: by text or by the name of a file that the command was given, within limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equirl.lab.explore.page_limits import MOST_NUMBER, MOST_PAIRS
from equirl.model import TabularMDP
from equirl.words.checking import unknown_name
from equirl.worlds import find_world, load_world, make, parse_world


def asked_world(asked: Any, files: Mapping[str, Path]) -> TabularMDP:
    """The world of a message.

    Examples
    --------
    >>> asked_world({"text": "riverswim:n_states=6"}, {}).n_pairs
    12
    >>> asked_world({"text": "riverswim:n_states=1000000"}, {})
    Traceback (most recent call last):
    ValueError: n_states=1000000 is more than this page takes; numbers up to 100,000 are
    """
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
            if isinstance(value, int) and abs(value) > MOST_NUMBER:
                raise ValueError(f"{key}={value} is more than this page takes; numbers up to {MOST_NUMBER:,} are")
        mdp = make(name, **params)
    if mdp.n_pairs > MOST_PAIRS:
        raise ValueError(f"a world of {mdp.n_pairs:,} pairs is too large for this page, which shows {MOST_PAIRS:,}")
    return mdp


def blamed_parameter(asked: Any, message: str) -> str | None:
    """The parameter that a complaint about a world names first.

    Examples
    --------
    >>> blamed_parameter({"text": "four-room:height=3"}, "height must be at least 5, not 3")
    'height'
    """
    try:
        names = find_world(asked["text"].partition(":")[0].strip()).params
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    places = {name: re.search(rf"\b{re.escape(name)}\b", message) for name in names}
    found = [(place.start(), name) for name, place in places.items() if place is not None]
    return min(found)[1] if found else None
