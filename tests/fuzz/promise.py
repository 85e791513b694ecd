"""What every call promises, however wrong its arguments: an answer, or an error that was meant and names its culprit.

An error is *meant* where a ``raise`` statement of the package raised it, or it is of a class of the package, or it is
the system's own word on a file that it names. It *names its culprit* where its message holds the name of an argument of
the call, what was given for it, or one of the call's own words. What NumPy, SciPy, Numba, Matplotlib, Rich or pathlib
raise by themselves is a defect, and so is a warning of theirs.
"""

from __future__ import annotations

import linecache
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import equirl
from equirl.words.formatting import shown

HOME = str(Path(equirl.__file__).parent)


class BrokenPromise(AssertionError):  # noqa: N818
    """A promise that was not kept; the message has the call and the traceback."""


class Ledger:
    """Counts calls by how they ended; where asked to, collects what is broken instead of raising at the first."""

    def __init__(self, collect: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self.broken: dict[str, str] = {}  # place -> first report
        self.collect = collect

    def announce(self, call: str) -> None:
        """A call is about to be made."""

    def breaks(self, place: str, report: str) -> None:
        self.counts["broken"] += 1
        if not self.collect:
            raise BrokenPromise(report)
        self.broken.setdefault(place, report)


def keep_promise(
    ledger: Ledger, name: str, call: Callable[..., Any], arguments: Mapping[str, Any], words: Iterable[str] = ()
) -> Any:
    """Make a call and look at what it raises, if it does. The answer, or None where it raised."""
    ledger.counts["calls"] += 1
    ledger.announce(told(name, arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # the package's own words to users; missing glyphs
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            answer = call(**arguments)
        except MemoryError:  # the machine's word on what was asked of it
            ledger.counts["too large"] += 1
            return None
        except Exception as error:
            judge(ledger, name, error, arguments, words)
            return None
    ledger.counts["answered"] += 1
    return answer


def judge(ledger: Ledger, name: str, error: Exception, arguments: Mapping[str, Any], words: Iterable[str] = ()) -> None:
    """Whether an error was meant and names its culprit."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno} {type(error).__name__}"
    call = told(name, arguments)
    if not is_meant(error):
        ledger.breaks(f"{name}: {place}", f"{call}\nraised by no one of us at {place}\n{_trace(error)}")
    elif not names_culprit(error, arguments, words):
        ledger.breaks(f"{name}: {place}", f"{call}\nnames nobody: {type(error).__name__}: {error}\n{_trace(error)}")
    else:
        ledger.counts["refused"] += 1


def told(name: str, arguments: Mapping[str, Any]) -> str:
    """A call in words."""
    return f"{name}({', '.join(f'{key}={shown(value)}' for key, value in arguments.items())})"


def is_meant(error: Exception) -> bool:
    """Whether the package raised it on purpose, or the system names the file that it is about."""
    if type(error).__module__.startswith("equirl."):
        return True
    if isinstance(error, OSError) and error.filename is not None:
        return True
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return frame.filename.startswith(HOME) and line.startswith("raise")


def names_culprit(error: Exception, arguments: Mapping[str, Any], words: Iterable[str]) -> bool:
    """Whether the message holds the name of an argument, what was given for it, or a word of the call's own."""
    if isinstance(error, OSError) and error.filename is not None:
        return True
    message = str(error)
    names = {part for name in arguments for part in (name, name.replace("_", " "), name.rstrip("s"))}
    wanted = "|".join(re.escape(name) for name in {*names, *words} if name)
    if re.search(rf"(?<!\w)({wanted})s?(?!\w)", message, re.IGNORECASE):
        return True
    values = [text for value in arguments.values() for text in (shown(value), str(value) if _is_path(value) else "")]
    return any(text[:60] in message for text in values if len(text) > 2)


def _is_path(value: object) -> bool:
    return isinstance(value, str | Path)


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error)[-6:])
