"""How a study goes on: a live display on a terminal, a few log lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equirl.words.formatting import duration, printable
from equirl.words.progress_bar import bars, console

if TYPE_CHECKING:
    from rich.progress import Progress

    from equirl.lab.studies.expansion import PlannedRun
    from equirl.lab.studies.run_specs import RunSpec
    from equirl.lab.studies.runs import RunFailure

LOG_SECONDS = 60.0  # between log lines, at most
LOG_PAUSE = 5.0  # seconds between log lines, at least
LOG_SHARE = 0.1  # of the work that is worth a line


class ProgressListener:
    """Whoever wants to know how a study goes on; this one says nothing."""

    def begin(self) -> None:
        """The first runs are given out."""

    def note(self, text: str) -> None:
        """Something happened that a person should know."""

    def finished(self, spec: RunSpec, failure: RunFailure | None) -> None:
        """A run is over, here or in another process."""


SILENT = ProgressListener()


class Pace:
    """Runs done and work left; work is counted in steps, since runs are not equally long."""

    def __init__(self, costs: Sequence[int]) -> None:
        self.n_runs, self.work = len(costs), sum(costs)
        self.n_done, self.n_failed, self.worked = 0, 0, 0
        self.started = time.monotonic()
        self._reported: set[tuple[str, str]] = set()

    def add(self, cost: int, failure: RunFailure | None = None) -> str | None:
        """Count a finished run; what to say of it: something for the first failure of its kind, nothing else."""
        self.n_done += 1
        self.worked += cost
        if failure is None:
            return None
        self.n_failed += 1
        spec, kind = failure.spec, (failure.spec.learner, failure.error)
        if kind in self._reported:
            return None
        self._reported.add(kind)
        return f"a run of {spec.learner} in {spec.world} failed: {failure.error}"

    def __str__(self) -> str:
        passed = time.monotonic() - self.started
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        seconds_left = passed * (self.work - self.worked) / max(self.worked, 1)
        left = f", about {duration(seconds_left)} left" if self.n_done < self.n_runs else ""
        return f"{self.n_done}/{self.n_runs} runs{failed}, {self.n_done / max(passed, 1e-9):.1f}/s{left}"


class LogLines(ProgressListener):
    """A line when another tenth of the work is done or a minute has passed, for logs and clusters."""

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        self.pace = Pace([spec.cost for spec in specs])
        self.begin()

    def begin(self) -> None:
        self.pace.started = self.last_time = time.monotonic()
        self.last_work = 0

    def note(self, text: str) -> None:
        print(time.strftime("%H:%M:%S"), printable(text), file=sys.stderr, flush=True)

    def finished(self, spec: RunSpec, failure: RunFailure | None) -> None:
        if (news := self.pace.add(spec.cost, failure)) is not None:
            self.note(news)
        silent, work = time.monotonic() - self.last_time, self.pace.worked - self.last_work
        due = silent >= LOG_SECONDS or (silent >= LOG_PAUSE and work >= LOG_SHARE * self.pace.work)
        if due or self.pace.n_done == self.pace.n_runs:
            self.last_time, self.last_work = time.monotonic(), self.pace.worked
            self.note(str(self.pace))


class LiveDisplay(ProgressListener):
    """One bar for all runs and one for each learner."""

    def __init__(self, progress: Progress, planned: Sequence[PlannedRun], specs: Sequence[RunSpec]) -> None:
        self.progress = progress
        self.label = {run.spec.key: run.learner for run in planned}
        self.totals = Counter(self.label[spec.key] for spec in specs)
        self.bars = {
            label: progress.add_task(printable(label), total=total, news=f"0/{total}")
            for label, total in self.totals.items()
        }
        self.done: Counter[str] = Counter()
        self.pace = Pace([spec.cost for spec in specs])
        self.overall = progress.add_task("all runs", total=self.pace.work, news="starting")

    def begin(self) -> None:
        self.pace.started = time.monotonic()

    def note(self, text: str) -> None:
        self.progress.console.print(printable(text))

    def finished(self, spec: RunSpec, failure: RunFailure | None) -> None:
        label = self.label[spec.key]
        self.done[label] += 1
        if (news := self.pace.add(spec.cost, failure)) is not None:
            self.note(news)
        self.progress.update(self.overall, completed=self.pace.worked, news=str(self.pace))
        self.progress.update(self.bars[label], advance=1, news=f"{self.done[label]}/{self.totals[label]}")


@contextmanager
def progress_shown(
    planned: Sequence[PlannedRun], specs: Sequence[RunSpec], *, quiet: bool = False
) -> Iterator[ProgressListener]:
    """Inside, a listener that shows how a study goes on: bars on a terminal, log lines elsewhere."""
    screen = console()
    if quiet or not specs:
        yield SILENT
    elif screen.is_terminal:
        with bars(screen) as progress:
            yield LiveDisplay(progress, planned, specs)
    else:
        yield LogLines(specs)
