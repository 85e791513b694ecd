"""Progress: a bar where somebody can see it, a function of the user's, or nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from equirl.words import progress_bar
from equirl.words.progress_bar import progress_called


def on(screen, monkeypatch):
    monkeypatch.setattr(progress_bar, "console", lambda: screen)
    return screen


def test_a_bar_counts_on_a_terminal_and_says_how_much_is_left(monkeypatch):
    now = iter([100.0, 110.0, 130.0])
    monkeypatch.setattr(progress_bar, "monotonic", lambda: next(now))
    screen = on(Console(file=io.StringIO(), force_terminal=True, width=100), monkeypatch)
    displays = []
    make = progress_bar.bars
    monkeypatch.setattr(progress_bar, "bars", lambda *a, **k: displays.append(make(*a, **k)) or displays[-1])
    with progress_called(True, "steps") as advance:
        advance(1_000, 3_000)
        (task,) = displays[0].tasks
        assert (task.completed, task.total, task.fields["news"]) == (1_000, 3_000, "1,000/3,000, about 20 s left")
        advance(3_000, 3_000)
        assert task.fields["news"] == "3,000/3,000"
    assert "steps" in screen.file.getvalue()


@pytest.mark.parametrize("asked", [True, False, None])
def test_elsewhere_nothing_is_written(monkeypatch, asked):
    screen = on(Console(file=io.StringIO(), force_terminal=asked is not True, width=100), monkeypatch)
    with progress_called(asked, "steps") as advance:
        advance(1, 2)
    assert screen.file.getvalue() == ""


def test_a_function_is_called_as_it_is():
    told = []
    with progress_called(lambda done, total: told.append((done, total)), "steps") as advance:
        advance(1, 2)
    assert told == [(1, 2)]


def test_anything_else_is_refused_by_name():
    with pytest.raises(TypeError, match="progress must be True, or a function of"), progress_called("bar", "steps"):
        pass
