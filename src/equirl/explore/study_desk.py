"""The desk for a results folder: what is done of a study, its tables and curves, again whenever runs land."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from equirl.core.files import DamagedFile
from equirl.core.naming import unknown_name
from equirl.explore.page_limits import MOST_STUDY_RUNS
from equirl.explore.takeaway import study_file
from equirl.leaderboard.standings import Standing, standings_of
from equirl.paper.published import REGRET
from equirl.simulation.curves import in_usual_order
from equirl.studies.expansion import PlannedRun
from equirl.studies.plan_file import PLAN, read_plan
from equirl.studies.runs import RunResult
from equirl.studies.store import Store
from equirl.studies.summary import Group, final_rows, summarise

LOOK = 1.0  # seconds between two looks at the folder
READ = 0.3  # seconds of reading between two messages
PUBLISHED = {
    (figure.part, learner): value
    for figure in REGRET
    for learner, value in zip(
        ("ucrl2-l", "c-ucrl-published", "c-ucrl-c-sigma"), (figure.ucrl2l, figure.c_ucrl, figure.known_all), strict=True
    )
}

Reply = dict[str, Any]


class StudyDesk:
    """Answers ``study``, ``look`` and ``take``, and sends news of the folder unasked.

    Parameters
    ----------
    files : mapping of str to Path
        Under ``"results"``, the folder that the command was given.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.folder = files.get("results")
        self.planned: list[PlannedRun] = []
        self.results: dict[str, RunResult] = {}
        self.seen: dict[str, float] = {}  # files of runs by name, with their times
        self.failed: set[str] = set()
        self.plan_time, self.looked = -1.0, 0.0
        self.watching, self.behind = False, False
        self.look: tuple[str, str, str] | None = None

    def pause(self) -> float | None:
        """How long to wait for a message before looking at the folder again."""
        return None if not self.watching else 0.0 if self.behind else LOOK

    def tick(self) -> Iterator[Reply]:
        """Send what has changed."""
        if self._refresh():
            yield self._overview()
            if self.look is not None and not self.behind:
                yield self._curves(*self.look)

    def handle(self, message: dict[str, Any]) -> Iterator[Reply]:
        """Answer one message."""
        if self.folder is None:
            raise ValueError("no results folder was given: equirl explore FOLDER")
        do = message["do"]
        if do == "study":
            self.watching = True
            self._refresh()
            yield self._overview()
        elif do == "look":
            self.look = str(message.get("part")), str(message.get("world")), str(message.get("measure", "regret"))
            yield self._curves(*self.look)
        else:
            part, world = str(message.get("part")), str(message.get("world"))
            measure, log = str(message.get("measure", "regret")), message.get("log") is True
            name = world if part == world else f"{part}, {world}"
            yield study_file(self._groups(part, world), name, str(message.get("what")), measure, log)

    def complain(self, message: dict[str, Any], error: Exception) -> Reply:
        """Nothing more to say of an error."""
        return {}

    def _refresh(self) -> bool:
        """Read the plan if it changed and runs that landed, for a while; whether there is news."""
        assert self.folder is not None
        news, self.behind = False, False
        plan_time = _time_of(self.folder / PLAN)
        there = _files(self.folder / "runs", ".npz")
        if plan_time != self.plan_time or (plan_time < 0 and there.keys() != self.seen.keys()):
            self.planned, self.plan_time, news = read_plan(self.folder)[:MOST_STUDY_RUNS], plan_time, True
        failed = set(_files(self.folder / "failed", ".json"))
        news = news or failed != self.failed
        self.failed = failed
        end, store = time.monotonic() + READ, Store(self.folder)
        for run in self.planned:
            key = run.spec.key
            if key not in there or self.seen.get(key) == there[key]:
                continue
            try:
                self.results[key] = store.read(run.spec)
            except (FileNotFoundError, DamagedFile):
                self.results.pop(key, None)
            self.seen[key], news = there[key], True
            if time.monotonic() > end:
                self.behind = True
                break
        for key in self.results.keys() - there.keys():
            del self.results[key], self.seen[key]
            news = True
        return news

    def _overview(self) -> Reply:
        assert self.folder is not None
        done = [run for run in self.planned if run.spec.key in self.results]
        places = dict.fromkeys((run.part, run.world) for run in self.planned)
        total = Counter((run.part, run.world, run.learner) for run in self.planned)
        ready = Counter((run.part, run.world, run.learner) for run in done)
        recent = sum(time.time() - there < 60 for there in self.seen.values())
        groups = summarise((run, self.results[run.spec.key]) for run in done)
        return {
            "kind": "study", "folder": self.folder.name, "total": len(self.planned), "done": len(done),
            "failed": sum(run.spec.key in self.failed for run in self.planned), "recent": recent,
            "reading": self.behind,
            "progress": [[*place, ready[place], n] for place, n in total.items()],
            "places": [_place(*place, [g for g in groups if (g.part, g.world) == place]) for place in places],
        }  # fmt: skip

    def _groups(self, part: str, world: str) -> list[Group]:
        runs = [run for run in self.planned if run.part == part and run.world == world]
        if not runs:
            raise ValueError(unknown_name("part of the study", part, {run.part for run in self.planned}))
        done = [(run, self.results[run.spec.key]) for run in runs if run.spec.key in self.results]
        if not done:
            raise ValueError("no run of this world is done yet")
        return summarise(done)

    def _curves(self, part: str, world: str, measure: str) -> Reply:
        try:
            groups = self._groups(part, world)
        except ValueError:
            groups = []
        measured = [group for group in groups if measure in group.curves]
        return {
            "kind": "curves", "part": part, "world": world, "measure": measure,
            "measures": in_usual_order(name for group in groups for name in group.curves),
            "learners": [
                {
                    "label": group.learner, "name": group.learner_name, "runs": group.n_runs,
                    "t": group.curves.t.tolist(), "mean": group.curves.mean(measure).tolist(),
                    "half": half.tolist() if math.isfinite((half := group.curves.half_width(measure)).sum()) else None,
                }
                for group in measured
            ],
        }  # fmt: skip


def _place(part: str, world: str, groups: list[Group]) -> dict[str, Any]:
    """One world of a study: who stands where."""
    rows = [_row(standing) for standing in standings_of(groups)] if groups else []
    horizon = groups[0].horizon if groups else None
    return {"part": part, "world": world, "horizon": horizon, "gain": groups[0].gain if groups else None, "rows": rows}


def _row(standing: Standing) -> dict[str, Any]:
    group = standing.group
    values = final_rows([group])[0]
    mean, low, high, *quantiles = values[5:]
    return {
        "learner": group.learner, "name": group.learner_name, "given": standing.given, "rank": standing.rank,
        "runs": group.n_runs, "mean": mean, "low": low, "high": high, "quartiles": quantiles[1:4],
        "relative": standing.relative, "locked": standing.n_locked_in,
        "published": PUBLISHED.get((group.part, group.learner_name)),
    }  # fmt: skip


def _files(folder: Path, ending: str) -> dict[str, float]:
    """The files of a folder by name without ending, with their times."""
    try:
        with os.scandir(folder) as entries:
            return {e.name[: -len(ending)]: e.stat().st_mtime for e in entries if e.name.endswith(ending)}
    except OSError:
        return {}


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return -1.0
