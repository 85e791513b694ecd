"""What the reports of the shipped studies say beyond curves, for a page: the paper's claims, the leaderboard's page.

A results folder is known as one of these studies by its parts, worlds and horizons (and learners, for the paper).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from equirl.lab.leaderboard import board_page
from equirl.lab.leaderboard.expectations import advise, check_expectations
from equirl.lab.leaderboard.leaderboard_study import SUITES, leaderboard_parts
from equirl.lab.leaderboard.standings import WorldFacts, boards
from equirl.lab.paper import report
from equirl.lab.paper.claims import check_claims
from equirl.lab.paper.html_parts import Section
from equirl.lab.paper.paper_study import map_rows, paper_runs, room_rows
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
