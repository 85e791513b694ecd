"""How a study goes on: a live display on a terminal, a few log lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.run_specs import RunSpec
from equirl.lab.studies.runs import RunFailure, RunResult
from equirl.lab.studies.scheduler import ProgressListener
from equirl.words.formatting import duration, printable

LOG_SECONDS = 60.0  # between log lines, at most
LOG_PAUSE = 5.0  # seconds between log lines, at least
LOG_SHARE = 0.1  # of the work that is worth a line


class Pace:
    """Runs done and work left; work is counted in steps, since runs are not equally long."""

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        self.n_runs, self.work = len(specs), sum(spec.cost for spec in specs)
        self.n_done, self.n_failed, self.worked = 0, 0, 0
        self.started = time.monotonic()
        self._reported: set[tuple[str, str]] = set()

    def add(self, spec: RunSpec, failed: bool) -> None:
        """Count a finished run."""
        self.n_done += 1
        self.n_failed += failed
        self.worked += spec.cost

    def news_of(self, outcome: RunResult | RunFailure | None) -> str | None:
        """What to say of a run: something for the first failure of its kind, nothing else."""
        if not isinstance(outcome, RunFailure) or (kind := (outcome.spec.learner, outcome.error)) in self._reported:
            return None
        self._reported.add(kind)
        return f"a run of {outcome.spec.learner} in {outcome.spec.world} failed: {outcome.error}"

    @property
    def rate(self) -> float:
        """Runs per second."""
        return self.n_done / max(time.monotonic() - self.started, 1e-9)

    @property
    def seconds_left(self) -> float:
        """An estimate from the work done so far."""
        return (time.monotonic() - self.started) * (self.work - self.worked) / max(self.worked, 1)

    def __str__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        left = f", about {duration(self.seconds_left)} left" if self.n_done < self.n_runs else ""
        return f"{self.n_done}/{self.n_runs} runs{failed}, {self.rate:.1f}/s{left}"


class LogLines:
    """A line when another tenth of the work is done or a minute has passed, for logs and clusters."""

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        self.pace = Pace(specs)
        self.begin()

    def begin(self) -> None:
        """Start the clock."""
        self.pace.started = self.last_time = time.monotonic()
        self.last_work = 0

    def note(self, text: str) -> None:
        """Say something at once."""
        print(time.strftime("%H:%M:%S"), printable(text), file=sys.stderr, flush=True)

    def finished(self, spec: RunSpec, outcome: RunResult | RunFailure | None) -> None:
        """Count a run, and say so now and then."""
        self.pace.add(spec, isinstance(outcome, RunFailure))
        if (news := self.pace.news_of(outcome)) is not None:
            self.note(news)
        silent, work = time.monotonic() - self.last_time, self.pace.worked - self.last_work
        due = silent >= LOG_SECONDS or (silent >= LOG_PAUSE and work >= LOG_SHARE * self.pace.work)
        if due or self.pace.n_done == self.pace.n_runs:
            self.last_time, self.last_work = time.monotonic(), self.pace.worked
            self.note(str(self.pace))


class LiveDisplay:
    """One bar for all runs and one for each learner."""

    def __init__(self, progress: Progress, planned: Sequence[PlannedRun], specs: Sequence[RunSpec]) -> None:
        self.progress, self.pace = progress, Pace(specs)
        self.label = {run.spec.key: run.learner for run in planned}
        totals = Counter(self.label[spec.key] for spec in specs)
        self.bars: dict[str, TaskID] = {
            label: progress.add_task(printable(label), total=total, news=f"0/{total}")
            for label, total in totals.items()
        }
        self.overall = progress.add_task("all runs", total=self.pace.work, news="starting")
        self.done: Counter[str] = Counter()
        self.totals = totals

    def begin(self) -> None:
        """Start the clock."""
        self.pace.started = time.monotonic()

    def note(self, text: str) -> None:
        """Say something above the bars."""
        self.progress.console.print(printable(text))

    def finished(self, spec: RunSpec, outcome: RunResult | RunFailure | None) -> None:
        """Move the bars."""
        label = self.label[spec.key]
        self.pace.add(spec, isinstance(outcome, RunFailure))
        self.done[label] += 1
        if (news := self.pace.news_of(outcome)) is not None:
            self.note(news)
        self.progress.update(self.bars[label], advance=1, news=f"{self.done[label]}/{self.totals[label]}")
        self.progress.update(self.overall, completed=self.pace.worked, news=str(self.pace))


@contextmanager
def progress_shown(
    planned: Sequence[PlannedRun], specs: Sequence[RunSpec], *, quiet: bool = False
) -> Iterator[ProgressListener | None]:
    """Inside, a listener that shows progress: bars on a terminal, log lines elsewhere."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)  # labels are text, not markup
    if quiet or not specs:
        yield None
    elif console.is_terminal:
        columns = (_plain("{task.description}"), BarColumn(), _plain("{task.fields[news]}"))
        with Progress(*columns, console=console) as progress:
            yield LiveDisplay(progress, planned, specs)
    else:
        yield LogLines(specs)


def _plain(text: str) -> TextColumn:
    return TextColumn(text, markup=False)
