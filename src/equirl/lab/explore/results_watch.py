"""A results folder being watched: which runs it is meant to hold, those that are done, and the learners' curves."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from equirl.files.whole_files import DamagedFile
from equirl.lab.explore.page_limits import MOST_STUDY_RUNS
from equirl.lab.leaderboard.leaderboard_study import raised
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.plan_file import PLAN, read_plan
from equirl.lab.studies.run_index import FileStamp, file_stamps
from equirl.lab.studies.runs import RunResult
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import Group, summarise

READ = 0.3  # seconds of reading between two messages
Place = tuple[str, str, str]  # part, world, learner


class ResultsWatch:
    """What a results folder holds, read again where it has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.planned: list[PlannedRun] = []  # the runs that the folder is meant to hold
        self.complaints: list[str] = []  # which files cannot be trusted, and what was done instead
        self.behind = False  # whether there is more to read at once
        self._keys: list[str] = []  # of the planned runs
        self._results: dict[str, RunResult] = {}
        self._seen: dict[str, FileStamp] = {}  # files of runs by key, as they stamps when they were read
        self._failed: set[str] = set()
        self._plan_time: float | None = None
        self._there: set[str] | None = None  # files of runs that stamps in for a plan
        self._groups: dict[Place, Group] = {}  # of which no run has landed or gone since

    def refresh(self) -> bool:
        """Read the plan if it changed and runs that landed, for a while; whether there is news."""
        self.behind = False
        plan_time = _time_of(self.folder / PLAN)
        there = file_stamps(self.folder / "runs")
        news = plan_time != self._plan_time or (self._there is not None and there.keys() != self._there)
        if news:
            found = read_plan(self.folder)
            self.planned, self.complaints, self._plan_time = found.runs[:MOST_STUDY_RUNS], found.complaints, plan_time
            self._there = set(there) if plan_time < 0 or found.complaints else None
            self._keys = [run.spec.key for run in self.planned]
            self._groups.clear()
            self._results = {key: self._results[key] for key in self._keys if key in self._results}
        failed = set(file_stamps(self.folder / "failed", ".json"))
        news = news or failed != self._failed
        self._failed = failed
        return self._read(there) or news

    def refresh_wholly(self) -> None:
        self.refresh()
        while self.behind:
            self.refresh()

    def _read(self, there: dict[str, FileStamp]) -> bool:
        """Read runs that are new or gone, for a while; whether there are any."""
        changed, end, store = set(), time.monotonic() + READ, Store(self.folder)
        for run, key in zip(self.planned, self._keys, strict=True):
            if self._seen.get(key) == there.get(key):
                continue
            changed.add(key)
            self._results.pop(key, None)
            self._seen.pop(key, None)
            if key in there:
                with suppress(FileNotFoundError, DamagedFile):  # which count as missing
                    self._results[key] = store.read(run.spec)
                self._seen[key] = there[key]
            if time.monotonic() > end:
                self.behind = True
                break
        for run, key in zip(self.planned, self._keys, strict=True):  # parts may share a run
            if key in changed:
                self._groups.pop(_place(run), None)
        return bool(changed)

    def done(self) -> list[tuple[PlannedRun, RunResult]]:
        """The runs that are done, in the order of the study."""
        keyed = zip(self.planned, self._keys, strict=True)
        return [(run, self._results[key]) for run, key in keyed if key in self._results]

    def n_failed(self) -> int:
        return sum(key in self._failed for key in self._keys)

    def n_recent(self) -> int:
        """How many runs landed within the last minute."""
        return sum(time.time() - seen.changed / 1e9 < 60 for seen in self._seen.values())

    def failures(self) -> dict[str, int]:
        """How many runs raised, by learner, part and error."""
        failed = [run for run, key in zip(self.planned, self._keys, strict=True) if key in self._failed]
        return raised(failed, Store(self.folder))

    def groups(self) -> list[Group]:
        """The runs that are done, learner by learner, in the order of the study."""
        bundles: dict[Place, list[tuple[PlannedRun, RunResult]]] = {}
        for run, result in self.done():
            bundles.setdefault(_place(run), []).append((run, result))
        for place, bundle in bundles.items():
            if place not in self._groups:
                (self._groups[place],) = summarise(bundle)
        return [self._groups[place] for place in bundles]


def _place(run: PlannedRun) -> Place:
    return run.part, run.world, run.learner


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return -1.0
