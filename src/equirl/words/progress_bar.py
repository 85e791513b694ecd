"""How far something has come: a bar on a terminal or in a notebook for ``progress=True``, or a user's function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from equirl.words.formatting import duration, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Advance = Callable[[int, int], Any]


@contextmanager
def progress_called(progress: bool | Advance | None, what: str) -> Iterator[Advance]:
    """Inside, what to call as ``(done, total)``: for True a bar, where there is somebody to see it."""
    if not isinstance(progress, bool) and progress is not None:
        if not callable(progress):
            raise TypeError(f"progress must be True, or a function of (done, total), not {shown(progress)}")
        yield progress
        return
    screen = console() if progress else None
    if screen is None or not (screen.is_terminal or screen.is_jupyter):
        yield lambda done, total: None
        return
    with bars(screen, transient=True) as display:
        bar, begin = display.add_task(what, total=None, news="starting"), monotonic()

        def advance(done: int, total: int) -> None:
            left = duration((monotonic() - begin) * (total - done) / max(done, 1))
            news = f"{done:,}/{total:,}" + (f", about {left} left" if done < total else "")
            display.update(bar, completed=done, total=total, news=news)

        yield advance


def console() -> Console:
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False)  # labels are text, not markup


def bars(screen: Console, *, transient: bool = False) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn

    name, news = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[news]}"))
    return Progress(name, BarColumn(), news, console=screen, transient=transient)
