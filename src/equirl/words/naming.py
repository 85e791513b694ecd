"""Answers to a wrong name: what was asked, the nearest right one, all of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from equirl.words.formatting import shown


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """A message for a name that is not there.

    Examples
    --------
    >>> unknown_name("learner", "cucrl", ["ucrl2-l", "c-ucrl"])
    "unknown learner 'cucrl'; did you mean 'c-ucrl'? Known: c-ucrl, ucrl2-l"
    """
    names = sorted(known)
    near = difflib.get_close_matches(shown(name).strip("'"), names, n=1, cutoff=0.5)
    nearest = [repr(one) if isinstance(name, str) else one for one in near]  # a tuple is written without quotes
    hint = f"; did you mean {nearest[0]}?" if near else "."
    return f"unknown {kind} {shown(name)}{hint} Known: {', '.join(names)}"
