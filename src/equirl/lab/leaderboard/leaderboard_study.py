"""The studies of the leaderboard's suites, whole or restricted to some worlds and learners; and who plays.

A suite is a TOML file beside this one and a row of ``SUITES``: a command, a page and resuming follow from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from equirl.lab.studies.expansion import PlannedRun, expand
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import LearnerEntry, StudyFile, StudyPart, shipped_study
from equirl.learners import AGENTS, COLUMNS, FAMILIES
from equirl.solving import chain_kind
from equirl.words.checking import choice, unknown_name
from equirl.worlds import load_world

ALONE, LOOKING = COLUMNS[:2]
ENTRANTS = [  # column after column; learners for discounted rewards have no gain to be compared by
    names[column]
    for column in COLUMNS
    for family in FAMILIES
    if column in (names := family.learners()) and not family.discounted
]
ERGODIC_ONLY = [name for family in FAMILIES if family.ergodic_only for name in family.learners().values()]
BASES = {  # a learner given nothing that looks for classes -> the learner it is without them
    names[LOOKING]: names[ALONE] for family in FAMILIES if LOOKING in (names := family.learners())
}
NOTHING, CLASSES, BOTH = "given nothing", "given the classes", "given classes and profiles"
GIVEN = (NOTHING, CLASSES, BOTH)


def given_to(learner: str) -> str:
    """What a learner is given of classes and profiles.

    >>> given_to("c-psrl"), given_to("c-psrl-c"), given_to("c-psrl-c-sigma")
    ('given nothing', 'given the classes', 'given classes and profiles')
    """
    return dict(zip(COLUMNS, (NOTHING, *GIVEN), strict=True))[AGENTS[learner].column]


def is_oblivious(learner: str) -> bool:
    """Whether a learner treats every pair on its own.

    >>> is_oblivious("psrl"), is_oblivious("c-psrl"), is_oblivious("c-psrl-c")
    (True, False, False)
    """
    return AGENTS[learner].column == ALONE


@dataclass(frozen=True)
class Suite:
    """What the page of a suite says first."""

    title: str
    lead: str


RENUMBERED = (
    "each run with states and actions renumbered at random. Regret is T g* less the rewards received, at the horizon "
    "T: the lower, the better."
)
SUITES = {
    "leaderboard": Suite("Leaderboard: which learner, in which world", f"Every learner in every world, {RENUMBERED}"),
    "zoo": Suite(
        "The zoo: problems of the kinds that people bring",
        f"Queues, stock, upkeep, nature, games, mazes, money: {RENUMBERED} Settings are chosen by the problems that "
        "are shown; those set aside are played at the end.",
    ),
    "colosseum": Suite(
        "Colosseum: the continuous communicating suite",
        f"The worlds of a public benchmark, beside what its learners are published to have done: {RENUMBERED}",
    ),
}


def leaderboard_study(
    runs: int | None = None,
    learners: Sequence[str] | None = None,
    worlds: Sequence[str] | None = None,
    suite: str = "leaderboard",
) -> StudyFile:
    """The shipped study of a suite; learners for ergodic worlds alone are left out of the others.

    Where neither the caller nor the file names learners, those of the catalogue play.
    """
    study = shipped_study(choice("suite", suite, SUITES), "leaderboard")
    known = {part.name: part for part in study.parts}
    for name in worlds or ():
        if name not in known:
            raise ValueError(unknown_name(f"world of the {suite}", name, known))
    for name in learners or ():
        if name not in AGENTS:
            raise ValueError(unknown_name("learner", name, AGENTS))
    listed = {entry.learner: entry for entry in study.learners or ()}
    names = learners or [*listed] or ENTRANTS
    entries = [listed.get(name) or LearnerEntry.model_validate({"learner": name}) for name in names]
    chosen = [part for part in study.parts if worlds is None or part.name in worlds]
    parts = [part.model_copy(update={"learners": _admitted(entries, part)}) for part in chosen]
    playing = [part for part in parts if part.learners]
    if not playing:
        raise ValueError("none of these learners plays in any of these worlds: they are for ergodic worlds alone")
    return study.model_copy(update={"runs": runs or study.runs, "learners": entries, "parts": playing})


@cache
def leaderboard_parts() -> frozenset[tuple[str, str, int]]:
    """The shipped parts: name, world as tables label it, and horizon.

    >>> ("cycle-20", "cycle", 100_000) in leaderboard_parts()
    True
    """
    study = shipped_study("leaderboard", "leaderboard")
    first = [LearnerEntry.model_validate({"learner": "random"})]
    runs = expand(study.model_copy(update={"runs": 1, "learners": first}))
    return frozenset((run.part, run.world, run.spec.horizon) for run in runs)


def _admitted(entries: Sequence[LearnerEntry], part: StudyPart) -> list[LearnerEntry]:
    if not any(entry.learner in ERGODIC_ONLY for entry in entries):
        return list(entries)
    ergodic = all(chain_kind(load_world(str(entry.world))) == "ergodic" for entry in part.worlds or ())
    return [entry for entry in entries if ergodic or entry.learner not in ERGODIC_ONLY]


def raised(planned: Sequence[PlannedRun], store: Store) -> dict[str, int]:
    """How many runs raised, by learner, world and error."""
    records = ((run, store.failure(run.spec)) for run in planned)
    return dict(Counter(f"{run.learner} in {run.part}: {record['error']}" for run, record in records if record))
