"""A results folder for a page: what is done of a study, its tables, curves and findings, and files about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from equirl.files.whole_files import write_csv
from equirl.lab.explore.messages import Message, Reply, Service, mean_and_half
from equirl.lab.explore.results_watch import ResultsWatch
from equirl.lab.explore.takeaway import Writer, draw_curves, file_reply, place_as_python, place_as_study
from equirl.lab.leaderboard import board_page
from equirl.lab.leaderboard.expectations import advise, check_expectations
from equirl.lab.leaderboard.leaderboard_study import SUITES, leaderboard_parts
from equirl.lab.leaderboard.standings import Standing, WorldFacts, boards, standings_of
from equirl.lab.paper import report
from equirl.lab.paper.claims import check_claims
from equirl.lab.paper.html_parts import Section
from equirl.lab.paper.paper_study import map_rows, paper_runs, room_rows
from equirl.lab.paper.published import published_regret
from equirl.lab.plots.study_figures import file_name
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.runs import build_world
from equirl.lab.studies.summary import SUMMARY_COLUMNS, Group, final_rows
from equirl.simulation import in_usual_order
from equirl.words.checking import unknown_name

StudyKind = Literal["paper", "leaderboard"]
LOOK = 1.0  # seconds between two looks at the folder


class StudyService(Service):
    """Answers ``study``, ``look``, ``maps`` and ``take``, and sends news of the folder unasked."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.watch = ResultsWatch(files["results"]) if "results" in files else None
        self.watching = False
        self.look: tuple[str, str, str] | None = None
        self.known: dict[str, WorldFacts] = {}

    def pause(self) -> float | None:
        if self.watch is None or not self.watching:
            return None
        return 0.0 if self.watch.behind else LOOK

    def tick(self) -> Iterator[Reply]:
        """Send what has changed, and what was held back while runs were still being read."""
        assert self.watch is not None
        held_back = self.watch.behind
        if self.watch.refresh() or held_back:
            yield from self._news(self.watch)

    def handle(self, message: Message) -> Iterator[Reply]:
        watch, do = self.watch, message["do"]
        if watch is None:
            raise ValueError("no results folder was given: equirl explore FOLDER")
        if do == "study":
            self.watching = True
            watch.refresh()
            yield from self._news(watch)
        elif do == "look":
            self.look = str(message.get("part")), str(message.get("world")), str(message.get("measure", "regret"))
            yield self._curves(watch, *self.look)
        elif do == "maps":
            yield {"kind": "maps", **class_tables()}
        else:
            yield self._taken(watch, message)

    def _news(self, watch: ResultsWatch) -> Iterator[Reply]:
        yield self._overview(watch)
        if watch.behind:
            return
        findings = self._findings(watch)
        if findings is not None:
            yield {"kind": "findings", **findings}
        if self.look is not None:
            yield self._curves(watch, *self.look)

    def _overview(self, watch: ResultsWatch) -> Reply:
        places = dict.fromkeys((run.part, run.world) for run in watch.planned)
        total = Counter((run.part, run.world, run.learner) for run in watch.planned)
        ready = Counter((run.part, run.world, run.learner) for run, _ in watch.done())
        groups: dict[tuple[str, str], list[Group]] = {}
        for group in watch.groups():
            groups.setdefault((group.part, group.world), []).append(group)
        return {
            "kind": "study", "folder": watch.folder.name, "study": shipped_kind(watch.planned),
            "total": len(watch.planned), "done": ready.total(), "failed": watch.n_failed(),
            "recent": watch.n_recent(), "reading": watch.behind, "complaints": watch.complaints,
            "progress": [[*place, ready[place], n] for place, n in total.items()],
            "places": [self._place(watch, *place, groups.get(place, [])) for place in places],
        }  # fmt: skip

    def _findings(self, watch: ResultsWatch) -> Reply | None:
        """What the report of a shipped study says beyond curves; None of other studies, and before the first run."""
        kind, groups = shipped_kind(watch.planned), watch.groups()
        if kind is None or not groups:
            return None
        if kind == "paper":
            return paper_findings(groups)
        return leaderboard_findings(groups, watch.planned, watch.failures(), self.known)

    def _place(self, watch: ResultsWatch, part: str, world: str, groups: list[Group]) -> Reply:
        """One world of a study: who stands where."""
        published = self._published(watch, part)
        rows = [_row(standing, published) for standing in standings_of(groups)] if groups else []
        horizon, gain = (groups[0].horizon, groups[0].gain) if groups else (None, None)
        return {"part": part, "world": world, "horizon": horizon, "gain": gain, "rows": rows}

    def _published(self, watch: ResultsWatch, part: str) -> dict[str, float]:
        """The published regret at T by learner, of the paper's study."""
        return published_regret(part) if shipped_kind(watch.planned) == "paper" else {}

    def _groups(self, watch: ResultsWatch, part: str, world: str) -> list[Group]:
        if not any(run.part == part and run.world == world for run in watch.planned):
            raise ValueError(unknown_name("part of the study", part, {run.part for run in watch.planned}))
        return [group for group in watch.groups() if (group.part, group.world) == (part, world)]

    def _curves(self, watch: ResultsWatch, part: str, world: str, measure: str) -> Reply:
        try:
            groups = self._groups(watch, part, world)
        except ValueError:
            groups = []
        published = self._published(watch, part) if measure == "regret" else {}
        measured = [group for group in groups if measure in group.curves]
        return {
            "kind": "curves", "part": part, "world": world, "measure": measure,
            "measures": in_usual_order(name for group in groups for name in group.curves),
            "learners": [
                {
                    "label": group.learner, "name": group.learner_name, "runs": group.n_runs,
                    "t": group.curves.t.tolist(), **mean_and_half(group.curves, measure),
                    "published": published.get(group.learner_name),
                }
                for group in measured
            ],
        }  # fmt: skip

    def _taken(self, watch: ResultsWatch, message: Message) -> Reply:
        if watch.behind or not self.watching:
            watch.refresh_wholly()
        part, world, what = str(message.get("part")), str(message.get("world")), str(message.get("what"))
        groups = self._groups(watch, part, world)
        if what in ("svg", "png", "csv") and not groups:
            raise ValueError("no run of this world is done yet")
        planned = [run for run in watch.planned if (run.part, run.world) == (part, world)]
        title = world if part == world else f"{part}, {world}"
        measure, kind = str(message.get("measure", "regret")), shipped_kind(watch.planned)

        def draw(path: Path) -> None:
            published = self._published(watch, part) if measure == "regret" else {}
            points = {g.learner: published[g.learner_name] for g in groups if g.learner_name in published}
            draw_curves(groups, title, path, message.get("log") is True, measure, points)

        writers: dict[str, Writer] = {
            "svg": draw,
            "png": draw,
            "csv": lambda path: write_csv(path, SUMMARY_COLUMNS, final_rows(groups, measure)),
            "npz": lambda path: build_world(planned[0].spec)[0].save(path),
            "py": lambda path: path.write_text(place_as_python(planned), encoding="utf-8"),
            "toml": lambda path: path.write_text(place_as_study(planned), encoding="utf-8"),
        }
        if kind is not None:
            writers["html"] = lambda path: write_shipped_report(watch, kind, path)
        return file_reply(kind if what == "html" and kind else file_name(title, otherwise="explored"), what, writers)


def _row(standing: Standing, published: Mapping[str, float]) -> Reply:
    group = standing.group
    values = final_rows([group])[0]
    mean, low, high, *quantiles = values[5:]
    return {
        "learner": group.learner, "name": group.learner_name, "given": standing.given, "rank": standing.rank,
        "runs": group.n_runs, "mean": mean, "low": low, "high": high, "quartiles": quantiles[1:4],
        "relative": standing.relative, "locked": standing.n_locked_in, "published": published.get(group.learner_name),
    }  # fmt: skip


def write_shipped_report(watch: ResultsWatch, kind: StudyKind, path: Path) -> None:
    """The report of a shipped study, as its own command writes it, from the runs that are done."""
    groups, folder = watch.groups(), path.parent
    runs = 1 + max(run.spec.replicate for run in watch.planned)
    if kind == "paper":
        page = report.write_report(
            groups, report.draw_paper(groups, folder / "figures"), folder, f"equirl paper --runs {runs}"
        )
    else:
        found = boards(groups, watch.planned)
        figures = board_page.draw_boards(found, folder / "figures")
        page = board_page.write_page(found, figures, folder, f"equirl leaderboard --runs {runs}", watch.failures())
    page.rename(path)


# --- what the reports of the shipped studies say beyond curves


def shipped_kind(planned: Sequence[PlannedRun]) -> StudyKind | None:
    """Which shipped study, or share of one, a folder holds."""
    if not planned:
        return None
    if {(run.part, run.world, run.learner, run.spec.horizon) for run in planned} <= _paper_places():
        return "paper"
    if all(run.spec.renumber_seed is not None for run in planned):
        worlds = {(run.part, run.world, run.spec.horizon) for run in planned}
        return "leaderboard" if worlds <= leaderboard_parts() else None
    return None


@lru_cache(maxsize=1)
def _paper_places() -> frozenset[tuple[str, str, str, int]]:
    return frozenset((run.part, run.world, run.learner, run.spec.horizon) for run in paper_runs(1))


def paper_findings(groups: Sequence[Group]) -> dict[str, Any]:
    """The paper's claims, one by one."""
    claims = check_claims(groups)
    facts, banner = report.facts_of_claims(groups, claims), report.provisional_claims(groups)
    return _findings("paper", report.LEAD, facts, banner, [report.claims_section(claims)])


def leaderboard_findings(
    groups: Sequence[Group], planned: Sequence[PlannedRun], failed: Mapping[str, int], known: dict[str, WorldFacts]
) -> dict[str, Any]:
    """What the leaderboard's page says of all worlds together."""
    found = boards(groups, planned, known)
    expectations = check_expectations(found)
    sections = board_page.overview(found, expectations, advise(found), failed)
    facts, banner = board_page.facts_line(found, expectations), board_page.provisional(found)
    return _findings("leaderboard", SUITES["leaderboard"].lead, facts, banner, sections)


def class_tables() -> dict[str, Any]:
    """The tables of the paper's appendix F, which no run changes; a few seconds."""
    return {"sections": [section.plain() for section in report.class_sections(map_rows(), room_rows())]}


def _findings(kind: StudyKind, lead: str, facts: str, banner: str, sections: Sequence[Section]) -> dict[str, Any]:
    plain = [section.plain() for section in sections]
    return {"study": kind, "lead": lead, "facts": facts, "banner": banner, "sections": plain}
