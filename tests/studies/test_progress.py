"""How a study is told to go on: counts, failures, what is left, and when a line is due by a clock that is set."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from equirl.lab.studies import progress
from equirl.lab.studies.progress import SILENT, LiveDisplay, LogLines, Pace, progress_shown
from studies_kit import planned, specs


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=1000.0)
    fake = SimpleNamespace(monotonic=lambda: now.seconds, strftime=lambda _: "12:00:00")
    monkeypatch.setattr(progress, "time", fake)
    return now


def failing(learner="psrl", error="no luck"):
    return SimpleNamespace(spec=SimpleNamespace(learner=learner, world="river"), error=error)


def run(cost):
    return SimpleNamespace(cost=cost)


def test_runs_failures_speed_and_what_is_left_are_told(clock):
    pace = Pace([10, 30, 60])
    assert str(pace) == "0/3 runs, 0.0/s, about 0 s left"
    clock.seconds += 20
    assert pace.add(10) is None
    assert str(pace) == "1/3 runs, 0.1/s, about 3 min left"  # 90 steps at half a step a second
    clock.seconds += 5
    pace.add(30, failing())
    assert str(pace) == "2/3 runs, 1 failed, 0.1/s, about 38 s left"
    pace.add(60)
    assert str(pace) == "3/3 runs, 1 failed, 0.1/s"


def test_the_first_failure_of_its_kind_is_told_and_no_other(clock):
    pace = Pace([1] * 5)
    assert pace.add(1, failing()) == "a run of psrl in river failed: no luck"
    assert pace.add(1, failing()) is None
    assert pace.add(1, failing(error="else")) == "a run of psrl in river failed: else"
    assert pace.add(1, failing("random")) == "a run of random in river failed: no luck"
    assert (pace.n_done, pace.n_failed, pace.worked) == (4, 4, 4)


@pytest.mark.parametrize(
    ("seconds", "cost", "due"),
    [(4.9, 50, False), (5.0, 10, True), (5.0, 9, False), (59.9, 9, False), (60.0, 1, True), (0.0, 0, False)],
)
def test_a_line_is_due_after_a_minute_or_with_a_tenth_of_the_work_after_a_pause(clock, capsys, seconds, cost, due):
    log = LogLines([run(cost), run(100 - cost), run(0)])
    clock.seconds += seconds
    log.finished(run(cost), None)
    assert (capsys.readouterr().err != "") == due
    assert (log.last_time, log.last_work) == ((clock.seconds, cost) if due else (1000.0, 0))


def test_lines_are_due_from_the_last_one_on_and_at_the_end(clock, capsys):
    log = LogLines([run(40), run(55), run(4), run(1)])
    clock.seconds += 6
    log.finished(run(40), None)
    assert capsys.readouterr().err == "12:00:00 1/4 runs, 0.2/s, about 9 s left\n"
    clock.seconds += 4
    log.finished(run(55), failing())  # too soon; a failure is told at once
    assert capsys.readouterr().err == "12:00:00 a run of psrl in river failed: no luck\n"
    clock.seconds += 1
    log.finished(run(4), None)
    assert capsys.readouterr().err.startswith("12:00:00 3/4 runs, 1 failed")
    log.finished(run(1), None)
    assert capsys.readouterr().err.startswith("12:00:00 4/4 runs, 1 failed")


def test_waiting_before_the_first_runs_does_not_count(clock):
    log = LogLines([run(1), run(1)])
    clock.seconds += 500
    log.begin()
    assert (log.pace.started, log.last_time, log.last_work) == (1500.0, 1500.0, 0)


def console(terminal):
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


def test_bars_count_runs_by_learner_and_work_of_all(clock):
    with progress.bars(console(True)) as bars:
        display = LiveDisplay(bars, planned(), specs())
        first, *_ = specs()
        display.finished(first, None)
        label = display.label[first.key]
        own, overall = (bars.tasks[bars.task_ids.index(task)] for task in (display.bars[label], display.overall))
        assert (own.total, own.completed, own.fields["news"]) == (2, 1, "1/2")
        assert (overall.total, overall.completed) == (sum(spec.cost for spec in specs()), first.cost)
        clock.seconds += 7
        display.begin()
        assert display.pace.started == clock.seconds


@pytest.mark.parametrize(("terminal", "kind"), [(True, LiveDisplay), (False, LogLines)])
def test_bars_are_for_terminals_and_lines_for_logs(monkeypatch, terminal, kind):
    monkeypatch.setattr(progress, "console", lambda: console(terminal))
    with progress_shown(planned(), specs()) as listener:
        assert type(listener) is kind
    with progress_shown(planned(), specs(), quiet=True) as listener:
        assert listener is SILENT
    with progress_shown(planned(), []) as listener:
        assert listener is SILENT
