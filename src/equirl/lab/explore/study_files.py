"""What can be taken away of a results folder: figure, table, world and code of one world, and the report of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equirl.files.whole_files import write_csv
from equirl.lab.explore.results_watch import ResultsWatch
from equirl.lab.explore.study_findings import StudyKind
from equirl.lab.explore.study_reproduction import place_as_python, place_as_study
from equirl.lab.explore.takeaway import Writer, draw_curves, file_reply, plain_name
from equirl.lab.leaderboard.leaderboard_study import raised
from equirl.lab.leaderboard.standings import boards
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.runs import build_world
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import SUMMARY_COLUMNS, Group, final_rows


class StudyPlace(NamedTuple):
    """One world of a study."""

    part: str
    world: str
    planned: Sequence[PlannedRun]  # its runs
    groups: Sequence[Group]  # those that are done, learner by learner
    points: Mapping[str, float]  # published regret at T by the learner's label

    @property
    def title(self) -> str:
        """What a figure calls it."""
        return self.world if self.part == self.world else f"{self.part}, {self.world}"


def study_file(
    place: StudyPlace, watch: ResultsWatch, kind: StudyKind | None, what: str, measure: str, log: bool
) -> dict[str, Any]:
    """A file about a results folder."""
    if what in ("svg", "png", "csv") and not place.groups:
        raise ValueError("no run of this world is done yet")
    points = place.points if measure == "regret" else {}

    def draw(path: Path) -> None:
        draw_curves(list(place.groups), place.title, path, log, measure, points)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: write_csv(path, SUMMARY_COLUMNS, final_rows(place.groups, measure)),
        "npz": lambda path: build_world(place.planned[0].spec)[0].save(path),
        "py": lambda path: path.write_text(place_as_python(place.planned), encoding="utf-8"),
        "toml": lambda path: path.write_text(place_as_study(place.planned), encoding="utf-8"),
    }
    if kind is not None:
        writers["html"] = lambda path: write_shipped_report(watch, kind, path)
    return file_reply(kind if what == "html" and kind else plain_name(place.title), what, writers)


def write_shipped_report(watch: ResultsWatch, kind: StudyKind, path: Path) -> None:
    """The report of a shipped study, as its own command writes it, from the runs that are done."""
    groups, folder = watch.groups(), path.parent
    runs = 1 + max(run.spec.replicate for run in watch.planned)
    if kind == "paper":
        from equirl.lab.paper.figures import draw_paper
        from equirl.lab.paper.report import write_report

        page = write_report(groups, draw_paper(groups, folder / "figures"), folder, f"equirl paper --runs {runs}")
    else:
        from equirl.lab.leaderboard.board_figures import draw_boards
        from equirl.lab.leaderboard.board_page import write_page

        found = boards(groups, watch.planned)
        command, failed = f"equirl leaderboard --runs {runs}", raised(watch.planned, Store(watch.folder))
        page = write_page(found, draw_boards(found, folder / "figures"), folder, command, failed)
    page.rename(path)
