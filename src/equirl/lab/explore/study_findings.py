"""What the reports of the shipped studies say beyond curves, for a page: the paper's claims, the leaderboard's page.

A results folder is known as one of these studies by its parts, worlds and horizons (and learners, for the paper).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from equirl.lab.leaderboard import board_page
from equirl.lab.leaderboard.expectations import advise, check_expectations
from equirl.lab.leaderboard.leaderboard_study import leaderboard_parts
from equirl.lab.leaderboard.standings import Board, WorldFacts, boards
from equirl.lab.paper import report
from equirl.lab.paper.claims import Claim, check_claims
from equirl.lab.paper.html_parts import kind_of_verdict
from equirl.lab.paper.paper_study import draw_counts, map_rows, paper_runs, room_rows
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.summary import Group

StudyKind = Literal["paper", "leaderboard"]


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
    claims, rows, subject = check_claims(groups), list[Any](), ""
    for claim in claims:
        if claim.subject != subject:
            subject = claim.subject
            rows.append({"heading": subject})
        rows.append(_claim_cells(claim))
    about = "Mean ± half its 95 % interval. " + " ".join(f"{mark} {note}" for note, mark in report.MARKS.items())
    table = _table(("claim", "published", "measured", "verdict"), rows)
    sections = [_section("claims", "The paper’s claims, one by one", about, table)]
    facts, banner = report.facts_of_claims(groups, claims), report.provisional_claims(groups)
    return _findings("paper", report.LEAD, facts, banner, sections)


def _claim_cells(claim: Claim) -> list[Any]:
    mark = report.MARKS.get(claim.note)
    first = {"text": f"{claim.statement} {mark}"} if mark else {"text": claim.statement, "note": claim.note}
    return [first, claim.published, claim.measured, _verdict(claim.verdict)]


def leaderboard_findings(
    groups: Sequence[Group], planned: Sequence[PlannedRun], failed: Mapping[str, int], known: dict[str, WorldFacts]
) -> dict[str, Any]:
    """What the leaderboard's page says of all worlds together."""
    found = boards(groups, planned, known)
    expectations = check_expectations(found)
    items = board_page.failures(found, expectations, failed)
    advice = _table(board_page.ADVICE_COLUMNS, map(board_page.advice_cells, advise(found)), numeric=(2, 3, 5))
    kept = [[*cells[:-1], _verdict(cells[-1])] for cells in map(board_page.expectation_cells, expectations)]
    matrix = _matrix(found)
    sections = [
        _section("when", "Which learner to take when", board_page.ABOUT_ADVICE, advice),
        _section("matrix", "Regret relative to the best learner given nothing", board_page.ABOUT_MATRIX, matrix),
        _section("expected", "What equivalence should bring, world by world", board_page.ABOUT_EXPECTATIONS,
                 _table(board_page.EXPECTATION_COLUMNS, kept)),
        _section("failures", "Failures", "" if items else board_page.NO_FAILURES, items=items),
    ]  # fmt: skip
    facts, banner = board_page.facts_line(found, expectations), board_page.provisional(found)
    return _findings("leaderboard", board_page.LEAD, facts, banner, sections)


def _matrix(found: Sequence[Board]) -> dict[str, Any]:
    """Worlds by learners: text and colour of each cell, and the part of the study that a row leads to."""
    learners = board_page.learners_by_merit(found)
    rows = []
    for board in found:
        cells = [board.find(name) for _, name in learners]
        shown = [
            {"text": board_page.relative_text(row), "back": board_page.shade(row), "best": board_page.is_best(row)}
            for row in cells
        ]
        rows.append([{"text": board.name, "part": board.name}, *shown])
    table = _table(("", *(name for _, name in learners)), rows, numeric=range(1, len(learners) + 1))
    return {**table, "given": [given for given, _ in learners]}


def class_tables() -> dict[str, Any]:
    """The tables of the paper's appendix F, which no run changes; a few seconds."""
    maps = [[*cells[:-1], _verdict(cells[-1])] for cells in map(report.map_cells, map_rows())]
    draws = [[size, ", ".join(f"{n} of them {c}" for c, n in counts.items())] for size, counts in draw_counts()]
    return {"sections": [
        _section("maps", "Maps", report.ABOUT_MAPS, _table(report.MAP_COLUMNS, maps, numeric=range(1, 5))),
        _section("draws", "Maps with random walls", report.ABOUT_DRAWS, _table(report.DRAW_COLUMNS, draws)),
        _section("rooms", "Rooms of growing size", report.about_rooms(rooms := room_rows()),
                 _table(report.ROOM_COLUMNS, map(report.room_cells, rooms), numeric=range(1, 7))),
    ]}  # fmt: skip


def _findings(kind: StudyKind, lead: str, facts: str, banner: str, sections: list[Any]) -> dict[str, Any]:
    return {"study": kind, "lead": lead, "facts": facts, "banner": banner, "sections": sections}


def _section(
    name: str, title: str, about: str, table: dict[str, Any] | None = None, items: Sequence[str] = ()
) -> dict[str, Any]:
    return {"name": name, "title": title, "about": about, "table": table, "items": list(items)}


def _table(head: Sequence[str], rows: Iterable[Any], numeric: Iterable[int] = ()) -> dict[str, Any]:
    return {"head": list(head), "rows": list(rows), "numeric": list(numeric)}


def _verdict(text: str) -> dict[str, str]:
    return {"text": text, "verdict": kind_of_verdict(text)}
